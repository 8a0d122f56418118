// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package toolname translates between the name of a tool on its MCP server
// and the name under which a client offers it to a model.
//
// Clients name tools in styles of their own (build_model,
// mcp_gemflux_build_model, mcp__gemflux__build_model), and an OpenAI endpoint
// takes only 64 characters of [a-zA-Z0-9_-]. A [Table] makes such names and
// takes them back; a [Resolver] finds out which name somebody else has made:
//
//	table := toolname.NewTable(toolname.Underscore)
//	name, err := table.Add("gemflux", "build_model") // mcp_gemflux_build_model
//	server, tool, ok := table.Lookup(name)
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// MaxLen is the longest name that an OpenAI endpoint accepts.
const MaxLen = 64

// Style is a way to make an offered name from a server's and a tool's name.
type Style string

// The styles.
const (
	Bare       Style = "bare"       // <tool>
	Underscore Style = "underscore" // mcp_<server>_<tool>
	Dotted     Style = "dotted"     // <server>.<tool>, fitted: <server>_<tool>
)

// Name returns the name in style s, before it is fitted.
func (s Style) Name(server, tool string) string {
	switch s {
	case Underscore:
		return "mcp_" + server + "_" + tool
	case Dotted:
		return server + "." + tool
	default:
		return tool
	}
}

// Split takes server.tool apart at the first dot. Without a dot there is no
// server, and tool is an offered name.
func Split(name string) (server, tool string) {
	if server, tool, ok := strings.Cut(name, "."); ok {
		return server, tool
	}
	return "", name
}

// Valid reports whether an OpenAI endpoint accepts name for a function.
func Valid(name string) bool {
	if name == "" || len(name) > MaxLen {
		return false
	}
	for i := range len(name) {
		if !allowed(name[i]) {
			return false
		}
	}
	return true
}

func allowed(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Fit returns name as an OpenAI endpoint accepts it: each other character
// becomes an underscore, and a name that is too long ends in a hash of the
// whole. A valid name is returned as it is. Two names may fit to the same
// one; a [Table] keeps them apart.
func Fit(name string) string {
	if Valid(name) {
		return name
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && allowed(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if clean == "" || len(clean) > MaxLen {
		return hashed(name, clean)
	}
	return clean
}

// hashed returns clean, shortened as needed, with a hash of name at its end.
func hashed(name, clean string) string {
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	return clean[:min(len(clean), MaxLen-len(tail))] + tail
}

// Table holds the names under which one client offers the tools of its
// servers, and leads back from each to its tool.
type Table struct {
	style  Style
	byName map[string]entry
}

type entry struct{ server, tool string }

// NewTable returns an empty table whose names are made in style.
func NewTable(style Style) *Table {
	return &Table{style: style, byName: make(map[string]entry)}
}

// Add enters a tool and returns the name to offer it under. The same tool
// again gets the same name; two tools whose names are equal before they are
// fitted are an error.
func (t *Table) Add(server, tool string) (string, error) {
	e := entry{server, tool}
	full := t.style.Name(server, tool)
	name := Fit(full)
	for range 2 {
		old, taken := t.byName[name]
		if !taken || old == e {
			t.byName[name] = e
			return name, nil
		}
		if t.style.Name(old.server, old.tool) == full {
			return "", fmt.Errorf("tool %q is offered by two servers, %q and %q: use a prefix for tool names (rehearse's agent: subject: {tool_names: mcp})", full, old.server, server)
		}
		name = hashed(full, Fit(full))
	}
	return "", fmt.Errorf("tool %q of server %q: no free name under %q", tool, server, name)
}

// Lookup returns the tool that is offered under name.
func (t *Table) Lookup(name string) (server, tool string, ok bool) {
	e, ok := t.byName[name]
	return e.server, e.tool, ok
}

// Of reports whether name may be that of a tool of server in style s, by its
// beginning. In the style [Bare] any name may be.
func (s Style) Of(name, server string) bool {
	before, _ := strings.CutSuffix(s.Name(server, "x"), "x")
	if before == "" {
		return true
	}
	fitted := Fit(before)
	return strings.HasPrefix(name, fitted[:min(len(fitted), MaxLen-9)])
}
