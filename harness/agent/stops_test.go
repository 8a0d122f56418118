// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

func TestStops(t *testing.T) {
	long := `{"x":"` + strings.Repeat("x", 1004) + `"}`
	loop := func() [][]any {
		var replies [][]any
		for i := range 20 {
			replies = append(replies, called(call(fmt.Sprint("c", i), "f", fmt.Sprintf(`{"i":%d}`, i))))
		}
		return replies
	}
	same := [][]any{
		called(call("a", "f", `{"x":1,"y":2}`)), called(call("b", "f", `{ "y":2, "x":1 }`)), called(call("c", "g", `{}`)),
		called(call("d", "f", `{"x":1,"y":2}`)), said("ok"),
	}
	for _, tc := range []struct {
		name    string
		cfg     Config
		replies [][]any
		reason  harness.StopReason
		detail  string
		asked   int
		last    string // text of the last message of the history
	}{
		{name: "model calls", replies: loop(), reason: harness.StopModelCalls, detail: "no answer after 10 model calls", asked: 10, last: `got {"i":9}`},
		{name: "model calls, set", cfg: Config{MaxModelCalls: 3}, replies: loop(), reason: harness.StopModelCalls, detail: "after 3", asked: 3, last: `got {"i":2}`},
		{name: "tokens, as many as are allowed", cfg: Config{TokenLimit: 30}, replies: loop(), reason: harness.StopTokens, detail: "30 tokens used, 30 allowed", asked: 3, last: `got {"i":2}`},
		{name: "tokens", cfg: Config{TokenLimit: 25}, replies: loop(), reason: harness.StopTokens, detail: "30 tokens used, 25 allowed", asked: 3, last: `got {"i":2}`},
		{name: "context overflow", replies: [][]any{{&model.Error{Kind: model.KindContextOverflow, Message: "too long"}}, said("ok")}, reason: harness.StopContextOverflow, detail: "too long", asked: 1, last: "(nothing)"},
		{
			name: "context overflow by a result", replies: [][]any{called(call("a", "f", long)), {&model.Error{Kind: model.KindContextOverflow, Message: "too long"}}},
			reason: harness.StopContextOverflow, detail: "the last results were removed from the conversation: ", asked: 2,
			last: "[a result of 1016 bytes was left out: with it, the conversation exceeded the model's context window]",
		},
		{
			name: "tokens, inside a stream", cfg: Config{TokenLimit: 25, Stream: true},
			replies: [][]any{called(call("a", "f", "{}")), {model.TextDelta{Text: strings.Repeat("x", 120)}, model.TextDelta{Text: "x"}, model.TextDelta{Text: "never seen"}, finished("stop", harness.Message{Text: "never seen"})}},
			reason:  harness.StopTokens, detail: "10 tokens used, 25 allowed, and the reply was 121 bytes long when it was stopped", asked: 2, last: "got {}",
		},
		{name: "content filter as error", replies: [][]any{{&model.Error{Kind: model.KindContentFilter}}}, reason: harness.StopContentFilter, asked: 1, last: "go"},
		{name: "content filter", replies: [][]any{{finished("content_filter", harness.Message{})}}, reason: harness.StopContentFilter, asked: 1, last: "go"},
		{name: "empty reply", replies: [][]any{{finished("stop", harness.Message{Text: " \n", Reasoning: "hm"})}, said("ok")}, reason: harness.StopEmptyReply, asked: 1, last: " \n"},
		{name: "refusal", replies: [][]any{{finished("stop", harness.Message{Refusal: "I can't."})}}, reason: harness.StopRefusal, detail: "I can't.", asked: 1},
		{name: "length", replies: [][]any{{finished("length", harness.Message{Text: "Once upon"})}}, reason: harness.StopLength, detail: "after 9 characters", asked: 1, last: "Once upon"},
		{name: "length inside a call", replies: [][]any{{finished("length", harness.Message{Calls: []harness.ToolCall{call("a", "f", `{"x`)}})}}, reason: harness.StopLength, asked: 1, last: "go"},
		{name: "repeated call", replies: slices.Clone(same), reason: harness.StopRepeatedCall, detail: `call 3 of f with the arguments {"x":1,"y":2}`, asked: 4, last: "got {}"},
		{name: "repeated call, set", cfg: Config{MaxRepeats: 2}, replies: slices.Clone(same), reason: harness.StopRepeatedCall, detail: "call 2 of f", asked: 2, last: `got {"x":1,"y":2}`},
		{name: "repeated in one reply", replies: [][]any{called(call("a", "f", ""), call("b", "f", "{}"), call("c", "f", "null"))}, reason: harness.StopRepeatedCall, asked: 1, last: "go"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: tc.replies}
			tc.cfg.Model, tc.cfg.Tools = m, box{"f": echo, "g": echo}
			c := New(tc.cfg).Conversation()
			p := play(t.Context(), c, "go")
			var stop *harness.StopError
			if !errors.As(p.err, &stop) || stop.Reason != tc.reason || !strings.Contains(stop.Error(), tc.detail) {
				t.Fatalf("got %v; want the stop %s with %q", p.err, tc.reason, tc.detail)
			}
			if len(m.asked) != tc.asked {
				t.Errorf("asked %d times, want %d", len(m.asked), tc.asked)
			}
			history := c.Messages()
			checkHistory(t, history)
			got := "(nothing)"
			if len(history) > 0 {
				got = history[len(history)-1].Text
			}
			if got != tc.last {
				t.Errorf("last message: got %q, want %q", got, tc.last)
			}
			// The conversation can go on, unless its tokens are used up.
			m.replies = [][]any{said("fine")}
			if p := play(t.Context(), c, "and now?"); (p.err != nil) != (tc.reason == harness.StopTokens) {
				t.Errorf("afterwards: %v", p.err)
			}
			checkHistory(t, c.Messages())
		})
	}
}

