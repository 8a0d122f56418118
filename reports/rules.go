// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// rules judges the rules of a run from its trials.
func rules(run *Run) []trials.RuleResult {
	if !run.Manifest.Ruled() {
		return nil // before the records of a large run are copied
	}
	records := make([]trials.Record, len(run.Trials))
	for i := range run.Trials {
		t := &run.Trials[i]
		records[i] = trials.Record{Key: t.Key, Pos: t.Pos, Outcome: t.Outcome}
	}
	return trials.JudgeRules(&run.Manifest, records)
}

// Outcome is that of the run: of its rules where it has any, else of its trials.
func (tab *table) Outcome() harness.Outcome {
	if tab.Rules == nil {
		return tab.Total.Outcome()
	}
	switch trials.RulesExitCode(tab.Rules) {
	case 0:
		return harness.OutcomePassed
	case 1:
		return harness.OutcomeFailed
	}
	return harness.OutcomeError
}

// Words is the sentence under which a run is remembered.
func (tab *table) Words() string {
	words := tab.Total.Words()
	if tab.Rules == nil {
		return words
	}
	n := map[trials.RuleState]int{}
	for _, r := range tab.Rules {
		n[r.State]++
	}
	words += fmt.Sprintf("; %d of %s met", n[trials.RuleMet], prose.Count(len(tab.Rules), "rule"))
	if k := n[trials.RuleMissed]; k > 0 {
		words += fmt.Sprintf(", %d missed", k)
	}
	if k := n[trials.RuleUnjudged]; k > 0 {
		words += fmt.Sprintf(", %d could not be judged", k)
	}
	return words
}

// shownRules are those that a reader wants to see: all thresholds, and the rules
// of scenarios that were not met. Quiet is the number of the others.
func (tab *table) shownRules() (shown []trials.RuleResult, quiet int) {
	for _, r := range tab.Rules {
		if r.Scenario != "" && r.State == trials.RuleMet {
			quiet++
			continue
		}
		shown = append(shown, r)
	}
	return shown, quiet
}

// columnOf is the label of the column that a rule is judged in.
func (tab *table) columnOf(r trials.RuleResult) string {
	i := slices.IndexFunc(tab.Columns, func(c *column) bool { return c.key == keyOf(r.Column) })
	if i < 0 {
		return oneLine(r.Model, 120)
	}
	return tab.Columns[i].Label
}

// ruleOf is the rule of a scenario in a column; nil for none.
func (tab *table) ruleOf(s *scenario, c *column) *trials.RuleResult {
	for i := range tab.Rules {
		if r := &tab.Rules[i]; r.Suite == s.Suite && r.Scenario == s.Scenario && r.Case == s.Case && keyOf(r.Column) == c.key {
			return r
		}
	}
	return nil
}

// ruleWord is what stands in front of a rule.
func ruleWord(s trials.RuleState) string {
	switch s {
	case trials.RuleMet:
		return "met"
	case trials.RuleMissed:
		return "MISSED"
	case trials.RuleUnjudged:
		return "not judged"
	}
	return oneLine(string(s), 20)
}

// ruleOutcome is that of a trial which stands for as much.
func ruleOutcome(s trials.RuleState) harness.Outcome {
	switch s {
	case trials.RuleMet:
		return harness.OutcomePassed
	case trials.RuleMissed:
		return harness.OutcomeFailed
	case trials.RuleUnjudged:
	}
	return harness.OutcomeError
}

func (p *textPrinter) rules(tab *table) {
	if tab.Rules == nil {
		return
	}
	if !bytes.HasSuffix(p.b.Bytes(), []byte("\n\n")) {
		p.line(0, "")
	}
	shown, quiet := tab.shownRules()
	width := 0
	for _, r := range shown {
		width = max(width, utf8.RuneCountInString(ruleWord(r.State)))
	}
	for _, r := range shown {
		word := ruleWord(r.State)
		text := p.paint(ruleOutcome(r.State), word) + strings.Repeat(" ", width-utf8.RuneCountInString(word)) + "  "
		if len(tab.Columns) > 1 {
			text += tab.columnOf(r) + ": "
		}
		text += oneLine(r.String(), p.max)
		if !r.Pos.IsZero() {
			text += "  (" + oneLine(r.Pos.String(), 400) + ")"
		}
		p.line(0, "%s", text)
	}
	if quiet > 0 {
		p.line(0, "pass rules of scenarios that were met: %d", quiet)
	}
	p.line(0, "")
}

func mdRules(b *bytes.Buffer, tab *table) {
	if tab.Rules == nil {
		return
	}
	shown, quiet := tab.shownRules()
	b.WriteString("\n## Rules\n")
	if len(shown) > 0 {
		b.WriteString("\n| | rule | model | passed / judged | errors |\n| --- | --- | --- | ---: | ---: |\n")
	}
	for i, r := range shown {
		if b.Len() > markdownRules {
			fmt.Fprintf(b, "\n%s, in the full report.\n", prose.Count(len(shown)-i, "more rule"))
			break
		}
		name := r.Rule
		if r.Scenario != "" {
			name = r.Name() + ": " + name
		}
		if r.Message != "" {
			name += " (" + r.Message + ")"
		}
		fmt.Fprintf(b, "| %s %s | %s | %s | %d / %d | %d |\n", mdMark(ruleOutcome(r.State)), ruleWord(r.State), mdText(oneLine(name, 300)),
			mdText(tab.columnOf(r)), r.Passed, r.Judged, r.Errors)
	}
	if quiet > 0 {
		fmt.Fprintf(b, "\nPass rules of scenarios that were met: %d.\n", quiet)
	}
}

// junitRule makes a case of a threshold.
func junitRule(r trials.RuleResult) junitCase {
	tc := junitCase{Class: "thresholds", Name: oneLine(r.Rule, 200), File: oneLine(r.Pos.File, 400), Line: r.Pos.Line, Time: junitSeconds(0)}
	text := &junitText{Message: oneLine(r.String(), 500), Type: "threshold"}
	switch r.State {
	case trials.RuleMet:
		tc.Properties = &junitProperties{[]junitProperty{{"trials", oneLine(r.String(), 500)}}}
	case trials.RuleMissed:
		tc.Failure = text
	case trials.RuleUnjudged:
		tc.Error = text
	}
	return tc
}

// ruled has a rule decide what becomes of a case: the attempts that failed
// stand in its output where the rule is met all the same. Rule is nil for a
// scenario that thresholds cover alone.
func (tc *junitCase) ruled(rule *trials.RuleResult, judged int) {
	said := tc.Failure
	if said == nil {
		said = tc.Error
	}
	state := trials.RuleMet
	if rule != nil {
		state = rule.State
		props := junitProperty{"rule", oneLine(rule.String(), 500)}
		if tc.Properties == nil {
			tc.Properties = &junitProperties{}
		}
		tc.Properties.List = append(tc.Properties.List, props)
	} else if judged == 0 {
		state = trials.RuleUnjudged
	}
	if said == nil {
		return // passed, or skipped
	}
	tc.Failure, tc.Error = nil, nil
	switch state {
	case trials.RuleMissed:
		tc.Failure = said
	case trials.RuleUnjudged:
		tc.Error = said
	case trials.RuleMet:
		tc.Output = said.Message + "\n" + said.Body
	}
	if rule != nil && state != trials.RuleMet {
		said.Message = oneLine(ruleWord(state)+": "+rule.Rule, 200) + ": " + said.Message
	}
}
