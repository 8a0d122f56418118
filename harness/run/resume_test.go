// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// several writes scenarios that are the same but for their names.
func several(t *testing.T, names ...string) []*scenarios.Scenario {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		body := fmt.Sprintf("scenario: %s\nturns: [{user: hi, replies: [{say: hello}], expect: [{answer: {equals: hello}}]}]\n", name)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return load(t, dir)
}

// stopAfter is a subject that ends the run when it is opened once too often.
func stopAfter(n int64, stop context.CancelFunc) harness.Subject {
	var opened atomic.Int64
	return harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		if opened.Add(1) > n {
			stop()
		}
		return loop{}.Open(ctx, env)
	})
}

// records are those of a run folder, one a trial, by key.
func records(t *testing.T, dir string) map[string]trials.Record {
	t.Helper()
	list, err := trials.ReadFile(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]trials.Record{}
	for _, rec := range list {
		out[rec.Key.String()] = rec
	}
	return out
}

// TestResume stops a run twice and goes on: each trial is in the folder once,
// as in a run that was not stopped.
func TestResume(t *testing.T) {
	list := several(t, "a", "b", "c")
	opts := run.Options{Trials: 2, Parallel: 1, Unmeasured: true, Out: t.TempDir()}
	whole := play(t, list, opts)
	var res *run.Result
	for _, n := range []int64{2, 3} {
		ctx, stop := context.WithCancel(t.Context())
		opts := opts
		opts.Subject = stopAfter(n, stop)
		if res != nil {
			opts.Resume = res.Dir
		}
		var err error
		if res, err = run.Run(ctx, list, &opts); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if res.ExitCode() != 3 || len(res.Records) != 5 || !res.Manifest.Interrupted {
		t.Errorf("exit code %d with %d records, interrupted %v; want 3 with 5", res.ExitCode(), len(res.Records), res.Manifest.Interrupted)
	}
	// What a kill leaves: half a record.
	name := filepath.Join(res.Dir, trials.RecordsFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, text[:100]...), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Resume = res.Dir
	watch := &watcher{}
	opts.Observer = watch
	res = play(t, list, opts)
	if watch.planned != 1 || watch.ended != 1 || res.ExitCode() != 0 || len(res.Records) != 6 {
		t.Errorf("%d planned, %d ended, exit code %d, %d records; want 1, 1, 0, 6", watch.planned, watch.ended, res.ExitCode(), len(res.Records))
	}
	if m := res.Manifest; m.Interrupted || m.Planned != 6 || m.Continued != 2 {
		t.Errorf("manifest %+v", m)
	}
	if diff := cmp.Diff(records(t, whole.Dir), records(t, res.Dir)); diff != "" {
		t.Errorf("the run that was stopped differs (-whole +resumed):\n%s", diff)
	}
}

// TestResumeRefuses goes on with what is not the same run.
func TestResumeRefuses(t *testing.T) {
	list := several(t, "a", "b")
	begun := run.Options{Subject: loop{}, Out: t.TempDir()}
	dir := play(t, list, begun).Dir
	begun.Resume = dir
	changed := *list[0]
	changed.Hash = "changed"
	tests := []struct {
		name   string
		list   []*scenarios.Scenario
		change func(*run.Options)
		want   []string
	}{
		{"scenario", []*scenarios.Scenario{&changed, list[1]}, nil, []string{`scenario "a"`, "hash " + list[0].Hash, "now hash changed"}},
		{"fewer scenarios", list[1:], nil, []string{`scenario "a" (`, "in the folder only"}},
		{"more scenarios", append(several(t, "z"), list...), nil, []string{`scenario "z" (`, "not in the folder"}},
		{"model", list, func(o *run.Options) { o.Entries = run.Models("other") }, []string{`model "other": not in the folder`, `model "rehearse-mock": in the folder only`}},
		{"trials", list, func(o *run.Options) { o.Trials = 2 }, []string{"trials 1 in the folder;", "trials 2"}},
		{"seed", list, func(o *run.Options) { o.Seed = 7 }, []string{"seed: 0 in the folder; now 7"}},
		{"subject", list, func(o *run.Options) { o.SubjectName = "other" }, []string{"subject: subject in the folder; now other"}},
		{"shard", list, func(o *run.Options) { o.Shard = trials.Shard{Index: 1, Count: 2} }, []string{"shard: none in the folder; now 1/2"}},
		{"two folders", list, func(o *run.Options) { o.Folder = "x" }, []string{"Resume and Folder"}},
		{"no folder", list, func(o *run.Options) { o.Resume = filepath.Dir(dir) }, []string{"cannot be resumed", "run.json"}},
		{"errors of nothing", list, func(o *run.Options) { o.Resume, o.RetryErrors = "", true }, []string{"--resume RUN"}},
		{"no such shard", list, func(o *run.Options) { o.Shard = trials.Shard{Index: 3, Count: 2} }, []string{"shard 3/2"}},
	}
	before := records(t, dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := begun
			if tt.change != nil {
				tt.change(&opts)
			}
			_, err := run.Run(t.Context(), tt.list, &opts)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v\nwant one with %q", err, want)
				}
			}
		})
	}
	if diff := cmp.Diff(before, records(t, dir)); diff != "" {
		t.Errorf("a refused run changed the folder (-before +after):\n%s", diff)
	}
	if res := play(t, list, begun); res.ExitCode() != 0 || len(res.Records) != 2 {
		t.Errorf("exit code %d, %d records", res.ExitCode(), len(res.Records))
	}
}

