// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package samplerun

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// made is a trial with its detail.
type made struct {
	record trials.Record
	detail trials.Detail
	at     time.Time
	o      *Options
	n      int // counts texts
}

// step is a call that is expected, and the one that is made.
type step struct {
	turn               int
	expected, called   string // tools; either may be empty
	want, got          map[string]any
	wrong              string // the argument that differs
	result             map[string]any
	failed, unexpected bool
}

func (o *Options) trial(s *scenario, c, attempt int) *made {
	r := rand.New(rand.NewPCG(o.Seed, uint64(s.i)<<32|uint64(c)<<16|uint64(attempt)))
	x := models[c]
	t := &made{o: o, n: s.i*31 + c*7 + attempt, at: started.Add(time.Duration(s.i*o.Attempts+attempt) * time.Second)}
	key := trials.Key{
		Suite: s.source.Suite, Scenario: s.source.Scenario, Case: s.source.Case, Subject: "agent", Model: x.label, Mode: harness.ModeLive, Attempt: attempt,
	}
	line := 3 + 20*(s.i/len(kinds))
	hashes := s.source.Hashes
	hashes.Entry = fmt.Sprintf("e%d", c)
	t.record = trials.Record{
		Schema: trials.Schema, Key: key, File: s.source.File, Tags: s.source.Tags, Critical: s.i%10 == 1, Pos: harness.Position{File: s.source.File, Line: line, Col: 1},
		Hashes: hashes, Seed: int64(1000*s.i + attempt), Answered: []string{x.name}, Outcome: harness.OutcomePassed, Start: t.at,
	}
	t.detail = trials.Detail{Schema: trials.Schema, Key: key, System: t.text("You manage a calendar. Use the tools.")}
	f := o.fate(s, c, r)
	if f == endpoint {
		t.storm(x, s)
		return t
	}
	t.play(s, x, steps(s, f), f, r)
	t.judge(s, steps(s, f), f, line)
	cost := x.price.Cost(t.record.Tokens)
	t.record.Cost = cost
	return t
}

func (t *made) text(plain string) string {
	t.n++
	return t.o.text(t.n, plain)
}

// steps are the calls of a scenario, as they go with a fate.
func steps(s *scenario, f fate) []step {
	var out []step
	search := map[string]any{"query": "meeting " + s.place, "limit": 5}
	found := map[string]any{"events": []any{map[string]any{"id": "ev_17", "title": "Meeting " + s.place, "start": "2026-03-04T09:00"}}}
	switch s.kind {
	case lookup:
		out = append(out, step{turn: 1, expected: "calendar.find", want: search, result: found, wrong: "query"})
	case booking:
		out = append(out,
			step{turn: 1, expected: "rooms.search", want: map[string]any{"city": s.place, "seats": 8}, result: map[string]any{"rooms": []any{"A1", "B2"}}, wrong: "seats"},
			step{turn: 1, expected: "rooms.book", want: map[string]any{"room": "A1", "date": "2026-03-04"}, result: map[string]any{"booked": true}, wrong: "date"})
	case twoTurns:
		out = append(out,
			step{turn: 1, expected: "calendar.find", want: search, result: found, wrong: "query"},
			step{turn: 2, expected: "calendar.move", want: map[string]any{"id": "ev_17", "start": "2026-03-05T09:00"}, result: map[string]any{"moved": true}, wrong: "start"})
	case chat:
	case dated:
		out = append(out, step{turn: 1, expected: "calendar.free", want: map[string]any{"from": "2026-03-01", "to": "2026-03-31", "city": s.place}, result: map[string]any{"days": []any{3, 4, 9}}, wrong: "to"})
	}
	for i := range out {
		out[i].called, out[i].got = out[i].expected, out[i].want
	}
	last := len(out) - 1
	switch f {
	case wrongArgument:
		got := map[string]any{}
		for k, v := range out[last].want {
			got[k] = v
		}
		got[out[last].wrong] = map[string]any{"query": "meetings", "seats": "8", "date": "04/03/2026", "start": "2026-03-05", "to": "2026-04-31"}[out[last].wrong]
		out[last].got, out[last].result, out[last].failed = got, map[string]any{"error": "no such " + out[last].wrong}, true
	case wrongTool:
		out[last].called = "calendar.list"
		out[last].got = map[string]any{"month": "2026-03"}
	case noCall:
		out[last].called = ""
	case extraCall:
		out = append(out, step{turn: 1, called: "mail.send", got: map[string]any{"to": "all@example.com", "text": "See you in " + s.place}, result: map[string]any{"sent": 41}, unexpected: true})
	case right, tooLong, endpoint:
	}
	return out
}

