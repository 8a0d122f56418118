// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpmatrix"
)

func TestMain(m *testing.M) {
	if mcpmatrix.Child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// script is a model that gives one answer after the other, each a list of
// events and errors, and keeps what it was asked.
type script struct {
	mu      sync.Mutex
	replies [][]any
	asked   []model.Request
}

// pause is time that passes in a reply; deaf, the model does not hear that
// nobody waits any more.
type pause struct {
	time.Duration
	deaf bool
}

func (s *script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.mu.Lock()
		copied := *req
		copied.Messages = slices.Clone(req.Messages)
		s.asked = append(s.asked, copied)
		var reply []any
		if len(s.replies) > 0 {
			reply, s.replies = s.replies[0], s.replies[1:]
		}
		s.mu.Unlock()
		if reply == nil {
			yield(nil, errors.New("the script is at its end"))
			return
		}
		for _, item := range reply {
			var more bool
			switch item := item.(type) {
			case model.Event:
				more = yield(item, nil)
			case error:
				more = yield(nil, item)
			case pause:
				err := harness.SystemClock().Sleep(ctx, item.Duration)
				if more = err == nil || item.deaf; !more {
					yield(nil, err)
				}
			}
			if !more {
				return
			}
		}
	}
}

func said(text string) []any {
	return []any{model.TextDelta{Text: text}, finished("stop", harness.Message{Text: text})}
}

func called(calls ...harness.ToolCall) []any {
	return []any{finished("tool_calls", harness.Message{Calls: calls})}
}

func finished(reason string, m harness.Message) model.Done {
	m.Role = harness.RoleAssistant
	return model.Done{Message: m, FinishReason: reason, Model: "m-1", Usage: harness.Usage{PromptTokens: 8, CompletionTokens: 2, TotalTokens: 10}}
}

func call(id, name, args string) harness.ToolCall {
	return harness.ToolCall{ID: id, Name: name, Arguments: args}
}

// box is a toolbox of functions.
type box map[string]func(ctx context.Context, args string) (tools.Result, error)

