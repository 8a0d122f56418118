// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/mockllm"
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
	return r.against(t, harness.ModeRecord)
}

// against plays them against such an endpoint in a mode.
func (r *recording) against(t *testing.T, mode harness.Mode) *run.Result {
	t.Helper()
	upstream := httptest.NewServer(r.endpoint())
	defer upstream.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	opts := r.opts
	opts.Mode, opts.BaseURL, opts.Transport = mode, upstream.URL+"/v1", transport
	if opts.LookupEnv == nil {
		opts.LookupEnv = noCI
	}
	if opts.Entries == nil {
		opts.Entries = run.Models("argo:gpt-4.1")
	}
	run.AllowLive(&opts)
	run.Patient(&opts)
	return play(t, r.list, opts)
}

// patientAgent is our agent with as much patience as [run.Patient].
type patientAgent struct{}

func (patientAgent) Open(ctx context.Context, env *harness.Env) (harness.Session, error) {
	patient := *env
	patient.Settings.Extra = map[string]any{"discover_timeout": "1m"}
	return agent.Subject(nil).Open(ctx, &patient)
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
	edit(t, file, "Paris?", "And in Paris?")
	rec := only(t, r.replay(t, load(t, file)))
	wants(t, rec, harness.OutcomeFailed, trials.CauseMiss,
		`recorded "Paris?", now "And in Paris?"`, "interaction 1", "rehearse run "+file+" --mode record --model argo:gpt-4.1", "2 replies not reached")
	if rec.Cause.Pos.Line != r.list[0].Turns[0].Pos.Line {
		t.Errorf("the miss is at %s", rec.Cause.Pos)
	}
}

// TestReplayUnused holds that a recorded exchange that is not asked for fails
// the trial, by its name and place, unless the scenario allows it.
func TestReplayUnused(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		want           harness.Outcome
	}{
		{"fails", "", harness.OutcomeFailed},
		{"is allowed", "cassette: {allow_unused: true}\n", harness.OutcomePassed},
		{"is conduct", "conduct: {all_replies_reached: off}\n", harness.OutcomePassed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := recording{list: write(t, "scenario: two\n"+tt.settings+`turns:
  - user: one?
    expect: [{answer: {contains: first}}]
  - user: two?
`), endpoint: func() http.Handler {
				return newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "first"}, {Say: "second"}}}, nil)
			}}
			rec := only(t, r.record(t))
			wants(t, rec, harness.OutcomePassed, "")
			file := r.list[0].Pos.File
			edit(t, file, "  - user: two?\n", "")
			again := only(t, r.replay(t, load(t, file)))
			if tt.want == harness.OutcomePassed {
				wants(t, again, tt.want, "")
				return
			}
			wants(t, again, tt.want, trials.CauseConduct, "all_replies_reached: 1 recorded exchange not asked for: interaction 2 (line ")
			if again.Cause.Pos.File != rec.Cassette || again.Cause.Pos.Line == 0 {
				t.Errorf("the cause is at %s, want a line of %s", again.Cause.Pos, rec.Cassette)
			}
		})
	}
}

// TestReplayNotRecorded holds that a scenario without a cassette is an error
// that says how to make it; where no scenario has one, nothing is played.
func TestReplayNotRecorded(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	other := write(t, strings.Replace(liveScenario, "live", "other", 1))
	opts := &run.Options{Subject: loop{}, Mode: harness.ModeReplay}
	how := func(s *scenarios.Scenario, model string) string {
		return "record it with `rehearse run " + s.Pos.File + " --mode record --model " + model + "`"
	}
	if _, err := run.Run(t.Context(), r.list, opts); err == nil || !strings.Contains(err.Error(), how(r.list[0], "MODEL")) {
		t.Errorf("error %v, want one that says %s", err, how(r.list[0], "MODEL"))
	}
	r.record(t)
	res := r.replay(t, append(r.list, other...))
	if len(res.Records) != 2 || res.ExitCode() != 3 {
		t.Fatalf("%d records, exit code %d", len(res.Records), res.ExitCode())
	}
	for _, rec := range res.Records {
		if rec.Scenario == "live" {
			wants(t, rec, harness.OutcomePassed, "")
		} else {
			wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, how(other[0], "MODEL"))
		}
	}
	r.opts.Entries = run.Models("argo:o3")
	opts.Entries = r.opts.Entries
	if _, err := run.Run(t.Context(), r.list, opts); err == nil || !strings.Contains(err.Error(), how(r.list[0], "argo:o3")) {
		t.Errorf("error %v, want one that says %s", err, how(r.list[0], "argo:o3"))
	}
}

