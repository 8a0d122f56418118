// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLanes plays the lanes of a scenario by hand.
func TestLanes(t *testing.T) {
	set := load(t, "s.yaml", `scenario: s
conduct_only: true
cases: [{name: a, vars: {role: worker}}]
lanes:
  - lane: worker
    when: request.system.startsWith(vars.role)
    each: conversation
    replies: [{say: "Done by {{ vars.role }}."}]
  - lane: critic
    when: request.system == "critic"
    turns: [{user: Judge., replies: [{say: Good.}]}]
turns: [{user: Plan., replies: [{say: Planned.}]}]
`)
	m := newMock(t, set.Scenarios[0].ModelScript(), nil)
	defer m.Close()
	client := &http.Client{Transport: m.Transport()}
	for _, tt := range []struct{ system, user, want string }{
		{"worker", "One.", "Done by worker."},
		{"lead", "Plan.", "Planned."},
		{"worker", "Two.", "Done by worker."},
		{"critic", "Judge.", "Good."},
	} {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`, tt.system, tt.user)
		res, err := client.Post(m.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(text), `"content":"`+tt.want+`"`) {
			t.Errorf("%s, %s: %s, %v", tt.system, tt.user, text, err)
		}
	}
	if n := len(m.Remaining()); n != 0 || m.Err() != nil {
		t.Errorf("%d replies are left, error %v", n, m.Err())
	}
}
