// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
)

// TestPartOfAnAnswer: an answer has the share of what was wanted of it that it
// has, and its verdict stands where that stands which it has not.
func TestPartOfAnAnswer(t *testing.T) {
	pos := harness.Position{File: "a.yaml", Line: 1}
	said := func(text string) score.Evidence {
		return score.Evidence{Transcript: transcript(harness.TurnReport{Answer: text})}
	}
	tests := []struct {
		name       string
		s          score.Answer
		e          score.Evidence
		score      float64
		mismatches int
		line       int
		message    string
	}{
		{"half of it", score.Answer{Contains: templates(t, "a", "b")}, said("a"), 0.5, 0, 1, `want it to contain "b", got "a"`},
		{"all of it", score.Answer{Contains: templates(t, "a", "b")}, said("ab"), 1, 0, 1, ""},
		{"JSON", score.Answer{JSON: placed(t, `{"a":1,"b":2}`, "answer", 7)}, said(`{"a":3,"b":4}`), 0, 2, 7, `answer.a: want 1, got 3; answer.b: want 2, got 4; the answer is "{\"a\":3,\"b\":4}"`},
		{"JSON and more", score.Answer{JSON: placed(t, `{"a":1}`, "answer", 7), Contains: templates(t, "x")}, said(`{"a":3}`), 0, 1, 1, `want it to contain "x"; answer.a: want 1, got 3, got "{\"a\":3}"`},
		{"JSON in a block on one line", score.Answer{JSON: placed(t, `{"a":1}`, "answer", 7)}, said("It is ```{\"a\":1}```."), 1, 0, 1, ""},
		{"JSON in one of two blocks", score.Answer{JSON: placed(t, `{"a":1}`, "answer", 7)}, said("```{\"a\":1}``` or ```{\"a\":2}```"), 0, 0, 1, "want JSON (invalid"},
		{"an error", score.Answer{Contains: templates(t, "a")}, score.Evidence{Transcript: transcript(harness.TurnReport{Error: "boom"})}, 0, 0, 1, `want it to contain "a", got no answer: boom`},
		{"a turn that was not reached", score.Answer{Contains: templates(t, "a")}, score.Evidence{Turn: 2, Transcript: transcript(harness.TurnReport{Answer: "a"})}, 0, 0, 1, `want it to contain "a", got no answer`},
		{"an endpoint's journal without an answer", score.Answer{Contains: templates(t, "a")}, score.Evidence{Mode: harness.ModeLive}, 0, 0, 1, `want it to contain "a", got no answer`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Pos = pos
			v := tt.s.Score(&tt.e)
			if v.Score == nil || *v.Score != tt.score || len(v.Mismatches) != tt.mismatches || v.Pos.Line != tt.line || (v.State == trials.Passed) != (tt.score == 1) {
				t.Errorf("got %+v, want the score %v, %d mismatches, line %d", v, tt.score, tt.mismatches, tt.line)
			}
			if tt.message == "" && v.Message != "" || !strings.HasPrefix(v.Message, tt.message) || strings.HasSuffix(tt.message, "no answer") && v.Message != tt.message {
				t.Errorf("message %q, want %q", v.Message, tt.message)
			}
		})
	}
}

