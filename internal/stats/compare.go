// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison is what two tables say of each other on the scenarios of both.
type Comparison struct {
	A, B     string // the names of the tables
	Estimand Estimand
	Method   Method
	// RateA and RateB are means over the scenarios shared, and so need not be
	// the pass rates of the whole tables. Difference is RateA - RateB.
	RateA, RateB, Difference float64
	Interval                 Interval
	SE                       float64
	// P is the p-value of no difference, two-sided. Adjusted is P corrected for
	// the pairs that [Rank] or [Adjust] took together, and P itself before.
	P, Adjusted float64
	// Different says that Adjusted is at most 1 - level and the interval leaves
	// 0 out. Otherwise the two are tied: not shown to differ, nor to be equal.
	Different bool
	// MDE is the minimum detectable effect: the difference that a suite like
	// this one shows with the power of [Options], before any correction for
	// many pairs. 0 where even 1 would not be shown, with a warning.
	MDE float64
	// Scenarios and Clusters shared.
	Scenarios, Clusters int
	// BetterA, BetterB and Equal count scenarios by which mean is higher.
	BetterA, BetterB, Equal int
	// Bootstrap is nil unless [Options] ask for one.
	Bootstrap *Bootstrap
	LeftOut   []LeftOut
	Warnings  []string

	level, power float64
	df           float64 // of t; 0 for McNemar's test
}

// Compare compares two tables on the scenarios that have valid attempts in
// both.
//
// For [ScenariosInGeneral] with one attempt each it is [Pairs.McNemar]'s mid-p
// with [Pairs.Newcombe]'s interval. With more attempts, or with clusters, it is
// the paired t on the differences d of the scenarios' means, which pooling all
// attempts must not replace:
//
//	mean(d) ± t · SE,   SE² = C/(C-1) · Σ over clusters (Σ of (d_i - mean(d)))² / N²
//
// with C-1 degrees of freedom (Miller 2024). Where all d are one and the same
// SE is 0, and the interval is that of a share of scenarios, none of them seen,
// that might differ from it.
//
// For [FixedSuite] the trials of both are independent, and the interval is
// Newcombe's for independent rates, of those that [Table.PassRate] has for a
// fixed suite. P is that of the widest such interval that leaves 0 out.
func Compare(a, b Table, e Estimand, o *Options) (Comparison, error) {
	c, err := compare(a, b, e, o)
	if err != nil {
		return Comparison{}, fmt.Errorf("comparing %q with %q: %w", a.Name, b.Name, err)
	}
	return c, nil
}

func compare(a, b Table, e Estimand, o *Options) (Comparison, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return Comparison{}, err
	}
	least := 1
	switch e {
	case FixedSuite:
		least = 2
	case ScenariosInGeneral:
	default:
		return Comparison{}, unknownEstimand(e)
	}
	ra, rb, out, err := shared(a, b, least)
	if err != nil {
		return Comparison{}, err
	}
	of, n := clusters(ra)
	c := Comparison{
		A: a.Name, B: b.Name, Estimand: e, Scenarios: len(ra), Clusters: n, LeftOut: out,
		level: opts.Level, power: opts.Power,
	}
	switch {
	case e == FixedSuite && n == 0:
		return c, fmt.Errorf("%w: no scenario has 2 attempts of both that count, as %s needs", ErrTooFew, e)
	case e == ScenariosInGeneral && n < 2:
		return c, tooFewClusters(n, " shared")
	}
	c.Warnings = unequal(ra, rb)
	d := make([]float64, len(ra))
	for i := range ra {
		ma, mb := ra[i].mean(), rb[i].mean()
		c.RateA += ma
		c.RateB += mb
		switch d[i] = ma - mb; {
		case d[i] > 0:
			c.BetterA++
		case d[i] < 0:
			c.BetterB++
		default:
			c.Equal++
		}
	}
	c.RateA /= float64(len(ra)) // of what all passed, exactly 1
	c.RateB /= float64(len(ra))
	switch {
	case e == FixedSuite:
		c.fixed(fix(ra), fix(rb))
	case n == len(ra) && single(ra) && single(rb):
		c.Difference, c.SE = clustered(d, of, n)
		c.mcNemar(pairs(ra, rb))
	default:
		c.Difference, c.SE = clustered(d, of, n)
		c.pairedT()
	}
	if opts.Resamples > 0 {
		if e == FixedSuite {
			return c, fmt.Errorf("the bootstrap resamples scenarios and says nothing of %s", e)
		}
		c.Bootstrap = bootstrap(d, of, n, opts)
		if n < fewForBootstrap {
			c.Warnings = append(c.Warnings, fmt.Sprintf("the bootstrap needs about %d independent scenarios, and there are %d: its interval may be too narrow", fewForBootstrap, n))
		}
	}
	c.Adjusted = c.P
	c.decide()
	c.detectable()
	return c, nil
}

