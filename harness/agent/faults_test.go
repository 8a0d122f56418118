// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// The conversation that every fault strikes: it goes wrong in the first turn,
// and the second tells whether anything was lost.
const (
	firstUser    = "What is the weather in Zürich and in Nice?"
	firstAnswer  = "It is 18 °C in Zürich, and 24 °C in Nice."
	secondUser   = "And in Rome?"
	secondAnswer = "It is 27 °C in Rome."
)

// counting is a toolbox that counts what it runs.
type counting struct {
	mu   sync.Mutex
	runs map[string]int
}

func (w *counting) Tools(context.Context) ([]harness.Tool, error) {
	return []harness.Tool{{
		Name: "get_weather", Description: "The weather in a city.",
		Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}, nil
}

func (w *counting) Call(_ context.Context, name, args string) (tools.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[name+args]++
	return tools.Result{Server: "weather", Text: `{"celsius":20}`}, nil
}

func cityCall(city string) mockllm.Call {
	return mockllm.Call{Tool: "get_weather", Args: map[string]string{"city": city}}
}

// conversation is what one fault does to a conversation.
type conversation struct {
	provider string // empty for chat completions
	fault    fault.Fault
	stream   bool
	reply    int // of the first turn, from 1, that is struck

	events   []agent.Event // of the first turn
	err      error
	again    string // the answer of the second
	againErr error
	messages []harness.Message
	runs     map[string]int
	journal  []harness.Exchange
	mockErr  error
}

// converse holds the conversation.
func converse(t *testing.T, host *loopback, via newModel, f fault.Fault, stream bool, reply int) *conversation {
	t.Helper()
	first := []mockllm.Reply{{Calls: []mockllm.Call{cityCall("Zürich"), cityCall("Nice")}}, {Say: firstAnswer}}
	if f.Kind != "" {
		first[reply-1].Faults = []mockllm.Fault{f}
	}
	w := newWorld()
	mock := newMock(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: firstUser, Replies: first},
		{User: secondUser, Replies: []mockllm.Reply{{Calls: []mockllm.Call{cityCall("Rome")}}, {Say: secondAnswer}}},
	}}, &mockllm.Options{Clock: mockClock{harness.SystemClock(), w}})
	defer mock.Close()
	transport := host.serve(mock, w)
	defer transport.base.CloseIdleConnections()
	box := &counting{runs: make(map[string]int)}
	c := agent.New(agent.Config{
		Model: via(host.url, transport, clientClock{harness.SystemClock(), w}),
		Name:  "gpt-4o", Tools: box, Stream: stream, Clock: clientClock{harness.SystemClock(), w},
	}).Conversation()

	// The limit is the machine's time: it is what a hang would run into.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &conversation{fault: f, stream: stream, reply: reply}
	for event, err := range c.Send(ctx, firstUser) {
		if err != nil {
			out.err = err
			continue
		}
		out.events = append(out.events, event)
	}
	mock.BeginTurn(2)
	for event, err := range c.Send(ctx, secondUser) {
		if err != nil {
			out.againErr = err
		}
		if a, ok := event.(agent.Answer); ok {
			out.again = a.Text
		}
	}
	if ctx.Err() != nil {
		t.Errorf("%s: hangs", out.name())
	}
	out.messages, out.runs, out.journal, out.mockErr = c.Messages(), box.runs, mock.Journal(), mock.Err()
	return out
}

func (c *conversation) name() string {
	asked := "plain"
	if c.stream {
		asked = "stream"
	}
	return fmt.Sprintf("%s, %s, %s, reply %d", cmp.Or(c.provider, "chat"), c.fault.String(), asked, c.reply)
}

func (c *conversation) answer() (string, bool) {
	for _, e := range c.events {
		if a, ok := e.(agent.Answer); ok {
			return a.Text, true
		}
	}
	return "", false
}

// seen says what the user saw of it.
func (c *conversation) seen() string {
	var parts []string
	retries, taken := 0, 0
	for _, e := range c.events {
		switch e := e.(type) {
		case agent.Withdrawn:
			retries++
			taken += len([]rune(e.Text))
		case agent.ToolFinished:
			if e.Call.Error != "" && !slices.Contains(parts, "a call is refused") {
				parts = append(parts, "a call is refused")
			}
		case agent.Notice:
			word := "a note"
			if e.Leaked != nil {
				word = "the leak is reported"
			}
			if !slices.Contains(parts, word) {
				parts = append(parts, word)
			}
		}
	}
	end := ""
	var stop *harness.StopError
	var failed *model.Error
	switch text, ok := c.answer(); {
	case ok && text == firstAnswer:
		end = "answer"
	case ok:
		end = "**another answer**"
	case errors.As(c.err, &stop):
		end = "stop `" + string(stop.Reason) + "`"
	case errors.As(c.err, &failed):
		end = "error `" + string(failed.Kind) + "`"
		if failed.Status != 0 {
			end += fmt.Sprintf(" %d", failed.Status)
		}
	default:
		end = fmt.Sprintf("error: %v", c.err)
	}
	if retries > 0 {
		end += fmt.Sprintf(" after %d %s", retries, plural("retry", "retries", retries))
	}
	if taken > 0 {
		end += fmt.Sprintf(", %d %s taken back", taken, plural("character", "characters", taken))
	}
	return strings.Join(append([]string{end}, parts...), "; ")
}

func plural(one, many string, n int) string {
	if n == 1 {
		return one
	}
	return many
}

