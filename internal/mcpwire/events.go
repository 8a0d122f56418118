// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"slices"
	"strconv"
)

// Event is one event of an event stream.
type Event struct {
	ID    string // of this event; "" where it has none
	Name  string // "" is message
	Data  []byte
	Retry int // milliseconds; 0 where it says nothing
}

// Events cuts a stream of events that comes in parts. An event that is longer
// than a frame may be comes without its data.
type Events struct {
	// Each takes the events, also those that have an id or a time to retry
	// and nothing else.
	Each func(Event)

	event Event
	part  []byte // of a line
	data  bool   // the event has some
	drop  bool   // too much of it
}

// Add takes the next part of the stream.
func (e *Events) Add(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if e.drop = e.drop || len(e.part)+len(line)+len(e.event.Data) > DefaultMaxFrame; e.drop {
			e.part, e.event.Data = nil, nil
		} else {
			if room := cap(e.part) - len(e.part); room < len(line) {
				e.part = slices.Grow(e.part, max(len(line), len(e.part))) // twice as much
			}
			e.part = append(e.part, line...)
		}
		if !ended {
			return
		}
		e.line(bytes.TrimSuffix(e.part, []byte{'\r'}), len(line) == 0)
		e.part, p = e.part[:0], rest
	}
}

func (e *Events) line(line []byte, blank bool) {
	if e.drop && !blank {
		return
	}
	name, v, _ := bytes.Cut(line, []byte(":"))
	v = bytes.TrimPrefix(v, []byte(" "))
	switch {
	case len(line) == 0:
		if ev := e.event; e.data || ev.ID != "" || ev.Retry != 0 {
			e.Each(ev)
		}
		e.event, e.data, e.drop = Event{}, false, false
	case string(name) == "data":
		if e.data {
			e.event.Data = append(e.event.Data, '\n')
		}
		e.event.Data, e.data = append(e.event.Data, v...), true
	case string(name) == "event":
		e.event.Name = string(v)
	case string(name) == "id" && !bytes.Contains(v, []byte{0}):
		e.event.ID = string(v)
	case string(name) == "retry":
		if ms, err := strconv.ParseUint(string(v), 10, 31); err == nil {
			e.event.Retry = int(ms)
		}
	}
}

// Append writes the event as it goes over the wire.
func (e Event) Append(b []byte) []byte {
	field := func(name string, v []byte) {
		for line := range bytes.SplitSeq(v, []byte{'\n'}) {
			b = append(append(append(append(b, name...), ": "...), line...), '\n')
		}
	}
	if e.Name != "" {
		field("event", []byte(e.Name))
	}
	if e.ID != "" {
		field("id", []byte(e.ID))
	}
	if e.Retry != 0 {
		field("retry", strconv.AppendInt(nil, int64(e.Retry), 10))
	}
	field("data", e.Data)
	return append(b, '\n')
}

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
