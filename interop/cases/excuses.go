// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// line is one check.
type line struct {
	passed bool
	text   string // FOLDER: what is right, and what came
}

// readLines returns the checks among what a folder printed.
func readLines(out []byte) []line {
	var lines []line
	for text := range strings.Lines(string(out)) {
		text = strings.TrimRight(text, "\r\n")
		if rest, ok := strings.CutPrefix(text, "PASS "); ok {
			lines = append(lines, line{true, rest})
		} else if rest, ok := strings.CutPrefix(text, "FAIL "); ok {
			lines = append(lines, line{false, rest})
		}
	}
	return lines
}

// excuse is a check that may fail.
type excuse struct {
	pos     string // file:line
	check   string // the beginning of the check; * stands for any text
	reason  string
	chance  bool // it may pass, too
	pattern *regexp.Regexp
}

// readExcuses reads a file of excuses. A check stands at the beginning of a
// line, and its reason on the lines below, which begin with white space. One
// behind "? " passes or fails by chance.
func readExcuses(name string) ([]*excuse, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []*excuse
	n := 0
	for text := range strings.Lines(string(data)) {
		n++
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case text[0] == ' ' || text[0] == '\t':
			if len(list) == 0 {
				return nil, fmt.Errorf("%s:%d: a reason without a check", name, n)
			}
			e := list[len(list)-1]
			e.reason = strings.TrimSpace(e.reason + " " + trimmed)
		default:
			trimmed, chance := strings.CutPrefix(trimmed, "? ")
			folder, check, ok := strings.Cut(trimmed, ": ")
			if !ok || check == "" {
				return nil, fmt.Errorf("%s:%d: want FOLDER: the beginning of a check, got %q", name, n, trimmed)
			}
			if strings.Contains(folder, "*") || strings.Trim(check, "* ") == "" {
				return nil, fmt.Errorf("%s:%d: no folder is excused as a whole", name, n)
			}
			list = append(list, &excuse{fmt.Sprintf("%s:%d", name, n), trimmed, "", chance, patternOf(trimmed)})
		}
	}
	for _, e := range list {
		if e.reason == "" {
			return nil, fmt.Errorf("%s: %s: an excuse needs a reason on the line below", e.pos, e.check)
		}
	}
	return list, nil
}

// patternOf matches the checks that begin with text, up to the end of a word.
func patternOf(text string) *regexp.Regexp {
	parts := strings.Split(text, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`\A` + strings.Join(parts, ".*") + `(?:\W|\z)`)
}

// changing is what differs from run to run: folders, ports, times.
var changing = regexp.MustCompile(`/tmp/[\w./-]+|127\.0\.0\.1:\d+|\b\d+(\.\d+)? ?m?s\b`)

// normal is a check without what differs from run to run.
func normal(text string) string { return changing.ReplaceAllString(text, "…") }

func excuseFor(excuses []*excuse, l line) *excuse {
	for _, e := range excuses {
		if e.pattern.MatchString(normal(l.text)) || e.pattern.MatchString(l.text) {
			return e
		}
	}
	return nil
}

func unexcused(folders []folder, excuses []*excuse) int {
	n := 0
	for _, f := range folders {
		for _, l := range f.lines {
			if !l.passed && excuseFor(excuses, l) == nil {
				n++
			}
		}
	}
	return n
}

// judge returns what is wrong: checks that fail without an excuse, excuses of
// what passes, folders without a check. all says that all folders were played,
// so that an excuse of none of them is stale.
func judge(folders []folder, excuses []*excuse, all bool) []string {
	var problems []string
	used, played := map[*excuse]bool{}, map[string]bool{}
	for _, f := range folders {
		played[f.name] = true
		switch {
		case f.err != nil:
			problems = append(problems, fmt.Sprintf("%s: %v", f.name, f.err))
		case len(f.lines) == 0:
			problems = append(problems, f.name+": it printed no check")
		}
		for _, l := range f.lines {
			e := excuseFor(excuses, l)
			switch {
			case e != nil && l.passed && !e.chance:
				problems = append(problems, fmt.Sprintf("%s: excused, and passes: %s", e.pos, l.text))
			case e == nil && !l.passed:
				problems = append(problems, "FAIL "+l.text)
			}
			if e != nil {
				used[e] = true
			}
		}
	}
	for _, e := range excuses {
		name, _, _ := strings.Cut(e.check, ": ")
		if !used[e] && (all || played[name]) {
			problems = append(problems, fmt.Sprintf("%s: excused, and there is no such check: %s", e.pos, e.check))
		}
	}
	return problems
}
