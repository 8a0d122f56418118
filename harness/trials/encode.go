// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import "encoding/json"

// maxNesting is how deep the JSON of a run folder goes. Decoders refuse what
// nests 10,000 deep, and the indentation of what nests 1,000 deep is larger
// than all else.
const maxNesting = 300

// encode is [json.Marshal], except that values from outside that nest too
// deep for a file become texts of their JSON.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return shallow(data, maxNesting), nil
}

// shallow writes what nests deeper than limit in compact JSON as texts.
func shallow(data []byte, limit int) []byte {
	var out []byte // nil as long as nothing is changed
	depth, from := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			if depth++; depth <= limit {
				continue
			}
			end := valueEnd(data, i)
			text, _ := json.Marshal(string(data[i:end])) // a string always has a form
			out = append(append(out, data[from:i]...), text...)
			from, i, depth = end, end-1, depth-1
		case '}', ']':
			depth--
		}
	}
	if from == 0 {
		return data
	}
	return append(out, data[from:]...)
}

// stringEnd returns the index of the quote that ends the string at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// valueEnd returns the index after the object or array that begins at i.
func valueEnd(data []byte, i int) int {
	for depth := 0; ; i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
