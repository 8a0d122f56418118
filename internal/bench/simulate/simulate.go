// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// world is where suites come from: the true pass rates of two models at a
// scenario that is drawn.
type world struct {
	name   string
	draw   func(r *rand.Rand) (a, b float64)
	ratesA float64 // the mean of a
	gap    float64 // the mean of a - b
}

// The mean rate and the sum of the parameters of the beta distribution of
// scenarios, for which pooled intervals at K = 5 cover what they do in the
// literature: few scenarios are of middling difficulty.
const (
	rate   = 0.8
	spread = 2
)

func beta(r *rand.Rand, mean float64) float64 {
	return distuv.Beta{Alpha: mean * spread, Beta: (1 - mean) * spread, Src: r}.Rand()
}

// worlds are those that a comparison must get right.
func worlds() []world {
	return []world{
		{"equal at each scenario", func(r *rand.Rand) (a, b float64) {
			p := beta(r, rate)
			return p, p
		}, rate, 0},
		{"equal on average alone", func(r *rand.Rand) (a, b float64) {
			return beta(r, rate), beta(r, rate)
		}, rate, 0},
		{"10 points apart", func(r *rand.Rand) (a, b float64) {
			p := beta(r, rate)
			return p, p * (rate - 0.1) / rate
		}, rate, 0.1},
	}
}

// near is a world whose rate is close to 1.
func near(mean float64) world {
	return world{fmt.Sprintf("equal, at a rate of %v", mean), func(r *rand.Rand) (a, b float64) {
		p := beta(r, mean)
		return p, p
	}, mean, 0}
}

// setting is one row: a world, and suites of n scenarios with k attempts.
type setting struct {
	world
	n, k int
	held held
}

// held says which bounds a row is held to.
type held int

const (
	toAll held = iota
	// toRate leaves out all but rates of scenarios in general and false alarms:
	// near 1 the intervals of differences are too wide.
	toRate
	toNone
)

// settings are the rows of the table.
func settings() []setting {
	var out []setting
	add := func(w world, to held, sizes, attempts []int) {
		for _, n := range sizes {
			for _, k := range attempts {
				out = append(out, setting{w, n, k, to})
			}
		}
	}
	usual := []int{20, 50, 100}
	for _, w := range worlds() {
		add(w, toAll, usual, []int{1, 3, 5})
	}
	add(near(0.95), toRate, usual, []int{3, 5})
	add(near(0.95), toNone, usual, []int{1})
	add(worlds()[0], toNone, []int{5, 10}, []int{1, 3, 5})
	return out
}

// share counts how often something was so. The zero value is a share of
// nothing, which is not shown.
type share struct{ yes, of int }

func (s *share) add(yes bool) {
	s.of++
	if yes {
		s.yes++
	}
}

func (s share) value() float64 { return float64(s.yes) / float64(s.of) }

func (s share) String() string {
	if s.of == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*s.value(), 'f', 1, 64)
}

// slack is the error of the simulation itself that is allowed for: two standard
// errors of a share of that many suites. Without it one row in many would be out
// of bounds by luck.
func slack(bound float64, suites int) float64 {
	return 2 * math.Sqrt(bound*(1-bound)/float64(suites))
}

// row is what the suites of one setting showed.
type row struct {
	setting
	general, fixed columns
	pooled         share // called different when all attempts are pooled
	boot           share // coverage of the bootstrap
}

// columns are what is counted for one estimand.
type columns struct {
	rate, difference share // coverage
	different        share // called different
	null             bool  // and wrongly so
}

// bounds of what is counted.
const (
	leastCover, mostCover = 0.94, 0.98
	mostAlarms            = 0.06
)

