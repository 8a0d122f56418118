// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parts is a text that comes in parts, each of them in pieces.
type parts struct {
	all  string // of all parts
	list []part
}

// part is one of them. It is done when the whole of it came.
type part struct {
	index int
	text  string
	done  bool
}

// add takes a piece of a part.
func (p *parts) add(index dialect.Number, piece string) {
	i := p.find(index)
	if i < 0 || p.list[i].done { // some endpoints number all parts 0, or none
		i = p.begin(index)
	}
	p.put(i, p.list[i].text+piece)
}

// end takes the whole of a part, if it says anything.
func (p *parts) end(index dialect.Number, whole string) {
	i := p.find(index)
	if i < 0 {
		i = p.begin(index)
	}
	if whole != "" {
		p.put(i, whole)
	}
	p.list[i].done = true
}

// set takes all parts, over what came of them, if they say anything.
func (p *parts) set(whole []part) {
	var now parts
	for _, part := range whole {
		now.put(now.begin(dialect.Number{N: part.index, Set: true}), part.text)
	}
	if now.all != "" {
		*p = now
	}
}

// find returns the latest part of an index, or the latest of all; less than 0
// for none.
func (p *parts) find(index dialect.Number) int {
	for i, part := range slices.Backward(p.list) {
		if !index.Set || part.index == index.N {
			return i
		}
	}
	return -1
}

func (p *parts) begin(index dialect.Number) int {
	p.list = append(p.list, part{index: index.N})
	return len(p.list) - 1
}

// put gives a part its text.
func (p *parts) put(i int, text string) {
	before := p.list[i].text
	p.list[i].text = text
	if i == len(p.list)-1 {
		p.all = p.all[:len(p.all)-len(before)] + text
		return
	}
	p.all = ""
	for _, part := range p.list {
		p.all += part.text
	}
}
