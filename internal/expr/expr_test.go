// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/value"
)

func newEnv(t testing.TB, scope expr.Scope) *expr.Env {
	t.Helper()
	env, err := expr.NewEnv(scope)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func parse(t testing.TB, s string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(s))
	if err != nil {
		t.Fatalf("Parse(%s): %v", s, err)
	}
	return v
}

// sample is a conversation of one call after an answer of a tool.
func sample(t testing.TB) *expr.Vars {
	result := parse(t, `{"a":[{"b":1.10}],"id":12345678901234567890,"s":"x","n":1,"f":2.5,"m":{"z":1,"y":2.50},"in":"word","e":[]}`)
	return &expr.Vars{
		Result: &result,
		Results: func(tool string) ([]value.Value, error) {
			switch tool {
			case "none":
				return nil, nil
			case "broken":
				return nil, errors.New("no such tool")
			}
			return []value.Value{value.ObjectOf(), result}, nil
		},
		User:  "hi",
		Turn:  2,
		Vars:  parse(t, `{"x":1}`),
		Args:  parse(t, `{"model_id":"m1"}`),
		State: parse(t, `{"models":{"m1":{}}}`),
		Value: parse(t, `7`),
		Trajectory: []harness.Call{
			{Server: "gemflux", Tool: "build_model", Args: []byte(`{"x":1.0}`), Result: []byte(`"done"`), Turn: 1, Reply: 1, Duration: 1500 * time.Millisecond},
			{Tool: "odd", ArgsText: "not json", Failed: true, Turn: 2, Reply: 1},
		},
		Journal: expr.Journal{ModelCalls: 3, Retries: 1, ToolCalls: 2, Tokens: 99, Answers: []string{"first", "second"}},
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{
			{Answer: "first", ModelCalls: 2, Calls: make([]harness.ReportedCall, 1)},
			{Answer: "second", ModelCalls: 1, Calls: make([]harness.ReportedCall, 1), Stop: harness.StopTime},
		}},
		Request: &harness.Request{
			Model: "gpt",
			Messages: []harness.Message{
				{Role: harness.RoleSystem, Text: "Be brief."},
				{Role: harness.RoleUser, Text: "ping"},
				{Role: harness.RoleAssistant, Calls: []harness.ToolCall{
					{ID: "c1", Name: "t", Arguments: `{"a":1.50}`},
					{ID: "c2", Name: "t", Arguments: ``},
					{ID: "c3", Name: "t", Arguments: `{"a`},
				}},
				{Role: harness.RoleTool, CallID: "c1", Text: "ok"},
			},
			Tools: []harness.Tool{{Name: "t", Description: "d", Schema: []byte(`{"type":"object"}`)}},
		},
	}
}

