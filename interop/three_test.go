// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestThreeSubjects plays all suites to three agents of the same behaviour that were
// written apart: the one of rehearse in its own process, one in Python as a command,
// and the agent server behind its API, with a tool server. What each can play gets
// the same verdicts, in mode mock, and in four modes where modes says so; what it
// cannot is skipped with a reason, which testdata/three.txt lists. In the modes live
// and record the scenario's own replies are served at an endpoint.
func TestThreeSubjects(t *testing.T) {
	dir := t.TempDir()
	for _, from := range []string{"../scenarios/suites", "testdata/agent"} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	abs, err := filepath.Abs(filepath.Dir(binary))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", abs+":"+os.Getenv("PATH"))
	hurry(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*", "suite.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("the suites are %v: %v", files, err)
	}
	mock := make([]map[string]map[string]trials.Record, len(files))
	var under sync.WaitGroup
	few := make(chan struct{}, 3) // side by side, as they wait more than they work
	for i, file := range files {
		few <- struct{}{}
		under.Go(func() {
			mock[i] = inMock(t, filepath.Dir(file))
			<-few
		})
	}
	under.Wait()
	var list []string
	for i, file := range files {
		suite := suiteOf(file)
		for name, own := range mock[i]["rehearse"] {
			for _, subject := range subjects()[1:] {
				got := mock[i][subject][name]
				if got.Outcome == harness.OutcomeSkipped {
					list = append(list, fmt.Sprintf("%s, %s, %s: %s\n", suite, name, subject, got.Cause.Text()))
					continue
				}
				if diff := cmp.Diff(verdictsOf(&own), verdictsOf(&got)); diff != "" {
					t.Errorf("%s, %s: rehearse and %s (-want +got):\n%s\n%s", suite, name, subject, diff, got.Cause.Text())
				}
			}
			if own.Outcome != harness.OutcomePassed {
				t.Errorf("%s, %s: %s by the agent of rehearse: %s", suite, name, own.Outcome, own.Cause.Text())
			}
			if !slices.Contains(modes(), suite) || own.Case != "" { // an endpoint serves one scenario, without cases
				continue
			}
			for _, subject := range subjects() {
				if mock[i][subject][name].Outcome == harness.OutcomeSkipped {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s", strings.TrimPrefix(own.File, dir+"/"), subject), func(t *testing.T) {
					t.Parallel()
					otherModes(t, own.File, subject, mock[i][subject])
				})
			}
		}
	}
	slices.Sort(list)
	text := strings.Join(list, "")
	const golden = "testdata/three.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("what cannot be played (-want +got; -update rewrites it):\n%s", diff)
	}
}

// modes are the suites that are played in all four modes.
func modes() []string { return []string{"calendar", "gemflux", "utilities"} }

func suiteOf(file string) string { return filepath.Base(filepath.Dir(file)) }

// hurry has the endpoints of scenarios ask for a tenth of the wait: programs wait it
// out.
func hurry(t *testing.T, dir string) {
	asked := regexp.MustCompile(`retry_after: \d+s`)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data = asked.ReplaceAllFunc(data, func(found []byte) []byte {
			var seconds int
			if _, err := fmt.Sscanf(string(found), "retry_after: %ds", &seconds); err != nil {
				t.Fatal(err)
			}
			return fmt.Appendf(nil, "retry_after: %dms", seconds*100)
		})
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// inMock are the trials of a suite in mode mock, by subject and name.
func inMock(t *testing.T, suite string) map[string]map[string]trials.Record {
	args := []string{"run", suite, "--parallel", "4", "--timeout", "3m"}
	for _, subject := range subjects() {
		args = append(args, "--subject", subject)
	}
	records, err := play(t, args...)
	if err != nil {
		t.Error(err)
	}
	out := map[string]map[string]trials.Record{}
	for _, r := range records {
		of := strings.TrimSuffix(r.Subject, "-agent") // as the agent of rehearse is called
		if out[of] == nil {
			out[of] = map[string]trials.Record{}
		}
		out[of][r.Name()] = r
	}
	return out
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

// played are the trials of a run of one subject by their names.
func played(t *testing.T, args ...string) map[string]trials.Record {
	t.Helper()
	records, err := play(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]trials.Record{}
	for _, r := range records {
		got[r.Name()] = r
	}
	return got
}

// play are the trials of a run.
func play(t *testing.T, args ...string) ([]trials.Record, error) {
	cmd := command(t, binary, append(args, "--json", "--out", t.TempDir())...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var doc struct{ Trials []trials.Record }
	if cmd.ProcessState == nil || json.Unmarshal(out, &doc) != nil {
		return nil, fmt.Errorf("%v: %w\n%s%s", args, err, out, stderr.String())
	}
	return doc.Trials, nil
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
