// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestTiming reads the clock at each frame: steps in their time, the answer
// after them, and the pause between.
func TestTiming(t *testing.T) {
	zero, long := time.Duration(0), 300*time.Millisecond
	progress := mockmcp.Progress{Value: 1, Times: 3, Every: time.Second}
	for _, tt := range []struct {
		name   string
		settle *time.Duration
		tool   mockmcp.Tool
		want   []string
	}{
		{
			"by default", nil,
			mockmcp.Tool{Results: []mockmcp.Result{{Before: []mockmcp.Step{progress}}}},
			[]string{"0s progress", "1s progress", "2s progress", "2.02s answer 1"},
		},
		{
			"no pause", &zero,
			mockmcp.Tool{Results: []mockmcp.Result{{Before: []mockmcp.Step{progress}}}},
			[]string{"0s progress", "1s progress", "2s progress", "2s answer 1"},
		},
		{
			"a longer one", &long,
			mockmcp.Tool{Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Wait(time.Hour), mockmcp.Progress{Value: 1}}}}},
			[]string{"1h0m0s progress", "1h0m0.3s answer 1"},
		},
		{
			"latency is pause enough", nil,
			mockmcp.Tool{Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Progress{Value: 1}}, Latency: time.Minute}}},
			[]string{"0s progress", "1m0s answer 1"},
		},
		{
			"nothing told, no pause", nil,
			mockmcp.Tool{Results: []mockmcp.Result{{Before: []mockmcp.Step{mockmcp.Wait(time.Second)}}}},
			[]string{"1s answer 1"},
		},
		{
			"latency of the tool", nil,
			mockmcp.Tool{Latency: time.Second, Results: []mockmcp.Result{{}}},
			[]string{"1s answer 1"},
		},
		{
			"latency of the result in place of the tool's", nil,
			mockmcp.Tool{Latency: time.Second, Results: []mockmcp.Result{{Latency: time.Minute}}},
			[]string{"1m0s answer 1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.tool.Name = "t"
				tt.tool.Results[0].Answer = answer(mockmcp.Answer{Text: "done"})
				s := newServer(t, mockmcp.Script{Name: "x", Protocol: mockmcp.Protocol{Settle: tt.settle}, Tools: []mockmcp.Tool{tt.tool}}, nil)
				defer s.Close()
				d := open(t, s)
				d.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":0}}}`)
				d.read(len(tt.want))
				if diff := cmp.Diff(tt.want, d.lines); diff != "" {
					t.Errorf("the client's diary (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestCancelDuringSteps withdraws a call in each kind of step. The client hears
// no more of it.
func TestCancelDuringSteps(t *testing.T) {
	for name, before := range map[string][]mockmcp.Step{
		"progress": {mockmcp.Progress{Value: 1, Times: 3, Every: time.Hour}},
		"wait":     {mockmcp.Progress{Value: 1}, mockmcp.Wait(time.Hour)},
		"ask":      {mockmcp.Progress{Value: 1}, mockmcp.Ask{mockmcp.ListRoots()}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{
					{Name: "t", Results: []mockmcp.Result{{Before: before, Answer: answer(mockmcp.Answer{Text: "done"})}}},
					{Name: "quick", Results: []mockmcp.Result{{Answer: answer(mockmcp.Answer{Text: "now"})}}},
				}}, nil)
				defer s.Close()
				c := dial(t, s)
				c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`)
				c.receive()
				c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":0}}}`)
				if m := c.receive(); m.Method != "notifications/progress" {
					t.Fatalf("got %s", m.Frame)
				}
				synctest.Wait()
				c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
				synctest.Wait()
				time.Sleep(24 * time.Hour) // of the bubble
				c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"quick"}}`)
				m := c.receive()
				if name == "ask" && m.Method == "roots/list" {
					m = c.receive()
				}
				if m.Key() != "2" {
					t.Errorf("got %s", m.Frame)
				}
			})
		})
	}
}

// TestCloseDuringAQuestion ends the server while a client thinks.
func TestCloseDuringAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, library(), nil)
		c := dial(t, s)
		c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		c.receive()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`)
		if m := c.receive(); m.Method != "roots/list" {
			t.Fatalf("got %s", m.Frame)
		}
		s.Close()
	})
}

