// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

// TestInterrupted ends the context of a turn while one call runs, another has
// ended, and a third waits for its place. The next turn goes on.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := map[string]int{}
		m := &script{replies: [][]any{called(call("1", "echo", "{}"), call("2", "slow", "{}"), call("3", "late", "{}")), said("Nothing.")}}
		running := make(chan struct{})
		c := New(Config{Model: m, MaxToolConcurrency: 1, Tools: box{
			"echo": echo,
			"slow": func(ctx context.Context, _ string) (tools.Result, error) {
				ran["slow"]++
				close(running)
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			},
			"late": func(context.Context, string) (tools.Result, error) {
				ran["late"]++
				return tools.Result{Text: "done"}, nil
			},
		}}).Conversation()
		ctx, interrupt := context.WithCancelCause(t.Context())
		go func() {
			<-running
			interrupt(harness.ErrInterrupted)
		}()
		if p := play(ctx, c, "Go."); !errors.Is(p.err, harness.ErrInterrupted) {
			t.Errorf("error %v", p.err)
		}
		if p := play(t.Context(), c, "And now?"); p.err != nil {
			t.Error(p.err)
		}
		checkHistory(t, m.asked[1].Messages)
		want := map[string]string{
			"1": "got {}",
			"2": "Error: the call of slow was broken off (the user interrupted the turn); whether it took effect is not known",
			"3": "Error: late was not run: the user interrupted the turn",
		}
		if diff := cmp.Diff(want, results(c)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"slow": 1}, ran); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
	})
}

// TestResume goes on with a history that was kept in the middle of a turn.
func TestResume(t *testing.T) {
	const unknown = "Error: the conversation broke off during the call of echo; whether it took effect is not known"
	user := harness.Message{Role: harness.RoleUser, Text: "Go."}
	calls := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{call("1", "echo", "{}"), call("2", "echo", "{}")}}
	result := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	tests := []struct {
		name          string
		history, want []harness.Message
	}{
		{"no results", []harness.Message{{Role: harness.RoleSystem, Text: "Be brief."}, user, calls}, []harness.Message{user, calls, result("1", unknown), result("2", unknown)}},
		{"one result", []harness.Message{user, calls, result("2", "b")}, []harness.Message{user, calls, result("1", unknown), result("2", "b")}},
		{"all results", []harness.Message{user, calls, result("1", "a"), result("2", "b")}, []harness.Message{user, calls, result("1", "a"), result("2", "b")}},
		{"another turn behind", []harness.Message{user, calls, result("1", "a"), user}, []harness.Message{user, calls, result("1", "a"), result("2", unknown), user}},
		{
			"not UTF-8",
			[]harness.Message{{Role: harness.RoleUser, Text: "a\xff"}, {Role: harness.RoleAssistant, Calls: []harness.ToolCall{call("1", "echo", "{\"a\":\"\xff\"}")}}, result("1", "b\xff")},
			[]harness.Message{{Role: harness.RoleUser, Text: "a\ufffd"}, {Role: harness.RoleAssistant, Calls: []harness.ToolCall{call("1", "echo", "{\"a\":\"\ufffd\"}")}}, result("1", "b\ufffd")},
		},
		{"too many", []harness.Message{user, result("0", "z"), calls, result("1", "a"), result("1", "b"), result("2", "c")}, []harness.Message{user, calls, result("1", "a"), result("2", "c")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{replies: [][]any{said("Fine.")}}
			c := New(Config{Model: m, Tools: box{"echo": func(context.Context, string) (tools.Result, error) {
				t.Error("a tool was run")
				return tools.Result{}, nil
			}}}).Conversation()
			c.Resume(tt.history)
			if p := play(t.Context(), c, "And now?"); p.err != nil {
				t.Fatal(p.err)
			}
			asked := m.asked[0].Messages
			checkHistory(t, asked)
			if diff := cmp.Diff(tt.want, asked[:len(asked)-1]); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApprovePanics: what is asked about a call is a part of it, and runs in a
// goroutine of the agent.
func TestApprovePanics(t *testing.T) {
	calls := called(call("1", "echo", `{}`), call("2", "echo", `{}`), call("3", "none", `{}`))
	m := &script{replies: [][]any{calls, said("Done.")}}
	c := New(Config{
		Model: m, Tools: box{"echo": echo},
		Approve: func(context.Context, harness.ToolCall) error { panic("a bug") },
		Denied:  func(string) error { panic("a bug") },
	}).Conversation()
	if p := play(t.Context(), c, "Go."); p.err != nil {
		t.Fatal(p.err)
	}
	for _, report := range c.Calls() {
		if !strings.Contains(report.Error, "it panicked: a bug") {
			t.Errorf("%s: %q", report.ID, report.Error)
		}
	}
}

// TestApprove asks about calls before they run: about the arguments that the tool
// gets, with a denial that the model reads and an event.
func TestApprove(t *testing.T) {
	m := &script{replies: [][]any{called(call("1", "echo", `{"n":1}`), call("2", "echo", `{"n":2}`), call("3", "echo", ""), call("4", "none", "{}"), call("5", "echo", "[]")), said("Done.")}}
	var mu sync.Mutex
	asked := map[string]string{}
	c := New(Config{Model: m, Tools: box{"echo": echo}, Approve: func(_ context.Context, call harness.ToolCall) error {
		mu.Lock()
		defer mu.Unlock()
		asked[call.ID] = call.Arguments
		if call.ID == "2" {
			return errors.New("not today")
		}
		return nil
	}}).Conversation()
	p := play(t.Context(), c, "Go.")
	if p.err != nil {
		t.Fatal(p.err)
	}
	checkHistory(t, m.asked[1].Messages)
	want := map[string]string{"1": `{"n":1}`, "2": `{"n":2}`, "3": "{}"} // what cannot run is not asked about
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	got := results(c)
	for id, text := range map[string]string{"1": `got {"n":1}`, "2": "Error: echo was not run: it was denied: not today", "3": "got {}"} {
		if got[id] != text {
			t.Errorf("the result of call %s is %q, want %q", id, got[id], text)
		}
	}
	denied := 0
	for _, event := range p.events {
		if n, ok := event.(Notice); ok && n.Denied != nil {
			denied++
			if n.Denied.ID != "2" || n.Text != "denied: echo: not today" {
				t.Errorf("notice %+v", n)
			}
		}
	}
	if denied != 1 {
		t.Errorf("%d notices of a denial", denied)
	}
}

// TestApproveInTime: a decision that comes after the turn has ended is none.
func TestApproveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{replies: [][]any{called(call("1", "echo", "{}"))}}
		c := New(Config{
			Model: m, TimeLimit: time.Minute, ToolTimeout: time.Second,
			Tools: box{"echo": func(context.Context, string) (tools.Result, error) {
				t.Error("the tool was run")
				return tools.Result{}, nil
			}},
			Approve: func(ctx context.Context, _ harness.ToolCall) error {
				<-ctx.Done()
				return nil
			},
		}).Conversation()
		p := play(t.Context(), c, "Go.")
		var stop *harness.StopError
		if !errors.As(p.err, &stop) || stop.Reason != harness.StopTime {
			t.Errorf("error %v", p.err)
		}
		checkHistory(t, c.Messages())
	})
}
