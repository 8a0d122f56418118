// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// TestCallsAdrift: a call that was under way when its turn was interrupted, when
// the subject was killed, or when its server went away may have either outcome. Any
// other is judged as ever.
func TestCallsAdrift(t *testing.T) {
	const (
		changed = `failed: the result of call weather.get {"city": "Paris"} (c1) was changed`
		never   = `failed: call weather.get {"city": "Paris"} (c1) was answered with "broken off", but the server was never called`
		late    = `failed: weather.get {"city":"Paris"} was called after the answer "21 and -3."`
	)
	// asks is the frame of a call on a session.
	asks := func(city, session, transport, fault string, second int) jsonrpc.Frame {
		return jsonrpc.Frame{
			In: true, Kind: jsonrpc.FrameRequest, Method: "tools/call", Server: "weather", Session: session, Transport: transport, Fault: fault, ID: json.RawMessage(`1`), Time: at(second),
			Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"city":%q}}}`, city),
		}
	}
	frames := func(list ...jsonrpc.Frame) func(*conduct.Input) {
		return func(in *conduct.Input) { in.Frames = list }
	}
	with := func(f jsonrpc.Frame, do func(*jsonrpc.Frame)) jsonrpc.Frame {
		do(&f)
		return f
	}
	cancelled := func(id string) jsonrpc.Frame {
		return jsonrpc.Frame{
			In: true, Kind: jsonrpc.FrameNotification, Method: "notifications/cancelled", Server: "weather", Session: "p1", Time: at(4),
			Body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`,
		}
	}
	end := func(fault string) jsonrpc.Frame {
		return jsonrpc.Frame{Kind: jsonrpc.FrameEnd, Server: "weather", Session: "p1", Transport: "pipe", Fault: fault, Time: at(3)}
	}
	// interrupted is a turn that the user interrupts while Oslo is asked for, and a
	// next one, whose request has words of the client's own for Paris.
	interrupted := func(in *conduct.Input) {
		in.Interrupted = []int{1}
		in.Exchanges[1].Turn, in.Exchanges[1].Reply = 2, 1
		in.Tools[0].Unsent = true
	}
	killed := func(in *conduct.Input) {
		interrupted(in)
		in.Killed = in.Interrupted
	}
	exited := func(in *conduct.Input) {
		in.Tools[0].Fault, in.Tools[0].Failed = "exit", true
	}
	executed := func(start, took int) func(*conduct.Input) {
		return func(in *conduct.Input) {
			in.Tools[1].Start, in.Tools[1].Duration = at(start), time.Duration(took)*time.Second
		}
	}
	not := func(in *conduct.Input) { in.Tools = in.Tools[:1] }
	for _, tt := range []struct {
		name  string
		do    []func(*conduct.Input)
		check string
		want  string
	}{
		{"interrupted, the answer came after", []func(*conduct.Input){interrupted, executed(1, 1)}, conduct.Results, "passed"},
		{"interrupted, the answer came before", []func(*conduct.Input){interrupted, executed(1, 0)}, conduct.Results, changed},
		{"interrupted, the answer came before, and was not read", []func(*conduct.Input){interrupted, executed(1, 0), frames(asks("Paris", "p1", "pipe", "", 1), cancelled("1"))}, conduct.Results, "passed"},
		{"interrupted, another call was cancelled", []func(*conduct.Input){interrupted, executed(1, 0), frames(asks("Paris", "p1", "pipe", "", 1), cancelled("2"))}, conduct.Results, changed},
		{"interrupted, a request of its own over HTTP", []func(*conduct.Input){interrupted, executed(1, 0), frames(asks("Paris", "", "http", "", 1))}, conduct.Results, "passed"},
		{"interrupted, a request of a session over HTTP", []func(*conduct.Input){interrupted, executed(1, 0), frames(asks("Paris", "s1", "http", "", 1))}, conduct.Results, changed},
		{"interrupted, a request to another server over HTTP", []func(*conduct.Input){interrupted, executed(1, 0), frames(with(asks("Paris", "", "http", "", 1), func(f *jsonrpc.Frame) { f.Server = "mail" }))}, conduct.Results, changed},
		{"interrupted, a prompt of that name over HTTP", []func(*conduct.Input){interrupted, executed(1, 0), frames(with(asks("Paris", "", "http", "", 1), func(f *jsonrpc.Frame) { f.Method = "prompts/get" }))}, conduct.Results, changed},
		{"interrupted, an answer over HTTP", []func(*conduct.Input){interrupted, executed(1, 0), frames(with(asks("Paris", "", "http", "", 1), func(f *jsonrpc.Frame) { f.In = false }))}, conduct.Results, changed},
		{"another turn was interrupted", []func(*conduct.Input){interrupted, executed(1, 1), func(in *conduct.Input) { in.Interrupted = []int{2} }}, conduct.Results, changed},
		{"killed", []func(*conduct.Input){killed, executed(1, 0)}, conduct.Results, "passed"},
		{"killed, executed late", []func(*conduct.Input){killed, executed(9, 0)}, conduct.NoCallAfterAnswer, "passed"},
		{"interrupted, executed late", []func(*conduct.Input){interrupted, func(in *conduct.Input) { in.Tools[0].Unsent = false }, executed(9, 0)}, conduct.NoCallAfterAnswer, late},

		{"the server went away after the answer", []func(*conduct.Input){exited, executed(2, 0), frames(asks("Oslo", "p1", "pipe", "exit", 2), asks("Paris", "p1", "pipe", "", 2), end("exit"))}, conduct.Results, "passed"},
		{"the server went away, which came late", []func(*conduct.Input){exited, executed(9, 0), frames(asks("Oslo", "p1", "pipe", "exit", 2), end("exit"), asks("Paris", "p1", "pipe", "", 9))}, conduct.NoCallAfterAnswer, "passed"},
		{"the server went away, and another connection was opened", []func(*conduct.Input){exited, executed(3, 0), frames(asks("Oslo", "p1", "pipe", "exit", 2), end("exit"), asks("Paris", "p2", "pipe", "", 3))}, conduct.Results, changed},
		{"the server had answered before the call came at which it went away", []func(*conduct.Input){exited, executed(1, 0), frames(asks("Paris", "p1", "pipe", "", 1), asks("Oslo", "p1", "pipe", "exit", 2), end("exit"))}, conduct.Results, changed},
		{"the server went away, and never saw the call", []func(*conduct.Input){exited, not, frames(asks("Oslo", "p1", "pipe", "exit", 2), end("exit"))}, conduct.Results, "passed"},
		{"the server stayed, and never saw the call", []func(*conduct.Input){not, frames(asks("Oslo", "p1", "pipe", "delay", 2), end("delay"))}, conduct.Results, never},
		{"the server spoiled an answer, went away later, and never saw the call", []func(*conduct.Input){not, frames(asks("Oslo", "p1", "pipe", "wrong_id", 2), end(""))}, conduct.Results, never},
		{"the server went away at the call itself, which was made again", []func(*conduct.Input){executed(9, 0), frames(asks("Paris", "p1", "pipe", "exit", 2), end("exit"))}, conduct.NoCallAfterAnswer, late},
		{"the server went away over HTTP, and never saw the call", []func(*conduct.Input){exited, not, frames(asks("Oslo", "p1", "http", "exit", 2), end("exit"))}, conduct.Results, never},
		{"another server went away", []func(*conduct.Input){not, frames(with(asks("Oslo", "p1", "pipe", "exit", 2), func(f *jsonrpc.Frame) { f.Server = "mail" }), end("exit"))}, conduct.Results, never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			if tt.check == conduct.Results {
				(*second(in))[3].Text = "broken off"
			}
			for _, do := range tt.do {
				do(in)
			}
			if got := verdictOf(conduct.Config{}, in, tt.check); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s is %s\nwant %s", tt.check, got, tt.want)
			}
		})
	}
}

