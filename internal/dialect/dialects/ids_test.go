// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// TestNumberIDs has clients send back ids that are numbers: providers refuse
// them, and the journal has them as a reply with them is read.
func TestNumberIDs(t *testing.T) {
	for _, tt := range []struct{ dialect, body string }{
		{"chat", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":0,"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":0,"content":"x"}]}`},
		{"responses", `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":0,"name":"f","arguments":"{}"},{"type":"function_call_output","call_id":0,"output":"x"}]}`},
		{"messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":0,"name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":0,"content":"x"}]}]}`},
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":0,"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":0,"name":"f","response":{"output":"x"}}}]}]}`},
	} {
		t.Run(tt.dialect, func(t *testing.T) {
			req, refusal := dialects.Named(tt.dialect).Read([]byte(tt.body), &dialect.Query{Model: "m"})
			if refusal == nil {
				t.Error("the request is not refused")
			}
			var got []string
			for _, m := range req.AsChat().Request().Messages {
				for _, c := range m.Calls {
					got = append(got, "call "+c.ID)
				}
				if m.Role == harness.RoleTool {
					got = append(got, "result "+m.CallID)
				}
			}
			if diff := cmp.Diff([]string{"call 0", "result 0"}, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}
