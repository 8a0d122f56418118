// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// toolOf is the name in "server.tool {...}".
func toolOf(call string) string {
	if i := strings.IndexAny(call, "{( "); i > 0 {
		call = call[:i]
	}
	return call
}

type (
	// confusionView is which tools were called where which were expected, and
	// which arguments were wrong.
	confusionView struct {
		Models []confusedView
		Wrong  []wrongView
		Names  []string
	}
	confusedView struct {
		Column string
		Tools  []string // across
		Rows   []confusedRow
		Calls  int
		Off    int // calls that are not on the diagonal
		Open   bool
		Cut    int // tools that are not shown
	}
	confusedRow struct {
		Tool  string
		Cells []confusedCell
	}
	confusedCell struct {
		N     int
		Right bool
		Title string
	}
	wrongView struct {
		Tool, Path, Rule string
		Total            int
		Cells            []countView
	}
)

// maxTools is how many tools a table of confusions has, and maxWrong how many
// arguments are listed.
const (
	maxTools = 24
	maxWrong = 20
)

// none is the tool that is not there.
const none = "none"

func (b *pageBuilder) confusion() confusionView {
	var v confusionView
	pairs := make([]map[toolPair]int, len(b.tab.Columns))
	wrong := map[wrongArg][]int{}
	for c, col := range b.tab.Columns {
		pairs[c] = map[toolPair]int{}
		v.Names = append(v.Names, col.Label)
	}
	for t := range b.tab.trials() {
		s := b.seen[t.id]
		for _, p := range s.tools {
			pairs[t.col][p]++
		}
		for _, w := range s.wrong {
			if wrong[w] == nil {
				wrong[w] = make([]int, len(b.tab.Columns))
			}
			wrong[w][t.col]++
		}
	}
	for c := range pairs {
		if len(pairs[c]) > 0 {
			v.Models = append(v.Models, confused(v.Names[c], pairs[c]))
		}
	}
	for i := range v.Models {
		v.Models[i].Open = i == 0
	}
	for w, counts := range wrong {
		row := wrongView{Tool: oneLine(w.tool, 80), Path: oneLine(w.path, 120), Rule: oneLine(w.rule, 40)}
		for c, n := range counts {
			row.Total += n
			row.Cells = append(row.Cells, countView{v.Names[c], n})
		}
		v.Wrong = append(v.Wrong, row)
	}
	slices.SortFunc(v.Wrong, func(a, b wrongView) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule))
	})
	v.Wrong = v.Wrong[:min(len(v.Wrong), maxWrong)]
	return v
}

// confused is the table of one model: expected tools down, called ones across.
// The tools with the most calls that went elsewhere come first.
func confused(column string, pairs map[toolPair]int) confusedView {
	v := confusedView{Column: column}
	off, all := map[string]int{}, map[string]int{}
	for p, n := range pairs {
		v.Calls += n
		for _, name := range []string{p.expected, p.called} {
			if name != "" {
				all[name] += n
			}
			if p.expected != p.called {
				off[name] += n
			}
		}
		if p.expected != p.called {
			v.Off += n
		}
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(off[b], off[a]), cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	if len(names) > maxTools {
		v.Cut, names = len(names)-maxTools, names[:maxTools]
	}
	slices.Sort(names)
	names = append(names, "")
	shown := func(name string) string { return cmp.Or(oneLine(name, 60), none) }
	for _, name := range names {
		v.Tools = append(v.Tools, shown(name))
	}
	for _, expected := range names {
		row := confusedRow{Tool: shown(expected)}
		for _, called := range names {
			n := pairs[toolPair{expected, called}]
			row.Cells = append(row.Cells, confusedCell{n, expected == called, fmt.Sprintf("expected %s, called %s: %d", shown(expected), shown(called), n)})
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
