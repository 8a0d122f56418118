// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func TestCassettePath(t *testing.T) {
	s := &scenarios.Scenario{Name: "Look-up/ATP [v1.2]", Pos: harness.Position{File: "suites/chem/look up.yaml"}}
	for _, tt := range []struct {
		name, dir, model string
		trial            int
		want             string
	}{
		{"beside the file", "", "argo:gpt-4.1", 1, "suites/chem/cassettes/look up/look-up-atp-v1.2.argo-gpt-4.1.yaml"},
		{"elsewhere", "rec", "argo:gpt-4.1", 1, "rec/look up/look-up-atp-v1.2.argo-gpt-4.1.yaml"},
		{"a further trial", "", "m", 12, "suites/chem/cassettes/look up/look-up-atp-v1.2.m+12.yaml"},
		{"no letters", "", ":", 1, "suites/chem/cassettes/look up/look-up-atp-v1.2.model.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.CassettePath(tt.dir, tt.model, tt.trial)
			if got != filepath.FromSlash(tt.want) {
				t.Errorf("path %q, want %q", got, tt.want)
			}
			if n := s.CassetteTrial(tt.dir, got, tt.model); n != tt.trial {
				t.Errorf("trial %d, want %d", n, tt.trial)
			}
			for _, other := range []string{"x" + got, strings.Replace(got, ".yaml", ".refused.yaml", 1), strings.Replace(got, ".yaml", "+x.yaml", 1)} {
				if n := s.CassetteTrial(tt.dir, other, tt.model); n != 0 {
					t.Errorf("%q is of trial %d", other, n)
				}
			}
		})
	}
	if got, want := scenarios.TapePath("a/b.m+2.yaml", "Far away"), "a/b.m+2.far-away.tape"; got != want {
		t.Errorf("tape %q, want %q", got, want)
	}
}

// TestCassettes finds what is recorded of a scenario, in a folder whose name
// looks like a pattern, and reads no scenario there.
func TestCassettes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of [*] mine?")
	s := &scenarios.Scenario{Name: "a", Pos: harness.Position{File: filepath.Join(dir, "s.yaml")}}
	paths := []string{s.CassettePath("", "m", 1), s.CassettePath("", "m", 2), s.CassettePath("", "n", 1)}
	for _, path := range append([]string{scenarios.TapePath(paths[0], "far")}, paths...) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("scenario: no\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(paths)
	if got := s.Cassettes(""); !slices.Equal(got, paths) {
		t.Errorf("found %q, want %q", got, paths)
	}
	set, err := scenarios.Load([]string{dir}, nil)
	if err != nil || len(set.Scenarios) > 0 {
		t.Errorf("%d scenarios, %v", len(set.Scenarios), err)
	}
}

// TestOffline holds that what a real server is given needs no value where
// nobody reaches it; anything else does.
func TestOffline(t *testing.T) {
	const body = "scenario: s\nservers:\n  a: {command: [\"${CMD}\"], env: {K: \"${KEY}\"}}\n  b: {url: \"${URL}/mcp\", headers: {H: \"${HEADER:-h}\"}}\nturns: [{user: hi}]\n"
	unset := func(string) (string, bool) { return "", false }
	if _, err := scenarios.Parse("s.yaml", []byte(body), &scenarios.Options{LookupEnv: unset}); err == nil || strings.Count(err.Error(), "is not set") != 3 {
		t.Errorf("error %v, want one for each of three variables", err)
	}
	set, err := scenarios.Parse("s.yaml", []byte(body), &scenarios.Options{LookupEnv: unset, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Scenarios[0].Servers[1].Real(""); got.URL != "/mcp" || got.Headers["H"] != "h" {
		t.Errorf("server %+v", got)
	}
	model := strings.Replace(body, "servers:", "model: {system: \"${SYSTEM}\"}\nservers:", 1)
	if _, err := scenarios.Parse("s.yaml", []byte(model), &scenarios.Options{LookupEnv: unset, Offline: true}); err == nil || !strings.Contains(err.Error(), "SYSTEM is not set") {
		t.Errorf("error %v, want one for the model's setting", err)
	}
}