func TestNoBounds(t *testing.T) {
	var replies [][]any
	for i := range 15 {
		replies = append(replies, called(call(fmt.Sprint("c", i), "f", `{}`)))
	}
	m := &script{replies: append(replies, said("ok"))}
	c := New(Config{Model: m, Tools: box{"f": echo}, MaxModelCalls: -1, MaxRepeats: -1}).Conversation()
	if p := play(t.Context(), c, "go"); p.err != nil {
		t.Error(p.err)
	}
}

func TestTimeLimit(t *testing.T) {
	hang := box{"f": func(ctx context.Context, _ string) (tools.Result, error) {
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}}
	for _, tc := range []struct {
		name    string
		tools   Toolbox
		replies [][]any
	}{
		{"within a tool", hang, [][]any{called(call("a", "f", "")), said("late")}},
		{"within a reply", nil, [][]any{{model.TextDelta{Text: "x"}, pause{Duration: time.Hour}, finished("stop", harness.Message{Text: "late"})}}},
		{"a reply that came too late", nil, [][]any{{pause{time.Hour, true}, finished("stop", harness.Message{Text: "late"})}}},
		{"asked to wait as long", nil, [][]any{{model.TextDelta{Text: "x"}, model.Withdrawn{Err: errors.New("cut"), Wait: time.Minute, Text: "x"}, finished("stop", harness.Message{Text: "late"})}}},
		{"asked to wait longer", nil, [][]any{{model.TextDelta{Text: "x"}, model.Withdrawn{Err: errors.New("cut"), Wait: time.Hour, Text: "x"}, finished("stop", harness.Message{Text: "late"})}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Config{Model: &script{replies: tc.replies}, Tools: tc.tools, TimeLimit: time.Minute}).Conversation()
				p := play(t.Context(), c, "go")
				var stop *harness.StopError
				if !errors.As(p.err, &stop) || stop.Reason != harness.StopTime || !strings.Contains(stop.Error(), "no answer within 1m0s") {
					t.Errorf("got %v, want the stop time", p.err)
				}
				checkHistory(t, c.Messages())
			})
		})
	}
}

// TestRefusedCalls has calls reported that were never run, whatever stopped
// the turn.
func TestRefusedCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		last []any
		why  string
	}{
		{"repeated", called(call("b", "f", "{}"), call("c", "f", "")), "not run: stopped (repeated_call): call 2 of f"},
		{"cut off", []any{finished("length", harness.Message{Calls: []harness.ToolCall{call("b", "f", `{"x`), call("c", "f", "")}})}, "not run: stopped (length): "},
		{"filtered", []any{finished("content_filter", harness.Message{Text: "I", Calls: []harness.ToolCall{call("b", "f", ""), call("c", "f", "")}})}, "not run: stopped (content_filter): "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := New(Config{Model: &script{replies: [][]any{called(call("a", "f", "{}")), tc.last}}, Tools: box{"f": echo}, MaxRepeats: 2}).Conversation()
			p := play(t.Context(), c, "go")
			if p.err == nil {
				t.Fatal("the turn went on")
			}
			calls := c.Calls()
			if len(calls) != 3 || calls[1].ID != "b" || calls[2].ID != "c" || !strings.HasPrefix(calls[2].Error, tc.why) || calls[2].Result != "" {
				t.Errorf("reported %+v", calls)
			}
			checkHistory(t, c.Messages())
		})
	}
}