// wrong says what is out of bounds.
func (r row) wrong() []string {
	var out []string
	for _, e := range []struct {
		name string
		columns
	}{{"in general", r.general}, {"fixed suite", r.fixed}} {
		switch {
		case r.held == toNone:
			continue
		case r.held == toRate && e.name == "in general":
			e.difference = share{}
		case r.held == toRate:
			e.rate, e.difference = share{}, share{}
		}
		for _, c := range []struct {
			name string
			share
		}{{"rate", e.rate}, {"difference", e.difference}} {
			v := c.value()
			if c.of > 0 && (v < leastCover-slack(leastCover, c.of) || v > mostCover+slack(mostCover, c.of)) {
				out = append(out, fmt.Sprintf("%s, N = %d, K = %d, %s: %s %% of the intervals of the %s hold the true value, want %.0f to %.0f",
					r.name, r.n, r.k, e.name, c.share, c.name, 100*leastCover, 100*mostCover))
			}
		}
		if d := e.different; e.null && d.of > 0 && d.value() > mostAlarms+slack(mostAlarms, d.of) {
			out = append(out, fmt.Sprintf("%s, N = %d, K = %d, %s: %s %% of the pairs are called different, want at most %.0f",
				r.name, r.n, r.k, e.name, d, 100*mostAlarms))
		}
	}
	return out
}

// simulate plays suites of one setting. The seed and the number of the row say
// all that is drawn.
func simulate(s setting, suites int, seed, number uint64) (row, error) {
	r := rand.New(rand.NewPCG(seed, number))
	out := row{setting: s}
	out.general.null = s.gap == 0
	out.fixed.null = s.gap == 0 && s.name != worlds()[1].name
	a, b := table("a", s.n, s.k), table("b", s.n, s.k)
	for range suites {
		var meanA, meanB float64
		for i := range s.n {
			pa, pb := s.draw(r)
			meanA += pa / float64(s.n)
			meanB += pb / float64(s.n)
			play(r, a.Scenarios[i].Attempts, pa)
			play(r, b.Scenarios[i].Attempts, pb)
		}
		if err := out.general.see(a, b, stats.ScenariosInGeneral, s.ratesA, s.gap); err != nil {
			return out, err
		}
		if s.k > 1 {
			if err := out.fixed.see(a, b, stats.FixedSuite, meanA, meanA-meanB); err != nil {
				return out, err
			}
		}
		out.pooled.add(pooled(a, b))
		if s.n >= 50 && s.k > 1 {
			c, err := stats.Compare(a, b, stats.ScenariosInGeneral, &stats.Options{Resamples: 500, Seed: r.Uint64()})
			if err != nil {
				return out, err
			}
			out.boot.add(c.Bootstrap.Interval.Contains(s.gap))
		}
	}
	return out, nil
}

func (c *columns) see(a, b stats.Table, e stats.Estimand, rate, difference float64) error {
	r, err := a.PassRate(e, nil)
	if err != nil {
		return err
	}
	d, err := stats.Compare(a, b, e, nil)
	if err != nil {
		return err
	}
	c.rate.add(r.Interval.Contains(rate))
	c.difference.add(d.Interval.Contains(difference))
	c.different.add(d.Different)
	return nil
}

func table(name string, n, k int) stats.Table {
	t := stats.Table{Name: name}
	for i := range n {
		t.Scenarios = append(t.Scenarios, stats.Scenario{Name: strconv.Itoa(i), Attempts: make([]harness.Outcome, k)})
	}
	return t
}

func play(r *rand.Rand, attempts []harness.Outcome, p float64) {
	for i := range attempts {
		if attempts[i] = harness.OutcomeFailed; r.Float64() < p {
			attempts[i] = harness.OutcomePassed
		}
	}
}

// pooled is the test that rehearse does not make: of two proportions, as if all
// attempts were independent.
func pooled(a, b stats.Table) bool {
	pa, n := passed(a)
	pb, _ := passed(b)
	p := (pa + pb) / 2
	if p == 0 || p == 1 {
		return false
	}
	return math.Abs(pa-pb)/math.Sqrt(2*p*(1-p)/n) > distuv.UnitNormal.Quantile(0.975)
}

func passed(t stats.Table) (share, n float64) {
	for _, s := range t.Scenarios {
		for _, o := range s.Attempts {
			if n++; o == harness.OutcomePassed {
				share++
			}
		}
	}
	return share / n, n
}

// simulateAll plays all settings, some at a time.
func simulateAll(all []setting, suites int, seed uint64, workers int) ([]row, error) {
	rows, errs := make([]row, len(all)), make([]error, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				rows[i], errs[i] = simulate(all[i], suites, seed, uint64(i))
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("simulating %s, N = %d, K = %d: %w", all[i].name, all[i].n, all[i].k, err)
		}
	}
	return rows, nil
}
