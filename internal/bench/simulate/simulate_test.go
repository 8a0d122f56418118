// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestSmall is `make simulate` with fewer suites, of the settings that are held
// to bounds and are quick.
func TestSmall(t *testing.T) {
	var quick []setting
	for _, s := range settings() {
		if s.held == toAll && s.n < 100 {
			quick = append(quick, s)
		}
	}
	if len(quick) != 3*2*3 {
		t.Fatalf("%d settings", len(quick))
	}
	const suites = 200
	rows, err := simulateAll(quick, suites, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	bad, err := print(&out, rows, suites, 1)
	if err != nil || bad > 0 || !strings.HasSuffix(out.String(), "all in bounds\n") || !strings.HasPrefix(out.String(), "200 suites a row, seed 1; N") {
		t.Errorf("%d out of bounds, %v\n%s", bad, err, out.String())
	}
	// The worlds are what they are said to be: pairs are found apart where they
	// are, and pooling finds too much where scenarios differ.
	for _, r := range rows {
		if r.gap == 0 || r.k < 5 || r.n < 50 {
			continue
		}
		if p := r.general.different.value(); p < 0.7 || p <= r.pooled.value() {
			t.Errorf("N = %d, K = %d: paired power %.3f, pooled %.3f", r.n, r.k, p, r.pooled.value())
		}
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == worlds()[1].name && r.n == 50 && r.k == 5 })
	if p := rows[i].pooled.value(); p < 0.13 {
		t.Errorf("pooled attempts call %.3f of the equal pairs different", p)
	}

	// One seed is one table, however many work on it.
	again, err := simulateAll(quick[:2], suites, 1, 1)
	if err != nil || again[0].general != rows[0].general || again[1].pooled != rows[1].pooled {
		t.Errorf("%+v, then %+v, %v", rows[:2], again, err)
	}
	other, err := simulateAll(quick[:1], suites, 2, 1)
	if err != nil || other[0].general == rows[0].general {
		t.Errorf("seed 2 gives what seed 1 gives: %+v, %v", other, err)
	}
}

// TestWrong makes sure that what is out of bounds is found.
func TestWrong(t *testing.T) {
	good := func() row {
		c := columns{rate: share{3800, 4000}, difference: share{3800, 4000}, different: share{200, 4000}, null: true}
		return row{setting: setting{world: worlds()[0], n: 20, k: 5}, general: c, fixed: c}
	}
	for _, tc := range []struct {
		name  string
		spoil func(r *row)
		want  []string
	}{
		{"nothing", func(*row) {}, nil},
		{"at the bounds", func(r *row) { r.general.rate.yes, r.fixed.difference.yes, r.general.different.yes = 3760, 3920, 240 }, nil},
		{"the error of the simulation", func(r *row) { r.general.rate.yes = 3731 }, nil},
		{"covers too little", func(r *row) { r.general.rate.yes = 3700 }, []string{"equal at each scenario, N = 20, K = 5, in general: 92.5 % of the intervals of the rate hold the true value, want 94 to 98"}},
		{"covers too much", func(r *row) { r.fixed.difference.yes = 3990 }, []string{"equal at each scenario, N = 20, K = 5, fixed suite: 99.8 % of the intervals of the difference hold the true value, want 94 to 98"}},
		{"false alarms", func(r *row) { r.general.different.yes = 300 }, []string{"equal at each scenario, N = 20, K = 5, in general: 7.5 % of the pairs are called different, want at most 6"}},
		{"true alarms", func(r *row) { r.general.null = false; r.general.different.yes = 4000 }, nil},
		{"not measured", func(r *row) { r.fixed = columns{} }, nil},
		{"held to none", func(r *row) { r.held = toNone; r.general.rate.yes = 0 }, nil},
		{"held for its rate", func(r *row) {
			r.held = toRate
			r.general.difference.yes, r.fixed.rate.yes, r.fixed.difference.yes = 0, 0, 0
		}, nil},
		{"held for its rate and wrong", func(r *row) { r.held = toRate; r.general.rate.yes, r.fixed.different.yes = 3700, 400 }, []string{
			"equal at each scenario, N = 20, K = 5, in general: 92.5 % of the intervals of the rate hold the true value, want 94 to 98",
			"equal at each scenario, N = 20, K = 5, fixed suite: 10.0 % of the pairs are called different, want at most 6",
		}},
	} {
		r := good()
		tc.spoil(&r)
		if got := r.wrong(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		var out bytes.Buffer
		bad, err := print(&out, []row{r}, 4000, 1)
		if err != nil || bad != len(tc.want) || strings.Contains(out.String(), "all in bounds\n") == (bad > 0) {
			t.Errorf("%s: %d bad, %v\n%s", tc.name, bad, err, out.String())
		}
		for _, line := range tc.want {
			if !strings.Contains(out.String(), "out of bounds: "+line+"\n") || !strings.Contains(out.String(), "  NO\n") {
				t.Errorf("%s: %q is not in\n%s", tc.name, line, out.String())
			}
		}
	}
}
