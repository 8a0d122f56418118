// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
)

func TestCompareOnce(t *testing.T) {
	var a, b []string
	for _, g := range []struct {
		n    int
		a, b string
	}{{36, "p", "p"}, {12, "p", "f"}, {2, "f", "p"}} {
		a = append(a, slices.Repeat([]string{g.a}, g.n)...)
		b = append(b, slices.Repeat([]string{g.b}, g.n)...)
	}
	c := mustCompare(t, suite("a", a...), suite("b", b...), ScenariosInGeneral, nil)
	near(t, "low", c.Interval.Low, .0569, 5e-5)
	near(t, "high", c.Interval.High, .3404, 5e-5)
	near(t, "difference", c.Difference, .2, 1e-12)
	near(t, "rate of a", c.RateA, .96, 1e-12)
	near(t, "rate of b", c.RateB, .76, 1e-12)
	near(t, "p", c.P, 2*106./16384-91./16384, 1e-12) // of 14 flips 12 one way
	near(t, "standard error", c.SE, math.Sqrt((14-.2*.2*50)/49/50), 1e-12)
	mde, err := DiscordantDesign{Discordant: .28}.MDE(50)
	if err != nil || c.MDE != mde {
		t.Errorf("MDE %v, want %v, %v", c.MDE, mde, err)
	}
	// Pairs that neither passed count as well.
	a = slices.Concat(slices.Repeat([]string{"p"}, 20), slices.Repeat([]string{"p"}, 12), []string{"f", "f"}, slices.Repeat([]string{"f"}, 16))
	b = slices.Concat(slices.Repeat([]string{"p"}, 20), slices.Repeat([]string{"f"}, 12), []string{"p", "p"}, slices.Repeat([]string{"f"}, 16))
	neither := mustCompare(t, suite("a", a...), suite("b", b...), ScenariosInGeneral, nil)
	near(t, "low with pairs that neither passed", neither.Interval.Low, .0562, 5e-5)
	near(t, "high with pairs that neither passed", neither.Interval.High, .3292, 5e-5)

	if c.BetterA != 12 || c.BetterB != 2 || c.Equal != 36 || !c.Different || c.Method != MethodMcNemar || c.Adjusted != c.P || c.Scenarios != 50 {
		t.Errorf("%+v", c)
	}
	power, err := c.PowerAt(mde)
	near(t, "power at the MDE", power, 0.8, 1e-9)
	if err != nil {
		t.Error(err)
	}
}

// TestCompareUnequal: attempts that differ in number are warned of once, for
// both tables together.
func TestCompareUnequal(t *testing.T) {
	tests := []struct {
		name string
		a, b Table
		want string // the numbers; empty for no warning
	}{
		{"equal", suite("a", "pp", "pf"), suite("b", "pfp", "ffp"), ""},
		{"one", suite("a", "pp", "pf"), suite("b", "pfpf", "ffp"), "3 to 4"},
		{"both", suite("a", "pp", "pfp"), suite("b", "pfpf", "ffp"), "2 to 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, w := range mustCompare(t, tt.a, tt.b, ScenariosInGeneral, nil).Warnings {
				if numbers, ok := strings.CutPrefix(w, "scenarios have "); ok {
					numbers, _, _ = strings.Cut(numbers, " judged")
					got = append(got, numbers)
				}
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("warned of %q, want %q", got, tt.want)
			}
		})
	}
}

