// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// markup is HTML that is written by code: the parts of which a large page has
// many thousands. A template takes ten times as long for them.
type markup struct{ bytes.Buffer }

// layout is HTML with places {} for texts. Only a constant becomes one without a
// conversion, so that no text of a run can.
type layout string

// escaper escapes a text for the content of an element, and for the value of an
// attribute in double quotes, as html/template does.
var escaper = strings.NewReplacer(
	"\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;",
)

// put writes a layout with texts in its places, escaped. A place that has no
// text, or a text without a place, is a mistake of the code.
func (m *markup) put(l layout, texts ...string) {
	rest := string(l)
	for _, text := range texts {
		head, tail, ok := strings.Cut(rest, "{}")
		if !ok {
			panic("a text without a place in " + string(l))
		}
		m.WriteString(head)
		_, _ = escaper.WriteString(m, text) // cannot err: a buffer takes everything
		rest = tail
	}
	if strings.Contains(rest, "{}") {
		panic("a place without a text in " + string(l))
	}
	m.WriteString(rest)
}

// puts writes a layout with one place for each of the texts.
func (m *markup) puts(l layout, texts []string) {
	for _, text := range texts {
		m.put(l, text)
	}
}

// some writes a layout with a text, unless that is empty.
func (m *markup) some(l layout, text string) {
	if text != "" {
		m.put(l, text)
	}
}

// when writes a layout without places if ok holds.
func (m *markup) when(ok bool, l layout) {
	if ok {
		m.put(l)
	}
}

// parts are the functions of the templates: what code writes, and they need too.
func parts() template.FuncMap {
	return template.FuncMap{
		"icon":  func(class string) template.HTML { return made(func(m *markup) { m.icon(class) }) },
		"msg":   func(t textView) template.HTML { return made(func(m *markup) { m.msg(t) }) },
		"cause": func(c causeView) template.HTML { return made(func(m *markup) { m.cause(&c) }) },
		"drift": func(list []driftLine) template.HTML { return made(func(m *markup) { m.drift(list) }) },
		"row":   func(v *trialView) template.HTML { return made(func(m *markup) { m.row(v) }) },
		"cell":  func(v cellView) template.HTML { return made(func(m *markup) { m.cell(&v) }) },
	}
}

func made(write func(*markup)) template.HTML {
	var m markup
	write(&m)
	return template.HTML(m.String()) //nolint:gosec // put has escaped its texts
}

func (m *markup) icon(class string) {
	m.put(`<svg class="i {}" aria-hidden="true"><use href="#i-{}"/></svg>`, class, class)
}

func (m *markup) cut(left string) { m.some(`<p class="cut">Cut here: {} more.</p>`, left) }

// text shows a text as it is.
func (m *markup) text(t textView) {
	m.some(`<pre dir="auto">{}</pre>`, t.Body)
	m.cut(t.Left)
}

// msg shows a text that is prose where it has one line.
func (m *markup) msg(t textView) {
	if t.Lines {
		m.text(t)
		return
	}
	m.some(`<pre dir="auto" class="prose">{}</pre>`, t.Body)
	m.cut(t.Left)
}

// value shows a text that may be missing.
func (m *markup) value(t textView) {
	if t.Body == "" {
		m.put(`<span class="muted">nothing</span>`)
		return
	}
	m.text(t)
}

func (m *markup) cause(c *causeView) {
	m.put(`<p class="kind"><span class="tag solid">{}</span>`, c.Kind)
	m.some(` <span class="tag plain">{}</span>`, c.Blame)
	m.some(` <code>{}</code>`, c.Pos)
	if c.Others > 0 {
		m.put(` <span class="muted small">and {}</span>`, prose.CountOf(c.Others, "other place", "other places"))
	}
	m.put("</p>\n")
	m.msg(c.Text)
	m.folded(c.Folded)
}

// folded lists texts that come after the first.
func (m *markup) folded(list []textView) {
	if len(list) == 0 {
		return
	}
	m.put("\n" + `<ul class="folded">`)
	for _, t := range list {
		m.put("\n<li>")
		m.msg(t)
		m.put("</li>")
	}
	m.put("\n</ul>")
}

func (m *markup) drift(list []driftLine) {
	m.put(`<ul class="drift">`)
	for _, l := range list {
		m.put("\n<li>")
		m.icon(l.Class)
		m.put(`<span class="tag plain">{}</span> <bdi>{}</bdi></li>`, l.Tier, l.Text)
	}
	m.put("\n</ul>")
}

