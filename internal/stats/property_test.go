// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness"
)

var outcomes = rapid.SampledFrom([]harness.Outcome{
	harness.OutcomePassed, harness.OutcomePassed, harness.OutcomePassed, harness.OutcomeFailed, harness.OutcomeFailed, harness.OutcomeError, harness.OutcomeSkipped,
})

// tables draws two tables of scenarios that partly agree.
func tables(t *rapid.T) (a, b Table) {
	a.Name, b.Name = "a", "b"
	k := rapid.IntRange(1, 6).Draw(t, "K")
	inClusters := rapid.Bool().Draw(t, "clusters")
	for i := range rapid.IntRange(0, 15).Draw(t, "N") {
		s := Scenario{Name: strconv.Itoa(i)}
		if inClusters {
			s.Cluster = rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "cluster")
		}
		attempts := rapid.SliceOfN(outcomes, 0, k)
		if rapid.IntRange(0, 9).Draw(t, "in a") > 0 {
			s.Attempts = attempts.Draw(t, "of a")
			a.Scenarios = append(a.Scenarios, s)
		}
		if rapid.IntRange(0, 9).Draw(t, "in b") > 0 {
			s.Attempts = attempts.Draw(t, "of b")
			b.Scenarios = append(b.Scenarios, s)
		}
	}
	return a, b
}

// finite fails where a result holds a number that is none.
func finite(t *rapid.T, v any) {
	t.Helper()
	walk(reflect.ValueOf(v), func(x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("%v in %+v", x, v)
		}
	})
}

func walk(v reflect.Value, f func(float64)) {
	switch v.Kind() {
	case reflect.Float64:
		f(v.Float())
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	}
}

// few reports whether there is a result; the only error allowed is ErrTooFew.
func few(t *rapid.T, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, ErrTooFew) {
		t.Fatal(err)
	}
	return err != nil
}

func TestRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := tables(t)
		level := rapid.Float64Range(0.5, 0.99).Draw(t, "level")
		check := func(estimate func(o *Options) (Rate, error)) Rate {
			r, err := estimate(&Options{Level: level})
			if few(t, err) {
				return Rate{}
			}
			finite(t, r)
			if i := r.Interval; !(0 <= i.Low && i.Low <= r.Value && r.Value <= i.High && i.High <= 1) || i.Level != level {
				t.Fatalf("%+v", r)
			}
			wide, err := estimate(&Options{Level: level + 0.005})
			if err != nil {
				t.Fatal(err)
			}
			if wide.Interval.Low > r.Interval.Low || wide.Interval.High < r.Interval.High {
				t.Fatalf("%+v holds less at %v: %+v", r, level+0.005, wide)
			}
			if r.Interval.High == r.Interval.Low {
				t.Fatalf("certainty: %+v", r)
			}
			return r
		}
		for _, e := range []Estimand{FixedSuite, ScenariosInGeneral} {
			check(func(o *Options) (Rate, error) { return a.PassRate(e, o) })
		}
		rate := check(func(o *Options) (Rate, error) { return a.PassRate(ScenariosInGeneral, o) })
		at := check(func(o *Options) (Rate, error) { return a.PassAt(1, o) })
		hat := check(func(o *Options) (Rate, error) { return a.PassHat(1, o) })
		if math.Abs(rate.Value-at.Value) > 1e-12 || math.Abs(rate.Value-hat.Value) > 1e-12 || math.Abs(rate.Interval.Low-hat.Interval.Low) > 1e-9 {
			t.Fatalf("pass rate %+v, pass@1 %+v, pass^1 %+v", rate, at, hat)
		}
		at = check(func(o *Options) (Rate, error) { return a.PassAt(3, o) })
		hat = check(func(o *Options) (Rate, error) { return a.PassHat(3, o) })
		if hat.Value > at.Value {
			t.Fatalf("pass^3 %+v above pass@3 %+v", hat, at)
		}
		if v, err := a.Variance(); !few(t, err) {
			finite(t, v)
		}
	})
}

