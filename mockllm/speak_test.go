// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestPlainNames: a tool that is scripted without its server is looked for
// among those that the client offers.
func TestPlainNames(t *testing.T) {
	tools := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `{"type":"function","function":{"name":"`+n+`"}}`)
		}
		return `,"tools":[` + strings.Join(list, ",") + `]`
	}
	for _, tc := range []struct {
		name, tool string
		unoffered  bool
		offered    string
		status     int
		want       string
	}{
		{"offered", "get_weather", false, tools("other", "get_weather"), http.StatusOK, `"name":"get_weather"`},
		{"offered by server", "get_weather", false, tools("mcp__w__get_weather"), http.StatusOK, `"name":"mcp__w__get_weather"`},
		{"misspelt", "get_wether", false, tools("get_weather"), http.StatusUnprocessableEntity, `tool \"get_wether\" is not offered (did you mean \"get_weather\"?); offered: get_weather`},
		{"made up", "get_wether", true, tools("get_weather"), http.StatusOK, `"name":"get_wether"`},
		{"with a dot, made up", "w.get_wether", true, tools("get_weather"), http.StatusOK, `"name":"w.get_wether"`},
		{"nothing offered", "get_weather", false, "", http.StatusOK, `"name":"get_weather"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: tc.tool, Unoffered: tc.unoffered}}}}}, nil)
			defer m.Close()
			w := send(m, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]`+tc.offered+`}`)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %s\nwant %d with %s", w.Code, w.Body, tc.status, tc.want)
			}
			if left := m.Remaining(); (left != nil) != (tc.status != http.StatusOK) {
				t.Errorf("never asked for: %v", left)
			}
		})
	}
}
