// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Review looks at exchanges that are to be written together. It returns them
// without the secrets that were found in others of them, and what looks like a
// secret still, each with its interaction and place.
func (r *Redactor) Review(list []*vcr.Interaction) ([]*vcr.Interaction, []Finding) {
	learned := newNeedles(r.learned())
	out := make([]*vcr.Interaction, len(list))
	var all []Finding
	for n, i := range list {
		out[n] = r.without(i, learned)
		one := &vcr.File{Interactions: []*vcr.Interaction{out[n]}}
		for _, f := range r.scan(one.Encode(), learned) {
			f.Interaction, f.Place = n+1, r.placeOf(out[n], f.secret)
			all = append(all, f)
		}
	}
	return out, all
}

// Text takes keys out of a text that people are told of a conversation: known
// shapes, and values in the context of a secret, but for those that could be any
// word. Texts that look random stay.
func (r *Redactor) Text(s string) string {
	p := &pass{r: r, people: true}
	return p.plain(s)
}

// learned are the secrets that were found so far.
func (r *Redactor) learned() []needle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.needlesOf(r.seen)
}

// without returns an exchange without secrets that have been found, itself
// where it has none of them.
func (r *Redactor) without(i *vcr.Interaction, learned *needles) *vcr.Interaction {
	if learned == nil {
		return i
	}
	p := &pass{r: r, learned: learned}
	find := func(b []byte) []edit { return tidy(learned.find(b, nil)) }
	out := edited(i, find, func([]byte) []edit { return nil })
	body, _ := p.body(i.Request.Header, i.Request.Body, nil)
	answer, chunks := p.body(i.Response.Header, i.Response.Body, i.Meta.Chunks)
	if bytes.Equal(body, i.Request.Body) && bytes.Equal(answer, i.Response.Body) {
		return out
	}
	c := *out
	c.Request.Body, c.Response.Body, c.Meta.Chunks = body, answer, chunks
	return &c
}

// Mask returns a copy of an exchange in which what was found is replaced, and
// a part that holds it in a form that cannot be replaced is taken out whole.
func (r *Redactor) Mask(i *vcr.Interaction, found []Finding) *vcr.Interaction {
	var list []needle
	for _, f := range found {
		if len(f.secret) > 1 {
			mark := r.mark(f.Rule, string(f.secret))
			for _, form := range []string{string(f.secret), escapeJSON(string(f.secret))} {
				list = append(list, needle{text: []byte(form), mark: mark, rule: f.Rule})
			}
		}
	}
	all := newNeedles(list)
	find := func(b []byte) []edit { return tidy(all.find(b, nil)) }
	out := edited(i, find, find)
	left := func(b []byte) bool {
		return r.Secret(b) != nil
	}
	if !left((&vcr.File{Interactions: []*vcr.Interaction{out}}).Encode()) {
		return out
	}
	whole := func(b []byte) []edit {
		if len(b) == 0 || !left(b) {
			return nil
		}
		return []edit{{0, len(b), r.mark("whole", string(b)), "whole"}}
	}
	return edited(out, whole, func(b []byte) []edit {
		if len(b) == 0 {
			return nil
		}
		return []edit{{0, len(b), r.mark("whole", string(b)), "whole"}}
	})
}

// edited returns a copy of an exchange with edits, itself where there are none:
// find looks at addresses and headers, bodies at bodies.
func edited(i *vcr.Interaction, find, bodies func([]byte) []edit) *vcr.Interaction {
	out := *i
	changed := false
	text := func(s string) string {
		edits := find([]byte(s))
		changed = changed || len(edits) > 0
		return string(apply([]byte(s), edits))
	}
	header := func(h http.Header) http.Header {
		if h == nil {
			return nil
		}
		c := http.Header{}
		for name, values := range h {
			c[name] = slices.Clone(values)
			for n, v := range values {
				c[name][n] = text(v)
			}
		}
		return c
	}
	out.Request.URL, out.Request.Header = text(i.Request.URL), header(i.Request.Header)
	out.Response.Status, out.Response.Header, out.Response.Trailer = text(i.Response.Status), header(i.Response.Header), header(i.Response.Trailer)
	out.Meta.Error = text(i.Meta.Error)
	if edits := bodies(i.Request.Body); len(edits) > 0 {
		out.Request.Body, changed = apply(i.Request.Body, edits), true
	}
	if edits := bodies(i.Response.Body); len(edits) > 0 {
		out.Response.Body, out.Meta.Chunks, changed = apply(i.Response.Body, edits), fitChunks(i.Meta.Chunks, edits), true
	}
	if !changed {
		return i
	}
	return &out
}

// placeOf says where in an exchange a text stands, as [Rules.Keep] takes it:
// response body choices[0].message.content.
func (r *Redactor) placeOf(i *vcr.Interaction, secret []byte) string {
	for _, side := range []struct {
		name   string
		header http.Header
		body   []byte
	}{{"request", i.Request.Header, i.Request.Body}, {"response", i.Response.Header, i.Response.Body}} {
		for _, name := range slices.Sorted(maps.Keys(side.header)) {
			if strings.Contains(strings.Join(side.header[name], "\n"), string(secret)) {
				return side.name + " header " + name
			}
		}
		if at := r.pathTo(side.body, secret); at != "" {
			return side.name + " body " + at
		}
		if bytes.Contains(side.body, secret) {
			return side.name + " body"
		}
	}
	if strings.Contains(i.Request.URL, string(secret)) {
		return "address"
	}
	return ""
}

// pathTo is the path of the first text in a body, or in an event of it, that
// holds a secret.
func (r *Redactor) pathTo(body, secret []byte) string {
	found := ""
	w := &walker{p: &pass{r: r}}
	in := func(b []byte) {
		w.each(b, func(at *path, start, end int) {
			if found == "" && (bytes.Contains(b[start:end], secret) || bytes.Contains(unescape(b[start:end]).text, secret)) {
				found = at.String()
			}
		})
	}
	in(body)
	for line := range payloads(body) {
		if found != "" {
			break
		}
		in(body[line.start:line.end])
	}
	return found
}

// String is the path as key.ParsePath reads it.
func (at *path) String() string { return at.trail(nil).String() }
