// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// counter counts tokens. Texts are split into words and the like before they
// are encoded, one by one, and most words come again and again: it remembers
// theirs. The library finds them with a regular expression, which costs more
// than the rest of a request; for ASCII, next does.
type counter struct {
	codec tokenizer.Codec

	mu    sync.RWMutex // guards known
	known map[string]int
}

// What is remembered at most.
const (
	maxKnown = 1 << 15
	maxPiece = 32
)

func (c *counter) count(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return c.encode(s)
		}
	}
	n := 0
	var unknown []string
	c.mu.RLock()
	for len(s) > 0 {
		piece := s[:next(s)]
		s = s[len(piece):]
		if k, ok := c.known[piece]; ok {
			n += k
		} else {
			unknown = append(unknown, piece)
		}
	}
	c.mu.RUnlock()
	for _, piece := range unknown {
		n += c.learn(piece)
	}
	return n
}

// learn counts a piece and remembers it.
func (c *counter) learn(piece string) int {
	n := c.encode(piece)
	if len(piece) > maxPiece {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) < maxKnown {
		c.known[string([]byte(piece))] = n // a copy: piece is part of a request
	}
	return n
}

func (c *counter) encode(s string) int {
	n, err := c.codec.Count(s)
	if err != nil {
		return (len(s) + 3) / 4 // the splitting expression gave up
	}
	return n
}

// next returns the length of the first piece of an ASCII text, by the rule of
// cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func next(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	first := classOf(s[0])
	if first == digit {
		return 1 + span(s[1:min(len(s), 3)], digit)
	}
	start := 0
	if first != letter && first != newline {
		start = 1
	}
	if n := span(s[start:], letter); n > 0 {
		return start + n
	}
	start = 0
	if s[0] == ' ' {
		start = 1
	}
	if n := span(s[start:], other); n > 0 {
		end := start + n
		return end + span(s[end:], newline)
	}
	end, lastNewline := 0, 0
	for end < len(s) && classOf(s[end]) <= newline {
		end++
		if classOf(s[end-1]) == newline {
			lastNewline = end
		}
	}
	switch {
	case lastNewline > 0:
		return lastNewline
	case end < len(s) && end > 1:
		return end - 1 // the last goes with what follows
	}
	return end
}

// contraction returns the length of an English one at the beginning of s.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) < 3 {
		return 0
	}
	switch string([]byte{s[1] | 0x20, s[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

// class is what the rule tells apart. The first two are white space.
type class int

const (
	blank class = iota
	newline
	letter
	digit
	other
)

func classOf(b byte) class {
	switch {
	case b == '\n' || b == '\r':
		return newline
	case b == ' ' || b >= '\t' && b <= '\r':
		return blank
	case b|0x20 >= 'a' && b|0x20 <= 'z':
		return letter
	case b >= '0' && b <= '9':
		return digit
	}
	return other
}

// span returns how many bytes at the beginning of s are of a class.
func span(s string, c class) int {
	for i := range len(s) {
		if classOf(s[i]) != c {
			return i
		}
	}
	return len(s)
}
