// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Variance is where the noise of a mean over scenarios comes from (Miller
// 2024):
//
//	Var(mean) = (Between + Within/K) / N
//
// More attempts lessen the second part alone.
type Variance struct {
	// Within is the mean variance of single attempts at one scenario, p(1-p).
	// Between is the variance of the scenarios' true values: of pass rates, or
	// of differences. Both are estimated without bias; where Between would come
	// out below 0 it is 0.
	Within, Between float64
	// Scenarios that they rest on, each with two valid attempts at least, and
	// the harmonic mean of these.
	Scenarios int
	Attempts  float64
}

// Variance splits the variance of the table's pass rate. Scenarios with fewer
// than two valid attempts are passed over.
func (t Table) Variance() (Variance, error) {
	rows, _, _, err := t.rows(2)
	if err != nil {
		return Variance{}, err
	}
	if len(rows) < 2 {
		return Variance{}, fmt.Errorf("variance of %q: %w: %d scenarios have 2 attempts that count, and 2 are needed", t.Name, ErrTooFew, len(rows))
	}
	means := make([]float64, len(rows))
	for i, r := range rows {
		means[i] = r.mean()
	}
	within, noise := noise(rows)
	return Variance{
		Within: within, Between: max(0, stat.Variance(means, nil)-noise),
		Scenarios: len(rows), Attempts: attempts(rows) / float64(len(rows)),
	}, nil
}

// noise is the mean variance within rows, of attempts and of means of them.
func noise(rows []row) (attempt, mean float64) {
	n := float64(len(rows))
	for _, r := range rows {
		attempt += r.within() / n
		mean += r.within() / r.n() / n
	}
	return attempt, mean
}

// Design is a comparison to be made: what varies, and how sure it must be. The
// scenarios are a sample ([ScenariosInGeneral]), the test is two-sided.
//
//	δ = (z_level + z_power) · √((ω² + σ²_A/K + σ²_B/K) / N)
//
// with δ the difference, 2.802 before the root at the defaults (Miller 2024).
type Design struct {
	// Between is ω², the variance over scenarios of the true difference.
	Between float64
	// WithinA and WithinB are σ², the mean variances of single attempts.
	WithinA, WithinB float64
	// Level and Power as in [Options]; 0 means 0.95 and 0.8.
	Level, Power float64
}

// DesignOf estimates the variances of a design without bias from two tables, on
// the scenarios that have two valid attempts in both. See [Design.Bounded].
func DesignOf(a, b Table) (Design, error) {
	ra, rb, _, err := shared(a, b, 2)
	if err != nil {
		return Design{}, err
	}
	if len(ra) < 2 {
		return Design{}, fmt.Errorf("design of %q and %q: %w: %d scenarios have 2 attempts of both that count, and 2 are needed", a.Name, b.Name, ErrTooFew, len(ra))
	}
	d := make([]float64, len(ra))
	for i := range ra {
		d[i] = ra[i].mean() - rb[i].mean()
	}
	wa, na := noise(ra)
	wb, nb := noise(rb)
	return Design{Between: max(0, stat.Variance(d, nil)-na-nb), WithinA: wa, WithinB: wb}, nil
}

// The most that variances can be: of differences, which lie between -1 and 1, and
// of attempts that pass or fail.
const (
	mostBetween = 1
	mostWithin  = 0.25
)

// Bounded is the nearest design that can be. An estimate without bias may lie
// above what any variance is, as 1/2 of two attempts that differ does; what it
// estimates does not, so that the bound is nearer to that in every case.
func (d Design) Bounded() Design {
	d.Between, d.WithinA, d.WithinB = min(d.Between, mostBetween), min(d.WithinA, mostWithin), min(d.WithinB, mostWithin)
	return d
}

func (d Design) check() (Design, error) {
	for _, v := range []struct {
		name  string
		value float64
		most  float64
	}{{"variance between scenarios", d.Between, mostBetween}, {"variance within scenarios of the first model", d.WithinA, mostWithin}, {"variance within scenarios of the second model", d.WithinB, mostWithin}} {
		if !(v.value >= 0 && v.value <= v.most) {
			return d, fmt.Errorf("%s is %v: want 0 to %v", v.name, v.value, v.most)
		}
	}
	return d, levels(&d.Level, &d.Power)
}

