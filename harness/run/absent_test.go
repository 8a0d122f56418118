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
		causes []string
		want   []string // what is added to each
	}{
		{"the tool", []string{`tool "kit.odd" is not offered`, "missing kit.odd"}, []string{"kit.odd is not offered to models: its input schema is odd", ""}},
		{"one that the subject noted", []string{`tool "kit.late" is not offered`}, []string{`the subject noted: server "kit": tool "late" is not offered: it has no input schema`}},
		{"another that begins alike", []string{`"kit.odder" has another result`}, []string{"entry 3 of page 1"}},
		{"a tool that is listed", []string{"missing kit.note"}, []string{""}},
		{"another server", []string{"missing toolkit.odd and toolkit.other"}, []string{""}},
		{"one that the list says nothing of", []string{`server "kit" has no tool "q"; it has note`}, []string{"entry 3 of page 1"}},
		{"none", []string{"the answer is another"}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var causes []trials.Cause
			for _, msg := range tt.causes {
				causes = append(causes, trials.Cause{Kind: trials.CauseMiss, Message: msg})
			}
			tr.explainAbsent(causes)
			for i, c := range causes {
				added := strings.Join(c.Hints, "\n")
				if c.Message != tt.causes[i] {
					t.Errorf("%q became %q", tt.causes[i], c.Message)
				}
				if (tt.want[i] == "") != (added == "") || !strings.Contains(added, tt.want[i]) {
					t.Errorf("to %q was added %q, want %q", tt.causes[i], added, tt.want[i])
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
