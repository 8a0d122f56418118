// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/harness/match"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trajectory"
	"github.com/rehearse-dev/rehearse/harness/value"
)

// assertion is what a client claims of a conversation. All of it must hold.
type assertion struct {
	that     *expr.Program
	calls    *score.Calls
	requests []*match.Matcher
	asks     bool // requests was given
	extra    bool
	done     *bool
}

// verdict is the answer to an assertion.
type verdict struct {
	Passed bool    `json:"passed"`
	Checks []check `json:"checks"`
}

type check struct {
	Check      string             `json:"check"`
	Passed     bool               `json:"passed"`
	Message    string             `json:"message,omitempty"`
	Mismatches []harness.Mismatch `json:"mismatches,omitempty"`
}

// decodeAssertion reads an assertion, an object with some of
//
//	that      an expression over trajectory, journal and results
//	calls     the tool calls, each "tool" or {"tool": arguments}
//	requests  the exchanges of the journal, each an expectation of one
//	order     of the calls, strict or any, which scenarios call in_order and
//	          any_order; strict unless given
//	extra     whether there may be other calls and requests; false unless given
//	done      whether every reply was asked for, and nothing went wrong
func decodeAssertion(data []byte) (*assertion, error) {
	v, err := value.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("the assertion is not JSON: %w", err)
	}
	if v.Kind() != value.Object {
		return nil, errors.New(`an assertion is an object, such as {"that": "journal.model_calls == 2"}`)
	}
	return decodeMembers(v.Members())
}

var errNoClaim = errors.New("the assertion claims nothing: give that, calls, requests or done")

