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

// suite makes a table of scenarios 1, 2, ... from their attempts: p passed, f
// failed, e error, s skipped. A text "cluster:pf" puts a scenario in a cluster.
func suite(name string, attempts ...string) Table {
	t := Table{Name: name}
	for i, text := range attempts {
		s := Scenario{Name: strconv.Itoa(i + 1)}
		if cluster, rest, ok := strings.Cut(text, ":"); ok {
			s.Cluster, text = cluster, rest
		}
		for _, c := range text {
			s.Attempts = append(s.Attempts, map[rune]harness.Outcome{
				'p': harness.OutcomePassed, 'f': harness.OutcomeFailed, 'e': harness.OutcomeError, 's': harness.OutcomeSkipped,
			}[c])
		}
		t.Scenarios = append(t.Scenarios, s)
	}
	return t
}

func mustRate(t *testing.T, r Rate, err error) Rate {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPassRateOnceWarns(t *testing.T) {
	for _, tc := range []struct {
		passed, failed int
		want           string
	}{
		{10, 4, "the rate is close to 1 for 14 scenarios with one attempt: the interval may be too narrow"},
		{4, 10, "the rate is close to 0 for 14 scenarios with one attempt: the interval may be too narrow"},
		{15, 5, ""},
		{10, 0, ""},
		{0, 10, ""},
	} {
		r, err := suite("m", slices.Concat(slices.Repeat([]string{"p"}, tc.passed), slices.Repeat([]string{"f"}, tc.failed))...).PassRate(ScenariosInGeneral, nil)
		if got := strings.Join(mustRate(t, r, err).Warnings, "; "); got != tc.want {
			t.Errorf("%d of %d: %q, want %q", tc.passed, tc.passed+tc.failed, got, tc.want)
		}
	}
}

func mustCompare(t *testing.T, a, b Table, e Estimand, o *Options) Comparison {
	t.Helper()
	c, err := Compare(a, b, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPassRateOnce(t *testing.T) {
	attempts := slices.Repeat([]string{"p"}, 18)
	r, err := suite("m", append(attempts, "f", "f", "e", "s")...).PassRate(ScenariosInGeneral, nil)
	mustRate(t, r, err)
	near(t, "low", r.Interval.Low, .6990, 5e-5)
	near(t, "high", r.Interval.High, .9721, 5e-5)
	near(t, "standard error", r.SE, math.Sqrt(.9*.1/19), 1e-12)
	r.Interval, r.SE = Interval{}, 0
	want := Rate{
		Measure: "pass rate", Estimand: ScenariosInGeneral, Method: MethodWilson, Value: .9, EffectiveN: 20,
		Counts: Counts{Passed: 18, Failed: 2, Errors: 1, Skipped: 1}, Scenarios: 20, Clusters: 20,
		LeftOut: []LeftOut{
			{"21", "0 of its attempts passed or failed, and 1 are needed"},
			{"22", "0 of its attempts passed or failed, and 1 are needed"},
		},
		Warnings: []string{"the rate is close to 1 for 20 scenarios with one attempt: the interval may be too narrow"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// Means 1, 1, 1/2, 0: p = 5/8, squares of deviations 9/64, 9/64, 1/64, 25/64.
func TestPassRateClustered(t *testing.T) {
	table := suite("m", "pp", "pp", "pf", "ff")
	r, err := table.PassRate(ScenariosInGeneral, nil)
	mustRate(t, r, err)
	se2 := 44. / 64 * 4 / 3 / 16
	near(t, "value", r.Value, 5./8, 1e-12)
	near(t, "standard error", r.SE, math.Sqrt(se2), 1e-12)
	near(t, "effective n", r.EffectiveN, 5./8*3/8/se2, 1e-12)
	const q = 3.182446305 // of t with 3 degrees of freedom
	want := wilson(5./8, 5./8*3/8/se2, q, 0.95)
	near(t, "low", r.Interval.Low, want.Low, 1e-9)
	near(t, "high", r.Interval.High, want.High, 1e-9)
	if r.Method != MethodWilsonClustered || r.Clusters != 4 {
		t.Errorf("method %q, %d clusters", r.Method, r.Clusters)
	}

	// Scenarios 1 and 2 as one cluster, 3 and 4 as another: sums of deviations
	// 3/4 and -3/4.
	table = suite("m", "x:pp", "x:pp", "y:pf", "y:ff")
	r, err = table.PassRate(ScenariosInGeneral, nil)
	mustRate(t, r, err)
	near(t, "standard error of two clusters", r.SE, math.Sqrt(2*(9./16+9./16)/16), 1e-12)
	if r.Clusters != 2 || r.Scenarios != 4 {
		t.Errorf("%d clusters of %d scenarios", r.Clusters, r.Scenarios)
	}

	// One attempt each, in clusters, is not Wilson's plain interval.
	r, err = suite("m", "x:p", "x:p", "y:f", "z:p").PassRate(ScenariosInGeneral, nil)
	if mustRate(t, r, err); r.Method != MethodWilsonClustered {
		t.Errorf("method %q", r.Method)
	}
	// A scenario that is called like a cluster is not in it.
	table = suite("m", "2:pp", "pf", "2:ff")
	r, err = table.PassRate(ScenariosInGeneral, nil)
	if mustRate(t, r, err); r.Clusters != 2 {
		t.Errorf("%d clusters, want 2", r.Clusters)
	}
}

func TestEffectiveN(t *testing.T) {
	for _, tc := range []struct {
		name     string
		attempts []string
		want     float64
	}{
		{"all passed: the clusters", []string{"ppp", "ppp", "ppp"}, 3},
		{"all failed: the clusters", []string{"fff", "fff", "fff"}, 3},
		{"all alike: the attempts", []string{"pppf", "ppfp", "pfpp", "fppp", "pppf", "pppf"}, 24},
		{"all alike the other way: the attempts", []string{"fffp", "ffpf", "fpff", "pfff", "fffp", "fffp"}, 24},
		{"all alike, too few that failed: the clusters", []string{"pppf", "ppfp", "pfpp", "fppp", "pppf"}, 5},
		{"all alike, too few that passed: the clusters", []string{"fffp", "ffpf", "fpff", "pfff", "fffp"}, 5},
		{"less spread than by chance: the attempts", []string{"ppff", "pppf", "ppff", "pfff"}, 16},
		{"too few that failed: the clusters", []string{"pppp", "pppp", "pppp", "ppff"}, 4}, // and not 7
		{"all or nothing: clusters less 1", []string{"ppp", "ppp", "fff"}, 2},
	} {
		r, err := suite("m", tc.attempts...).PassRate(ScenariosInGeneral, nil)
		near(t, tc.name, mustRate(t, r, err).EffectiveN, tc.want, 1e-9)
	}
}

// Means 1, 1/2, 1/3 of 2, 2 and 3 attempts.
func TestPassRateUnequal(t *testing.T) {
	r, err := suite("m", "ppe", "pfs", "pff").PassRate(ScenariosInGeneral, nil)
	mustRate(t, r, err)
	near(t, "value", r.Value, (1+1./2+1./3)/3, 1e-12)
	want := []string{
		"scenarios have 2 to 3 judged attempts, and each scenario weighs the same: the rate is the mean over scenarios, not the share of trials that passed",
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if want := (Counts{4, 3, 1, 1}); r.Counts != want {
		t.Errorf("counts %+v, want %+v", r.Counts, want)
	}
	near(t, "attempts", attempts([]row{{Counts: Counts{Passed: 2}}, {Counts: Counts{Passed: 2}}, {Counts: Counts{Failed: 3}}}), 9/(1./2+1./2+1./3), 1e-12)
}

// Means 2/3, 1, 1/2 of 3, 3 and 2 attempts: variances of means 1/9, 0, 1/4.
func TestPassRateFixed(t *testing.T) {
	r, err := suite("m", "ppf", "ppp", "pf", "pe").PassRate(FixedSuite, nil)
	mustRate(t, r, err)
	v := 1./9 + 1./4
	near(t, "value", r.Value, 13./18, 1e-12)
	near(t, "standard error", r.SE, math.Sqrt(v)/3, 1e-12)
	near(t, "effective n", r.EffectiveN, max(9/(1./3+1./3+1./2), 13./18*5/18/(v/9)), 1e-12)
	df := v * v / (1./81/2 + 1./16)
	near(t, "degrees of freedom", fix([]row{
		{Counts: Counts{Passed: 2, Failed: 1}}, {Counts: Counts{Passed: 3}}, {Counts: Counts{Passed: 1, Failed: 1}},
	}).df, df, 1e-12)
	want := wilson(13./18, r.EffectiveN, student(0.95, df), 0.95)
	if r.Interval != want || r.Method != MethodWilsonWithin || r.Estimand != FixedSuite {
		t.Errorf("%+v, want the interval %+v", r, want)
	}
	if diff := cmp.Diff([]LeftOut{{"4", "1 of its attempts passed or failed, and 2 are needed"}}, r.LeftOut); diff != "" {
		t.Error("(-want +got)", diff)
	}

	// Nothing ever differed: as if all attempts were independent.
	r, err = suite("m", "ppp", "fff").PassRate(FixedSuite, nil)
	mustRate(t, r, err)
	if want := wilson(.5, 6, student(0.95, 4), 0.95); r.Interval != want || r.SE != 0 || r.EffectiveN != 6 {
		t.Errorf("%+v, want the interval %+v", r, want)
	}
	// Scenarios that are never in doubt make the whole more certain.
	r, err = suite("m", "ppp", "fff", "ppp", "fff", "pff").PassRate(FixedSuite, nil)
	if mustRate(t, r, err); !(r.EffectiveN > 15) {
		t.Errorf("effective n %v, want more than 15", r.EffectiveN)
	}
}

func TestPassKOfTable(t *testing.T) {
	table := suite("m", "pppf", "ppff", "pppp", "pe")
	at, err := table.PassAt(2, nil)
	mustRate(t, at, err)
	hat, err := table.PassHat(2, nil)
	mustRate(t, hat, err)
	near(t, "pass@2", at.Value, (1+5./6+1)/3, 1e-12)
	near(t, "pass^2", hat.Value, (1./2+1./6+1)/3, 1e-12)
	// Deviations from 5/9 are -1/18, -7/18 and 8/18.
	near(t, "standard error of pass^2", hat.SE, math.Sqrt((1.+49+64)/324/2/3), 1e-12)
	if at.Measure != "pass@2" || hat.Measure != "pass^2" {
		t.Errorf("measures %q and %q", at.Measure, hat.Measure)
	}
	if want := []LeftOut{{"4", "1 of its attempts passed or failed, and 2 are needed"}}; !slices.Equal(want, hat.LeftOut) {
		t.Errorf("left out %v, want %v", hat.LeftOut, want)
	}
	// k attempts are one trial of pass^k: no more than 4/4 a scenario.
	hat, err = suite("m", "pppf", "ppfp", "pfpp").PassHat(4, nil)
	if mustRate(t, hat, err); hat.EffectiveN != 3 {
		t.Errorf("effective n of pass^4 is %v, want 3", hat.EffectiveN)
	}
	hat, err = suite("m", "pppf", "ppfp", "pfpp", "fppp").PassHat(2, nil)
	if mustRate(t, hat, err); hat.EffectiveN != 8 {
		t.Errorf("effective n of pass^2 is %v, want 8", hat.EffectiveN)
	}
}

// Where no difference can be shown there is no MDE, and it is said.
func TestNoMDE(t *testing.T) {
	c := mustCompare(t, suite("a", "p", "f", "p"), suite("b", "p", "p", "p"), ScenariosInGeneral, nil)
	if want := []string{"3 scenarios are too few to show any difference with power 0.8"}; c.MDE != 0 || !slices.Equal(c.Warnings, want) {
		t.Errorf("MDE %v, warnings %q", c.MDE, c.Warnings)
	}
	c = mustCompare(t, suite("a", "pp", "pf"), suite("b", "ff", "pp"), ScenariosInGeneral, nil)
	if c.MDE != 0 || len(c.Warnings) != 1 {
		t.Errorf("MDE %v, warnings %q", c.MDE, c.Warnings)
	}
	// Two models of which none ever differed: as if one pair had.
	c = mustCompare(t, suite("a", slices.Repeat([]string{"p"}, 50)...), suite("b", slices.Repeat([]string{"p"}, 50)...), ScenariosInGeneral, nil)
	if c.MDE != 0 {
		t.Errorf("MDE %v", c.MDE)
	}
	// With enough difference all is seen.
	power, err := c.PowerAt(1)
	if power != 1 || err != nil {
		t.Errorf("power %v, %v", power, err)
	}
	power, err = c.PowerAt(0.02)
	if !(power > 0 && power < 0.2) || err != nil {
		t.Errorf("power %v, %v", power, err)
	}
}

// The limits of what is allowed are allowed.
func TestLimits(t *testing.T) {
	for _, level := range []float64{0.5, 0.999999} {
		if _, err := Wilson(1, 2, level); err != nil {
			t.Error(err)
		}
	}
	for _, v := range []float64{0, 0.25} {
		if _, err := (Design{Between: 4 * v, WithinA: v, WithinB: v}).MDE(1, 1); err != nil {
			t.Error(err)
		}
	}
	if _, err := (Design{}).Scenarios(1, 1); err != nil {
		t.Error(err)
	}
	if _, err := (DiscordantDesign{Discordant: 1}).Scenarios(1); err != nil {
		t.Error(err)
	}
	if got, err := (Design{}).Plan(Wish{Difference: 1, Attempts: []int{1}, Models: 1}); err != nil || got[0].Trials != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := DesignOf(suite("a", "pp", "pf"), suite("b", "pp", "pf")); err != nil {
		t.Error(err)
	}
	if _, err := suite("a", "pp", "pf").Variance(); err != nil {
		t.Error(err)
	}
	if _, err := Holm([]float64{0, 1}); err != nil {
		t.Error(err)
	}
	mustCompare(t, suite("a", "pp", "pf"), suite("b", "pp", "pf"), ScenariosInGeneral, &Options{Resamples: 100})
	mustCompare(t, suite("a", "pp"), suite("b", "pf"), FixedSuite, nil)
	i := Interval{Low: 0.25, High: 0.5}
	if !i.Contains(0.25) || !i.Contains(0.5) || i.Contains(0.2) || i.Contains(0.6) {
		t.Errorf("%+v does not hold what it should", i)
	}
}
