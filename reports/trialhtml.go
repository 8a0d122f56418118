// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"strconv"
	"strings"
)

func number(n int) string { return strconv.Itoa(n) }

// row writes a trial as a line with what is below it: the details as they are, or
// where they stand.
func (m *markup) row(v *trialView) {
	m.put("\n"+`<details class="trial {}" id="{}"`, v.Outcome.Class, v.ID)
	m.some(` data-chunk="{}"`, v.Chunk)
	m.when(v.OK, " data-ok")
	m.when(v.Open, " open")
	m.put(">\n<summary>")
	m.icon(v.Outcome.Class)
	m.put(`<span class="word">{}</span>`, v.Outcome.Word)
	m.some(`<span class="name"><bdi>{}</bdi></span>`, v.Column)
	m.some(`<span class="muted">{}</span>`, v.Attempt)
	m.put(`<span class="short"><bdi>{}</bdi></span><span class="time">{}</span></summary>`+"\n"+`<div class="body">`, v.Short, v.Duration)
	switch {
	case v.Chunk != "":
		m.elsewhere("Compressed in this page; to open it needs JavaScript.", v.File)
	case v.LeftOut:
		m.elsewhere("The transcript is omitted to keep this page small.", v.File)
	default:
		m.put("\n")
		m.WriteString(string(v.Body)) // written by body
	}
	m.put("</div>\n</details>")
}

// elsewhere says why the details of a trial are not below its line.
func (m *markup) elsewhere(why, file string) {
	m.put(`<p class="muted">{}`, why)
	m.some(" The run folder has it as <code>{}</code>.", file)
	m.put("</p>")
}

// cell writes a cell of the matrix.
func (m *markup) cell(v *cellView) {
	m.put("<td")
	m.when(v.After, ` class="after"`)
	m.put(` data-of="{}">`, v.Column)
	if len(v.Dots) == 0 {
		m.put(`<span class="muted">not run</span></td>`)
		return
	}
	m.put(`<span class="dots">`)
	for i := range v.Dots {
		d := &v.Dots[i]
		m.put(`<a class="dot {}" href="#{}" title="{}`, d.Outcome.Class, d.ID, d.Label)
		m.some(": {}", d.Why)
		m.put(`" aria-label="{}"></a>`, d.Label)
	}
	if v.Rate != "" {
		m.put(`<span class="muted small">{}`, v.Rate)
		m.some(", {}", v.Ways)
		m.put("</span>")
	}
	m.put("</span></td>")
}

// body writes the details of a trial.
func (m *markup) body(b *trialBody) {
	m.again(b)
	if b.Cause != nil {
		m.put("\n"+`<div class="cause {}">`, b.Outcome.Class)
		m.cause(b.Cause)
		m.put("</div>")
	}
	if len(b.Struck) > 0 {
		m.put("\n<h4>Faults that struck</h4>")
		m.folded(b.Struck)
	}
	for _, w := range b.Warnings {
		m.note(w)
	}
	m.put("\n" + `<dl class="facts">`)
	for _, f := range b.Facts {
		m.put("\n<div><dt>{}</dt><dd><bdi>{}</bdi></dd></div>", f.Name, f.Value)
	}
	m.put("\n</dl>")
	if len(b.Drift) > 0 {
		m.put("\n<h4>Drift against the recording before</h4>\n")
		m.drift(b.Drift)
	}
	m.checks(b)
	m.fall(b.Fall)
	m.put("\n<h4>Transcript</h4>")
	m.some("\n"+`<p class="muted">{}</p>`, b.LeftOut)
	if b.Script != nil {
		m.script(b.Script)
	}
	m.raw(b.Raw)
	if b.Frames != nil {
		m.frames(b.Frames)
	}
	m.put("\n")
}

