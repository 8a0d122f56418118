// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build real_llm

package run_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestErrorHasAPlace: an endpoint that fails is nowhere in the file, and the
// trial names its scenario.
func TestErrorHasAPlace(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	defer endpoint.Close()
	rec := one(t, write(t, `
scenario: asks
turns:
  - user: Hello.
    replies: [{say: Hello.}]
    expect: [{answer: {contains: Hello}}]
`), run.Options{Subject: agent.Subject(nil), Mode: harness.ModeLive, Entries: run.Models("m"), BaseURL: endpoint.URL + "/v1"})
	if rec.Outcome != harness.OutcomeError || rec.Cause.Pos.IsZero() {
		t.Errorf("%s, cause %+v", rec.Outcome, rec.Cause)
	}
}
