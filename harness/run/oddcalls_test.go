// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestOddCalls records and replays replies whose calls have ids and names that
// the API does not take back, so that our agent sends others.
func TestOddCalls(t *testing.T) {
	const messages = `{"id":"m","type":"message","role":"assistant","model":"m","content":[CONTENT],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	const gemini = `{"candidates":[{"content":{"role":"model","parts":[CONTENT]},"finishReason":"STOP","index":0}]}`
	for _, tt := range []struct{ name, dialect, whole, call, done string }{
		{"Kimi's ids", "messages", messages, `{"type":"tool_use","id":"functions.get_weather:0","name":"get_weather","input":{"location":"Paris"}}`, `{"type":"text","text":"done"}`},
		{"ids of responses", "messages", messages, `{"type":"tool_use","id":"call_1|fc_2","name":"get_weather","input":{"location":"Paris"}}`, `{"type":"text","text":"done"}`},
		{"a name with a dot", "gemini", gemini, `{"functionCall":{"name":"default_api.get_weather","args":{"location":"Paris"}}}`, `{"text":"done"}`},
		{"a long name", "gemini", gemini, `{"functionCall":{"name":"` + strings.Repeat("n", 100) + `","args":{}}}`, `{"text":"done"}`},
		{"a number", "gemini", gemini, `{"functionCall":{"id":3,"name":"get_weather","args":{"location":"Paris"}}}`, `{"text":"done"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := write(t, "scenario: odd\nservers: {WEATHER}\nmodel: {stream: false}\nturns: [{user: Go, expect: [{answer: {equals: done}}]}]\n")
			endpoint := func() http.Handler {
				said := []string{tt.call, tt.done}
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, strings.Replace(tt.whole, "CONTENT", said[0], 1))
					said = said[1:]
				})
			}
			r := recording{list: list, endpoint: endpoint, opts: run.Options{Subject: agent.Subject(nil), Dialect: tt.dialect, APIKey: "secret"}}
			for _, rec := range []trials.Record{only(t, r.record(t)), only(t, r.replay(t, list))} {
				wants(t, rec, harness.OutcomePassed, "")
				for _, v := range rec.Verdicts {
					if v.State == trials.Warned {
						t.Errorf("mode %s: %s", rec.Mode, v.Message)
					}
				}
			}
		})
	}
}
