// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
)

func call(turn int, tool, args, result string) harness.Call {
	c := harness.Call{Server: "s", Tool: tool, Offered: "mcp_s_" + tool, Turn: turn, Reply: 1, Args: json.RawMessage(args)}
	if result != "" {
		c.Executed, c.Result = true, json.RawMessage(result)
	}
	return c
}

func matcher(t testing.TB, src, root string) *match.Matcher {
	t.Helper()
	v, err := value.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	m, err := match.Compile(v, &match.Options{Scope: expr.Expectation, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pattern reads "server.tool {args}".
func pattern(t testing.TB, line int, src string) score.CallPattern {
	tool, args, _ := strings.Cut(src, " ")
	p := score.CallPattern{Tool: tool, Pos: harness.Position{File: "a.yaml", Line: line}}
	if args != "" {
		p.Args = matcher(t, args, "args")
	}
	return p
}

func template(t testing.TB, src string) *expr.Template {
	t.Helper()
	env, err := expr.NewEnv(expr.Expectation)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := env.CompileTemplate(src)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func templates(t testing.TB, src ...string) []*expr.Template {
	var out []*expr.Template
	for _, s := range src {
		out = append(out, template(t, s))
	}
	return out
}

func program(t testing.TB, src string) *expr.Program {
	t.Helper()
	env, err := expr.NewEnv(expr.That)
	if err != nil {
		t.Fatal(err)
	}
	p, err := env.CompileCondition(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// statuses are the rows of an alignment: "matched 0".
func statuses(v trials.Verdict) []string {
	var out []string
	if v.Alignment != nil {
		for _, r := range v.Alignment.Rows {
			out = append(out, fmt.Sprintf("%s %d", r.Status, r.Call))
		}
	}
	return out
}

func TestCalls(t *testing.T) {
	a1, a2, b := call(1, "a", `{"x":1}`, `{"id":7}`), call(1, "a", `{"x":2}`, `{"id":8}`), call(1, "b", `{}`, `"b"`)
	inOrder, anyOrder := score.Calls{}, score.Calls{AnyOrder: true}
	extra, missing := score.Calls{AllowExtra: true}, score.Calls{AllowMissing: true}
	both := score.Calls{AllowExtra: true, AllowMissing: true}
	ignore := score.Calls{Arguments: score.ArgumentsIgnore}
	schema := score.Calls{Arguments: score.ArgumentsSchema}
	notJSON := harness.Call{Server: "s", Tool: "a", ArgsText: `{"x":`, Turn: 1}

	tests := []struct {
		name     string
		settings score.Calls
		list     []string
		calls    []harness.Call
		turn     int
		state    trials.State
		rows     []string
		message  string // part of it
	}{
		{name: "no call wanted, none made", state: trials.Passed},
		{name: "no call wanted, one made", calls: []harness.Call{a1}, state: trials.Failed, rows: []string{"extra 0"}, message: `unexpected call s.a {"x":1}`},
		{name: "as wanted", list: []string{`s.a {"x":1}`, `s.b`}, calls: []harness.Call{a1, b}, state: trials.Passed, rows: []string{"matched 0", "matched 1"}},
		{name: "by the offered name", list: []string{`mcp_s_a {"x":1}`}, calls: []harness.Call{a1}, state: trials.Passed, rows: []string{"matched 0"}},
		{name: "none made", list: []string{`s.a {"x":1}`}, state: trials.Failed, rows: []string{"missing -1"}, message: `missing call s.a {"x":1}`},
		{name: "missing, with what its arguments compute", list: []string{`s.a`, `s.b {"x":{"$cel":"result.id"},"y":"{{result.id}}!"}`}, calls: []harness.Call{a1}, state: trials.Failed, rows: []string{"matched 0", "missing -1"}, message: `missing call s.b {"x":7,"y":"7!"}`},
		{name: "missing, and nothing to compute it from", list: []string{`s.b {"x":{"$cel":"result.id"}}`}, state: trials.Failed, rows: []string{"missing -1"}, message: `missing call s.b {"x":{"$cel":"result.id"}}`},
		{name: "wrong argument", list: []string{`s.a {"x":3}`}, calls: []harness.Call{a1}, state: trials.Failed, rows: []string{"mismatched 0"}, message: `wrong arguments in s.a {"x":1}: args.x`},
		{name: "wrong order", settings: inOrder, list: []string{`s.b`, `s.a {"x":1}`}, calls: []harness.Call{a1, b}, state: trials.Failed, rows: []string{"out_of_order 0", "matched 1"}, message: `out of order: s.a {"x":1}`},
		{name: "any order", settings: anyOrder, list: []string{`s.b`, `s.a {"x":1}`}, calls: []harness.Call{a1, b}, state: trials.Passed, rows: []string{"matched 0", "matched 1"}},
		{name: "any order takes the assignment that fits", settings: anyOrder, list: []string{`s.a`, `s.a {"x":1}`}, calls: []harness.Call{a1, a2}, state: trials.Passed, rows: []string{"matched 0", "matched 1"}},
		{name: "extra allowed", settings: extra, list: []string{`s.a {"x":2}`}, calls: []harness.Call{a1, a2, b}, state: trials.Passed, rows: []string{"extra 0", "matched 1", "extra 2"}},
		{name: "extra allowed, the wanted one wrong", settings: extra, list: []string{`s.a {"x":3}`}, calls: []harness.Call{b, a1}, state: trials.Failed, rows: []string{"extra 0", "mismatched 1"}},
		{name: "missing allowed", settings: missing, list: []string{`s.a {"x":1}`, `s.b`}, calls: []harness.Call{b}, state: trials.Passed, rows: []string{"missing -1", "matched 0"}},
		{name: "missing allowed, none made", settings: missing, list: []string{`s.a`}, state: trials.Passed, rows: []string{"missing -1"}},
		{name: "missing allowed, extra not", settings: missing, list: []string{`s.a {"x":1}`}, calls: []harness.Call{b}, state: trials.Failed, rows: []string{"missing -1", "extra 0"}},
		{name: "both allowed", settings: both, list: []string{`s.a {"x":3}`}, calls: []harness.Call{a1}, state: trials.Passed, rows: []string{"missing -1", "extra 0"}},
		{name: "both allowed, order kept", settings: both, list: []string{`s.b`, `s.a`}, calls: []harness.Call{a1, b}, state: trials.Failed, rows: []string{"out_of_order 0", "matched 1"}},
		{name: "arguments ignored", settings: ignore, list: []string{`s.a {"x":3}`}, calls: []harness.Call{a1}, state: trials.Passed, rows: []string{"matched 0"}},
		{name: "arguments by schema", settings: schema, list: []string{`s.a`}, calls: []harness.Call{a1}, state: trials.Passed, rows: []string{"matched 0"}},
		{name: "arguments against the schema", settings: schema, list: []string{`s.a`}, calls: []harness.Call{call(1, "a", `{"x":"1"}`, ``)}, state: trials.Failed, rows: []string{"mismatched 0"}},
		{name: "schema not known", settings: schema, list: []string{`s.b`}, calls: []harness.Call{b}, state: trials.Undecided, message: `the schema of "s.b" is unknown`},
		{name: "arguments that are no JSON", list: []string{`s.a {"x":1}`}, calls: []harness.Call{notJSON}, state: trials.Failed, rows: []string{"mismatched 0"}, message: `want a JSON object, got {"x":`},
		{name: "results of the calls before", list: []string{`s.a`, `s.a {"x":{"$cel":"result.id - 5"}}`}, calls: []harness.Call{a1, a2}, state: trials.Passed, rows: []string{"matched 0", "matched 1"}},
		{name: "results by tool", list: []string{`s.a`, `s.b`, `s.a {"x":{"$cel":"results(\"s.a\")[0].id - 5"}}`}, calls: []harness.Call{a1, b, a2}, state: trials.Passed, rows: []string{"matched 0", "matched 1", "matched 2"}},
		{name: "a result that is not there yet", list: []string{`s.a {"x":{"$cel":"result.id"}}`}, calls: []harness.Call{a1}, state: trials.Failed, rows: []string{"mismatched 0"}, message: "there is no result"},
		{name: "only the calls of the turn", list: []string{`s.b`}, calls: []harness.Call{a1, call(2, "b", `{}`, `1`)}, turn: 2, state: trials.Passed, rows: []string{"matched 1"}},
		{name: "many problems", calls: []harness.Call{b, b, b, b, b, b}, state: trials.Failed, rows: []string{"extra 0", "extra 1", "extra 2", "extra 3", "extra 4", "extra 5"}, message: "and 2 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.settings
			for i, src := range tt.list {
				s.List = append(s.List, pattern(t, i+1, src))
			}
			e := &score.Evidence{Trajectory: tt.calls, Turn: tt.turn, Schemas: map[string]json.RawMessage{
				"s.a": json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`),
			}}
			v := s.Score(e)
			if v.State != tt.state || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.state, tt.message)
			}
			if d := cmp.Diff(tt.rows, statuses(v)); d != "" {
				t.Errorf("alignment (-want +got):\n%s", d)
			}
			if (v.State == trials.Passed) != (v.Message == "") {
				t.Errorf("%s with the message %q", v.State, v.Message)
			}
		})
	}
}

// TestPatternText: a message has arguments of 300 bytes as they are, and cuts
// longer ones between two characters.
func TestPatternText(t *testing.T) {
	args := func(text string) string { return `{"a":"` + text + `"}` }
	whole := args(strings.Repeat("x", 300-len(args(""))))
	if got := pattern(t, 1, "t "+whole).String(); got != "t "+whole {
		t.Errorf("arguments of %d bytes become %s", len(whole), got)
	}
	long := args(strings.Repeat("x", 299-len(args(""))+len(`"}`)) + "é")
	if got, want := pattern(t, 1, "t "+long).String(), fmt.Sprintf("t %s… (%d bytes more)", long[:299], len(long)-299); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNever(t *testing.T) {
	s := score.Never{Tools: []string{"s.del*", "mcp_s_b"}}
	tests := []struct {
		name  string
		e     score.Evidence
		state trials.State
		rows  []string
	}{
		{name: "nothing called", state: trials.Passed},
		{name: "another tool", e: score.Evidence{Trajectory: []harness.Call{call(1, "a", `{}`, ``)}}, state: trials.Passed},
		{name: "a forbidden one", e: score.Evidence{Trajectory: []harness.Call{call(1, "a", `{}`, ``), call(1, "delete", `{}`, ``)}}, state: trials.Failed, rows: []string{"forbidden 1"}},
		{name: "by the offered name", e: score.Evidence{Trajectory: []harness.Call{call(1, "b", `{}`, ``)}}, state: trials.Failed, rows: []string{"forbidden 0"}},
		{name: "in another turn", e: score.Evidence{Turn: 2, Trajectory: []harness.Call{call(1, "delete", `{}`, ``)}}, state: trials.Passed},
		{name: "executed though nobody called it", e: score.Evidence{Tools: []harness.ToolExchange{{Seq: 1, Server: "s", Tool: "delete"}}}, state: trials.Failed, rows: []string{"forbidden -1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.Score(&tt.e)
			if v.State != tt.state {
				t.Errorf("%s %q, want %s", v.State, v.Message, tt.state)
			}
			if d := cmp.Diff(tt.rows, statuses(v)); d != "" {
				t.Errorf("alignment (-want +got):\n%s", d)
			}
		})
	}
}

func transcript(turns ...harness.TurnReport) *harness.Transcript {
	return &harness.Transcript{Turns: turns}
}

func TestAnswer(t *testing.T) {
	calls := []harness.Call{call(1, "a", `{}`, `{"id":"m1"}`), call(2, "a", `{}`, `{"id":"m2"}`)}
	live := []harness.Exchange{{Kind: harness.KindLive, Turn: 1, Delivered: true, Answer: harness.Message{Text: "built m1"}}}
	tests := []struct {
		name    string
		s       score.Answer
		e       score.Evidence
		state   trials.State
		message string
	}{
		{name: "contains", s: score.Answer{Contains: templates(t, "m1")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "built m1"})}, state: trials.Passed},
		{name: "contains not", s: score.Answer{Contains: templates(t, "m1", "built")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "built it"})}, state: trials.Failed, message: `want it to contain "m1", got "built it"`},
		{name: "letter case counts", s: score.Answer{Contains: templates(t, "M1")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "built m1"})}, state: trials.Failed},
		{name: "not contains", s: score.Answer{NotContains: templates(t, "Traceback")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "Traceback (most"})}, state: trials.Failed, message: `want it not to contain "Traceback"`},
		{name: "regex", s: score.Answer{Regex: []*regexp.Regexp{regexp.MustCompile(`m\d$`)}}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "built m1"})}, state: trials.Passed},
		{name: "regex not", s: score.Answer{Regex: []*regexp.Regexp{regexp.MustCompile(`m\d\d`)}}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "built m1"})}, state: trials.Failed, message: "regular expression"},
		{name: "equals", s: score.Answer{Equals: template(t, "built {{result.id}}\n")}, e: score.Evidence{Turn: 1, Trajectory: calls, Transcript: transcript(harness.TurnReport{Answer: "built m1\n"}, harness.TurnReport{})}, state: trials.Passed},
		{name: "equals but for white space", s: score.Answer{Equals: template(t, "built m1")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "\n built m1\n"})}, state: trials.Failed, message: `want it to be "built m1" (only white space at the ends differs), got "\n built m1\n"`},
		{name: "a turn sees no later results", s: score.Answer{Equals: template(t, `{{results("s.a").size()}}`)}, e: score.Evidence{Turn: 1, Trajectory: calls, Transcript: transcript(harness.TurnReport{Answer: "1"}, harness.TurnReport{})}, state: trials.Passed},
		{name: "the last answer of a conversation", s: score.Answer{Contains: templates(t, "{{result.id}}")}, e: score.Evidence{Trajectory: calls, Transcript: transcript(harness.TurnReport{Answer: "m1"}, harness.TurnReport{Answer: "m2"})}, state: trials.Passed},
		{name: "no result to compare with", s: score.Answer{Contains: templates(t, "{{result.id}}")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "m1"})}, state: trials.Failed, message: "reads something that does not exist"},
		{name: "json", s: score.Answer{JSON: matcher(t, `{"a":[1]}`, "answer")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: `{"a":[1.0],"b":2}`})}, state: trials.Passed},
		{name: "json in a fence", s: score.Answer{JSON: matcher(t, `{"a":1}`, "answer")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "Here:\n```json\n{\"a\":1}\n```\n"})}, state: trials.Passed},
		{name: "json that differs", s: score.Answer{JSON: matcher(t, `{"a":1}`, "answer")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: `{"a":2}`})}, state: trials.Failed, message: "answer.a"},
		{name: "no json", s: score.Answer{JSON: matcher(t, `{"a":1}`, "answer")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: `a is 1`})}, state: trials.Failed, message: "want JSON"},
		{name: "nothing to look for, an answer", e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "x"})}, state: trials.Passed},
		{name: "nothing to look for, no answer", e: score.Evidence{Transcript: transcript(harness.TurnReport{})}, state: trials.Failed, message: "want an answer, got no answer"},
		{name: "stopped", s: score.Answer{Contains: templates(t, "x")}, e: score.Evidence{Transcript: transcript(harness.TurnReport{Stop: harness.StopTime})}, state: trials.Failed, message: "got no answer: the subject stopped (time)"},
		{name: "no transcript in mock mode", s: score.Answer{Contains: templates(t, "m1")}, e: score.Evidence{Mode: harness.ModeMock, Exchanges: live}, state: trials.Passed},
		{name: "no transcript in mock mode, another text", s: score.Answer{Contains: templates(t, "x")}, e: score.Evidence{Mode: harness.ModeMock, Exchanges: live}, state: trials.Failed, message: `want it to contain "x"`},
		{name: "no transcript in mock mode, no text", s: score.Answer{Contains: templates(t, "m1")}, e: score.Evidence{Mode: harness.ModeMock}, state: trials.Failed, message: "got no answer"},
		{name: "no transcript in live mode", s: score.Answer{Contains: templates(t, "m1")}, e: score.Evidence{Mode: harness.ModeLive, Exchanges: live}, state: trials.Passed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.s.Score(&tt.e)
			if v.State != tt.state || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.state, tt.message)
			}
			// What passes by the script alone says so.
			if want := tt.state == trials.Passed && tt.e.Mode == harness.ModeMock; v.Scripted != want {
				t.Errorf("by the script: %t", v.Scripted)
			}
		})
	}
}