// TestAdriftInItsOwnTurn: what an interruption of one turn kept back says nothing
// about the calls of the next one, be that interrupted too.
func TestAdriftInItsOwnTurn(t *testing.T) {
	in := honest()
	in.Tools[0].Unsent, in.Interrupted = true, []int{1, 2}
	called := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "c3", Name: "get", Arguments: `{"city":"Rome"}`}}}
	next := addTurn(in, append(slices.Clone((*second(in))[1:]), in.Exchanges[1].Answer, rome)...)
	next.Answer = called
	last := addTurn(in, append(slices.Clone(next.Request.Messages[1:]), called, harness.Message{Role: harness.RoleTool, CallID: "c3", Text: "broken off"}, rome)...)
	last.Turn, last.Start = 3, at(12)
	in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"Rome"}`), Result: json.RawMessage(`18`), Text: "18", Start: at(9)})
	want := `failed: the result of call weather.get {"city":"Rome"} (c3) was changed: the server sent "18", the model got "broken off"`
	if got := verdictOf(conduct.Config{}, in, conduct.Results); got != want {
		t.Errorf("results is %s\nwant %s", got, want)
	}
}

// TestRequestsReadLate: a request that the server read when a fault had ended its
// connection needs no cancelling.
func TestRequestsReadLate(t *testing.T) {
	for fault, want := range map[string]string{"exit": "skipped", "close_stdout": "failed", "": "failed"} {
		in := honest()
		in.Exchanges[1].Start = at(5)
		in.Frames = []jsonrpc.Frame{
			{Kind: jsonrpc.FrameEnd, Server: "weather", Session: "p1", Transport: "pipe", Fault: fault, Time: at(2)},
			{
				In: true, Kind: jsonrpc.FrameRequest, Method: "tools/call", Server: "weather", Session: "p1", Transport: "pipe", ID: json.RawMessage(`1`), Time: at(3),
				Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"}}}`,
			},
		}
		if got := verdictOf(conduct.Config{}, in, conduct.CancelledSent); !strings.HasPrefix(got, want) {
			t.Errorf("%q: cancelled_sent is %s, want %s", fault, got, want)
		}
	}
}
