// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package score judges expectations: which tools were called with which
// arguments, what the subject answered, in which state the servers are left.
// Each expectation of a scenario is a [Scorer]. It reads the [Evidence] of a
// trial and returns a verdict that says what was expected and what happened.
//
//	s := score.Calls{List: []score.CallPattern{{Tool: "weather.get"}}}
//	verdict := s.Score(&score.Evidence{Trajectory: trajectory})
//
// An expectation of a turn sees the calls, requests and answers of that turn;
// one of the whole conversation sees all. Expressions in it see the results
// of every call up to then, those of earlier turns too.
//
// # When there is nothing to judge
//
//   - calls with an empty list fails on any call (unless extra calls are
//     allowed), and passes when there is none.
//   - calls with extra and missing calls both allowed fails on order alone.
//   - never passes when nothing was called.
//   - answer with nothing to look for fails when there is no answer at all.
//   - retries with honoured is undecided when no answer asked for a wait.
//   - that over an empty trajectory holds or not as CEL has it: all() holds,
//     exists() does not.
package score

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Scorer judges one expectation.
type Scorer interface {
	Score(e *Evidence) trials.Verdict
}

// Evidence is everything known about a trial so far, whichever turn is judged.
type Evidence struct {
	// Ctx cancels expressions whose result is no longer needed. Nil never
	// cancels.
	Ctx context.Context
	// Budget limits what all expectations take together. Nil is no limit.
	Budget     *expr.Budget
	Mode       harness.Mode
	Trajectory []harness.Call
	Exchanges  []harness.Exchange
	Tools      []harness.ToolExchange
	// Transcript is nil when the subject reports nothing.
	Transcript *harness.Transcript
	// States are the states of the mock servers, by name.
	States map[string]json.RawMessage
	// Files are the files of the working folder that expectations name, by path. Of
	// one that is missing nothing is known.
	Files map[string]trials.File
	// Schemas are the argument schemas by server.tool, for `arguments:
	// schema`.
	Schemas map[string]json.RawMessage
	// Vars is the case's row, an object.
	Vars value.Value
	// Turn is the turn to judge, from 1; 0 is the whole conversation.
	Turn int
	// User is the user's text of that turn, or of the last one.
	User string
	// StartError is the error with which the subject could not be opened; empty
	// when it was.
	StartError string
	// Untimed says that when things happened is not known.
	Untimed bool
	// Ask has an LLM judge asked a question, once for each of its prompts, and
	// returns as many replies. Nil asks nobody.
	Ask func(*Question) Asked
}

// upTo reports whether something of a turn has happened for the evidence.
func (e *Evidence) upTo(turn int) bool { return e.Turn == 0 || turn <= e.Turn }

// in reports whether something of a turn is what is judged.
func (e *Evidence) in(turn int) bool { return e.Turn == 0 || turn == e.Turn }

// calls returns the calls that are judged, with their places in the whole
// trajectory.
func (e *Evidence) calls() (calls []harness.Call, index []int) {
	for i, c := range e.Trajectory {
		if e.in(c.Turn) {
			calls = append(calls, c)
			index = append(index, i)
		}
	}
	return calls, index
}

// vars are what an expression sees when the first n calls of the whole
// trajectory have been made.
func (e *Evidence) vars(n int) *expr.Vars {
	seen := make([]harness.Call, 0, n)
	for _, c := range e.Trajectory[:n] {
		if e.upTo(c.Turn) {
			seen = append(seen, c)
		}
	}
	v := &expr.Vars{Ctx: e.Ctx, Budget: e.Budget, User: e.User, Turn: e.Turn, Vars: e.Vars, Transcript: e.transcript()}
	for _, c := range slices.Backward(seen) {
		if c.Executed {
			if result, err := value.Parse(c.Result); err == nil {
				v.Result = &result
			}
			break
		}
	}
	v.Results = func(tool string) ([]value.Value, error) {
		var out []value.Value
		for _, c := range seen {
			if !c.Executed || !c.Is(tool) {
				continue
			}
			result, err := value.Parse(c.Result)
			if err != nil {
				return nil, fmt.Errorf("reading the result of %q: %w", tool, err)
			}
			out = append(out, result)
		}
		return out, nil
	}
	return v
}