func (m *markup) note(t textView) {
	m.put("\n" + `<div class="note">`)
	m.icon("warning")
	m.put("<div>")
	m.msg(t)
	m.put("</div></div>")
}

// check is a verdict, with what was found below it.
func (m *markup) check(c *checkView) {
	if c.Text.Body == "" && len(c.Mismatches) == 0 && len(c.Rows) == 0 {
		m.put("\n" + `<div class="check"><div class="line">`)
		m.checkLine(c)
		m.put("</div></div>")
		return
	}
	m.put("\n"+`<details class="check {}"`, c.Class)
	m.when(c.Open, " open")
	m.put(">\n" + `<summary class="line">`)
	m.checkLine(c)
	m.put("</summary>\n" + `<div class="inner" tabindex="0" role="group" aria-label="What was found">`)
	m.msg(c.Text)
	if len(c.Mismatches) > 0 {
		m.mismatches(c.Mismatches)
	}
	if len(c.Rows) > 0 {
		m.lanes(c.Rows)
	}
	m.put("\n</div>\n</details>")
}

func (m *markup) checkLine(c *checkView) {
	m.icon(c.Class)
	m.put(`<span class="word">{}</span><span class="name">{}</span>`, c.Word, c.Name)
	if c.Turn != 0 {
		m.put(`<span class="muted">turn {}</span>`, number(c.Turn))
	}
	m.some(`<span class="muted">score {}</span>`, c.Score)
	m.some(`<code class="muted">{}</code>`, c.Pos)
}

func (m *markup) mismatches(list []mismatchView) {
	m.put("\n" + `<table class="mismatches">` + "\n" +
		`<thead><tr><th scope="col">Path</th><th scope="col">Rule</th><th scope="col">Want</th><th scope="col">Got</th></tr></thead>` + "\n<tbody>")
	for _, x := range list {
		m.put("\n"+`<tr><td class="mono">{}</td><td class="mono">{}</td><td class="want">`, x.Path, x.Rule)
		m.value(x.Want)
		m.put(`</td><td class="got">`)
		m.value(x.Got)
		m.put("</td></tr>")
	}
	m.put("\n</tbody>\n</table>")
}

// lanes are calls that were expected beside those that were made.
func (m *markup) lanes(rows []rowView) {
	m.put("\n" + `<table class="lanes">` + "\n" +
		`<thead><tr><th scope="col">Call</th><th scope="col">Expected</th><th scope="col">Actual</th></tr></thead>` + "\n<tbody>")
	for i := range rows {
		r := &rows[i]
		m.put("\n"+`<tr class="{}"><td class="fate"><span class="mark" aria-hidden="true">{}</span> {}</td><td>`, r.Class, r.Mark, r.Word)
		m.lane(r.Expected)
		m.some(`<span class="muted small mono">{}</span>`, r.Pos)
		m.put("</td><td>")
		m.lane(r.Actual)
		m.put("</td></tr>")
		if len(r.Mismatches) > 0 {
			m.put("\n"+`<tr class="{} why"><td></td><td colspan="2">`, r.Class)
			m.mismatches(r.Mismatches)
			m.put("</td></tr>")
		}
	}
	m.put("\n</tbody>\n</table>")
}

func (m *markup) lane(c *callLine) {
	if c == nil {
		m.put(`<span class="muted">–<span class="sr">no call</span></span>`)
		return
	}
	m.put(`<code class="call"><bdi>{}</bdi></code>`, c.Name)
	m.text(c.Args)
}

// card is a tool call.
func (m *markup) card(c *cardView) {
	m.put("\n"+`<div class="card {}">`+"\n"+`<div class="cardhead">`, c.Class)
	m.icon(c.Class)
	m.put(`<code class="call"><bdi>{}</bdi></code>`, c.Name)
	m.some(`<span class="muted small">offered as <code>{}</code></span>`, c.Offered)
	m.put(`<span class="word">{}</span><span class="muted small facts">{}</span>`, c.Word, strings.Join(c.Facts, " · "))
	m.some(`<code class="muted id">{}</code>`, c.ID)
	m.put("</div>\n" + `<div class="io"><div><h5>Arguments</h5>`)
	m.textOr(c.Args, `<p class="muted small">none</p>`)
	m.put("</div>\n<div>")
	if c.ResultName != "" {
		m.put("<h5>{}</h5>", c.ResultName)
		m.textOr(c.Result, `<p class="muted small">empty</p>`)
	}
	m.put("</div></div>\n</div>")
}

// textOr shows a text, or else that there is none.
func (m *markup) textOr(t textView, none layout) {
	if t.Body == "" {
		m.put(none)
		return
	}
	m.text(t)
}
