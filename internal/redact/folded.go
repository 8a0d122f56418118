// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"iter"
)

// folded finds known texts and shapes that a text breaks into lines: a
// terminal wraps a path, a table puts its edges between.
func (p *pass) folded(b []byte, out []edit) []edit {
	l := unfold(b)
	if l == nil {
		return out
	}
	edits := p.learned.find(l.text, p.r.known.find(l.text, nil))
	edits = p.shapesAcross(l, edits)
	for _, e := range tidy(edits) {
		start, end := l.at[e.start], l.at[e.end-1]+1
		if bytes.IndexByte(b[start:end], '\n') < 0 {
			continue // found without
		}
		out = append(out, edit{start, end, e.text, e.rule})
	}
	return out
}

// unfold returns a text without the ends of its lines, and without blanks,
// edges of tables and marks of quotes around these; nil where nothing can
// cross a line: no line ends in a character of a name that the next goes on
// with.
func unfold(b []byte) *layer {
	l := &layer{text: make([]byte, 0, len(b)), at: make([]int, 0, len(b)+1)}
	crosses := false
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && isEdge(b, j) > 0 {
			j += isEdge(b, j)
		}
		if j == i || bytes.IndexByte(b[i:j], '\n') < 0 {
			for j = max(j, i+1); i < j; i++ {
				l.add(b[i], i)
			}
			continue
		}
		if i > 0 && j < len(b) && classOf(b[i-1])&isRun != 0 && classOf(b[j])&isRun != 0 {
			crosses = true
		}
		i = j
	}
	l.at = append(l.at, len(b))
	if !crosses {
		return nil
	}
	return l
}

// isEdge returns the length of what may stand between two parts of a broken
// text, or 0.
func isEdge(b []byte, i int) int {
	switch b[i] {
	case '\n', '\r', ' ', '\t', '|', '>', '#', '*':
		return 1
	case '\\': // a shell's line that goes on
		if i+1 < len(b) && (b[i+1] == '\n' || b[i+1] == '\r') {
			return 1
		}
	case 0xE2: // box drawing: U+2500 to U+257F
		if i+2 < len(b) && (b[i+1] == 0x94 || b[i+1] == 0x95) {
			return 3
		}
	}
	return 0
}

// shapesAcross finds known shapes that cross the end of a line.
func (p *pass) shapesAcross(l *layer, out []edit) []edit {
	for i := 0; i < len(l.text); i++ {
		if p.r.classes[l.text[i]]&isWord == 0 {
			continue
		}
		start := i
		crosses := false
		for i < len(l.text) && p.r.classes[l.text[i]]&isRun != 0 {
			crosses = crosses || i > start && l.at[i] != l.at[i-1]+1
			i++
		}
		if !crosses {
			continue
		}
		known := len(out)
		if out = p.shaped(l.text, start, i, out); len(out) == known {
			out = p.fixed(l.text, start, i, out)
			continue
		}
		for n := known; n < len(out); n++ {
			out[n] = p.edit(out[n].rule, l.text, out[n].start, p.wrappedAt(l, out[n]))
		}
	}
	return out
}

// wrappedAt is where a shape that crosses lines ends: before a line that begins
// with a word, if what stands before that is a whole key.
func (p *pass) wrappedAt(l *layer, e edit) int {
	for i := e.start + 1; i < min(e.end, e.start+farEnough); i++ {
		if l.at[i] == l.at[i-1]+1 || mixes(l.text[i:min(e.end, i+farEnough)]) {
			continue
		}
		for _, s := range p.r.shapes[l.text[e.start]] {
			first := l.text[e.start:i]
			if rest, ok := bytes.CutPrefix(first, []byte(s.prefix)); s.length(first) > 0 || ok && wordy(rest) {
				return i
			}
		}
	}
	return e.end
}

// Spread takes the literals out of a text that has them in hex or base64, but sets
// their bytes apart: od puts blanks between, base64 ends its lines.
func (r *Redactor) Spread(s string) string {
	edits := tidy(r.spread([]byte(s), nil))
	if len(edits) == 0 {
		return s
	}
	return string(apply([]byte(s), edits))
}

func (r *Redactor) spread(b []byte, out []edit) []edit {
	if r.encoded == nil {
		return out
	}
	dense := &layer{text: make([]byte, 0, len(b))}
	for i := range solid(b) {
		dense.text = append(dense.text, b[i])
	}
	if len(dense.text) == len(b) {
		return out
	}
	edits := r.encoded.find(dense.text, nil)
	if len(edits) == 0 {
		return out
	}
	for i := range solid(b) {
		dense.at = append(dense.at, i)
	}
	for _, e := range edits {
		if start, end := dense.at[e.start], dense.at[e.end-1]+1; end-start > e.end-e.start {
			out = append(out, edit{start, end, e.text, e.rule})
		}
	}
	return out
}

// solid are the places in b of anything that is not a space, a colon, or an escape of
// JSON for a space, in however many strings of JSON it is.
func solid(b []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case ' ', '\t', '\n', '\r', ':':
				continue
			case '\\':
				j := i + 1
				for j < len(b) && b[j] == '\\' {
					j++
				}
				if j < len(b) && (b[j] == 'n' || b[j] == 'r' || b[j] == 't') {
					i = j
					continue
				}
			}
			if !yield(i) {
				return
			}
		}
	}
}
