// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode returns the file as go-vcr/v2 v2.0.1 reads it, whatever it was read
// from. The order of interactions is kept, headers are sorted, and texts are
// written in the most readable form that keeps every byte.
func (f *File) Encode() []byte {
	size := 64
	for _, i := range f.Interactions {
		size += 1024 + len(i.Request.Body) + len(i.Response.Body)*33/32
	}
	w := &writer{b: make([]byte, 0, size)}
	w.line(0, "---")
	w.line(0, "version: 1")
	if len(f.Interactions) == 0 {
		w.line(0, "interactions: []")
		return w.b
	}
	w.line(0, "interactions:")
	for _, i := range f.Interactions {
		w.interaction(i)
	}
	return w.b
}

// writer writes YAML of one fixed shape.
type writer struct{ b []byte }

const blanks = "                "

func (w *writer) line(indent int, text string) {
	w.b = append(w.b, blanks[:indent]...)
	w.b = append(w.b, text...)
	w.b = append(w.b, '\n')
}

func (w *writer) interaction(i *Interaction) {
	w.line(0, "- request:")
	w.text(4, "body", i.Request.Body)
	w.line(4, "form: {}") // go-vcr keeps what is in the body twice; nobody reads it
	w.header(4, i.Request.Header)
	w.text(4, "url", []byte(i.Request.URL))
	w.text(4, "method", []byte(i.Request.Method))
	w.line(2, "response:")
	r := &i.Response
	w.text(4, "body", r.Body)
	header := r.Header
	if !i.Meta.isZero() || len(r.Trailer) > 0 {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header[MetaHeader] = []string{i.Meta.encode(r.Trailer)}
	}
	w.header(4, header)
	w.text(4, "status", []byte(r.Status))
	w.line(4, "code: "+strconv.Itoa(r.Code))
	w.line(4, "duration: "+r.Duration.String())
}

func (w *writer) header(indent int, h http.Header) {
	if len(h) == 0 {
		w.line(indent, "headers: {}")
		return
	}
	w.line(indent, "headers:")
	for _, name := range slices.Sorted(maps.Keys(h)) {
		w.b = append(w.b, blanks[:indent+2]...)
		w.scalar([]byte(name))
		if len(h[name]) == 0 {
			w.b = append(w.b, ": []\n"...)
			continue
		}
		w.b = append(w.b, ":\n"...)
		for _, v := range h[name] {
			w.b = append(w.b, blanks[:indent+2]...)
			w.b = append(w.b, "- "...)
			w.scalar([]byte(v))
			w.b = append(w.b, '\n')
		}
	}
}

// text writes a key with a text, as a block where that keeps every byte.
func (w *writer) text(indent int, key string, text []byte) {
	w.b = append(w.b, blanks[:indent]...)
	w.b = append(w.b, key...)
	w.b = append(w.b, ": "...)
	switch {
	case !utf8.Valid(text):
		w.b = append(w.b, "!!binary "...)
		w.b = append(w.b, base64.StdEncoding.EncodeToString(text)...)
	case blockFits(text):
		w.block(indent+2, text)
		return
	default:
		w.scalar(text)
	}
	w.b = append(w.b, '\n')
}

// blockFits reports whether a literal block holds text: more than a short
// line, printable, and with a first line from which the indentation can be
// seen.
func blockFits(text []byte) bool {
	if len(text) == 0 || len(text) < 60 && bytes.IndexByte(text, '\n') < 0 {
		return false
	}
	switch text[0] {
	case ' ', '\t', '\n':
		return false
	}
	return printable(text)
}

// printable reports whether text has only characters that YAML 1.1 takes as
// they are and does not read as the end of a line, beside newlines and tabs.
func printable(text []byte) bool {
	for i := 0; i < len(text); {
		if len(text)-i >= 8 && plainWord(binary.LittleEndian.Uint64(text[i:])) {
			i += 8
			continue
		}
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r < 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			return false
		}
		i += n
	}
	return true
}

// plainWord reports whether eight bytes are all from the space to the tilde. A
// large file has hardly any others, and to look at each took half the time of
// loading it.
func plainWord(w uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	del := w ^ 0x7f*ones
	return (w|(w-' '*ones)|(del-ones)&^del)&tops == 0
}

func (w *writer) block(indent int, text []byte) {
	body := bytes.TrimRight(text, "\n")
	switch len(text) - len(body) {
	case 0:
		w.b = append(w.b, "|-\n"...)
	case 1:
		w.b = append(w.b, "|\n"...)
	default:
		w.b = append(w.b, "|+\n"...)
		body = text[:len(text)-1]
	}
	for line := range bytes.SplitSeq(body, []byte{'\n'}) {
		if len(line) > 0 {
			w.b = append(w.b, blanks[:indent]...)
			w.b = append(w.b, line...)
		}
		w.b = append(w.b, '\n')
	}
}

// scalar writes a text on one line: plain where no reader takes it for
// anything else, quoted elsewhere.
func (w *writer) scalar(text []byte) {
	if !utf8.Valid(text) {
		w.b = append(w.b, "!!binary "...)
		w.b = append(w.b, base64.StdEncoding.EncodeToString(text)...)
		return
	}
	if plain(text) {
		w.b = append(w.b, text...)
		return
	}
	w.b = append(w.b, '"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\':
			w.b = append(w.b, '\\', byte(r))
		case r == '\n':
			w.b = append(w.b, `\n`...)
		case r == '\r':
			w.b = append(w.b, `\r`...)
		case r == '\t':
			w.b = append(w.b, `\t`...)
		case r < ' ' || r >= 0x7F && r < 0xA0:
			w.hex('x', 2, r)
		case r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF:
			w.hex('u', 4, r)
		default:
			w.b = utf8.AppendRune(w.b, r)
		}
	}
	w.b = append(w.b, '"')
}

func (w *writer) hex(kind byte, digits int, r rune) {
	text := strconv.FormatInt(int64(r), 16)
	w.b = append(w.b, '\\', kind)
	w.b = append(w.b, strings.Repeat("0", digits-len(text))...)
	w.b = append(w.b, text...)
}

// plain reports whether a text needs no quotes. It is careful rather than
// complete: a letter first, no word of YAML 1.1's.
func plain(text []byte) bool {
	if len(text) == 0 || len(text) > 500 {
		return false
	}
	for i, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i == 0:
			return false
		case c >= '0' && c <= '9', strings.IndexByte("-_./;=?&%+@()~", c) >= 0:
		case c == ',' || c == ' ' || c == ':':
			if i+1 == len(text) || c != ',' && text[i+1] == ' ' {
				return false
			}
		default:
			return false
		}
	}
	switch strings.ToLower(string(text)) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