// again has what one copies to play the trial again.
func (m *markup) again(b *trialBody) {
	if b.Command == "" && b.YAML == "" {
		return
	}
	m.put("\n" + `<div class="again">`)
	m.some(`<button type="button" class="copy" data-copy="{}" hidden>Copy the command that re-runs just this</button>`, b.Command)
	m.some(`<button type="button" class="copy" data-copy="{}" hidden>Copy as YAML</button>`, b.YAML)
	m.put("\n"+`<button type="button" class="copy" data-link="{}" hidden>Copy the link</button>`+"\n</div>", b.ID)
}

func (m *markup) checks(b *trialBody) {
	if len(b.Expects) > 0 {
		m.put("\n<h4>Expectations</h4>")
		for i := range b.Expects {
			m.check(&b.Expects[i])
		}
	}
	if len(b.Conduct) == 0 && len(b.Quiet) == 0 {
		return
	}
	m.put("\n" + `<h4><a class="term" href="#word-conduct">Conduct</a></h4>`)
	for i := range b.Conduct {
		m.check(&b.Conduct[i])
	}
	if len(b.Quiet) > 0 {
		words := "No findings: "
		if len(b.Conduct) > 0 {
			words = "Without a finding: "
		}
		m.put("\n"+`<p class="muted small">{}{}.</p>`, words, strings.Join(b.Quiet, ", "))
	}
}

// fall is the waterfall.
func (m *markup) fall(list []fallView) {
	if len(list) == 0 {
		return
	}
	m.put("\n" + `<h4 class="fallhead">Timings</h4>` + "\n" + `<ol class="fall">`)
	for _, f := range list {
		m.put("\n"+`<li class="{}"><span class="falln">{}</span><svg class="fallbar" aria-hidden="true" preserveAspectRatio="none">`, f.Class, f.Label)
		for _, b := range f.Bars {
			m.put(`<rect class="{}" x="{}%" y="15%" width="{}%" height="70%"/>`, b.Class, b.X, b.W)
		}
		m.put(`</svg><span class="muted small">{}</span></li>`, f.Words)
	}
	m.put("\n</ol>")
}

func (m *markup) script(s *transcriptView) {
	m.puts("\n"+`<p class="muted small">{}</p>`, s.Notes)
	m.put("\n" + `<div class="script">`)
	if s.System != nil || len(s.Tools) > 0 {
		m.put("\n" + `<div class="who muted">Setup</div>` + "\n" + `<div class="what">`)
		m.plain("System prompt", s.System)
		if len(s.Tools) > 0 {
			m.put("\n"+`<details class="plain"><summary>{} tools offered</summary>`+"\n"+`<dl class="toollist">`, number(len(s.Tools)))
			for _, t := range s.Tools {
				m.put("\n<div><dt><code>{}</code></dt><dd>", t.Name)
				m.text(t.Text)
				m.put("</dd></div>")
			}
			m.put("\n</dl></details>")
		}
		m.put("\n</div>")
	}
	for i := range s.Turns {
		m.turn(&s.Turns[i])
	}
	if len(s.Stray) > 0 {
		m.put("\n" + `<div class="who turn bad"><strong>Other calls</strong><span class="muted small">no answer above explains them</span></div>` +
			"\n" + `<div class="what turn">`)
		m.cards(s.Stray)
		m.put("\n</div>")
	}
	if len(s.States) > 0 || s.Log != nil {
		m.put("\n" + `<div class="who turn muted">Afterwards</div>` + "\n" + `<div class="what turn">`)
		for _, x := range s.States {
			m.plain("State of "+x.Name, &x.Text)
		}
		m.plain("Log", s.Log)
		m.put("\n</div>")
	}
	m.put("\n</div>")
}

// plain is a text that one has to open, if there is one.
func (m *markup) plain(summary string, t *textView) {
	if t == nil {
		return
	}
	m.put("\n"+`<details class="plain"><summary>{}</summary>`, summary)
	m.text(*t)
	m.put("</details>")
}

// bad is a text that says what went wrong, if there is one.
func (m *markup) bad(t *textView) {
	if t == nil {
		return
	}
	m.put("\n" + `<div class="bad">`)
	m.msg(*t)
	m.put("</div>")
}