// unnoticed are faults after which an answer is another one, and no client can
// know: the reason why.
func unnoticed() map[string]string {
	const repeated = "chunks have no numbers: a model may repeat itself"
	const said = "it is a reply in good order; only the script knows that the model said something else"
	return map[string]string{
		"duplicate_chunk": repeated, "reordered_chunks": repeated, "tools_ignored": said, "other_text": said,
		"leaked_call":  "the text is the answer unless RecoverLeakedCalls is set; the leak is reported as a notice",
		"invalid_utf8": "the text has U+FFFD where the bytes were",
		"long_reply":   "a long text is a text",
	}
}

// check asserts what holds for every fault.
func (c *conversation) check(t *testing.T) {
	t.Helper()
	text, answered := c.answer()
	switch {
	case answered == (c.err != nil):
		t.Errorf("%s: answered %v, error %v", c.name(), answered, c.err)
	case answered && text != firstAnswer && unnoticed()[string(c.fault.Kind)] == "":
		t.Errorf("%s: a broken reply is taken for the answer: %.200q", c.name(), text)
	case answered && strings.TrimSpace(text) == "":
		t.Errorf("%s: an empty answer", c.name())
	}
	for call, n := range c.runs {
		if n > 1 {
			t.Errorf("%s: %s ran %d times", c.name(), call, n)
		}
	}
	if c.againErr != nil || c.again != secondAnswer {
		t.Errorf("%s: the next turn came to %q, %v", c.name(), c.again, c.againErr)
	}
	if c.mockErr != nil {
		t.Errorf("%s: the mock met %v", c.name(), c.mockErr)
	}
	c.checkHistory(t)
}

// checkHistory finds what is missing from the history, and calls that were
// never answered.
func (c *conversation) checkHistory(t *testing.T) {
	t.Helper()
	var users []string
	open := map[string]bool{}
	for _, m := range c.messages {
		switch m.Role {
		case harness.RoleUser:
			users = append(users, m.Text)
		case harness.RoleAssistant:
			for _, call := range m.Calls {
				if call.ID == "" || open[call.ID] {
					t.Errorf("%s: the history has two open calls %q", c.name(), call.ID)
				}
				open[call.ID] = true
			}
		case harness.RoleTool:
			if !open[m.CallID] {
				t.Errorf("%s: the history has a result for %q, which is no open call", c.name(), m.CallID)
			}
			delete(open, m.CallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: the history has calls without a result: %v", c.name(), open)
	}
	want := []string{firstUser, secondUser}
	if stop := (*harness.StopError)(nil); errors.As(c.err, &stop) && stop.Reason == harness.StopContextOverflow && c.reply == 1 {
		want = want[1:] // with the first, nothing would fit ever after
	}
	if !slices.Equal(users, want) {
		t.Errorf("%s: the history has the user messages %q", c.name(), users)
	}
}

// variant is a row of the matrix.
type variant struct {
	name  string // of the kind with its form, or of the preset
	fault fault.Fault
	calls bool // only calls can be struck
}

func variants() []variant {
	var out []variant
	for _, info := range fault.Kinds() {
		forms := info.Forms
		if len(forms) == 0 {
			forms = []fault.Form{{}}
		}
		for _, form := range forms {
			f := fault.Fault{Kind: info.Kind, Form: form.Name}
			if info.Kind == fault.RateLimit {
				f.RetryAfter = 2 * time.Second
			}
			out = append(out, variant{f.String(), f, info.Calls})
		}
	}
	for _, p := range fault.Presets() {
		info, _ := fault.Describe(p.Fault.Kind)
		f := p.Fault
		f.Times = 0
		out = append(out, variant{p.Name, f, info.Calls})
	}
	return out
}

// TestEveryFault holds a conversation with each fault, streamed and not, on a
// reply that calls tools and on one that answers, once and for ever, and keeps
// docs/faults.md.
func TestEveryFault(t *testing.T) {
	host := newLoopback(t)
	var rows strings.Builder
	for _, v := range variants() {
		for _, stream := range []bool{true, false} {
			if !v.fault.Applies(stream) {
				continue
			}
			cells := map[string]string{}
			for reply, column := range map[int]string{1: "call", 2: "answer"} {
				if v.calls && reply == 2 {
					continue
				}
				c := converse(t, host, chatModel, v.fault, stream, reply)
				c.check(t)
				cells[column] = c.seen()
			}
			staying := v.fault
			staying.Times = -1
			reply := 2
			if v.calls {
				reply = 1
			}
			c := converse(t, host, chatModel, staying, stream, reply)
			c.check(t)
			asked := "plain"
			if stream {
				asked = "stream"
			}
			fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", v.name, asked, cells["call"], cmp.Or(cells["answer"], "–"), c.seen())
		}
	}
	checkPage(t, rows.String())
}

// TestBurst meets a burst of rate limits and waits as long as it was asked to.
func TestBurst(t *testing.T) {
	c := converse(t, newLoopback(t), chatModel, fault.Fault{Kind: fault.RateLimit, Form: "date", RetryAfter: 90 * time.Second, Times: 2}, true, 2)
	c.check(t)
	var waited []time.Duration
	for _, e := range c.events {
		if w, ok := e.(agent.Withdrawn); ok {
			waited = append(waited, w.Wait)
		}
	}
	if len(waited) != 2 || waited[0] < 90*time.Second || waited[1] < 90*time.Second || waited[0] > 92*time.Second {
		t.Errorf("waited %v", waited)
	}
	if c.journal[1].Status != http.StatusTooManyRequests || c.journal[1].RetryAfter != 90*time.Second {
		t.Errorf("journal: %+v", c.journal[1])
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