// play makes the exchanges of a trial.
func (t *made) play(s *scenario, x model, list []step, f fate, r *rand.Rand) {
	users := []string{[]string{"When do I meet in %s?", "Book a room for eight in %s on 4 March.", "When is the meeting in %s?", "What is nice about %s?", "Which days in March am I free in %s?"}[s.kind]}
	users[0] = t.text(fmt.Sprintf(users[0], s.place))
	if s.kind == twoTurns {
		users = append(users, t.text("Move it a day later."))
	}
	tools := []harness.Tool{{Name: "calendar_find", Description: t.text("Finds events.")}, {Name: "calendar_free", Description: "Lists free days."}, {Name: "rooms_search", Description: "Finds rooms."}, {Name: "rooms_book", Description: "Books a room."}, {Name: "mail_send", Description: "Sends mail."}}
	history := []harness.Message{{Role: harness.RoleSystem, Text: t.detail.System}}
	t.detail.Transcript = &harness.Transcript{}
	for n, user := range users {
		turn, reply := n+1, 0
		history = append(history, harness.Message{Role: harness.RoleUser, Text: user})
		for i, st := range list {
			if st.turn != turn || st.called == "" {
				continue
			}
			reply++
			server, tool, _ := strings.Cut(st.called, ".")
			args, result := raw(st.got), raw(st.result)
			if t.o.Hostile {
				args = raw(map[string]any{"query": t.text("q"), t.text("key"): 1})
				result = raw(t.text("result"))
			}
			call := harness.ToolCall{ID: fmt.Sprintf("call_%d", i), Name: server + "_" + tool, Arguments: string(args)}
			answer := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{call}, Reasoning: t.text("I need the tool for it.")}
			t.exchange(x, turn, reply, history, tools, answer, "tool_calls", r)
			took := time.Duration(5+r.IntN(90)) * time.Millisecond
			content := raw(map[string]any{"content": []any{map[string]any{"type": "text", "text": string(result)}}, "isError": st.failed})
			t.detail.Tools = append(t.detail.Tools, harness.ToolExchange{
				Seq: len(t.detail.Tools) + 1, Server: server, Tool: tool, Args: args, Result: result, Text: string(result), Content: content, IsError: st.failed, Failed: st.failed, Start: t.at, Duration: took,
			})
			t.frame(server, true, "tools/call", i, raw(map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": st.got}}))
			t.at = t.at.Add(took + 2*time.Millisecond)
			t.frame(server, false, "tools/call", i, raw(map[string]any{"jsonrpc": "2.0", "id": i, "result": content}))
			t.record.Trajectory = append(t.record.Trajectory, harness.Call{
				Server: server, Tool: tool, Offered: call.Name, ID: call.ID, Args: args, Result: result, Failed: st.failed, Executed: true, Turn: turn, Reply: reply, Duration: took, Exec: len(t.detail.Tools),
			})
			history = append(history, answer, harness.Message{Role: harness.RoleTool, CallID: call.ID, Text: string(result)})
		}
		said, finish := t.text("Done, as far as "+s.place+" is concerned."), "stop"
		if f == tooLong && turn == len(users) {
			said, finish = strings.Repeat("And furthermore, about "+s.place+", ", 30), "length"
		}
		last := harness.Message{Role: harness.RoleAssistant, Text: said}
		t.exchange(x, turn, reply+1, history, tools, last, finish, r)
		history = append(history, last)
		t.record.Answers = append(t.record.Answers, said)
		t.detail.Transcript.Turns = append(t.detail.Transcript.Turns, harness.TurnReport{User: user, Answer: said, ModelCalls: reply + 1})
	}
	t.record.Duration = t.at.Sub(t.record.Start)
	t.record.Counts.ToolCalls = len(t.detail.Tools)
	t.detail.States = map[string]json.RawMessage{"calendar": raw(map[string]any{"events": 3, "note": t.text("state")})}
	t.detail.Log = []string{t.text("agent: turn ended")}
}

// exchange is one model call.
func (t *made) exchange(x model, turn, reply int, history []harness.Message, tools []harness.Tool, answer harness.Message, finish string, r *rand.Rand) {
	if r.IntN(25) == 0 { // a limit that a retry passes
		t.detail.Exchanges = append(t.detail.Exchanges, harness.Exchange{
			Seq: len(t.detail.Exchanges) + 1, Kind: harness.KindLive, Turn: turn, Reply: reply, Attempt: 1, Status: 429, Fault: "rate_limit", RetryAfter: time.Second,
			Error: t.text("rate limit reached"), Start: t.at, Duration: 20 * time.Millisecond, Path: "/v1/chat/completions",
			Request: harness.Request{Model: x.name, Messages: append([]harness.Message(nil), history...)},
		})
		t.record.Struck = append(t.record.Struck, fmt.Sprintf("rate_limit of the model, turn %d, 1 time", turn))
		t.record.Counts.Retries++
		t.record.Counts.ModelCalls++
		t.at = t.at.Add(1100 * time.Millisecond)
	}
	took := x.latency + time.Duration(r.IntN(400))*time.Millisecond
	in, out := 300+90*len(history), 20+r.IntN(60)
	t.detail.Exchanges = append(t.detail.Exchanges, harness.Exchange{
		Seq: len(t.detail.Exchanges) + 1, Kind: harness.KindLive, Turn: turn, Reply: reply, Attempt: 1, Path: "/v1/chat/completions", Dialect: "chat",
		Headers: map[string]string{"content-type": "application/json", "user-agent": t.text("rehearse-agent")},
		Request: harness.Request{Model: x.name, Messages: append([]harness.Message(nil), history...), Tools: tools, Stream: true},
		Body:    raw(map[string]any{"model": x.name, "stream": true, "messages": len(history), "note": t.text("body")}),
		Answer:  answer, FinishReason: finish, Model: x.name, Status: 200, Delivered: true, Start: t.at, Duration: took,
		Usage: harness.Usage{PromptTokens: in, CompletionTokens: out, TotalTokens: in + out},
	})
	t.wire(x, said(answer, finish), took)
	t.record.Counts.ModelCalls++
	t.record.Tokens = t.record.Tokens.Add(trials.Tokens{Input: in - 200, Cached: 200, Output: out})
	t.record.TTFT = append(t.record.TTFT, took/4)
	t.record.Latency = append(t.record.Latency, took)
	t.at = t.at.Add(took)
}

// said is an answer in chat completions' form.
func said(answer harness.Message, finish string) json.RawMessage {
	return raw(map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": answer.Text, "tool_calls": answer.Calls}, "finish_reason": finish}}})
}

// wire adds a request as it was on the wire, where that is kept.
func (t *made) wire(x model, answer json.RawMessage, took time.Duration) {
	if !t.o.KeepWire {
		return
	}
	body := string(raw(map[string]any{"model": x.name, "messages": []any{map[string]any{"role": "user", "content": t.text("as it was sent")}}}))
	t.detail.Wire = append(t.detail.Wire, trials.RawExchange{
		Start: t.at, Duration: took, Method: "POST", Path: "/v1/chat/completions", Status: 200,
		Headers: map[string]string{"content-type": "application/json"}, AnswerHeaders: map[string]string{"content-type": "application/json"},
		Body: body, BodySize: len(body), Answer: string(answer), AnswerSize: len(answer),
	})
}

// frame adds a message of an MCP server, where they are kept.
func (t *made) frame(server string, in bool, method string, id int, body json.RawMessage) {
	if !t.o.KeepWire {
		return
	}
	kind := jsonrpc.FrameResponse
	if in {
		kind = jsonrpc.FrameRequest
	}
	t.detail.Frames = append(t.detail.Frames, jsonrpc.Frame{
		Seq: len(t.detail.Frames) + 1, Server: server, Transport: "http", In: in, Kind: kind, Time: t.at, Method: method, ID: raw(id), Body: string(body), Size: len(body),
	})
}

// storm is a trial whose endpoint does not answer.
func (t *made) storm(x model, s *scenario) {
	t.detail.Transcript = &harness.Transcript{Turns: []harness.TurnReport{{User: s.place, Error: t.text("429 Too Many Requests")}}}
	for i := range 3 {
		t.detail.Exchanges = append(t.detail.Exchanges, harness.Exchange{
			Seq: i + 1, Kind: harness.KindLive, Turn: 1, Reply: 1, Attempt: i + 1, Status: 429, Error: t.text("rate limit reached"), Start: t.at, Duration: 20 * time.Millisecond,
			Request: harness.Request{Model: x.name, Messages: []harness.Message{{Role: harness.RoleUser, Text: s.place}}},
		})
		t.at = t.at.Add(time.Second)
	}
	t.record.Outcome, t.record.Duration = harness.OutcomeError, t.at.Sub(t.record.Start)
	t.record.Counts = trials.Counts{ModelCalls: 3, Retries: 2}
	t.record.Cause = &trials.Cause{Kind: trials.CauseEndpoint, Message: t.text("the endpoint answered 429 to 3 of 3 requests")}
}

// judge gives the verdicts of a trial.
func (t *made) judge(s *scenario, list []step, f fate, line int) {
	at := func(n int) harness.Position { return harness.Position{File: s.source.File, Line: line + n, Col: 9} }
	calls := trials.Verdict{Check: "calls", State: trials.Passed, Turn: 1, Pos: at(6), Alignment: &trials.Alignment{}}
	good := 0
	for i, st := range list {
		row := trials.AlignmentRow{Call: i, Pos: at(7 + i), Status: trials.AlignMatched}
		if st.expected != "" {
			row.Expected = st.expected + " " + string(raw(st.want))
		}
		if st.called != "" {
			row.Actual = st.called + " " + string(raw(st.got))
		}
		switch {
		case st.unexpected:
			row.Status, row.Pos = trials.AlignExtra, harness.Position{}
		case st.called == "":
			row.Status, row.Call = trials.AlignMissing, -1
		case st.called != st.expected:
			missing := row
			missing.Status, missing.Actual, missing.Call = trials.AlignMissing, "", -1
			calls.Alignment.Rows = append(calls.Alignment.Rows, missing)
			row.Status, row.Expected, row.Pos = trials.AlignExtra, "", harness.Position{}
		case st.failed:
			row.Status = trials.AlignMismatched
			row.Mismatches = []trials.Mismatch{{Path: "args." + st.wrong, Rule: "equal", Want: string(raw(st.want[st.wrong])), Got: t.text(string(raw(st.got[st.wrong]))), Pos: at(8 + i)}}
		default:
			good++
		}
		calls.Alignment.Rows = append(calls.Alignment.Rows, row)
	}
	if len(list) > 0 {
		score := float64(good) / float64(len(list))
		calls.Score = &score
	}
	answer := trials.Verdict{Check: "answer", State: trials.Passed, Turn: 1, Pos: at(12)}
	t.record.Counts.Checks = 2
	var cause *trials.Cause
	switch {
	case f == tooLong:
		answer.State, answer.Message = trials.Failed, "the answer does not contain "+s.place+" and a date"
		cause = &trials.Cause{Kind: trials.CauseExpectation, Message: t.text("answer: " + answer.Message), Check: answer.Check, Pos: answer.Pos}
	case f != right:
		calls.State, calls.Message = trials.Failed, why(list, f)
		cause = &trials.Cause{Kind: trials.CauseExpectation, Message: t.text("calls: " + calls.Message), Check: calls.Check, Pos: calls.Pos, Folded: []trials.Consequence{{Text: t.text("1 reply not reached")}}}
	}
	t.record.Verdicts = []trials.Verdict{calls, answer}
	for _, name := range []string{"answered_once", "result_order", "history_grows", "witnesses_agree"} {
		t.record.Verdicts = append(t.record.Verdicts, trials.Verdict{Check: name, Conduct: true, State: trials.Passed})
	}
	if cause != nil {
		t.record.Outcome, t.record.Cause = harness.OutcomeFailed, cause
	}
}

// why is what was wrong, as the check says it of calls.
func why(list []step, f fate) string {
	last := list[len(list)-1]
	switch f {
	case wrongArgument:
		return "wrong arguments in " + last.called + ": args." + last.wrong
	case wrongTool:
		return "missing call " + last.expected + "; unexpected call " + last.called
	case noCall:
		return "missing call " + last.expected
	default:
		return "unexpected call " + last.called
	}
}
