// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// lateNews says which calls of a scenario are of tools that their server
// announces only when it has answered the call that brought them about: whether
// the next request has them is a race then.
func (c *checks) lateNews(root *strictyaml.Node) {
	calls := map[string]int{} // of each server, and of each server.tool
	for _, turn := range itemsOf(root.Get("turns")) {
		late := map[string]changeScript{} // what came in this turn, by server.tool
		for _, reply := range itemsOf(turn.Get("replies")) {
			came := map[string]changeScript{}
			for _, item := range itemsOf(reply.Get("calls")) {
				name, _, _ := callParts(item)
				if by, ok := late[name]; ok {
					c.doubt(keyOf(item), "the server announces %s after the answer that causes it, and the next request may come sooner: set `early: true` at %s to announce it first",
						name, by.change.Pos)
					delete(late, name)
				}
				server, tool, _ := strings.Cut(name, ".")
				calls[server]++
				calls[name]++
				for _, change := range c.lateChanges(server, tool, calls[server], calls[name]) {
					for _, t := range change.tools {
						if c.always(server, t.tool.Name) {
							continue
						}
						came[server+"."+t.tool.Name] = change
					}
				}
			}
			for name, change := range came {
				late[name] = change
			}
		}
	}
}

// always reports whether a server has a tool from the beginning.
func (c *checks) always(server, tool string) bool {
	return slices.ContainsFunc(c.servers, func(e *serverEntry) bool {
		return e.server.Name == server && e.script != nil &&
			slices.ContainsFunc(e.script.tools, func(t toolScript) bool { return t.tool.Name == tool })
	})
}

// lateChanges are the changes of a server that a call makes, the all-th of the
// server and the nth of its tool, and that are told of afterwards.
func (c *checks) lateChanges(server, tool string, all, nth int) []changeScript {
	i := slices.IndexFunc(c.servers, func(e *serverEntry) bool { return e.server.Name == server && e.script != nil })
	if i < 0 {
		return nil
	}
	var out []changeScript
	for _, s := range c.servers[i].script.offer.changes {
		ch := s.change
		told := ch.Tell == nil || slices.Contains(ch.Tell, "tools")
		made := ch.Tool == "" && ch.Call > 0 && ch.Call == all || ch.Tool == tool && (ch.Call == 0 || ch.Call == nth)
		if made && told && !ch.Early && len(s.tools) > 0 {
			out = append(out, s)
		}
	}
	return out
}
