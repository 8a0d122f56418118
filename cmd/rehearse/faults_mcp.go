// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// mcpCatalogue is what is printed of the faults of mock MCP servers.
type mcpCatalogue struct {
	Kinds   []fault.Info `json:"kinds"`
	Presets []mcpPreset  `json:"presets"`
}

// mcpPreset is a preset with the fault that it stands for.
type mcpPreset struct {
	fault.Preset
	Kind fault.Kind `json:"kind"`
	Form string     `json:"form,omitempty"`
}

func wholeMCPCatalogue() *mcpCatalogue {
	c := &mcpCatalogue{Kinds: fault.Kinds()}
	for _, p := range fault.Presets() {
		c.Presets = append(c.Presets, mcpPreset{p, p.Fault.Kind, p.Fault.Form})
	}
	return c
}

// only keeps one kind with its presets, or one preset with its kind.
func (c *mcpCatalogue) only(name string) *mcpCatalogue {
	f, err := fault.Lookup(name)
	if err != nil {
		return nil
	}
	info, _ := fault.Describe(f.Kind)
	one := &mcpCatalogue{Kinds: []fault.Info{info}, Presets: []mcpPreset{}}
	for _, p := range c.Presets {
		if p.Name == name || p.Kind == f.Kind && fault.Kind(name) == f.Kind {
			one.Presets = append(one.Presets, p)
		}
	}
	return one
}

func (c *mcpCatalogue) list(b *strings.Builder) {
	for _, group := range fault.Groups() {
		fmt.Fprintf(b, "%s\n", group[1])
		for _, info := range c.Kinds {
			if info.Group == group[0] {
				fmt.Fprintf(b, "  %-22s %s?\n", info.Kind, info.For)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("Presets: servers as they were seen\n")
	for _, p := range c.Presets {
		fmt.Fprintf(b, "  %-25s %s (%s)\n", p.Name, p.What, p.Ref)
	}
}

func (c *mcpCatalogue) detail(b *strings.Builder) {
	for _, info := range c.Kinds {
		fmt.Fprintf(b, "%s, of an MCP server: %s.\nIt is for: %s?\nIt strikes %s.\n", info.Kind, info.What, info.For, info.Where())
		if info.Lasts {
			b.WriteString("It lasts: without times it strikes every time.\n")
		}
		era := ""
		if info.Era != "" {
			era = ", clients of the " + info.Era + " era only"
		}
		fmt.Fprintf(b, "Transports: %s%s\n", strings.Join(info.Transports, ", "), era)
		if info.InProcess != "" {
			fmt.Fprintf(b, "In process: %s.\n", info.InProcess)
		}
		for i, f := range info.Forms {
			if i == 0 {
				b.WriteString("Forms:\n")
			}
			fmt.Fprintf(b, "  %-20s %s\n", f.Name, f.What)
		}
		settings := slices.Concat(info.Uses, []string{"match", "times", "every", "probability", "seed"})
		fmt.Fprintf(b, "Settings: %s\nSeen in:\n", strings.Join(settings, ", "))
		for _, s := range info.Seen {
			fmt.Fprintf(b, "  %s\n", s)
		}
	}
	for i, p := range c.Presets {
		if i == 0 {
			b.WriteString("Presets:\n")
		}
		fmt.Fprintf(b, "  %s stands for %s: %s (%s)\n", p.Name, p.Fault.String(), p.What, p.Ref)
	}
}
