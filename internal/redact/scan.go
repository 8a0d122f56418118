// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Finding is what looks like a secret in a file.
type Finding struct {
	Line    int    // from 1
	Rule    string // such as github, or unknown for a shape that nobody knows
	Excerpt string // masked
	// Guess says that nothing but its look speaks for it: a random text, or
	// the name of a person that an answer gives. It is worth a warning.
	Guess bool
	// Interaction and Place say where [Redactor.Review] has found it: the
	// exchange, from 1, and a place such as response body choices[0].text.
	Interaction int
	Place       string

	secret []byte
}

// String is the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("line %d: %s: %s", f.Line, f.Rule, f.Excerpt)
}

// scanner collects findings.
type scanner struct {
	p    *pass
	data []byte
	seen map[string]bool // secrets
	kept [][]byte        // values that are written as they came
	out  []Finding
}

// Scan looks for secrets in the bytes of a file: by the rules and shapes that
// redaction uses, for what this Redactor took out elsewhere, and for long
// random texts that no rule knows. It decodes what it can: JSON in JSON,
// escapes of URLs, base64, lines that were folded.
func (r *Redactor) Scan(data []byte) []Finding {
	return r.scan(data, newNeedles(append(r.learned(), r.pieces()...)))
}

// Secret is the first thing in the bytes of a file that is no guess; nil for none.
func (r *Redactor) Secret(data []byte) *Finding {
	found := r.Scan(data)
	if i := slices.IndexFunc(found, func(f Finding) bool { return !f.Guess }); i >= 0 {
		return &found[i]
	}
	return nil
}

func (r *Redactor) scan(data []byte, learned *needles) []Finding {
	s := &scanner{p: &pass{r: r, learned: learned, unknown: true}, data: data, seen: map[string]bool{}}
	s.all(data, func(at int) int { return at })
	s.lines()
	s.folded()
	s.cassette()
	s.add(s.data, s.known().records(s.data), func(at int) int { return at })
	slices.SortStableFunc(s.out, func(a, b Finding) int { return a.Line - b.Line })
	return slices.DeleteFunc(s.out, s.isKept)
}

// add notes what edits would take out of b.
func (s *scanner) add(b []byte, edits []edit, at func(int) int) {
	for _, e := range edits {
		secret := b[e.start:e.end]
		key := string(secret)
		if s.seen[key] {
			continue
		}
		s.seen[key] = true
		line := 1 + bytes.Count(s.data[:min(at(e.start), len(s.data))], []byte{'\n'})
		s.out = append(s.out, Finding{
			Line: line, Rule: e.rule, Excerpt: mask(secret, e.rule), Guess: e.rule == guessRule || e.rule == fieldRule, secret: bytes.Clone(secret),
		})
	}
}

// mask shows how a secret begins, unless that says too much.
func mask(secret []byte, rule string) string {
	show := 0
	if len(secret) >= 20 && rule != "literal" && rule != "json" && rule != "value" && rule != "query" {
		show = 4
	}
	head := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F {
			return '?'
		}
		return r
	}, string(secret[:show]))
	return fmt.Sprintf("%s… (%d bytes)", head, len(secret))
}

func (s *scanner) all(b []byte, at func(int) int) {
	s.add(b, s.p.text(b, 0), at)
}

// known is a pass that does not guess. Guesses need the whole text, where the
// name of a value is seen.
func (s *scanner) known() *pass {
	p := *s.p
	p.unknown = false
	return &p
}

// lines looks at the lines that hold JSON, where names of keys count.
func (s *scanner) lines() {
	known := s.known()
	for line := range payloads(s.data) {
		b := s.data[line.start:line.end]
		trimmed := bytes.TrimLeft(b, " \t-")
		for _, before := range []string{"data: ", "data:", "body: ", "body: \"", "body: '"} {
			if rest, ok := bytes.CutPrefix(trimmed, []byte(before)); ok && looksJSON(rest) {
				trimmed = rest
			}
		}
		if !looksJSON(trimmed) {
			continue
		}
		from := line.end - len(trimmed)
		if from > 0 && s.data[from-1] == '"' {
			l := unescape(trimmed)
			s.add(l.text, known.json(l.text, 1, false), func(i int) int { return from + l.at[i] })
			continue
		}
		s.add(trimmed, known.json(trimmed, 0, false), func(i int) int { return from + i })
	}
}

