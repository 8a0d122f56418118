// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

func importCommand(p *process) *cobra.Command {
	var force bool
	var keep []string
	cmd := &cobra.Command{
		Use:   "import har|vcr|argo FROM OUT.yaml",
		Short: "Convert traffic that another tool recorded into a cassette",
		Long: `import converts traffic that another tool recorded into a cassette:

  har FILE    a HAR file of a browser or a proxy
  vcr FILE    a cassette of go-vcr (all versions) or of vcrpy
  argo DIR    a folder of captures from the Argo Gateway

It removes secrets on the way. It overwrites an existing file only with --force.`,
		Example: "  rehearse import har traffic.har traffic.yaml\n  rehearse import argo captures/openai-tool-followup followup.yaml",
		Args:    exactArgs(3, "a kind, the input and the cassette to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "har", "vcr", "argo":
				return convert(p, args[1], args[2], conversion{fresh: !force, some: true, keep: keep})
			}
			return fmt.Errorf("import %q is not known: want har, vcr or argo%s", args[0], prose.DidYouMean(args[0], []string{"har", "vcr", "argo"}))
		},
	}
	addKeep(cmd.Flags(), &keep)
	cmd.Flags().BoolVar(&force, "force", false, "overwrite OUT.yaml")
	return cmd
}
