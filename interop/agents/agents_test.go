// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/subjects"
)

var update = flag.Bool("update", false, "write the page anew from what is known")

// TestPage: the page is what the presets and the results make of it.
func TestPage(t *testing.T) {
	const root = "../.."
	known, err := readResults(root)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := writeAll(root, known); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(known), string(was)); diff != "" {
		t.Errorf("%s is stale: run go -C interop test ./agents -update, or make agents (-want +got):\n%s", pageFile, diff)
	}
	if len(rows()) != 19 {
		t.Errorf("%d rows, want 19", len(rows()))
	}
	for _, a := range agents() {
		judged, suites := 0, 0
		for name, o := range known[a.name] {
			if name[:2] == "ut" || name[:2] == "ge" {
				if suites++; o.Outcome == "passed" || o.Outcome == "failed" {
					judged++
				}
			}
		}
		if judged < 15 && a.faults {
			t.Errorf("%s: %d of %d scenarios of the suites are judged, want 15 at least", a.name, judged, suites)
		}
	}
}

// TestExamples: the example of a preset is a script of 30 lines at most.
func TestExamples(t *testing.T) {
	for _, p := range subjects.Presets() {
		if p.Example == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join("../..", p.Example))
		if n := bytes.Count(data, []byte("\n")); err != nil || n > 30 {
			t.Errorf("%s has %d lines, %v; want 30 at most", p.Example, n, err)
		}
	}
}

// TestNames: a name that names nothing is refused, since what is not played would
// pass.
func TestNames(t *testing.T) {
	known, err := readResults("../..")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(agents(), clients())
	for _, tc := range []struct {
		job  job
		want string
	}{
		{job{only: []string{"codex"}, suites: []string{"faults"}, kinds: []string{"rate_limit", "is_error"}}, ""},
		{job{only: []string{"codex", "codecs"}}, `-only: there is no "codecs"; there are: `},
		{job{suites: []string{"utility"}}, `-suites: there is no "utility"; there are: faults, gemflux, rows, utilities`},
		{job{kinds: []string{"unknown"}}, `-faults: there is no "unknown"`},
	} {
		if err := tc.job.check(all, known); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
