// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// TextOptions are the options of [Text].
type TextOptions struct {
	// Color marks outcomes with terminal colours. Nothing is said by colour
	// alone. Default off.
	Color bool
	// Escape begins a colour, before its number and an m. Default: what
	// terminals know, ESC and a bracket.
	Escape string
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
	p := &textPrinter{color: o.Color, escape: cmp.Or(o.Escape, "\x1b["), max: cmp.Or(o.MaxText, 2000)}
	tab := arrange(run)
	p.head(run, tab)
	for t := range tab.trials() {
		p.trial(t)
	}
	p.models(tab)
	verdict, doubts := standingOf(tab, plain)
	for _, sentence := range verdict {
		p.line(0, "%s", sentence)
	}
	for _, doubt := range doubts {
		p.line(0, "warning: %s", doubt)
	}
	p.blames(tab)
	p.rules(tab)
	p.warnings(run)
	if sum := driftSum(tab); sum != "" {
		p.line(0, "%s", sum)
	}
	if use := judgeSum(tab); use != nil {
		p.line(0, "judges: %s; in no other figure", judgeUse(use))
	}
	p.line(0, "%s", p.paint(tab.Outcome(), tab.Words()))
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
	escape string // begins a colour
	b      bytes.Buffer
	color  bool
	max    int
	said   map[string]string // explanations so far, and which trial had them
}

func (p *textPrinter) line(indent int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for l := range strings.SplitSeq(text, "\n") {
		l = noCommand(strings.TrimRight(l, " \t"))
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
	return p.escape + code + "m" + s + p.escape + "0m"
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
	// An interrupted run was about more than it came to.
	models, variants := tab.axes()
	parts := []string{prose.Count(max(len(tab.Scenarios), len(m.Scenarios)), "scenario"), prose.Count(max(models, len(m.Models)), "model")}
	if n := max(variants, len(m.Variants)); n > 0 {
		parts = append(parts, prose.Count(n, "variant"))
	}
	if m.Mode != "" {
		parts = append(parts, oneLine(string(m.Mode), 40)+" mode")
	}
	if m.Subject != "" {
		parts = append(parts, "subject "+oneLine(m.Subject, 100))
	}
	p.line(0, "%s: %s\n", cmp.Or(oneLine(m.Name, 200), "run"), strings.Join(parts, ", "))
}

// trial prints a line, and for a failing trial everything that explains it.
func (p *textPrinter) trial(at place) {
	s, t := at.scenario, at.Trial
	name := []string{oneLine(s.Name(), 200)}
	for _, part := range []string{at.column, at.attempt} {
		if part != "" {
			name = append(name, part)
		}
	}
	p.line(0, "%s %s  %s", p.paint(t.Outcome, outcomeWord(t.Outcome)), strings.Join(name, "  "), durationText(t.Duration))
	from := p.b.Len()
	p.explain(t)
	p.drift(t)
	// Ten attempts that fail alike are explained once.
	body := string(p.b.Bytes()[from:])
	if !failing(t) || body == "" {
		return
	}
	if p.said == nil {
		p.said = map[string]string{}
	}
	if first, ok := p.said[s.Suite+"\x00"+s.Name()+"\x00"+body]; ok {
		p.b.Truncate(from)
		p.line(6, "as %s above", first)
	} else {
		p.said[s.Suite+"\x00"+s.Name()+"\x00"+body] = strings.Join(name[1:], " ")
	}
	p.line(0, "")
}

// explain says why a trial ended as it did.
func (p *textPrinter) explain(t *Trial) {
	if !failing(t) {
		if t.Cause != nil && t.Outcome == harness.OutcomeSkipped {
			p.line(6, "%s", oneLine(t.Cause.Text(), p.max))
		}
		for _, v := range t.Verdicts {
			switch {
			case v.State == trials.Warned || v.State == trials.Undecided:
				p.line(6, "%s: %s", stateWord(v.State), oneLine(checkName(&v)+": "+v.Message, 300))
			case v.Judgement != nil:
				p.line(6, "%s: %s", checkName(&v), oneLine(v.Message, 300))
			}
		}
		for _, w := range t.Warnings {
			p.line(6, "warning: %s", oneLine(w, p.max))
		}
		return
	}
	primary, aligned := p.cause(t), false
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		aligned = aligned || v.Alignment != nil && v.State != trials.Passed && v.State != trials.Skipped
		if i != primary && !told(t.Cause, v) {
			p.verdict(v)
		}
	}
	if !aligned {
		p.trajectory(t.Trajectory)
	}
	if len(t.Struck) > 0 {
		p.line(6, "faults that struck: %s", oneLine(strings.Join(t.Struck, "; "), p.max))
	}
	for _, w := range t.Warnings {
		p.line(6, "warning: %s", oneLine(w, p.max))
	}
}

// cause prints the primary cause and what follows from it, as far as the
// verdicts below do not say so. It returns the verdict that is the cause, or -1.
func (p *textPrinter) cause(t *Trial) int {
	c := t.Cause
	if c == nil {
		return -1
	}
	primary := slices.IndexFunc(t.Verdicts, func(v trials.Verdict) bool {
		return v.State != trials.Passed && v.State != trials.Skipped && v.Check == c.Check && (v.Pos == c.Pos || v.Pos.IsZero())
	})
	if primary >= 0 {
		v := t.Verdicts[primary]
		v.Pos = cmp.Or(v.Pos, c.Pos)
		p.verdict(&v)
	} else {
		where := ""
		if !c.Pos.IsZero() {
			where = oneLine(c.Pos.String(), 400) + ": "
		}
		p.under(6, where+oneLine(string(c.Kind), 40)+": ", p.text(c.Text()))
	}
	for _, f := range c.Folded {
		said := func(v trials.Verdict) bool {
			return !told(c, &v) && v.Check == f.Check && (v.Pos == f.Pos || v.Pos.IsZero())
		}
		if !slices.ContainsFunc(t.Verdicts, said) {
			p.under(8, "and ", p.text(f.Text))
		}
	}
	return primary
}

