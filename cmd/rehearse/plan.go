// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// planFlags are what a plan is made for.
type planFlags struct {
	difference   float64
	scenarios    []int
	attempts     []int
	discordant   []float64
	pair         []string
	design       stats.Design
	models       int
	trialCost    float64
	scenarioCost float64
	json         bool
}

func planCommand(p *process) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "plan [RUN]",
		Short: "Plan how many scenarios and attempts a comparison needs",
		Long: `plan tells how large a suite must be to show that two models differ. It plays
nothing. Differences are shares of 1: 0.05 is 5 points.

  --difference alone   the scenarios and trials that each number of attempts needs
  --scenarios alone    the smallest difference that suites of these sizes show
  both                 the power: how likely such suites show that difference

The answers depend on how much scenarios and attempts vary. RUN is the folder of a
run to measure that in, with two attempts or more of two models. Of a run with
one attempt each, the share of scenarios that only one model passed is measured.
Without RUN the variances are assumed, or given with --between and --within.

The test is two-sided and treats scenarios as a sample of all that might be
written. docs/statistics.md has the formulas and their sources.`,
		Example: `  rehearse plan --difference 0.05 --trial-cost 0.01
  rehearse plan --scenarios 50,100,200 --attempts 1,5
  rehearse plan --scenarios 100 --difference 0.1
  rehearse plan --discordant 0.1,0.2 --difference 0.05
  rehearse plan runs/20260102-150405-gemflux --difference 0.05`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return plan(cmd, p, args, flags)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&flags.difference, "difference", 0, "difference of two pass rates to be shown, such as 0.05")
	f.IntSliceVar(&flags.scenarios, "scenarios", nil, "numbers of scenarios, separated by commas")
	f.IntSliceVar(&flags.attempts, "attempts", []int{1, 3, 5, 10}, "numbers of attempts at each scenario by each model")
	f.Float64SliceVar(&flags.discordant, "discordant", nil, "plan for one attempt by the share of scenarios that only one of the two models will pass")
	f.StringSliceVar(&flags.pair, "pair", nil, "the two `models` of RUN to measure, where it has more than two")
	f.Float64Var(&flags.design.Between, "between", 1.0/9, "variance of the true difference between scenarios, 0 to 1; over that of RUN")
	f.Float64Var(&flags.design.WithinA, "within", 1.0/6, "variance of single attempts at one scenario, p(1-p), 0 to 0.25; over that of RUN")
	f.IntVar(&flags.models, "models", 2, "models that play the suite, for the number of trials and the cost")
	f.Float64Var(&flags.trialCost, "trial-cost", 0, "price of one trial of one model, in any currency")
	f.Float64Var(&flags.scenarioCost, "scenario-cost", 0, "price of writing one scenario")
	f.Float64Var(&flags.design.Level, "level", 0.95, "1 minus the chance of calling equal models different")
	f.Float64Var(&flags.design.Power, "power", 0.8, "chance of showing the difference")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

// planned is what is printed. Which of the rows' members are set depends on
// what was asked.
type planned struct {
	Estimand   stats.Estimand `json:"estimand"`
	Level      float64        `json:"level"`
	Power      float64        `json:"power"`
	Models     int            `json:"models"`
	Difference float64        `json:"difference,omitempty"`
	// Basis says what the numbers rest on, in words; Variance is nil for a plan
	// by discordant pairs.
	Basis    string        `json:"basis"`
	Variance *planVariance `json:"variance,omitempty"`
	Rows     []planRow     `json:"rows"`
}

type planVariance struct {
	Between float64 `json:"between"`
	WithinA float64 `json:"within_a"`
	WithinB float64 `json:"within_b"`
}

// planRow is one size of a suite. Zero members do not apply.
type planRow struct {
	Scenarios int `json:"scenarios"`
	// Attempts is 0 for attempts without end.
	Attempts   int     `json:"attempts"`
	Discordant float64 `json:"discordant,omitempty"`
	// Detectable is nil where the suite is too small to show any difference.
	Detectable *float64 `json:"detectable_difference,omitempty"`
	Power      *float64 `json:"power,omitempty"`
	Trials     int      `json:"trials,omitempty"`
	Cost       float64  `json:"cost,omitempty"`
}