// TestOneRunAFolder goes on in a folder in which a run is under way.
func TestOneRunAFolder(t *testing.T) {
	list := several(t, "a")
	out := t.TempDir()
	var second error
	subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		dirs, err := filepath.Glob(filepath.Join(out, "*"))
		if err == nil && len(dirs) == 1 {
			_, second = run.Run(ctx, list, &run.Options{Subject: loop{}, Resume: dirs[0]})
		}
		return loop{}.Open(ctx, env)
	})
	play(t, list, run.Options{Subject: subject, Out: out})
	if second == nil || !strings.Contains(second.Error(), "another process writes to it now") {
		t.Errorf("error %v", second)
	}
}

// TestRetryErrors plays trials again that an endpoint left unjudged, and no
// others.
func TestRetryErrors(t *testing.T) {
	var down atomic.Bool
	var asked atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); down.Load() && asked.Load() > 1 {
			http.Error(w, `{"error":{"message":"no such deployment"}}`, http.StatusNotFound)
			return
		}
		says(w, "hello")
	}))
	defer upstream.Close()
	list := several(t, "a", "b", "c")
	opts := run.Options{Subject: loop{}, Mode: harness.ModeLive, BaseURL: upstream.URL + "/v1", Entries: run.Models("m"), Out: t.TempDir()}
	run.AllowLive(&opts)
	down.Store(true)
	res := play(t, list, opts)
	if got := outcomes(res); got != "passed error error" {
		t.Fatalf("outcomes %s", got)
	}
	down.Store(false)
	opts.Resume = res.Dir
	asked.Store(0)
	if kept := play(t, list, opts); asked.Load() != 0 || kept.ExitCode() != 3 {
		t.Errorf("%d requests, exit code %d: an error is finished, and kept", asked.Load(), kept.ExitCode())
	}
	opts.RetryErrors = true
	res = play(t, list, opts)
	if got := outcomes(res); got != "passed passed passed" || asked.Load() != 2 || res.ExitCode() != 0 {
		t.Errorf("outcomes %s after %d requests, exit code %d", got, asked.Load(), res.ExitCode())
	}
	for key, rec := range records(t, res.Dir) {
		if rec.Outcome != harness.OutcomePassed {
			t.Errorf("%s: %s counts in the folder", key, rec.Outcome)
		}
	}
}

func says(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, text)
}

func outcomes(res *run.Result) string {
	var out []string
	for _, rec := range res.Records {
		out = append(out, string(rec.Outcome))
	}
	return strings.Join(out, " ")
}

// TestShards plays a suite in parts, which are together what the whole is.
func TestShards(t *testing.T) {
	list := several(t, "a", "b", "c", "d", "e")
	opts := run.Options{Trials: 3, Unmeasured: true, Out: t.TempDir(), Entries: run.Models("m", "n")}
	whole := records(t, play(t, list, opts).Dir)
	parts := map[string]trials.Record{}
	for i := range 4 {
		opts.Shard = trials.Shard{Index: i + 1, Count: 4}
		opts.Folder = filepath.Join(t.TempDir(), "folder")
		reversed := slices.Clone(list)
		if i%2 == 1 { // another order of files
			slices.Reverse(reversed)
		}
		res := play(t, reversed, opts)
		m, err := trials.ReadManifest(opts.Folder)
		if err != nil || m.Shard != opts.Shard || m.Whole != 30 || m.Planned != len(res.Records) || m.Planned < 7 || m.Planned > 8 {
			t.Errorf("manifest %+v, error %v", m, err)
		}
		for key, rec := range records(t, res.Dir) {
			if _, there := parts[key]; there {
				t.Errorf("%s is in two shards", key)
			}
			parts[key] = rec
		}
	}
	if diff := cmp.Diff(whole, parts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the shards differ from the whole (-whole +shards):\n%s", diff)
	}
	opts.Shard, opts.Folder = trials.Shard{Index: 40, Count: 40}, ""
	if res := play(t, list[:1], opts); res.ExitCode() != 0 || len(res.Records) != 0 {
		t.Errorf("a shard without trials: exit code %d", res.ExitCode())
	}
}

// TestFolder begins a run in a folder of a given name, also where one was
// killed before it had begun, and goes on in it.
func TestFolder(t *testing.T) {
	list := several(t, "a")
	dir := filepath.Join(t.TempDir(), "runs", "mine")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		watch := &watcher{}
		res := play(t, list, run.Options{Folder: dir, Observer: watch})
		if res.Dir != dir || watch.planned != want || len(res.Records) != 1 {
			t.Errorf("%s: %d planned, %d records; want %d planned", res.Dir, watch.planned, len(res.Records), want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, trials.ManifestFile)); errors.Is(err, os.ErrNotExist) {
		t.Error("no manifest")
	}
}
