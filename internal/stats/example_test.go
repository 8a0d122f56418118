// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package stats_test

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// table is a suite of which each line is a scenario with its attempts.
func table(name, lines string) stats.Table {
	t := stats.Table{Name: name}
	for line := range strings.Lines(lines) {
		scenario, marks, _ := strings.Cut(strings.TrimSpace(line), " ")
		s := stats.Scenario{Name: scenario}
		for _, mark := range marks {
			s.Attempts = append(s.Attempts, map[rune]harness.Outcome{
				'+': harness.OutcomePassed, '-': harness.OutcomeFailed, '!': harness.OutcomeError,
			}[mark])
		}
		t.Scenarios = append(t.Scenarios, s)
	}
	return t
}

const small = `refund +++
cancel +-+
search +++
booking ---
weather +++
units ++-
route +++
invoice -+-
mail +++
calendar +!+`

const large = `refund +++
cancel +++
search +++
booking +++
weather +++
units +++
route +++
invoice +++
mail +++
calendar +++`

func ExampleTable_PassRate() {
	t := table("small", small)
	for _, e := range []stats.Estimand{stats.FixedSuite, stats.ScenariosInGeneral} {
		r, err := t.PassRate(e, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f %% [%.1f, %.1f] for %s\n", 100*r.Value, 100*r.Interval.Low, 100*r.Interval.High, r.Estimand)
	}
	// Output:
	// 76.7 % [60.3, 87.7] for this fixed suite
	// 76.7 % [46.9, 92.4] for scenarios in general
}

func ExampleTable_PassHat() {
	t := table("small", small)
	for k := 1; k <= 3; k++ {
		r, err := t.PassHat(k, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %.1f %% over %d scenarios\n", r.Measure, 100*r.Value, r.Scenarios)
		for _, l := range r.LeftOut {
			fmt.Printf("without %s: %s\n", l.Name, l.Reason)
		}
	}
	// Output:
	// pass^1 76.7 % over 10 scenarios
	// pass^2 66.7 % over 10 scenarios
	// pass^3 55.6 % over 9 scenarios
	// without calendar: 2 of its attempts passed or failed, and 3 are needed
}

func ExampleCompare() {
	c, err := stats.Compare(table("large", large), table("small", small), stats.ScenariosInGeneral, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s - %s = %+.1f points [%+.1f, %+.1f], p = %.3f, different: %t\n",
		c.A, c.B, 100*c.Difference, 100*c.Interval.Low, 100*c.Interval.High, c.P, c.Different)
	fmt.Printf("a suite like this shows %.0f points with power 80 %%\n", 100*c.MDE)
	// Output:
	// large - small = +23.3 points [-1.9, +48.6], p = 0.066, different: false
	// a suite like this shows 35 points with power 80 %
}

func ExampleRank() {
	s, err := stats.Rank([]stats.Table{table("small", small), table("large", large)}, stats.ScenariosInGeneral, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("best:", s.Best, "tied with it:", s.Tied)
	// Output: best: large tied with it: [small]
}

func ExampleWilson() {
	i, err := stats.Wilson(18, 20, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("[%.4f, %.4f]\n", i.Low, i.High)
	// Output: [0.6990, 0.9721]
}

func ExampleDesign_Plan() {
	d := stats.Design{Between: 1. / 9, WithinA: 1. / 6, WithinB: 1. / 6}
	plans, err := d.Plan(stats.Wish{Difference: 0.1, Attempts: []int{1, 3, 5}, TrialCost: 0.01})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range plans {
		fmt.Printf("%d scenarios with %d attempts: %d trials, $%.2f\n", p.Scenarios, p.Attempts, p.Trials, p.Cost)
	}
	// Output:
	// 349 scenarios with 1 attempts: 698 trials, $6.98
	// 175 scenarios with 3 attempts: 1050 trials, $10.50
	// 140 scenarios with 5 attempts: 1400 trials, $14.00
}
