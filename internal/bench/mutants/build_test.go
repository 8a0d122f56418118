// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"
)

// TestBuild tries three mutants of a small package: one that its tests notice, one
// that changes nothing, and one that they do not meet.
func TestBuild(t *testing.T) {
	t.Chdir("../../..")
	tree, err := newTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := sitesOf("internal/cues/cues.go")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(s site) bool { return s.old == "b.given[name] = true" })
	if i < 0 {
		t.Fatal("internal/cues gives no cue")
	}
	given := list[i]
	same, broken := given, given
	same.text, broken.text = same.old, "b.nothing()"
	for s, want := range map[site]bool{given: true, same: true, broken: false} {
		if got, err := tree.compiles(s); err != nil || got != want {
			t.Errorf("compiles(%v) = %v, %v; want %v", s, got, err, want)
		}
	}
	ends := map[*mutant]end{{given, 1}: killed, {same, 2}: survived, {given, 3}: unmet}
	var mutants []*mutant
	for m := range ends {
		mutants = append(mutants, m)
	}
	b, err := newBuild(t.Context(), tree, mutants, options{own: true, long: 1, timeout: time.Minute, memory: 8192})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var units []string
	for _, u := range b.tests["internal/cues"].units {
		delete(u.met, 3)
		units = append(units, u.pattern)
	}
	if want := []string{"^TestBoard$", "^Example$"}; !slices.Equal(units, want) {
		t.Errorf("tests that run alone: %q, want %q", units, want)
	}
	for m, want := range ends {
		if got, err := b.try(t.Context(), m); err != nil || got != want {
			t.Errorf("%v: %q, %v; want %q", m, got, err, want)
		}
	}
}
