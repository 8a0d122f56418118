// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// event is one server-sent event.
type event struct {
	name string // "" is "message"
	data []byte
	// id is that of the last event that had one, as a client that comes back
	// must name it.
	id string
}

// events reads server-sent events. An event's id counts also when it has no
// data, which is how a server prepares the client to come back.
type events struct {
	br    *bufio.Reader // nil before the stream is open
	max   int           // bytes of one event
	id    string
	retry time.Duration // how long to wait before coming back; 0 when not said
}

// newEvents reads the events of r, or of what [events.over] is given later.
func newEvents(r io.Reader, maxBytes int) *events {
	e := &events{max: maxBytes}
	if r != nil {
		e.over(r)
	}
	return e
}

// over goes on with a stream that was opened again.
func (e *events) over(r io.Reader) { e.br = bufio.NewReader(r) }

// next returns the next event with data. A last one that no blank line ends
// counts too, without its id, since it may have been cut off; then comes
// io.EOF.
func (e *events) next() (event, error) {
	var ev event
	id, hasID, hasData, size := "", false, false, 0
	for {
		line, err := e.line(&size)
		if err != nil && !(errors.Is(err, io.EOF) && (len(line) > 0 || len(ev.data) > 0)) {
			return event{}, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		field := string(name)
		switch {
		case len(line) == 0: // the end of an event
			if hasID && err == nil {
				e.id = id
			}
			if len(ev.data) > 0 {
				ev.id = e.id
				return ev, nil
			}
			ev, hasID, hasData, size = event{}, false, false, 0
		case field == "data":
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data, hasData = append(ev.data, value...), true
		case field == "event":
			ev.name = string(value)
		case field == "id" && !bytes.Contains(value, []byte{0}):
			id, hasID = string(value), true
		case field == "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line without its end. At the end of the input that is
// what is left, with io.EOF.
func (e *events) line(size *int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.br.ReadSlice('\n')
		if *size += len(part); *size > e.max {
			return nil, fmt.Errorf("%w: an event is longer than %d bytes", errMalformed, e.max)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}
