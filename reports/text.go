// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
)

// TextOptions are the options of [Text].
type TextOptions struct {
	// Color marks outcomes with terminal colours. Nothing is said by colour
	// alone. Default off.
	Color bool
	// MaxText is the number of bytes after which a text is cut, 2000 when 0,
	// no limit when negative.
	MaxText int
}

// Text writes a run for a terminal: failing trials in full, the cause first,
// the others in a line each.
func Text(w io.Writer, run *Run, opts *TextOptions) error {
	var o TextOptions
	if opts != nil {
		o = *opts
	}
	p := &textPrinter{color: o.Color, max: cmp.Or(o.MaxText, 2000)}
	tab := arrange(run)
	p.head(run, tab)
	for _, s := range tab.Scenarios {
		for i, cell := range s.Cells {
			for _, t := range cell {
				p.trial(s, t, columnName(tab, i), attempt(t, cell))
			}
		}
	}
	p.models(tab)
	p.warnings(run)
	p.line(0, "%s", p.paint(tab.Total.Outcome(), tab.Total.Words()))
	_, err := w.Write(p.b.Bytes())
	return err
}

// columnName is the label of a column where there is more than one.
func columnName(tab *table, i int) string {
	if len(tab.Columns) < 2 {
		return ""
	}
	return tab.Columns[i].Label
}

type textPrinter struct {
	b     bytes.Buffer
	color bool
	max   int
	said  map[string]string // explanations so far, and which trial had them
}

func (p *textPrinter) line(indent int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimRight(l, " \t")
		if l != "" {
			p.b.WriteString(strings.Repeat(" ", indent))
		}
		p.b.WriteString(l + "\n")
	}
}

// text is clean, cut and multi-line.
func (p *textPrinter) text(s string) string {
	head, left := cut(s, p.max)
	head = clean(head)
	if left > 0 {
		head += fmt.Sprintf("\n… cut here, %s more", bytesText(left))
	}
	return head
}