// TestPartOfTheState: each server whose state is right counts.
func TestPartOfTheState(t *testing.T) {
	s := score.State{Servers: map[string]*match.Matcher{
		"s": placed(t, `{"n":1}`, "s", 7), "u": placed(t, `{"n":1}`, "u", 9),
	}, Pos: harness.Position{File: "a.yaml", Line: 1}}
	for states, want := range map[[2]string]string{
		{`{"n":1}`, `{"n":1}`}: `passed 1 1 ""`,
		{`{"n":1}`, `{"n":2}`}: `failed 0.5 9 "u.n: want 1, got 2"`,
		{`{"n":3}`, `{"n":2}`}: `failed 0 7 "s.n: want 1, got 3; u.n: want 1, got 2"`,
	} {
		v := s.Score(&score.Evidence{States: map[string]json.RawMessage{"s": json.RawMessage(states[0]), "u": json.RawMessage(states[1])}})
		if got := fmt.Sprintf("%s %v %d %q", v.State, *v.Score, v.Pos.Line, v.Message); got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}

// TestNotComputed: what cannot be computed is undecided, and says why; what is
// not there fails.
func TestNotComputed(t *testing.T) {
	answered := transcript(harness.TurnReport{Answer: `{"a":1}`})
	one := []harness.Call{call(1, "a", `{"x":1}`, `{"n":0}`)}
	broken := []harness.Call{{Server: "s", Tool: "a", Turn: 1, Args: json.RawMessage(`{"x":`)}}
	calls := func(src string, arguments score.Arguments) score.Calls {
		return score.Calls{List: []score.CallPattern{pattern(t, 1, src)}, Arguments: arguments}
	}
	schemas := func(s string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"s.a": json.RawMessage(s)}
	}
	const divided = `{"x":{"$cel":"1 / result.n"}}`
	tests := []struct {
		name    string
		s       score.Scorer
		e       score.Evidence
		want    trials.State
		message string
	}{
		{"JSON of an answer", score.Answer{JSON: matcher(t, `{"a":{"$cel":"1 / 0"}}`, "answer")}, score.Evidence{Transcript: answered}, trials.Undecided, "division by zero"},
		{"JSON of an answer reads something that does not exist", score.Answer{JSON: matcher(t, `{"a":{"$cel":"result.n"}}`, "answer")}, score.Evidence{Transcript: answered}, trials.Failed, "reads something that does not exist"},
		{"a state that is no JSON", score.State{Servers: map[string]*match.Matcher{"s": matcher(t, `1`, "s")}}, score.Evidence{States: map[string]json.RawMessage{"s": json.RawMessage(`{`)}}, trials.Undecided, "JSON"},
		{"a state", score.State{Servers: map[string]*match.Matcher{"s": matcher(t, `{"$cel":"1 / 0"}`, "s")}}, score.Evidence{States: map[string]json.RawMessage{"s": json.RawMessage(`{}`)}}, trials.Undecided, "division by zero"},
		{"a schema that is no JSON", calls(`s.a`, score.ArgumentsSchema), score.Evidence{Trajectory: one, Schemas: schemas(`{`)}, trials.Undecided, `the schema of "s.a": `},
		{"a schema that is none", calls(`s.a`, score.ArgumentsSchema), score.Evidence{Trajectory: one, Schemas: schemas(`{"type":5}`)}, trials.Undecided, `the schema of "s.a": `},
		{"arguments that are no JSON", calls(`s.a {"x":1}`, score.ArgumentsMatch), score.Evidence{Trajectory: broken}, trials.Undecided, "JSON"},
		{"arguments", calls(`s.b `+divided, score.ArgumentsMatch), score.Evidence{Trajectory: append(one[:1:1], call(1, "b", `{"x":1}`, ``))}, trials.Undecided, `s.b ` + divided + `: `},
		{"a condition", score.That{Program: program(t, `1 / trajectory.size() == 1`)}, score.Evidence{}, trials.Undecided, "1 / trajectory.size() == 1: evaluating `1 / trajectory.size() == 1`: division by zero"},
		{"a condition that was stopped", score.That{Program: program(t, `trajectory.all(c, c.failed)`)}, score.Evidence{Budget: expr.NewBudget(0)}, trials.Undecided, "evaluating `trajectory.all(c, c.failed)`: "},
		{"a condition on a result that is no JSON", score.That{Program: program(t, `results("s.a").size() == 1`)}, score.Evidence{Trajectory: []harness.Call{call(1, "a", `{}`, `{`)}}, trials.Undecided, `reading the result of "s.a"`},
		{"waits of a run that left out times", score.Retries{Honoured: true}, score.Evidence{Untimed: true}, trials.Undecided, "whether waits were honoured cannot be judged without times"},
		{"waits that nobody asked for", score.Retries{Honoured: true}, score.Evidence{}, trials.Undecided, "no retried answer asked for a wait"},
		{"a transcript that nobody gave", score.That{Program: program(t, `transcript.model_calls == 1`)}, score.Evidence{}, trials.Skipped, "the subject reports no transcript"},
		{"stops that nobody reports", score.Stops{Reason: harness.StopTime}, score.Evidence{}, trials.Skipped, "the subject reports no stops"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if v := tt.s.Score(&tt.e); v.State != tt.want || !strings.Contains(v.Message, tt.message) || strings.HasPrefix(tt.message, "evaluating") && !strings.HasPrefix(v.Message, tt.message) {
				t.Errorf("%s %q, want %s with %q", v.State, v.Message, tt.want, tt.message)
			}
		})
	}
}

