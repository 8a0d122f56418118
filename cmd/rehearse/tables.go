// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/stats"
	"github.com/rehearse-dev/rehearse/reports"
)

// loadTables reads the outcomes of a run, a table for each model.
func loadTables(dir string) ([]stats.Table, error) {
	records, err := loadRecords(dir)
	if err != nil {
		return nil, err
	}
	return tablesOf(records, scenarioNames(records)), nil
}

// loadRecords reads the trials of a run, without their transcripts.
func loadRecords(dir string) ([]trials.Record, error) {
	records, torn, err := trials.Salvage(filepath.Join(dir, trials.RecordsFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := reports.Load(dir); err != nil { // which says what dir is instead
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("loading run %q: %w", dir, err)
	case torn:
		return nil, fmt.Errorf("loading run %q: the last record of %s is incomplete: the run was killed while it wrote it", dir, trials.RecordsFile)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("run %q has no trials", dir)
	}
	return records, nil
}

// column is what a table stands for: what can differ in one run but for the
// scenario.
type column struct{ subject, model, variant, mode string }

// columnOf finds the column of a table by its name.
func columnOf(records []trials.Record, name string) trials.Column {
	var columns []column
	at := map[column]trials.Column{}
	for _, r := range records {
		c := column{r.Subject, r.Model, r.Variant, string(r.Mode)}
		if _, ok := at[c]; !ok {
			columns = append(columns, c)
			at[c] = r.Key.Column()
		}
	}
	for _, c := range columns {
		if c.name(columns) == name {
			return at[c]
		}
	}
	return trials.Column{}
}

// tablesOf sorts trials into tables, in the order of the records. Tables are
// called by their models, with variant, subject and mode where these differ.
func tablesOf(records []trials.Record, nameOf func(trials.Key) string) []stats.Table {
	var columns []column
	rows := map[column][]stats.Scenario{}
	at := map[column]map[string]int{}
	for _, r := range records {
		c := column{r.Subject, r.Model, r.Variant, string(r.Mode)}
		if at[c] == nil {
			columns = append(columns, c)
			at[c] = map[string]int{}
		}
		name := nameOf(r.Key)
		i, ok := at[c][name]
		if !ok {
			i = len(rows[c])
			at[c][name] = i
			rows[c] = append(rows[c], stats.Scenario{Name: name})
		}
		rows[c][i].Attempts = append(rows[c][i].Attempts, r.Outcome)
	}
	var out []stats.Table
	for _, c := range columns {
		out = append(out, stats.Table{Name: c.name(columns), Scenarios: rows[c]})
	}
	return out
}

// scenarioNames returns how scenarios are called in some runs: by their names,
// and by their suites too where a run has two of one name.
func scenarioNames(runs ...[]trials.Record) func(trials.Key) string {
	double := map[string]bool{}
	for _, records := range runs {
		suite := map[string]string{}
		for _, r := range records {
			if other, ok := suite[r.Name()]; ok && other != r.Suite {
				double[r.Name()] = true
			}
			suite[r.Name()] = r.Suite
		}
	}
	return func(k trials.Key) string {
		if double[k.Name()] {
			return k.Suite + ": " + k.Name()
		}
		return k.Name()
	}
}

// name is the shortest one that no other column has.
func (c column) name(all []column) string {
	parts := []string{c.model}
	if c.model == "" {
		parts[0] = "no model"
	}
	if slices.ContainsFunc(all, func(o column) bool { return o.variant != c.variant }) {
		parts = append(parts, cmp.Or(c.variant, "no variant"))
	}
	if slices.ContainsFunc(all, func(o column) bool { return o.subject != c.subject }) {
		parts = append(parts, c.subject)
	}
	if slices.ContainsFunc(all, func(o column) bool { return o.mode != c.mode }) {
		parts = append(parts, c.mode)
	}
	return strings.Join(parts, ", ")
}

// pairOf finds the two tables that names say, or the only two there are.
func pairOf(tables []stats.Table, names []string, dir string) (a, b stats.Table, err error) {
	var known []string
	for _, t := range tables {
		known = append(known, t.Name)
	}
	if names == nil {
		if len(tables) != 2 {
			return a, b, fmt.Errorf("run %q has %d models (%s): name two with --pair", dir, len(tables), strings.Join(known, ", "))
		}
		return tables[0], tables[1], nil
	}
	var pair [2]stats.Table
	for i, name := range names {
		at := slices.Index(known, name)
		if at < 0 {
			return a, b, fmt.Errorf("run %q has no model %q%s; it has %s", dir, name, prose.DidYouMean(name, known), strings.Join(known, ", "))
		}
		pair[i] = tables[at]
	}
	if names[0] == names[1] {
		return a, b, fmt.Errorf("--pair names %q twice", names[0])
	}
	return pair[0], pair[1], nil
}