// TestPlan computes what is asked from the arguments and from what was
// answered before, in both eras.
func TestPlan(t *testing.T) {
	script := mockmcp.Script{Name: "x", Tools: []mockmcp.Tool{{Name: "t", Results: []mockmcp.Result{{
		Plan: func(c *mockmcp.Call) ([]mockmcp.Step, error) {
			first := mockmcp.Form("First, with "+string(c.Args), raw(`{"type":"object"}`))
			first.Key = "first"
			steps := []mockmcp.Step{mockmcp.Ask{first}}
			var asked struct {
				First struct{ Content struct{ More int } }
			}
			if json.Unmarshal(c.Asked, &asked) == nil {
				for i := range asked.First.Content.More {
					q := mockmcp.Form(fmt.Sprint("More, ", i+1), raw(`{"type":"object"}`))
					q.Key = fmt.Sprint("more", i+1)
					steps = append(steps, mockmcp.Ask{q})
				}
				if asked.First.Content.More < 0 {
					return nil, fmt.Errorf("no plan for %d", asked.First.Content.More)
				}
			}
			return steps, nil
		},
		Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: string(c.Asked)}, nil
		},
	}}}}}
	for _, tt := range []struct {
		name, first string
		rounds      int // beside the first
		want        string
	}{
		{"two more", `{"action":"accept","content":{"more":2}}`, 2, `\"more2\":{\"action\":\"decline\"}`},
		{"no more", `{"action":"accept","content":{"more":0}}`, 0, `"text":"{\"first\":`},
		{"no plan", `{"action":"accept","content":{"more":-1}}`, 0, `before: no plan for -1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := dial(t, newServer(t, script, nil))
			old.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
			old.receive()
			old.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`)
			reply := tt.first
			for range tt.rounds + 1 {
				m := old.receive()
				old.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, reply))
				reply = `{"action":"decline"}`
			}
			if m := old.receive(); !strings.Contains(string(m.Frame), tt.want) {
				t.Errorf("old era: %s", m.Frame)
			}

			s := newServer(t, script, nil)
			c := dial(t, s)
			more, reply := "", tt.first
			for i := range tt.rounds + 2 {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"a":1}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, i, more))
				m := c.receive()
				var result struct {
					InputRequests map[string]json.RawMessage
					RequestState  string
				}
				if i > tt.rounds {
					if !strings.Contains(string(m.Frame), tt.want) {
						t.Errorf("new era: %s", m.Frame)
					}
					break
				}
				if err := json.Unmarshal(m.Result, &result); err != nil || len(result.InputRequests) != 1 {
					t.Fatalf("got %s", m.Frame)
				}
				for key := range result.InputRequests {
					more = fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:%s}`, result.RequestState, key, reply)
				}
				reply = `{"action":"decline"}`
			}
			if n := len(s.Journal()); n != 1 {
				t.Errorf("%d calls in the journal, want 1", n)
			}
		})
	}
}

// TestRoundsAreCalledOnce has a call of several rounds count once for hooks
// and changes.
func TestRoundsAreCalledOnce(t *testing.T) {
	calls := 0
	script := library()
	script.Changes = []mockmcp.Change{{Call: 2, RemoveTools: []string{"work"}}}
	s := newServer(t, script, &mockmcp.Options{OnCall: func(string) { calls++ }})
	talk := `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}
<
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look","requestState":"$STATE","inputResponses":{"roots":{"roots":[]}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}
<
`
	converse(t, s, talk)
	if calls != 1 || names(s) != "work greet look" {
		t.Errorf("%d calls, tools %s", calls, names(s))
	}
	converse(t, s, talk)
	if calls != 2 || names(s) != "greet look" {
		t.Errorf("%d calls, tools %s", calls, names(s))
	}
}

// FuzzRounds checks that whatever comes as a cursor, a state or an answer, the
// server has an answer to it.
func FuzzRounds(f *testing.F) {
	f.Add("eyJsIjoidG9vbHMiLCJmIjozfQ", "round-1-96cad286711a934f", `{"who":{"action":"accept"},"sampling":{"content":1}}`)
	f.Add("", "", `null`)
	f.Add("eyJsIjoidG9vbHMiLCJmIjotM30", "\x00", `[]`)
	f.Fuzz(func(t *testing.T, cursor, state, responses string) {
		script := library()
		script.Protocol.PageSize, script.Protocol.Shuffle = 2, 1
		s := newServer(t, script, nil)
		defer s.Close()
		c := dial(t, s)
		if !json.Valid([]byte(responses)) {
			responses = "{}"
		}
		meta := raw(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{}}}`)
		for i, params := range []any{
			map[string]any{"name": "greet", "_meta": meta},
			map[string]any{"name": "greet", "_meta": meta, "requestState": state, "inputResponses": raw(responses)},
			map[string]any{"name": "greet", "_meta": meta, "inputResponses": raw(responses)},
			map[string]any{"cursor": cursor, "_meta": meta},
		} {
			method := "tools/call"
			if i == 3 {
				method = "tools/list"
			}
			frame, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": i, "method": method, "params": params})
			if err != nil {
				return // anything that is not JSON cannot be sent like this
			}
			c.send(string(frame))
			if m := c.receive(); m.Key() != fmt.Sprint(i) || m.Result == nil && m.Error == nil {
				t.Errorf("got %s", m.Frame)
			}
		}
		if err := s.Err(); err != nil {
			t.Error(err)
		}
	})
}
