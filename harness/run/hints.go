// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
)

// hintTools says in the rows of calls that were not made which of them could
// not be: their server lists no such tool.
func hintTools(v *trials.Verdict, listed map[string][]harness.Tool) {
	if v.Alignment == nil {
		return
	}
	var said []string
	for i := range v.Alignment.Rows {
		row := &v.Alignment.Rows[i]
		server, tool := toolname.Split(row.Tool)
		tools := listed[server]
		if row.Status != trials.AlignMissing || server == "" || len(tools) == 0 || has(tools, tool) {
			continue
		}
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		hint := fmt.Sprintf("server %q has no tool %q%s", server, tool, suggestion(tool, names))
		row.Expected += " (" + hint + ")"
		if !slices.Contains(said, hint) {
			said = append(said, hint)
			v.Message += "; " + hint
		}
	}
}

func has(tools []harness.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t harness.Tool) bool { return t.Name == name })
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
				return c.Kind == trials.CauseMiss && slices.Contains(c.Tools, s.name+"."+tool.Name)
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
				return c.Kind != trials.CauseEndpoint && (slices.Contains(c.Tools, name) || tool.name == "" && s.missing(c.Tools) || nothing && c.Kind == trials.CauseMiss)
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

// missing reports whether one of the tools that a cause is about is the server's,
// which does not list it.
func (s *toolServer) missing(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		server, tool := toolname.Split(name)
		return server == s.name && !has(s.tools, tool)
	})
}
