// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestThatFails fails where the test below asks for it: at a mock model a
// request is a miss and two replies are not asked for, and at a mock MCP server
// no result fits a call.
func TestThatFails(t *testing.T) {
	switch os.Getenv("TEST_THAT_FAILS") {
	case "mockllm":
		reply := []mockllm.Reply{{Say: "hello"}}
		m := mockllm.NewServer(t, mockllm.Script{
			Turns: []mockllm.Turn{{User: "hi", Replies: reply}},
			Lanes: []mockllm.Lane{{Name: "other", When: func(*mockllm.Ask) (bool, error) { return false, nil }, Replies: reply}},
		})
		resp, err := http.Post(m.URL+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"ho"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	case "mockmcp":
		s := mockmcp.NewServer(t, mockmcp.Script{Name: "kit", Tools: []mockmcp.Tool{{Name: "note"}}})
		session, err := mcppool.Open(t.Context(), harness.Server{Name: "kit", URL: s.URL}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if _, err := session.Call(t.Context(), "note", nil); err == nil {
			t.Error("a call was answered that nothing is scripted for")
		}
	}
}

// TestFailureNamesTheCaller holds that the line that go test prints before a
// failure of a mock is one of the caller's file, not one of ours.
func TestFailureNamesTheCaller(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for mock, wants := range map[string][]string{
		"mockllm": {"mockllm: .*miss: nothing scripted fits", "mockllm: never asked for: turn 1", `mockllm: never asked for: lane "other"`},
		"mockmcp": {`mock server "kit": `},
	} {
		t.Run(mock, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestThatFails$")
			cmd.Env = append(os.Environ(), "TEST_THAT_FAILS="+mock)
			out, err := cmd.Output()
			if err == nil {
				t.Error("the failing test passed")
			}
			for _, want := range wants {
				if !regexp.MustCompile(`(?m)^ +caller_test.go:\d+: ` + want).Match(out) {
					t.Errorf("no line of the caller with %q in\n%s", want, out)
				}
			}
			if strings.Contains(string(out), " host.go:") {
				t.Errorf("a line of the package itself is blamed:\n%s", out)
			}
		})
	}
}
