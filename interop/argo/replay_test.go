// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/internal/redact"
)

const root = "../.."

// TestReplay plays what every release of argo-proxy has made of the
// conversations to our agent. A request that is not in a recording, or one in
// it that is not sent, fails the trial.
func TestReplay(t *testing.T) {
	for _, r := range releases() {
		for _, variant := range variants() {
			t.Run(r.version+"/"+variant, func(t *testing.T) {
				list, err := load(root, variant, false)
				if err != nil {
					t.Fatal(err)
				}
				result, err := run.Run(t.Context(), list, &run.Options{
					Subject: agent.Subject(nil), SubjectName: subjectName, Mode: harness.ModeReplay,
					Cassettes: filepath.Join(root, shipped, r.version, variant),
				})
				if err != nil {
					t.Fatal(err)
				}
				got := map[string][]string{}
				for _, rec := range result.Records {
					if rec.Outcome != harness.OutcomePassed {
						t.Errorf("%s with %s: %s: %v", rec.Scenario, rec.Model, rec.Outcome, rec.Cause)
					}
					got[rec.Scenario] = append(got[rec.Scenario], rec.Model)
				}
				if t.Failed() {
					t.Log("if what our agent sends, or a scenario, was changed on purpose: make cassettes, and read the diff")
				}
				want := slices.Sorted(slices.Values(models()))
				for _, s := range list {
					slices.Sort(got[s.Name])
					if diff := cmp.Diff(want, got[s.Name]); diff != "" {
						t.Errorf("%s is recorded with other models (-want +got):\n%s", s.Name, diff)
					}
				}
			})
		}
	}
}

// TestShipped holds that what is shipped is what the scenarios make, says what
// it is of, and has nothing in it that nobody should see.
func TestShipped(t *testing.T) {
	secrets, err := redact.New(&redact.Rules{Places: redact.Here()})
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, r := range releases() {
		dir := filepath.Join(root, shipped, r.version)
		var made []recorded
		for _, variant := range variants() {
			list, err := load(root, variant, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				for _, model := range models() {
					made = append(made, recorded{path: s.CassettePath(filepath.Join(dir, variant), model, 1)})
				}
			}
		}
		left, err := leftovers(dir, made)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("no scenario makes %q", left)
		}
		var a about
		data, err := os.ReadFile(filepath.Join(dir, aboutFile))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err != nil {
			t.Fatal(err)
		}
		if a.Proxy != "argo-proxy "+r.version || a.Rosetta != r.rosetta || a.Behind != behindStandIn || a.Unknown != unknown {
			t.Errorf("%s says %+v", dir, a)
		}
		if diff := cmp.Diff(sources(false), a.Scenarios); diff != "" {
			t.Errorf("%s is of other scenarios (-want +got):\n%s", dir, diff)
		}
		for _, m := range made {
			data, err := os.ReadFile(m.path)
			if err != nil {
				t.Error(err)
				continue
			}
			total += int64(len(data))
			for _, f := range secrets.Scan(data) {
				t.Errorf("%s:%d: %s: %s", m.path, f.Line, f.Rule, f.Excerpt)
			}
			for _, word := range []string{"127.0.0.1", "localhost", "jdoe"} { // the user whom the proxies are started for
				if bytes.Contains(data, []byte(word)) {
					t.Errorf("%s has %q in it", m.path, word)
				}
			}
		}
	}
	const most = 3 << 20
	if total > most {
		t.Errorf("the recordings have %d bytes, more than %d", total, most)
	}
}
