// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func checkCommand(p *process) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Find mistakes in scenarios, mock servers and mock models",
		Long: `check reads files and folders of YAML and reports every mistake as
file:line:col: message. It plays nothing and opens no connection.

Doubts (a literal argument that the tool's schema refuses, an expectation that
cannot fail) are printed as warnings; --strict makes them mistakes.`,
		Example: "  rehearse check scenarios\n  rehearse check --strict scenarios/one.yaml",
		Args:    minArgs(1, "a file or a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := scenarios.Load(args, &scenarios.Options{LookupEnv: p.getenv})
			if err != nil {
				warn(p.stdout, set)
				return err
			}
			return printCheck(p, set, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 2 on warnings too")
	return cmd
}

func printCheck(p *process, set *scenarios.Set, strict bool) error {
	for _, note := range set.Notes {
		fmt.Fprintf(p.stderr, "note: %s\n", note)
	}
	for _, s := range set.Scenarios {
		if err := run.CanPlay(agent.Subject(nil), s); err != nil {
			fmt.Fprintf(p.stderr, "note: `rehearse run` refuses %v\n", err)
		}
	}
	doubts := warn(p.stdout, set)
	fmt.Fprintf(p.stdout, "%s, %s, %s: %s\n",
		count(len(set.Scenarios), "scenario"), count(len(set.Servers), "server file"), count(len(set.LLMs), "llm file"),
		count(doubts, "warning"))
	if len(set.Scenarios)+len(set.Servers)+len(set.LLMs) == 0 {
		return fmt.Errorf("nothing to check: no file here begins with scenario, server, llm or suite")
	}
	if strict && doubts > 0 {
		return &codeError{code: exitUsage}
	}
	return nil
}

// warn prints what is doubtful in a set, and returns how much that is.
func warn(w io.Writer, set *scenarios.Set) int {
	doubts := set.Check()
	for _, d := range doubts {
		fmt.Fprintf(w, "%s: warning: %s\n", d.Pos, d.Msg)
	}
	return len(doubts)
}

// count spells a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