func TestState(t *testing.T) {
	s := score.State{Servers: map[string]*match.Matcher{"s": matcher(t, `{"models":{"m1":{"done":true}}}`, "s")}}
	tests := []struct {
		name, state string
		want        trials.State
		message     string
	}{
		{name: "as wanted", state: `{"models":{"m1":{"done":true},"m2":{}}}`, want: trials.Passed},
		{name: "differs", state: `{"models":{"m1":{"done":false}}}`, want: trials.Failed, message: "s.models.m1.done"},
		{name: "not known", want: trials.Undecided, message: `state of server "s" is unknown`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &score.Evidence{}
			if tt.state != "" {
				e.States = map[string]json.RawMessage{"s": json.RawMessage(tt.state)}
			}
			v := s.Score(e)
			if v.State != tt.want || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	at := func(second, attempt int, wait time.Duration) harness.Exchange {
		return harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: attempt, RetryAfter: wait, Start: time.Unix(int64(second), 0)}
	}
	worker := at(2, 1, time.Minute)
	worker.Lane = "worker"
	aside := at(1, 2, 0)
	aside.Kind = harness.KindAside
	one, two := 1, 2
	tests := []struct {
		name      string
		s         score.Retries
		exchanges []harness.Exchange
		want      trials.State
		message   string
	}{
		{name: "none, at most one", s: score.Retries{Max: &one}, exchanges: []harness.Exchange{at(1, 1, 0), aside}, want: trials.Passed},
		{name: "too many", s: score.Retries{Max: &one}, exchanges: []harness.Exchange{at(1, 1, 0), at(2, 2, 0), at(3, 3, 0)}, want: trials.Failed, message: "want at most 1 repeated model requests, got 2"},
		{name: "too few", s: score.Retries{Min: &two}, exchanges: []harness.Exchange{at(1, 1, 0), at(2, 2, 0)}, want: trials.Failed, message: "want at least 2"},
		{name: "waited", s: score.Retries{Honoured: true}, exchanges: []harness.Exchange{at(1, 1, time.Second), at(2, 2, 0)}, want: trials.Passed},
		{name: "did not wait", s: score.Retries{Honoured: true}, exchanges: []harness.Exchange{at(1, 1, 2*time.Second), at(2, 2, 0)}, want: trials.Failed, message: "attempt 2 came after 1s, but was asked to wait 2s"},
		{name: "a worker's wait is its own", s: score.Retries{Honoured: true}, exchanges: []harness.Exchange{at(1, 1, time.Second), worker, at(2, 2, 0)}, want: trials.Passed},
		{name: "nobody asked to wait", s: score.Retries{Honoured: true}, exchanges: []harness.Exchange{at(1, 1, 0), at(2, 2, 0)}, want: trials.Undecided},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := tt.s.Score(&score.Evidence{Exchanges: tt.exchanges})
			if v.State != tt.want || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

// TestStopsWithoutReason has errors that give no reason: the endpoint's last
// answer does.
func TestStopsWithoutReason(t *testing.T) {
	answer := func(status int, fault, lane string) harness.Exchange {
		return harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: 1, Status: status, Fault: fault, Lane: lane}
	}
	tests := []struct {
		name   string
		reason harness.StopReason
		last   []harness.Exchange
		want   trials.State
	}{
		{"a 401", harness.StopAuth, []harness.Exchange{answer(401, "unauthorized", "")}, trials.Passed},
		{"a 401, and a worker's 500 after it", harness.StopAuth, []harness.Exchange{answer(401, "unauthorized", ""), answer(500, "server_error", "worker")}, trials.Passed},
		{"a worker's 500 alone", harness.StopServer, []harness.Exchange{answer(500, "server_error", "worker")}, trials.Passed},
		{"a 404 for a 401", harness.StopAuth, []harness.Exchange{answer(404, "model_not_found", "")}, trials.Failed},
		{"408", harness.StopTimeout, []harness.Exchange{answer(408, "request_timeout", "")}, trials.Passed},
		{"429", harness.StopQuota, []harness.Exchange{answer(429, "quota", "")}, trials.Passed},
		{"422", harness.StopBadRequest, []harness.Exchange{answer(422, "detail_error", "")}, trials.Passed},
		{"inside a reply", harness.StopMalformed, []harness.Exchange{answer(200, "cut", "")}, trials.Passed},
		{"inside a reply, and a status was wanted", harness.StopAuth, []harness.Exchange{answer(200, "cut", "")}, trials.Failed},
		{"nothing wrong", harness.StopMalformed, []harness.Exchange{answer(200, "", "")}, trials.Failed},
		{"cut off at its length", harness.StopLength, []harness.Exchange{{Kind: harness.KindReply, Turn: 1, Attempt: 1, Status: 200, FinishReason: "length"}}, trials.Passed},
		{"whole, and its length was wanted", harness.StopLength, []harness.Exchange{{Kind: harness.KindReply, Turn: 1, Attempt: 1, Status: 200, FinishReason: "stop"}}, trials.Failed},
		{"no request", harness.StopConnection, nil, trials.Failed},
		{"any", harness.StopAnyError, nil, trials.Passed},
		{"a stop of its own", harness.StopModelCalls, []harness.Exchange{answer(401, "unauthorized", "")}, trials.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := score.Stops{Reason: tt.reason}.Score(&score.Evidence{Turn: 1, Exchanges: tt.last, Transcript: transcript(harness.TurnReport{Error: "no luck"})})
			if v.State != tt.want {
				t.Errorf("%s %q, want %s", v.State, v.Message, tt.want)
			}
		})
	}
}

func TestStops(t *testing.T) {
	s := score.Stops{Reason: harness.StopModelCalls}
	tests := []struct {
		name    string
		e       score.Evidence
		want    trials.State
		message string
	}{
		{name: "stopped", e: score.Evidence{Transcript: transcript(harness.TurnReport{Stop: harness.StopModelCalls})}, want: trials.Passed},
		{name: "for another reason", e: score.Evidence{Transcript: transcript(harness.TurnReport{Stop: harness.StopTime, Error: "e"})}, want: trials.Failed, message: "got a stop (time): e"},
		{name: "broke", e: score.Evidence{Transcript: transcript(harness.TurnReport{Error: "boom"})}, want: trials.Failed, message: `got the error "boom"`},
		{name: "answered", e: score.Evidence{Transcript: transcript(harness.TurnReport{Answer: "hi"})}, want: trials.Failed, message: `got the answer "hi"`},
		{name: "not reached", e: score.Evidence{Turn: 2, Transcript: transcript(harness.TurnReport{})}, want: trials.Failed, message: "not reached"},
		{name: "no transcript", want: trials.Skipped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.Score(&tt.e)
			if v.State != tt.want || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

func TestThat(t *testing.T) {
	e := score.Evidence{
		Trajectory: []harness.Call{call(1, "a", `{}`, `{"n":1}`), call(2, "b", `{}`, `2`)},
		Tools:      make([]harness.ToolExchange, 2),
		Exchanges: []harness.Exchange{
			{Kind: harness.KindAside},
			{Kind: harness.KindReply, Turn: 1, Attempt: 1, Usage: harness.Usage{TotalTokens: 10}},
			{Kind: harness.KindReply, Turn: 1, Attempt: 2, Delivered: true, Answer: harness.Message{Text: "one"}},
			{
				Kind: harness.KindReply, Turn: 2, Attempt: 1, Delivered: true, Answer: harness.Message{Text: "two"},
				Path: "/v1/messages", Dialect: "messages", Headers: map[string]string{"x-team": "a"},
				Request: harness.Request{
					Model: "m", ToolChoice: "auto", Tools: []harness.Tool{{Name: "f"}},
					Messages: []harness.Message{{Role: harness.RoleSystem, Text: "Be brief."}, {Role: harness.RoleUser, Text: "hi"}},
				},
			},
		},
	}
	tests := []struct {
		name, src string
		turn      int
		want      trials.State
		message   string
	}{
		{name: "holds", src: `trajectory.size() == 2 && journal.model_calls == 3 && journal.retries == 1 && journal.tokens == 10 && journal.tool_calls == 2`, want: trials.Passed},
		{name: "answers", src: `journal.answers == ["one", "two"]`, want: trials.Passed},
		{name: "does not hold", src: `trajectory.size() == 3`, want: trials.Failed, message: "trajectory.size() == 3 does not hold\ntrajectory.size(): 2\ntrajectory: 2 calls: s.a {}, s.b {}"},
		{name: "one turn", turn: 2, src: `trajectory.size() == 1 && trajectory[0].tool == "b" && journal.answers == ["two"]`, want: trials.Passed},
		{name: "requests", src: `requests.size() == 3 && requests[2].model == "m" && requests[2].messages[0].text == "hi" && requests[2].system == "Be brief." && requests[2].tools[0].name == "f"`, want: trials.Passed},
		{name: "where requests went", turn: 2, src: `requests.all(r, r.path == "/v1/messages" && r.dialect == "messages" && r.headers["x-team"] == "a" && r.tool_choice == "auto" && !has(r.temperature))`, want: trials.Passed},
		{name: "no such header", turn: 2, src: `"x-other" in requests[0].headers`, want: trials.Failed, message: "\nrequests: 1 request\n  1: POST /v1/messages, model \"m\", 2 messages, 1 tool"},
		{name: "results", src: `result == 2 && results("s.a")[0].n == 1`, want: trials.Passed},
		{name: "not there", src: `trajectory[5].failed`, want: trials.Failed, message: "reads something that does not exist"},
		{name: "transcript", src: `transcript.model_calls < 3`, want: trials.Skipped},
		{name: "over nothing, all holds", turn: 3, src: `trajectory.all(c, c.failed)`, want: trials.Passed},
		{name: "over nothing, exists does not", turn: 3, src: `trajectory.exists(c, true)`, want: trials.Failed, message: "trajectory: 0 calls: no call"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := e
			e.Turn = tt.turn
			v := score.That{Program: program(t, tt.src)}.Score(&e)
			if v.State != tt.want || !strings.Contains(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

// TestThatOfATurn holds that all three witnesses are heard about the turn that
// is judged, and about the whole conversation where none is.
func TestThatOfATurn(t *testing.T) {
	e := score.Evidence{
		Trajectory: []harness.Call{call(1, "a", `{}`, `1`), call(2, "b", `{}`, `2`), call(2, "c", `{}`, `3`)},
		Tools:      make([]harness.ToolExchange, 3),
		Exchanges: []harness.Exchange{
			{Kind: harness.KindReply, Turn: 1, Attempt: 1, Delivered: true, Answer: harness.Message{Text: "one"}},
			{Kind: harness.KindReply, Turn: 2, Attempt: 1, Delivered: true, Answer: harness.Message{Text: "two"}},
			{Kind: harness.KindReply, Turn: 2, Attempt: 1},
		},
		Transcript: transcript(
			harness.TurnReport{ModelCalls: 1, Answer: "one", Calls: make([]harness.ReportedCall, 1), Stop: harness.StopTime},
			harness.TurnReport{ModelCalls: 2, Answer: "two", Calls: make([]harness.ReportedCall, 2)},
		),
	}
	const all = "trajectory.size() == N && journal.model_calls == N && transcript.model_calls == N && transcript.tool_calls == N"
	tests := []struct {
		name, src string
		turn      int
		want      trials.State
		message   string
	}{
		{name: "first", turn: 1, src: strings.ReplaceAll(all, "N", "1") + ` && transcript.answers == ["one"] && transcript.stop == "time"`, want: trials.Passed},
		{name: "second", turn: 2, src: strings.ReplaceAll(all, "N", "2") + ` && transcript.answers == ["two"] && transcript.stop == ""`, want: trials.Passed},
		{name: "all", src: strings.ReplaceAll(all, "N", "3") + ` && transcript.answers.size() == 2`, want: trials.Passed},
		{name: "not reported", turn: 3, src: `transcript.answers == [] && transcript.model_calls == 0`, want: trials.Passed},
		{name: "figures of all that is read", turn: 2, src: strings.ReplaceAll(all, "N", "9"), want: trials.Failed, message: ` does not hold
trajectory.size(): 2
trajectory: 2 calls: s.b {}, s.c {}
journal: 2 model calls, 0 retries, 2 tool calls, 0 tokens, answers "two"
transcript: 2 model calls, 2 tool calls, answers "two", stop ""`},
		{name: "the transcript's alone", turn: 1, src: `transcript.stop == ""`, want: trials.Failed, message: `transcript.stop == "" does not hold
transcript.stop: "time"
transcript: 1 model call, 1 tool call, answers "one", stop "time"`},
		{name: "the result's", turn: 1, src: `result == 2`, want: trials.Failed, message: "result == 2 does not hold\nresult: 1"},
		{name: "nobody's", turn: 1, src: `turn == 2`, want: trials.Failed, message: "turn == 2 does not hold\nturn: 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := e
			e.Turn = tt.turn
			v := score.That{Program: program(t, tt.src)}.Score(&e)
			if v.State != tt.want || !strings.HasSuffix(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

func ExampleCalls() {
	s := score.Calls{List: []score.CallPattern{{Tool: "weather.get"}, {Tool: "mail.send"}}}
	v := s.Score(&score.Evidence{Trajectory: []harness.Call{
		{Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"Paris"}`)},
	}})
	fmt.Println(v.State, *v.Score)
	fmt.Println(v.Message)
	for _, row := range v.Alignment.Rows {
		fmt.Println(row.Status, row.Expected)
	}
	// Output:
	// failed 0.5
	// missing call mail.send
	// matched weather.get
	// missing mail.send
}

// TestMismatchesOnly: mismatches are all that is wrong where nothing else is.
func TestMismatchesOnly(t *testing.T) {
	e := score.Evidence{
		Transcript: transcript(harness.TurnReport{Answer: `{"a":2}`}), States: map[string]json.RawMessage{"s": json.RawMessage(`{"a":2}`)},
	}
	differs := matcher(t, `{"a":1}`, "answer")
	for name, tt := range map[string]struct {
		s    score.Scorer
		want bool
	}{
		"an answer":            {score.Answer{JSON: differs}, true},
		"an answer, and more":  {score.Answer{JSON: differs, Contains: templates(t, "x")}, false},
		"an answer, otherwise": {score.Answer{Contains: templates(t, "x")}, false},
		"a state":              {score.State{Servers: map[string]*match.Matcher{"s": differs}}, true},
	} {
		if v := tt.s.Score(&e); v.State != trials.Failed || v.MismatchesOnly != tt.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
