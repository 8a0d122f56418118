// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestRecordsItself: a test in mode replay records its own subject where the
// environment says so, its hints name that command, and a recording of another
// subject does not take the place of its.
func TestRecordsItself(t *testing.T) {
	list := write(t, liveScenario)
	file := list[0].Pos.File
	upstream := httptest.NewServer(callsThenSays("Paris", "21 degrees."))
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	variables := map[string]string{"REHEARSE_RECORD": "m", "OPENAI_BASE_URL": upstream.URL + "/v1", "OPENAI_API_KEY": "k-of-the-test"}
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeReplay, Transport: transport,
		LookupEnv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	}
	run.AllowLive(opts)
	played := func() string {
		var out strings.Builder
		run.RunTest(&fakeT{ctx: t.Context(), name: "TestMine", out: &out}, file, opts)
		return out.String()
	}
	if out := played(); !strings.HasPrefix(out, "--- PASS: TestMine/live") {
		t.Fatalf("recording: %s", out)
	}
	delete(variables, "REHEARSE_RECORD")
	opts.Transport = noNetwork(t)
	if out := played(); !strings.HasPrefix(out, "--- PASS: TestMine/live") {
		t.Fatalf("replay: %s", out)
	}

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "Paris?", "Paris now?", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	hint := "`REHEARSE_RECORD=m OPENAI_BASE_URL=" + upstream.URL + "/v1 go test -tags real_llm -run '^TestMine$/^live$' github.com/rehearse-dev/rehearse/harness/run`"
	if out := played(); !strings.Contains(out, "record it again: "+hint) || strings.Contains(out, "rehearse run") {
		t.Errorf("want %s in\n%s", hint, out)
	}
	variables["REHEARSE_RECORD"] = " , "
	if out := played(); !strings.Contains(out, "needs the name of a model") {
		t.Errorf("no model: %s", out)
	}
	variables["REHEARSE_RECORD"] = "m"
	delete(variables, "OPENAI_BASE_URL")
	if out := played(); !strings.Contains(out, "no endpoint is") {
		t.Errorf("no endpoint: %s", out)
	}

	cassette := filepath.Join(filepath.Dir(file), "cassettes", "s", "live.m.yaml")
	before, err := os.ReadFile(cassette)
	if err != nil {
		t.Fatal(err)
	}
	other := recording{list: load(t, file), endpoint: func() http.Handler { return callsThenSays("Paris", "21 degrees.") }, opts: run.Options{Subject: loop{}, SubjectName: "rehearse-agent", Entries: run.Models("m")}}
	wants(t, only(t, other.record(t)), harness.OutcomeError, trials.CauseEndpoint, `it records "subject", but this recording is of "rehearse-agent"; --force replaces it`)
	if after, _ := os.ReadFile(cassette); string(after) != string(before) {
		t.Error("the recording has changed")
	}
	wants(t, only(t, other.replay(t, load(t, file))), harness.OutcomeFailed, trials.CauseMiss, `record it again: the client "subject", whose recording it is`)
	other.opts.Force = true
	wants(t, only(t, other.record(t)), harness.OutcomePassed, "")
}

// TestRecordTwice: of two recordings of a trial at once one is refused, before
// it asks anybody.
func TestRecordTwice(t *testing.T) {
	list := write(t, liveScenario)
	asked := make(chan struct{})
	goOn := make(chan struct{})
	inner := callsThenSays("Paris", "21 degrees.")
	n := 0
	first := recording{list: list, opts: run.Options{Subject: loop{}}, endpoint: func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				close(asked)
				<-goOn
			}
			inner.ServeHTTP(w, r)
		})
	}}
	done := make(chan *run.Result)
	go func() { done <- first.record(t) }()
	<-asked
	second := recording{list: list, opts: run.Options{Subject: loop{}}, endpoint: func() http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the second asks the endpoint") })
	}}
	wants(t, only(t, second.record(t)), harness.OutcomeError, trials.CauseEndpoint, "is being recorded by another process")
	close(goOn)
	wants(t, only(t, <-done), harness.OutcomePassed, "")
}
