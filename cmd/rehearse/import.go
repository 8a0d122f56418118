// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func importCommand(p *process) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "import har|vcr|argo FROM OUT.yaml",
		Short: "Make a cassette of traffic that another recorder wrote",
		Long: `import writes a cassette of recorded traffic:

  har FILE    a HAR file, as browsers and proxies write it
  vcr FILE    a cassette of go-vcr (all versions) or of vcrpy
  argo DIR    a folder of captures from the Argo Gateway

Secrets are taken out on the way. A file that is there is not overwritten without
--force.`,
		Example: "  rehearse import har traffic.har traffic.yaml\n  rehearse import argo captures/openai-tool-followup followup.yaml",
		Args:    exactArgs(3, "a kind, what to read and the cassette to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "har", "vcr", "argo":
				return convert(p, args[1], args[2], !force, true)
			}
			return fmt.Errorf("%s", unknown(fmt.Sprintf("import %q is not known: want har, vcr or argo", args[0]), args[0], []string{"har", "vcr", "argo"}))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite OUT.yaml")
	return cmd
}
