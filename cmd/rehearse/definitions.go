// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/reports"
)

// definition is what a scenario of a run was made of. An empty hash is not
// known.
type definition struct {
	scenario, scorers, judge string
	// tools that the servers listed, by variant, which may change them; more than
	// one hash where they changed in the course of the run.
	tools map[string][]string
	// variants are the hashes of the variants by their names.
	variants map[string][]string
}

// differs names what is known to have changed.
func (d *definition) differs(o *definition) (parts []string) {
	if d.scenario != "" && o.scenario != "" && d.scenario != o.scenario {
		parts = append(parts, "definition")
	}
	if d.scorers != "" && o.scorers != "" && d.scorers != o.scorers {
		parts = append(parts, "expectations")
	}
	if d.judge != "" && o.judge != "" && d.judge != o.judge {
		parts = append(parts, "judge")
	}
	for variant, hashes := range d.variants {
		if other, ok := o.variants[variant]; ok && !slices.Equal(hashes, other) {
			parts = append(parts, fmt.Sprintf("variant %q", variant))
		}
	}
	for variant, tools := range d.tools {
		other, ok := o.tools[variant]
		if ok && !slices.Equal(slices.Sorted(slices.Values(tools)), slices.Sorted(slices.Values(other))) {
			return append(parts, "tools")
		}
	}
	return parts
}

// definitions of the scenarios of a run.
func definitions(records []trials.Record, name func(trials.Key) string, dir string) (map[string]*definition, error) {
	out := map[string]*definition{}
	for _, r := range records {
		n := name(r.Key)
		d := out[n]
		if d == nil {
			d = &definition{scenario: r.Hashes.Scenario, scorers: r.Hashes.Scorers, tools: map[string][]string{}, variants: map[string][]string{}}
			out[n] = d
		}
		if d.scenario != r.Hashes.Scenario || d.scorers != r.Hashes.Scorers {
			return nil, fmt.Errorf("run %q has two definitions of scenario %q", dir, n)
		}
		d.judge = cmp.Or(d.judge, r.Hashes.Judge)
		if h := r.Hashes.Variant; h != "" && !slices.Contains(d.variants[r.Variant], h) {
			d.variants[r.Variant] = append(d.variants[r.Variant], h)
		}
		if h := r.Hashes.Tools; h != "" && !slices.Contains(d.tools[r.Variant], h) {
			d.tools[r.Variant] = append(d.tools[r.Variant], h)
		}
	}
	return out, nil
}

// sameScenarios leaves out the scenarios that are defined otherwise in the other
// run, and says of each what changed.
func sameScenarios(ra, rb []trials.Record, name func(trials.Key) string, dirA, dirB string) (keptA, keptB []trials.Record, changed []reports.ChangedScenario, err error) {
	da, err := definitions(ra, name, dirA)
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := definitions(rb, name, dirB)
	if err != nil {
		return nil, nil, nil, err
	}
	drop := map[string]bool{}
	for _, r := range ra {
		n := name(r.Key)
		other, ok := db[n]
		if !ok || drop[n] {
			continue
		}
		if parts := da[n].differs(other); parts != nil {
			drop[n] = true
			changed = append(changed, reports.ChangedScenario{Suite: r.Suite, Scenario: r.Scenario, Case: r.Case, Parts: parts})
		}
	}
	gone := func(r trials.Record) bool { return drop[name(r.Key)] }
	return slices.DeleteFunc(ra, gone), slices.DeleteFunc(rb, gone), changed, nil
}

// changes are a line for each scenario that changed.
func changes(list []reports.ChangedScenario, name func(trials.Key) string) (out []string) {
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s: its %s changed", name(trials.Key{Suite: c.Suite, Scenario: c.Scenario, Case: c.Case}), prose.And(c.Parts)))
	}
	return out
}

// inBoth leaves out the scenarios that are in one run alone, and names them.
func inBoth(ra, rb []trials.Record, name func(trials.Key) string) (keptA, keptB []trials.Record, onlyA, onlyB []string) {
	missing := func(in, other []trials.Record) (names []string) {
		has, seen := map[string]bool{}, map[string]bool{}
		for _, r := range other {
			has[name(r.Key)] = true
		}
		for _, r := range in {
			if n := name(r.Key); !has[n] && !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
		return names
	}
	onlyA, onlyB = missing(ra, rb), missing(rb, ra)
	drop := map[string]bool{}
	for _, n := range slices.Concat(onlyA, onlyB) {
		drop[n] = true
	}
	gone := func(r trials.Record) bool { return drop[name(r.Key)] }
	return slices.DeleteFunc(ra, gone), slices.DeleteFunc(rb, gone), onlyA, onlyB
}
