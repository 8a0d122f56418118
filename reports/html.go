// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

//go:embed web/report.css web/report.js web/*.tmpl
var web embed.FS

// HTMLOptions are the options of [HTML].
type HTMLOptions struct {
	// Title heads the page. Default: the name of the run.
	Title string
	// MaxText is the number of bytes after which one text is cut, 8000 when
	// 0, no limit when negative.
	MaxText int
	// MaxBytes is about how large the page may get, 30 MB when 0, no limit
	// when negative. When it is reached the transcripts of further trials are
	// left out, those of failing trials last.
	MaxBytes int
}

// HTML writes a run as one page that opens from disk, asks the network for
// nothing, and needs no JavaScript.
func HTML(w io.Writer, run *Run, opts *HTMLOptions) error {
	var o HTMLOptions
	if opts != nil {
		o = *opts
	}
	o.MaxText = cmp.Or(o.MaxText, 8000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 30_000_000)
	tmpl, err := template.New("report").ParseFS(web, "web/*.tmpl")
	if err != nil {
		return fmt.Errorf("reading the templates: %w", err)
	}
	b := &pageBuilder{max: o.MaxText, tab: arrange(run)}
	p, err := b.page(run, o)
	if err != nil {
		return err
	}
	if err := b.renderTrials(tmpl, p, o.MaxBytes); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := tmpl.ExecuteTemplate(&out, "page.tmpl", p); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// The views are what the templates read: finished strings, no logic.
type (
	pageView struct {
		Title     string
		Policy    string
		CSS       template.CSS
		JS        template.JS
		Outcome   outcomeView
		Words     string
		Subtitle  []string
		Columns   []columnView
		Causes    []causeView
		Rarer     []causeView // causes that one has to ask for
		Drift     []driftView
		DriftSum  string
		Warnings  []textView
		Scenarios []*scenarioView
		Facts     []factView
		Sources   []sourceView
		MaxText   string
		Left      int // transcripts left out
	}
	columnView struct {
		Label string
		Tally tally
		Bar   []barView
	}
	barView struct {
		Outcome harness.Outcome
		X, W    string
	}
	// outcomeView is an outcome as a class, an icon and a word.
	outcomeView struct {
		Class string // passed, failed, error, skipped
		Word  string
	}
	causeView struct {
		Kind   string
		Text   textView
		Pos    string
		Folded []textView
		Trials []linkView
		More   int
	}
	linkView struct {
		ID, Label string
		Outcome   outcomeView
	}
	scenarioView struct {
		ID, Name, File, Description string
		Tags                        []string
		Critical, OK                bool
		Flaky                       bool
		Words                       string
		Cells                       []cellView
		Trials                      []*trialView
	}
	cellView struct {
		Column string
		Rate   string // of several attempts
		Dots   []dotView
	}
	dotView struct {
		ID, Label string
		Outcome   outcomeView
	}
	factView struct {
		Name  string
		Value string
	}
	sourceView struct {
		Name, File, Hash string
		Trials           int
	}
	// textView is a text that may have been cut.
	textView struct {
		Body  string
		Left  string // how much is missing
		Lines bool   // more than one line
	}
)

type pageBuilder struct {
	max int
	tab *table
}

func outcomeOf(o harness.Outcome) outcomeView {
	switch o {
	case harness.OutcomePassed, harness.OutcomeFailed, harness.OutcomeError, harness.OutcomeSkipped:
		return outcomeView{string(o), string(o)}
	default:
		return outcomeView{"error", "unknown outcome"}
	}
}

func (b *pageBuilder) text(s string) textView {
	head, left := cut(s, b.max)
	v := textView{Body: clean(head), Lines: strings.Contains(head, "\n")}
	if left > 0 {
		v.Left = bytesText(left)
	}
	return v
}

func (b *pageBuilder) texts(list []string) []textView {
	var out []textView
	for _, s := range list {
		out = append(out, b.text(s))
	}
	return out
}

// page builds all of the page but its trials.
func (b *pageBuilder) page(run *Run, o HTMLOptions) (*pageView, error) {
	css, err := web.ReadFile("web/report.css")
	if err != nil {
		return nil, err
	}
	js, err := web.ReadFile("web/report.js")
	if err != nil {
		return nil, err
	}
	m := run.Manifest
	p := &pageView{
		Title: oneLine(cmp.Or(o.Title, m.Name, "rehearse"), 200),
		// The digests admit these two texts and nothing that a template might
		// ever let slip.
		Policy: fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src %s; script-src %s",
			digest(css), digest(js)),
		CSS:     template.CSS(css),
		JS:      template.JS(js),
		Words:   b.tab.Total.Words(),
		Outcome: outcomeOf(b.tab.Total.Outcome()),
	}
	if o.MaxText > 0 {
		p.MaxText = bytesText(o.MaxText)
	}
	p.Subtitle = append(p.Subtitle, count(len(b.tab.Scenarios), "scenario"), count(len(b.tab.Columns), "model"))
	if m.Mode != "" {
		p.Subtitle = append(p.Subtitle, oneLine(string(m.Mode), 40)+" mode")
	}
	if !m.Started.IsZero() {
		p.Subtitle = append(p.Subtitle, m.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if m.Interrupted {
		p.Warnings = append(p.Warnings, textView{Body: fmt.Sprintf("The run was interrupted: %d of %s planned ended.", len(run.Trials), count(m.Planned, "trial"))})
	}
	p.Warnings = append(append(p.Warnings, b.texts(m.Warnings)...), b.texts(run.Warnings)...)
	for _, c := range b.tab.Columns {
		p.Columns = append(p.Columns, columnView{c.Label, c.Tally, bar(c.Tally)})
	}
	for i, s := range b.tab.Scenarios {
		p.Scenarios = append(p.Scenarios, b.scenario(i, s))
		p.Sources = append(p.Sources, sourceView{oneLine(s.Name, 200), oneLine(s.File, 400), oneLine(s.Hash, 100), s.Tally.Trials()})
	}
	p.Causes = b.causes()
	if len(p.Causes) > maxCauses+1 {
		p.Causes, p.Rarer = p.Causes[:maxCauses], p.Causes[maxCauses:]
	}
	p.Drift, p.DriftSum = b.drift()
	p.Facts = provenance(run)
	return p, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// bar is the share of each outcome, in percent of all trials.
func bar(y tally) []barView {
	var out []barView
	x := 0.0
	for _, part := range []struct {
		o harness.Outcome
		n int
	}{{harness.OutcomePassed, y.Passed}, {harness.OutcomeFailed, y.Failed}, {harness.OutcomeError, y.Errors}, {harness.OutcomeSkipped, y.Skipped}} {
		if part.n == 0 {
			continue
		}
		w := 100 * float64(part.n) / float64(y.Trials())
		out = append(out, barView{part.o, fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", w)})
		x += w
	}
	return out
}

func scenarioID(i int) string { return fmt.Sprintf("scenario-%d", i+1) }

// trialID names a trial by its place, so that links survive a run that is
// repeated.
func trialID(s, c, n int) string { return fmt.Sprintf("trial-%d-%d-%d", s+1, c+1, n+1) }

func (b *pageBuilder) scenario(i int, s *scenario) *scenarioView {
	v := &scenarioView{
		ID: scenarioID(i), Name: oneLine(s.Name, 200), File: oneLine(s.File, 400),
		Description: oneLine(s.Description, 500), Critical: s.Critical,
		OK: s.Tally.Failed+s.Tally.Errors == 0, Words: s.Tally.Words(),
	}
	if s.Pos.Line > 0 {
		v.File += fmt.Sprintf(":%d", s.Pos.Line)
	}
	for _, tag := range s.Tags {
		v.Tags = append(v.Tags, oneLine(tag, 60))
	}
	for c, cell := range s.Cells {
		var y tally
		cv := cellView{Column: b.tab.Columns[c].Label}
		for n, t := range cell {
			y.add(t)
			label := outcomeOf(t.Outcome).Word + ", " + durationText(t.Duration)
			if len(cell) > 1 {
				label = fmt.Sprintf("attempt %d: %s", t.Attempt, label)
			}
			cv.Dots = append(cv.Dots, dotView{trialID(i, c, n), label, outcomeOf(t.Outcome)})
		}
		if len(cell) > 1 {
			cv.Rate = fmt.Sprintf("%d/%d", y.Passed, y.Judged())
			if y.Judged() == 0 {
				cv.Rate = "n/a"
			}
		}
		v.Flaky = v.Flaky || y.Flaky()
		v.Cells = append(v.Cells, cv)
	}
	return v
}

// maxCauses is how many causes are shown at once, and maxCauseLinks how many
// trials one of them lists.
const (
	maxCauses     = 8
	maxCauseLinks = 12
)

// causes groups failing trials by what was wrong, the most frequent first.
func (b *pageBuilder) causes() []causeView {
	type key struct{ kind, message, pos string }
	var order []key
	groups := map[key]*causeView{}
	for i, s := range b.tab.Scenarios {
		for c, cell := range s.Cells {
			for n, t := range cell {
				if !failing(t) {
					continue
				}
				cause := cmp.Or(t.Cause, &harness.Cause{Kind: "unknown", Message: "no cause was recorded"})
				k := key{string(cause.Kind), cause.Message, cause.Pos.String()}
				g := groups[k]
				if g == nil {
					g = &causeView{Kind: causeWord(cause.Kind), Text: b.text(cause.Message), Pos: oneLine(k.pos, 400)}
					groups[k] = g
					order = append(order, k)
				}
				if len(g.Trials) == maxCauseLinks {
					g.More++
					continue
				}
				label := strings.Join(strings.Fields(oneLine(s.Name, 80)+" "+columnName(b.tab, c)+" "+attempt(t, cell)), " ")
				g.Trials = append(g.Trials, linkView{trialID(i, c, n), label, outcomeOf(t.Outcome)})
			}
		}
	}
	var out []causeView
	for _, k := range order {
		out = append(out, *groups[k])
	}
	slices.SortStableFunc(out, func(a, b causeView) int {
		return cmp.Compare(len(b.Trials)+b.More, len(a.Trials)+a.More)
	})
	return out
}

// causeWord says who is to blame, for a person.
func causeWord(k harness.CauseKind) string {
	switch k {
	case harness.CauseScenario:
		return "scenario error"
	case harness.CauseEndpoint:
		return "endpoint error"
	case harness.CauseRefusal:
		return "refused by the provider"
	case harness.CauseMiss:
		return "not scripted"
	case harness.CauseLimits:
		return "limit passed"
	case harness.CauseSubject:
		return "subject broke"
	case harness.CauseConduct:
		return "conduct"
	case harness.CauseExpectation:
		return "expectation"
	default:
		return oneLine(string(k), 40)
	}
}

func provenance(run *Run) []factView {
	m := run.Manifest
	var out []factView
	add := func(name, value string) {
		if value != "" {
			out = append(out, factView{name, oneLine(value, 400)})
		}
	}
	add("Run", m.Name)
	add("Mode", string(m.Mode))
	add("Subject", m.Subject)
	if !m.Started.IsZero() {
		add("Started", m.Started.UTC().Format(time.RFC3339))
	}
	switch {
	case m.Finished.IsZero():
		add("Finished", "not recorded")
	default:
		add("Finished", m.Finished.UTC().Format(time.RFC3339)+" (after "+durationText(m.Finished.Sub(m.Started))+")")
	}
	if m.Planned > 0 {
		add("Trials", fmt.Sprintf("%d of %d planned", len(run.Trials), m.Planned))
	} else {
		add("Trials", fmt.Sprint(len(run.Trials)))
	}
	add("Seed", fmt.Sprint(m.Seed))
	for _, model := range m.Models {
		text := cmp.Or(model.Asked, "unnamed")
		if len(model.Answered) > 0 {
			text += ", answered as " + strings.Join(model.Answered, ", ")
		}
		if model.BaseURL != "" {
			text += ", at " + model.BaseURL
		}
		add("Model", text)
	}
	add("rehearse", m.Rehearse)
	add("Go", m.Go)
	return out
}
