// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func TestScriptErrorIsAnError(t *testing.T) {
	list := write(t, `
scenario: broken script
servers: {WEATHER}
turns:
  - user: hi
    replies:
      - calls: [{weather.get_weather: {location: Paris}}]
      - say: "{{result.no_such_key}}"
    expect: [{answer: {contains: [x]}}]
`)
	rec := one(t, list, run.Options{})
	wants(t, rec, harness.OutcomeError, trials.CauseScenario, "no_such_key")
	if rec.Cause.Pos.Line != 7 || strings.Contains(rec.Cause.Message, ".yaml") {
		t.Errorf("the cause stands at %s: %s", rec.Cause.Pos, rec.Cause.Message)
	}
	// The same error, but because the subject never asked the server.
	wants(t, one(t, list, run.Options{Subject: loop{skipsTool}}), harness.OutcomeFailed, trials.CauseConduct, "the server was never called")
}

// TestScriptErrorPlaces has each mistake of a script reported where it stands.
func TestScriptErrorPlaces(t *testing.T) {
	tests := []struct {
		name, servers, replies string
		line                   int
		message, about         string
	}{
		{"a tool that the server has not", "{WEATHER}", "- calls: [{weather.get_wether: {location: Paris}}]", 6, `turn 1, reply 1: server "weather" has no tool "get_wether" (did you mean "get_weather"?); it has get_weather, set_home`, "weather.get_wether"},
		{"a result", "{s: {tools: [{name: t, input: {type: object, properties: {}}, results: [{text: \"{{args.x}}\"}]}]}}", "- calls: [s.t]", 2, "answering s.t: text: evaluating `args.x`", "s.t"},
		{"failed_when", "{s: {tools: [{name: t, input: {type: object, properties: {}}, failed_when: result.x > 1, results: [{json: {x: a}}]}]}}", "- calls: [s.t]", 2, "failed_when of s.t: ", "s.t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := write(t, `
scenario: a mistake
servers: `+tt.servers+`
turns:
  - user: hi
    replies:
      `+tt.replies+`
      - say: done
    expect: [{answer: {contains: done}}]
`)
			rec := one(t, list, run.Options{})
			wants(t, rec, harness.OutcomeError, trials.CauseScenario, tt.message)
			if rec.Cause.Pos.Line != tt.line || rec.Cause.Pos.Col == 1 {
				t.Errorf("the cause stands at %s, want line %d", rec.Cause.Pos, tt.line)
			}
			if !slices.Equal(rec.Cause.Tools, []string{tt.about}) {
				t.Errorf("the cause is about %q, want %q", rec.Cause.Tools, tt.about)
			}
		})
	}
}

// TestServerErrorComesFirst: the error of a server is told before that of the
// reply which reads its result, both with their places. The reply that failed is
// none of those that were not reached.
func TestServerErrorComesFirst(t *testing.T) {
	list := write(t, `
scenario: a mistake
servers: {s: {tools: [{name: t, input: {type: object, properties: {a: {type: integer}}}, results: [{json: {x: {$cel: args.b}}}]}]}}
turns:
  - user: hi
    replies:
      - calls: [{s.t: {a: 1}}]
      - calls: [{s.t: {a: "{{result.x}}"}}]
      - say: more
    expect: [{answer: {contains: done}}]
`)
	rec := one(t, list, run.Options{})
	wants(t, rec, harness.OutcomeError, trials.CauseScenario, "answering s.t: json: x: evaluating `args.b`")
	folded := foldedText(rec.Cause)
	for _, want := range []string{":7:9: turn 1, reply 2", "1 reply not reached"} {
		if !strings.Contains(folded, want) {
			t.Errorf("folded is\n%s\nwant %s in it", folded, want)
		}
	}
	if rec.Cause.Pos.Line != 2 {
		t.Errorf("the cause stands at %s", rec.Cause.Pos)
	}
}

// TestConditionErrorPlaces is the same for conditions.
func TestConditionErrorPlaces(t *testing.T) {
	for name, script := range map[string]string{
		"fault": "model: {faults: [\n  {kind: gzip, when: int(request.model) > 1}]}\nrules: []\n",
		"rule":  "asides:\n  - {when: int(request.model) > 1, reply: {say: x}}\nrules: []\n",
		"lane":  "lanes:\n  - {lane: x, when: int(request.model) > 1, replies: [{say: x}]}\nrules: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			list := write(t, "scenario: a condition\n"+script+"turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {equals: hello}}]}]\n")
			rec := one(t, list, run.Options{})
			wants(t, rec, harness.OutcomeError, trials.CauseScenario, "evaluating `int(request.model) > 1`")
			if rec.Cause.Pos.Line != 3 {
				t.Errorf("the cause stands at %s: %s", rec.Cause.Pos, rec.Cause.Message)
			}
		})
	}
}

// TestServerErrorPlace: an error of a server's expression names the line of the
// expression, not that of its result.
func TestServerErrorPlace(t *testing.T) {
	for name, tt := range map[string]struct{ result, at string }{
		"$cel":      {"when: has(args.b)\n            json:\n              list: [1]\n              deep: {a: {$cel: 'state.none'}}", "s.yaml:12:32: "},
		"a text":    {"when: has(args.b)\n            text: 'x {{state.none}}'", "s.yaml:10:19: "},
		"set":       {"json: {a: 1}\n            set:\n              n: {$cel: state.none + 1}", "s.yaml:11:25: "},
		"rpc_error": {"rpc_error:\n              code: -1\n              message: '{{state.none}}'", "s.yaml:11:24: "},
	} {
		t.Run(name, func(t *testing.T) {
			list := write(t, "scenario: place\nservers:\n  w:\n    state: {n: 1}\n    tools:\n      - name: t\n        input: {type: object, properties: {b: {type: integer}}}\n        results:\n          - "+tt.result+
				"\nturns:\n  - user: hi\n    replies:\n      - calls: [{w.t: {b: 1}}]\n      - say: ok\n    expect: [calls: [w.t]]\n")
			rec := one(t, list, run.Options{})
			if rec.Cause == nil || rec.Cause.Kind != trials.CauseScenario || !strings.HasSuffix(rec.Cause.Pos.String()+": ", tt.at) || strings.Contains(rec.Cause.Message, "s.yaml") {
				t.Errorf("%s, cause %+v, want it at %s", rec.Outcome, rec.Cause, tt.at)
			}
		})
	}
}