func (b box) Tools(context.Context) ([]harness.Tool, error) {
	var list []harness.Tool
	for name := range b {
		list = append(list, harness.Tool{Name: name})
	}
	slices.SortFunc(list, func(x, y harness.Tool) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

func (b box) Call(ctx context.Context, name, args string) (tools.Result, error) {
	return b[name](ctx, args)
}

func echo(_ context.Context, args string) (tools.Result, error) {
	return tools.Result{Server: "test", Text: "got " + args}, nil
}

// played is what came of a turn.
type played struct {
	events []Event
	err    error
}

func play(ctx context.Context, c *Conversation, text string) played {
	var p played
	for event, err := range c.Send(ctx, text) {
		if err != nil {
			p.err = err
			continue
		}
		p.events = append(p.events, event)
	}
	return p
}

// shown spells events for comparison, without times.
func (p played) shown() []string {
	var list []string
	for _, event := range p.events {
		switch e := event.(type) {
		case Delta:
			list = append(list, "delta "+e.Text+e.Reasoning)
		case Withdrawn:
			list = append(list, "withdrawn "+e.Text)
		case ModelCalled:
			list = append(list, fmt.Sprintf("model %s %d", e.FinishReason, e.Usage.TotalTokens))
		case ToolStarted:
			list = append(list, "started "+e.Call.ID)
		case ToolFinished:
			list = append(list, "finished "+e.Call.ID+": "+e.Call.Result)
		case Notice:
			list = append(list, "notice "+e.Text)
		case Answer:
			list = append(list, "answer "+e.Text)
		}
	}
	return list
}

// results returns the tool messages of the history, by id.
func results(c *Conversation) map[string]string {
	out := make(map[string]string)
	for _, m := range c.Messages() {
		if m.Role == harness.RoleTool {
			out[m.CallID] = m.Text
		}
	}
	return out
}

// checkHistory holds a history to what providers demand: each call answered
// once, in order, right after the message that made it.
func checkHistory(t *testing.T, messages []harness.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		if m.Role == harness.RoleTool {
			if len(open) == 0 || open[0] != m.CallID {
				t.Errorf("message %d answers %q; open are %q", i, m.CallID, open)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d (%s) comes before the answers to %q", i, m.Role, open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("never answered: %q", open)
	}
}

func TestLoop(t *testing.T) {
	m := &script{replies: [][]any{
		called(call("a", "find", `{"q":"x"}`)),
		said("Found."),
		said("Bye."),
	}}
	zero := 0.0
	c := New(Config{Model: m, Name: "gpt-5", Tools: box{"find": echo}, System: "Be brief.", Temperature: &zero, MaxTokens: 9, Stream: true}).Conversation()
	p := play(t.Context(), c, "find x")
	if p.err != nil {
		t.Fatal(p.err)
	}
	want := []string{"model tool_calls 10", "started a", `finished a: got {"q":"x"}`, "delta Found.", "model stop 10", "answer Found."}
	if diff := cmp.Diff(want, p.shown()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if p := play(t.Context(), c, "bye"); p.err != nil {
		t.Fatal(p.err)
	}
	history := []harness.Message{
		{Role: harness.RoleUser, Text: "find x"},
		{Role: harness.RoleAssistant, Calls: []harness.ToolCall{call("a", "find", `{"q":"x"}`)}},
		{Role: harness.RoleTool, CallID: "a", Text: `got {"q":"x"}`},
		{Role: harness.RoleAssistant, Text: "Found."},
		{Role: harness.RoleUser, Text: "bye"},
		{Role: harness.RoleAssistant, Text: "Bye."},
	}
	if diff := cmp.Diff(history, c.Messages()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	last := model.Request{
		Model: "gpt-5", Messages: append([]harness.Message{{Role: harness.RoleSystem, Text: "Be brief."}}, history[:5]...),
		Tools: []harness.Tool{{Name: "find"}}, Temperature: &zero, MaxTokens: 9, Stream: true,
	}
	if diff := cmp.Diff(last, m.asked[2]); diff != "" {
		t.Errorf("last request (-want +got):\n%s", diff)
	}
	log := []harness.ReportedCall{{ID: "a", Server: "test", Tool: "find", Arguments: `{"q":"x"}`, Result: `got {"q":"x"}`}}
	got := c.Calls()
	got[0].Duration = 0
	if diff := cmp.Diff(log, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	c.Reset()
	if len(c.Messages())+len(c.Calls()) != 0 {
		t.Error("something is left after Reset")
	}
}

func TestCallsRunConcurrently(t *testing.T) {
	for _, tc := range []struct{ calls, limit, most int }{{3, 0, 3}, {6, 2, 2}, {4, 1, 1}} {
		t.Run(fmt.Sprintf("%d calls, limit %d", tc.calls, tc.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				running, most := 0, 0
				var calls []harness.ToolCall
				for i := range tc.calls {
					// The first call takes longest, so the last is done first.
					calls = append(calls, call(fmt.Sprint(i), "wait", fmt.Sprintf(`{"s":%d}`, tc.calls-i)))
				}
				m := &script{replies: [][]any{called(calls...), said("ok")}}
				c := New(Config{Model: m, MaxToolConcurrency: tc.limit, Tools: box{"wait": func(_ context.Context, args string) (tools.Result, error) {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					var s int
					_, _ = fmt.Sscanf(args, `{"s":%d}`, &s)
					time.Sleep(time.Duration(s) * time.Second) // of the bubble's clock
					mu.Lock()
					running--
					mu.Unlock()
					return tools.Result{Text: args}, nil
				}}}).Conversation()
				if p := play(t.Context(), c, "go"); p.err != nil {
					t.Fatal(p.err)
				}
				if most != tc.most {
					t.Errorf("got %d calls at once, want %d", most, tc.most)
				}
				checkHistory(t, c.Messages())
				for i, r := range c.Calls() {
					if r.ID != fmt.Sprint(i) || r.Result != r.Arguments || r.Duration != time.Duration(tc.calls-i)*time.Second {
						t.Errorf("call %d is logged as %+v", i, r)
					}
				}
			})
		})
	}
}

// TestInOrder holds that calls of tools that are named in InOrder run one after
// another, beside those of others.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		tool := func(_ context.Context, args string) (tools.Result, error) {
			var n int
			_, _ = fmt.Sscanf(args, `{"n":%d}`, &n)
			time.Sleep(time.Duration(10-n) * time.Second) // of the bubble's clock
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprint(n))
			return tools.Result{Text: args}, nil
		}
		m := &script{replies: [][]any{called(call("a", "switch", `{"n":1}`), call("b", "free", `{"n":9}`), call("c", "switch", `{"n":7}`), call("d", "switch", `{"n":8}`)), said("ok")}}
		c := New(Config{Model: m, InOrder: []string{"switch"}, Tools: box{"switch": tool, "free": tool}}).Conversation()
		if p := play(t.Context(), c, "go"); p.err != nil {
			t.Fatal(p.err)
		}
		if got := strings.Join(log, " "); got != "9 1 7 8" {
			t.Errorf("the calls ended as %s, want 9, which waits for none, and then 1 7 8", got)
		}
	})
}

