// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// Resolve returns the name under which a subject offers the tool want, which
// is server.tool or an offered name.
//
// For server.tool, names (server.tool to offered name) decides first; then
// the known styles with a prefix, then the tool's bare name. A candidate
// counts when its schema has the same property names as schema, the tool's
// own; a nil schema matches any, since subjects rewrite all else. None or two
// candidates are an error that lists what was offered.
func Resolve(want string, offered []harness.Tool, schema json.RawMessage, names map[string]string) (string, error) {
	server, tool := Split(want)
	if server == "" {
		return resolveOffered(want, offered)
	}
	if name, ok := names[want]; ok {
		got, err := resolveOffered(name, offered)
		if err != nil {
			return "", fmt.Errorf("tool %q by names: %w", want, err)
		}
		return got, nil
	}
	var other []string
	for _, candidates := range [][]string{prefixed(server, tool), bare(tool)} {
		var found []string
		for _, t := range offered {
			if !slices.Contains(candidates, t.Name) || slices.Contains(found, t.Name) {
				continue
			}
			if !sameProperties(t.Schema, schema) {
				other = append(other, fmt.Sprintf("%q has other properties (%s, not %s)", t.Name, properties(t.Schema), properties(schema)))
				continue
			}
			found = append(found, t.Name)
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", fmt.Errorf("tool %q could be any of %s: say which under names", want, quoted(found))
		}
	}
	return "", notOffered(want, offered, other)
}

func resolveOffered(name string, offered []harness.Tool) (string, error) {
	for _, t := range offered {
		if t.Name == name {
			return name, nil
		}
	}
	return "", notOffered(name, offered, nil)
}

func notOffered(want string, offered []harness.Tool, other []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "tool %q is not offered", want)
	for _, o := range other {
		b.WriteString("; " + o)
	}
	if len(offered) == 0 {
		b.WriteString("; the request offers no tools")
		return errors.New(b.String())
	}
	names := make([]string, len(offered))
	for i, t := range offered {
		names[i] = t.Name
	}
	b.WriteString("; offered: " + strings.Join(names, ", "))
	return errors.New(b.String())
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// prefixed lists the known names with the server's name in them.
func prefixed(server, tool string) []string {
	return []string{
		Fit(Underscore.Name(server, tool)),
		Fit("mcp__" + server + "__" + tool),
		Fit(server + "_" + tool),
		Fit(Dotted.Name(server, tool)),
		Dotted.Name(server, tool), // endpoints other than OpenAI's take the dot
	}
}

func bare(tool string) []string { return []string{tool, Fit(tool)} }

func sameProperties(got, want json.RawMessage) bool {
	if want == nil || bytes.Equal(got, want) {
		return true
	}
	return maps.EqualFunc(propertySet(got), propertySet(want), func(_, _ json.RawMessage) bool { return true })
}

func propertySet(schema json.RawMessage) map[string]json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	// A schema that cannot be read has no properties to compare.
	_ = json.Unmarshal(schema, &s)
	return s.Properties
}

func properties(schema json.RawMessage) string {
	names := slices.Sorted(maps.Keys(propertySet(schema)))
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// Resolver resolves the tools of a scenario's servers, in both directions.
type Resolver struct {
	servers map[string][]harness.Tool
	names   map[string]string
}

// NewResolver returns a resolver for the tools of servers, by server name.
// names maps server.tool to offered names, for subjects with a style of
// their own; nil means none.
func NewResolver(servers map[string][]harness.Tool, names map[string]string) *Resolver {
	return &Resolver{servers: servers, names: names}
}

// Offered returns the name under which server's tool is offered, as
// [Resolve] does.
func (r *Resolver) Offered(server, tool string, offered []harness.Tool) (string, error) {
	return Resolve(server+"."+tool, offered, r.schema(server, tool), r.names)
}

// Name resolves server.tool or an offered name to an offered name.
func (r *Resolver) Name(want string, offered []harness.Tool) (string, error) {
	server, tool := Split(want)
	if server == "" {
		return resolveOffered(want, offered)
	}
	return r.Offered(server, tool, offered)
}

func (r *Resolver) schema(server, tool string) json.RawMessage {
	for _, t := range r.servers[server] {
		if t.Name == tool {
			return t.Schema
		}
	}
	return nil
}

// Of returns the server and tool that are offered as name. It is not ok when
// no tool or more than one is.
func (r *Resolver) Of(name string, offered []harness.Tool) (server, tool string, ok bool) {
	n := 0
	for _, s := range slices.Sorted(maps.Keys(r.servers)) {
		for _, t := range r.servers[s] {
			if got, err := r.Offered(s, t.Name, offered); err == nil && got == name {
				server, tool = s, t.Name
				n++
			}
		}
	}
	if n != 1 {
		return "", "", false
	}
	return server, tool, true
}
