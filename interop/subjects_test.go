// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestPythonAgent plays the suite utilities to an agent of Python's standard
// library alone, as a command that is typed: it gets the verdicts that the agent of
// rehearse gets.
func TestPythonAgent(t *testing.T) {
	verdicts := func(subject string) map[string]string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "run", "../scenarios/suites/utilities", "--json", "--out", t.TempDir(), "--subject", subject)
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
			t.Fatalf("utilities by %s: %v\n%s", subject, err, out)
		}
		var doc struct{ Trials []trials.Record }
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range doc.Trials {
			text := string(r.Outcome)
			for _, v := range r.Verdicts {
				if !v.Conduct || v.State == trials.Failed {
					text += " " + v.Check + ":" + string(v.State)
				}
			}
			got[r.Name()] = text
		}
		return got
	}
	want := verdicts("rehearse")
	if len(want) != 6 {
		t.Errorf("utilities has %d trials, want 6", len(want))
	}
	if diff := cmp.Diff(want, verdicts("python3 -B testdata/agent/agent.py {prompt}")); diff != "" {
		t.Errorf("utilities by the agent of rehearse and by that in Python (-want +got):\n%s", diff)
	}
}

// TestFaultyAgent plays an agent in Python that has a switch for each mistake.
// Without one it passes; each alone fails the check that docs/subjects.md names
// and no other, streamed and whole.
func TestFaultyAgent(t *testing.T) {
	page, err := os.ReadFile("../docs/subjects.md")
	if err != nil {
		t.Fatal(err)
	}
	subjects := []string{"flawless"}
	want := map[string]map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|.*\\| `([a-z_]+)` \\|$").FindAllSubmatch(page, -1) {
		subjects = append(subjects, string(row[1]))
		want[string(row[1])] = map[string]bool{string(row[2]): true}
	}
	if len(subjects) != 8 {
		t.Fatalf("docs/subjects.md names %q, want seven switches", subjects[1:])
	}
	for _, stream := range []string{"--stream=false", "--stream=true"} {
		t.Run(stream, func(t *testing.T) {
			args := []string{"run", "testdata/faulty", "--json", "--out", t.TempDir(), stream}
			for _, s := range subjects {
				args = append(args, "--subject", s)
			}
			cmd := command(t, binary, args...)
			out, err := cmd.Output()
			var doc struct{ Trials []trials.Record }
			if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil || cmd.ProcessState.ExitCode() != 1 {
				t.Fatalf("%v, %v\n%s", err, jsonErr, out)
			}
			got := map[string]map[string]bool{}
			for _, r := range doc.Trials {
				if r.Outcome != harness.OutcomePassed && r.Outcome != harness.OutcomeFailed {
					t.Errorf("%s by %s is %s: %v", r.Name(), r.Subject, r.Outcome, r.Cause)
				}
				for _, v := range r.Verdicts {
					if v.State == trials.Failed {
						if got[r.Subject] == nil {
							got[r.Subject] = map[string]bool{}
						}
						got[r.Subject][v.Check] = true
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(doc.Trials) != 3*len(subjects) {
				t.Errorf("the checks that failed, by switch, in %d trials (-want +got):\n%s", len(doc.Trials), diff)
			}
		})
	}
}
