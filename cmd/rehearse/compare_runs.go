// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
	"github.com/rehearse-dev/rehearse/reports"
)

// compareRunsFlags are how two runs are compared.
type compareRunsFlags struct {
	fixed bool
	html  string // the page
	stats stats.Options
}

func compareRunsCommand(p *process) *cobra.Command {
	var flags compareRunsFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two finished runs and tell whether they differ",
		Long: `compare reads the folders of two runs and compares each model that is in both, on
the scenarios of both. If each run has one model, these are compared, whatever
their names. It plays nothing.

B - A is in points, with an interval. ~ says that the two are tied: not shown to
differ, nor to be equal. A scenario whose definition changed, or that is in only one
of the runs, is left out and named. Scenarios are treated as a sample; with --fixed
the question is whether this very suite would show a difference again, which needs
two attempts each.
docs/statistics.md has the methods and their sources.

The exit code is 0 whatever the result, and 3 when nothing could be compared.`,
		Example: `  rehearse compare runs/20260102-150405-before runs/20260103-150405-after
  rehearse compare runs/*-before runs/*-after --fixed
  rehearse compare runs/*-small runs/*-large --bootstrap 10000 --seed 1
  rehearse compare runs/*-before runs/*-after --html changes.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := minArgs(2, "the folders of two runs")(cmd, args); err != nil {
				return err
			}
			return atMost(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := checkFlags(cmd,
				rule{"level", flags.stats.Level >= 0.5 && flags.stats.Level <= 0.999999, "0.5 to 0.999999"},
				rule{"bootstrap", flags.stats.Resamples >= 100 && flags.stats.Resamples <= 1_000_000, "100 to 1000000"},
			)
			if err == nil {
				err = writable("html", flags.html)
			}
			switch {
			case err != nil:
				return err
			case flags.fixed && flags.stats.Resamples > 0:
				return errors.New("--bootstrap draws other scenarios, and --fixed asks about these: use one of them")
			}
			return compareRuns(p, args[0], args[1], flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.fixed, "fixed", false, "ask about this fixed suite, not about scenarios in general")
	f.Float64Var(&flags.stats.Level, "level", 0.95, "level of the intervals")
	f.IntVar(&flags.stats.Resamples, "bootstrap", 0, "print a bootstrap interval of so many resamples too")
	f.Uint64Var(&flags.stats.Seed, "seed", 0, "seed of the bootstrap")
	f.StringVar(&flags.html, "html", "", "write a page of what changed to this `file` too; - is standard output, instead of text")
	return cmd
}

// modelPair is one model in both runs.
type modelPair struct {
	name string
	a, b stats.Table
	stats.Comparison
	err error // where it cannot be compared
}

func compareRuns(p *process, dirA, dirB string, flags compareRunsFlags) error {
	w := p.stdout
	ra, err := loadRecords(dirA)
	if err != nil {
		return err
	}
	rb, err := loadRecords(dirB)
	if err != nil {
		return err
	}
	names := scenarioNames(ra, rb)
	ra, rb, changed, err := sameScenarios(ra, rb, names, dirA, dirB)
	if err != nil {
		return err
	}
	ra, rb, onlyA, onlyB := inBoth(ra, rb, names)
	left := changes(changed, names)
	for _, n := range onlyA {
		left = append(left, n+": it is not in B")
	}
	for _, n := range onlyB {
		left = append(left, n+": it is not in A")
	}
	if len(ra) == 0 || len(rb) == 0 {
		return fmt.Errorf("no scenario is the same in both runs:\n  %s", strings.Join(left, "\n  "))
	}
	list, alone, err := models(tablesOf(ra, names), tablesOf(rb, names), dirA, dirB)
	if err != nil {
		return err
	}
	e := stats.ScenariosInGeneral
	if flags.fixed {
		e = stats.FixedSuite
	}
	if err := comparePairs(list, e, &flags.stats); err != nil {
		return err
	}
	if flags.html == stdout {
		w = io.Discard // the page is the output
	}
	fmt.Fprintf(w, "A: %s\nB: %s\nfor %s; intervals at level %s\n\n", dirA, dirB, e, prose.Percent(flags.stats.Level))
	if err := comparedTable(w, list); err != nil {
		return err
	}
	for _, m := range alone {
		left = append(left, m.String())
	}
	if len(left) > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range left {
		fmt.Fprintf(w, "left out: %s\n", line)
	}
	for _, c := range list {
		c.details(w)
	}
	if flags.html != "" {
		d := &reports.Diff{Estimand: e, Level: flags.stats.Level, Changed: changed}
		for _, m := range alone {
			d.LeftOut = append(d.LeftOut, fmt.Sprintf("%s: it is not in %q", m.name, map[string]string{"A": dirA, "B": dirB}[m.notIn]))
		}
		for _, c := range list {
			d.Models = append(d.Models, reports.DiffModel{Name: c.name, A: columnOf(ra, c.a.Name), B: columnOf(rb, c.b.Name), Comparison: c.Comparison, Err: c.err})
		}
		if err := comparedPage(p, d, dirA, dirB, flags.html); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(list, func(c modelPair) bool { return c.err == nil }) {
		return &codeError{code: exitUnjudged}
	}
	return nil
}

// comparePairs fills in the comparisons, which are shown together.
func comparePairs(list []modelPair, e stats.Estimand, o *stats.Options) error {
	var shown []stats.Comparison
	for i := range list {
		c := &list[i]
		// B comes first: what is shown is B - A.
		c.Comparison, c.err = stats.Compare(c.b, c.a, e, o)
		switch {
		case c.err == nil:
			shown = append(shown, c.Comparison)
		case !errors.Is(c.err, stats.ErrTooFew):
			return c.err
		}
	}
	stats.Adjust(shown)
	for i := range list {
		if c := &list[i]; c.err == nil {
			c.Comparison, shown = shown[0], shown[1:]
		}
	}
	return nil
}

// comparedPage writes two runs as a page, and names it.
func comparedPage(p *process, d *reports.Diff, dirA, dirB, name string) (err error) {
	if d.A, err = reports.Load(dirA); err != nil {
		return err
	}
	if d.B, err = reports.Load(dirB); err != nil {
		return err
	}
	write := func(w io.Writer) error { return reports.DiffHTML(w, d, nil) }
	if name == stdout {
		return write(p.stdout)
	}
	if err := writeFile(name, write); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\nreport: %s\n", name)
	return nil
}

// aloneModel is a model that one of two runs, A or B, does not have.
type aloneModel struct{ name, notIn string }

func (m aloneModel) String() string { return m.name + ": it is not in " + m.notIn }

// models pairs the tables of two runs, and says which are in one alone.
func models(ta, tb []stats.Table, dirA, dirB string) (list []modelPair, alone []aloneModel, err error) {
	if len(ta) == 1 && len(tb) == 1 {
		name := ta[0].Name
		if tb[0].Name != name {
			name += " -> " + tb[0].Name
		}
		return []modelPair{{name: name, a: ta[0], b: tb[0]}}, nil, nil
	}
	find := func(in []stats.Table, name string) int {
		return slices.IndexFunc(in, func(t stats.Table) bool { return t.Name == name })
	}
	for _, a := range ta {
		if i := find(tb, a.Name); i >= 0 {
			list = append(list, modelPair{name: a.Name, a: a, b: tb[i]})
		} else {
			alone = append(alone, aloneModel{a.Name, "B"})
		}
	}
	for _, b := range tb {
		if find(ta, b.Name) < 0 {
			alone = append(alone, aloneModel{b.Name, "A"})
		}
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("no model is in both runs: %q has %s, and %q has %s",
			dirA, tableNames(ta), dirB, tableNames(tb))
	}
	return list, alone, nil
}

func tableNames(tables []stats.Table) string {
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return prose.CountOf(len(names), "model", "models") + fmt.Sprintf(" %q", names)
}

// comparedTable has a line for each model.
func comparedTable(w io.Writer, list []modelPair) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tA\tB\tB - A\tpoints, ~ tied")
	for _, c := range list {
		if c.err != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t?\t%v\n", c.name, "-", "-", c.err)
			continue
		}
		sign := fmt.Sprintf("%+.1f", 100*c.Difference)
		if !c.Different {
			sign = "~ " + sign
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t[%+.1f, %+.1f], p = %.3f, n = %s\n", c.name, prose.Rate(c.RateB), prose.Rate(c.RateA), sign,
			100*c.Interval.Low, 100*c.Interval.High, c.Adjusted, prose.Count(c.Scenarios, "scenario"))
	}
	return t.Flush()
}

// details say by what a comparison came about, what it could have shown, and
// where the runs differ.
func (c modelPair) details(w io.Writer) {
	if c.err != nil {
		return
	}
	fmt.Fprintf(w, "\n%s: %s\n", c.name, c.Method)
	if c.MDE > 0 {
		fmt.Fprintf(w, "  such a suite shows a difference of %.1f points with power 80 %%\n", 100*c.MDE)
	}
	if b := c.Bootstrap; b != nil {
		fmt.Fprintf(w, "  bootstrap of %d resamples, seed %d: [%+.1f, %+.1f]\n", b.Resamples, b.Seed, 100*b.Interval.Low, 100*b.Interval.High)
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	for _, l := range c.LeftOut {
		fmt.Fprintf(w, "  left out: %s: %s\n", l.Name, l.Reason)
	}
	for _, side := range []struct {
		name  string
		table stats.Table
	}{{"A", c.a}, {"B", c.b}} {
		if errs, skipped := unjudged(side.table); errs+skipped > 0 {
			fmt.Fprintf(w, "  %s: %s and %d skipped, in no rate\n", side.name, prose.Count(errs, "error"), skipped)
		}
	}
	other := map[string]stats.Scenario{}
	for _, s := range c.b.Scenarios {
		other[s.Name] = s
	}
	for _, s := range c.a.Scenarios {
		pa, na := passedOf(s)
		pb, nb := passedOf(other[s.Name])
		if na > 0 && nb > 0 && pa*nb != pb*na {
			fmt.Fprintf(w, "  %d/%d -> %d/%d %s\n", pa, na, pb, nb, s.Name)
		}
	}
}

func passedOf(s stats.Scenario) (passed, valid int) {
	for _, o := range s.Attempts {
		switch o {
		case harness.OutcomePassed:
			passed++
			valid++
		case harness.OutcomeFailed:
			valid++
		}
	}
	return passed, valid
}

func unjudged(t stats.Table) (errs, skipped int) {
	for _, s := range t.Scenarios {
		for _, o := range s.Attempts {
			switch o {
			case harness.OutcomeError:
				errs++
			case harness.OutcomeSkipped:
				skipped++
			}
		}
	}
	return errs, skipped
}
