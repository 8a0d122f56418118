// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Means 1, 1/2, 0 of two attempts: variance 1/4; within 0, 1/2, 0.
func TestVariance(t *testing.T) {
	v, err := suite("m", "pp", "pf", "ff", "p").Variance()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "within", v.Within, 1./6, 1e-12)
	near(t, "between", v.Between, 1./4-1./12, 1e-12)
	near(t, "attempts", v.Attempts, 2, 1e-12)
	if v.Scenarios != 3 {
		t.Errorf("%d scenarios", v.Scenarios)
	}
	// With equal attempts the parts make up the clustered standard error.
	table := suite("m", "ppp", "ppf", "fff", "fpp")
	v, err = table.Variance()
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.PassRate(ScenariosInGeneral, nil)
	near(t, "the sum", (v.Between+v.Within/3)/4, mustRate(t, r, err).SE*r.SE, 1e-12)
	v, err = suite("m", "pf", "fp").Variance()
	if err != nil || v.Between != 0 {
		t.Errorf("between %v, %v", v.Between, err)
	}
}

// Differences 1/2, 0, -1/2 with within 1/2 in a of scenario 2, in b of 1 and 2.
func TestDesignOf(t *testing.T) {
	d, err := DesignOf(suite("a", "pp", "pf", "ff", "p"), suite("b", "pf", "pf", "pf", "pp"))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "within a", d.WithinA, 1./6, 1e-12)
	near(t, "within b", d.WithinB, 1./2, 1e-12)
	near(t, "between", d.Between, 0, 1e-12) // 1/4 - 1/12 - 1/4 < 0
	d, err = DesignOf(suite("a", "ppp", "ppp", "fff"), suite("b", "ppp", "fff", "ppf"))
	if err != nil {
		t.Fatal(err)
	}
	// Differences 0, 1, -2/3; within b 1/3 in one of three.
	near(t, "between", d.Between, 19./27-1./27, 1e-12)
	near(t, "within b", d.WithinB, 1./9, 1e-12)
}

// Attempts that differ have the estimates 1/2, and scenarios on which each model
// is alone the estimate 2: no variance is so large.
func TestBounded(t *testing.T) {
	d, err := DesignOf(suite("a", "pf", "pf"), suite("b", "pf", "fp"))
	if err != nil || d.WithinA != 0.5 || d.WithinB != 0.5 {
		t.Fatalf("%+v, %v", d, err)
	}
	if diff := cmp.Diff(Design{WithinA: 0.25, WithinB: 0.25}, d.Bounded()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	d, err = DesignOf(suite("a", "pp", "ff"), suite("b", "ff", "pp"))
	if err != nil || d.Between != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	if diff := cmp.Diff(Design{Between: 1}, d.Bounded()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPlan(t *testing.T) {
	d := Design{Between: 1. / 9, WithinA: 1. / 6, WithinB: 1. / 6}
	got, err := d.Plan(Wish{Difference: 0.03, Attempts: []int{1, 3}, TrialCost: 0.01, ScenarioCost: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []Plan{{3876, 1, 7752, 77.52 + 7752}, {1938, 3, 11628, 116.28 + 3876}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
	got, err = d.Plan(Wish{Difference: 0.03, Attempts: []int{1}, Models: 3, TrialCost: 0.01})
	if err != nil || got[0].Trials != 11628 || got[0].Cost != 116.28 {
		t.Errorf("%+v, %v", got, err)
	}
	if n, err := (Design{}).Scenarios(0.1, 1); n != 2 || err != nil {
		t.Errorf("without noise %d scenarios, %v; want 2", n, err)
	}
}

func TestAttempts(t *testing.T) {
	d := Design{Between: 1. / 9, WithinA: 1. / 6, WithinB: 1. / 6}
	for _, tc := range []struct {
		delta   float64
		n, want int
	}{{.1871, 100, 1}, {.1323, 100, 3}, {.1182, 100, 5}, {.9, 100, 1}} {
		got, err := d.Attempts(tc.delta, tc.n)
		if err != nil || got != tc.want {
			t.Errorf("%d attempts for %v with %d scenarios (%v), want %d", got, tc.delta, tc.n, err, tc.want)
		}
	}
	if got, err := (Design{Between: .1}).Attempts(.2, 100); got != 1 || err != nil {
		t.Errorf("%d attempts without noise within, %v", got, err)
	}
	if got, err := (Design{}).Attempts(.2, 1); got != 1 || err != nil {
		t.Errorf("%d attempts without noise, %v", got, err)
	}
	if got, err := (Design{}).PowerAt(.2, 1, 1); got != 1 || err != nil {
		t.Errorf("power %v without noise, %v", got, err)
	}
	// Only just more than no number of attempts would do.
	f := factor(0.95, 0.8)
	if _, err := (Design{Between: .25, WithinA: .25, WithinB: .25}).Attempts(f*math.Sqrt(.25/400)*(1+1e-11), 400); !errors.Is(err, ErrTooFew) {
		t.Errorf("%v, want ErrTooFew", err)
	}
}

// What shows a difference shows it exactly.
func TestDesignIsExact(t *testing.T) {
	d := Design{Between: 1. / 9, WithinA: 1. / 6, WithinB: 1. / 6}
	for _, n := range []int{20, 63, 100, 969} {
		for _, k := range []int{1, 3, 7} {
			mde, err := d.MDE(n, k)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := d.Scenarios(mde, k); got != n || err != nil {
				t.Errorf("%d scenarios for what %d show, %v", got, n, err)
			}
			if got, err := d.Attempts(mde, n); got != k || err != nil {
				t.Errorf("%d attempts for what %d show, %v", got, k, err)
			}
		}
	}
}
