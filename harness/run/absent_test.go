// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestExplainAbsent: the first cause that names a tool which no model can be
// offered says why.
func TestExplainAbsent(t *testing.T) {
	tr := &trial{reports: []harness.TurnReport{{Notes: []string{`server "kit": tool "late" is not offered: it has no input schema`}}}, servers: []*toolServer{{
		name:   "kit",
		tools:  []harness.Tool{{Name: "note"}, {Name: "odd"}, {Name: "late"}},
		offer:  []harness.Tool{{Name: "note"}},
		absent: []absentTool{{"odd", "its input schema is odd"}, {"", `server "kit": entry 3 of page 1 of its tools is left out`}},
	}}}
	for _, tt := range []struct {
		name   string
		causes [][]string // the tools of each
		want   []string   // what is added to each
	}{
		{"the tool", [][]string{{"kit.odd"}, {"kit.odd"}}, []string{"kit.odd is not offered to models: its input schema is odd", ""}},
		{"the tool after another", [][]string{{"kit.note", "kit.odd"}}, []string{"kit.odd is not offered to models: its input schema is odd"}},
		{"one that the subject noted", [][]string{{"kit.late"}}, []string{`the subject noted: server "kit": tool "late" is not offered: it has no input schema`}},
		{"one that the list says nothing of", [][]string{{"kit.odder"}}, []string{"entry 3 of page 1"}},
		{"a tool that is listed", [][]string{{"kit.note"}}, []string{""}},
		{"another server", [][]string{{"toolkit.odd", "toolkit.other"}}, []string{""}},
		{"none, whatever is said", [][]string{nil}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var causes []trials.Cause
			const msg = `kit.odd, kit.late and kit.odder are words of an answer`
			for _, names := range tt.causes {
				causes = append(causes, trials.Cause{Kind: trials.CauseMiss, Message: msg, Tools: names})
			}
			tr.explainAbsent(causes)
			for i, c := range causes {
				added := strings.Join(c.Hints, "\n")
				if c.Message != msg {
					t.Errorf("%q became %q", msg, c.Message)
				}
				if (tt.want[i] == "") != (added == "") || !strings.Contains(added, tt.want[i]) {
					t.Errorf("to the cause of %q was added %q, want %q", tt.causes[i], added, tt.want[i])
				}
			}
		})
	}
	tr.servers[0].offer = nil
	causes := []trials.Cause{{Kind: trials.CauseMiss, Message: "a request without tools takes no position"}}
	if tr.explainAbsent(causes); len(causes[0].Hints) != 2 || !strings.Contains(causes[0].Hints[0], "its input schema is odd") {
		t.Errorf("to a miss without any tool was added %q", causes[0].Hints)
	}
}
