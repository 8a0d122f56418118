// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
	mcpfault "github.com/rehearse-dev/rehearse/mockmcp/fault"
)

func faultsCommand(p *process) *cobra.Command {
	var asJSON bool
	var of string
	cmd := &cobra.Command{
		Use:   "faults [KIND]",
		Short: "List the faults of the mock model and the mock MCP server",
		Long: `faults lists the kinds of fault that a scenario can use in fault: and faults:, for
the model and for MCP servers, with the question that each answers. It also lists
presets: faults as one endpoint was seen to have them. Given a kind or a preset,
it describes that one in full: its forms, its settings, and the bug reports that
it was seen in. Some kinds apply to both sides.`,
		Example: "  rehearse faults --of mcp\n  rehearse faults in_stream_error\n  rehearse faults --json",
		Args:    atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c := wholeCatalogue()
			switch of {
			case "":
			case "model":
				c.MCP = nil
			case "mcp":
				c = &catalogue{MCP: c.MCP}
			default:
				return fmt.Errorf("--of %s: want model or mcp", of)
			}
			if len(args) == 1 {
				if c = c.only(args[0]); c.empty() {
					return unknownFault(args[0])
				}
			}
			if asJSON {
				return printJSON(p.stdout, c)
			}
			if len(args) == 1 {
				return c.detail(p.stdout)
			}
			return c.list(p.stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&of, "of", "", "list the faults of one `side` only: model, or mcp for MCP servers")
	return cmd
}

// unknownFault is the error about a name that is in neither catalogue.
func unknownFault(name string) error {
	return fmt.Errorf("unknown fault %q%s; `rehearse faults` lists them", name, prose.DidYouMean(name, slices.Concat(fault.Names(), mcpfault.Names())))
}

// catalogue is what is printed.
type catalogue struct {
	Kinds      []fault.Info   `json:"kinds,omitempty"`
	Presets    []preset       `json:"presets,omitempty"`
	NotOffered []fault.Absent `json:"not_offered,omitempty"`
	MCP        *mcpCatalogue  `json:"mcp,omitempty"`
}

func (c *catalogue) empty() bool { return len(c.Kinds) == 0 && c.MCP == nil }

// preset is a preset with the fault that it stands for.
type preset struct {
	fault.Preset
	Kind   fault.Kind `json:"kind"`
	Form   string     `json:"form,omitempty"`
	Status int        `json:"status,omitempty"`
	Body   string     `json:"body,omitempty"`
}

func wholeCatalogue() *catalogue {
	c := &catalogue{Kinds: fault.Kinds(), NotOffered: fault.NotOffered(), MCP: wholeMCPCatalogue()}
	for _, p := range fault.Presets() {
		c.Presets = append(c.Presets, preset{p, p.Fault.Kind, p.Fault.Form, p.Fault.Status, p.Fault.Body})
	}
	return c
}

// only keeps one kind with its presets, or one preset with its kind.
func (c *catalogue) only(name string) *catalogue {
	one := &catalogue{}
	if c.MCP != nil {
		one.MCP = c.MCP.only(name)
	}
	kind := fault.Kind(name)
	for _, p := range c.Presets {
		if p.Name == name {
			kind = p.Kind
			one.Presets = []preset{p}
		}
	}
	for _, info := range c.Kinds {
		if info.Kind == kind {
			one.Kinds = []fault.Info{info}
		}
	}
	for _, p := range c.Presets {
		if p.Kind == kind && fault.Kind(name) == kind {
			one.Presets = append(one.Presets, p)
		}
	}
	return one
}

func (c *catalogue) list(w io.Writer) error {
	var b strings.Builder
	if len(c.Kinds) > 0 {
		c.listModel(&b)
	}
	if c.MCP != nil {
		if len(c.Kinds) > 0 {
			b.WriteString("\n")
		}
		b.WriteString("FAULTS OF AN MCP SERVER\n\n")
		c.MCP.list(&b)
	}
	b.WriteString("\nrehearse faults KIND describes one kind: its forms, its settings, and where it was seen.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *catalogue) listModel(b *strings.Builder) {
	b.WriteString("FAULTS OF A MODEL\n\n")
	for _, group := range fault.Groups() {
		fmt.Fprintf(b, "%s\n", group[1])
		for _, info := range c.Kinds {
			if info.Group == group[0] {
				fmt.Fprintf(b, "  %-20s %-7s  %s?\n", info.Kind, strikes(info.Stream, info.Plain), info.For)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("Presets: argo-proxy as it was seen\n")
	for _, p := range c.Presets {
		fmt.Fprintf(b, "  %-27s %s (%s)\n", p.Name, p.What, p.Ref)
	}
}

func (c *catalogue) detail(w io.Writer) error {
	var b strings.Builder
	for _, info := range c.Kinds {
		fmt.Fprintf(&b, "%s: %s.\nIt is for: %s?\nIt strikes %s.\n", info.Kind, info.What, info.For, struck(&info))
		for i, f := range info.Forms {
			if i == 0 {
				b.WriteString("Forms:\n")
			}
			only := ""
			switch {
			case f.StreamOnly:
				only = " (streams only)"
			case f.PlainOnly:
				only = " (plain only)"
			}
			fmt.Fprintf(&b, "  %-16s %s%s\n", f.Name, f.What, only)
		}
		settings := slices.Concat(info.Uses, []string{"times", "every", "probability", "chance", "when", "match"})
		fmt.Fprintf(&b, "Settings: %s\nSeen in:\n", strings.Join(settings, ", "))
		for _, s := range info.Seen {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	for i, p := range c.Presets {
		if i == 0 {
			b.WriteString("Presets:\n")
		}
		fmt.Fprintf(&b, "  %s stands for %s: %s (%s)\n", p.Name, p.Fault.String(), p.What, p.Ref)
	}
	if c.MCP != nil {
		if len(c.Kinds) > 0 {
			b.WriteString("\n")
		}
		c.MCP.detail(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func strikes(stream, plain bool) string {
	switch {
	case stream && plain:
		return "both"
	case stream:
		return "streams"
	}
	return "plain"
}

func struck(info *fault.Info) string {
	on := map[string]string{"both": "streams and plain replies", "streams": "streams", "plain": "plain replies"}[strikes(info.Stream, info.Plain)]
	if info.Calls {
		on += " that call tools"
	}
	return on
}
