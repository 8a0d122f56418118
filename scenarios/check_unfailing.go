// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import "github.com/rehearse-dev/rehearse/internal/strictyaml"

// unfailing warns about an expectation that is empty, so that nothing can fail it.
func (c *checks) unfailing(n *strictyaml.Node) {
	whats := []*strictyaml.Node{n.Get("answer"), n.Get("start_error")}
	for _, p := range pairsOf(n.Get("files")) {
		whats = append(whats, p.Value)
	}
	for _, what := range whats {
		if !usable(what) || what.Kind != strictyaml.Map {
			continue
		}
		for _, key := range []string{"contains", "not_contains", "regex"} {
			if list := what.Get(key); isEmpty(list) {
				c.cannotFail(list, "the list is empty: %s cannot fail", key)
			}
		}
	}
	if never := n.Get("never"); isEmpty(never) {
		c.cannotFail(never, "the list is empty: never cannot fail; write calls: [] for no call at all")
	}
	for _, k := range []string{"state", "files"} {
		if what := n.Get(k); isEmpty(what) {
			c.cannotFail(what, "nothing is named in it: %s cannot fail", k)
		}
	}
	if r := n.Get("retries"); usable(r) && r.Kind == strictyaml.Map && r.Get("max") == nil && r.Get("honoured") == nil && textOf(r.Get("min")) == "0" {
		c.cannotFail(r, "there are always 0 retries or more: this cannot fail; write max: 0 for none")
	}
	if calls := n.Get("calls"); usable(calls) && calls.Kind == strictyaml.Map && isEmpty(calls.Get("list")) && textOf(calls.Get("extra")) == "allow" {
		c.cannotFail(calls, "no call is listed and any other is allowed: this cannot fail")
	}
}

// isEmpty reports whether a list or a map is written and has nothing in it.
func isEmpty(n *strictyaml.Node) bool {
	return usable(n) && (n.Kind == strictyaml.List && len(n.Items) == 0 || n.Kind == strictyaml.Map && len(n.Pairs) == 0)
}