func TestComparisons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tables(t)
		for _, e := range []Estimand{FixedSuite, ScenariosInGeneral} {
			o := &Options{Level: rapid.Float64Range(0.5, 0.99).Draw(t, "level")}
			if e == ScenariosInGeneral {
				o.Resamples = 100
			}
			c, err := Compare(a, b, e, o)
			if few(t, err) {
				continue
			}
			finite(t, c)
			i := c.Interval
			if !(-1 <= i.Low && i.Low <= c.Difference+1e-12 && c.Difference-1e-12 <= i.High && i.High <= 1) || i.Low == i.High {
				t.Fatalf("%+v", c)
			}
			if !(c.P > 0 && c.P <= 1) || c.MDE < 0 || c.MDE > 1 || math.Abs(c.RateA-c.RateB-c.Difference) > 1e-12 {
				t.Fatalf("%+v", c)
			}
			if c.Different && i.Contains(0) {
				t.Fatalf("different, and the interval holds 0: %+v", c)
			}
			// The paired t and the fixed suite agree with their intervals.
			if c.Method != MethodMcNemar && c.SE > 0 && !c.Different && !i.Contains(0) && c.P < 1-o.Level-1e-9 {
				t.Fatalf("not different, and the interval leaves 0 out: %+v", c)
			}
			back, err := Compare(b, a, e, o)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(back.Difference+c.Difference)+math.Abs(back.Interval.Low+i.High)+math.Abs(back.P-c.P) > 1e-9 || back.BetterA != c.BetterB {
				t.Fatalf("%+v, and the other way about %+v", c, back)
			}
			for _, delta := range []float64{0.01, 0.3, 1} {
				if p, err := c.PowerAt(delta); err != nil || !(p >= 0 && p <= 1+1e-9) {
					t.Fatalf("power %v at %v, %v", p, delta, err)
				}
			}
			if p, _ := c.PowerAt(max(c.MDE, 1e-9)); c.MDE > 0 && p < 0.8-1e-9 {
				t.Fatalf("power %v at the MDE of %+v", p, c)
			}
		}
		s, err := Rank([]Table{a, b}, ScenariosInGeneral, nil)
		if !few(t, err) {
			finite(t, s)
		}
		if d, err := DesignOf(a, b); !few(t, err) {
			finite(t, d)
		}
	})
}

// Neither the order of scenarios and attempts, nor errors and skips, change what
// a table says.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tables(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		other := Table{Name: a.Name, Scenarios: slices.Clone(a.Scenarios)}
		r.Shuffle(len(other.Scenarios), func(i, j int) {
			other.Scenarios[i], other.Scenarios[j] = other.Scenarios[j], other.Scenarios[i]
		})
		for i := range other.Scenarios {
			s := &other.Scenarios[i]
			s.Attempts = append(slices.Clone(s.Attempts), harness.OutcomeError, harness.OutcomeSkipped)
			r.Shuffle(len(s.Attempts), func(i, j int) { s.Attempts[i], s.Attempts[j] = s.Attempts[j], s.Attempts[i] })
		}
		for _, e := range []Estimand{FixedSuite, ScenariosInGeneral} {
			one, err := a.PassRate(e, nil)
			two, err2 := other.PassRate(e, nil)
			if (err == nil) != (err2 == nil) || math.Abs(one.Interval.Low-two.Interval.Low)+math.Abs(one.Interval.High-two.Interval.High) > 1e-9 || one.Counts.Valid() != two.Counts.Valid() {
				t.Fatalf("%+v, %v; then %+v, %v", one, err, two, err2)
			}
			c, err := Compare(a, b, e, nil)
			d, err2 := Compare(other, b, e, nil)
			if (err == nil) != (err2 == nil) || math.Abs(c.P-d.P)+math.Abs(c.Interval.Low-d.Interval.Low) > 1e-9 {
				t.Fatalf("%+v, %v; then %+v, %v", c, err, d, err2)
			}
		}
	})
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		got, err := Holm(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			if got[i] < p[i] || got[i] > 1 || got[i] > float64(len(p))*p[i] && !slices.ContainsFunc(p, func(x float64) bool { return x < p[i] }) {
				t.Fatalf("Holm(%v) = %v", p, got)
			}
			for j := range p {
				if p[i] < p[j] && got[i] > got[j] {
					t.Fatalf("Holm(%v) = %v", p, got)
				}
			}
		}
	})
}

