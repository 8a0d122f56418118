// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

// stream is what the events of an answer say in parts.
type stream struct {
	spans []span // of the parts in the body, inside of their quotes
	raw   bool   // the parts are no strings of JSON
	kept  bool   // they are written as they came
	each  bool   // the placeholder of a secret comes into each part that it touches
	lines bool   // each part is a line
}

// streamed finds secrets that are split over the events of a stream: strings
// at the same place of one event after the other are joined, looked at, and
// what is found is put into the first part that it touches.
func (p *pass) streamed(b []byte) []edit {
	var out []edit
	for _, one := range p.parts(b, (*path).isPart) {
		if len(one.spans) > 1 {
			out = p.joined(b, one, out)
		}
	}
	return tidy(out)
}

// parts are the streams of a body of several events, in order. isPart tells
// which strings are part of one.
func (p *pass) parts(b []byte, isPart func(*path) bool) []*stream {
	if !bytes.ContainsAny(b, "\r\n") {
		return nil
	}
	streams, order := map[string]*stream{}, []string{}
	add := func(name []byte, s span, raw, kept bool) {
		one := streams[string(name)]
		if one == nil {
			one = &stream{raw: raw, kept: kept}
			streams[string(name)] = one
			order = append(order, string(name))
		}
		one.spans = append(one.spans, s)
	}
	events := 0
	var name []byte
	w := &walker{p: p}
	for s := range payloads(b) {
		line := b[s.start:s.end]
		if !looksJSON(line) {
			if s.start > 0 && bytes.HasSuffix(b[:s.start], []byte("data:")) || bytes.HasSuffix(b[:s.start], []byte("data: ")) {
				events++
				add(nil, s, true, false)
			}
			continue
		}
		events++
		w.Data, w.At = line, 0
		w.leaf = func(at *path, start, end int) {
			if isPart(at) {
				name = at.name(name[:0])
				add(name, span{s.start + start, s.start + end}, false, at.kept)
			}
		}
		w.all()
	}
	if events < 2 {
		return nil
	}
	out := make([]*stream, len(order))
	for n, name := range order {
		out[n] = streams[name]
	}
	return out
}

// isPart reports whether a string is a part of a longer text, by the words of
// the APIs that stream.
func (at *path) isPart() bool {
	switch string(at.key) {
	case "content", "text", "response", "arguments", "partial_json", "thinking", "reasoning", "reasoning_content", "delta", "input",
		"refusal", "output", "output_text", "transcript", "data", "completion", "partial_output":
		return true
	}
	return false
}

// name appends what tells the streams of a body apart.
func (at *path) name(b []byte) []byte {
	for ; at != nil; at = at.up {
		b = append(append(append(b, at.key...), '.'), at.marks...)
	}
	return b
}

// joined finds secrets in the joined parts of one stream.
func (p *pass) joined(b []byte, s *stream, out []edit) []edit {
	size := 0
	for _, one := range s.spans {
		size += one.end - one.start
	}
	all := &layer{text: make([]byte, 0, size), at: make([]int, 0, size)}
	part := make([]int32, 0, size) // of each byte, its part
	for n, one := range s.spans {
		l := &layer{text: b[one.start:one.end]}
		if !s.raw && bytes.IndexByte(l.text, '\\') >= 0 {
			l = unescape(l.text)
		}
		for i := range l.text {
			from := one.start + i
			if l.at != nil {
				from = one.start + l.at[i]
			}
			all.add(l.text[i], from)
			part = append(part, int32(n))
		}
		if s.lines {
			all.add('\n', one.end)
			part = append(part, int32(n))
		}
	}
	edits := p.learned.find(all.text, p.r.known.find(all.text, nil))
	if !s.kept {
		edits = p.auto(all.text, 1)
	}
	for _, e := range tidy(edits) {
		text := e.text
		if !s.raw {
			text = escapeJSON(text)
		}
		for i := e.start; i < e.end; {
			n := part[i]
			end := i
			for end < e.end && part[end] == n {
				end++
			}
			to := s.spans[n].end
			if end < len(part) && part[end] == n {
				to = all.at[end]
			}
			out = append(out, edit{all.at[i], to, text, e.rule})
			if !s.each {
				text = ""
			}
			i = end
		}
	}
	return out
}