// TestJournalOfAPart: conditions see the results of the tool that they name,
// the answers of the main conversation that arrived, and what it was told.
func TestJournalOfAPart(t *testing.T) {
	lost := harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: 1, Answer: harness.Message{Text: "lost"}}
	worker := harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: 1, Delivered: true, Lane: "worker", Answer: harness.Message{Text: "worker's"}}
	main := harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: 1, Delivered: true, Answer: harness.Message{Text: "main"}, Request: harness.Request{Messages: []harness.Message{
		{Role: harness.RoleUser, Text: "hi"}, {Role: harness.RoleTool, Text: "21"},
	}}}
	stray := harness.Exchange{Kind: harness.KindReply, Turn: 1, Attempt: 2, Stray: true, Delivered: true, Answer: harness.Message{Text: "stray"}}
	e := score.Evidence{
		Exchanges:  []harness.Exchange{lost, worker, main, stray},
		Trajectory: []harness.Call{call(1, "a", `{}`, `1`), call(1, "b", `{}`, `2`), call(1, "a", `{}`, ``), call(2, "b", `{}`, `3`)},
		Tools:      make([]harness.ToolExchange, 5), // one of which no call asked for, and one again
	}
	for src, turn := range map[string]int{
		`results("s.a") == [1]`:        0,
		`results("s.b") == [2, 3]`:     0,
		`results("s.b") == [2]`:        1,
		`journal.answers == ["main"]`:  1,
		`journal.told == ["21"]`:       1,
		`journal.model_calls == 3`:     1,
		`journal.retries == 0`:         1,
		`requests.size() == 3`:         1,
		`journal.tool_calls == 5`:      0,
		`journal.tool_calls == 2`:      1,
		`journal.answers == ["main"] `: 0,
	} {
		e := e
		e.Turn = turn
		if v := (score.That{Program: program(t, src)}).Score(&e); v.State != trials.Passed {
			t.Errorf("turn %d: %s", turn, v.Message)
		}
	}
	e.Exchanges = []harness.Exchange{main, stray, worker, lost}
	if v := (score.That{Program: program(t, `journal.answers == ["main"]`)}).Score(&e); v.State != trials.Passed {
		t.Errorf("in another order: %s", v.Message)
	}
}

// TestRequestsInWords: ten requests are told, of more the number; nothing said
// is told as such.
func TestRequestsInWords(t *testing.T) {
	e := &score.Evidence{}
	for range 10 {
		e.Exchanges = append(e.Exchanges, harness.Exchange{Kind: harness.KindReply, Path: "/v1"})
	}
	that := score.That{Program: program(t, `requests.size() + journal.answers.size() == 99`)}
	v := that.Score(e)
	if !strings.Contains(v.Message, "answers none\nrequests: 10 requests\n  1: POST /v1,") || !strings.Contains(v.Message, "\n  10: POST /v1") || strings.Contains(v.Message, "more") {
		t.Errorf("ten requests: %s", v.Message)
	}
	e.Exchanges = append(e.Exchanges, e.Exchanges...)
	if v = that.Score(e); !strings.HasSuffix(v.Message, "\n  and 10 more") || strings.Contains(v.Message, "\n  11:") {
		t.Errorf("twenty requests: %s", v.Message)
	}
}

