// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// load writes files (name, text, name, text, ...) to a folder and loads it.
func load(t *testing.T, files ...string) *scenarios.Set {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set, err := scenarios.Load([]string{dir}, noEnv())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPrintedExample reads the example of the design field by field.
func TestPrintedExample(t *testing.T) {
	set, err := scenarios.Load([]string{"testdata/spec/build-and-gapfill.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := set.Scenarios[0]
	zero := 0.0
	if diff := cmp.Diff(harness.Settings{System: "You build metabolic models with the tools you are given.", Temperature: &zero, Stream: true}, s.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(scenarios.Limits{ToolCalls: 10, ModelCalls: 10, Time: time.Minute, Tokens: 40000}, s.Limits, cmpopts.IgnoreFields(scenarios.Limits{}, "Pos")); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if !s.Critical || s.LiveTrials != 5 || s.Profile != "openai" || cmp.Diff([]string{"gemflux", "multi-turn"}, s.Tags) != "" {
		t.Errorf("critical %v, trials %d, profile %q, tags %q", s.Critical, s.LiveTrials, s.Profile, s.Tags)
	}
	if got := s.Turns[1].User; got != "Now gapfill it on minimal media" || len(s.Turns[0].Expect) != 3 || len(s.Turns[1].Expect) != 2 || len(s.Expect) != 2 {
		t.Errorf("turn 2 is %q; expectations %d, %d, %d", got, len(s.Turns[0].Expect), len(s.Turns[1].Expect), len(s.Expect))
	}
	calls, ok := s.Turns[1].Expect[0].(score.Calls)
	if !ok || calls.AnyOrder || !calls.AllowExtra || calls.AllowMissing || calls.List[0].String() == "" {
		t.Errorf("first expectation of turn 2: %+v", s.Turns[1].Expect[0])
	}
	if got := calls.Pos.String(); got != "testdata/spec/build-and-gapfill.yaml:35:9" {
		t.Errorf("it stands at %s", got)
	}
}

// TestReplies plays the replies of the printed example by hand.
func TestReplies(t *testing.T) {
	set, err := scenarios.Load([]string{"testdata/spec/build-and-gapfill.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	script := set.Scenarios[0].ModelScript()
	first, second := script.Turns[0].Replies, script.Turns[1].Replies
	if first[0].Func != nil || string(first[0].Calls[0].Args.(json.RawMessage)) != `{"genome_id":"83333.1"}` {
		t.Errorf("a literal reply: %+v", first[0])
	}
	built := []harness.Call{{Server: "gemflux", Tool: "build_model", Result: json.RawMessage(`{"model_id":"ecoli_83333.1.gf","num_reactions":1478.0}`)}}
	said, err := first[1].Func(&mockllm.Ask{Turn: 1, Calls: built})
	if err != nil || said.Say != "Built ecoli_83333.1.gf with 1478.0 reactions." {
		t.Errorf("said %q, %v", said.Say, err)
	}
	said, err = second[0].Func(&mockllm.Ask{Turn: 2, Calls: built})
	if err != nil || string(said.Calls[0].Args.(json.RawMessage)) != `{"model_id":"ecoli_83333.1.gf","media_id":"minimal"}` {
		t.Errorf("called %+v, %v", said.Calls, err)
	}
	want := []mockllm.Fault{{Kind: mockllm.RateLimit, RetryAfter: time.Second, Times: 1, Pos: second[0].Faults[0].Pos}}
	if diff := cmp.Diff(want, second[0].Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	_, err = first[1].Func(&mockllm.Ask{Turn: 1, Calls: []harness.Call{{Server: "gemflux", Tool: "build_model", Result: json.RawMessage(`{"ok":1}`)}}})
	if err == nil || !strings.HasPrefix(err.Error(), "testdata/spec/build-and-gapfill.yaml:22:9: say: ") {
		t.Errorf("a missing key: %v", err)
	}
	if tools := script.Servers["gemflux"]; len(tools) != 3 || tools[1].Name != "gapfill_model" {
		t.Errorf("tools of the script: %+v", tools)
	}
}

// TestServer plays the printed server by hand: match, answer, set, failed_when.
func TestServer(t *testing.T) {
	set, err := scenarios.Load([]string{"testdata/spec/gemflux.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	script := set.Servers[0].Mock
	if script.Name != "gemflux" || string(script.State) != `{"models":{}}` || len(script.Tools) != 3 {
		t.Fatalf("script: %+v", script)
	}
	build, gapfill := script.Tools[0], script.Tools[1]
	good := &mockmcp.Call{Tool: "build_model", Args: json.RawMessage(`{"genome_id":"83333.1"}`), State: script.State}
	if ok, why, err := build.Results[0].Match(good); !ok || err != nil {
		t.Errorf("match: %v, %s, %v", ok, why, err)
	}
	bad := &mockmcp.Call{Tool: "build_model", Args: json.RawMessage(`{"genome_id":"x"}`), State: script.State}
	if ok, why, err := build.Results[0].Match(bad); ok || err != nil || !strings.HasPrefix(why, "args.genome_id: $regex") {
		t.Errorf("match: %v, %s, %v", ok, why, err)
	}
	answer, err := build.Results[0].Answer(good)
	if want := `{"success":true,"model_id":"ecoli_83333.1.gf","num_reactions":1478}`; err != nil || string(answer.JSON) != want {
		t.Errorf("answer %s, %v", answer.JSON, err)
	}
	patch, err := build.Results[0].Set(good, answer.JSON)
	if want := `{"models":{"ecoli_83333.1.gf":{"gapfilled":false}}}`; err != nil || string(patch) != want {
		t.Errorf("set %s, %v", patch, err)
	}
	answer, err = build.Results[1].Answer(bad)
	if err != nil || !answer.IsError || answer.Text != "unknown genome x" {
		t.Errorf("error answer %+v, %v", answer, err)
	}
	call := &mockmcp.Call{Tool: "gapfill_model", Args: json.RawMessage(`{"model_id":"a","media_id":"m"}`), State: patch}
	if ok, _, err := gapfill.Results[0].Match(call); ok || err != nil {
		t.Errorf("an unknown model matches: %v, %v", ok, err)
	}
	for _, tt := range []struct {
		result string
		want   bool
	}{{`{"success":false}`, true}, {`{"success":true}`, false}, {`{}`, false}, {`"text"`, false}} {
		if failed, err := script.FailedWhen(call, json.RawMessage(tt.result)); failed != tt.want || err != nil {
			t.Errorf("failed_when of %s: %v, %v", tt.result, failed, err)
		}
	}
}

func TestLLM(t *testing.T) {
	set, err := scenarios.Load([]string{"testdata/spec/weather.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := set.LLMs[0]
	title := &mockllm.Ask{Request: harness.Request{Messages: []harness.Message{{Role: harness.RoleSystem, Text: "Give it a title."}}}}
	ping := &mockllm.Ask{Request: harness.Request{Messages: []harness.Message{{Role: harness.RoleUser, Text: "ping!"}}}}
	for _, tt := range []struct {
		name string
		rule mockllm.Rule
		ask  *mockllm.Ask
		want bool
	}{
		{"title", m.Script.Asides[0], title, true},
		{"no title", m.Script.Asides[0], ping, false},
		{"ping", m.Script.Rules[0], ping, true},
		{"no ping", m.Script.Rules[0], title, false},
	} {
		if got, err := tt.rule.When(tt.ask); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
	if m.Name != "weather" || m.Script.Rules[0].Reply.Say != "pong" || m.Script.Turns[0].Replies[0].Calls[0].Tool != "get_weather" {
		t.Errorf("script: %+v", m.Script)
	}
	newMock(t, m.Script, nil).Close()
}

func TestCases(t *testing.T) {
	set := load(t, "s.yaml", `scenario: look-up
servers:
  shop:
    state: {}
    tools:
      - name: find
        results: [{json: {id: "{{vars.id}}", n: {$cel: vars.n}}}]
cases:
  - {name: a, vars: {id: x1, n: 1.10}}
  - {name: b, vars: {id: x2, n: 2}}
turns:
  - user: "Find {{vars.id}} in turn {{turn}}."
    replies: [{calls: [{shop.find: {id: "{{vars.id}}"}}]}, {say: "{{user}}"}]
    expect: [{calls: [shop.find]}]
`)
	if len(set.Scenarios) != 2 {
		t.Fatalf("%d scenarios", len(set.Scenarios))
	}
	a, b := set.Scenarios[0], set.Scenarios[1]
	if a.Name != "look-up/a" || b.Case != "b" || a.Turns[0].User != "Find x1 in turn 1." || b.Turns[0].User != "Find x2 in turn 1." || a.Hash == b.Hash {
		t.Errorf("cases: %+v, %+v", a, b)
	}
	answer, err := a.Servers[0].Mock.Tools[0].Results[0].Answer(&mockmcp.Call{Tool: "find"})
	if err != nil || string(answer.JSON) != `{"id":"x1","n":1.10}` {
		t.Errorf("answer of case a: %+v, %v", answer, err)
	}
	said, err := b.ModelScript().Turns[0].Replies[1].Func(&mockllm.Ask{User: "Find x2 in turn 1.", Turn: 1})
	if err != nil || said.Say != b.Turns[0].User {
		t.Errorf("said %q, %v", said.Say, err)
	}
}

func TestSuiteDefaults(t *testing.T) {
	set := load(t,
		"suite.yaml", `suite: shop
model: {system: Be brief., temperature: 0}
servers:
  shop: {mock: shop.yaml, required: false}
  live: {command: [run, "${HOME}", "${rehearse.workdir}/x"], env: {A: "${B:-c}"}, failed_when: result.ok == false}
limits: {time: 60s, tool_calls: 5}
subject: {max_model_calls: 3, style: {a: 1}}
expect: [{never: [shop.drop]}]
`,
		"shop.yaml", "server: shop\ntools: [{name: drop, results: [{text: gone}]}]\n",
		"s.yaml", `scenario: s
model: {temperature: 0.5}
limits: {tool_calls: 1}
servers: {live: {url: "http://127.0.0.1:1/mcp", headers: {Authorization: "Bearer ${HOME}"}}}
turns: [{user: hi, replies: [{say: ok}]}]
expect: [{answer: {equals: ok}}]
`)
	s := set.Scenarios[0]
	half := 0.5
	want := harness.Settings{System: "Be brief.", Temperature: &half, MaxModelCalls: 3, Extra: map[string]any{"style": map[string]any{"a": 1.0}}}
	if diff := cmp.Diff(want, s.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(scenarios.Limits{Time: time.Minute, ToolCalls: 1}, s.Limits, cmpopts.IgnoreFields(scenarios.Limits{}, "Pos")); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	// Each limit stands where it was set last.
	time, toolCalls := s.Limits.Pos["time"], s.Limits.Pos["tool_calls"]
	if filepath.Base(time.File) != "suite.yaml" || time.Line != 6 || filepath.Base(toolCalls.File) != "s.yaml" || toolCalls.Line != 3 {
		t.Errorf("the limits stand at %s and %s", time, toolCalls)
	}
	if _, first := s.Expect[0].(score.Never); len(s.Expect) != 2 || !first {
		t.Errorf("expectations: %+v", s.Expect)
	}
	shop, live := s.Servers[0], s.Servers[1]
	if shop.Name != "shop" || shop.Mock == nil || shop.Required {
		t.Errorf("shop: %+v", shop)
	}
	wantLive := harness.Server{Name: "live", URL: "http://127.0.0.1:1/mcp", Transport: "http", Headers: map[string]string{"Authorization": "Bearer /home/me"}}
	if diff := cmp.Diff(wantLive, live.Real("/w")); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	if failed, err := live.FailedWhen(&mockmcp.Call{}, json.RawMessage(`{"ok":false}`)); !failed || err != nil {
		t.Errorf("failed_when: %v, %v", failed, err)
	}
}

func TestRealCommand(t *testing.T) {
	set := load(t, "s.yaml", `scenario: s
servers:
  files: {command: [run, "${rehearse.workdir}/x", "$${HOME}", "a${NOPE:-}b"], env: {DIR: "${rehearse.workdir}", PRICE: "5$"}}
turns: [{user: hi}]
expect: [{calls: []}]
`)
	want := harness.Server{Name: "files", Command: []string{"run", "/w/x", "${HOME}", "ab"}, Env: []string{"DIR=/w", "PRICE=5$"}}
	if diff := cmp.Diff(want, set.Scenarios[0].Servers[0].Real("/w")); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
}

// TestEmptyVariable: a variable that is set to nothing is set, whatever the
// default.
func TestEmptyVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := "scenario: s\nservers:\n  files: {command: [run, \"a${EMPTY:-default}b\", \"a${UNSET:-default}b\", \"a${EMPTY}b\"]}\nturns: [{user: hi}]\nexpect: [{calls: []}]\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := scenarios.Load([]string{path}, &scenarios.Options{LookupEnv: func(name string) (string, bool) { return "", name == "EMPTY" }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"run", "ab", "adefaultb", "ab"}, set.Scenarios[0].Servers[0].Real("/w").Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

// TestNamed has the difference between a file that was asked for and one that
// merely lies in a folder.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "compose.yaml")
	if err := os.WriteFile(path, []byte("services: {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := scenarios.Load([]string{path, filepath.Join(dir, "gone.yaml")}, nil)
	want := path + ":1:1: its first key is \"services\"; a rehearse file begins with one of the keys scenario, server, llm, suite\n" +
		filepath.Join(dir, "gone.yaml") + ": no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

// TestMockAcceptsScripts gives every shipped server to the mock itself.
func TestMockAcceptsScripts(t *testing.T) {
	set, err := scenarios.Load([]string{"suites", "testdata/spec"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set.Scenarios {
		newMock(t, s.ModelScript(), nil).Close()
		for _, server := range s.Servers {
			m, err := mockmcp.New(*server.Mock, nil)
			if err != nil {
				t.Errorf("%s: %s: %v", s.Name, server.Name, err)
				continue
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestScriptErrors has what the mocks are told of expressions that fail: the
// key, and no place, which stands beside the message already.
func TestScriptErrors(t *testing.T) {
	set := load(t, "shop.yaml", `server: shop
tools:
  - name: a
    results: [{error: "{{args.x}}"}]
  - name: b
    results: [{text: "{{args.x}}"}]
  - name: c
    results: [{when: args.x + 1 == 2, text: x}]
  - name: d
    results: [{text: x, set: {x: "{{args.x}}"}}]
`)
	tools := set.Servers[0].Mock.Tools
	call := &mockmcp.Call{Args: json.RawMessage(`{"y":1}`)}
	missing := "evaluating `args.x`: args has no key \"x\": it is {\"y\":1}"
	if _, err := tools[0].Results[0].Answer(call); err == nil || err.Error() != "error: "+missing {
		t.Errorf("error: %v", err)
	}
	if _, err := tools[1].Results[0].Answer(call); err == nil || err.Error() != "text: "+missing {
		t.Errorf("text: %v", err)
	}
	call.Args = json.RawMessage(`{"x":"a"}`)
	if _, _, err := tools[2].Results[0].Match(call); err == nil || !strings.HasPrefix(err.Error(), "when: evaluating `args.x + 1 == 2`") {
		t.Errorf("when: %v", err)
	}
	call.Args = json.RawMessage(`{"y":1}`)
	if _, err := tools[3].Results[0].Set(call, nil); err == nil || err.Error() != "set: x: "+missing {
		t.Errorf("set: %v", err)
	}
}