// Sizes, effects, attempts and powers of a design are inverse to each other.
func TestDesigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Design{
			Between: rapid.Float64Range(0.001, 1).Draw(t, "between"),
			WithinA: rapid.Float64Range(0, 0.25).Draw(t, "within a"), WithinB: rapid.Float64Range(0, 0.25).Draw(t, "within b"),
			Level: rapid.Float64Range(0.5, 0.999).Draw(t, "level"), Power: rapid.Float64Range(0.5, 0.999).Draw(t, "power"),
		}
		delta, k := rapid.Float64Range(0.001, 1).Draw(t, "difference"), rapid.IntRange(1, 20).Draw(t, "K")
		n, err := d.Scenarios(delta, k)
		if err != nil {
			t.Fatal(err)
		}
		mde, err := d.MDE(n, k)
		if err != nil || mde > delta*(1+1e-9) {
			t.Fatalf("%d scenarios for %v, and their MDE is %v, %v", n, delta, mde, err)
		}
		if less, err := d.MDE(n-1, k); n > 2 && (err != nil || less < delta*(1-1e-9)) {
			t.Fatalf("%d scenarios for %v, and the MDE of one less is %v, %v", n, delta, less, err)
		}
		if mde <= 1 {
			both, err := d.PowerAt(mde, n, k)
			if far := 1 - d.Power; err != nil || both < d.Power-1e-9 || both > d.Power+min(far, (1-d.Level)/2)+1e-9 {
				t.Fatalf("power %v at the MDE, want %v, %v", both, d.Power, err)
			}
		}
		enough, err := d.Attempts(delta, n)
		if err != nil || enough > k {
			t.Fatalf("%d scenarios need %d attempts and %v, not %d", n, enough, err, k)
		}
		least, err := d.Scenarios(delta, 0)
		if err != nil || least > n {
			t.Fatalf("%d scenarios without noise, %d with, %v", least, n, err)
		}
	})
}

// Whatever two models did with two attempts or more at two scenarios, there is a
// plan for it, of variances that can be and are no larger than what was measured.
func TestEveryRunHasAPlan(t *testing.T) {
	check := func(t rapid.TB, found Design) {
		d := found.Bounded()
		if d.Between > found.Between || d.WithinA > found.WithinA || d.WithinB > found.WithinB || d.Bounded() != d {
			t.Fatalf("%+v is bounded to %+v", found, d)
		}
		plans, err := d.Plan(Wish{Difference: 0.1, Attempts: []int{1, 3}})
		if err != nil || len(plans) != 2 {
			t.Fatalf("%v, %v", plans, err)
		}
		if _, err := d.MDE(20, 3); err != nil {
			t.Fatal(err)
		}
		if power, err := d.PowerAt(0.1, 20, 3); err != nil || !(power >= 0 && power <= 1) {
			t.Fatalf("power %v, %v", power, err)
		}
	}
	// Estimates above what a variance can be are rare among tables that are drawn.
	for _, pair := range [][2]Table{
		{suite("a", "pf", "pf"), suite("b", "pf", "fp")},
		{suite("a", "pp", "ff"), suite("b", "ff", "pp")},
		{suite("a", "pf", "pf"), suite("b", "pp", "ff")},
	} {
		found, err := DesignOf(pair[0], pair[1])
		if err != nil || found == found.Bounded() {
			t.Fatalf("%+v, %v: want an estimate above its bound", found, err)
		}
		check(t, found)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := tables(t)
		found, err := DesignOf(a, b)
		if few(t, err) {
			return
		}
		finite(t, found)
		check(t, found)
	})
}

func TestDiscordantDesigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := DiscordantDesign{
			Discordant: rapid.Float64Range(0.001, 1).Draw(t, "discordant"),
			Level:      rapid.Float64Range(0.5, 0.999).Draw(t, "level"), Power: rapid.Float64Range(0.5, 0.999).Draw(t, "power"),
		}
		delta := d.Discordant * rapid.Float64Range(0.01, 1).Draw(t, "difference")
		n, err := d.Scenarios(delta)
		if err != nil {
			t.Fatal(err)
		}
		mde, err := d.MDE(n)
		if err != nil || mde > delta*(1+1e-6) {
			t.Fatalf("%d scenarios for %v, and their MDE is %v, %v", n, delta, mde, err)
		}
		if n > 2 && mde < d.Discordant*(1-1e-9) {
			if p, err := d.PowerAt(mde, n); err != nil || math.Abs(p-d.Power) > 1e-6 {
				t.Fatalf("power %v at the MDE, want %v, %v", p, d.Power, err)
			}
		}
	})
}
