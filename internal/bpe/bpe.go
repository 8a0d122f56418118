// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package bpe counts tokens as OpenAI's cl100k_base makes them.
//
//	n := bpe.Count("It is sunny.")
//
// The vocabulary is a part of the program that is never read as a whole: a
// table of hashes leads to the tokens that a text has, so that the first count
// takes no longer than the others, and memory holds what was looked at.
package bpe

import (
	_ "embed"
	"math"
)

//go:generate go run gen.go

// data is, in little endian: slots of a hash table with a rank plus one each, 0
// for none; the place in what follows where the token of each rank begins, and
// where the last one ends; the tokens.
//
//go:embed cl100k.bin
var data string

const (
	tokens  = 100256
	slots   = 1 << 18
	size    = 4 // of a number
	offsets = slots * size
	texts   = offsets + (tokens+1)*size
)

func number(at int) int {
	d := data[at : at+size]
	return int(d[0]) | int(d[1])<<8 | int(d[2])<<16 | int(d[3])<<24
}

// none is the rank of anything that is not a token.
const none = math.MaxInt

// rank returns the rank of a token.
func rank(s string) int {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	for h %= slots; ; h = (h + 1) % slots {
		r := number(int(h)*size) - 1
		if r < 0 {
			return none
		}
		from, to := number(offsets+r*size), number(offsets+(r+1)*size)
		if to-from == len(s) && data[texts+from:texts+to] == s {
			return r
		}
	}
}

// Count returns the number of tokens of a text.
func Count(s string) int {
	n := 0
	for len(s) > 0 {
		piece := s[:Next(s)]
		s = s[len(piece):]
		n += Tokens(piece)
	}
	return n
}

// Prefix returns the length of the first n tokens of a text, of which the last
// may end within a character.
func Prefix(s string, n int) int {
	at := 0
	for at < len(s) && n > 0 {
		piece := s[at : at+Next(s[at:])]
		piece = piece[:min(len(piece), maxPiece)]
		ends := merge(piece)
		last := min(n, len(ends)-1)
		at += ends[last]
		n -= last
	}
	return at
}

// maxPiece is how much of a piece is merged at a time. Such long ones are no
// words, and what they cost grows with the square of this.
const maxPiece = 512

// Tokens returns the number of tokens of a piece that [Next] has found.
func Tokens(piece string) int {
	n := 0
	for len(piece) > maxPiece {
		n += len(merge(piece[:maxPiece])) - 1
		piece = piece[maxPiece:]
	}
	if piece != "" && rank(piece) != none {
		return n + 1
	}
	return n + len(merge(piece)) - 1
}

// merge returns where the tokens of a short piece begin, and where the last one
// ends: of all neighbours, those that make the token of the lowest rank are
// joined, until none make one.
func merge(piece string) []int {
	if piece == "" || rank(piece) != none {
		return []int{0, len(piece)}[:1+min(len(piece), 1)]
	}
	// Part i begins at starts[i]; pairs[i] is the rank of it and the next.
	starts, pairs := make([]int, 0, len(piece)+1), make([]int, 0, len(piece))
	for i := range len(piece) + 1 {
		starts = append(starts, i)
	}
	pair := func(i int) int {
		if i+2 >= len(starts) {
			return none
		}
		return rank(piece[starts[i]:starts[i+2]])
	}
	for i := range len(starts) - 1 {
		pairs = append(pairs, pair(i))
	}
	for {
		best := 0
		for i, r := range pairs {
			if r < pairs[best] {
				best = i
			}
		}
		if pairs[best] == none {
			return starts
		}
		starts = append(starts[:best+1], starts[best+2:]...)
		pairs = append(pairs[:best+1], pairs[best+2:]...)
		pairs[best] = pair(best)
		if best > 0 {
			pairs[best-1] = pair(best - 1)
		}
	}
}
