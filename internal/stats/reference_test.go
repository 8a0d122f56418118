// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// near compares to the digits that a reference is printed with.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %.6f, want %.6f", what, got, want)
	}
}

// The references of Wilson and McNemar agree with SciPy 1.10.1 and statsmodels
// 0.13.5.
func TestWilson(t *testing.T) {
	for _, tc := range []struct {
		passed, n int
		low, high float64
	}{
		{0, 10, 0, .2775},
		{9, 10, .5958, .9821},
		{10, 10, .7225, 1},
		{18, 20, .6990, .9721},
		{20, 20, .8389, 1},
		{45, 50, .7864, .9565},
		{80, 100, .7112, .8666},
		{160, 200, .7391, .8495},
		{475, 500, .9272, .9659},
		{1, 1, .2065, 1},
	} {
		name := fmt.Sprintf("%d/%d", tc.passed, tc.n)
		i, err := Wilson(tc.passed, tc.n, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" low", i.Low, tc.low, 5e-5)
		near(t, name+" high", i.High, tc.high, 5e-5)
		if i.Level != 0.95 {
			t.Errorf("%s: level %v", name, i.Level)
		}
	}
	if i, _ := Wilson(0, 10, 0.95); i.Low != 0 {
		t.Errorf("0/10 begins at %g", i.Low)
	}
	if i, _ := Wilson(10, 10, 0.95); i.High != 1 {
		t.Errorf("10/10 ends at %g", i.High)
	}
}

func TestMcNemar(t *testing.T) {
	for _, tc := range []struct {
		b, c       int
		exact, mid float64
	}{
		{5, 0, .0625, .03125},
		{6, 0, .03125, .015625},
		{6, 1, .1250, .0703},
		{8, 2, .1094, .0654},
		{9, 2, .0654, .0386},
		{10, 3, .0923, .0574},
		{15, 7, .1338, .0931},
		{0, 0, 1, 1},
		{1, 1, 1, 1 - .5/2},
		{3, 3, 1, 1 - .3125/2},
		{3, 4, 1, 1 - 35./128},
	} {
		for _, p := range []Pairs{{7, tc.b, tc.c, 3}, {0, tc.c, tc.b, 1}} {
			exact, mid, err := p.McNemar()
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("exact of %+v", p), exact, tc.exact, 5e-5)
			near(t, fmt.Sprintf("mid-p of %+v", p), mid, tc.mid, 5e-5)
		}
	}
}

// The references are of Newcombe's two papers of 1998: pages 2645 and 881.
func TestNewcombe(t *testing.T) {
	for _, tc := range []struct {
		Pairs
		low, high float64
	}{
		{Pairs{36, 12, 2, 0}, .0569, .3404},
		{Pairs{20, 12, 2, 16}, .0562, .3292},
		{Pairs{43, 0, 0, 7}, -.0638, .0638},
		{Pairs{0, 0, 0, 50}, -.0713, .0713},
		{Pairs{36, 2, 12, 0}, -.3404, -.0569},
	} {
		i, err := tc.Newcombe(0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("low of %+v", tc.Pairs), i.Low, tc.low, 5e-5)
		near(t, fmt.Sprintf("high of %+v", tc.Pairs), i.High, tc.high, 5e-5)
	}
	z := normal(0.95)
	for _, tc := range []struct{ a, na, b, nb, low, high float64 }{
		{56, 70, 48, 80, .0524, .3339},
		{9, 10, 3, 10, .1705, .8090},
		{6, 7, 2, 7, .0582, .8062},
	} {
		a, b := tc.a/tc.na, tc.b/tc.nb
		i := newcombe(a, b, wilson(a, tc.na, z, 0.95), wilson(b, tc.nb, z, 0.95), 0)
		near(t, "low of independent rates", i.Low, tc.low, 5e-5)
		near(t, "high of independent rates", i.High, tc.high, 5e-5)
	}
}

func TestPassK(t *testing.T) {
	for _, tc := range []struct {
		n, c, k int
		at, hat float64
	}{
		{5, 4, 1, .8, .8},
		{5, 4, 3, 1, .4},
		{5, 4, 5, 1, 0},
		{8, 6, 4, 1, .214286},
		{10, 9, 5, 1, .5},
		{10, 3, 5, .916667, 0},
		{1, 1, 1, 1, 1},
		{1, 0, 1, 0, 0},
		// C(2000, 1000) overflows a float64, and C(1999, 1000) is half of it.
		{2000, 1999, 1000, 1, .5},
	} {
		at, err := PassAt(tc.c, tc.n, tc.k)
		if err != nil {
			t.Fatal(err)
		}
		hat, err := PassHat(tc.c, tc.n, tc.k)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("pass@%d of %d/%d", tc.k, tc.c, tc.n), at, tc.at, 5e-7)
		near(t, fmt.Sprintf("pass^%d of %d/%d", tc.k, tc.c, tc.n), hat, tc.hat, 5e-7)
	}
}

func TestHolm(t *testing.T) {
	for _, tc := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{.04}, []float64{.04}},
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.6, .01, .7}, []float64{1, .03, 1}},
		{[]float64{.02, .02}, []float64{.04, .04}},
		// None is below the one before it.
		{[]float64{.02, .021, .3}, []float64{.06, .06, .3}},
	} {
		got, err := Holm(tc.p)
		if err != nil || len(got) != len(tc.want) {
			t.Fatalf("Holm(%v) = %v, %v", tc.p, got, err)
		}
		for i := range got {
			near(t, fmt.Sprintf("Holm(%v)[%d]", tc.p, i), got[i], tc.want[i], 1e-12)
		}
	}
}

// The tables of minimum detectable effects: two-sided 5 %, power 80 %.
func TestDesign(t *testing.T) {
	d := Design{Between: 1. / 9, WithinA: 1. / 6, WithinB: 1. / 6}
	attempts := []int{1, 3, 5, 10}
	for n, want := range map[int][]float64{
		20:   {.418, .295, .264, .238},
		50:   {.264, .187, .167, .151},
		100:  {.187, .132, .118, .106},
		200:  {.132, .093, .084, .075},
		500:  {.084, .059, .053, .048},
		1000: {.059, .042, .037, .034},
	} {
		for i, k := range attempts {
			got, err := d.MDE(n, k)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("MDE of %d scenarios, %d attempts", n, k), got, want[i], 5e-4)
		}
	}
	near(t, "the factor", factor(0.95, 0.8), 2.802, 5e-4)
	for k, want := range map[int]int{0: 969, 1: 3876} {
		got, err := d.Scenarios(0.03, k)
		if err != nil || got != want {
			t.Errorf("%d scenarios for 3 points with %d attempts (%v), want %d", got, k, err, want)
		}
	}
}

func TestDiscordantDesign(t *testing.T) {
	shares := []float64{.1, .2, .3}
	for n, want := range map[int][]float64{
		50:   {0, .173, .212},
		100:  {.088, .124, .152},
		200:  {.062, .088, .108},
		500:  {.040, .056, .068},
		1000: {.028, .040, .048},
	} {
		for i, psi := range shares {
			got, err := DiscordantDesign{Discordant: psi}.MDE(n)
			if want[i] == 0 {
				if !errors.Is(err, ErrTooFew) {
					t.Errorf("MDE of %d scenarios, %v discordant: %v, %v; want ErrTooFew", n, psi, got, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("MDE of %d scenarios, %v discordant", n, psi), got, want[i], 5e-4)
		}
	}
}
