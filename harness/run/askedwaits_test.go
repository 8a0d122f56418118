// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestWaitsThatNobodyAsksFor has a proxy that hands on no Retry-After: the wait of
// the fault is not held against the subject.
func TestWaitsThatNobodyAsksFor(t *testing.T) {
	for _, tt := range []struct {
		profile, kind string
		want          harness.Outcome
	}{
		{"argo-proxy-3.1", "rate_limit", harness.OutcomeError},
		{"argo-proxy-3.1", "overloaded", harness.OutcomeError},
		{"openai", "rate_limit", harness.OutcomePassed},
	} {
		t.Run(tt.profile+" "+tt.kind, func(t *testing.T) {
			list := write(t, "scenario: waits\nmodel: {profile: "+tt.profile+"}\nturns:\n- user: Go\n  replies: [{say: ok, fault: {kind: "+tt.kind+", retry_after: 2s, times: 1}}]\n"+
				"  expect: [{answer: {equals: ok}}, {retries: {min: 1, max: 1, honoured: true}}]\n")
			rec := one(t, list, run.Options{Subject: agent.Subject(nil)})
			if rec.Outcome != tt.want {
				t.Errorf("%s, want %s: %v", rec.Outcome, tt.want, rec.Verdicts)
			}
		})
	}
}

// TestRetryDelay has Google's way to ask for a wait, which our agent keeps to: so
// do the verdicts.
func TestRetryDelay(t *testing.T) {
	const limited = `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.001s"}]}}`
	list := write(t, "scenario: waits\ncassette: {keep_errors: true}\nmodel: {stream: false}\nturns: [{user: Go, expect: [{answer: {equals: ok}}, {retries: {min: 1, honoured: true}}]}]\n")
	endpoint := func() http.Handler {
		asked := false
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if !asked {
				asked = true
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, limited)
				return
			}
			_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP","index":0}]}`)
		})
	}
	r := recording{list: list, endpoint: endpoint, opts: run.Options{Subject: agent.Subject(nil), Dialect: "gemini", APIKey: "secret"}}
	for _, rec := range []trials.Record{only(t, r.live(t)), only(t, r.record(t)), only(t, r.replay(t, list))} {
		wants(t, rec, harness.OutcomePassed, "")
	}
}
