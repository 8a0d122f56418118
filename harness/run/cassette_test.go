// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// noCI hides the variable CI, with which nothing is recorded.
func noCI(string) (string, bool) { return "", false }

// recording is what a scenario is recorded with.
type recording struct {
	list     []*scenarios.Scenario
	endpoint func() http.Handler // for each run
	opts     run.Options
}

// record plays the scenarios against an endpoint that is gone afterwards.
func (r *recording) record(t *testing.T) *run.Result {
	t.Helper()
	upstream := httptest.NewServer(r.endpoint())
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := r.opts
	opts.Mode, opts.BaseURL, opts.Transport = harness.ModeRecord, upstream.URL+"/v1", transport
	if opts.LookupEnv == nil {
		opts.LookupEnv = noCI
	}
	if opts.Models == nil {
		opts.Models = []string{"argo:gpt-4.1"}
	}
	run.AllowLive(&opts)
	return play(t, r.list, opts)
}

// replay plays what was recorded, without a network.
func (r *recording) replay(t *testing.T, list []*scenarios.Scenario) *run.Result {
	t.Helper()
	opts := r.opts
	opts.Mode, opts.Transport = harness.ModeReplay, noNetwork(t)
	return play(t, list, opts)
}

func noNetwork(t *testing.T) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return nil, http.ErrServerClosed
	})
}

func only(t *testing.T, res *run.Result) trials.Record {
	t.Helper()
	if len(res.Records) != 1 {
		t.Fatalf("%d records, want 1", len(res.Records))
	}
	return res.Records[0]
}

func weatherEndpoint() http.Handler { return callsThenSays("Paris", "21 degrees.") }

func TestRecordAndReplay(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	want := filepath.Join(filepath.Dir(r.list[0].Pos.File), "cassettes", "s", "live.argo-gpt-4.1.yaml")
	if rec.Cassette != want || !rec.Written || rec.Recorded != 2 || len(rec.Warnings) > 0 {
		t.Errorf("cassette %q (written: %v, %d exchanges, warnings %q), want %q of 2", rec.Cassette, rec.Written, rec.Recorded, rec.Warnings, want)
	}
	if info, err := os.Stat(want); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	again := only(t, r.replay(t, r.list))
	wants(t, again, harness.OutcomePassed, "")
	if again.Cassette != want || again.Model != "argo:gpt-4.1" || again.Counts.ModelCalls != 2 || again.Counts.ToolCalls != 1 {
		t.Errorf("record %+v", again)
	}
	if diff := cmp.Diff(rec.Answers, again.Answers); diff != "" {
		t.Errorf("answers (-recorded +replayed):\n%s", diff)
	}
}

// TestReplayMiss holds that a changed prompt is told whole, and where to go
// from there.
func TestReplayMiss(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	r.record(t)
	file := r.list[0].Pos.File
	changed := strings.ReplaceAll(read(t, file), "Paris?", "And in Paris?")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := only(t, r.replay(t, load(t, file)))
	wants(t, rec, harness.OutcomeFailed, harness.CauseMiss,
		`recorded "Paris?", now "And in Paris?"`, "interaction 1", "rehearse run "+file+" --mode record --model argo:gpt-4.1", "2 later replies not reached")
	if rec.Cause.Pos.Line != r.list[0].Turns[0].Pos.Line {
		t.Errorf("the miss is at %s", rec.Cause.Pos)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
