// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestReadmeSettings: the subject of the README heeds the settings of a
// scenario, as the toolkit's own does, or says that it does not know them.
func TestReadmeSettings(t *testing.T) {
	const reply = "[{say: hello}]"
	for _, tt := range []struct {
		name, settings, replies, expect string
		cause                           string // of a trial that fails; "" passes
		refused                         string // by the README's
	}{
		{"system", "model: {system: Be brief.}\nasides: [{when: 'request.system != \"Be brief.\"', reply: {say: no system prompt}}]", reply, "answer: {equals: hello}", "", ""},
		{"stream", "model: {stream: true}\nasides: [{when: '!request.stream', reply: {say: no stream}}]", reply, "answer: {equals: hello}", "", ""},
		{"no stream", "model: {stream: false}\nasides: [{when: 'request.stream', reply: {say: a stream}}]", reply, "answer: {equals: hello}", "", ""},
		{"temperature", "model: {temperature: 0}\nasides: [{when: 'request.temperature > 0.001', reply: {say: another}}]", reply, "answer: {equals: hello}", "", ""},
		{"max_model_calls", "subject: {max_model_calls: 1}", "[{calls: [{weather.get_weather: {location: Paris}}]}]", "stops: model_calls", "", ""},
		{"token_limit", "subject: {token_limit: 1}", "[{calls: [{weather.get_weather: {location: Paris}}]}]", "stops: tokens", "", "token_limit"},
		{"time_limit", "subject: {time_limit: 1s}", "[{say: hello, fault: {kind: stall, delay: 20s}}]", "stops: time", "", "time_limit"},
		{"unknown", "subject: {colour: red}", reply, "answer: {equals: hello}", "colour", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := write(t, "\nscenario: s\nservers: {WEATHER}\n"+tt.settings+"\nturns: [{user: hi, replies: "+tt.replies+", expect: ["+"{"+tt.expect+"}]}]\n")
			for name, subject := range map[string]harness.Subject{"README": harness.SubjectFunc(open), "own": agent.Subject(nil)} {
				rec := one(t, list, run.Options{Subject: subject})
				cause := tt.cause
				if name == "README" && tt.refused != "" {
					cause = tt.refused
				}
				if cause != "" {
					wants(t, rec, harness.OutcomeFailed, trials.CauseSubject, cause)
				} else if rec.Outcome != harness.OutcomePassed {
					t.Errorf("%s: %s: %+v", name, rec.Outcome, rec.Cause)
				}
			}
		})
	}
}

// TestReadmeEmptyResult: the subject of the README gets over a tool that answers
// with an empty text, which its client cannot send.
func TestReadmeEmptyResult(t *testing.T) {
	list := write(t, `
scenario: s
servers: {notes: {tools: [{name: note, description: Takes a note., input: {type: object}, results: [{text: ""}]}]}}
turns: [{user: hi, replies: [{calls: [note]}, {say: hello}], expect: [{answer: {equals: hello}}]}]
`)
	if rec := one(t, list, run.Options{Subject: harness.SubjectFunc(open)}); rec.Outcome != harness.OutcomePassed {
		t.Errorf("%s: %+v", rec.Outcome, rec.Cause)
	}
}
