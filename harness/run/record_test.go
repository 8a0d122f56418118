// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// files are the contents of all files below a folder, by their paths.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			out[path] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRecordInCI holds that nothing is recorded, played or asked where CI is
// set.
func TestRecordInCI(t *testing.T) {
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeRecord, BaseURL: "http://127.0.0.1:1/v1", Entries: run.Models("m"), Transport: noNetwork(t),
		LookupEnv: func(name string) (string, bool) { return "true", name == "CI" },
	}
	run.AllowLive(opts)
	list := write(t, liveScenario)
	if _, err := run.Run(t.Context(), list, opts); err == nil || !strings.Contains(err.Error(), "CI is set") {
		t.Errorf("error %v, want one that names CI", err)
	}
	if left := files(t, filepath.Dir(list[0].Pos.File)); len(left) != 1 {
		t.Errorf("files %v", left)
	}
}

// TestRecordOverGood holds that a good recording stays where the next one
// comes to nothing.
func TestRecordOverGood(t *testing.T) {
	for _, tt := range []struct {
		name     string
		endpoint http.HandlerFunc
		subject  harness.Subject
		want     harness.Outcome
		why      string
	}{
		{name: "endpoint down", endpoint: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: harness.OutcomeError, why: "the trial could not be judged"},
		{name: "server error", endpoint: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, want: harness.OutcomeError, why: "the trial could not be judged"},
		{name: "subject breaks", subject: loop{breaks}, want: harness.OutcomeFailed, why: "the conversation broke off"},
		{name: "subject panics", subject: loop{panics}, want: harness.OutcomeFailed, why: "the conversation broke off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
			good := only(t, r.record(t))
			before := files(t, filepath.Dir(good.Cassette))
			if tt.endpoint != nil {
				r.endpoint = func() http.Handler { return tt.endpoint }
			}
			r.opts.Subject = tt.subject
			rec := only(t, r.record(t))
			if rec.Outcome != tt.want || rec.Cassette != "" || rec.Written || len(rec.Warnings) != 1 ||
				!strings.HasPrefix(rec.Warnings[0], "nothing was recorded in ") || !strings.HasSuffix(rec.Warnings[0], "the existing recording stays: "+tt.why) {
				t.Errorf("%s, cassette %q, warnings %q", rec.Outcome, rec.Cassette, rec.Warnings)
			}
			same(t, before, files(t, filepath.Dir(good.Cassette)))
			r.opts.Subject = nil
			wants(t, only(t, r.replay(t, r.list)), harness.OutcomePassed, "")
		})
	}
}

func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is now\n%s", name, got[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d: %v", len(got), len(want), got)
	}
}

// TestRecordInterrupted holds that the trials that ended are kept, and that
// nothing is left of the one under way.
func TestRecordInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	asked := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 2 {
			_, _ = io.Copy(io.Discard, r.Body) // else nobody sees that the client is gone
			interrupt()
			<-r.Context().Done()
			return
		}
		newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil).ServeHTTP(w, r)
	}))
	defer upstream.Close()
	list := write(t, "scenario: s\nturns: [{user: hi, expect: [{answer: {contains: hello}}]}]\n")
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeRecord, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Trials: 3, LookupEnv: noCI,
	}
	run.AllowLive(opts)
	res, err := run.Run(ctx, list, opts)
	if err != nil || len(res.Records) != 1 || !res.Manifest.Interrupted {
		t.Fatalf("%d records, %v", len(res.Records), err)
	}
	dir := filepath.Dir(res.Records[0].Cassette)
	if left := files(t, dir); len(left) != 1 || left[filepath.Join(dir, "s.m.yaml")] == "" {
		t.Errorf("files %v", left)
	}
}

// TestRecordSecrets plants a key, a folder and a login name on both sides.
func TestRecordSecrets(t *testing.T) {
	const secret = "planted-5f0c1d7e2b"
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	r := recording{
		list: write(t, "scenario: s\nturns: [{user: 'who am I, in "+home+"/notes?', expect: [{answer: {contains: you}}]}]\n"),
		opts: run.Options{APIKey: secret},
		endpoint: func() http.Handler {
			mock := newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "you are " + secret + " in " + home + "/x"}}}, nil)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != "Bearer "+secret {
					t.Errorf("authorization %q", got)
				}
				w.Header().Set("X-Echo", secret)
				mock.ServeHTTP(w, r)
			})
		},
	}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	text := read(t, rec.Cassette)
	for _, s := range []string{secret, home + "/", "Authorization"} {
		if strings.Contains(text, s) {
			t.Errorf("%q is in the file:\n%s", s, text)
		}
	}
	r.opts.APIKey = "" // who replays has none
	wants(t, only(t, r.replay(t, r.list)), harness.OutcomePassed, "")
}

// TestRecordErrors records a 429 and its repetition: the cassette has both
// only when the scenario says so.
func TestRecordErrors(t *testing.T) {
	for _, tt := range []struct {
		name, settings, expect string
		recorded               int
	}{{"left out", "", "", 1}, {"kept", "cassette: {keep_errors: true}\n", ", {retries: {min: 1, max: 1, honoured: true}}", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			r := recording{
				list: write(t, "scenario: s\n"+tt.settings+"turns: [{user: hi, expect: [{answer: {contains: hello}}"+tt.expect+"]}]\n"),
				opts: run.Options{Subject: agent.Subject(nil)},
				endpoint: func() http.Handler {
					return newMock(mockllm.Script{Replies: []mockllm.Reply{{
						Say: "hello", Faults: []mockllm.Fault{{Kind: "rate_limit", RetryAfter: time.Millisecond}},
					}}}, nil)
				},
			}
			rec := only(t, r.record(t))
			wants(t, rec, harness.OutcomePassed, "")
			if rec.Recorded != tt.recorded || rec.Counts.Retries != 1 {
				t.Errorf("%d recorded, %d retries", rec.Recorded, rec.Counts.Retries)
			}
			again := only(t, r.replay(t, r.list))
			wants(t, again, harness.OutcomePassed, "")
			if again.Counts.Retries != tt.recorded-1 {
				t.Errorf("%d retries", again.Counts.Retries)
			}
		})
	}
}

