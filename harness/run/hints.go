// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// hintTools says in the rows of calls that were not made which of them could
// not be: their server lists no such tool.
func hintTools(v *trials.Verdict, listed map[string][]harness.Tool) {
	if v.Alignment == nil {
		return
	}
	for i := range v.Alignment.Rows {
		row := &v.Alignment.Rows[i]
		name, _, _ := strings.Cut(row.Expected, " ")
		server, tool, dotted := strings.Cut(name, ".")
		tools := listed[server]
		is := func(t harness.Tool) bool { return t.Name == tool }
		if row.Status != trials.AlignMissing || !dotted || len(tools) == 0 || slices.ContainsFunc(tools, is) {
			continue
		}
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		hint := fmt.Sprintf("server %q has no tool %q%s", server, tool, suggestion(tool, names))
		row.Expected += " (" + hint + ")"
		if !strings.Contains(v.Message, hint) {
			v.Message += "; " + hint
		}
	}
}

func suggestion(name string, names []string) string {
	if best := prose.Suggest(name, names); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// strangeArguments says which arguments of the last call before an error of the
// script its tool does not have; empty when it has all of them.
func (t *trial) strangeArguments(tools []harness.ToolExchange) string {
	if len(tools) == 0 {
		return ""
	}
	last := tools[len(tools)-1]
	var args map[string]json.RawMessage
	if !last.IsError || json.Unmarshal(last.Args, &args) != nil {
		return ""
	}
	listed, _ := t.listed()
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	for _, tool := range listed[last.Server] {
		if tool.Name == last.Tool && json.Unmarshal(tool.Schema, &schema) != nil {
			return ""
		}
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	out := ""
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if len(known) > 0 && !slices.Contains(known, name) {
			out += fmt.Sprintf("\n%s.%s, which was called before, has no argument %q%s", last.Server, last.Tool, name, suggestion(name, known))
		}
	}
	return out
}

// unansweredCall says that the last call before an error of the script has no
// result that an expression could read; empty when it was answered.
func unansweredCall(tools []harness.ToolExchange) string {
	if len(tools) == 0 || !tools[len(tools)-1].Unsent {
		return ""
	}
	last := tools[len(tools)-1]
	return fmt.Sprintf("\n%s.%s, which was called before, was never answered and has no result", last.Server, last.Tool)
}

// absentTool is a tool that models are not offered, and why.
type absentTool struct{ name, why string } // name is empty for an entry of a list that is no tool

// explainAbsent adds to the first cause that names a tool that models are not
// offered why they are not, as far as the server's list tells or the subject
// has noted it.
func (t *trial) explainAbsent(causes []trials.Cause) {
	// Of a model that is offered nothing at all, a miss need not name a tool.
	nothing := !slices.ContainsFunc(t.servers, func(s *toolServer) bool { return len(s.offer) > 0 })
	for _, s := range t.servers {
		for _, tool := range s.tools {
			i := slices.IndexFunc(causes, func(c trials.Cause) bool {
				return c.Kind == trials.CauseMiss && names(c.Message, s.name+"."+tool.Name)
			})
			if note := t.noted(s.name, tool.Name); i >= 0 && note != "" && !s.lacks(tool.Name) {
				causes[i].Hints = append(causes[i].Hints, "the subject noted: "+note)
			}
		}
		for _, tool := range s.absent {
			name, why := s.name+"."+tool.name, fmt.Sprintf("%s.%s is not offered to models: %s", s.name, tool.name, tool.why)
			if tool.name == "" {
				why = tool.why
			}
			i := slices.IndexFunc(causes, func(c trials.Cause) bool {
				return c.Kind != trials.CauseEndpoint && (names(c.Message, name) || tool.name == "" && s.missing(c.Message) || nothing && c.Kind == trials.CauseMiss)
			})
			if i >= 0 {
				causes[i].Hints = append(causes[i].Hints, why)
			}
		}
	}
}

// explainAhead adds to the first miss that a turn was answered by something that the
// model did not say: a program that writes a line before it is asked answers each
// turn with what belongs to the one before.
func (t *trial) explainAhead(causes []trials.Cause, exchanges []harness.Exchange) {
	i := slices.IndexFunc(causes, func(c trials.Cause) bool { return c.Kind == trials.CauseMiss })
	if i < 0 || !t.subject.Foreign {
		return
	}
	for n, report := range t.reports {
		said := func(x harness.Exchange) bool { return x.Turn == n+1 && strings.Contains(x.Answer.Text, report.Answer) }
		if report.Answer != "" && !slices.ContainsFunc(exchanges, said) {
			causes[i].Hints = append(causes[i].Hints, fmt.Sprintf("turn %d was answered %s, which the model did not say in it; what a program writes before it is asked counts as its answer",
				n+1, strconv.Quote(prose.Shorten(report.Answer, 100))))
			return
		}
	}
}

// noted is the first note of the subject about a tool of a server.
func (t *trial) noted(server, tool string) string {
	for _, report := range t.reports {
		for _, note := range report.Notes {
			if strings.Contains(note, strconv.Quote(server)) && strings.Contains(note, strconv.Quote(tool)) {
				return note
			}
		}
	}
	return ""
}

// lacks reports whether it is known why models are not offered a tool.
func (s *toolServer) lacks(tool string) bool {
	return slices.ContainsFunc(s.absent, func(a absentTool) bool { return a.name == tool })
}

// missing reports whether a message names a tool that the server does not
// list.
func (s *toolServer) missing(msg string) bool {
	if strings.Contains(msg, fmt.Sprintf("server %q has no tool ", s.name)) {
		return true
	}
	for rest := msg; ; {
		before, after, ok := strings.Cut(rest, s.name+".")
		if !ok {
			return false
		}
		rest = after
		if last, _ := utf8.DecodeLastRuneInString(before); inName(last) {
			continue
		}
		end := strings.IndexFunc(after, func(r rune) bool { return !inName(r) })
		if end < 0 {
			end = len(after)
		}
		if name := after[:end]; name != "" && !slices.ContainsFunc(s.tools, func(t harness.Tool) bool { return t.Name == name }) {
			return true
		}
	}
}

func inName(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// names reports whether a message has a name in it that is no part of a longer
// one.
func names(msg, name string) bool {
	before, after, ok := strings.Cut(msg, name)
	if !ok {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return !inName(last) && !inName(next) || names(after, name)
}
