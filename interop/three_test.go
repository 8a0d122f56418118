// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestThreeSubjects plays the suites to three agents of the same behaviour that were
// written apart: the one of rehearse in its own process, one in Python as a command,
// and the agent server behind its API, with a tool server. What each can play gets
// the same verdicts, in four modes; what it cannot is skipped with a reason, which
// testdata/three.txt lists. In the modes live and record the scenario's own replies
// are served at an endpoint.
func TestThreeSubjects(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../scenarios/suites")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent.py", "server.sh", "rehearse.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata/agent", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	abs, err := filepath.Abs(filepath.Dir(binary))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", abs+":"+os.Getenv("PATH"))
	// Two of them would wait for 40 seconds, as they are told to.
	if err := os.Remove(filepath.Join(dir, "gemflux/13-rate-limit.yaml")); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, suite := range []string{"utilities", "gemflux", "calendar"} {
		mock := map[string]map[string]trials.Record{}
		for _, subject := range subjects() {
			mock[subject] = played(t, "run", filepath.Join(dir, suite), "--subject", subject)
		}
		for _, name := range slices.Sorted(maps.Keys(mock["rehearse"])) {
			own := mock["rehearse"][name]
			for _, subject := range subjects()[1:] {
				got := mock[subject][name]
				if got.Outcome == harness.OutcomeSkipped {
					fmt.Fprintf(&list, "%s, %s, %s: %s\n", suite, name, subject, got.Cause.Text())
					continue
				}
				if diff := cmp.Diff(verdictsOf(&own), verdictsOf(&got)); diff != "" {
					t.Errorf("%s, %s: rehearse and %s (-want +got):\n%s", suite, name, subject, diff)
				}
			}
		}
		for name, own := range mock["rehearse"] {
			if own.Case != "" {
				continue // an endpoint serves one scenario, without cases
			}
			file := own.File
			for _, subject := range subjects() {
				if mock[subject][name].Outcome == harness.OutcomeSkipped {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s", strings.TrimPrefix(file, dir+"/"), subject), func(t *testing.T) {
					t.Parallel()
					otherModes(t, file, subject, mock[subject])
				})
			}
		}
	}
	const golden = "testdata/three.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(list.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list.String()); diff != "" {
		t.Errorf("what cannot be played (-want +got; -update rewrites it):\n%s", diff)
	}
}

func subjects() []string { return []string{"rehearse", "command", "http"} }

// otherModes plays one file in the modes live, record and replay, and wants what came
// of it in mode mock.
func otherModes(t *testing.T, file, subject string, mock map[string]trials.Record) {
	cassettes := t.TempDir()
	for _, mode := range []string{"live", "record", "replay"} {
		args := []string{"run", file, "--mode", mode, "--subject", subject}
		if mode != "live" {
			args = append(args, "--cassettes", cassettes)
		}
		if mode != "replay" {
			server := launch(t, binary, false, "serve", "llm", file)
			args = append(args, "--model", "m", "--base-url", server.URL)
			defer server.end()
		}
		for name, got := range played(t, args...) {
			want := mock[name]
			if diff := cmp.Diff(verdictsOf(&want), verdictsOf(&got)); diff != "" {
				t.Errorf("%s in mode %s (-mock +%s):\n%s\n%s", name, mode, mode, diff, got.Cause.Text())
			}
		}
	}
}

// played are the trials of a run by their names.
func played(t *testing.T, args ...string) map[string]trials.Record {
	t.Helper()
	cmd := command(t, binary, append(args, "--json", "--out", t.TempDir())...)
	out, err := cmd.Output()
	var doc struct{ Trials []trials.Record }
	if cmd.ProcessState == nil || json.Unmarshal(out, &doc) != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	got := map[string]trials.Record{}
	for _, r := range doc.Trials {
		got[r.Name()] = r
	}
	return got
}

// verdictsOf are the outcome of a trial, its expectations, and what it did wrong.
func verdictsOf(r *trials.Record) []string {
	list := []string{string(r.Outcome)}
	for _, v := range r.Verdicts {
		if !v.Conduct || v.State == trials.Failed {
			list = append(list, fmt.Sprintf("%s: %s", v.Check, v.State))
		}
	}
	return list
}