// told reports whether a verdict has nothing to add to a cause, or nothing to
// say at all.
func told(c *trials.Cause, v *trials.Verdict) bool {
	switch {
	case v.State == trials.Passed && v.Judgement != nil:
		return false
	case v.State == trials.Passed || v.State == trials.Skipped:
		return true
	case !v.Conduct || c == nil:
		return false
	}
	switch v.Check {
	case "provider_accepts":
		return c.Kind == trials.CauseRefusal
	case "limits":
		return c.Kind == trials.CauseLimits
	case "all_replies_reached": // how many, is folded
		return slices.ContainsFunc(c.Folded, func(f trials.Consequence) bool { return f.Check == v.Check })
	}
	return false
}

// under prints a text of one or more lines, those after the first a little to
// the right.
func (p *textPrinter) under(indent int, title, text string) {
	first, rest, more := strings.Cut(text, "\n")
	p.line(indent, "%s", title+first)
	if more {
		p.line(indent+2, "%s", rest)
	}
}

// stateWord is a state in plain words.
func stateWord(s trials.State) string {
	if s == trials.Undecided {
		return "could not be judged"
	}
	return oneLine(string(s), 40)
}

func (p *textPrinter) verdict(v *trials.Verdict) {
	title := checkName(v)
	if v.Conduct {
		title = "conduct " + title
	}
	if v.Turn > 0 {
		title += fmt.Sprintf(" (turn %d)", v.Turn)
	}
	title += ":"
	if v.State != trials.Failed {
		title += " " + stateWord(v.State) + ":"
	}
	if !v.Pos.IsZero() {
		title = oneLine(v.Pos.String(), 400) + ": " + title
	}
	if m := headline(v); m != "" {
		title += " "
		p.under(6, title, p.text(m))
	} else {
		p.line(6, "%s", title)
	}
	p.mismatches(8, v.Mismatches, v.Pos)
	if v.Alignment == nil {
		return
	}
	for _, r := range v.Alignment.Rows {
		mark, word := alignMark(r.Status)
		call, note := cmp.Or(r.Actual, r.Expected), ""
		switch {
		case r.Status == trials.AlignForbidden:
			note = "  (" + oneLine(r.Expected, 200) + ")"
		case r.Status == trials.AlignMissing && r.Pos != v.Pos && !r.Pos.IsZero():
			note = "  (" + oneLine(r.Pos.String(), 400) + ")"
		case r.Status == trials.AlignMismatched && len(r.Mismatches) == 0:
			note = ", want " + oneLine(r.Expected, p.max)
		}
		p.line(8, "%s %-12s  %s%s", mark, word, oneLine(call, p.max), note)
		p.mismatches(24, r.Mismatches, v.Pos)
	}
}

// headline is the message of a verdict, unless its rows or mismatches say all of it
// again, in a table.
func headline(v *trials.Verdict) string {
	if v.MismatchesOnly && len(v.Mismatches) > 0 && v.State == trials.Failed || v.Alignment != nil && len(v.Alignment.Rows) > 0 {
		return ""
	}
	return v.Message
}

// mismatches prints a line each. at is the place that was named already.
func (p *textPrinter) mismatches(indent int, ms []trials.Mismatch, at harness.Position) {
	width := 0
	for _, m := range ms {
		width = max(width, utf8.RuneCountInString(oneLine(m.Path, 120)))
	}
	width = min(width, 40)
	for _, m := range ms {
		rule, note := "", ""
		if m.Rule != "equal" { // want and got say it
			rule = oneLine(m.Rule, 80) + ": "
		}
		if m.Pos != at && !m.Pos.IsZero() {
			note = "  (" + oneLine(m.Pos.String(), 400) + ")"
		}
		p.line(indent, "%-*s  %swant %s, got %s%s", width, oneLine(m.Path, 120), rule,
			orNothing(oneLine(m.Want, p.max)), orNothing(oneLine(m.Got, p.max)), note)
	}
}

func orNothing(s string) string { return cmp.Or(s, "nothing") }

// alignMark is the sign and the words of a row.
func alignMark(s trials.AlignmentStatus) (mark, words string) {
	switch s {
	case trials.AlignMatched:
		return "=", "matched"
	case trials.AlignMismatched:
		return "~", "mismatched"
	case trials.AlignMissing:
		return "-", "missing"
	case trials.AlignExtra:
		return "+", "extra"
	case trials.AlignOutOfOrder:
		return "^", "out of order"
	case trials.AlignForbidden:
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
		case c.Unasked:
			note = "  (no reply asks for it)"
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
			prose.Count(y.Errors, "error"), fmt.Sprintf("%d skipped", y.Skipped), y.Median())
	}
	p.line(0, "")
}

func (p *textPrinter) warnings(run *Run) {
	if run.Manifest.Interrupted {
		p.line(0, "interrupted: %d of %s planned ended", len(run.Trials), prose.Count(run.Manifest.Planned, "trial"))
	}
	for _, w := range append(append([]string(nil), run.Manifest.Warnings...), run.Warnings...) {
		p.line(0, "warning: %s", oneLine(w, p.max))
	}
}