// levels fills in defaults and looks at what was given.
func levels(level, power *float64) error {
	o, err := (&Options{Level: *level, Power: *power}).withDefaults()
	*level, *power = o.Level, o.Power
	return err
}

func checkDifference(delta float64) error {
	if !(delta > 0 && delta <= 1) {
		return fmt.Errorf("difference %v: want a number above 0 and at most 1, such as 0.05 for 5 points", delta)
	}
	return nil
}

func checkNumber(what string, n int) error {
	if n < 1 {
		return fmt.Errorf("%d %s: want at least 1", n, what)
	}
	return nil
}

// factor is z_level + z_power, of which 2.802 is that of the defaults.
func factor(level, power float64) float64 {
	return normal(level) + distuv.UnitNormal.Quantile(power)
}

// perScenario is the variance of one scenario's difference with k attempts of
// each model; 0 stands for attempts without end.
func (d Design) perScenario(k int) float64 {
	if k == 0 {
		return d.Between
	}
	return d.Between + (d.WithinA+d.WithinB)/float64(k)
}

// MDE is the minimum detectable effect of n scenarios with k attempts each.
func (d Design) MDE(n, k int) (float64, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkNumber("scenarios", n), checkNumber("attempts", k)); err != nil {
		return 0, err
	}
	return factor(d.Level, d.Power) * math.Sqrt(d.perScenario(k)/float64(n)), nil
}

// Scenarios is how many show a difference with k attempts each; k = 0 stands for
// attempts without end, below whose number no k helps. It is 2 at least.
func (d Design) Scenarios(difference float64, k int) (int, error) {
	d, err := d.check()
	if k < 0 {
		err = cmp.Or(err, checkNumber("attempts", k))
	}
	if err := cmp.Or(err, checkDifference(difference)); err != nil {
		return 0, err
	}
	f := factor(d.Level, d.Power) / difference
	return whole(f * f * d.perScenario(k))
}

// whole is the number of scenarios that n stands for.
func whole(n float64) (int, error) {
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("%.3g scenarios are more than anyone has", n)
	}
	return max(2, int(math.Ceil(n-1e-9))), nil // 100.0000000001 is 100
}

// Attempts is how many a scenario show a difference with n scenarios.
// [ErrTooFew] says that no number does.
func (d Design) Attempts(difference float64, n int) (int, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkDifference(difference), checkNumber("scenarios", n)); err != nil {
		return 0, err
	}
	f := difference / factor(d.Level, d.Power)
	room := float64(n)*f*f - d.Between
	within := d.WithinA + d.WithinB
	if room*math.MaxInt32 < within {
		return 0, fmt.Errorf("%w: no number of attempts shows a difference of %v with %d scenarios", ErrTooFew, difference, n)
	}
	if within == 0 {
		return 1, nil
	}
	return max(1, int(math.Ceil(within/room-1e-9))), nil
}

// PowerAt is the chance that n scenarios with k attempts each show a difference.
func (d Design) PowerAt(difference float64, n, k int) (float64, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkDifference(difference), checkNumber("scenarios", n), checkNumber("attempts", k)); err != nil {
		return 0, err
	}
	if d.perScenario(k) == 0 {
		return 1, nil
	}
	z := normal(d.Level)
	shift := difference / math.Sqrt(d.perScenario(k)/float64(n))
	return distuv.UnitNormal.CDF(shift-z) + distuv.UnitNormal.CDF(-shift-z), nil
}

// Wish is what [Design.Plan] plans for.
type Wish struct {
	// Difference to be shown, above 0.
	Difference float64
	// Attempts are the numbers of attempts a scenario to plan with.
	Attempts []int
	// Models that play the suite; 0 means 2.
	Models int
	// TrialCost is the price of one trial of one model, and ScenarioCost that of
	// one scenario, once. In any currency.
	TrialCost, ScenarioCost float64
}

// Plan is one way to have a [Wish].
type Plan struct {
	Scenarios, Attempts int
	Trials              int // of all models
	Cost                float64
}

