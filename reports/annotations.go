// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// maxAnnotations is how many annotations of one level GitHub shows of a step.
const maxAnnotations = 10

// annotation is a message at a place of a file.
type annotation struct {
	level       string // error or warning
	pos         harness.Position
	title, text string
}

// Annotations writes what went wrong as GitHub's workflow commands, which mark
// the lines of the scenario files in a pull request:
//
//	::error file=scenarios/weather.yaml,line=9,col=9,title=weather::calls: want ...
//
// The attempts of a cell that have the same cause are one annotation. Where the
// run has rules, those that were missed are errors, and what failed under a rule
// that was met is a warning. GitHub shows ten of each level: the tenth counts
// the others.
func Annotations(w io.Writer, run *Run) error {
	tab := arrange(run)
	var all []annotation
	for _, r := range tab.Rules {
		if r.State == trials.RuleMet {
			continue
		}
		all = append(all, annotation{"error", r.Pos, ruleWord(r.State) + ": " + r.Rule, tab.columnOf(r) + ": " + r.String()})
	}
	for _, s := range tab.Scenarios {
		for i, cell := range s.Cells {
			all = append(all, annotateCell(tab, s, tab.Columns[i], cell)...)
		}
	}
	var b bytes.Buffer
	n := map[string]int{}
	for _, a := range all {
		n[a.level]++
	}
	written := map[string]int{}
	for _, a := range all {
		switch written[a.level]++; {
		case written[a.level] < maxAnnotations || n[a.level] == maxAnnotations:
			a.write(&b)
		case written[a.level] == maxAnnotations:
			annotation{level: a.level, title: "rehearse", text: fmt.Sprintf("%d more, in the report", n[a.level]-maxAnnotations+1)}.write(&b)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// annotateCell has one annotation for each cause of a cell.
func annotateCell(tab *table, s *scenario, c *column, cell []*Trial) []annotation {
	level := "error"
	if tab.Rules != nil {
		if rule := tab.ruleOf(s, c); rule == nil || rule.State == trials.RuleMet {
			level = "warning"
		}
	}
	var out []annotation
	times := map[annotation]int{}
	for _, t := range cell {
		if !failing(t) {
			continue
		}
		a := annotation{level: level, pos: t.Pos, title: s.Name(), text: string(t.Outcome)}
		if t.Cause != nil {
			a.text = t.Cause.Text()
			if !t.Cause.Pos.IsZero() {
				a.pos = t.Cause.Pos
			}
		}
		if t.Outcome != harness.OutcomeFailed {
			a.text = "could not be judged: " + a.text
		}
		if len(tab.Columns) > 1 {
			a.title += " (" + c.Label + ")"
		}
		if times[a]++; times[a] == 1 {
			out = append(out, a)
		}
	}
	for i, a := range out {
		if len(cell) > 1 {
			out[i].text = fmt.Sprintf("%d of %s: %s", times[a], prose.Count(len(cell), "attempt"), a.text)
		}
	}
	return out
}

// write writes one workflow command, in one line.
func (a annotation) write(b *bytes.Buffer) {
	var props []string
	add := func(name, value string) {
		if value != "" {
			props = append(props, name+"="+ghProperty(value))
		}
	}
	add("file", filepath.ToSlash(oneLine(a.pos.File, 400)))
	if a.pos.Line > 0 {
		add("line", fmt.Sprint(a.pos.Line))
	}
	if a.pos.Col > 0 {
		add("col", fmt.Sprint(a.pos.Col))
	}
	add("title", oneLine(a.title, 200))
	head, left := cut(a.text, 2000)
	if head = clean(head); left > 0 {
		head += "… (" + bytesText(left) + " more)"
	}
	fmt.Fprintf(b, "::%s %s::%s\n", a.level, strings.Join(props, ","), ghData(head))
}

// ghData escapes the message of a workflow command, as GitHub's runner reads it
// back (actions/toolkit, packages/core/src/command.ts).
func ghData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// ghProperty escapes a property of a workflow command.
func ghProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// noCommand is a line of a text in which GitHub's runner sees no workflow
// command: it reads those that begin a line, with space before, and the older
// ones wherever they stand (actions/runner, ActionCommand.cs).
func noCommand(line string) string {
	if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "::") {
		line = line[:len(line)-len(rest)] + "⟨::⟩" + rest[2:]
	}
	return strings.ReplaceAll(line, "##[", "#⟨#[⟩")
}
