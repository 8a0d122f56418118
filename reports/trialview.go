// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

type (
	trialView struct {
		ID, Column, Attempt, Duration string
		Outcome                       outcomeView
		OK, Open                      bool
		Short                         string // the cause in a line
		Body                          template.HTML
	}
	// trialBody is what a trial's details hold.
	trialBody struct {
		Outcome  outcomeView
		Cause    *causeView
		Facts    []factView
		Warnings []textView
		Drift    []driftLine
		Expects  []checkView
		Conduct  []checkView // all but the passed and skipped ones
		Quiet    []string    // the names of those
		Script   *transcriptView
		LeftOut  string // why there is no transcript
	}
	checkView struct {
		Class      string // passed, failed, undecided, skipped, warning
		Word       string
		Name       string
		Turn       int
		Pos        string
		Score      string
		Text       textView
		Mismatches []mismatchView
		Rows       []rowView
		Open       bool
	}
	mismatchView struct {
		Path, Rule string
		Want, Got  textView
	}
	rowView struct {
		Class, Mark, Word string
		Expected, Actual  *callLine
		Pos               string
		Mismatches        []mismatchView
	}
	// callLine is a call in a lane: its name, and the rest of it.
	callLine struct {
		Name string
		Args textView
	}
)

// renderTrials renders the body of every trial into the page, failing trials
// first, and leaves out transcripts once the budget is spent.
func (b *pageBuilder) renderTrials(tmpl *template.Template, p *pageView, budget int) error {
	spent := 0
	render := func(v *trialView, body *trialBody) error {
		var out bytes.Buffer
		if err := tmpl.ExecuteTemplate(&out, "trial.tmpl", body); err != nil {
			return fmt.Errorf("rendering trial %q: %w", v.ID, err)
		}
		spent += out.Len()
		// Already escaped: this very package's template made it.
		v.Body = template.HTML(out.String()) //nolint:gosec // see above
		return nil
	}
	type job struct {
		v *trialView
		t *Trial
	}
	var jobs, later []job
	for i, s := range b.tab.Scenarios {
		opened := map[string]bool{}
		for c, cell := range s.Cells {
			for n, t := range cell {
				v := &trialView{
					ID: trialID(i, c, n), Column: columnName(b.tab, c), Attempt: attempt(t, cell),
					Duration: durationText(t.Duration), Outcome: outcomeOf(t.Outcome), OK: !failing(t),
				}
				if t.Outcome == harness.OutcomeSkipped && t.Duration == 0 {
					v.Duration = "–"
				}
				if t.Cause != nil {
					v.Short = oneLine(t.Cause.Message, 160)
				}
				// Of trials that fail alike one is open.
				v.Open = failing(t) && !opened[v.Short]
				opened[v.Short] = true
				p.Scenarios[i].Trials = append(p.Scenarios[i].Trials, v)
				if failing(t) {
					jobs = append(jobs, job{v, t})
				} else {
					later = append(later, job{v, t})
				}
			}
		}
	}
	for _, j := range append(jobs, later...) {
		body := b.body(j.t)
		if budget > 0 && spent >= budget && body.Script != nil {
			body.Script = nil
			body.LeftOut = "The transcript is left out to keep this page small."
			if j.t.Detail != "" {
				body.LeftOut += " It is in " + oneLine(j.t.Detail, 200) + "."
			}
			p.Left++
		}
		if err := render(j.v, body); err != nil {
			return err
		}
	}
	return nil
}

func (b *pageBuilder) body(t *Trial) *trialBody {
	body := &trialBody{Outcome: outcomeOf(t.Outcome), Facts: trialFacts(t), Warnings: b.texts(t.Warnings), Drift: driftLines(t.Drift)}
	if t.Cause != nil {
		body.Cause = &causeView{
			Kind: causeWord(t.Cause.Kind), Text: b.text(t.Cause.Message),
			Pos: oneLine(t.Cause.Pos.String(), 400), Folded: b.texts(t.Cause.Folded),
		}
	}
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		switch {
		case !v.Conduct:
			body.Expects = append(body.Expects, b.check(v))
		case v.State == harness.Passed:
			body.Quiet = append(body.Quiet, oneLine(v.Check, 60))
		case v.State == harness.Skipped:
			body.Quiet = append(body.Quiet, oneLine(v.Check, 60)+" (skipped)")
		default:
			body.Conduct = append(body.Conduct, b.check(v))
		}
	}
	body.Script = b.transcript(t)
	if body.Script == nil {
		body.LeftOut = "No transcript was recorded."
	}
	return body
}