func plan(cmd *cobra.Command, p *process, args []string, flags planFlags) error {
	err := checkFlags(cmd,
		rule{"difference", flags.difference > 0 && flags.difference <= 1, "more than 0 and at most 1, such as 0.05 for 5 points"},
		rule{"scenarios", positive(flags.scenarios), "numbers from 1, such as 50,100"},
		rule{"attempts", positive(flags.attempts), "numbers from 1, such as 1,3,5"},
		rule{"discordant", !slices.ContainsFunc(flags.discordant, func(x float64) bool { return !(x > 0 && x <= 1) }), "shares above 0 and at most 1, such as 0.1"},
		rule{"pair", len(flags.pair) == 2 && len(args) == 1, "two models of a RUN, such as small,large"},
		rule{"models", flags.models >= 1, "at least 1"},
		rule{"level", flags.design.Level >= 0.5 && flags.design.Level <= 0.999999, "0.5 to 0.999999"},
		rule{"power", flags.design.Power >= 0.5 && flags.design.Power <= 0.999999, "0.5 to 0.999999"},
		rule{"between", flags.design.Between >= 0 && flags.design.Between <= 1, "0 to 1"},
		rule{"within", flags.design.WithinA >= 0 && flags.design.WithinA <= 0.25, "0 to 0.25"},
		rule{"trial-cost", flags.trialCost >= 0 && flags.trialCost < 1e12, "at least 0"},
		rule{"scenario-cost", flags.scenarioCost >= 0 && flags.scenarioCost < 1e12, "at least 0"},
	)
	if err != nil {
		return err
	}
	if flags.difference == 0 && len(flags.scenarios) == 0 {
		return fmt.Errorf("%s needs --difference, --scenarios, or both\nfor example:\n%s", cmd.CommandPath(), cmd.Example)
	}
	flags.design.WithinB = flags.design.WithinA
	basis := "assumed"
	if cmd.Flags().Changed("between") || cmd.Flags().Changed("within") {
		basis = "as given"
	}
	switch by := len(flags.discordant) > 0; {
	case by && (len(args) > 0 || basis != "assumed" || cmd.Flags().Changed("attempts")):
		return errors.New("--discordant says all that a plan for one attempt needs: leave RUN, --attempts, --between and --within out")
	case by:
		basis = "as given"
	case len(args) > 0:
		if basis, err = measure(cmd, args[0], &flags); err != nil {
			return err
		}
	}
	out := planned{
		Estimand: stats.ScenariosInGeneral, Level: flags.design.Level, Power: flags.design.Power,
		Models: flags.models, Difference: flags.difference, Basis: basis,
	}
	if len(flags.discordant) > 0 {
		out.Rows, err = flags.discordantRows()
	} else {
		d := flags.design
		out.Variance = &planVariance{d.Between, d.WithinA, d.WithinB}
		out.Rows, err = flags.rows()
	}
	if err != nil {
		return err
	}
	if flags.json {
		return printJSON(p.stdout, out)
	}
	return out.write(p.stdout, &flags)
}

func positive(list []int) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(n int) bool { return n < 1 || n > 1_000_000_000 })
}