// Differences 1/2, 1/2, 0, 1/2: mean 3/8, squares of deviations 1/64 three times
// and 9/64.
func TestComparePairedT(t *testing.T) {
	a, b := suite("a", "pp", "pp", "pf", "pf"), suite("b", "pf", "fp", "fp", "ff")
	c := mustCompare(t, a, b, ScenariosInGeneral, nil)
	near(t, "difference", c.Difference, 3./8, 1e-12)
	near(t, "standard error", c.SE, math.Sqrt(12./64/3/4), 1e-12)
	const q = 3.182446305
	near(t, "low", c.Interval.Low, 3./8-q/8, 1e-9)
	near(t, "high", c.Interval.High, 3./8+q/8, 1e-9)
	near(t, "p", c.P, .0576689, 1e-6) // of t = 3 with 3 degrees of freedom
	near(t, "MDE", c.MDE, (q+.978472312)/8, 1e-9)
	if c.Different || c.Method != MethodPairedT || c.BetterA != 3 || c.Equal != 1 {
		t.Errorf("%+v", c)
	}
	power, err := c.PowerAt(3. / 8)
	near(t, "power", power, tcdf(3-q, 3)+tcdf(-3-q, 3), 1e-9)
	if err != nil {
		t.Error(err)
	}

	// The limits of a difference are -1 and 1.
	c = mustCompare(t, suite("a", "pp", "pp", "pp"), suite("b", "ff", "ff", "pf"), ScenariosInGeneral, nil)
	if c.Interval.High != 1 || !(c.Interval.Low > 0 && c.Interval.Low < c.Difference) {
		t.Errorf("interval %+v", c.Interval)
	}

	// Clusters: sums of deviations 1/4 and -1/4.
	a, b = suite("a", "x:pp", "x:pp", "y:pf", "y:pf"), suite("b", "x:pf", "x:fp", "y:fp", "y:ff")
	c = mustCompare(t, a, b, ScenariosInGeneral, nil)
	near(t, "standard error of two clusters", c.SE, math.Sqrt(2*(1./16+1./16)/16), 1e-12)
	// One attempt each, in clusters, is not McNemar's.
	c = mustCompare(t, suite("a", "x:p", "x:p", "y:f"), suite("b", "x:p", "x:f", "y:f"), ScenariosInGeneral, nil)
	if c.Method != MethodPairedT {
		t.Errorf("method %q", c.Method)
	}
	// One of both with more attempts is not either.
	c = mustCompare(t, suite("a", "p", "p", "f"), suite("b", "p", "pf", "f"), ScenariosInGeneral, nil)
	if c.Method != MethodPairedT {
		t.Errorf("method %q", c.Method)
	}
}

// tcdf is the distribution function of t with 3 degrees of freedom, in closed
// form.
func tcdf(x, df float64) float64 {
	if df != 3 {
		panic("only 3 degrees of freedom have this form")
	}
	return 0.5 + (x/math.Sqrt(3)/(1+x*x/3)+math.Atan(x/math.Sqrt(3)))/math.Pi
}

