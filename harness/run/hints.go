// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// hintTools says in the rows of calls that were not made which of them could
// not be: their server lists no such tool.
func hintTools(v *harness.Verdict, listed map[string][]harness.Tool) {
	if v.Alignment == nil {
		return
	}
	for i := range v.Alignment.Rows {
		row := &v.Alignment.Rows[i]
		name, _, _ := strings.Cut(row.Expected, " ")
		server, tool, dotted := strings.Cut(name, ".")
		tools := listed[server]
		is := func(t harness.Tool) bool { return t.Name == tool }
		if row.Status != harness.AlignMissing || !dotted || len(tools) == 0 || slices.ContainsFunc(tools, is) {
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
	if best := harness.Suggest(name, names); best != "" {
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
			out += fmt.Sprintf("\n%s.%s, called before, has no argument %q%s", last.Server, last.Tool, name, suggestion(name, known))
		}
	}
	return out
}
