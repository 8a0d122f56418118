// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// ledger counts what a run has used: all that its folder has, and what is known
// of the trials under way.
type ledger struct {
	budget trials.Budget

	mu       sync.Mutex // guards the rest
	finished trials.Spend
	underway map[trials.Key]trials.Spend // also of what was cut short, and has no record
}

// newLedger checks that a budget can be kept.
func (r *runner) newLedger() (*ledger, error) {
	o := &r.opts
	l := &ledger{budget: o.Budget, underway: map[trials.Key]trials.Spend{}}
	switch {
	case o.Budget == (trials.Budget{}):
		return l, nil
	case !o.Mode.Real():
		return nil, fmt.Errorf("a budget is for the modes live and record; mode %s asks no endpoint", o.Mode)
	case o.goTest != "":
		return nil, fmt.Errorf("only run.Run has a Budget")
	case o.Budget.Dollars == 0:
		return l, nil
	}
	for _, e := range r.entries {
		if e.Price == nil {
			return nil, fmt.Errorf("a budget in dollars needs the price of model %q: give its entry in rehearse.yaml a price in dollars per million tokens, as in\n"+
				"  models: {%s: {model: %q, price: {input: 2.5, output: 10, date: \"2026-01-31\"}}}\nor give the budget in tokens", e.Label, prose.ShellWord(e.Label), e.Name)
		}
	}
	return l, nil
}

// usedUp reports whether no further trial may begin.
func (l *ledger) usedUp() bool {
	return !l.budget.Covers(l.spent())
}

// spent is what was used so far.
func (l *ledger) spent() trials.Spend {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.finished
	for _, s := range l.underway {
		sum = sum.Add(s)
	}
	return sum
}

// note takes note of what a trial under way has used so far.
func (l *ledger) note(t *trial, used harness.Usage) {
	tokens := trials.TokensOf(used)
	s := trials.Spend{Tokens: tokens.Total()}
	if cost := t.entry.Price.Cost(tokens); cost != nil {
		s.Dollars = *cost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway[t.key] = s
}

// add takes note of trials that have ended.
func (l *ledger) add(list ...trials.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		l.finished = l.finished.Add(trials.SpendOf(&list[i]))
		delete(l.underway, list[i].Key)
	}
}

// warnings say what the budget did, and what it could not count.
func (l *ledger) warnings(missing int) []string {
	if l.budget == (trials.Budget{}) {
		return nil
	}
	var out []string
	spent := l.spent()
	if missing > 0 && l.usedUp() {
		out = append(out, fmt.Sprintf("stopped by the budget of %s: %s; %s not played", l.budget, spentText(spent), prose.CountOf(missing, "trial was", "trials were")))
	}
	if n := spent.Uncounted; n > 0 {
		out = append(out, fmt.Sprintf("the budget does not cover %s: the endpoint did not say how many tokens it used", prose.Count(n, "trial")))
	}
	return out
}

func spentText(s trials.Spend) string {
	if s.Unpriced > 0 {
		return prose.Count(s.Tokens, "token") + " used"
	}
	return fmt.Sprintf("%s used, which cost %.4g usd", prose.Count(s.Tokens, "token"), s.Dollars)
}
