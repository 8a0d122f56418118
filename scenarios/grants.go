// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// grants reads which servers each agent may use: what the scenario says, or else
// what the configurations say that its servers are from.
func (l *loader) grants(n, servers *strictyaml.Node, entries []*serverEntry) map[string][]string {
	if !usable(n) {
		return configuredGrants(entries)
	}
	var names []string
	for _, p := range pairsOf(servers) {
		names = append(names, p.Key.Text)
	}
	out := map[string][]string{}
	for _, agent := range n.Pairs {
		out[agent.Key.Text] = []string{}
		for _, item := range itemsOf(agent.Value) {
			if !slices.Contains(names, item.Text) {
				l.problems.add(item.Pos, "agent %q may use server %q, which the scenario does not have%s", agent.Key.Text, item.Text, didYouMean(item.Text, names))
			}
			out[agent.Key.Text] = append(out[agent.Key.Text], item.Text)
		}
	}
	return out
}

// configuredGrants are those of all configurations together; nil when none has
// any.
func configuredGrants(entries []*serverEntry) map[string][]string {
	var out map[string][]string
	for _, e := range entries {
		if e.grants != nil && out == nil {
			out = map[string][]string{}
		}
		for agent, allowed := range e.grants {
			if slices.Contains(allowed, e.server.Name) {
				out[agent] = append(out[agent], e.server.Name)
			}
		}
	}
	return out
}

// configured makes an entry of the server of a configuration that has its name.
func (l *loader) configured(entry *serverEntry, name string, from *strictyaml.Node) {
	path := beside(from)
	entry.broken = true
	if l.outside(from, path) || !l.readable(from, path, strictyaml.MaxBytes) {
		return
	}
	raw, err := l.readAny(path)
	if err != nil {
		l.problems.add(from.Pos, "%q: %s", from.Text, reason(err))
		return
	}
	lookup := l.lookup
	if l.offline {
		lookup = func(name string) (string, bool) {
			value, _ := l.lookup(name)
			return value, true
		}
	}
	config, err := mcpconfig.Parse(filepath.ToSlash(path), raw, lookup)
	if err != nil {
		for _, e := range filepos.All(err) {
			l.problems.add(cmp.Or(filepos.Of(e), from.Pos), "%s", filepos.Bare(e))
		}
		return
	}
	var names []string
	for _, s := range config.Servers {
		if s.Name == name {
			s.Transport = cmp.Or(s.Transport, map[bool]string{true: "stdio", false: "http"}[s.URL == ""])
			entry.server.Transport = s.Transport
			if s.URL == "" {
				s.Transport = ""
			}
			if at := strings.Index(s.Dir, workdirMark); at > 0 { // it is absolute, though nobody knows it yet
				s.Dir = s.Dir[at:]
			}
			for _, w := range config.Warnings {
				if w.Server == name {
					entry.doubts = append(entry.doubts, Problem{filepos.Of(w), filepos.Bare(w.Unwrap())})
				}
			}
			entry.server.real, entry.grants, entry.broken = s, config.Grants, false
			return
		}
		names = append(names, s.Name)
	}
	l.problems.add(from.Pos, "%q has no server %q that is enabled%s", from.Text, name, didYouMean(name, names))
}
