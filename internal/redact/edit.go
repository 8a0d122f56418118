// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// edit replaces a part of a text.
type edit struct {
	start, end int
	text       string
	rule       string
}

// guessRule is the rule of a text that only looks random.
const guessRule = "unknown"

// tidy sorts edits and merges those that overlap, so that no part of either
// is left.
func tidy(edits []edit) []edit {
	if len(edits) < 2 {
		return edits
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	out := edits[:1]
	for _, e := range edits[1:] {
		if last := &out[len(out)-1]; e.start < last.end {
			last.end = max(last.end, e.end)
			if last.rule == guessRule { // what is certain makes certain what it is part of
				last.text, last.rule = e.text, e.rule
			}
			continue
		}
		out = append(out, e)
	}
	return out
}

// shifted appends the edits of a part of a text, which begins at base.
func shifted(out []edit, base int, edits []edit) []edit {
	for _, e := range edits {
		out = append(out, edit{base + e.start, base + e.end, e.text, e.rule})
	}
	return out
}

func apply(b []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return b
	}
	out := make([]byte, 0, len(b)+16*len(edits))
	at := 0
	for _, e := range edits {
		out = append(out, b[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, b[at:]...)
}

// fitChunks changes the sizes of chunks so that they fit the text after the
// edits. What replaces a secret that was split comes with its first part.
func fitChunks(chunks []vcr.Chunk, edits []edit) []vcr.Chunk {
	if len(edits) == 0 || len(chunks) == 0 {
		return chunks
	}
	out := slices.Clone(chunks)
	before, after := 0, 0 // ends of the last chunk
	next, moved := 0, 0   // the first edit that begins at the end or later; growth by those before
	for i, c := range chunks {
		end := before + c.Size
		for next < len(edits) && edits[next].start < end {
			moved += len(edits[next].text) - (edits[next].end - edits[next].start)
			next++
		}
		at := end + moved
		if next > 0 && edits[next-1].end > end {
			at = edits[next-1].end + moved
		}
		out[i].Size = at - after
		before, after = end, at
	}
	return out
}

// layer maps the bytes of a decoded text to where they came from.
type layer struct {
	text   []byte
	at     []int // of each byte, and of the end
	escape func(string) string
}

func (l *layer) add(c byte, from int) {
	l.text = append(l.text, c)
	l.at = append(l.at, from)
}

// back turns edits of the decoded text into edits of the original.
func (l *layer) back(edits []edit) []edit {
	for i, e := range edits {
		edits[i].start, edits[i].end, edits[i].text = l.at[e.start], l.at[e.end], l.escape(e.text)
	}
	return edits
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// unpercent decodes b, which begins at base of its text.
func unpercent(b []byte) *layer {
	l := &layer{text: make([]byte, 0, len(b)), at: make([]int, 0, len(b)+1), escape: escapeQuery}
	for i := 0; i < len(b); {
		if b[i] == '%' && i+2 < len(b) {
			high, ok1 := hexDigit(b[i+1])
			low, ok2 := hexDigit(b[i+2])
			if ok1 && ok2 {
				l.add(high<<4|low, i)
				i += 3
				continue
			}
		}
		l.add(b[i], i)
		i++
	}
	l.at = append(l.at, len(b))
	return l
}

func escapeQuery(s string) string {
	if strings.ContainsAny(s, `"+/=\&%`) {
		return url.QueryEscape(s)
	}
	return s
}

// unescape decodes the inside of a string of JSON, or of YAML in double
// quotes.
func unescape(b []byte) *layer {
	l := &layer{text: make([]byte, 0, len(b)), at: make([]int, 0, len(b)+1), escape: escapeJSON}
	for i := 0; i < len(b); {
		if b[i] != '\\' || i+1 >= len(b) {
			l.add(b[i], i)
			i++
			continue
		}
		from := i
		i += 2
		switch c := b[i-1]; c {
		case 'n':
			l.add('\n', from)
		case 't':
			l.add('\t', from)
		case 'r':
			l.add('\r', from)
		case 'b', 'f':
			l.add(' ', from)
		case 'x', 'u', 'U':
			r, n := hexRune(b[i:], map[byte]int{'x': 2, 'u': 4, 'U': 8}[c])
			i += n
			for _, c := range []byte(string(r)) {
				l.add(c, from)
			}
		case '\n': // YAML: a line goes on
			for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
				i++
			}
		default:
			l.add(c, from)
		}
	}
	l.at = append(l.at, len(b))
	return l
}

func hexRune(b []byte, digits int) (rune, int) {
	var r rune
	for n := range digits {
		if n >= len(b) {
			return r, n
		}
		v, ok := hexDigit(b[n])
		if !ok {
			return r, n
		}
		r = r<<4 | rune(v)
	}
	return r, digits
}

func escapeJSON(s string) string {
	if strings.ContainsAny(s, `"\`) {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	}
	return s
}