// shared are the rows of both tables, in the order of a, and what is in one
// alone.
func shared(a, b Table, least int) (ra, rb []row, out []LeftOut, err error) {
	left, outA, _, err := a.rows(least)
	if err != nil {
		return nil, nil, nil, err
	}
	right, outB, _, err := b.rows(least)
	if err != nil {
		return nil, nil, nil, err
	}
	reason := map[string]string{}
	for _, t := range []struct {
		name string
		out  []LeftOut
	}{{a.Name, outA}, {b.Name, outB}} {
		for _, o := range t.out {
			if _, ok := reason[o.Name]; !ok {
				out = append(out, o)
			}
			reason[o.Name] = fmt.Sprintf("of %q: %s", t.name, o.Reason)
		}
	}
	for i := range out {
		out[i].Reason = reason[out[i].Name]
	}
	at := map[string]row{}
	for _, r := range right {
		at[r.name] = r
	}
	for _, r := range left {
		other, ok := at[r.name]
		delete(at, r.name)
		switch {
		case !ok && reason[r.name] == "":
			out = append(out, LeftOut{r.name, fmt.Sprintf("it is not in %q", b.Name)})
		case ok && r.cluster != other.cluster:
			return nil, nil, nil, fmt.Errorf("scenario %q is in cluster %q of one and %q of the other", r.name, r.cluster, other.cluster)
		case ok:
			ra, rb = append(ra, r), append(rb, other)
		}
	}
	for _, r := range right {
		if _, ok := at[r.name]; ok && reason[r.name] == "" {
			out = append(out, LeftOut{r.name, fmt.Sprintf("it is not in %q", a.Name)})
		}
	}
	return ra, rb, out, nil
}

func pairs(ra, rb []row) Pairs {
	var p Pairs
	for i := range ra {
		switch a, b := ra[i].Passed == 1, rb[i].Passed == 1; {
		case a && b:
			p.Both++
		case a:
			p.OnlyA++
		case b:
			p.OnlyB++
		default:
			p.Neither++
		}
	}
	return p
}

func (c *Comparison) mcNemar(p Pairs) {
	c.Method = MethodMcNemar
	_, c.P = mcNemar(p.OnlyA, p.OnlyB)
	n, z := float64(p.N()), normal(c.level)
	c.Interval = newcombe(c.RateA, c.RateB, wilson(c.RateA, n, z, c.level), wilson(c.RateB, n, z, c.level), p.phi())
}

func (c *Comparison) pairedT() {
	c.Method = MethodPairedT
	c.df = float64(c.Clusters - 1)
	q, d := student(c.level, c.df), c.Difference
	if c.SE == 0 {
		unseen := q * q / (float64(c.Clusters) + q*q) // Wilson's limit of 0 seen
		c.Interval = Interval{d - unseen*(1+d), d + unseen*(1-d), c.level}
		if c.P = 1; d != 0 {
			_, c.P = mcNemar(c.Clusters, 0)
		}
		return
	}
	c.Interval = Interval{max(-1, d-q*c.SE), min(1, d+q*c.SE), c.level}
	c.P = tails(d/c.SE, c.df)
}

// tails is the chance of a t beyond the one given, on both sides.
func tails(t, df float64) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}

func (c *Comparison) fixed(a, b fixed) {
	c.Method = MethodNewcombe
	c.Difference = a.mean - b.mean
	c.SE = math.Hypot(a.se, b.se)
	c.df = a.df + b.df
	if c.SE > 0 {
		va, vb := a.se*a.se, b.se*b.se
		c.df = (va + vb) * (va + vb) / (va*va/a.df + vb*vb/b.df)
	}
	at := func(q float64) Interval {
		return newcombe(a.mean, b.mean, a.interval(q, c.level), b.interval(q, c.level), 0)
	}
	c.Interval = at(student(c.level, c.df))
	if c.Difference == 0 {
		c.P = 1
		return
	}
	// The interval widens with q, so the last q that leaves 0 out is found by
	// halving. Beyond 40 a p-value is 0 for every purpose.
	low, high := 0.0, 40.0
	for range 60 {
		if q := (low + high) / 2; at(q).Contains(0) {
			high = q
		} else {
			low = q
		}
	}
	c.P = tails(low, c.df)
}

func (c *Comparison) decide() {
	c.Different = c.Adjusted <= 1-c.level && !c.Interval.Contains(0)
}

// detectable fills in MDE.
func (c *Comparison) detectable() {
	mde, err := c.mde()
	if err != nil || mde > 1 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d scenarios are too few to show any difference with power %v", c.Scenarios, c.power))
		return
	}
	c.MDE = mde
}

func (c *Comparison) mde() (float64, error) {
	if c.df == 0 {
		return c.discordant().MDE(c.Scenarios)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: c.df}
	return (student(c.level, c.df) + t.Quantile(c.power)) * c.spread(), nil
}

// spread is the standard error that the width of the interval stands for, which
// has one where SE is 0.
func (c *Comparison) spread() float64 {
	return (c.Interval.High - c.Interval.Low) / 2 / student(c.level, c.df)
}

// discordant is the design with as many discordant pairs as there were, and one
// at least.
func (c *Comparison) discordant() DiscordantDesign {
	return DiscordantDesign{
		Discordant: float64(max(1, c.BetterA+c.BetterB)) / float64(c.Scenarios),
		Level:      c.level, Power: c.power,
	}
}

// PowerAt is the chance that a suite like this one shows a true difference, at
// the level of the comparison: what a gate must print beside its verdict.
func (c Comparison) PowerAt(difference float64) (float64, error) {
	if err := checkDifference(difference); err != nil {
		return 0, err
	}
	if c.level == 0 {
		return 0, fmt.Errorf("the comparison is not one that Compare or Rank made")
	}
	if c.df == 0 {
		return c.discordant().PowerAt(difference, c.Scenarios)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: c.df}
	q := student(c.level, c.df)
	shift := difference / c.spread()
	return t.CDF(shift-q) + t.CDF(-shift-q), nil
}
