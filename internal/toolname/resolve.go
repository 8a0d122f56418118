// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolname

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Resolve returns the name under which a subject offers the tool want, which
// is server.tool or an offered name.
//
// For server.tool, names (server.tool to offered name) decides first; then
// the known styles with a prefix, then the tool's bare name. A candidate
// counts when its schema has the same property names as schema, the tool's
// own; a nil schema matches any, since subjects rewrite all else. None or two
// candidates are an error that lists what was offered, and so is server_tool
// beside tool: either may be meant. A [Resolver] knows the tools and tells.
//
// A name without a server is that of an offered tool, or the tool of one server
// that is offered with that server's name before it.
func Resolve(want string, offered []harness.Tool, schema json.RawMessage, names map[string]string) (string, error) {
	return resolve(want, offered, schema, names, nil)
}

// resolve resolves a name. rivals are the tools of all servers, which may be
// those that an offered name stands for; nil when they are not known.
func resolve(want string, offered []harness.Tool, schema json.RawMessage, names map[string]string, rivals []known) (string, error) {
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
	has := newNameSet(offered)
	var other []string
	for _, styles := range [][]func(server, tool string) string{prefixes(), {Bare.Name}} {
		candidates := make(map[string]bool)
		for _, style := range styles {
			for name, rival := range candidate(style, entry{server, tool}, has, rivals) {
				if rival != "" {
					other = append(other, rival)
					continue
				}
				candidates[name] = true
			}
		}
		var found []string
		for _, t := range offered {
			if !candidates[t.Name] || slices.Contains(found, t.Name) {
				continue
			}
			if !sameProperties(t.Schema, schema) {
				other = append(other, fmt.Sprintf("%q has other properties (%s, not %s)", t.Name, properties(t.Schema), properties(schema)))
				continue
			}
			if rival := claimed(want, t, has, names, rivals); rival != "" {
				other = append(other, fmt.Sprintf("%q is the name of %s", t.Name, rival))
				continue
			}
			found = append(found, t.Name)
		}
		switch len(found) {
		case 0:
		case 1:
			if rivals == nil && mistakable(server, tool, found[0], offered) {
				return "", &AmbiguousError{Want: want, Offered: []string{found[0], tool}}
			}
			return found[0], nil
		default:
			return "", &AmbiguousError{Want: want, Offered: found}
		}
	}
	return "", notOffered(want, offered, other)
}