// TestRecordAgain holds that a recording that says the same leaves the file
// alone, and that another is told apart by its shape.
func TestRecordAgain(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	first := only(t, r.record(t))
	before := files(t, filepath.Dir(first.Cassette))
	second := only(t, r.record(t))
	if second.Written || second.Cassette != first.Cassette || len(second.Drift) > 0 || second.Recorded != 2 {
		t.Errorf("written: %v, cassette %q, drift %q", second.Written, second.Cassette, second.Drift)
	}
	same(t, before, files(t, filepath.Dir(first.Cassette)))

	mock := weatherEndpoint()
	r.endpoint = func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			mock.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), []byte(`"usage"`), []byte(`"cost"`), 1))
		})
	}
	third := only(t, r.record(t))
	if !third.Written || len(third.Drift) == 0 || !strings.HasPrefix(third.Drift[0], "breaking: interaction 1 (POST /v1/chat/completions): ") {
		t.Errorf("written: %v, drift %q", third.Written, third.Drift)
	}
}

// TestRecordOtherModel holds that a recording of one model does not replace
// that of another with a name like it.
func TestRecordOtherModel(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint}
	rec := only(t, r.record(t))
	opts := &run.Options{
		Subject: loop{}, Mode: harness.ModeRecord, BaseURL: "http://127.0.0.1:1/v1", Entries: run.Models("argo/gpt-4.1"), Transport: noNetwork(t), LookupEnv: noCI,
	}
	run.AllowLive(opts)
	if _, err := run.Run(t.Context(), r.list, opts); err == nil || !strings.Contains(err.Error(), rec.Cassette) || !strings.Contains(err.Error(), `belongs to model "argo:gpt-4.1"`) {
		t.Errorf("error %v", err)
	}
}

// TestRecordClients records and replays streams and whole answers, with
// subjects in this process and in others.
func TestRecordClients(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		for _, stream := range []string{"false", "true"} {
			t.Run("foreign "+map[bool]string{true: "yes", false: "no"}[foreign]+" stream "+stream, func(t *testing.T) {
				r := recording{
					list:     write(t, strings.Replace(liveScenario, "servers:", "model: {stream: "+stream+"}\nservers:", 1)),
					opts:     run.Options{Subject: agent.Subject(nil), Foreign: foreign},
					endpoint: weatherEndpoint,
				}
				rec := only(t, r.record(t))
				wants(t, rec, harness.OutcomePassed, "")
				if got := strings.Contains(read(t, rec.Cassette), "text/event-stream"); got != (stream == "true") {
					t.Errorf("a stream is recorded: %v", got)
				}
				for range 2 {
					again := only(t, r.replay(t, r.list))
					wants(t, again, harness.OutcomePassed, "")
					if again.Counts != rec.Counts {
						t.Errorf("counts %+v, recorded %+v", again.Counts, rec.Counts)
					}
				}
			})
		}
	}
}

// TestReplayConduct holds that conduct is a warning while recording, and
// counts in replay.
func TestReplayConduct(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: weatherEndpoint, opts: run.Options{Subject: loop{misreports}}}
	r.list = write(t, strings.Replace(liveScenario, `["21"]`, "[]", 1))
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomePassed, "")
	wants(t, only(t, r.replay(t, r.list)), harness.OutcomeFailed, trials.CauseConduct, "witnesses_agree")
}

// TestReplayConductOnly holds that conduct alone can be what a replay checks.
func TestReplayConductOnly(t *testing.T) {
	r := recording{list: write(t, "scenario: s\nconduct_only: true\nturns: [{user: hi}]\n"), endpoint: func() http.Handler {
		return newMock(mockllm.Script{Replies: []mockllm.Reply{{Say: "hello"}}}, nil)
	}}
	rec := only(t, r.record(t))
	wants(t, rec, harness.OutcomeSkipped, trials.CauseScenario, "mode record needs expectations")
	if !rec.Written {
		t.Errorf("nothing is recorded: %q", rec.Warnings)
	}
	if code := r.record(t).ExitCode(); code != 0 {
		t.Errorf("exit code %d for a recording", code)
	}
	wants(t, only(t, r.replay(t, r.list)), harness.OutcomePassed, "")
}

// TestRecordUnwritable holds that a recording that cannot be written is not
// begun.
func TestRecordUnwritable(t *testing.T) {
	r := recording{list: write(t, liveScenario), endpoint: func() http.Handler { return callsThenSays("Lyon", "15 degrees.") }}
	inTheWay := filepath.Join(filepath.Dir(r.list[0].Pos.File), "cassettes")
	if err := os.WriteFile(inTheWay, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := r.record(t)
	rec := only(t, res)
	wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, "opening cassette")
	if rec.Cassette != "" || rec.Written || res.ExitCode() != 3 {
		t.Errorf("cassette %q, written: %v, exit code %d", rec.Cassette, rec.Written, res.ExitCode())
	}
}
