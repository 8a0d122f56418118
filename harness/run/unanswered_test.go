// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestUnansweredCalls: a call whose answer a fault keeps back has failed and has
// no result, for expectations and for templates; one whose answer comes in an odd
// form has not.
func TestUnansweredCalls(t *testing.T) {
	const scenario = `
scenario: s
subject: {tool_timeout: 400ms}
servers:
  lib: {transport: TRANSPORT, tools: [{name: get, input: {type: object}, results: [{json: {n: 1}, fault: {kind: FAULT}}]}]}
turns:
  - user: Go.
    replies: [{calls: [lib.get]}, {say: "The result is {{result}}."}]
    expect:
      - that: trajectory[0].executed && trajectory[0].failed == FAILED
      - that: results('lib.get') == [RESULT]
      - answer: {equals: 'The result is RESULT.'}
conduct: {results: off, cancelled_sent: off}
`
	const lost, came = "null", `{"n":1}`
	for _, transport := range []string{"stdio", "process", "http"} {
		kinds := map[string]string{
			"hang": lost, "late_reply": lost, "exit": lost, "truncate_frame": lost, "truncate_frame, form: exit": lost, "wrong_id": lost, "null_id, form: result": lost, "missing_id": lost, "delay": lost,
			"delay, delay: 300ms": came, "string_id": came, "junk_line": came, "crlf": came, "duplicate_reply": came, "unknown_content": came,
		}
		if transport == "http" {
			for _, kind := range []string{"http_status", "abort_connection", "abort_connection, form: body", "sse_end_without_reply", "wrong_content_type, form: html"} {
				kinds[kind] = lost
			}
			kinds["sse_retry"] = came
		} else {
			kinds["close_stdout"], kinds["no_final_newline"] = lost, came
		}
		for kind, want := range kinds {
			t.Run(transport+" "+kind, func(t *testing.T) {
				t.Parallel()
				failed := "false"
				if want == lost {
					failed = "true"
				}
				list := write(t, strings.NewReplacer("TRANSPORT", transport, "FAULT", kind, "FAILED", failed, "RESULT", want).Replace(scenario))
				rec := one(t, list, run.Options{Subject: agent.Subject(nil), Child: self()})
				wants(t, rec, harness.OutcomePassed, "")
			})
		}
	}
}