// Plan says how many scenarios each number of attempts needs, and what that
// costs. Counting trials alone one attempt is always the cheapest: more pay off
// where scenarios are few or dear.
func (d Design) Plan(w Wish) ([]Plan, error) {
	models := cmp.Or(w.Models, 2)
	switch {
	case models < 1:
		return nil, fmt.Errorf("%d models: want at least 1", models)
	case !(w.TrialCost >= 0 && w.ScenarioCost >= 0) || math.IsInf(w.TrialCost+w.ScenarioCost, 0):
		return nil, fmt.Errorf("cost %v a trial and %v a scenario: want at least 0", w.TrialCost, w.ScenarioCost)
	}
	var plans []Plan
	for _, k := range w.Attempts {
		if err := checkNumber("attempts", k); err != nil {
			return nil, err
		}
		n, err := d.Scenarios(w.Difference, k)
		if err != nil {
			return nil, err
		}
		trials := n * k * models
		plans = append(plans, Plan{n, k, trials, float64(trials)*w.TrialCost + float64(n)*w.ScenarioCost})
	}
	return plans, nil
}

// DiscordantDesign is a comparison with one attempt a scenario, of which
// nothing is known but how many scenarios will be passed by one of the two
// models alone:
//
//	N = (z_level·√ψ + z_power·√(ψ-δ²))² / δ²
//
// (Connor 1987).
type DiscordantDesign struct {
	// Discordant is ψ, the share of such scenarios, above 0. No difference is
	// larger.
	Discordant float64
	// Level and Power as in [Options]; 0 means 0.95 and 0.8.
	Level, Power float64
}

func (d DiscordantDesign) check() (DiscordantDesign, error) {
	if !(d.Discordant > 0 && d.Discordant <= 1) {
		return d, fmt.Errorf("share of discordant pairs %v: want a number above 0 and at most 1", d.Discordant)
	}
	return d, levels(&d.Level, &d.Power)
}

// scenarios is Connor's formula.
func (d DiscordantDesign) scenarios(delta float64) float64 {
	zl, zp := normal(d.Level), distuv.UnitNormal.Quantile(d.Power)
	root := (zl*math.Sqrt(d.Discordant) + zp*math.Sqrt(d.Discordant-delta*delta)) / delta
	return root * root
}

// Scenarios is how many show a difference.
func (d DiscordantDesign) Scenarios(difference float64) (int, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkDifference(difference)); err != nil {
		return 0, err
	}
	if difference > d.Discordant {
		return 0, fmt.Errorf("a difference of %v with %v of the pairs discordant: it cannot be larger than these", difference, d.Discordant)
	}
	return whole(d.scenarios(difference))
}

// MDE is the minimum detectable effect of n scenarios. [ErrTooFew] says that
// there is none: even if one model passed all discordant pairs n were too few.
func (d DiscordantDesign) MDE(n int) (float64, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkNumber("scenarios", n)); err != nil {
		return 0, err
	}
	low, high := 0.0, d.Discordant
	if d.scenarios(high) > float64(n) {
		return 0, fmt.Errorf("%w: %d scenarios with %v of the pairs discordant show no difference", ErrTooFew, n, d.Discordant)
	}
	for range 60 { // fewer scenarios show larger differences
		if mid := (low + high) / 2; d.scenarios(mid) > float64(n) {
			low = mid
		} else {
			high = mid
		}
	}
	return high, nil
}

// PowerAt is the chance that n scenarios show a difference.
func (d DiscordantDesign) PowerAt(difference float64, n int) (float64, error) {
	d, err := d.check()
	if err := cmp.Or(err, checkDifference(difference), checkNumber("scenarios", n)); err != nil {
		return 0, err
	}
	// Of a difference that is larger than all discordant pairs, these are as
	// many as the difference at least.
	psi := max(d.Discordant, difference)
	rest := math.Sqrt(psi - difference*difference)
	shift := difference*math.Sqrt(float64(n)) - normal(d.Level)*math.Sqrt(psi)
	if rest == 0 {
		if shift > 0 {
			return 1, nil
		}
		return 0, nil
	}
	return distuv.UnitNormal.CDF(shift / rest), nil
}
