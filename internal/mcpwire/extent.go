// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

// Extent finds the end of a JSON object or array that comes in parts. The zero
// value is ready to use.
type Extent struct {
	depth           int
	quoted, escaped bool
}

// Add reads on, and reports whether the outermost value ends in p.
func (x *Extent) Add(p []byte) bool {
	for _, c := range p {
		switch {
		case x.escaped:
			x.escaped = false
		case x.quoted:
			x.escaped, x.quoted = c == '\\', c != '"'
		case c == '"':
			x.quoted = true
		case c == '{', c == '[':
			x.depth++
		case c == '}', c == ']':
			if x.depth--; x.depth <= 0 {
				return true
			}
		}
	}
	return false
}
