// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
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
	Check      string            `json:"check"`
	Passed     bool              `json:"passed"`
	Undecided  bool              `json:"undecided,omitempty"` // it could not be judged
	Message    string            `json:"message,omitempty"`
	Mismatches []trials.Mismatch `json:"mismatches,omitempty"`
}

// decodeAssertion reads an assertion, an object with some of
//
//	that      an expression over trajectory, journal and results
//	calls     the tool calls, each "tool" or {"tool": arguments}; the tool is
//	          the name that the client offers, or server.tool
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
			a.requests, err = compileList(m.Value, "requests", reflect.TypeFor[harness.Exchange](), "an exchange of the journal")
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
			err = errors.New("unknown key; the keys are that, calls, requests, done, order, extra")
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

// compileList compiles expectations of things that are made of typ.
func compileList(v value.Value, root string, typ reflect.Type, what string) ([]*match.Matcher, error) {
	if v.Kind() != value.Array {
		return nil, errors.New("want a list")
	}
	var out []*match.Matcher
	for i, item := range v.Items() {
		m, err := match.Compile(item, &match.Options{Scope: expr.Expectation, Root: fmt.Sprintf("%s[%d]", root, i)})
		if err == nil {
			err = knownKeys(item, typ, what)
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// judge judges what a conversation says of an assertion.
type judge[M any] func(ctx context.Context, m M) []check

// verify judges an assertion: 200 whether it holds or not, 400 when it is none,
// 404 for a conversation with an id that never began.
func (h *host[S, O, M]) verify(decode func(data []byte) (judge[M], error)) adminRoute {
	return func(w http.ResponseWriter, r *http.Request, t target) {
		data, ok := readBody(w, r, jsonTypes)
		if !ok {
			return
		}
		judge, err := decode(data)
		if err != nil {
			writeError(w, http.StatusBadRequest, err)
			return
		}
		if ids, _ := h.conversations(); t.id != "" && !slices.Contains(ids, t.id) {
			noConversation(w, t.id, ids)
			return
		}
		h.show(w, t, func(m M) any {
			v := verdict{Passed: true, Checks: judge(r.Context(), m)}
			for _, c := range v.Checks {
				v.Passed = v.Passed && c.Passed
			}
			return v
		})
	}
}

// judge judges what an assertion says of exchanges, as long as somebody waits
// for it. called are the tools that the script called as server.tool, by offered
// name.
func (a *assertion) judge(ctx context.Context, exchanges []harness.Exchange, called map[string]string) []check {
	names, unclear := a.offered(exchanges, called)
	evidence := evidenceOf(exchanges, names)
	evidence.Ctx = ctx
	out := append(unclear, a.score(evidence)...)
	if a.asks {
		out = append(out, a.judgeRequests(ctx, exchanges))
	}
	return out
}

// score judges what an assertion says of calls.
func (a *assertion) score(e *score.Evidence) []check {
	var out []check
	add := func(s score.Scorer) {
		v := s.Score(e)
		out = append(out, check{v.Check, v.State == trials.Passed, v.State == trials.Undecided, v.Message, v.Mismatches})
	}
	if a.that != nil {
		add(score.That{Program: a.that})
	}
	if a.calls != nil {
		add(*a.calls)
	}
	return out
}

// offered maps the names under which a client offered tools to the server.tool
// that the assertion names them by, in calls or in that, and those that the
// script called, which are known. A call of another name keeps its own. A tool
// in calls that could be any of two is a check that fails: what is judged
// without knowing which would hold by chance.
func (a *assertion) offered(exchanges []harness.Exchange, called map[string]string) (names map[string]string, unclear []check) {
	names = map[string]string{}
	known := map[string]bool{}
	for _, tool := range called {
		known[tool] = true
	}
	for i, tool := range a.tools() {
		server, _ := toolname.Split(tool)
		for j := range exchanges {
			name, err := toolname.Resolve(tool, exchanges[j].Request.Tools, nil, nil)
			if _, ok := errors.AsType[*toolname.AmbiguousError](err); ok && server != "" && !known[tool] && a.calls != nil && i < len(a.calls.List) {
				unclear = append(unclear, check{Check: "calls", Message: fmt.Sprintf("request %d: %v", exchanges[j].Seq, err)})
				break
			}
			if err != nil {
				continue // a request that does not offer it, or not clearly, tells nothing
			}
			if server != "" {
				names[name] = tool
			} else if server := prefixOf(name, tool); server != "" && names[name] == "" {
				names[name] = server + "." + tool
			}
		}
	}
	maps.Copy(names, called)
	return names, unclear
}

// tools are the names in an assertion that may be those of tools.
func (a *assertion) tools() []string {
	var out []string
	if a.calls != nil {
		for _, p := range a.calls.List {
			out = append(out, p.Tool)
		}
	}
	if a.that != nil {
		for _, text := range a.that.Texts() {
			if server, tool := toolname.Split(text); toolname.Valid(tool) && (server == "" || toolname.Valid(server)) {
				out = append(out, text)
			}
		}
	}
	return out
}

// prefixOf is the server that a client put before the name of a tool; empty
// when it put none.
func prefixOf(offered, tool string) string {
	before, ok := strings.CutSuffix(offered, tool)
	if !ok {
		return ""
	}
	for _, client := range []string{"mcp__", "mcp_"} {
		if rest, ok := strings.CutPrefix(before, client); ok {
			before = rest
			break
		}
	}
	return strings.TrimRight(before, "_-.")
}

// evidenceOf is what a journal says about a conversation. A call was executed
// when a later request has its result. names is server.tool by offered name.
func evidenceOf(exchanges []harness.Exchange, names map[string]string) *score.Evidence {
	e := &score.Evidence{Mode: harness.ModeMock, Exchanges: exchanges}
	e.Trajectory = trajectory.Join(exchanges, nil, func(offered string) (string, string, bool) {
		server, tool := toolname.Split(names[offered])
		return server, tool, server != ""
	})
	results := map[string]json.RawMessage{}
	for i := range exchanges {
		for _, m := range exchanges[i].Request.Messages {
			if m.Role == harness.RoleTool {
				results[m.CallID] = mockllm.ReadResult(m.Text)
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
		e.Tools = append(e.Tools, harness.ToolExchange{Seq: len(e.Tools) + 1, Server: c.Server, Tool: c.Tool, Args: c.Args, Result: result})
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
func (a *assertion) judgeRequests(ctx context.Context, exchanges []harness.Exchange) check {
	if !a.extra && len(a.requests) != len(exchanges) {
		return check{Check: "requests", Message: fmt.Sprintf("want %d requests, got %d", len(a.requests), len(exchanges))}
	}
	return judgeInOrder(ctx, "request", a.requests, len(exchanges), !a.extra, func(i int) (value.Value, error) { return value.From(exchanges[i]) })
}

// judgeInOrder looks for things that fit, one after another; with strict there
// are no others between them.
func judgeInOrder(ctx context.Context, what string, want []*match.Matcher, n int, strict bool, item func(i int) (value.Value, error)) check {
	c := check{Check: what + "s"}
	fail := func(format string, args ...any) check {
		c.Message = strings.TrimSuffix(fmt.Sprintf(format, args...), ": ")
		return c
	}
	next := 0
	for i, m := range want {
		var nearest []trials.Mismatch
		found := false
		for ; next < n && !found; next++ {
			got, err := item(next)
			var differ []trials.Mismatch
			if err == nil {
				differ, err = m.Match(got, &expr.Vars{Ctx: ctx})
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				c.Undecided = true
				return fail("%ss[%d]: %v", what, i, err)
			}
			found = len(differ) == 0
			if !found && (nearest == nil || len(differ) < len(nearest)) {
				nearest = differ
			}
			if !found && strict {
				c.Mismatches = differ
				return fail("%s %d is not as expected: %s", what, next+1, texts(differ))
			}
		}
		if !found {
			c.Mismatches = nearest
			return fail("no %s fits %ss[%d]: %s", what, what, i, texts(nearest))
		}
	}
	c.Passed = true
	return c
}

func texts(list []trials.Mismatch) string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.String()
	}
	return strings.Join(out, "; ")
}

// judgeDone judges whether a script was played. One without replies, of rules
// alone, was not while nobody asked.
func judgeDone(want bool, e expectations) check {
	const unasked = "the mock was asked nothing: does the client use its URL?"
	idle := !e.asked && len(e.Unmet) == 0
	c := check{Check: "done", Passed: (e.OK && !idle) == want}
	switch {
	case c.Passed:
	case want && idle && e.OK:
		c.Message = unasked
	case !want:
		c.Message = "every reply was asked for, and nothing went wrong"
	default:
		for _, p := range e.Unmet {
			c.Message += strings.TrimSpace(fmt.Sprintf("never asked for: turn %d, reply %d %s", p.Turn, p.Reply, p.Pos)) + "\n"
		}
		if !e.asked {
			c.Message += unasked + "\n"
		}
		c.Message = strings.TrimSpace(c.Message + strings.Join(e.Problems, "\n"))
	}
	return c
}
