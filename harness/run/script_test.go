// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
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
	wants(t, rec, harness.OutcomeError, harness.CauseScenario, "no_such_key")
	if rec.Cause.Pos.Line != 7 || strings.Contains(rec.Cause.Message, ".yaml") {
		t.Errorf("the cause stands at %s: %s", rec.Cause.Pos, rec.Cause.Message)
	}
	// The same error, but because the subject never asked the server.
	wants(t, one(t, list, run.Options{Subject: loop{skipsTool}}), harness.OutcomeFailed, harness.CauseConduct, "the server was never called")
}

// TestScriptErrorPlaces has each mistake of a script reported where it stands.
func TestScriptErrorPlaces(t *testing.T) {
	tests := []struct {
		name, servers, replies string
		line                   int
		message                string
	}{
		{"a tool that the server has not", "{WEATHER}", "- calls: [{weather.get_wether: {location: Paris}}]", 6, `turn 1, reply 1: server "weather" has no tool "get_wether" (did you mean "get_weather"?); it has get_weather, set_home`},
		{"a result", "{s: {tools: [{name: t, input: {type: object, properties: {}}, results: [{text: \"{{args.x}}\"}]}]}}", "- calls: [s.t]", 2, "answering s.t: text: evaluating `args.x`"},
		{"failed_when", "{s: {tools: [{name: t, input: {type: object, properties: {}}, failed_when: result.x > 1, results: [{json: {x: a}}]}]}}", "- calls: [s.t]", 2, "failed_when of s.t: "},
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
			wants(t, rec, harness.OutcomeError, harness.CauseScenario, tt.message)
			if rec.Cause.Pos.Line != tt.line || rec.Cause.Pos.Col == 1 {
				t.Errorf("the cause stands at %s, want line %d", rec.Cause.Pos, tt.line)
			}
		})
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
			wants(t, rec, harness.OutcomeError, harness.CauseScenario, "evaluating `int(request.model) > 1`")
			if rec.Cause.Pos.Line != 3 {
				t.Errorf("the cause stands at %s: %s", rec.Cause.Pos, rec.Cause.Message)
			}
		})
	}
}
