// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Approval says what is decided when the subject asks whether a call may run.
type Approval struct {
	Tool   string // server.tool; * is any text
	Decide Decision
	Reason string // for a denial
	Pos    harness.Position

	args *match.Matcher // nil for any
}

// Decision is the answer to the question whether a call may run.
type Decision string

// The decisions.
const (
	Allow        Decision = "allow"
	Deny         Decision = "deny"
	NeverAnswers Decision = "never_answers"
)

func approvalObject() *object {
	return &object{
		name: "approval", doc: "What is decided when the subject asks whether a tool call may run.",
		keys: []key{
			{name: "tool", typ: filled(), required: true, doc: "The tool, `server.tool`; `*` stands for any text."},
			{name: "args", typ: anyMap(), def: "any", doc: "The arguments that it is about; operators allowed, keys that are not named are not looked at."},
			{name: "decide", typ: enum(string(Allow), string(Deny), string(NeverAnswers)), required: true, doc: "`allow` lets the call run as it was asked about. `deny` refuses it, which the model is told. `never_answers` leaves the subject waiting until its own time limit (`subject.time_limit`) or that of the trial."},
			{name: "reason", typ: filled(), def: "the user refused it", doc: "With `deny`: what the subject is told."},
		},
	}
}

func approvalsKey(of string) key {
	return key{name: "approvals", typ: list(objectOf("approval")), def: "no call is asked about", doc: of + " The first entry that fits a call decides. A call that none fits is denied; in mock and replay mode it also fails the trial, since nobody scripted a decision. The conduct check `approved` compares what was executed with what was allowed."}
}

// approvals reads a list of approvals.
func (l *loader) approvals(list *strictyaml.Node, entries []*serverEntry) []Approval {
	var out []Approval
	for _, n := range itemsOf(list) {
		tool := n.Get("tool")
		if !usable(tool) {
			continue
		}
		a := Approval{Tool: tool.Text, Decide: Decision(textOf(n.Get("decide"))), Pos: n.Pos}
		a.Reason = cmp.Or(textOf(n.Get("reason")), "the user refused it")
		if reason := n.Key("reason"); reason != nil && a.Decide != Deny {
			l.problems.add(reason.Pos, "a reason goes with decide: deny")
		}
		switch {
		case strings.ContainsAny(a.Tool, "*?"):
		case !strings.Contains(a.Tool, "."):
			l.problems.add(tool.Pos, "%q: name the tool as server.tool, or with * for any text", a.Tool)
		default:
			l.knownTool(tool.Pos, "nobody can ask about it", a.Tool, entries)
		}
		if args := n.Get("args"); usable(args) {
			a.args = l.matcher(args, match.Options{Scope: expr.User, Root: "args"})
		}
		out = append(out, a)
	}
	return out
}

// Decides is what the scenario decides about a call in a turn, counted from 1. It
// is nil when no entry fits.
func (s *Scenario) Decides(turn int, server, tool string, args []byte) (*Approval, error) {
	v, err := value.Parse(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	lists := [][]Approval{nil, s.Approvals}
	if turn >= 1 && turn <= len(s.Turns) {
		lists[0] = s.Turns[turn-1].Approvals
	}
	for _, list := range lists {
		for i := range list {
			a := &list[i]
			if !match.Glob(a.Tool, server+"."+tool) {
				continue
			}
			if a.args == nil {
				return a, nil
			}
			diff, err := a.args.Match(v, s.Seen(turn))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.Pos, err)
			}
			if diff == nil {
				return a, nil
			}
		}
	}
	return nil, nil
}

// AsksApproval reports whether the subject is to ask about calls.
func (s *Scenario) AsksApproval() bool {
	asks := s.Approvals != nil
	for _, t := range s.Turns {
		asks = asks || t.Approvals != nil
	}
	return asks
}

// approvals warns of a wait that only the end of the trial ends.
func (c *checks) approvals(s *Scenario) {
	lists := [][]Approval{s.Approvals}
	for _, t := range s.Turns {
		lists = append(lists, t.Approvals)
	}
	for _, list := range lists {
		for _, a := range list {
			if a.Decide == NeverAnswers && s.Settings.TimeLimit == 0 {
				c.problems.add(a.Pos, "nobody answers, and the subject has no time limit: set subject.time_limit, or the trial ends by the time limit of the run")
			}
		}
	}
}
