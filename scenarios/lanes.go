// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/harness/value"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func lanesKey() key {
	return key{name: "lanes", typ: list(objectOf("lane")), def: "none", doc: "Further conversations with the same mock model, such as those of worker agents. The first that a request belongs to answers it."}
}

// bareReplies says of replies without turns what they answer.
const bareReplies = "In place of `turns`: each request gets the next, whatever it says, until they are used up. One after a reply with calls has their results; the same request again is a retry, and gets the same reply."

func laneObject() *object {
	return &object{
		name: "lane", doc: "A conversation beside the main one, with replies and counters of its own. Its replies read results from the request.",
		one: []string{"turns", "replies"},
		keys: []key{
			{name: "lane", typ: filled(), required: true, doc: "The lane's name, for reports."},
			{name: "when", typ: celText(), required: true, doc: "Holds for the requests that belong to it; reads " + known(expr.Request) + "."},
			{name: "each", typ: enum("conversation"), def: "one for all", doc: "`conversation` begins the lane anew for each system message and first user text."},
			turnsKey(false),
			{name: "replies", typ: list(objectOf("reply")), def: "none", doc: bareReplies},
		},
	}
}

// laneScript is a lane whose conditions are bound to the vars of each case.
type laneScript struct {
	name    string
	when    *expr.Program
	each    bool
	turns   []turnScript
	replies []replyScript
	pos     harness.Position
}

func (l *loader) lanes(list *strictyaml.Node) []laneScript {
	var out []laneScript
	seen := map[string]bool{}
	for _, n := range itemsOf(list) {
		if !usable(n) || !usable(n.Get("lane")) {
			continue
		}
		name := textOf(n.Get("lane"))
		if seen[name] {
			l.problems.add(n.Get("lane").Pos, "there is a lane %q already", name)
		}
		seen[name] = true
		out = append(out, laneScript{
			name: name, when: l.condition(n.Get("when"), expr.Request), each: usable(n.Get("each")),
			turns: l.turnScripts(n.Get("turns")), replies: l.replies(n.Get("replies"), true), pos: n.Pos,
		})
		for _, t := range itemsOf(n.Get("turns")) {
			if usable(t) && t.Key("expect") != nil {
				l.problems.add(t.Key("expect").Pos, "a turn of a lane has no expectations: the subject answers to nobody there")
			}
		}
	}
	return out
}

func (l *loader) turnScripts(list *strictyaml.Node) []turnScript {
	var out []turnScript
	for _, n := range itemsOf(list) {
		if usable(n) {
			out = append(out, turnScript{user: l.template(n.Get("user"), expr.User), replies: l.replies(n.Get("replies"), false), pos: n.Pos})
		}
	}
	return out
}

func bindTurns(turns []turnScript, vars value.Value) []mockllm.Turn {
	var out []mockllm.Turn
	for i, t := range turns {
		out = append(out, mockllm.Turn{User: t.userText(i+1, vars), Replies: bindReplies(t.replies, vars), Pos: t.pos})
	}
	return out
}

func bindLanes(lanes []laneScript, vars value.Value) []mockllm.Lane {
	var out []mockllm.Lane
	for _, l := range lanes {
		lane := mockllm.Lane{Name: l.name, Each: l.each, Turns: bindTurns(l.turns, vars), Replies: bindReplies(l.replies, vars), Pos: l.pos}
		if l.when != nil {
			lane.When = func(ask *mockllm.Ask) (bool, error) {
				ok, err := l.when.Holds(&expr.Vars{Request: &ask.Request, User: ask.User, Turn: ask.Turn, Vars: vars})
				if err != nil {
					return false, fmt.Errorf("%s: %w", l.pos, err)
				}
				return ok, nil
			}
		}
		out = append(out, lane)
	}
	return out
}
