// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package sse

import "bytes"

// Parser reads the events of a stream that comes in parts, such as one that is
// looked at while it goes by.
type Parser struct {
	// Max bounds the bytes of one line, and of the data of one event. An event
	// that is longer comes as TooLong.
	Max int
	// All delivers also what has no data, see [Event.Bare].
	All bool
	// Each takes the events.
	Each func(Event)

	assembly
	line   []byte
	drop   bool // the rest of a line that is too long
	skipLF bool
}

// Add takes the next part.
func (p *Parser) Add(part []byte) {
	p.max, p.all = p.Max, p.All
	for len(part) > 0 {
		if p.skipLF && part[0] == '\n' {
			part = part[1:]
		}
		p.skipLF = false
		end := bytes.IndexAny(part, "\r\n")
		piece := part
		if end >= 0 {
			piece = part[:end]
		}
		if p.drop = p.drop || len(p.line)+len(piece) > p.Max; p.drop {
			p.line, p.long, p.seen = nil, true, true
		} else {
			p.line = append(p.line, piece...)
		}
		if end < 0 {
			return
		}
		p.skipLF, part = part[end] == '\r', part[end+1:]
		p.take()
	}
}

// take takes the line that has come.
func (p *Parser) take() {
	if !p.drop {
		if ev, ok := p.assembly.add(p.line); ok {
			p.Each(ev)
		}
	}
	p.line, p.drop = p.line[:0], false
}

// End takes the end of the stream, which ends the last event too.
func (p *Parser) End() {
	if len(p.line) > 0 {
		p.take()
	}
	if ev, ok := p.assembly.end(true); ok {
		p.Each(ev)
	}
}