func trialFacts(t *Trial) []factView {
	u := t.Counts.Usage
	tokens := thousands(u.TotalTokens)
	if u.PromptTokens+u.CompletionTokens > 0 {
		tokens = fmt.Sprintf("%s in, %s out", thousands(u.PromptTokens), thousands(u.CompletionTokens))
	}
	if u.CachedTokens > 0 {
		tokens += fmt.Sprintf(", %s cached", thousands(u.CachedTokens))
	}
	if u.ReasoningTokens > 0 {
		tokens += fmt.Sprintf(", %s reasoning", thousands(u.ReasoningTokens))
	}
	calls := fmt.Sprint(t.Counts.ModelCalls)
	if t.Counts.Retries > 0 {
		calls += " (" + strings.Replace(count(t.Counts.Retries, "retry"), "retrys", "retries", 1) + ")"
	}
	took := durationText(t.Duration)
	if t.Skipped > 0 {
		took += ", and " + durationText(t.Skipped) + " of scripted waiting skipped"
	}
	facts := []factView{
		{"Duration", took},
		{"Model calls", calls},
		{"Tool calls", fmt.Sprint(t.Counts.ToolCalls)},
		{"Tokens", tokens},
		{"Expectations judged", fmt.Sprint(t.Counts.Checks)},
		{"Attempt", fmt.Sprint(t.Attempt)},
		{"Seed", fmt.Sprint(t.Seed)},
	}
	if t.Recorded > 0 {
		facts = append(facts, factView{"Recorded", count(t.Recorded, "interaction")})
	}
	if t.Cassette != "" {
		facts = append(facts, factView{"Cassette", oneLine(t.Cassette, 400)})
	}
	if len(t.Answered) > 0 {
		facts = append(facts, factView{"Answered as", oneLine(strings.Join(t.Answered, ", "), 200)})
	}
	return facts
}

func (b *pageBuilder) check(v *harness.Verdict) checkView {
	out := checkView{
		Class: string(v.State), Word: stateWord(v.State), Name: oneLine(v.Check, 80), Turn: v.Turn,
		Pos: oneLine(v.Pos.String(), 400), Text: b.text(headline(v)), Mismatches: b.mismatches(v.Mismatches),
	}
	switch v.State {
	case harness.Passed, harness.Skipped:
	case harness.Failed, harness.Undecided, harness.Warned:
		out.Open = true
	default:
		out.Class, out.Word, out.Open = "undecided", "unknown state "+oneLine(string(v.State), 40), true
	}
	if v.Score != nil {
		out.Score = fmt.Sprintf("%.2f", *v.Score)
	}
	if v.Alignment != nil {
		for _, r := range v.Alignment.Rows {
			out.Rows = append(out.Rows, b.row(r))
		}
	}
	return out
}

func (b *pageBuilder) row(r harness.AlignmentRow) rowView {
	v := rowView{Pos: oneLine(r.Pos.String(), 400), Mismatches: b.mismatches(r.Mismatches)}
	v.Mark, v.Word = alignMark(r.Status)
	switch r.Status {
	case harness.AlignMatched:
		v.Class = "passed"
	case harness.AlignOutOfOrder, harness.AlignMismatched:
		v.Class = "differs"
	default:
		v.Class = "failed"
	}
	v.Expected, v.Actual = b.callLine(r.Expected), b.callLine(r.Actual)
	return v
}

// callLine parts "server.tool {...}" before the arguments, so that the names
// of two lanes can be compared at a glance.
func (b *pageBuilder) callLine(s string) *callLine {
	if s == "" {
		return nil
	}
	name, args := s, ""
	if i := strings.IndexAny(s, "{("); i > 0 {
		name, args = s[:i], s[i:]
	}
	return &callLine{oneLine(name, 120), b.text(prettyJSON([]byte(args)))}
}

func (b *pageBuilder) mismatches(ms []harness.Mismatch) []mismatchView {
	var out []mismatchView
	for _, m := range ms {
		out = append(out, mismatchView{
			cmp.Or(oneLine(m.Path, 200), "(the whole value)"), oneLine(m.Rule, 80), b.text(m.Want), b.text(m.Got),
		})
	}
	return out
}