// resolveOffered finds an offered name, or the one name that a client made of
// it by the name of a server: mcp__server__tool, server__tool, mcp_server_tool.
// server_tool is left out, since get_weather would be weather of a server get.
func resolveOffered(name string, offered []harness.Tool) (string, error) {
	var found, near []string
	for _, t := range offered {
		if t.Name == name {
			return name, nil
		}
		server, ok := strings.CutSuffix(t.Name, Fit(name))
		switch {
		case !ok || slices.Contains(found, t.Name):
		case len(server) > 2 && strings.HasSuffix(server, "__"), len(server) > 1 && strings.HasSuffix(server, "."), mcpPrefix(server):
			found = append(found, t.Name)
		case strings.HasSuffix(server, "_"), strings.HasSuffix(server, "-"):
			near = append(near, fmt.Sprintf("%q may be meant: write its server, a dot and %s", t.Name, name))
		}
	}
	switch len(found) {
	case 0:
		return "", notOffered(name, offered, near)
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{Want: name, Offered: found}
}

// mcpPrefix reports whether s is mcp_ with the name of a server and an
// underscore behind it; a name with an underscore of its own might be part of
// the tool's.
func mcpPrefix(s string) bool {
	server, ok := strings.CutPrefix(s, "mcp_")
	server, end := strings.CutSuffix(server, "_")
	return ok && end && server != "" && !strings.Contains(server, "_")
}

// candidate returns the offered name that a client which names its tools in a
// style has made of tool, and what is said against it: empty is nothing. A
// client keeps apart tools whose names are equal once they are fitted, as
// [Table] does.
func candidate(style func(server, tool string) string, tool entry, has *nameSet, rivals []known) map[string]string {
	full := style(tool.server, tool.tool)
	fitted := Fit(full)
	if has.hashes {
		if name := hashed(full, fitted); name != fitted && has.names[name] {
			return map[string]string{name: ""}
		}
	}
	if !has.names[full] && !has.names[fitted] {
		return nil
	}
	out := map[string]string{full: "", fitted: ""} // endpoints other than OpenAI's take any name
	if full == fitted {
		return out
	}
	for _, rival := range rivals {
		other := style(rival.server, rival.tool)
		if rival.entry == tool || other == full || Fit(other) != fitted || has.hashes && has.names[hashed(other, fitted)] {
			continue
		}
		if has.names[full] {
			delete(out, fitted)
			continue
		}
		if has.names[fitted] {
			out[fitted] = fmt.Sprintf("%q is the name of %s too, once both are written as endpoints take them: give each a name under names", fitted, rival.server+"."+rival.tool)
		}
	}
	return out
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
	server, tool := Split(want)
	if other == nil {
		b.WriteString(cmp.Or(joined(server, tool, names), prose.DidYouMean(tool, names)))
	}
	b.WriteString("; offered: " + strings.Join(names, ", "))
	return errors.New(b.String())
}

// joined is a hint at the offered name that has the server and the tool in it, in a
// style that is not known; empty where none has.
func joined(server, tool string, names []string) string {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	for _, name := range names {
		before, behind, found := strings.Cut(letters(name), letters(tool))
		if letters(server) == "" || !found || !strings.Contains(before+" "+behind, letters(server)) {
			continue
		}
		here := fmt.Sprintf("names: {%s.%s: %s} in the file", server, tool, name)
		style := strings.NewReplacer(Fit(server), "{server}", Fit(tool), "{tool}").Replace(name)
		if strings.Count(style, "{server}") == 1 && strings.Count(style, "{tool}") == 1 {
			return fmt.Sprintf("; if %q is it, say names: %q in the description of the subject, or %s", name, style, here)
		}
		return fmt.Sprintf("; if %q is it, say %s", name, here)
	}
	return ""
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// prefixes are the known ways to put the server's name into that of a tool.
func prefixes() []func(server, tool string) string {
	join := func(before, between string) func(server, tool string) string {
		return func(server, tool string) string { return before + server + between + tool }
	}
	return []func(server, tool string) string{
		Underscore.Name, join("mcp__", "__"), join("", "_"), Dotted.Name, join("", "__"), join("", "-"), join("", "/"), join("", ":"),
	}
}

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

// Resolver resolves the tools of a scenario's servers, in both directions. It
// may be used concurrently.
type Resolver struct {
	servers map[string][]harness.Tool
	names   map[string]string
	all     []known

	// The requests of a conversation offer the same tools, and each tool is
	// asked for by several checks: what was found for the tools last offered
	// is kept.
	mu      sync.Mutex
	offered []harness.Tool
	found   map[entry]resolved
}

// resolved is what came of a tool.
type resolved struct {
	name string
	err  error
}

// NewResolver returns a resolver for the tools of servers, by server name.
// names maps server.tool to offered names, for subjects with a style of
// their own; nil means none.
func NewResolver(servers map[string][]harness.Tool, names map[string]string) *Resolver {
	r := &Resolver{servers: servers, names: names, found: map[entry]resolved{}}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		for _, t := range servers[server] {
			r.all = append(r.all, known{entry{server, t.Name}, t.Schema})
		}
	}
	return r
}

// Offered returns the name under which server's tool is offered, as
// [Resolve] does.
func (r *Resolver) Offered(server, tool string, offered []harness.Tool) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.EqualFunc(r.offered, offered, sameTool) {
		r.offered = slices.Clone(offered)
		clear(r.found)
	}
	e := entry{server, tool}
	got, ok := r.found[e]
	if !ok {
		got.name, got.err = resolve(server+"."+tool, offered, r.schema(server, tool), r.names, r.all)
		r.found[e] = got
	}
	return got.name, got.err
}

// sameTool compares what names are resolved by.
func sameTool(a, b harness.Tool) bool { return a.Name == b.Name && bytes.Equal(a.Schema, b.Schema) }

// Name resolves server.tool or an offered name to an offered name.
func (r *Resolver) Name(want string, offered []harness.Tool) (string, error) {
	server, tool := Split(want)
	if server != "" {
		return r.Offered(server, tool, offered)
	}
	name, err := resolveOffered(want, offered)
	if err != nil || name == want {
		return name, err
	}
	if server, tool, ok := r.Of(name, offered); ok && Fit(tool) != Fit(want) {
		return "", notOffered(want, offered, []string{fmt.Sprintf("%q is the name of %s.%s", name, server, tool)})
	}
	return name, nil
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