// TestBadCalls has the ways in which a call goes wrong: each is a result that
// the model reads, and the turn goes on to an answer.
func TestBadCalls(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tool  func(context.Context, string) (tools.Result, error)
		call  harness.ToolCall
		want  string // the result, or its beginning with * at the end
		fails bool
	}{
		{name: "empty arguments", call: call("a", "f", ""), want: "got {}"},
		{name: "blank arguments", call: call("a", "f", " \n"), want: "got {}"},
		{name: "null arguments", call: call("a", "f", "null"), want: "got {}"},
		{name: "arguments keep their spelling", call: call("a", "f", `{"z": 1.10,"a":1e2}`), want: `got {"z": 1.10,"a":1e2}`},
		{name: "a list", call: call("a", "f", `[1]`), want: "Error: the arguments of f are not a JSON object: *", fails: true},
		{name: "a text", call: call("a", "f", `"x"`), want: "Error: the arguments of f are not a JSON object: *", fails: true},
		{name: "cut JSON", call: call("a", "f", `{"x":`), want: "Error: the arguments of f are not a JSON object: unexpected end of JSON input*", fails: true},
		{name: "JSON and more", call: call("a", "f", `{} {}`), want: "Error: the arguments of f are not a JSON object: *", fails: true},
		{name: "binary", call: call("a", "f", "\x00\ufffd"), want: "Error: the arguments of f are not a JSON object: *", fails: true},
		{name: "nested too deep", call: call("a", "f", strings.Repeat(`{"a":`, 20_000)), want: "Error: the arguments of f are not a JSON object: *", fails: true},
		{name: "unknown tool", call: call("a", "g", `{}`), want: `Error: there is no tool "g"; the tools are f`, fails: true},
		{name: "a tool that errs", tool: func(context.Context, string) (tools.Result, error) {
			return tools.Result{}, errors.New("broken pipe")
		}, call: call("a", "f", `{}`), want: "Error: calling f: broken pipe", fails: true},
		{name: "an isError result", tool: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "no such genome", IsError: true}, nil
		}, call: call("a", "f", `{}`), want: "no such genome", fails: true},
		{name: "a tool that panics", tool: func(context.Context, string) (tools.Result, error) {
			panic("a bug")
		}, call: call("a", "f", `{}`), want: "Error: calling f: it panicked: a bug", fails: true},
		{name: "a result that is not UTF-8", tool: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "a\xffb"}, nil
		}, call: call("a", "f", `{}`), want: "a\ufffdb\n[bytes that are not UTF-8 were replaced by \ufffd]"},
		{name: "an empty result", tool: func(context.Context, string) (tools.Result, error) {
			return tools.Result{}, nil
		}, call: call("a", "f", `{}`), want: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.tool == nil {
				tc.tool = echo
			}
			m := &script{replies: [][]any{called(tc.call), said("ok")}}
			c := New(Config{Model: m, Tools: box{"f": tc.tool}}).Conversation()
			if p := play(t.Context(), c, "go"); p.err != nil {
				t.Fatal(p.err)
			}
			checkHistory(t, c.Messages())
			got := results(c)["a"]
			if begin, open := strings.CutSuffix(tc.want, "*"); open && !strings.HasPrefix(got, begin) || !open && got != tc.want {
				t.Errorf("result: got %q, want %q", got, tc.want)
			}
			if failed := c.Calls()[0].Error != ""; failed != tc.fails {
				t.Errorf("error in the log: got %q", c.Calls()[0].Error)
			}
		})
	}
}

func TestToolTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{replies: [][]any{called(call("a", "hang", `{}`), call("b", "echo", `{}`)), said("ok")}}
		c := New(Config{Model: m, ToolTimeout: time.Minute, Tools: box{
			"hang": func(ctx context.Context, _ string) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			},
			"echo": echo,
		}}).Conversation()
		if p := play(t.Context(), c, "go"); p.err != nil {
			t.Fatal(p.err)
		}
		want := map[string]string{"a": "Error: hang did not answer within 1m0s", "b": "got {}"}
		if diff := cmp.Diff(want, results(c)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

func TestShorten(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"short", "abc", 3, "abc"},
		{"no bound", strings.Repeat("x", 1000), -1, strings.Repeat("x", 1000)},
		{"head and tail", strings.Repeat("a", 500) + strings.Repeat("b", 500), 8, "aaaaaa\n[... 992 of 1000 bytes left out ...]\nbb"},
		{"whole characters", strings.Repeat("é", 500), 9, "ééé\n[... 992 of 1000 bytes left out ...]\né"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := shorten(tc.in, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	m := &script{replies: [][]any{called(call("a", "f", "")), said("ok")}}
	big := strings.Repeat("é", 100_000)
	c := New(Config{Model: m, Tools: box{"f": func(context.Context, string) (tools.Result, error) {
		return tools.Result{Text: big}, nil
	}}}).Conversation()
	p := play(t.Context(), c, "go")
	got := results(c)["a"]
	if !utf8.ValidString(got) || len(got) > 100_100 || !strings.Contains(got, "[... 100000 of 200000 bytes left out ...]") {
		t.Errorf("got %d bytes: %.100q", len(got), got)
	}
	if !slices.Contains(p.shown(), "notice result of f has 200000 bytes: it was shortened") {
		t.Errorf("no notice in %.300q", p.shown())
	}
}

func TestOneSendAtATime(t *testing.T) {
	c := New(Config{Model: &script{replies: [][]any{said("one"), said("two")}}}).Conversation()
	for event, err := range c.Send(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := event.(Delta); ok {
			if p := play(t.Context(), c, "me too"); p.err == nil || !strings.Contains(p.err.Error(), "still answering another one") {
				t.Errorf("got %v", p.err)
			}
		}
	}
	if p := play(t.Context(), c, "now me"); p.err != nil {
		t.Error(p.err)
	}
}

// TestNothingIsToldBesideEvents: each round of the loop has an event or an error, and
// there is none after a loop that was left, whatever comes of the turn.
func TestNothingIsToldBesideEvents(t *testing.T) {
	c := New(Config{Model: &script{replies: [][]any{said("one"), said("two"), {errors.New("no more")}}}}).Conversation()
	for event, err := range c.Send(t.Context(), "go") {
		if event == nil && err == nil {
			t.Error("neither an event nor an error")
		}
	}
	for range 2 {
		for range c.Send(t.Context(), "go on") {
			break
		}
	}
}
