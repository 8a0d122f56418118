// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// isName reports whether what is to be kept is a name, and no path.
func isName(text string) bool { return !strings.ContainsAny(text, ".[*") }

// keptPath reads what is to be kept. A name is one at any depth.
func keptPath(text string) (*key.Path, error) {
	for _, before := range []string{"request ", "response "} { // as a message says it
		text = strings.TrimPrefix(text, before)
	}
	text = strings.TrimPrefix(text, "body ")
	if isName(text) {
		text = "**." + text
	}
	return key.ParsePath(text)
}

// keeps reports whether a value is written as it came: the one with the key,
// or with the index, of what is at up.
func (w *walker) keeps(next, up *path, name []byte, index int) bool {
	if len(w.p.r.keep) == 0 {
		return false
	}
	*next = path{up: up, key: name, index: index}
	var steps []string
	for _, step := range next.trail(nil) {
		steps = append(steps, fmt.Sprint(step))
	}
	return slices.ContainsFunc(w.p.r.keep, func(p *key.Path) bool { return p.Fits(steps) })
}

// trail appends the keys and indexes that lead to a value.
func (at *path) trail(list value.Path) value.Path {
	if at == nil || at.up == nil { // the outermost value has no name
		return list
	}
	list = at.up.trail(list)
	if at.key == nil {
		return append(list, at.index)
	}
	return append(list, string(at.key))
}

// known finds what is known to be secret in the inside of a string, and
// nothing that only looks so.
func (w *walker) known(start, end int) {
	l := unescape(w.Data[start:end])
	edits := w.p.learned.find(l.text, w.p.r.known.find(l.text, nil))
	w.out = shifted(w.out, start, l.back(tidy(edits)))
}

// keptIn returns the texts in a body that are written as they came.
func (r *Redactor) keptIn(body []byte) [][]byte {
	if len(r.keep) == 0 {
		return nil
	}
	var out [][]byte
	w := &walker{p: &pass{r: r}}
	for line := range payloads(body) {
		b := body[line.start:line.end]
		if !looksJSON(b) {
			continue
		}
		w.each(b, func(at *path, start, end int) {
			if at.kept {
				out = append(out, bytes.Clone(b[start:end]), unescape(b[start:end]).text)
			}
		})
	}
	w.each(body, func(at *path, start, end int) { // of JSON over many lines
		if at.kept {
			out = append(out, bytes.Clone(body[start:end]), unescape(body[start:end]).text)
		}
	})
	return out
}

// each goes over the strings of a text that is JSON.
func (w *walker) each(b []byte, leaf func(at *path, start, end int)) {
	if looksJSON(b) {
		w.Data, w.At, w.leaf = b, 0, leaf
		w.all()
	}
}

// isKept reports whether a finding stands in a text that is written as it
// came. What is known to be secret does not.
func (s *scanner) isKept(f Finding) bool {
	if len(s.p.r.keep) == 0 || len(s.p.learned.find(f.secret, s.p.r.known.find(f.secret, nil))) > 0 {
		return false
	}
	return slices.ContainsFunc(s.kept, func(text []byte) bool { return bytes.Contains(text, f.secret) })
}