// measure takes the variances from a run, but for those that flags give, and
// says in words what it took.
func measure(cmd *cobra.Command, dir string, flags *planFlags) (basis string, err error) {
	tables, err := loadTables(dir)
	if err != nil {
		return "", err
	}
	a, b, err := pairOf(tables, flags.pair, dir)
	if err != nil {
		return "", err
	}
	given := ""
	if cmd.Flags().Changed("between") || cmd.Flags().Changed("within") {
		given = ", but for what was given"
	}
	measured, err := stats.DesignOf(a, b)
	if errors.Is(err, stats.ErrTooFew) && given == "" && !cmd.Flags().Changed("attempts") {
		c, cerr := stats.Compare(a, b, stats.ScenariosInGeneral, nil)
		if cerr == nil && c.Method == stats.MethodMcNemar && c.Equal < c.Scenarios {
			flags.discordant = []float64{float64(c.Scenarios-c.Equal) / float64(c.Scenarios)}
			return fmt.Sprintf("measured in %s, of %s and %s on %s with one attempt each", dir, a.Name, b.Name, prose.Count(c.Scenarios, "scenario")), nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("measuring %q: %w", dir, err)
	}
	if !cmd.Flags().Changed("between") {
		flags.design.Between = measured.Between
	}
	if !cmd.Flags().Changed("within") {
		flags.design.WithinA, flags.design.WithinB = measured.WithinA, measured.WithinB
	}
	basis = fmt.Sprintf("measured in %s, of %s and %s%s", dir, a.Name, b.Name, given)
	asMeasured := flags.design
	flags.design = flags.design.Bounded()
	for _, v := range []struct {
		name        string
		found, used float64
	}{
		{"between scenarios", asMeasured.Between, flags.design.Between},
		{"within those of " + a.Name, asMeasured.WithinA, flags.design.WithinA},
		{"within those of " + b.Name, asMeasured.WithinB, flags.design.WithinB},
	} {
		if v.found > v.used+1e-9 {
			basis += fmt.Sprintf("; the estimate %s is %.4g, and a variance there is at most %v", v.name, v.found, v.used)
		}
	}
	return basis, nil
}

// rows plan with attempts.
func (f *planFlags) rows() (rows []planRow, err error) {
	if len(f.scenarios) == 0 {
		plans, err := f.design.Plan(stats.Wish{
			Difference: f.difference, Attempts: f.attempts, Models: f.models, TrialCost: f.trialCost, ScenarioCost: f.scenarioCost,
		})
		if err != nil {
			return nil, err
		}
		for _, p := range plans {
			rows = append(rows, planRow{Scenarios: p.Scenarios, Attempts: p.Attempts, Trials: p.Trials, Cost: p.Cost})
		}
		least, err := f.design.Scenarios(f.difference, 0)
		return append(rows, planRow{Scenarios: least}), err
	}
	for _, n := range f.scenarios {
		for _, k := range f.attempts {
			row := f.priced(planRow{Scenarios: n, Attempts: k})
			mde, err := f.design.MDE(n, k)
			if err != nil {
				return nil, err
			}
			if mde <= 1 {
				row.Detectable = &mde
			}
			if f.difference > 0 {
				power, err := f.design.PowerAt(f.difference, n, k)
				if err != nil {
					return nil, err
				}
				row.Power = &power
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// discordantRows plan for one attempt.
func (f *planFlags) discordantRows() (rows []planRow, err error) {
	sizes := f.scenarios
	if len(sizes) == 0 {
		sizes = []int{0} // to be found
	}
	for _, n := range sizes {
		for _, share := range f.discordant {
			d := stats.DiscordantDesign{Discordant: share, Level: f.design.Level, Power: f.design.Power}
			row := planRow{Scenarios: n, Attempts: 1, Discordant: share}
			if n == 0 {
				if row.Scenarios, err = d.Scenarios(f.difference); err != nil {
					return nil, err
				}
				rows = append(rows, f.priced(row))
				continue
			}
			mde, err := d.MDE(n)
			switch {
			case err == nil:
				row.Detectable = &mde
			case !errors.Is(err, stats.ErrTooFew):
				return nil, err
			}
			if f.difference > 0 {
				power, err := d.PowerAt(f.difference, n)
				if err != nil {
					return nil, err
				}
				row.Power = &power
			}
			rows = append(rows, f.priced(row))
		}
	}
	return rows, nil
}

func (f *planFlags) priced(r planRow) planRow {
	r.Trials = r.Scenarios * r.Attempts * f.models
	r.Cost = float64(r.Trials)*f.trialCost + float64(r.Scenarios)*f.scenarioCost
	return r
}

// write prints a plan as text.
func (p *planned) write(w io.Writer, f *planFlags) error {
	test := fmt.Sprintf("two-sided test at level %s, for %s", prose.Percent(p.Level), p.Estimand)
	switch sizes := len(f.scenarios) > 0; {
	case !sizes:
		fmt.Fprintf(w, "to show a difference of %v with power %s; %s\n", p.Difference, prose.Percent(p.Power), test)
	case p.Difference == 0:
		fmt.Fprintf(w, "smallest difference shown with power %s; %s\n", prose.Percent(p.Power), test)
	default:
		fmt.Fprintf(w, "power to show a difference of %v; %s\n", p.Difference, test)
	}
	if v := p.Variance; v != nil {
		fmt.Fprintf(w, "variance %.4g between scenarios, %.4g and %.4g within: %s\n\n", v.Between, v.WithinA, v.WithinB, p.Basis)
	} else {
		fmt.Fprintf(w, "share of scenarios that only one model passes: %s\n\n", p.Basis)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(f.scenarios) > 0 {
		p.grid(t, f)
	} else {
		p.list(t, f)
	}
	return t.Flush()
}

// list has a line for each way to have what was wished.
func (p *planned) list(w io.Writer, f *planFlags) {
	head := []string{"attempts", "scenarios", "trials of " + prose.Count(p.Models, "model")}
	if p.Variance == nil {
		head[0] = "only one passes"
	}
	priced := f.trialCost > 0 || f.scenarioCost > 0
	if priced {
		head = append(head, "cost")
	}
	line(w, head)
	for _, r := range p.Rows {
		cells := []string{strconv.Itoa(r.Attempts), strconv.Itoa(r.Scenarios), strconv.Itoa(r.Trials)}
		switch {
		case p.Variance == nil:
			cells[0] = fmt.Sprintf("%.3g", r.Discordant)
		case r.Attempts == 0:
			cells[0], cells[2] = "no limit", "-"
		}
		if priced && r.Attempts > 0 {
			cells = append(cells, strconv.FormatFloat(r.Cost, 'f', 2, 64))
		} else if priced {
			cells = append(cells, "-")
		}
		line(w, cells)
	}
}

// grid has a line for each size and a column for each number of attempts, or
// share of discordant pairs.
func (p *planned) grid(w io.Writer, f *planFlags) {
	head := []string{"scenarios"}
	for _, k := range f.attempts {
		if p.Variance != nil {
			head = append(head, prose.Count(k, "attempt"))
		}
	}
	for _, share := range f.discordant {
		head = append(head, fmt.Sprintf("%.3g by one only", share))
	}
	line(w, head)
	columns := len(head) - 1
	for rows := range slices.Chunk(p.Rows, columns) {
		cells, costs := []string{strconv.Itoa(rows[0].Scenarios)}, []string{"cost"}
		for _, r := range rows {
			cell := "-"
			switch {
			case r.Power != nil:
				cell = fmt.Sprintf("%.1f %%", 100**r.Power)
			case r.Detectable != nil:
				cell = fmt.Sprintf("%.3f", *r.Detectable)
			}
			cells = append(cells, cell)
			costs = append(costs, strconv.FormatFloat(r.Cost, 'f', 2, 64))
		}
		line(w, cells)
		if f.trialCost > 0 || f.scenarioCost > 0 {
			line(w, costs)
		}
	}
}

func line(w io.Writer, cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }
