// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
)

// gateRunFlags are how a candidate is held against a baseline.
type gateRunFlags struct {
	baseline  string
	margin    float64
	level     float64
	maxErrors float64
	general   bool
	unchanged bool
	json      bool
}

func gateCommand(p *process) *cobra.Command {
	var flags gateRunFlags
	cmd := &cobra.Command{
		Use:   "gate --baseline RUN RUN",
		Short: "Tell whether a run is worse than a baseline: yes, no, or not enough data",
		Long: `gate holds the folder of a finished run against that of a baseline, with each model
by itself, and ends in one of three verdicts:

  regression       the whole interval of the difference is below minus the margin, or
                   a critical scenario passed always and passes no more: exit code 1
  no regression    the whole interval is above minus the margin: exit code 0
  not enough data  neither, or too many trials are errors: exit code 3

It asks about this fixed suite: would these scenarios show it again? Only the noise
of repeating counts, so each scenario needs two attempts at least. With --general
the scenarios are a sample of all that might be written. The limits are one-sided.
It prints its own power: how often it would clear a candidate as good as the
baseline. Runs in mode mock or replay repeat themselves: there every scenario that
passes less often is a regression, whatever the margin.

It refuses (exit code 2) when the definition of a scenario, an expectation or a
tool changed, or when the runs have different scenarios or models, and names them.
--unchanged compares the rest.`,
		Example: `  rehearse gate --baseline runs/20260102-150405-main runs/20260103-150405-change
  rehearse gate --baseline runs/*-main runs/*-change --margin 0.1 --level 0.9
  rehearse gate --baseline runs/*-main runs/*-change --unchanged --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := minArgs(1, "the folder of a run")(cmd, args); err != nil {
				return err
			}
			if len(args) > 1 {
				return errors.New("gate holds one run against a baseline: rehearse gate --baseline RUN RUN")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := checkFlags(cmd,
				rule{"margin", flags.margin > 0 && flags.margin < 1, "more than 0 and less than 1, such as 0.05 for 5 points"},
				rule{"level", flags.level >= 0.75 && flags.level <= 0.999999, "0.75 to 0.999999"},
				rule{"max-errors", flags.maxErrors >= 0 && flags.maxErrors <= 1, "0 to 1"},
			)
			switch {
			case err != nil:
				return err
			case flags.baseline == "":
				return errors.New("gate needs --baseline, the folder of the run to compare with")
			}
			return gateRun(p.stdout, args[0], flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.baseline, "baseline", "", "folder of the `run` to compare with")
	f.Float64Var(&flags.margin, "margin", 0.05, "how much worse is still no regression, as a share of 1")
	f.Float64Var(&flags.level, "level", 0.95, "1 minus the chance of a wrong verdict at the margin")
	f.Float64Var(&flags.maxErrors, "max-errors", 0.1, "share of a run's trials that may be errors; with more there is no verdict but regression")
	f.BoolVar(&flags.general, "general", false, "ask about scenarios in general, not about this fixed suite")
	f.BoolVar(&flags.unchanged, "unchanged", false, "leave out what changed, in place of refusing")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

// gateVerdict is what a gate says.
type gateVerdict string

const (
	gateRegression gateVerdict = "regression"
	gateClear      gateVerdict = "no regression"
	gateUnsure     gateVerdict = "not enough data"
)

// code is the exit code of a verdict.
func (v gateVerdict) code() exitCode {
	switch v {
	case gateRegression:
		return exitFailed
	case gateUnsure:
		return exitUnjudged
	case gateClear:
	}
	return exitPassed
}

// gated is what is printed.
type gated struct {
	Verdict   gateVerdict    `json:"verdict"`
	Exit      exitCode       `json:"exit"`
	Baseline  string         `json:"baseline"`
	Candidate string         `json:"candidate"`
	Estimand  stats.Estimand `json:"estimand"`
	Margin    float64        `json:"margin"`
	Level     float64        `json:"level"` // of one-sided limits
	// Exact says that the runs repeat themselves, so that there is no interval.
	Exact   bool         `json:"exact"`
	Models  []gatedModel `json:"models"`
	LeftOut []string     `json:"left_out,omitempty"`
}

// gatedModel is the verdict of one model. Rates and differences are shares of 1;
// those that are nil could not be computed.
type gatedModel struct {
	Model      string       `json:"model"`
	Verdict    gateVerdict  `json:"verdict"`
	Reasons    []string     `json:"reasons,omitempty"`
	Method     stats.Method `json:"method,omitempty"`
	Scenarios  int          `json:"scenarios"`
	Baseline   *float64     `json:"baseline_rate,omitempty"`
	Candidate  *float64     `json:"candidate_rate,omitempty"`
	Difference *float64     `json:"difference,omitempty"` // candidate minus baseline
	Low        *float64     `json:"low,omitempty"`        // limits of the difference, each one-sided
	High       *float64     `json:"high,omitempty"`
	// Power is the chance that an equal candidate is cleared, and that one which is
	// twice the margin worse is stopped.
	Power    *float64 `json:"power,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Broken passed in every attempt of the baseline and in none of the
	// candidate's; Fixed the reverse. Worse are exact comparisons: what passes
	// less often.
	Broken []gateFlip `json:"broken,omitempty"`
	Fixed  []gateFlip `json:"fixed,omitempty"`
	Worse  []gateFlip `json:"worse,omitempty"`
}

// gateFlip is a scenario whose trials end otherwise than they did.
type gateFlip struct {
	Scenario string `json:"scenario"`
	Critical bool   `json:"critical,omitempty"`
	Before   string `json:"before"` // passed/counted
	Now      string `json:"now"`
}

func (f gateFlip) String() string {
	text := fmt.Sprintf("%s -> %s %s", f.Before, f.Now, f.Scenario)
	if f.Critical {
		text += " (critical)"
	}
	return text
}

func gateRun(w io.Writer, candidate string, flags gateRunFlags) error {
	before, err := loadRecords(flags.baseline)
	if err != nil {
		return err
	}
	now, err := loadRecords(candidate)
	if err != nil {
		return err
	}
	names := scenarioNames(before, now)
	g := gated{
		Baseline: flags.baseline, Candidate: candidate, Estimand: stats.FixedSuite, Margin: flags.margin, Level: flags.level,
		Exact: !slices.ContainsFunc(slices.Concat(before, now), func(r trials.Record) bool { return !r.Mode.Alone() }),
	}
	if flags.general {
		g.Estimand = stats.ScenariosInGeneral
	}
	before, now, g.LeftOut, err = sameSuite(before, now, names, flags.baseline, candidate)
	if err != nil {
		return err
	}
	list, alone, err := models(tablesOf(before, names), tablesOf(now, names), flags.baseline, candidate)
	if err != nil {
		return err
	}
	for _, m := range alone {
		g.LeftOut = append(g.LeftOut, m.String())
	}
	if len(g.LeftOut) > 0 && !flags.unchanged {
		return fmt.Errorf("no verdict: the runs did not play the same:\n  %s\nplay the baseline again, or compare the rest with --unchanged", strings.Join(g.LeftOut, "\n  "))
	}
	critical := map[string]bool{}
	for _, r := range slices.Concat(before, now) {
		critical[names(r.Key)] = critical[names(r.Key)] || r.Critical
	}
	g.Verdict = gateClear
	for _, pair := range list {
		m, err := g.model(pair, critical, flags)
		if err != nil {
			return err
		}
		g.Models = append(g.Models, m)
		if m.Verdict == gateRegression || g.Verdict == gateClear {
			g.Verdict = m.Verdict
		}
	}
	g.Exit = g.Verdict.code()
	if flags.json {
		err = printJSON(w, g)
	} else {
		_, err = io.WriteString(w, g.text())
	}
	if err != nil { // there is a verdict, which nobody has read
		return &codeError{cmp.Or(g.Exit, exitUnjudged), fmt.Errorf("printing the verdict %q: %w", g.Verdict, err)}
	}
	return exitWith(int(g.Exit))
}

// sameSuite leaves out the scenarios that are not in both runs, or not the same
// in both, and says why.
func sameSuite(before, now []trials.Record, name func(trials.Key) string, dirA, dirB string) (keptA, keptB []trials.Record, out []string, err error) {
	before, now, changed, err := sameScenarios(before, now, name, dirA, dirB)
	if err != nil {
		return nil, nil, nil, err
	}
	out = changes(changed, name)
	before, now, gone, added := inBoth(before, now, name)
	for _, n := range gone {
		out = append(out, n+": it is not in the candidate")
	}
	for _, n := range added {
		out = append(out, n+": it is not in the baseline")
	}
	if len(before) == 0 || len(now) == 0 {
		return nil, nil, nil, fmt.Errorf("no verdict: no scenario is the same in both runs:\n  %s", strings.Join(out, "\n  "))
	}
	return before, now, out, nil
}

// model judges one model.
func (g *gated) model(pair modelPair, critical map[string]bool, flags gateRunFlags) (gatedModel, error) {
	m := gatedModel{Model: pair.name, Scenarios: len(pair.a.Scenarios)}
	m.flips(pair, critical)
	if g.Exact {
		m.exact(pair)
	} else if err := m.compare(g, pair, flags); err != nil {
		return m, err
	}
	for _, side := range []struct {
		name  string
		table stats.Table
	}{{"the baseline", pair.a}, {"the candidate", pair.b}} {
		errs, skipped := unjudged(side.table)
		played := -skipped
		for _, s := range side.table.Scenarios {
			played += len(s.Attempts)
		}
		if share := float64(errs) / float64(max(played, 1)); errs > 0 && share > flags.maxErrors {
			m.unsure(fmt.Sprintf("%s of %s are errors: %s, at most %s may be", prose.Count(errs, "trial"), side.name, prose.Rate(share), prose.Percent(flags.maxErrors)))
		}
	}
	for _, f := range m.Broken {
		if f.Critical {
			m.Verdict = gateRegression
			m.Reasons = append(m.Reasons, "a critical scenario passed always and passes no more: "+f.Scenario)
		}
	}
	return m, nil
}

// unsure takes back that there is no regression.
func (m *gatedModel) unsure(why string) {
	if m.Verdict != gateRegression {
		m.Verdict = gateUnsure
	}
	m.Reasons = append(m.Reasons, why)
}

// flips finds what passed always and passes no more, and the reverse.
func (m *gatedModel) flips(pair modelPair, critical map[string]bool) {
	now := map[string]stats.Scenario{}
	for _, s := range pair.b.Scenarios {
		now[s.Name] = s
	}
	for _, s := range pair.a.Scenarios {
		pa, na := passedOf(s)
		pb, nb := passedOf(now[s.Name])
		if na == 0 || nb == 0 {
			continue
		}
		f := gateFlip{s.Name, critical[s.Name], fmt.Sprintf("%d/%d", pa, na), fmt.Sprintf("%d/%d", pb, nb)}
		switch {
		case pa == na && pb == 0:
			m.Broken = append(m.Broken, f)
		case pa == 0 && pb == nb:
			m.Fixed = append(m.Fixed, f)
		case pb*na < pa*nb:
			m.Worse = append(m.Worse, f)
		}
	}
}

// exact compares runs that repeat themselves.
func (m *gatedModel) exact(pair modelPair) {
	m.Verdict = gateClear
	now := map[string]stats.Scenario{}
	for _, s := range pair.b.Scenarios {
		now[s.Name] = s
	}
	var lost []string
	for _, s := range pair.a.Scenarios {
		_, na := passedOf(s)
		if _, nb := passedOf(now[s.Name]); na == 0 || nb == 0 {
			lost = append(lost, s.Name)
		}
	}
	if n := len(m.Broken) + len(m.Worse); n > 0 {
		m.Verdict = gateRegression
		m.Reasons = append(m.Reasons, fmt.Sprintf("%s less often, in runs that repeat themselves", countVerb(n, "scenario passes", "scenarios pass")))
	}
	if len(lost) > 0 {
		m.unsure("no trial counts in one of the runs: " + strings.Join(lost, ", "))
	}
}

func countVerb(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// compare compares runs by their intervals.
func (m *gatedModel) compare(g *gated, pair modelPair, flags gateRunFlags) error {
	m.Worse = nil // the interval says how much of it is noise
	// Both limits of a two-sided interval at this level are one-sided limits at
	// the level asked for.
	c, err := stats.Compare(pair.b, pair.a, g.Estimand, &stats.Options{Level: 2*flags.level - 1})
	switch {
	case errors.Is(err, stats.ErrTooFew):
		m.unsure(err.Error())
		return nil
	case err != nil:
		return err
	}
	m.Method, m.Scenarios, m.Warnings = c.Method, c.Scenarios, c.Warnings
	m.Candidate, m.Baseline, m.Difference = &c.RateA, &c.RateB, &c.Difference
	m.Low, m.High = &c.Interval.Low, &c.Interval.High
	power, err := c.PowerAt(flags.margin)
	if err != nil {
		return err
	}
	m.Power = &power
	m.Verdict = gateClear
	switch {
	case c.Interval.High < -flags.margin:
		m.Verdict = gateRegression
	case c.Interval.Low <= -flags.margin:
		m.unsure(fmt.Sprintf("the interval has %+.1f points in it, the margin%s", -100*flags.margin, m.needs(c, pair, flags)))
	}
	if len(c.LeftOut) > 0 {
		var out []string
		for _, l := range c.LeftOut {
			out = append(out, fmt.Sprintf("%s (%s)", l.Name, l.Reason))
		}
		m.unsure("not compared: " + strings.Join(out, ", "))
	}
	return nil
}

// needs says how many attempts or scenarios would decide.
func (m *gatedModel) needs(c stats.Comparison, pair modelPair, flags gateRunFlags) string {
	if c.MDE == 0 {
		return ""
	}
	factor := c.MDE / flags.margin
	if factor *= factor; factor <= 1 {
		return ""
	}
	if c.Estimand == stats.ScenariosInGeneral {
		return fmt.Sprintf("; about %.0f scenarios like these would clear an equal candidate with power 80 %%", math.Ceil(factor*float64(c.Scenarios)))
	}
	least := math.MaxInt
	for _, s := range slices.Concat(pair.a.Scenarios, pair.b.Scenarios) {
		if _, n := passedOf(s); n > 1 {
			least = min(least, n)
		}
	}
	return fmt.Sprintf("; about %.0f attempts at each scenario, of both, would clear an equal candidate with power 80 %%", math.Ceil(factor*float64(least)))
}

// text is a gate in words.
func (g *gated) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "baseline:  %s\ncandidate: %s\n", g.Baseline, g.Candidate)
	if g.Exact {
		fmt.Fprintf(&b, "for %s, exactly: runs in mode mock or replay repeat themselves\n", g.Estimand)
	} else {
		fmt.Fprintf(&b, "for %s; margin %s points, one-sided limits at level %s\n", g.Estimand, prose.Points(g.Margin), prose.Percent(g.Level))
	}
	for _, m := range g.Models {
		fmt.Fprintf(&b, "\n%s: %s\n", m.Model, m.Verdict)
		if m.Difference != nil {
			fmt.Fprintf(&b, "  %s -> %s: %+.1f points, between %+.1f and %+.1f, n = %s\n", prose.Rate(*m.Baseline), prose.Rate(*m.Candidate),
				100**m.Difference, 100**m.Low, 100**m.High, prose.Count(m.Scenarios, "scenario"))
		} else {
			fmt.Fprintf(&b, "  n = %s\n", prose.Count(m.Scenarios, "scenario"))
		}
		for _, why := range m.Reasons {
			fmt.Fprintf(&b, "  %s\n", why)
		}
		if m.Power != nil {
			fmt.Fprintf(&b, "  power %.0f %%: so often such a gate clears a candidate as good as the baseline, and stops one that is %s points worse (%s)\n",
				100**m.Power, prose.Points(2*g.Margin), m.Method)
		}
		for _, list := range []struct {
			title string
			flips []gateFlip
		}{{"passed always, and passes no more", m.Broken}, {"passes less often", m.Worse}, {"passed never, and passes always", m.Fixed}} {
			if len(list.flips) > 0 {
				fmt.Fprintf(&b, "  %s:\n", list.title)
			}
			for _, f := range list.flips {
				fmt.Fprintf(&b, "    %s\n", f)
			}
		}
		for _, warning := range m.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", warning)
		}
	}
	if len(g.LeftOut) > 0 {
		b.WriteString("\n")
	}
	for _, line := range g.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", line)
	}
	fmt.Fprintf(&b, "\n%s\n", g.Verdict)
	return b.String()
}
