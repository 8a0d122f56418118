// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// callsOf opens a server with a pipe and returns a function that calls pay.
func callsOf(t *testing.T, script Script) (*Server, func(args string) string) {
	t.Helper()
	s, err := New(script, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := mcpwire.NewReader(conn, nil)
	answer := func() string {
		for {
			m, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if len(m.ID) > 0 {
				if m.Error != nil {
					return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
				}
				return string(m.Result)
			}
		}
	}
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	answer()
	n := 0
	return s, func(args string) string {
		n++
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"pay","arguments":%s}}`+"\n", n, args)
		return answer()
	}
}

// TestFaultsOfResults: what answers in place of a result does so there too, and
// the state is as it was.
func TestFaultsOfResults(t *testing.T) {
	for _, tc := range []struct {
		name        string
		fault       fault.Fault
		args        string
		first, next string
	}{
		{"is_error", fault.Fault{Kind: fault.IsError}, `{}`, `"isError":true`, `"paid"`},
		{"is_error plausible", fault.Fault{Kind: fault.IsError, Form: "plausible", Message: "Fine."}, `{}`, `"text":"Fine."}],"isError":true`, `"paid"`},
		{"is_error twice", fault.Fault{Kind: fault.IsError, Times: -1}, `{}`, `"isError":true`, `"isError":true`},
		{"rpc_error", fault.Fault{Kind: fault.RPCError, Code: -32000, Message: "no"}, `{}`, `error -32000: no`, `"paid"`},
		{"renamed", fault.Fault{Kind: fault.ToolDrift, Form: "rename"}, `{}`, `Tool pay not found`, `Tool pay not found`},
		{"removed", fault.Fault{Kind: fault.ToolDrift, Form: "removed"}, `{}`, `Tool pay not found`, `Tool pay not found`},
		{"one more argument", fault.Fault{Kind: fault.ToolDrift, Form: "required"}, `{}`, `confirm`, `confirm`},
		{"another description", fault.Fault{Kind: fault.ToolDrift, Form: "description"}, `{}`, `"paid"`, `"paid"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := 0
			s, call := callsOf(t, Script{
				Name: "shop", State: json.RawMessage(`{}`),
				Tools: []Tool{{Name: "other"}, {Name: "pay", Results: []Result{{
					Answer: func(*Call) (*Answer, error) { return &Answer{JSON: json.RawMessage(`{"paid":true}`)}, nil },
					Set: func(*Call, json.RawMessage) (json.RawMessage, error) {
						set++
						return json.RawMessage(`{"paid":true}`), nil
					},
					Faults: []fault.Fault{tc.fault},
				}}}},
			})
			got := call(tc.args)
			if !strings.Contains(got, tc.first) {
				t.Errorf("answered with %s, want %s", got, tc.first)
			}
			if failed := !strings.Contains(got, "paid"); failed && set > 0 {
				t.Error("a call that failed has changed the state")
			}
			if got := call(tc.args); !strings.Contains(got, tc.next) {
				t.Errorf("the next call was answered with %s, want %s", got, tc.next)
			}
			if left := s.IdleFaults(); left != nil {
				t.Errorf("idle: %v", left)
			}
			if x := s.Journal()[0]; x.Fault != tc.fault.String() {
				t.Errorf("the journal has the fault %q", x.Fault)
			}
		})
	}
}

// TestDriftOfTheCalled: a call that a drift of the server strikes meets the new
// tool, whichever is the first of the list.
func TestDriftOfTheCalled(t *testing.T) {
	_, call := callsOf(t, Script{
		Name: "shop", Tools: []Tool{{Name: "other"}, {Name: "pay", Results: []Result{{Answer: func(*Call) (*Answer, error) { return &Answer{Text: "ok"}, nil }}}}},
		Faults: []fault.Fault{{Kind: fault.ToolDrift, Match: fault.Match{Method: "tools/call"}}},
	})
	if got := call(`{}`); !strings.Contains(got, "Tool pay not found") {
		t.Errorf("answered with %s", got)
	}
}

// TestIdleOfResults: a result that answered nothing is why its fault is idle.
func TestIdleOfResults(t *testing.T) {
	s, call := callsOf(t, Script{
		Name: "shop",
		Tools: []Tool{{Name: "pay", Results: []Result{
			{Match: func(*Call) (bool, string, error) { return false, "no", nil }, Faults: []fault.Fault{{Kind: fault.IsError}}},
			{Faults: []fault.Fault{{Kind: fault.Session404}}},
		}}},
	})
	call(`{}`)
	var why []string
	for _, idle := range s.IdleFaults() {
		why = append(why, idle.Why)
	}
	want := `no call of "pay" was answered by its result; it does not strike over stdio, which the client used, but only over http, sse`
	if got := strings.Join(why, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