// TestRetriesOfATurn counts what is judged, up to the very bounds.
func TestRetriesOfATurn(t *testing.T) {
	again := func(turn int) harness.Exchange {
		return harness.Exchange{Kind: harness.KindReply, Turn: turn, Attempt: 2}
	}
	stray, aside := again(1), again(1)
	stray.Stray, aside.Kind = true, harness.KindAside
	one, none := 1, 0
	e := &score.Evidence{Turn: 1, Exchanges: []harness.Exchange{again(1), again(2), stray, aside}}
	for name, test := range map[string]struct {
		s    score.Retries
		want trials.State
	}{
		"one, at least one": {score.Retries{Min: &one}, trials.Passed},
		"one, at most one":  {score.Retries{Max: &one}, trials.Passed},
		"one, at most none": {score.Retries{Max: &none}, trials.Failed},
	} {
		if v := test.s.Score(e); v.State != test.want {
			t.Errorf("%s: %s %q, want %s", name, v.State, v.Message, test.want)
		}
	}
	waited := &score.Evidence{Exchanges: []harness.Exchange{
		{Kind: harness.KindReply, Attempt: 1, RetryAfter: time.Second, Start: time.Unix(1, 0)}, {Kind: harness.KindReply, Attempt: 2, Start: time.Unix(2, 0)},
	}}
	if v := (score.Retries{Honoured: true}).Score(waited); v.State != trials.Passed {
		t.Errorf("who waited exactly as long as was asked for %s: %s", v.State, v.Message)
	}
}

// TestStopOfAStatus: what the endpoint's last answer explains, and what a
// message says of it where it explains nothing.
func TestStopOfAStatus(t *testing.T) {
	answer := func(status int, fault string) harness.Exchange {
		return harness.Exchange{Kind: harness.KindReply, Turn: 1, Status: status, Fault: fault}
	}
	aside := answer(500, "server_error")
	aside.Kind = harness.KindAside
	tests := []struct {
		name    string
		reason  harness.StopReason
		report  harness.TurnReport
		last    []harness.Exchange
		message string // empty: it passes
	}{
		{"400", harness.StopBadRequest, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(400, "")}, ""},
		{"400 is no cut", harness.StopMalformed, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(400, "bad")}, "the endpoint's last answer was HTTP 400"},
		{"400 without a fault is an error", harness.StopAuth, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(400, "")}, "the endpoint's last answer was HTTP 400"},
		{"399 has no error", harness.StopAuth, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(399, "cut")}, "the endpoint's last answer had no error status"},
		{"in order", harness.StopAuth, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(200, "")}, "the endpoint's last answer was valid"},
		{"not asked", harness.StopAuth, harness.TurnReport{Error: "e"}, nil, "the endpoint was not asked"},
		{"no endpoint's", harness.StopTime, harness.TurnReport{Error: "e"}, nil, `got the error "e", which gives no reason; no answer of an endpoint causes this stop`},
		{"404", harness.StopNotFound, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(404, "gone")}, ""},
		{"403", harness.StopAuth, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(403, "no")}, ""},
		{"500", harness.StopServer, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(500, "down")}, ""},
		{"an aside after it", harness.StopNotFound, harness.TurnReport{Error: "e"}, []harness.Exchange{answer(404, "gone"), aside}, ""},
		{"any, and it stopped", harness.StopAnyError, harness.TurnReport{Stop: harness.StopTime}, nil, ""},
		{"any, and it answered", harness.StopAnyError, harness.TurnReport{Answer: "hi"}, nil, `got the answer "hi"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := score.Stops{Reason: tt.reason}.Score(&score.Evidence{Turn: 1, Exchanges: tt.last, Transcript: transcript(tt.report)})
			if (v.State == trials.Passed) != (tt.message == "") || !strings.HasSuffix(v.Message, tt.message) {
				t.Errorf("%s %q, want %q", v.State, v.Message, tt.message)
			}
		})
	}
}

// TestExcuses: an expectation of a stop has a word to say about stops, and
// about errors without a reason where the endpoint is to bring it about.
func TestExcuses(t *testing.T) {
	for _, test := range []struct {
		wanted, got harness.StopReason
		want        bool
	}{
		{harness.StopTime, harness.StopModelCalls, true},
		{harness.StopTime, "", false},
		{harness.StopAnyError, "", true},
		{harness.StopAuth, "", true},
	} {
		if got := (score.Stops{Reason: test.wanted}).Excuses(test.got); got != test.want {
			t.Errorf("%q wanted, %q met: excused %t", test.wanted, test.got, got)
		}
	}
}