// say is what the model or the subject said, if it did.
func (m *markup) say(t *textView) {
	if t == nil {
		return
	}
	m.put("\n" + `<div class="say">`)
	m.text(*t)
	m.put("</div>")
}

func (m *markup) cards(list []cardView) {
	for i := range list {
		m.card(&list[i])
	}
}

// named are texts below their names.
func (m *markup) named(list []namedText) {
	for _, x := range list {
		m.put("\n<h5>{}</h5>", x.Name)
		m.text(x.Text)
	}
}

func (m *markup) turn(t *turnView) {
	m.put("\n"+`<div class="who turn"><strong>User</strong><span class="muted small">turn {}</span></div>`+"\n"+`<div class="what turn user">`, number(t.N))
	if t.User != nil {
		m.text(*t.User)
	} else {
		m.put(`<p class="muted">not recorded</p>`)
	}
	m.put("</div>")
	for i := range t.Steps {
		m.step(&t.Steps[i])
	}
	if t.Answer == nil && !t.Same && t.Stop == "" && t.Error == nil && len(t.Notes) == 0 {
		return
	}
	m.put("\n" + `<div class="who"><strong>Subject</strong><span class="muted small">reports</span></div>` + "\n" + `<div class="what">`)
	m.when(t.Same, "\n"+`<p class="muted small">The answer above, unchanged.</p>`)
	m.say(t.Answer)
	m.some("\n<p>Stopped: <code>{}</code></p>", t.Stop)
	m.bad(t.Error)
	for _, n := range t.Notes {
		m.put("\n" + `<div class="muted">`)
		m.msg(n)
		m.put("</div>")
	}
	m.put("\n</div>")
}

func (m *markup) step(s *stepView) {
	m.put("\n" + `<div class="who`)
	m.when(s.Bad, " bad")
	m.put(`"><strong>{}</strong>`, s.Title)
	m.some(`<span class="small kindword">{}</span>`, s.Kind)
	m.puts(`<span class="muted small">{}</span>`, s.Facts)
	m.put("</div>\n" + `<div class="what">`)
	if len(s.New) > 0 {
		m.put("\n"+`<details class="plain sent"><summary>Sent: {}</summary>`, s.Sent)
		for i := range s.New {
			m.put("\n"+`<div class="msg"><span class="muted small">{}</span>`, s.New[i].Role)
			m.text(s.New[i].Text)
			m.put("</div>")
		}
		m.put("\n</details>")
	}
	m.bad(s.Error)
	m.plain("Reasoning", s.Reasoning)
	if s.Refusal != nil {
		m.put("\n" + `<div class="bad"><p class="small">The model refused:</p>`)
		m.text(*s.Refusal)
		m.put("</div>")
	}
	m.say(s.Say)
	m.cards(s.Calls)
	if len(s.Wire) > 0 {
		m.put("\n" + `<details class="plain wire"><summary>On the wire</summary>`)
		m.named(s.Wire)
		m.put("\n</details>")
	}
	m.put("\n</div>")
}

func (m *markup) raw(list []rawView) {
	if len(list) == 0 {
		return
	}
	m.put("\n"+`<details class="plain wire frames raw"><summary>HTTP as it was on the wire: {} requests</summary>`+"\n<ol>", number(len(list)))
	for _, x := range list {
		m.put("\n"+`<li><p class="small"><span class="muted">{}</span> <code>{}</code></p>`+"\n"+`<details class="plain"><summary>Request and answer</summary>`, x.At, x.Words)
		m.named(x.Parts)
		m.put("\n</details></li>")
	}
	m.put("\n</ol>\n</details>")
}

func (m *markup) frames(f *framesView) {
	m.put("\n"+`<details class="plain wire frames"><summary>{}</summary>`+"\n<ol>", f.Words)
	for i := range f.List {
		x := &f.List[i]
		m.put("\n"+`<li><p class="small"><span class="muted">{}</span> {} <code>{}</code> <span class="muted">{}</span></p>`, x.At, x.Way, x.What, x.Server)
		m.text(x.Body)
		m.put("</li>")
	}
	m.put("\n</ol>\n</details>")
}
