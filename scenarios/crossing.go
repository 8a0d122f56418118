// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// This file checks what one part of a scenario says of another: the servers
// that calls name, and the vars that expressions read.

// knownServers refuses calls of a server that the scenario does not have. A
// scenario without servers may leave them to its subject.
func (l *loader) knownServers(root *strictyaml.Node) {
	servers := root.Get("servers")
	if !usable(servers) || len(servers.Pairs) == 0 {
		return
	}
	var names []string
	for _, p := range servers.Pairs {
		names = append(names, p.Key.Text)
	}
	eachCall(root, func(name *strictyaml.Node) {
		server, _, dotted := strings.Cut(name.Text, ".")
		if !dotted || servers.Get(server) != nil {
			return
		}
		hint := didYouMean(server, names)
		if hint == "" {
			hint = "; there are " + strings.Join(names, ", ")
		}
		l.problems.add(name.Pos, "%q: unknown server %q%s", name.Text, server, hint)
	})
}

// eachCall visits the name of every call that a scenario writes down: those
// of replies, of expectations and under names.
func eachCall(root *strictyaml.Node, visit func(name *strictyaml.Node)) {
	calls := func(list *strictyaml.Node) {
		for _, item := range itemsOf(list) {
			if _, _, ok := callParts(item); ok {
				visit(keyOf(item))
			}
		}
	}
	expect := func(list *strictyaml.Node) {
		for _, n := range itemsOf(list) {
			calls(callList(n))
		}
	}
	replies := func(list *strictyaml.Node) {
		for _, r := range itemsOf(list) {
			calls(r.Get("calls"))
		}
	}
	turns := func(list *strictyaml.Node) {
		for _, t := range itemsOf(list) {
			replies(t.Get("replies"))
			expect(t.Get("expect"))
		}
	}
	turns(root.Get("turns"))
	for _, lane := range itemsOf(root.Get("lanes")) {
		replies(lane.Get("replies"))
		turns(lane.Get("turns"))
	}
	for _, k := range []string{"asides", "rules"} {
		for _, r := range itemsOf(root.Get(k)) {
			calls(r.Get("reply").Get("calls"))
		}
	}
	expect(root.Get("expect"))
	for _, p := range pairsOf(root.Get("names")) {
		visit(p.Key)
	}
}

// callList returns the list of calls of an expectation, whichever form it has.
func callList(expectation *strictyaml.Node) *strictyaml.Node {
	calls := expectation.Get("calls")
	if usable(calls) && calls.Kind == strictyaml.Map {
		return calls.Get("list")
	}
	return calls
}

// knownVars refuses expressions that read a key of vars which a case has not.
// Where a missing key is no error, one case must have it. none says why there
// are no vars at all.
func (l *loader) knownVars(exprs []placed, rows []caseRow, none string) {
	for _, e := range exprs {
		for _, msg := range missingVars(e, rows, none) {
			l.problems.add(e.pos, "%s", msg)
		}
	}
}

func missingVars(e placed, rows []caseRow, none string) []string {
	var msgs []string
	for _, key := range e.prog.Keys("vars") {
		var lacking []caseRow
		for _, row := range rows {
			if _, ok := row.vars.Get(key); !ok && !row.broken {
				lacking = append(lacking, row)
			}
		}
		switch {
		case len(lacking) == 0 || e.lenient && len(lacking) < len(rows):
		case lacking[0].name == "":
			msgs = append(msgs, fmt.Sprintf("vars has no key %q: %s", key, none))
		default:
			var known []string
			for _, m := range lacking[0].vars.Members() {
				known = append(known, m.Key)
			}
			msgs = append(msgs, fmt.Sprintf("vars has no key %q in case %q%s", key, lacking[0].name, didYouMean(key, known)))
		}
	}
	return msgs
}
