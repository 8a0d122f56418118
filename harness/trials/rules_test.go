// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// played makes records of a letter each: p(assed), f(ailed), e(rror), s(kipped).
func played(scenario, model, outcomes string) []trials.Record {
	var out []trials.Record
	for i, c := range outcomes {
		o := map[rune]harness.Outcome{'p': harness.OutcomePassed, 'f': harness.OutcomeFailed, 'e': harness.OutcomeError, 's': harness.OutcomeSkipped}[c]
		out = append(out, trials.Record{Key: trials.Key{Scenario: scenario, Model: model, Attempt: i + 1}, Outcome: o})
	}
	return out
}

func TestPassRules(t *testing.T) {
	all, four, rate := &trials.Pass{}, &trials.Pass{AtLeast: 4}, &trials.Pass{Rate: 0.8}
	for _, tc := range []struct {
		pass     *trials.Pass
		outcomes string
		want     trials.RuleState
	}{
		{all, "ppp", trials.RuleMet},
		{all, "ppe", trials.RuleMet}, // errors do not count
		{all, "ppf", trials.RuleMissed},
		{all, "fe", trials.RuleMissed},
		{all, "ee", trials.RuleUnjudged},
		{all, "ss", trials.RuleUnjudged},
		{four, "pppp", trials.RuleMet},
		{four, "ppppf", trials.RuleMet},
		{four, "pppff", trials.RuleMissed},
		{four, "pppfe", trials.RuleUnjudged}, // the error could have passed
		{four, "ppffe", trials.RuleMissed},   // it could not have helped
		{four, "pp", trials.RuleMet},         // all of fewer
		{four, "pf", trials.RuleMissed},
		{four, "sssss", trials.RuleUnjudged},
		{rate, "ppppf", trials.RuleMet},
		{rate, "pppff", trials.RuleMissed},
		{rate, "ppppfeee", trials.RuleMet},
		{rate, "e", trials.RuleUnjudged},
		{all, "ppee", trials.RuleMet},       // half of them may be errors
		{all, "ppeee", trials.RuleUnjudged}, // and no more
		{all, "pfeee", trials.RuleMissed},   // whatever the errors would have been
		{rate, "ppppfeeeeee", trials.RuleUnjudged},
		{&trials.Pass{Rate: 0.25}, "ppeee", trials.RuleMet}, // whatever they would have been
	} {
		t.Run(tc.pass.String()+" "+tc.outcomes, func(t *testing.T) {
			m := &trials.Manifest{Scenarios: []trials.Source{{Scenario: "s", Trials: len(tc.outcomes), Pass: tc.pass}}}
			rules := trials.JudgeRules(m, played("s", "m", tc.outcomes))
			if len(rules) != 1 || rules[0].State != tc.want {
				t.Errorf("%v: want %s", rules, tc.want)
			}
		})
	}
	// A rate is not missed by the rounding of its product.
	m := &trials.Manifest{Scenarios: []trials.Source{{Scenario: "s", Pass: &trials.Pass{Rate: 0.07}}}}
	if got := trials.JudgeRules(m, played("s", "m", "ppppppp"+strings.Repeat("f", 93)))[0]; got.State != trials.RuleMet {
		t.Errorf("7 of 100 at 0.07: %s", got.State)
	}
}

// TestLostScenarios: a rule names some scenarios of which no trial counts, and says
// how many there are besides.
func TestLostScenarios(t *testing.T) {
	for n, want := range map[int]string{1: "s1", 5: "s1, s2, s3, s4, s5", 6: "s1, s2, s3, s4, s5 and 1 more"} {
		m := &trials.Manifest{Scenarios: []trials.Source{{Scenario: "s0"}}, Thresholds: []trials.Threshold{{Rate: 0.5}}}
		records := played("s0", "m", "p")
		for i := range n {
			name := fmt.Sprint("s", i+1)
			m.Scenarios = append(m.Scenarios, trials.Source{Scenario: name})
			records = append(records, played(name, "m", "e")...)
		}
		if r := trials.JudgeRules(m, records)[0]; r.State != trials.RuleUnjudged || r.Message != "no trial counts of "+want {
			t.Errorf("%s: %s, want that nothing counts of %s", r.State, r.Message, want)
		}
	}
}

