// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func lanesKey() key {
	return key{name: "lanes", typ: list(objectOf("lane")), def: "none", doc: "Further conversations with the same mock model, such as those of worker agents. The first that a request belongs to answers it."}
}

// bareReplies says of replies without turns what they answer.
const bareReplies = "Instead of `turns`: each request gets the next reply, whatever it says, until they are used up. The request after a reply with calls must have their results. The same request again is a retry and gets the same reply."

func laneObject() *object {
	return &object{
		name: "lane", doc: "A conversation beside the main one, with replies and counters of its own. Its replies read results from the request.",
		one: []string{"turns", "replies"},
		keys: []key{
			{name: "lane", typ: filled(), required: true, doc: "The lane's name, for reports."},
			{name: "when", typ: celText(), required: true, doc: "Holds for the requests that belong to it; reads " + known(expr.Request) + "."},
			{name: "each", typ: enum("conversation"), def: "one for all", doc: "`conversation` restarts the lane for each distinct system message and first user text."},
			turnsKey("scripted turn", false),
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
			l.problems.add(n.Get("lane").Pos, "the lane %q already exists", name)
		}
		seen[name] = true
		out = append(out, laneScript{
			name: name, when: l.condition(n.Get("when"), expr.Request), each: usable(n.Get("each")),
			turns: l.turnScripts(n.Get("turns")), replies: l.replies(n.Get("replies"), true), pos: n.Pos,
		})
		for _, t := range itemsOf(n.Get("turns")) {
			if usable(t) && t.Key("expect") != nil {
				l.problems.add(t.Key("expect").Pos, "a turn of a lane cannot have expectations: the subject answers nobody there")
			}
		}
	}
	return out
}

func (l *loader) turnScripts(list *strictyaml.Node) []turnScript {
	var out []turnScript
	for _, n := range itemsOf(list) {
		if usable(n) {
			t := turnScript{replies: l.replies(n.Get("replies"), false), single: boolOf(n.Get("single_call")), pos: n.Pos}
			if user := n.Get("user"); usable(user) && user.Kind == strictyaml.Map {
				t.contains = textsOf(user.Get("contains"))
				if list := l.regexes(user.Get("regex")); len(list) > 0 {
					t.pattern = list[0]
				}
				t.part = user.Pos
			} else {
				t.user = l.template(user, expr.User)
			}
			out = append(out, t)
		}
	}
	return out
}

func bindTurns(turns []turnScript, vars value.Value) []mockllm.Turn {
	var out []mockllm.Turn
	for i, t := range turns {
		out = append(out, mockllm.Turn{User: t.userText(i+1, vars), Contains: t.contains, Pattern: t.pattern, Replies: bindReplies(t.replies, vars), Pos: t.pos})
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
					return false, &filepos.Error{Pos: l.pos, Err: err}
				}
				return ok, nil
			}
		}
		out = append(out, lane)
	}
	return out
}