// TestReplayInTest replays in a Go test, without the build tag of live mode.
func TestReplayInTest(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	r.record(t)
	run.Test(t, r.list[0].Pos.File, &run.Options{Subject: loop{}, Mode: harness.ModeReplay, Transport: noNetwork(t)})
}

// TestRecordSeveral records models and trials, two at a time, in a folder of
// its own, and replays all of them, or those that were asked for.
func TestRecordSeveral(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tapes [of *] mine?")
	r := recording{list: write(t, liveScenario), opts: run.Options{Cassettes: dir, Parallel: 2, Trials: 2}, endpoint: func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			endpoint := newMock(mockllm.Script{Rules: []mockllm.Rule{{
				When:  func(*mockllm.Ask) (bool, error) { return bytes.Contains(body, []byte(`"role":"tool"`)), nil },
				Reply: mockllm.Reply{Say: "21 degrees."},
			}, {
				When:  func(*mockllm.Ask) (bool, error) { return true, nil },
				Reply: mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
			}}}, nil)
			defer endpoint.Close()
			endpoint.ServeHTTP(w, r)
		})
	}}
	r.opts.Entries = run.Models("argo:gpt-4.1", "argo:gpt-4.1-2", "argo:gpt-4.1")
	var files []string
	for _, rec := range r.record(t).Records {
		wants(t, rec, harness.OutcomePassed, "")
		files = append(files, filepath.Base(rec.Cassette))
	}
	slices.Sort(files)
	want := []string{"live.argo-gpt-4.1+2.yaml", "live.argo-gpt-4.1-2+2.yaml", "live.argo-gpt-4.1-2.yaml", "live.argo-gpt-4.1.yaml"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name   string
		models []string
		trials int
		want   []string
	}{
		{"all", nil, 0, []string{"argo:gpt-4.1 1", "argo:gpt-4.1 2", "argo:gpt-4.1-2 1", "argo:gpt-4.1-2 2"}},
		{"one model", []string{"argo:gpt-4.1-2"}, 0, []string{"argo:gpt-4.1-2 1", "argo:gpt-4.1-2 2"}},
		{"one trial", nil, 1, []string{"argo:gpt-4.1 1", "argo:gpt-4.1-2 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.opts.Entries, r.opts.Trials = run.Models(tt.models...), tt.trials
			var got []string
			for _, rec := range r.replay(t, r.list).Records {
				wants(t, rec, harness.OutcomePassed, "")
				got = append(got, fmt.Sprintf("%s %d", rec.Model, rec.Attempt))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("trials (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecordedExample holds that what the example replays is what is recorded
// today; -update records it anew.
func TestRecordedExample(t *testing.T) {
	r := recording{list: load(t, "testdata/recorded"), endpoint: weatherEndpoint, opts: run.Options{Subject: agent.Subject(nil), Cassettes: t.TempDir()}}
	if *update {
		r.opts.Cassettes = ""
	}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	want, err := vcr.Read("testdata/recorded/cassettes/paris/paris.argo-gpt-4.1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := vcr.Read(rec.Cassette)
	if err != nil {
		t.Fatal(err)
	}
	if !cassettes.Same(want.Interactions, got.Interactions) {
		t.Errorf("%s says something else than %s", want.Path, got.Path)
	}
}

// TestHowToRecord holds that the command for a further trial, of a file whose
// name a shell would take apart, does what it says.
func TestHowToRecord(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	r.record(t)
	file := filepath.Join(t.TempDir(), "it's mine", "s.yaml")
	if err := os.CopyFS(filepath.Dir(file), os.DirFS(filepath.Dir(r.list[0].Pos.File))); err != nil {
		t.Fatal(err)
	}
	r.opts.Trials = 2
	res := r.replay(t, load(t, file))
	want := "`rehearse run '" + strings.ReplaceAll(file, "'", `'\''`) + "' --mode record --model argo:gpt-4.1 --trials 2`"
	for _, rec := range res.Records {
		if rec.Attempt == 1 {
			wants(t, rec, harness.OutcomePassed, "")
		} else {
			wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, want)
		}
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

// edit replaces a text in a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text := read(t, path)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newMock is a mock model without a socket. Scripts of tests are right.
func newMock(script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	m, err := mockllm.New(script, opts)
	if err != nil {
		panic(err)
	}
	return m
}