// TestErrorsOfThresholds: more than a tenth of errors leaves a threshold unjudged,
// unless it is missed by what counts, or reached whatever the errors would have
// been.
func TestErrorsOfThresholds(t *testing.T) {
	for _, tc := range []struct {
		rate     float64
		outcomes string
		want     trials.RuleState
		message  string
	}{
		{1, "peeee", trials.RuleUnjudged, "4 of 5 trials are errors, and could have failed"},
		{1, "pppppppppe", trials.RuleMet, ""},
		{1, "ppppppppee", trials.RuleUnjudged, "2 of 10 trials are errors, and could have failed"},
		{1, "pfeee", trials.RuleMissed, ""},
		{0.5, "pppppppfeee", trials.RuleMet, ""},
		{0.2, "peeee", trials.RuleMet, ""},
		{1, "psssss", trials.RuleMet, ""},
	} {
		t.Run(fmt.Sprint(tc.rate, " ", tc.outcomes), func(t *testing.T) {
			m := &trials.Manifest{Scenarios: []trials.Source{{Scenario: "s"}}, Thresholds: []trials.Threshold{{Rate: tc.rate}}}
			rules := trials.JudgeRules(m, played("s", "m", tc.outcomes))
			if len(rules) != 1 || rules[0].State != tc.want || rules[0].Message != tc.message {
				t.Errorf("%v: want %s, %q", rules, tc.want, tc.message)
			}
		})
	}
}

func TestJudgeRules(t *testing.T) {
	m := &trials.Manifest{
		Models: []trials.Model{{Label: "b"}, {Label: "a"}},
		Scenarios: []trials.Source{
			{Suite: "first", Scenario: "x", Tags: []string{"smoke"}},
			{Suite: "first", Scenario: "y", Case: "one", Pass: &trials.Pass{Rate: 0.5}},
			{Suite: "second", Scenario: "z"},
		},
		Thresholds: []trials.Threshold{{Suite: "first", Rate: 0.75}, {Tag: "smoke", Rate: 1}, {Tag: "unplayed", Rate: 1}},
	}
	var records []trials.Record
	for _, cell := range []struct{ suite, scenario, of, model, outcomes string }{
		{"first", "x", "", "a", "pf"},
		{"first", "y", "one", "a", "pp"},
		{"second", "z", "", "a", "p"},
		{"first", "x", "", "b", "pp"},
		{"first", "y", "one", "b", "ee"},
		{"second", "z", "", "b", "pf"},
	} {
		for _, r := range played(cell.scenario, cell.model, cell.outcomes) {
			r.Suite, r.Case = cell.suite, cell.of
			records = append(records, r)
		}
	}
	rules := trials.JudgeRules(m, records)
	var got strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&got, "%s: %s: %s\n", r.Model, r.State, r)
	}
	want := `b: unjudged: overall of suite first: at least 75 %: 2 of 2 passed, 2 errors; no trial counts of y/one
b: met: tag smoke: at least 100 %: 2 of 2 passed
b: unjudged: y/one: pass: at least 50 %: 0 of 0 passed, 2 errors; no trial counts
b: missed: z: pass: all attempts: 1 of 2 passed
a: met: overall of suite first: at least 75 %: 3 of 4 passed
a: missed: tag smoke: at least 100 %: 1 of 2 passed
a: met: y/one: pass: at least 50 %: 2 of 2 passed
a: met: z: pass: all attempts: 1 of 1 passed
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("rules (-want +got):\n%s", d)
	}
	for n, want := range map[int]int{len(rules): 1, 3: 3, 0: 0} {
		if got := trials.RulesExitCode(rules[:n]); got != want {
			t.Errorf("the first %d: exit code %d, want %d", n, got, want)
		}
	}
	m.Thresholds, m.Scenarios = nil, []trials.Source{{Suite: "first", Scenario: "x"}}
	if got := trials.JudgeRules(m, records); got != nil {
		t.Errorf("without rules: %v", got)
	}
}
