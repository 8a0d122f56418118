// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import (
	"encoding/json"
	"errors"
	"strings"
)

// Place is a JSON object or array in a text.
type Place struct {
	Start, End int // the bytes text[Start:End]
	Value      Value
}

// Embedded finds the JSON objects and arrays that stand in a text, the
// outermost ones, in order. What begins like one and is none is text. A text of
// nothing but brackets is not read again and again: after four times its length,
// and 64 KiB more, the rest of it is text.
func Embedded(text string) []Place {
	var out []Place
	budget := 4*len(text) + 1<<16
	for at := 0; budget > 0; {
		i := strings.IndexAny(text[at:], "{[")
		if i < 0 {
			break
		}
		at += i
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		err := d.Decode(&raw)
		var wrong *json.SyntaxError
		switch {
		case err == nil:
			n := int(d.InputOffset())
			budget -= n
			v, err := Parse(raw)
			if err != nil { // nested too deep, or too large
				at++
				continue
			}
			out = append(out, Place{Start: at, End: at + n, Value: v})
			at += n
			continue
		case errors.As(err, &wrong):
			budget -= int(wrong.Offset)
		default: // it does not end
			budget -= len(text) - at
		}
		at++
	}
	return out
}
