// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// parseFast reads a file that Encode wrote, several times as fast as a reader
// of all of YAML. It is strict: what differs in the least, be it a comment or
// another order of keys, is not ok, and the whole file is read anew. With
// spend, the bodies come to stand in data, which says nothing any more then.
func parseFast(data []byte, spend bool) (interactions []*Interaction, ok bool) {
	r := &reader{rest: data, line: 1, ok: true, spend: spend}
	r.want("---")
	r.want("version: 1")
	if r.has("interactions: []") {
		return nil, r.ok && len(r.rest) == 0
	}
	r.want("interactions:")
	for r.ok && len(r.rest) > 0 {
		i := &Interaction{Line: r.line}
		r.want("- request:")
		i.Request.Body = r.value("    body: ", 6)
		r.want("    form: {}")
		i.Request.Header = r.header()
		i.Request.URL = string(r.value("    url: ", 6))
		i.Request.Method = string(r.value("    method: ", 6))
		r.want("  response:")
		i.Response.Body = r.value("    body: ", 6)
		i.Response.Header = r.header()
		i.Response.Status = string(r.value("    status: ", 6))
		code, err := strconv.Atoi(string(r.after("    code: ")))
		i.Response.Code, r.ok = code, r.ok && err == nil
		i.Response.Duration, err = time.ParseDuration(string(r.after("    duration: ")))
		r.ok = r.ok && err == nil
		interactions = append(interactions, i)
	}
	if !r.ok || len(interactions) == 0 {
		return nil, false
	}
	return interactions, true
}

// reader takes lines from the front of a file. Once something differs it is
// not ok and its results mean nothing.
type reader struct {
	rest  []byte
	line  int
	ok    bool
	spend bool // rest may be written to, where it was read
}

// room is where n bytes at most can be put together out of what is in from,
// which are no fewer and are read in order.
func (r *reader) room(from []byte, n int) []byte {
	if r.spend {
		return from[:0:len(from)]
	}
	return make([]byte, 0, n)
}

// next takes a line, without its newline.
func (r *reader) next() []byte {
	line, rest, ok := bytes.Cut(r.rest, []byte{'\n'})
	r.rest, r.ok = rest, r.ok && ok
	r.line++
	return line
}

func (r *reader) want(line string) { r.ok = r.ok && string(r.next()) == line }

// has takes the line if it is the next one.
func (r *reader) has(line string) bool {
	if n := len(line); len(r.rest) > n && string(r.rest[:n]) == line && r.rest[n] == '\n' {
		r.next()
		return true
	}
	return false
}

// after takes a line that begins so, and returns the remainder of it.
func (r *reader) after(begin string) []byte {
	line := r.next()
	if len(line) < len(begin) || string(line[:len(begin)]) != begin {
		r.ok = false
		return nil
	}
	return line[len(begin):]
}

// value takes a key with its text; a block's lines are indented so far.
func (r *reader) value(begin string, indent int) []byte {
	line := r.after(begin)
	switch string(line) {
	case "|", "|-", "|+":
		return r.block(string(line[1:]), indent)
	}
	return r.scalar(line)
}

func (r *reader) block(chomp string, indent int) []byte {
	pad := blanks[:indent]
	end, lines := 0, 0
	for end < len(r.rest) {
		if r.rest[end] != '\n' && !bytes.HasPrefix(r.rest[end:], []byte(pad)) {
			break
		}
		n := bytes.IndexByte(r.rest[end:], '\n')
		if n < 0 {
			r.ok = false
			return nil
		}
		end += n + 1
		lines++
	}
	text := r.room(r.rest[:end], max(0, end-lines*indent))
	for range lines {
		line := r.next()
		if len(line) > 0 {
			text = append(text, line[indent:]...)
		}
		text = append(text, '\n')
	}
	// What the block's first line and its last newlines mean must be beyond
	// doubt.
	empty := len(text) == 0 || text[0] == '\n' || text[0] == ' ' || text[0] == '\t'
	several := bytes.HasSuffix(text, []byte("\n\n"))
	if empty || several != (chomp == "+") || !printable(text) {
		r.ok = false
		return nil
	}
	if chomp == "-" {
		text = text[:len(text)-1]
	}
	return slices.Clip(text)
}

// header takes the headers of a request or an answer.
func (r *reader) header() http.Header {
	if r.has("    headers: {}") {
		return http.Header{}
	}
	r.want("    headers:")
	h := http.Header{}
	for r.ok && bytes.HasPrefix(r.rest, []byte("      ")) {
		key := r.after("      ")
		empty := false
		if key, empty = bytes.CutSuffix(key, []byte(": []")); !empty {
			var ok bool
			key, ok = bytes.CutSuffix(key, []byte{':'})
			r.ok = r.ok && ok
		}
		name := http.CanonicalHeaderKey(string(r.scalar(key)))
		if _, twice := h[name]; twice {
			r.ok = false
		}
		h[name] = []string{}
		for r.ok && !empty && bytes.HasPrefix(r.rest, []byte("      - ")) {
			h[name] = append(h[name], string(r.scalar(r.after("      - "))))
		}
		r.ok = r.ok && (empty || len(h[name]) > 0)
	}
	return h
}

// scalar reads a text on one line.
func (r *reader) scalar(text []byte) []byte {
	if coded, ok := bytes.CutPrefix(text, []byte("!!binary ")); ok {
		out, err := base64.StdEncoding.AppendDecode(nil, coded)
		r.ok = r.ok && err == nil && !utf8.Valid(out)
		return out
	}
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return r.unquote(text[1 : len(text)-1])
	}
	r.ok = r.ok && plain(text)
	return slices.Clip(append(r.room(text, len(text)), text...))
}

// unquote reads what scalar of the writer put between double quotes.
func (r *reader) unquote(text []byte) []byte {
	out := r.room(text, len(text))
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\\')
		part := text
		if n >= 0 {
			part = text[:n]
		}
		if bytes.IndexByte(part, '"') >= 0 || !printable(part) {
			r.ok = false
		}
		out = append(out, part...)
		if n < 0 {
			break
		}
		text = text[n:]
		digits := 0
		switch {
		case len(text) < 2:
			r.ok = false
			return nil
		case text[1] == 'x':
			digits = 2
		case text[1] == 'u':
			digits = 4
		default:
			at := strings.IndexByte(`"\nrt`, text[1])
			if at < 0 {
				r.ok = false
				return nil
			}
			out = append(out, "\"\\\n\r\t"[at])
		}
		if len(text) < 2+digits {
			r.ok = false
			return nil
		}
		if digits > 0 {
			c, err := strconv.ParseUint(string(text[2:2+digits]), 16, 16)
			r.ok = r.ok && err == nil
			out = utf8.AppendRune(out, rune(c))
		}
		text = text[2+digits:]
	}
	return slices.Clip(out)
}
