// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

type (
	trialView struct {
		ID, Column, Attempt, Duration string
		Outcome                       outcomeView
		OK, Open                      bool
		Short                         string        // the cause in a line
		Body                          template.HTML // where it stands as it is
		Chunk                         string        // where it is compressed
		LeftOut                       bool          // neither
		File                          string        // of the transcript in the run folder
	}
	// trialBody is what a trial's details hold.
	trialBody struct {
		ID       string
		Command  string // that plays just this again
		YAML     string // what happened, as a scenario
		Outcome  outcomeView
		Cause    *causeView
		Facts    []factView
		Warnings []textView
		Struck   []textView // the faults that struck, of a trial that failed
		Drift    []driftLine
		Expects  []checkView
		Conduct  []checkView // all but the passed and skipped ones
		Quiet    []string    // the names of those
		Fall     []fallView
		Script   *transcriptView
		Frames   *framesView
		Raw      []rawView // where the run kept it
		LeftOut  string    // why there is no transcript
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

// trialRow is a trial as a line of the page.
func (b *pageBuilder) trialRow(t place) *trialView {
	v := &trialView{
		ID: t.id, Column: t.column, Attempt: t.attempt,
		Duration: durationText(t.Duration), Outcome: outcomeOf(t.Outcome), OK: !failing(t.Trial), File: oneLine(t.Detail, 200),
	}
	if t.Outcome == harness.OutcomeSkipped && t.Duration == 0 {
		v.Duration = "–"
	}
	if t.Cause != nil {
		v.Short = oneLine(t.Cause.Text(), 160)
	}
	return v
}

// body is what is shown of a trial, which is whole; j is where it stands.
func (b *pageBuilder) body(t *Trial, j job) *trialBody {
	body := &trialBody{ID: j.id, Command: b.command(t), YAML: AsScenario(t), Outcome: outcomeOf(t.Outcome), Facts: trialFacts(t), Warnings: b.texts(t.Warnings), Drift: driftLines(t.Drift)}
	if t.Cause != nil {
		body.Cause = &causeView{
			Kind: causeWord(t.Cause.Kind), Text: b.text(t.Cause.Text()),
			Pos: oneLine(t.Cause.Pos.String(), 400),
		}
		for _, f := range t.Cause.Folded {
			body.Cause.Folded = append(body.Cause.Folded, b.text(f.Text))
		}
	}
	if failing(t) {
		if body.Cause != nil {
			body.Cause.Blame = blameWord(blameOf(t))
		}
		body.Struck = b.texts(t.Struck)
	}
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		switch {
		case !v.Conduct:
			body.Expects = append(body.Expects, b.check(v))
		case v.State == trials.Passed:
			body.Quiet = append(body.Quiet, oneLine(v.Check, 60))
		case v.State == trials.Skipped:
			body.Quiet = append(body.Quiet, oneLine(v.Check, 60)+" (skipped)")
		default:
			body.Conduct = append(body.Conduct, b.check(v))
		}
	}
	body.Fall, body.Script, body.Frames, body.Raw = fall(t), b.transcript(t), b.frames(t), b.raw(t)
	if body.Script == nil {
		body.LeftOut = "No transcript was recorded."
	}
	return body
}

func trialFacts(t *Trial) []factView {
	u := t.Tokens
	tokens := thousands(u.Total())
	if u.Total() > 0 {
		tokens = fmt.Sprintf("%s in, %s out", thousands(u.Prompt()), thousands(u.Output))
	} else if t.Uncounted() {
		tokens = unknownUse + ": the endpoint reports none"
	}
	for _, class := range []struct {
		name string
		n    int
	}{{"cached", u.Cached}, {"written to a cache", u.CacheWrite}, {"reasoning", u.Reasoning}} {
		if class.n > 0 {
			tokens += fmt.Sprintf(", %s %s", thousands(class.n), class.name)
		}
	}
	calls := fmt.Sprint(t.Counts.ModelCalls)
	if t.Counts.Retries > 0 {
		calls += " (" + strings.Replace(prose.Count(t.Counts.Retries, "retry"), "retrys", "retries", 1) + ")"
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
	if use := judgeUse(t.Judges); use != "" {
		facts = append(facts, factView{"Judges, counted apart", use})
	}
	if t.Recorded > 0 {
		facts = append(facts, factView{"Recorded", prose.Count(t.Recorded, "interaction")})
	}
	if t.Cassette != "" {
		facts = append(facts, factView{"Cassette", oneLine(t.Cassette, 400)})
	}
	if len(t.Answered) > 0 {
		facts = append(facts, factView{"Answered as", oneLine(strings.Join(t.Answered, ", "), 200)})
	}
	return facts
}

func (b *pageBuilder) check(v *trials.Verdict) checkView {
	out := checkView{
		Class: string(v.State), Word: stateWord(v.State), Name: checkName(v), Turn: v.Turn,
		Pos: oneLine(v.Pos.String(), 400), Text: b.text(headline(v)), Mismatches: b.mismatches(v.Mismatches),
	}
	switch v.State {
	case trials.Passed, trials.Skipped:
	case trials.Failed, trials.Undecided, trials.Warned:
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

func (b *pageBuilder) row(r trials.AlignmentRow) rowView {
	v := rowView{Pos: oneLine(r.Pos.String(), 400), Mismatches: b.mismatches(r.Mismatches)}
	v.Mark, v.Word = alignMark(r.Status)
	switch r.Status {
	case trials.AlignMatched:
		v.Class = "passed"
	case trials.AlignOutOfOrder, trials.AlignMismatched:
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

func (b *pageBuilder) mismatches(ms []trials.Mismatch) []mismatchView {
	var out []mismatchView
	for _, m := range ms {
		out = append(out, mismatchView{
			cmp.Or(oneLine(m.Path, 200), "(the whole value)"), oneLine(m.Rule, 80), b.text(m.Want), b.text(m.Got),
		})
	}
	return out
}