// TestWithdrawn has a stream that breaks off and is asked for again: the text
// appears once, and no call of the first attempt runs or stays.
func TestWithdrawn(t *testing.T) {
	m := &script{replies: [][]any{{
		model.TextDelta{Text: "Hel"},
		model.CallDelta{Call: 0, ID: "x", Name: "f", Arguments: `{}`},
		model.Withdrawn{Attempt: 1, Err: errors.New("cut"), Wait: time.Second, Text: "Hel"},
		model.TextDelta{Text: "Hello"},
		finished("tool_calls", harness.Message{Text: "Hello", Calls: []harness.ToolCall{call("y", "f", `{}`)}}),
	}, said("Done.")}}
	c := New(Config{Model: m, Tools: box{"f": echo}}).Conversation()
	p := play(t.Context(), c, "go")
	want := []string{"delta Hel", "withdrawn Hel", "delta Hello", "model tool_calls 10", "started y", "finished y: got {}", "delta Done.", "model stop 10", "answer Done."}
	if diff := cmp.Diff(want, p.shown()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkHistory(t, c.Messages())
	if got := c.Calls(); len(got) != 1 || got[0].ID != "y" {
		t.Errorf("log: got %+v", got)
	}
	if got := c.Messages()[1].Text; got != "Hello" {
		t.Errorf("history: got %q", got)
	}
}

func TestEndpointError(t *testing.T) {
	want := &model.Error{Kind: model.KindServer, Status: 502}
	c := New(Config{Model: &script{replies: [][]any{{model.TextDelta{Text: "x"}, want}, said("ok")}}}).Conversation()
	if p := play(t.Context(), c, "go"); !errors.Is(p.err, want) {
		t.Errorf("got %v", p.err)
	}
	if p := play(t.Context(), c, "again"); p.err != nil {
		t.Error(p.err)
	}
	if got := len(c.Messages()); got != 3 {
		t.Errorf("history has %d messages, want both questions and the answer", got)
	}
}

func TestCancelledWhileToolsRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &script{replies: [][]any{called(call("a", "f", ""), call("b", "g", "")), said("ok")}}
	c := New(Config{Model: m, Tools: box{
		"f": func(ctx context.Context, _ string) (tools.Result, error) {
			cancel()
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		},
		"g": echo,
	}}).Conversation()
	p := play(ctx, c, "go")
	if !errors.Is(p.err, context.Canceled) {
		t.Errorf("got %v", p.err)
	}
	checkHistory(t, c.Messages())
	if len(m.asked) != 1 {
		t.Errorf("asked %d times after the end", len(m.asked))
	}
}

func TestBreakingOff(t *testing.T) {
	for _, at := range []string{"model", "started", "finished", "delta", "answer"} {
		t.Run(at, func(t *testing.T) {
			m := &script{replies: [][]any{called(call("a", "f", ""), call("b", "f", "")), said("ok")}}
			c := New(Config{Model: m, Tools: box{"f": func(ctx context.Context, _ string) (tools.Result, error) {
				if at == "started" {
					<-ctx.Done()
					return tools.Result{}, ctx.Err()
				}
				return tools.Result{}, nil
			}}}).Conversation()
			for event, err := range c.Send(t.Context(), "go") {
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix((played{events: []Event{event}}).shown()[0], at) {
					break
				}
			}
			checkHistory(t, c.Messages())
		})
	}
}

func TestToolsCannotBeListed(t *testing.T) {
	c := New(Config{Model: &script{}, Tools: brokenBox{}}).Conversation()
	if p := play(t.Context(), c, "go"); p.err == nil || p.err.Error() != "listing tools: server is gone" {
		t.Errorf("got %v", p.err)
	}
}

type brokenBox struct{ box }

func (brokenBox) Tools(context.Context) ([]harness.Tool, error) {
	return nil, errors.New("server is gone")
}

// TestUnsentMessages: a message that no request can carry is not kept, or no
// later one could be sent either.
func TestUnsentMessages(t *testing.T) {
	refused := &model.Error{Kind: model.KindInvalid, Message: "cannot be said"}
	for _, tc := range []struct {
		name, text string
		replies    [][]any
		err        string
		asked      int
		last       string
	}{
		{name: "not UTF-8", text: "caf\xe9 \ufffd", replies: [][]any{said("never")}, err: "invalid: the message is not UTF-8 at byte 3; it was not sent", last: "hello"},
		{name: "nothing but a bad byte", text: "\xff", replies: [][]any{said("never")}, err: "invalid: the message is not UTF-8 at byte 0; it was not sent", last: "hello"},
		{name: "refused by the model's client", text: "go", replies: [][]any{{refused}}, err: "invalid: cannot be said", asked: 1, last: "hello"},
		{name: "refused after a result", text: "go", replies: [][]any{called(call("a", "f", `{}`)), {refused}}, err: "invalid: cannot be said", asked: 2, last: "got {}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: [][]any{said("hello")}}
			c := New(Config{Model: m, Tools: box{"f": echo}}).Conversation()
			if p := play(t.Context(), c, "hi, \ufffd"); p.err != nil {
				t.Fatal(p.err)
			}
			m.replies, m.asked = tc.replies, nil
			p := play(t.Context(), c, tc.text)
			if p.err == nil || p.err.Error() != tc.err {
				t.Errorf("got %v, want %s", p.err, tc.err)
			}
			if len(m.asked) != tc.asked {
				t.Errorf("asked %d times, want %d", len(m.asked), tc.asked)
			}
			history := c.Messages()
			if last := history[len(history)-1].Text; last != tc.last {
				t.Errorf("last message: got %q, want %q", last, tc.last)
			}
			m.replies = [][]any{said("fine")}
			if p := play(t.Context(), c, "and now?"); p.err != nil {
				t.Errorf("afterwards: %v", p.err)
			}
			checkHistory(t, c.Messages())
		})
	}
}
