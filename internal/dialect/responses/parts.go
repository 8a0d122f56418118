// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package responses

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// parts is a text that comes in parts, each of them in pieces.
type parts struct {
	all  grown // of all parts
	list []part
}

// grown is a text that grows by pieces. What is there is not copied for each of
// them, since there are hundreds of thousands in a long one.
type grown struct {
	text string
	b    *strings.Builder // that holds it; nil for a text that came whole
}

func (g *grown) add(piece string) {
	if g.b == nil {
		g.b = new(strings.Builder)
		g.b.WriteString(g.text)
	}
	g.b.WriteString(piece)
	g.text = g.b.String()
}

func (g *grown) set(text string) { *g = grown{text: text} }

// over puts a whole text in its place, if that says anything.
func (g *grown) over(whole dialect.Text) {
	if whole != "" {
		g.set(string(whole))
	}
}

// part is one of them. It is done when the whole of it came.
type part struct {
	index int
	text  grown
	done  bool
}

// add takes a piece of a part.
func (p *parts) add(index dialect.Number, piece string) {
	i := p.find(index)
	if i < 0 || p.list[i].done { // some endpoints number all parts 0, or none
		i = p.begin(index)
	}
	p.list[i].text.add(piece)
	if i == len(p.list)-1 {
		p.all.add(piece)
		return
	}
	p.join()
}

// end takes the whole of a part, if it says anything.
func (p *parts) end(index dialect.Number, whole string) {
	i := p.find(index)
	if i < 0 {
		i = p.begin(index)
	}
	if whole != "" {
		p.list[i].text.set(whole)
		p.join()
	}
	p.list[i].done = true
}

// set takes all parts, over what came of them, if they say anything.
func (p *parts) set(whole []part) {
	var now parts
	for _, part := range whole {
		i := now.begin(dialect.Number{N: part.index, Set: true})
		now.list[i].text = part.text
	}
	now.join()
	if now.all.text != "" {
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

// join puts the text of all parts together anew.
func (p *parts) join() {
	p.all = grown{}
	for _, part := range p.list {
		p.all.add(part.text.text)
	}
}