func (p *textPrinter) paint(o harness.Outcome, s string) string {
	if !p.color {
		return s
	}
	code := map[harness.Outcome]string{
		harness.OutcomePassed: "32", harness.OutcomeFailed: "31", harness.OutcomeError: "33",
	}[o]
	if code == "" {
		code = "2"
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// outcomeWord is what stands in front of a trial, all of one width.
func outcomeWord(o harness.Outcome) string {
	switch o {
	case harness.OutcomePassed:
		return "ok   "
	case harness.OutcomeFailed:
		return "FAIL "
	case harness.OutcomeSkipped:
		return "skip "
	default:
		return "ERROR"
	}
}

func (p *textPrinter) head(run *Run, tab *table) {
	m := run.Manifest
	parts := []string{count(len(tab.Scenarios), "scenario"), count(len(tab.Columns), "model")}
	if m.Mode != "" {
		parts = append(parts, oneLine(string(m.Mode), 40)+" mode")
	}
	if m.Subject != "" {
		parts = append(parts, "subject "+oneLine(m.Subject, 100))
	}
	p.line(0, "%s: %s\n", cmp.Or(oneLine(m.Name, 200), "run"), strings.Join(parts, ", "))
}

// trial prints a line, and for a failing trial everything that explains it.
func (p *textPrinter) trial(s *scenario, t *Trial, column, attempt string) {
	name := []string{oneLine(s.Name, 200)}
	for _, part := range []string{column, attempt} {
		if part != "" {
			name = append(name, part)
		}
	}
	p.line(0, "%s %s  %s", p.paint(t.Outcome, outcomeWord(t.Outcome)), strings.Join(name, "  "), durationText(t.Duration))
	from := p.b.Len()
	p.explain(t)
	// Ten attempts that fail alike are explained once.
	body := p.b.String()[from:]
	if !failing(t) || body == "" {
		return
	}
	if p.said == nil {
		p.said = map[string]string{}
	}
	if first, ok := p.said[s.File+"\x00"+s.Name+"\x00"+body]; ok {
		p.b.Truncate(from)
		p.line(6, "as %s above", first)
	} else {
		p.said[s.File+"\x00"+s.Name+"\x00"+body] = strings.Join(name[1:], " ")
	}
	p.line(0, "")
}

// explain says why a trial ended as it did.
func (p *textPrinter) explain(t *Trial) {
	if !failing(t) {
		if t.Cause != nil && t.Outcome == harness.OutcomeSkipped {
			p.line(6, "%s", oneLine(t.Cause.Message, p.max))
		}
		for _, v := range t.Verdicts {
			if v.State == harness.Warned || v.State == harness.Undecided {
				p.line(6, "%s: %s", stateWord(v.State), oneLine(v.Check+": "+v.Message, 300))
			}
		}
		return
	}
	if c := t.Cause; c != nil {
		if !c.Pos.IsZero() {
			p.line(6, "%s:", oneLine(c.Pos.String(), 400))
		}
		p.line(6, "%s: %s", oneLine(string(c.Kind), 40), p.text(c.Message))
		for _, f := range c.Folded {
			p.line(8, "and %s", oneLine(f, p.max))
		}
	}
	aligned := false
	for i := range t.Verdicts {
		if v := &t.Verdicts[i]; v.State != harness.Passed && v.State != harness.Skipped {
			p.verdict(v)
			aligned = aligned || v.Alignment != nil
		}
	}
	if !aligned {
		p.trajectory(t.Trajectory)
	}
	for _, w := range t.Warnings {
		p.line(6, "warning: %s", oneLine(w, p.max))
	}
}

// stateWord is a state in plain words.
func stateWord(s harness.State) string {
	if s == harness.Undecided {
		return "could not be judged"
	}
	return oneLine(string(s), 40)
}

func (p *textPrinter) verdict(v *harness.Verdict) {
	title := oneLine(v.Check, 80)
	if v.Conduct {
		title = "conduct " + title
	}
	if v.Turn > 0 {
		title += fmt.Sprintf(" (turn %d)", v.Turn)
	}
	title += ": " + stateWord(v.State)
	if !v.Pos.IsZero() {
		title = oneLine(v.Pos.String(), 400) + ": " + title
	}
	p.line(6, "%s", title)
	if m := headline(v); m != "" {
		p.line(8, "%s", p.text(m))
	}
	p.mismatches(8, v.Mismatches)
	if v.Alignment == nil {
		return
	}
	for _, r := range v.Alignment.Rows {
		mark, word := alignMark(r.Status)
		switch {
		case r.Status == harness.AlignMatched || r.Expected == "":
			p.line(8, "%s %-12s  %s", mark, word, oneLine(cmp.Or(r.Actual, r.Expected), p.max))
		case r.Actual == "":
			p.line(8, "%s %-12s  %s", mark, word, oneLine(r.Expected, p.max))
		default:
			p.line(8, "%s %-12s  want %s", mark, word, oneLine(r.Expected, p.max))
			p.line(8, "%14s  got  %s", "", oneLine(r.Actual, p.max))
		}
		p.mismatches(24, r.Mismatches)
	}
}

// headline is the message of a verdict, unless its rows or mismatches say it
// again, in a table.
func headline(v *harness.Verdict) string {
	if len(v.Mismatches) > 0 && strings.Contains(v.Message, v.Mismatches[0].String()) ||
		v.Alignment != nil && len(v.Alignment.Rows) > 0 {
		return ""
	}
	return v.Message
}

func (p *textPrinter) mismatches(indent int, ms []harness.Mismatch) {
	width := 0
	for _, m := range ms {
		width = max(width, utf8.RuneCountInString(oneLine(m.Path, 120)))
	}
	width = min(width, 40)
	for _, m := range ms {
		p.line(indent, "%-*s  %s: want %s, got %s", width, oneLine(m.Path, 120), oneLine(m.Rule, 80),
			orNothing(oneLine(m.Want, p.max)), orNothing(oneLine(m.Got, p.max)))
	}
}

func orNothing(s string) string { return cmp.Or(s, "nothing") }

// alignMark is the sign and the words of a row.
func alignMark(s harness.AlignmentStatus) (mark, words string) {
	switch s {
	case harness.AlignMatched:
		return "=", "matched"
	case harness.AlignMismatched:
		return "~", "mismatched"
	case harness.AlignMissing:
		return "-", "missing"
	case harness.AlignExtra:
		return "+", "extra"
	case harness.AlignOutOfOrder:
		return "^", "out of order"
	case harness.AlignForbidden:
		return "!", "forbidden"
	default:
		return "?", oneLine(string(s), 40)
	}
}

func (p *textPrinter) trajectory(calls []harness.Call) {
	if len(calls) == 0 {
		return
	}
	const most = 50
	p.line(6, "calls of the model:")
	for i, c := range calls {
		if i == most {
			p.line(8, "and %d more", len(calls)-most)
			break
		}
		note := ""
		switch {
		case !c.Executed:
			note = "  (not executed)"
		case c.Failed:
			note = "  (failed)"
		}
		p.line(8, "%d. %s %s%s", i+1, oneLine(c.Name(), 120), oneLine(callArgs(c), p.max), note)
	}
}

// callArgs is what the model wrote.
func callArgs(c harness.Call) string {
	if c.Args != nil {
		return string(c.Args)
	}
	return c.ArgsText
}

// models prints a line a column, where there is more than one.
func (p *textPrinter) models(tab *table) {
	if len(tab.Columns) < 2 {
		return
	}
	width := 0
	for _, c := range tab.Columns {
		width = max(width, utf8.RuneCountInString(c.Label))
	}
	p.line(0, "")
	for _, c := range tab.Columns {
		y := c.Tally
		p.line(0, "%-*s  %s passed (%d of %d judged), %s, %s, median %s", width, c.Label, y.Rate(), y.Passed, y.Judged(),
			count(y.Errors, "error"), fmt.Sprintf("%d skipped", y.Skipped), y.Median())
	}
	p.line(0, "")
}

func (p *textPrinter) warnings(run *Run) {
	if run.Manifest.Interrupted {
		p.line(0, "interrupted: %d of %s planned ended", len(run.Trials), count(run.Manifest.Planned, "trial"))
	}
	for _, w := range append(append([]string(nil), run.Manifest.Warnings...), run.Warnings...) {
		p.line(0, "warning: %s", oneLine(w, p.max))
	}
}