// turn returns the subject's report of the turn that is judged, the last one
// for a whole conversation; nil where there is none.
func (e *Evidence) turn() *harness.TurnReport {
	if e.Transcript == nil {
		return nil
	}
	n := e.Turn
	if n == 0 {
		n = len(e.Transcript.Turns)
	}
	if n < 1 || n > len(e.Transcript.Turns) {
		return nil
	}
	return &e.Transcript.Turns[n-1]
}

// transcript is what the subject reports of what is judged; nil when it
// reports nothing.
func (e *Evidence) transcript() *harness.Transcript {
	if e.Transcript == nil || e.Turn == 0 {
		return e.Transcript
	}
	t := &harness.Transcript{}
	if report := e.turn(); report != nil {
		t.Turns = []harness.TurnReport{*report}
	}
	return t
}

// journal counts what the mocks saw of what is judged.
func (e *Evidence) journal() expr.Journal {
	var j expr.Journal
	answers := map[int]string{}
	var turns []int
	for _, x := range e.Exchanges {
		if !e.in(x.Turn) || x.Kind.Outside() || x.Stray {
			continue
		}
		j.ModelCalls++
		j.Told = told(x.Request)
		if x.Attempt > 1 {
			j.Retries++
		}
		j.Tokens += x.Usage.Counted().TotalTokens
		if x.Delivered && x.Lane == "" && x.Answer.Text != "" && len(x.Answer.Calls) == 0 {
			if _, ok := answers[x.Turn]; !ok {
				turns = append(turns, x.Turn)
			}
			answers[x.Turn] = x.Answer.Text
		}
	}
	for _, t := range turns {
		j.Answers = append(j.Answers, answers[t])
	}
	for _, reason := range stopsOf(e.last()) {
		j.Stops = append(j.Stops, string(reason))
	}
	calls, _ := e.calls()
	for _, c := range calls {
		if c.Executed {
			j.ToolCalls++
		}
	}
	if e.Turn == 0 {
		j.ToolCalls = len(e.Tools)
	}
	return j
}

// requests are those to the model that are judged, repeated ones too.
func (e *Evidence) requests() []harness.Exchange {
	var out []harness.Exchange
	for _, x := range e.Exchanges {
		if e.in(x.Turn) && !x.Kind.Outside() && !x.Stray {
			out = append(out, x)
		}
	}
	return out
}

// told are the texts of the tool messages of a request.
func told(r harness.Request) []string {
	out := []string{}
	for _, m := range r.Messages {
		if m.Role == harness.RoleTool {
			out = append(out, m.Text)
		}
	}
	return out
}

// verdict starts a verdict that has passed.
func (e *Evidence) verdict(check string, pos harness.Position) trials.Verdict {
	return trials.Verdict{Check: check, State: trials.Passed, Turn: e.Turn, Pos: pos}
}

func fail(v *trials.Verdict, format string, args ...any) {
	v.State = trials.Failed
	v.Message = fmt.Sprintf(format, args...)
}

// firstPos is where the first mismatch stands whose place is known.
func firstPos(list []trials.Mismatch) harness.Position {
	for _, m := range list {
		if !m.Pos.IsZero() {
			return m.Pos
		}
	}
	return harness.Position{}
}

// broken settles a verdict whose expectation could not be computed: it has
// failed when it reads something that does not exist, and is undecided
// otherwise.
func broken(v *trials.Verdict, err error) {
	if errors.Is(err, expr.ErrMissing) {
		fail(v, "reads something that does not exist: %v", err)
		return
	}
	v.State = trials.Undecided
	v.Message = err.Error()
}

// callText prints a call: weather.get {"city":"Paris"}.
func callText(c harness.Call) string {
	args := string(c.Args)
	if c.Args == nil {
		args = c.ArgsText
	}
	text := strings.TrimSpace(c.Name() + " " + prose.Shorten(args, 300))
	if c.Unasked {
		text += " (executed, but no reply asks for it)"
	}
	return text
}

func callTexts(calls []harness.Call) string {
	if len(calls) == 0 {
		return "no call"
	}
	texts := make([]string, 0, len(calls))
	for i, c := range calls {
		if i == 8 {
			texts = append(texts, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		texts = append(texts, callText(c))
	}
	return strings.Join(texts, ", ")
}

func share(part, whole int) *float64 {
	f := 1.0
	if whole > 0 {
		f = float64(part) / float64(whole)
	}
	return &f
}
