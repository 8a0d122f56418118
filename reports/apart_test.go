// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestApart: columns that share too few scenarios are not compared, and not said to
// be tied.
func TestApart(t *testing.T) {
	const verdict = "No model is shown to be better: a and b are tied."
	for _, tt := range []struct {
		name   string
		played map[string][]int // scenarios by model
		want   string
		not    string
	}{
		{"nothing in common", map[string][]int{"a": {1, 2, 3}, "b": {4, 5, 6}}, "The models cannot be compared: they share too few judged scenarios.", "tied"},
		{"one that can be rated", map[string][]int{"a": {1, 2, 3}, "b": {4}}, "The models cannot be compared: they share too few judged scenarios.", "tied"},
		{"all in common", map[string][]int{"a": {1, 2, 3}, "b": {1, 2, 3}}, verdict, "Not compared"},
		{"a third one", map[string][]int{"a": {1, 2, 3}, "b": {1, 2, 3}, "c": {7, 8}}, verdict + "\na and b pass alike (95 % interval −56.1 to +56.1).\nNot compared with a, for too few judged scenarios in common: c.", "c are tied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := &Run{}
			for _, model := range []string{"a", "b", "c"} {
				for _, n := range tt.played[model] {
					run.Trials = append(run.Trials, trial(fmt.Sprintf("scenario %d", n), "s/s.yaml", 1, model, 1))
				}
			}
			run.Manifest.Planned = len(run.Trials)
			var out bytes.Buffer
			if err := Text(&out, run, nil); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) {
				t.Errorf("want %q, without %q, in\n%s", tt.want, tt.not, text)
			}
		})
	}
}

// TestStandingNotes: what cannot be computed names the models, and tells two with
// one label apart.
func TestStandingNotes(t *testing.T) {
	run := &Run{}
	for n, model := range []string{"a", "a", "a", "b", "b", "b", "c"} {
		run.Trials = append(run.Trials, trial(fmt.Sprintf("scenario %d", n), "s/s.yaml", 1, model, 1))
	}
	tab := arrange(run)
	for label, want := range map[string][]string{
		"b": {`comparing "a" with "b": too few data: 0 independent scenarios shared`, `pass rate of "c": too few data: 1 independent scenarios`},
		"a": {`comparing "a, column 1" with "a, column 2": too few data: 0`, `pass rate of "c, column 3": too few data: 1`},
	} {
		tab.Columns[1].Label = label
		s, err := tab.stand()
		if err != nil || len(s.Notes) != len(want) {
			t.Fatalf("%v, %q", err, s.Notes)
		}
		for i, note := range s.Notes {
			if !strings.HasPrefix(note, want[i]) {
				t.Errorf("note %q, want %q", note, want[i])
			}
		}
	}
}
