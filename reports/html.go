// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/look"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

//go:embed web/report.js web/*.tmpl
var web embed.FS

// HTMLOptions are the options of [HTML].
type HTMLOptions struct {
	// Title heads the page. Default: the name of the run.
	Title string
	// MaxText is the number of bytes after which one text is cut, 8000 when
	// 0, no limit when negative.
	MaxText int
	// MaxBytes is how much of the page the details of trials may take, 24 MB
	// when 0, no limit when negative. They are compressed. When it is reached
	// those of further trials are left out, those of failing trials last.
	MaxBytes int
}

// HTML writes a run as one page that opens from disk and asks the network for
// nothing. Overview, matrix, comparisons and the first trials that failed need
// no JavaScript; the details of further trials stand compressed in the page, and
// its script expands them.
func HTML(w io.Writer, run *Run, opts *HTMLOptions) error {
	return page(w, run, arrange(run), nil, opts)
}

// page writes a table as a page; with a diff it is the page of two runs.
func page(w io.Writer, run *Run, tab *table, diff *Diff, opts *HTMLOptions) error {
	var o HTMLOptions
	if opts != nil {
		o = *opts
	}
	o.MaxText = cmp.Or(o.MaxText, 8000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 24_000_000)
	tmpl, err := templates()
	if err != nil {
		return err
	}
	b := &pageBuilder{max: o.MaxText, tab: tab, run: run, diff: diff, seen: map[string]seen{}, views: map[string]*trialView{}, packers: sync.Pool{New: newPacker}}
	p, err := b.page(o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := tmpl.ExecuteTemplate(&out, "page.tmpl", p); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	// What is compressed is not rendered: it would be copied three times.
	head, tail, _ := bytes.Cut(out.Bytes(), []byte(chunksHere))
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, c := range p.Chunks {
		if _, err := fmt.Fprintf(w, "<script type=\"application/octet-stream\" id=\"%s\">%s</script>\n", c.ID, c.Data); err != nil {
			return err
		}
	}
	_, err = w.Write(tail)
	return err
}

// templates are those of all pages.
func templates() (*template.Template, error) {
	tmpl, err := look.Parse(template.New("report").Funcs(parts()))
	if err == nil {
		tmpl, err = tmpl.ParseFS(web, "web/*.tmpl")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	return tmpl, nil
}

// chunksHere stands in the template where the compressed details come. No text
// of a run can be equal to it: their angle brackets are escaped.
const chunksHere = "<hr id=\"chunks\">\n"

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
		Warnings  []textView
		Diff      *diffView
		Overview  overviewView
		Matrix    matrixView
		Pairs     pairsView
		Causes    causesView
		Drift     []driftView
		DriftSum  string
		Scenarios []*scenarioView
		Confusion confusionView
		Costs     costView
		Gold      goldView
		Facts     []factView
		Sources   []sourceView
		MaxText   string
		Left      int // transcripts left out
		Packed    int // trials whose details are compressed
		Chunks    []chunkView
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
	max   int
	run   *Run
	tab   *table
	diff  *Diff
	seen  map[string]seen // by the id of the trial
	views map[string]*trialView

	packers sync.Pool
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

// page builds what the page shows.
func (b *pageBuilder) page(o HTMLOptions) (*pageView, error) {
	css := look.CSS()
	js, err := web.ReadFile("web/report.js")
	if err != nil {
		return nil, err
	}
	run, m := b.run, b.run.Manifest
	p := &pageView{
		Title: oneLine(cmp.Or(o.Title, m.Name, "rehearse"), 200),
		// The digests admit these two texts and nothing that a template might
		// ever let slip.
		Policy: fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src %s; script-src %s",
			look.Digest(css), look.Digest(js)),
		CSS:     template.CSS(css),
		JS:      template.JS(js),
		Words:   b.tab.Words(),
		Outcome: outcomeOf(b.tab.Outcome()),
	}
	if o.MaxText > 0 {
		p.MaxText = bytesText(o.MaxText)
	}
	models, variants := b.tab.axes()
	p.Subtitle = append(p.Subtitle, prose.Count(len(b.tab.Scenarios), "scenario"), prose.Count(models, "model"))
	if variants > 0 {
		p.Subtitle = append(p.Subtitle, prose.Count(variants, "variant"))
	}
	if m.Mode != "" {
		p.Subtitle = append(p.Subtitle, oneLine(string(m.Mode), 40)+" mode")
	}
	if !m.Started.IsZero() {
		p.Subtitle = append(p.Subtitle, m.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if dir := namedFolder(run); dir != "" {
		p.Subtitle = append(p.Subtitle, "folder "+dir)
	}
	if m.Interrupted {
		p.Warnings = append(p.Warnings, textView{Body: fmt.Sprintf("The run was interrupted: %d of %s planned ended.", len(run.Trials), prose.Count(m.Planned, "trial"))})
	}
	p.Warnings = append(append(p.Warnings, b.texts(m.Warnings)...), b.texts(run.Warnings)...)
	// First the details, since the other views count what is in them.
	b.renderTrials(p, o.MaxBytes)
	for i, s := range b.tab.Scenarios {
		v := b.scenario(i, s)
		for c, cell := range s.Cells {
			for n := range cell {
				v.Trials = append(v.Trials, b.views[trialID(i, c, n)])
			}
		}
		p.Scenarios = append(p.Scenarios, v)
		p.Sources = append(p.Sources, sourceView{oneLine(s.Name(), 200), oneLine(s.File, 400), oneLine(s.Hashes.Scenario, 100), s.Tally.Trials()})
	}
	for _, v := range b.views {
		if v.Chunk != "" {
			p.Packed++
		}
	}
	standing, err := b.tab.stand()
	if err != nil {
		return nil, err
	}
	p.Overview, p.Pairs = b.overview(standing), b.pairs(standing)
	p.Matrix, p.Causes = b.matrix(p.Scenarios), b.causes()
	p.Drift, p.DriftSum = b.drift()
	p.Confusion, p.Costs = b.confusion(), b.costs(standing)
	p.Facts = provenance(run)
	if b.diff != nil {
		p.Facts = slices.Concat(of(run.sides[sideA], provenance(b.diff.A)), of(run.sides[sideB], provenance(b.diff.B)))
	}
	if p.Diff = b.diffView(); p.Diff == nil {
		p.Gold = b.gold()
	}
	return p, nil
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

// of names the run of a diff that facts are about.
func of(name string, facts []factView) []factView {
	for i := range facts {
		facts[i].Name = name + ": " + facts[i].Name
	}
	return facts
}

// namedFolder is the folder of a run, unless nothing is measured in it: then what
// was played twice gives the same page twice, and the folder has the time in its
// name.
func namedFolder(run *Run) string {
	if run.Manifest.Started.IsZero() {
		return ""
	}
	return folder(run)
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
	add("Folder", namedFolder(run))
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
		text := cmp.Or(model.Label, "unnamed")
		if model.Name != model.Label {
			text += ": " + model.Name
		}
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
