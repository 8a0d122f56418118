// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bytes"
	"iter"
	"strings"
)

// Line is a line of a stream, by its place in the bytes.
type Line struct {
	// Start and End are those of the line, without its end and without a BOM.
	Start, End int
	// Value is where the value of its field begins: End when there is none.
	Value int
	// Field is empty in a comment and in an empty line.
	Field []byte
}

// Begins reports whether a body begins as a stream does: behind a BOM and white
// space, with a field that the specification names or with a comment. It asks for
// the colon, though a field may do without, since words of plain text do not have
// it. short says that what has come is too little to tell.
func Begins(b []byte) (stream, short bool) {
	const bom = "\ufeff"
	if len(b) < len(bom) && strings.HasPrefix(bom, string(b)) {
		return false, true
	}
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte(bom)), " \t\r\n")
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(b, []byte(field)) {
			return true, false
		}
		short = short || len(b) < len(field) && strings.HasPrefix(field, string(b))
	}
	return false, short
}

// Lines yields the lines of a whole stream, also one at the end that nothing
// ends.
func Lines(b []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		at := len(b) - len(bytes.TrimPrefix(b, []byte("\ufeff")))
		lf := -1 // the next one, so that streams with CR alone are not searched again and again
		for at < len(b) {
			if lf < at {
				if lf = bytes.IndexByte(b[at:], '\n'); lf < 0 {
					lf = len(b)
				} else {
					lf += at
				}
			}
			end, next := lf, lf+1
			if cr := bytes.IndexByte(b[at:lf], '\r'); cr >= 0 {
				end = at + cr
				if next = end + 1; next == lf {
					next++
				}
			}
			field, value := splitField(b[at:end])
			if !yield(Line{Start: at, End: end, Value: end - len(value), Field: field}) {
				return
			}
			at = next
		}
	}
}