// Where all scenarios differ alike there is no standard error, and still no
// certainty.
func TestCompareAlike(t *testing.T) {
	for _, tc := range []struct {
		name      string
		a, b      string
		n         int
		p         float64
		low, high func(unseen float64) float64
		different bool
	}{
		{"the same", "ppf", "ppf", 10, 1, func(u float64) float64 { return -u }, func(u float64) float64 { return u }, false},
		{"all against nothing", "ppp", "fff", 10, 1. / 1024, func(u float64) float64 { return 1 - 2*u }, func(u float64) float64 { return 1 }, true},
		{"all against nothing, of three", "ppp", "fff", 3, 1. / 8, func(u float64) float64 { return 1 - 2*u }, func(u float64) float64 { return 1 }, false},
		{"a third less", "pff", "ppf", 10, 1. / 1024, func(u float64) float64 { return -1./3 - u*2/3 }, func(u float64) float64 { return -1./3 + u*4/3 }, false},
	} {
		c := mustCompare(t, suite("a", slices.Repeat([]string{tc.a}, tc.n)...), suite("b", slices.Repeat([]string{tc.b}, tc.n)...), ScenariosInGeneral, nil)
		q := student(0.95, float64(tc.n-1))
		u := q * q / (float64(tc.n) + q*q)
		near(t, tc.name+": low", c.Interval.Low, tc.low(u), 1e-12)
		near(t, tc.name+": high", c.Interval.High, tc.high(u), 1e-12)
		near(t, tc.name+": p", c.P, tc.p, 1e-12)
		if c.SE != 0 || c.Different != tc.different {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
}

func TestCompareFixed(t *testing.T) {
	a, b := suite("a", "pppf", "ppff", "pppp"), suite("b", "pfff", "ffff", "ppff")
	c := mustCompare(t, a, b, FixedSuite, nil)
	va := (3./16 + 1./4) / 3 / 9 // p(1-p)/(K-1), summed, by N²
	vb := (3./16 + 1./4) / 3 / 9
	near(t, "difference", c.Difference, .5, 1e-12)
	near(t, "standard error", c.SE, math.Sqrt(va+vb), 1e-12)
	df := (3./16 + 1./4) * (3./16 + 1./4) / (9./256 + 1./16) * 3
	near(t, "degrees of freedom", c.df, 2*df, 1e-9)
	q := student(0.95, 2*df)
	ia, ib := wilson(.75, max(12, .75*.25/va), q, 0.95), wilson(.25, max(12, .75*.25/vb), q, 0.95)
	near(t, "low", c.Interval.Low, .5-math.Hypot(.75-ia.Low, ib.High-.25), 1e-9)
	near(t, "high", c.Interval.High, .5+math.Hypot(ia.High-.75, .25-ib.Low), 1e-9)
	if c.Method != MethodNewcombe || !c.Different {
		t.Errorf("%+v", c)
	}
	// P is that of the widest interval without 0.
	for _, by := range []float64{-1e-6, 1e-6} {
		wide := mustCompare(t, a, b, FixedSuite, &Options{Level: 1 - c.P + by})
		if got, want := wide.Interval.Contains(0), by > 0; got != want {
			t.Errorf("p = %v, and the interval at level %v is %+v", c.P, 1-c.P+by, wide.Interval)
		}
	}
	same := mustCompare(t, a, a, FixedSuite, nil)
	if same.P != 1 || same.Different || same.Difference != 0 {
		t.Errorf("%+v", same)
	}
	// Nothing ever differed within a scenario, and there is still no certainty.
	sure := mustCompare(t, suite("a", "pp", "pp", "pp"), suite("b", "pp", "pp", "ff"), FixedSuite, nil)
	if sure.SE != 0 || !(sure.Interval.Low < 0 && sure.Interval.High > 1./3) || sure.Different || sure.df != 6 {
		t.Errorf("%+v", sure)
	}
}

func TestCompareLeavesOut(t *testing.T) {
	a := suite("a", "p", "e", "p", "f", "s")
	b := suite("b", "p", "p", "e", "f", "e", "p")
	b.Scenarios = append(b.Scenarios[:3:3], b.Scenarios[4:]...)
	b.Scenarios = append(b.Scenarios, Scenario{Name: "7", Attempts: []harness.Outcome{harness.OutcomeFailed}})
	a.Scenarios = append(a.Scenarios, Scenario{Name: "7", Attempts: []harness.Outcome{harness.OutcomePassed}})
	c := mustCompare(t, a, b, ScenariosInGeneral, nil)
	want := []LeftOut{
		{"2", `of "a": 0 of its attempts passed or failed, and 1 are needed`},
		{"5", `of "b": 0 of its attempts passed or failed, and 1 are needed`},
		{"3", `of "b": 0 of its attempts passed or failed, and 1 are needed`},
		{"4", `it is not in "b"`},
		{"6", `it is not in "a"`},
	}
	if diff := cmp.Diff(want, c.LeftOut); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if c.Scenarios != 2 || c.BetterA != 1 || c.Equal != 1 {
		t.Errorf("%+v", c)
	}
}

func TestBootstrap(t *testing.T) {
	var a, b []string
	for i := range 50 {
		a = append(a, []string{"ppp", "ppf"}[i%2])
		b = append(b, []string{"ppf", "ppf", "fff"}[i%3])
	}
	o := &Options{Resamples: 2000, Seed: 7}
	c := mustCompare(t, suite("a", a...), suite("b", b...), ScenariosInGeneral, o)
	again := mustCompare(t, suite("a", a...), suite("b", b...), ScenariosInGeneral, o)
	if *c.Bootstrap != *again.Bootstrap || c.Bootstrap.Seed != 7 || c.Bootstrap.Resamples != 2000 || c.Bootstrap.Interval.Level != 0.95 {
		t.Errorf("%+v, then %+v", c.Bootstrap, again.Bootstrap)
	}
	near(t, "low", c.Bootstrap.Interval.Low, c.Interval.Low, 0.01)
	near(t, "high", c.Bootstrap.Interval.High, c.Interval.High, 0.01)
	other := mustCompare(t, suite("a", a...), suite("b", b...), ScenariosInGeneral, &Options{Resamples: 2000, Seed: 8})
	if c.Bootstrap.Interval == other.Bootstrap.Interval {
		t.Error("another seed has the same interval")
	}
	if c.Warnings != nil {
		t.Errorf("warnings %q", c.Warnings)
	}
	few := mustCompare(t, suite("a", a[:49]...), suite("b", b[:49]...), ScenariosInGeneral, o)
	if len(few.Warnings) != 1 || !strings.Contains(few.Warnings[0], "needs about 50 independent scenarios, and there are 49") {
		t.Errorf("warnings %q", few.Warnings)
	}

	// Clusters are drawn as a whole: with one of twenty scenarios and ten of one
	// the means of resamples lie far apart.
	var ca, cb []string
	for i := range 30 {
		cluster := "x"
		if i >= 20 {
			cluster = strconv.Itoa(i)
		}
		ca = append(ca, cluster+":pp")
		cb = append(cb, cluster+":"+[]string{"pp", "ff"}[min(1, i/20)])
	}
	c = mustCompare(t, suite("a", ca...), suite("b", cb...), ScenariosInGeneral, o)
	if i := c.Bootstrap.Interval; !(i.Low < 0.2 && i.High == 1) {
		t.Errorf("clusters: %+v", i)
	}
}

func TestRank(t *testing.T) {
	passes := func(n int) []string {
		return append(slices.Repeat([]string{"ppp"}, n), slices.Repeat([]string{"fff"}, 40-n)...)
	}
	tables := []Table{suite("weak", passes(20)...), suite("good", passes(37)...), suite("best", passes(38)...), suite("dead", "eee", "ee"), suite("lone", slices.Concat(slices.Repeat([]string{"e"}, 45), []string{"p", "f"})...)}
	s, err := Rank(tables, ScenariosInGeneral, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Best != "best" || !slices.Equal(s.Tied, []string{"good", "lone"}) || s.Estimand != ScenariosInGeneral {
		t.Errorf("best %q, tied %q", s.Best, s.Tied)
	}
	if len(s.Pairs) != 3 || len(s.Uncompared) != 3 || s.Uncompared[0].A != "weak" || s.Uncompared[0].B != "lone" {
		t.Fatalf("%d pairs, uncompared %v", len(s.Pairs), s.Uncompared)
	}
	if len(s.LeftOut) != 1 || s.LeftOut[0].Name != "dead" {
		t.Errorf("left out %v", s.LeftOut)
	}
	var p []float64
	for _, c := range s.Pairs {
		p = append(p, c.P)
	}
	for i, want := range holm(p) {
		if s.Pairs[i].Adjusted != want {
			t.Errorf("pair %d: adjusted %v, want %v", i, s.Pairs[i].Adjusted, want)
		}
	}
	// It does not matter on which side of a pair the best stands.
	slices.Reverse(tables)
	s, err = Rank(tables, ScenariosInGeneral, nil)
	if err != nil || s.Best != "best" || !slices.Equal(s.Tied, []string{"lone", "good"}) {
		t.Errorf("best %q, tied %q, %v", s.Best, s.Tied, err)
	}
}

// A pair that differs by itself may not differ among many.
func TestRankCorrects(t *testing.T) {
	once := func(b, c int) (x, y []string) {
		for range b {
			x, y = append(x, "p"), append(y, "f")
		}
		for range c {
			x, y = append(x, "f"), append(y, "p")
		}
		for range 40 - b - c {
			x, y = append(x, "p"), append(y, "p")
		}
		return x, y
	}
	x, y := once(6, 0) // mid-p 0.0156
	a, b := suite("a", x...), suite("b", y...)
	if c := mustCompare(t, a, b, ScenariosInGeneral, nil); !c.Different {
		t.Fatalf("%+v", c)
	}
	s, err := Rank([]Table{a, b, suite("c", x...), suite("d", y...)}, ScenariosInGeneral, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Best != "a" || !slices.Equal(s.Tied, []string{"b", "c", "d"}) {
		t.Errorf("best %q, tied %q", s.Best, s.Tied)
	}
	for _, c := range s.Pairs {
		if c.Different {
			t.Errorf("%s and %s differ: %+v", c.A, c.B, c)
		}
	}
}