func decodeMembers(members []value.Member) (*assertion, error) {
	a := &assertion{}
	var order string
	var claims int
	for _, m := range members {
		var err error
		switch m.Key {
		case "that":
			claims++
			a.that, err = compileThat(m.Value)
		case "calls":
			claims++
			a.calls, err = compileCalls(m.Value)
		case "requests":
			claims++
			a.asks = true
			a.requests, err = compileRequests(m.Value)
		case "done":
			claims++
			a.done = new(bool)
			*a.done, err = boolOf(m.Value)
		case "extra":
			a.extra, err = boolOf(m.Value)
		case "order":
			order = m.Value.Str()
			switch {
			case m.Value.Kind() != value.String || !slices.Contains([]string{"any", "strict", "any_order", "in_order"}, order):
				err = errors.New("want strict or any, or as scenarios have it in_order or any_order")
			case order == "any_order":
				order = "any"
			}
		default:
			err = errors.New("no such key: there are that, calls, requests, done, order, extra")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
	}
	if claims == 0 {
		return nil, errNoClaim
	}
	if a.calls != nil {
		a.calls.AnyOrder, a.calls.AllowExtra = order == "any", a.extra
	}
	return a, nil
}

func boolOf(v value.Value) (bool, error) {
	if v.Kind() != value.Bool {
		return false, errors.New("want true or false")
	}
	return v.Bool(), nil
}

func compileThat(v value.Value) (*expr.Program, error) {
	if v.Kind() != value.String {
		return nil, errors.New("want an expression in a string")
	}
	env, err := expr.NewEnv(expr.That)
	if err != nil {
		return nil, err
	}
	return env.Compile(v.Str())
}

func compileCalls(v value.Value) (*score.Calls, error) {
	if v.Kind() != value.Array {
		return nil, errors.New("want a list")
	}
	calls := &score.Calls{}
	for i, item := range v.Items() {
		switch members := item.Members(); {
		case item.Kind() == value.String && item.Str() != "":
			calls.List = append(calls.List, score.CallPattern{Tool: item.Str()})
		case item.Kind() == value.Object && len(members) == 1:
			m, err := match.Compile(members[0].Value, &match.Options{Scope: expr.Expectation, Root: "args"})
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			calls.List = append(calls.List, score.CallPattern{Tool: members[0].Key, Args: m})
		default:
			return nil, fmt.Errorf(`[%d]: want "tool" or {"tool": {arguments}}`, i)
		}
	}
	return calls, nil
}

func compileRequests(v value.Value) ([]*match.Matcher, error) {
	if v.Kind() != value.Array {
		return nil, errors.New("want a list")
	}
	var out []*match.Matcher
	for i, item := range v.Items() {
		m, err := match.Compile(item, &match.Options{Scope: expr.Expectation, Root: fmt.Sprintf("requests[%d]", i)})
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if err := knownKeys(item, reflect.TypeFor[harness.Exchange](), "an exchange of the journal"); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// serveVerify judges an assertion: 200 whether it holds or not, 400 when it
// is none.
func (s *Server) serveVerify(w http.ResponseWriter, r *http.Request, t target) {
	data, ok := readBody(w, r)
	if !ok {
		return
	}
	a, err := decodeAssertion(data)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	s.show(w, t, func(c *conversation) any {
		exchanges := c.mock.Journal()
		v := verdict{Passed: true, Checks: a.judge(exchanges)}
		if a.done != nil {
			v.Checks = append(v.Checks, judgeDone(*a.done, expectationsOf(c.mock)))
		}
		for _, c := range v.Checks {
			v.Passed = v.Passed && c.Passed
		}
		return v
	})
}

// judge judges what an assertion says of exchanges.
func (a *assertion) judge(exchanges []harness.Exchange) []check {
	out := a.score(evidenceOf(exchanges))
	if a.asks {
		out = append(out, a.judgeRequests(exchanges))
	}
	return out
}

// score judges what an assertion says of calls.
func (a *assertion) score(e *score.Evidence) []check {
	var out []check
	add := func(s score.Scorer) {
		v := s.Score(e)
		out = append(out, check{v.Check, v.State == harness.Passed, v.Message, v.Mismatches})
	}
	if a.that != nil {
		add(score.That{Program: a.that})
	}
	if a.calls != nil {
		add(*a.calls)
	}
	return out
}

// evidenceOf is what a journal tells of a conversation. A call was executed
// when a later request has its result.
func evidenceOf(exchanges []harness.Exchange) *score.Evidence {
	e := &score.Evidence{Mode: harness.ModeMock, Exchanges: exchanges}
	e.Trajectory = trajectory.Join(exchanges, nil, func(string) (string, string, bool) { return "", "", false })
	results := map[string]json.RawMessage{}
	for i := range exchanges {
		for _, m := range exchanges[i].Request.Messages {
			if m.Role == harness.RoleTool {
				results[m.CallID] = resultOf(m.Text)
			}
		}
	}
	for i := range e.Trajectory {
		c := &e.Trajectory[i]
		result, ok := results[c.ID]
		if !ok {
			continue
		}
		c.Executed, c.Result = true, result
		e.Tools = append(e.Tools, harness.ToolExchange{Seq: len(e.Tools) + 1, Tool: c.Tool, Args: c.Args, Result: result})
	}
	return e
}

// resultOf is the text of a result as JSON, or as a JSON string.
func resultOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string can always be
	return quoted
}

// judgeRequests matches the expectations with the exchanges in their order.
func (a *assertion) judgeRequests(exchanges []harness.Exchange) check {
	c := check{Check: "requests"}
	fail := func(format string, args ...any) check {
		c.Message = fmt.Sprintf(format, args...)
		return c
	}
	if !a.extra && len(a.requests) != len(exchanges) {
		return fail("want %d requests, got %d", len(a.requests), len(exchanges))
	}
	next := 0
	for i, m := range a.requests {
		var nearest []harness.Mismatch
		found := false
		for ; next < len(exchanges) && !found; next++ {
			got, err := value.From(exchanges[next])
			if err != nil {
				return fail("reading request %d: %v", next+1, err)
			}
			differ, err := m.Match(got, &expr.Vars{})
			if err != nil {
				return fail("requests[%d]: %v", i, err)
			}
			found = len(differ) == 0
			if !found && (nearest == nil || len(differ) < len(nearest)) {
				nearest = differ
			}
			if !found && !a.extra {
				c.Mismatches = differ
				return fail("request %d is not as expected: %s", next+1, texts(differ))
			}
		}
		if !found {
			c.Mismatches = nearest
			return fail("no request fits requests[%d]: %s", i, texts(nearest))
		}
	}
	c.Passed = true
	return c
}

func texts(list []harness.Mismatch) string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.String()
	}
	return strings.Join(out, "; ")
}

func judgeDone(want bool, e expectations) check {
	c := check{Check: "done", Passed: e.OK == want}
	switch {
	case c.Passed:
	case !want:
		c.Message = "every reply was asked for, and nothing went wrong"
	default:
		for _, p := range e.Unmet {
			c.Message += strings.TrimSpace(fmt.Sprintf("never asked for: turn %d, reply %d %s", p.Turn, p.Reply, p.Pos)) + "\n"
		}
		c.Message = strings.TrimSpace(c.Message + strings.Join(e.Problems, "\n"))
	}
	return c
}