// folded looks for known texts and shapes across the ends of lines.
func (s *scanner) folded() {
	l := &layer{text: make([]byte, 0, len(s.data)), at: make([]int, 0, len(s.data))}
	for i := 0; i < len(s.data); {
		if c := s.data[i]; c != '\n' {
			if c != '\\' && c != '\r' || i+1 == len(s.data) || s.data[i+1] != '\n' {
				l.add(c, i)
			}
			i++
			continue
		}
		for i++; i < len(s.data) && (s.data[i] == ' ' || s.data[i] == '\t'); i++ {
		}
	}
	edits := s.p.learned.find(l.text, s.p.r.known.find(l.text, nil))
	edits = s.p.shapesAcross(l, edits)
	crossing := edits[:0]
	for _, e := range edits {
		if bytes.IndexByte(s.data[l.at[e.start]:l.at[e.end-1]], '\n') >= 0 {
			crossing = append(crossing, e)
		}
	}
	s.add(l.text, crossing, func(i int) int { return l.at[i] })
}

// cassette looks at a file of recorded traffic the way redaction does, which
// finds what is split over events and what stands under secret names.
func (s *scanner) cassette() {
	if !bytes.Contains(s.data, []byte("interactions")) {
		return
	}
	f, err := vcr.Parse("scan.yaml", s.data)
	if err != nil {
		return
	}
	for _, i := range f.Interactions {
		at := func(int) int { return s.offset(i.Line) }
		for _, h := range []map[string][]string{i.Request.Header, i.Response.Header, i.Response.Trailer} {
			for _, name := range slices.Sorted(maps.Keys(h)) {
				if !s.p.r.names.is([]byte(name), s.p.r.names.header) {
					continue
				}
				for _, v := range h[name] {
					if _, rest, ok := strings.Cut(v, " "); !masked([]byte(v)) && !trivial([]byte(v)) && !(ok && masked([]byte(rest))) {
						s.add([]byte(v), []edit{{0, len(v), "", "header"}}, at)
					}
				}
			}
		}
		u := []byte(i.Request.URL)
		if _, query, ok := bytes.Cut(u, []byte{'?'}); ok {
			s.add(u, tidy(s.p.query(query, len(u)-len(query), nil)), at)
		}
		s.body(i.Request.Header, i.Request.Body, at)
		s.body(i.Response.Header, i.Response.Body, at)
	}
}

func (s *scanner) body(h map[string][]string, b []byte, at func(int) int) {
	if len(b) == 0 {
		return
	}
	if plain, ok := unzip(b); ok {
		b = plain
	}
	known := s.known()
	s.kept = append(s.kept, s.p.r.keptIn(b)...)
	s.add(b, known.streamed(b), at)
	kind, boundary := mediaType(h)
	edits := known.whole(kind, boundary, b)
	for i := range edits {
		if edits[i].rule == "user" && !s.named(b[edits[i].start:edits[i].end]) {
			edits[i].rule = fieldRule
		}
	}
	s.add(b, edits, at)
}

// fieldRule is the rule of what a field says is the name of a user, where
// nothing else does.
const fieldRule = "field"

// named reports whether a text is the name of a person that we know.
func (s *scanner) named(text []byte) bool { return len(s.p.r.known.find(text, nil)) > 0 }

// offset is where a line begins.
func (s *scanner) offset(line int) int {
	at := 0
	for range line - 1 {
		at += 1 + bytes.IndexByte(s.data[at:], '\n')
	}
	return at
}
