// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value

import "bytes"

// Scanner goes over JSON token by token, for those who need the places of
// values in a text. The text may break off or be no JSON: what a Scanner takes
// is checked no further than it has to be to find its end.
type Scanner struct {
	Data []byte
	At   int // the next byte
}

// Next skips white space and returns the byte behind it, which it does not
// take; 0 at the end.
func (s *Scanner) Next() byte {
	for s.At < len(s.Data) {
		switch c := s.Data[s.At]; c {
		case ' ', '\t', '\r', '\n':
			s.At++
		default:
			return c
		}
	}
	return 0
}

// Text takes a string, from its quote, and returns the bounds of its inside. It
// is not ok when the string does not end.
func (s *Scanner) Text() (start, end int, ok bool) {
	start = s.At + 1
	for i := start; ; i++ {
		n := bytes.IndexByte(s.Data[min(i, len(s.Data)):], '"')
		if n < 0 {
			s.At = len(s.Data)
			return start, len(s.Data), false
		}
		i += n
		slashes := 0
		for i-1-slashes >= start && s.Data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.At = i + 1
			return start, i, true
		}
	}
}

// Key takes the key of a member and its colon, and returns the bounds of its
// inside.
func (s *Scanner) Key() (start, end int, ok bool) {
	if s.Next() != '"' {
		return 0, 0, false
	}
	if start, end, ok = s.Text(); !ok || s.Next() != ':' {
		return start, end, false
	}
	s.At++
	return start, end, true
}

// Find takes an object, from its brace, up to the value of the first member
// with this key, and reports whether there is one. A key with escapes in it is
// not found.
func (s *Scanner) Find(key string) bool {
	if s.Next() != '{' {
		return false
	}
	for more := s.Open('}'); more; more, _ = s.More('}') {
		start, end, ok := s.Key()
		if !ok {
			return false
		}
		if string(s.Data[start:end]) == key {
			s.Next()
			return true
		}
		if !s.Skip() {
			return false
		}
	}
	return false
}

// Word takes a number or a word such as null, and returns its length.
func (s *Scanner) Word() int {
	start := s.At
	for ; s.At < len(s.Data); s.At++ {
		switch c := s.Data[s.At]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c == '.', c == '-', c == '+':
		default:
			return s.At - start
		}
	}
	return s.At - start
}

// Open takes the bracket or brace that begins a value and reports whether
// something stands in it; if not, it takes the end as well.
func (s *Scanner) Open(closing byte) bool {
	s.At++
	if s.Next() != closing {
		return true
	}
	s.At++
	return false
}

// More takes what stands behind an item or a member, a comma or the end, and
// reports whether another follows.
func (s *Scanner) More(closing byte) (more, ok bool) {
	c := s.Next()
	if c != ',' && c != closing || c == 0 {
		return false, false
	}
	s.At++
	return c == ',', true
}

// Skip takes a value of any kind and reports whether it ends.
func (s *Scanner) Skip() bool {
	for depth := 0; ; {
		switch c := s.Next(); c {
		case '"':
			if _, _, ok := s.Text(); !ok {
				return false
			}
		case '{', '[':
			depth++
			s.At++
			continue
		case '}', ']':
			depth--
			s.At++
		case ',', ':':
			if depth == 0 {
				return false
			}
			s.At++
			continue
		default:
			if s.Word() == 0 {
				return false
			}
		}
		if depth <= 0 {
			return depth == 0
		}
	}
}