func TestEval(t *testing.T) {
	const that, request, tool, reply = expr.That, expr.Request, expr.ToolResult, expr.Reply
	for _, test := range []struct {
		scope     expr.Scope
		src, want string
	}{
		// Plain paths keep the spelling; words that CEL reserves are keys.
		{reply, `result.a[0].b`, `1.10`},
		{reply, ` result["a"][0]['b'] `, `1.10`},
		{reply, `result.id`, `12345678901234567890`},
		{reply, `result.m`, `{"z":1,"y":2.50}`},
		{reply, `result.in`, `"word"`},
		{reply, `results("s.t").last().a.first().b`, `1.10`},
		{reply, `results("s.t")[1].id`, `12345678901234567890`},
		{reply, `user`, `"hi"`},
		{reply, `vars.x`, `1`},
		{tool, `args.model_id`, `"m1"`},
		{that, `trajectory[0].args.x`, `1.0`},
		{that, `trajectory.last().args`, `"not json"`},
		{that, `transcript.stop`, `"time"`},
		{that, `journal.answers.last()`, `"second"`},
		{reply | expr.Value, `value`, `7`},
		// What CEL only hands on keeps its spelling too.
		{reply, `true ? result.m : {}`, `{"z":1,"y":2.50}`},
		{reply, `[result.m, result.a]`, `[{"z":1,"y":2.50},[{"b":1.10}]]`},
		{reply, `result.m.map(k, k)`, `["z","y"]`},
		{reply, `{"b": 1, "a": result.f}`, `{"a":2.5,"b":1}`},
		{reply, `results("s.t").filter(r, has(r.f)).map(r, r.f)`, `[2.5]`},
		// Numbers.
		{reply, `result.n + 1`, `2`},
		{reply, `double(result.n) * 3.0`, `3.0`},
		{reply, `result.n == 1.0 && result.f > 2`, `true`},
		{reply, `100000.0 * 10.0`, `1000000.0`},
		{reply, `0.000002 / 2.0`, `0.000001`},
		{reply, `0.0000002 / 2.0`, `1e-07`},
		{reply, `1e20 * 10.0`, `1e+21`},
		{reply, `math.abs(-1.5)`, `1.5`},
		{reply, `result.m == {"y": 2.5, "z": 1.0}`, `true`},
		{reply, `result.m == {"y": 2.5}`, `false`},
		{reply, `{"y": 2.5, "z": 1} == result.m`, `true`},
		// Presence.
		{reply, `has(result.zz)`, `false`},
		{reply, `has(result.n)`, `true`},
		{reply, `result.?zz.orValue(4)`, `4`},
		{tool, `args.model_id in state.models`, `true`},
		{tool, `args["nope"] in state.models || true`, `true`},
		{that, `has(trajectory[1].result)`, `false`},
		// The tables of fields.
		{request, `request.model + request.system`, `"gptBe brief."`},
		{request, `request.messages.map(m, m.role)`, `["user","assistant","tool"]`},
		{request, `request.messages[1].calls.map(c, c.args)`, `[{"a":1.50},{},"{\"a"]`},
		{request, `request.tools[0].schema.type`, `"object"`},
		{request, `message`, `{"role":"tool","text":"ok","calls":[],"call_id":"c1"}`},
		{request, `has(request.temperature) || request.stream || request.tool_choice != ""`, `false`},
		{that, `trajectory.size() == 2 && trajectory.exists(c, c.failed)`, `true`},
		{that, `trajectory[0]`, `{"server":"gemflux","tool":"build_model","name":"gemflux.build_model","offered":"","args":{"x":1.0},"result":"done","failed":false,"lane":"","turn":1,"reply":1,"index":0,"duration_ms":1500,"retried":false,"executed":false,"unasked":false}`},
		{that, `trajectory == trajectory`, `true`},
		{that, `trajectory[0] == trajectory[1]`, `false`},
		{that, `[journal.model_calls, journal.retries, journal.tool_calls, journal.tokens]`, `[3,1,2,99]`},
		{that, `[transcript.model_calls, transcript.tool_calls]`, `[3,2]`},
		{that, `transcript.answers == journal.answers`, `true`},
		{that, `"a,b".split(",")`, `["a","b"]`},
		{that, `timestamp("2025-03-14T00:00:00Z")`, `"2025-03-14T00:00:00Z"`},
	} {
		t.Run(test.src, func(t *testing.T) {
			prog, err := newEnv(t, test.scope).Compile(test.src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := prog.Eval(sample(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEvalErrors(t *testing.T) {
	const that, reply = expr.That, expr.Reply
	for _, test := range []struct {
		scope     expr.Scope
		src, want string
		missing   bool
	}{
		{reply, `result.idd`, `result has no key "idd" (did you mean "id"?)`, true},
		{reply, `result.m.q`, `result.m has no key "q": it is {"z":1,"y":2.50}`, true},
		{reply, `result.s.x`, `result.s has no key "x": it is "x"`, true},
		{reply, `result.a[3]`, `result.a has no item 3: it is [{"b":1.10}]`, true},
		{reply, `result.e.last()`, `result.e has no item last(): it is []`, true},
		{reply, `results("none").first().x`, `results("none") has no item first(): it is []`, true},
		{reply, `results("broken").first().x`, `no such tool`, false},
		{reply, `results("broken").size()`, `no such tool`, false},
		{that, `trajectory[1].result`, `trajectory[1] has no key "result"`, true},
		// The same through CEL.
		{reply, `result.idd == 1`, `no such key: idd`, true},
		{reply, `result.s.x == 1`, `no such key: x`, true},
		{reply, `result.a[3].b == 1`, `index out of bounds: 3`, true},
		{reply, `result.a[-1].b == 1`, `index out of bounds: -1`, true},
		{reply, `result.e.last() == 1`, `last() of an empty list`, true},
		{that, `trajectory[1].result == 1`, `trajectory call has no result`, true},
		{reply, `result.?zz`, `the optional value is missing; end with .orValue(...)`, true},
		{reply, `result.n * 2.0`, `does not accept these types; ints and doubles do not mix in + - * / (write double(x) or int(x))`, false},
		{reply, `result.s > 1`, `does not accept these types`, false},
		{reply, `result.id == 1`, `the number 12345678901234567890 is too large for an expression`, false},
		{reply, `1 / 0`, `division by zero`, false},
		{reply, `type(1)`, `the result is a type, which is not a JSON value`, false},
		{reply, `{1: 2}`, `the key 1 of the result is not a string`, false},
	} {
		t.Run(test.src, func(t *testing.T) {
			prog, err := newEnv(t, test.scope).Compile(test.src)
			if err != nil {
				t.Fatal(err)
			}
			v, err := prog.Eval(sample(t))
			if err == nil {
				t.Fatalf("no error but %s", v)
			}
			if want := "evaluating `" + test.src + "`: "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q, want %q", err, want+test.want)
			}
			if got := errors.Is(err, expr.ErrMissing); got != test.missing {
				t.Errorf("missing: %t", got)
			}
		})
	}
}

func TestNothingThere(t *testing.T) {
	for _, test := range []struct {
		scope     expr.Scope
		src, want string
	}{
		{expr.Reply, `result.x`, "there is no result: no call was made before"},
		{expr.Reply, `result.x == 1`, "there is no result: no call was made before"},
		{expr.Reply, `results("t")[0].x`, `results("t") has no item 0: it is []`},
		{expr.Request, `message.text`, "the request has no message"},
		{expr.That, `transcript.stop`, `there is no transcript to read "stop" from`},
		{expr.That, `transcript.stop == ""`, `there is no transcript to read "stop" from`},
	} {
		prog, err := newEnv(t, test.scope).Compile(test.src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prog.Eval(nil); !errors.Is(err, expr.ErrMissing) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.src, err, test.want)
		}
		if ok, err := prog.Holds(nil); ok || err != nil {
			t.Errorf("%s: holds %t, %v", test.src, ok, err)
		}
	}
	prog, err := newEnv(t, expr.Reply).Compile(`result.x`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = prog.Eval(&expr.Vars{Request: &harness.Request{Messages: []harness.Message{{Role: harness.RoleTool, Text: "{}"}}}})
	if err == nil || !strings.Contains(err.Error(), "there is no result: no turn of the script made a call that has one; results of other calls, such as those of rules, are in the request: message.text is its last message") {
		t.Errorf("result of the call of a rule: %v", err)
	}
	prog, err = newEnv(t, expr.That).Compile(`transcript == null`)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := prog.True(nil); !ok || err != nil {
		t.Errorf("transcript == null: %t, %v", ok, err)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		scope expr.Scope
		src   string
		want  string
	}{
		{"unknown name", expr.Reply, `resutl.x`, "unknown name \"resutl\" (did you mean \"result\"?)\n    resutl.x\n    ^"},
		{"name of another scope", expr.Reply, `args.x`, "\"args\" is unknown here; known are result, results, turn, user, vars\n    args.x\n    ^"},
		{"what the user says", expr.User, `user + string(turn)`, "\"user\" is unknown here; known are turn, vars\n    user + string(turn)\n    ^"},
		{"unknown function", expr.That, `trajectory.siez()`, "unknown name \"siez\" (did you mean \"size\"?)\n    trajectory.siez()\n                   ^"},
		{"field in a path", expr.That, `trajectory[0].tol`, "trajectory call has no field \"tol\" (did you mean \"tool\"?)\n    trajectory[0].tol\n                  ^"},
		{"field in CEL", expr.That, `trajectory.all(c, !c.faild)`, "trajectory call has no field \"faild\" (did you mean \"failed\"?)\n    trajectory.all(c, !c.faild)\n                        ^"},
		{"field of a message", expr.Request, `message.txt == "x"`, "message has no field \"txt\" (did you mean \"text\"?)\n    message.txt == \"x\"\n           ^"},
		{"field of nothing like it", expr.That, `journal.foo > 1`, "journal has no field \"foo\"; it has model_calls, retries, tool_calls, tokens, answers, told, stops\n    journal.foo > 1\n           ^"},
		{"field of a list", expr.That, `trajectory.tool`, "a list has no fields; take an item first: [0], first() or last()\n    trajectory.tool\n               ^"},
		{"field of a string", expr.That, `user.name`, "a string has no fields\n    user.name\n         ^"},
		{"mixing types", expr.Reply, `5 + 1.5`, "ints and doubles do not mix in + - * / (write double(x) or int(x))\n    5 + 1.5\n      ^"},
		{"wrong types", expr.That, `user > 1`, "> cannot be applied to (string, int)\n    user > 1\n         ^"},
		{"one equals sign", expr.That, `trajectory.size() = 2`, "= is not a comparison: write ==\n    trajectory.size() = 2\n                      ^"},
		{"and", expr.Reply, `true and false`, "and is not an operator: write &&\n    true and false\n         ^"},
		{"cut short", expr.Reply, `result.n +`, "the expression is incomplete\n    result.n +\n              ^"},
		{"cut path", expr.Reply, `result.x.`, "the expression is incomplete\n    result.x.\n             ^"},
		{"open quote", expr.Reply, `"abc`, "this is not an expression (an open quote?)\n    \"abc\n    ^"},
		{"empty", expr.Reply, ``, "the expression is empty"},
		{"bracket too many", expr.Reply, `(1))`, "')' is not expected here\n    (1))\n       ^"},
		{"regular expression", expr.Reply, `user.matches("(")`, "invalid matches argument\n    user.matches(\"(\")\n                 ^"},
		{"second line", expr.Reply, "user ==\n  resutl", "unknown name \"resutl\" (did you mean \"result\"?)\n      resutl\n      ^"},
		{"beyond ASCII", expr.Reply, `"é" + resutl`, "unknown name \"resutl\" (did you mean \"result\"?)\n    \"é\" + resutl\n          ^"},
		{"field of a name of another scope", expr.Reply, `message.text == "x"`, "\"message\" is unknown here; known are result, results, turn, user, vars\n    message.text == \"x\"\n    ^"},
		{"inside a name of another scope", expr.Tool, `args.x == request.model`, "\"request\" is unknown here; known are args, asked, state, turn, user, vars\n    args.x == request.model\n              ^"},
		{"name of another scope alone", expr.Tool, `message`, "\"message\" is unknown here; known are args, asked, state, turn, user, vars\n    message\n    ^"},
		{"name of another scope compared", expr.Tool, `transcript == null`, "\"transcript\" is unknown here; known are args, asked, state, turn, user, vars\n    transcript == null\n    ^"},
		{"results as a list", expr.Reply, `results[0].x`, "results is a function: write results(\"server.tool\")[0], or last() for the last one\n    results[0].x\n    ^"},
		{"results of nothing", expr.Reply, `results()`, "results takes the name of one tool: results(\"server.tool\"), not ()\n    results()\n           ^"},
		{"result as a function", expr.Reply, `result("a.b")`, "result is not a function: write result, or results(\"server.tool\")[0]\n    result(\"a.b\")\n          ^"},
		{"name as a function", expr.Reply, `user() == ""`, "user is not a function: write it without ( )\n    user() == \"\"\n        ^"},
		{"function as a name", expr.Reply, `size == 1`, "size is a function: write x.size() or size(x)\n    size == 1\n    ^"},
		{"no such function", expr.Reply, `frobnicate(user)`, "there is no function \"frobnicate\"\n    frobnicate(user)\n              ^"},
		{"braces", expr.Tool, `{{args.x}} == 1`, "this is already an expression: write it without {{ }}\n    {{args.x}} == 1\n    ^"},
		{"field of a number", expr.That, `turn.x`, "an int has no fields\n    turn.x\n         ^"},
		{"no condition", expr.That, `journal.tokens`, "this is an int, not a condition\n    journal.tokens\n    ^"},
		{"no condition in CEL", expr.That, `user + "x"`, "this is a string, not a condition\n    user + \"x\"\n    ^"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := newEnv(t, test.scope).CompileCondition(test.src)
			var e *expr.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want an *expr.Error", err)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	for _, test := range []struct {
		src        string
		holds      bool
		fail, true bool // error of Holds, of True
	}{
		{`result.n == 1`, true, false, false},
		{`result.n == 2`, false, false, false},
		{`result.success == false`, false, false, true},
		{`result.s.x == 1`, false, false, true},
		{`!has(result.success)`, true, false, false},
		{`result.n`, false, true, true},
		{`result.s > 1`, false, true, true},
	} {
		prog, err := newEnv(t, expr.Reply).Compile(test.src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := prog.Holds(sample(t)); got != test.holds || (err != nil) != test.fail {
			t.Errorf("%s: Holds = %t, %v", test.src, got, err)
		}
		if got, err := prog.True(sample(t)); got != test.holds || (err != nil) != test.true {
			t.Errorf("%s: True = %t, %v", test.src, got, err)
		}
	}
}

// TestReadings: the parts of a condition that explain why it does not hold.
func TestReadings(t *testing.T) {
	result := parse(t, `{"id": "m-8", "n": 3}`)
	vars := &expr.Vars{
		Turn: 2, Result: &result, Vars: parse(t, `{"id": "m-7", "list": [1, 2]}`),
		Trajectory: []harness.Call{{Tool: "a"}, {Tool: "b"}},
	}
	tests := []struct{ name, src, want string }{
		{"both sides", `result.id == vars.id`, `result.id: "m-8"; vars.id: "m-7"`},
		{"no literals", `result.n > 3`, `result.n: 3`},
		{"what held before is left out", `turn == 2 && result.n == 4 && turn == 3`, `result.n: 3`},
		{"either", `turn == 1 || result.n == 4`, `turn: 2; result.n: 3`},
		{"not", `!(turn == 2 && result.n == 3)`, `turn: 2; result.n: 3`},
		{"in", `result.n in vars.list`, `result.n: 3; vars.list: [1,2]`},
		{"what a function is asked about", `result.id.startsWith(vars.id)`, `result.id: "m-8"; vars.id: "m-7"`},
		{"a call", `size(vars.list) == 3`, `size(vars.list): 2`},
		{"once", `result.n == 4 || result.n == 5`, `result.n: 3`},
		{"a list that was filtered", `trajectory.filter(c, c.tool == "b").size() == 2`, `trajectory.filter(c, c.tool == "b").size(): 1`},
		{"elements are too many", `trajectory.exists(c, c.tool == "z")`, ``},
		{"a path is its own value", `vars.id`, ``},
		{"until it broke", `result.n == vars.list[7]`, `result.n: 3`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := newEnv(t, expr.That).Compile(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range p.Readings(vars) {
				got = append(got, m.Key+": "+m.Value.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestHoldsVacuously(t *testing.T) {
	for _, test := range []struct {
		src  string
		want bool
	}{
		{`trajectory.all(c, !c.failed)`, true},
		{`trajectory.filter(c, c.tool == "x").all(c, c.failed)`, true},
		{`!trajectory.exists(c, c.tool == "delete")`, true},
		{`trajectory.all(c, !c.failed) && journal.model_calls <= 6`, true},
		{`results("s.t").all(r, r.ok)`, true},
		{`trajectory.size() == 0`, false},
		{`trajectory.size() == 2 && trajectory.all(c, !c.failed)`, false},
		{`trajectory.exists(c, c.tool == "x")`, false},
		{`trajectory.size() == 0 || trajectory.all(c, !c.failed)`, false},
		{`journal.model_calls <= 6`, false},
		{`[1, 2].all(x, x > 0)`, false},
		{`trajectory[0].tool == "x"`, false},
		{`trajectory[0].failed`, false},
		{`requests.all(r, r.model == "x")`, false},
		{`!requests.exists(r, r.model == "x")`, false},
		{`requests.filter(r, r.tools.size() > 0).all(r, r.model == "x")`, false},
		{`requests.map(r, r.model).all(m, m == "x")`, false},
		{`journal.answers.all(a, a != "")`, false},
		{`requests.all(r, r.model == "x") && trajectory.all(c, !c.failed)`, true},
		{`trajectory.all(c, requests.all(r, r.model == "x"))`, true},
		{`journal.told.all(s, s != "")`, true},
	} {
		prog, err := newEnv(t, expr.That).CompileCondition(test.src)
		if err != nil {
			t.Fatal(err)
		}
		if got := prog.HoldsVacuously(nil); got != test.want {
			t.Errorf("%s: %t", test.src, got)
		}
	}
}

func TestReads(t *testing.T) {
	for _, test := range []struct {
		src   string
		reads string // of the names below
		tools []string
	}{
		{`transcript.stop`, "transcript", nil},
		{`transcript.stop == "" || journal.tokens > 1`, "transcript journal", nil},
		{`results("a.b")[0].x`, "results", []string{"a.b"}},
		{`results("a.b").size() == results("c.d").size()`, "results", []string{"a.b", "c.d"}},
		{`results(user).size() == 0`, "results user", nil},
		{`"transcript" == user`, "user", nil},
	} {
		prog, err := newEnv(t, expr.That).Compile(test.src)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"transcript", "journal", "results", "user", "turn"} {
			if got := prog.Reads(name); got != strings.Contains(test.reads, name) {
				t.Errorf("%s: Reads(%s) = %t", test.src, name, got)
			}
		}
		if diff := cmp.Diff(test.tools, prog.Tools()); diff != "" {
			t.Errorf("%s: tools (-want +got)\n%s", test.src, diff)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, test := range []struct {
		src  string
		want []string
	}{
		{`vars.a.b`, []string{"a"}},
		{`vars`, nil},
		{`args.a`, nil},
		{`vars["a b"]`, []string{"a b"}},
		{`vars.a == args.c || vars["b"] == 1`, []string{"a", "b"}},
		{`args.list.exists(x, x == vars.a)`, []string{"a"}},
		{`has(vars.a) ? vars.a : vars.b`, []string{"b"}},
		{`"a" in vars && vars.a == 1`, nil},
		{`vars.?a.orValue("x")`, nil},
		{`vars[args.a]`, nil},
		{`args.vars.a == 1`, nil},
	} {
		prog, err := newEnv(t, expr.Tool).Compile(test.src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, prog.Keys("vars"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.src, diff)
		}
	}
}

func TestLazyRequest(t *testing.T) {
	// A request with broken parts is fine as long as nobody reads them.
	vars := &expr.Vars{Request: &harness.Request{Model: "m", Tools: []harness.Tool{{Schema: []byte(`{`)}}}}
	prog, err := newEnv(t, expr.Request).Compile(`request.tools.size() == 1 && request.model == "m"`)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := prog.Holds(vars); !ok || err != nil {
		t.Errorf("Holds = %t, %v", ok, err)
	}
}

func TestConcurrentEval(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			env, err := expr.NewEnv(expr.That)
			if err != nil {
				t.Error(err)
				return
			}
			vars := sample(t)
			prog, err := env.CompileCondition(`trajectory.size() == 2 && results("s.t").last().n == 1 && result.m.exists(k, k == "y")`)
			for range 50 {
				if err != nil {
					break
				}
				var ok bool
				if ok, err = prog.True(vars); !ok {
					t.Error("it does not hold")
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func BenchmarkEval(b *testing.B) {
	vars := sample(b)
	for _, src := range []string{`result.a[0].b`, `result.n == 1 && user == "hi"`, `trajectory.all(c, !c.failed)`} {
		prog, err := newEnv(b, expr.That).Compile(src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := prog.Eval(vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLongLine checks that of a long line only the part around the mistake is
// shown, with the caret under it.
func TestLongLine(t *testing.T) {
	const msg = "no"
	x := strings.Repeat("é", 500)
	tests := []struct {
		name   string
		src    string
		offset int
		line   string
	}{
		{"at the beginning", x, 0, strings.Repeat("é", 30) + "…"},
		{"in the middle", x, 500, "…" + strings.Repeat("é", 80) + "…"},
		{"at the end", x, 1000, "…" + strings.Repeat("é", 50)},
		{"short", "a\nbc\nd", 3, "bc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Split((&expr.Error{Src: tt.src, Offset: tt.offset, Msg: msg}).Error(), "\n")
			if len(got) != 3 || strings.TrimSpace(got[1]) != tt.line {
				t.Errorf("shown is %q, want %q", got, tt.line)
			}
			under := len([]rune(got[2])) - 1
			if want := []rune(tt.src)[len([]rune(tt.src[:tt.offset])):]; len(want) > 0 && []rune(got[1])[under] != want[0] {
				t.Errorf("the caret is not under the mistake:\n%s\n%s", got[1], got[2])
			}
		})
	}
}
