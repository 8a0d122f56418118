// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package sse reads server-sent events as the WHATWG specification says: a
// BOM at the start, lines that end with LF, CR or both, comments, several data
// lines in one event. A [Reader] reads a stream, a [Parser] takes it in parts,
// [Lines] shows where its lines stand.
//
//	r := sse.NewReader(bufio.NewReader(body), 1<<20)
//	for {
//		ev, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		...
//	}
//
// It differs from the specification in two points, because endpoints do. An
// event that only the end of the stream ends is delivered, marked Last. A line
// that begins like JSON and belongs to no field is delivered too, marked
// Stray: some proxies put their error there.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// Name is the event field; empty as a rule.
	Name string
	// ID is the last event id that the stream has set, in this event or in an
	// earlier one. An event that is Last sets none: it may be cut off.
	ID string
	// Data are the data lines, joined with a newline. They are valid until the
	// next event.
	Data []byte
	// Stray says that Data is a line that begins like JSON and belongs to no
	// field.
	Stray bool
	// Last says that the end of the stream dispatched the event: it may be a
	// fragment.
	Last bool
	// TooLong says that a [Parser] left the data out, since there was too much.
	TooLong bool

	// SetsID says that the event itself has the ID.
	SetsID bool
	// Retry is how long the event asks to wait before the client connects
	// again; 0 where it says nothing.
	Retry time.Duration
	// Bare says that there is no data. Only a [Parser] that takes all delivers
	// such an event: an id, a time to wait, or a comment.
	Bare bool
	// Comment says that there is a comment among the lines.
	Comment bool
}

// Append writes the event as it goes over the wire, without its comments. The
// name and the ID are each one line. Data of several lines has a field for each;
// a reader joins them with LF, whatever ended them.
func (ev Event) Append(b []byte) []byte {
	if ev.Name != "" {
		b = append(append(append(b, "event: "...), ev.Name...), '\n')
	}
	if ev.SetsID {
		b = append(append(append(b, "id: "...), ev.ID...), '\n')
	}
	if ev.Retry != 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), ev.Retry.Milliseconds(), 10), '\n')
	}
	for data, more := ev.Data, !ev.Bare; more; {
		var line []byte
		line, data, more = cutLine(data)
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

// cutLine cuts b after its first line, which ends with CR, LF or both.
func cutLine(b []byte) (line, after []byte, more bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	n := i + 1
	if b[i] == '\r' && n < len(b) && b[n] == '\n' {
		n++
	}
	return b[:i], b[n:], true
}

// Data returns an event that has a name, or none, and data.
func Data(name string, data []byte) []byte {
	return Event{Name: name, Data: data}.Append(make([]byte, 0, len(name)+len(data)+len("event: \ndata: \n\n")))
}

// assembly is an event as far as its lines have come.
type assembly struct {
	max     int  // bytes of one event's data
	all     bool // events without data count
	started bool // a line was read

	id      string // of the events that were ended
	retry   time.Duration
	retries bool

	current
	next string // the id that the event will have set
}

// current is what the lines of one event have said so far.
type current struct {
	name    string
	data    []byte
	seen    bool // a data field, even an empty one
	long    bool // there was more data than max
	sets    bool // an id
	wait    time.Duration
	comment bool
}

// add takes a line without its end. It returns an event that the line ends, or
// is.
func (a *assembly) add(line []byte) (Event, bool) {
	if !a.started {
		a.started = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		a.id = a.next
		return a.end(false)
	}
	if line[0] == '{' {
		return Event{Data: line, ID: a.id, Stray: true}, true
	}
	switch field, value := splitField(line); string(field) {
	case "data":
		if a.long = a.long || len(a.data)+len(value) > a.max; a.long {
			a.data = nil
		} else if a.seen {
			a.data = append(a.data, '\n')
		}
		if a.seen = true; !a.long {
			a.data = append(a.data, value...)
		}
	case "event":
		a.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			a.next, a.sets = string(value), true
		}
	case "retry":
		a.setRetry(value)
	case "":
		a.comment = true
	}
	return Event{}, false
}

// end returns what has come, if it is an event, and begins anew. An event that
// may be cut off sets no id.
func (a *assembly) end(last bool) (Event, bool) {
	ev := Event{
		Name: a.name, ID: a.id, Data: a.data, Last: last, TooLong: a.long,
		SetsID: a.sets && !last, Retry: a.wait, Bare: !a.seen, Comment: a.comment,
	}
	a.next = a.id
	a.current = current{data: a.data[:0]}
	if cap(a.data) > maxKept {
		a.data = nil
	}
	return ev, !ev.Bare || a.all && (ev.SetsID || ev.Retry > 0 || ev.Comment)
}

// maxKept is the largest buffer that is kept for the next event.
const maxKept = 1 << 20

// setRetry takes a number of milliseconds. Anything but digits is ignored.
func (a *assembly) setRetry(value []byte) {
	const most = 1<<31 - 1 // milliseconds: beyond that nobody waits
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
		n = min(n*10+int64(c-'0'), most)
	}
	if len(value) > 0 {
		a.wait = time.Duration(n) * time.Millisecond
		a.retry, a.retries = a.wait, true
	}
}

// Reader reads the events of one stream.
type Reader struct {
	assembly
	r    *bufio.Reader
	line []byte
	// skipLF says that the last line ended with CR. Whether LF follows is
	// seen only with the next read: waiting for it could hold an event back
	// for as long as the connection is silent.
	skipLF bool
}

// ErrTooLong is met when an event is longer than the reader allows.
var ErrTooLong = errors.New("event of a stream too long")

// NewReader reads from r. Max bounds the bytes of one line, and of the data of
// one event.
func NewReader(r *bufio.Reader, maxEvent int) *Reader {
	return &Reader{r: r, assembly: assembly{max: maxEvent}}
}

// Reset goes on with a stream that was opened again: the id and the time to wait
// are those that it has set before.
func (s *Reader) Reset(r *bufio.Reader) {
	s.assembly = assembly{max: s.max, id: s.id, next: s.id, retry: s.retry, retries: s.retries}
	s.r, s.line, s.skipLF = r, s.line[:0], false
}

// LastID is the last event id that the stream has set, also in an event that
// had no data: what a client names that connects again.
func (s *Reader) LastID() string { return s.id }

// Retry returns the time that the stream asked its client to wait before it
// connects again, and whether it asked for one.
func (s *Reader) Retry() (time.Duration, bool) { return s.retry, s.retries }

// readLine returns the next line without its end, valid until the next. At the
// end of the stream it returns what is left, with the error.
func (s *Reader) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if _, err := s.r.Peek(1); err != nil {
			return s.line, err
		}
		buf, _ := s.r.Peek(s.r.Buffered())
		if s.skipLF {
			s.skipLF = false
			if buf[0] == '\n' {
				_, _ = s.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(buf, '\n')
		part := buf
		if end >= 0 {
			part = buf[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			end, part, s.skipLF = cr, part[:cr], true
		}
		if len(s.line)+len(part) > s.max {
			return nil, s.tooLong()
		}
		if end >= 0 {
			_, _ = s.r.Discard(end + 1) // which leaves part as it is
			if len(s.line) == 0 {
				return part, nil
			}
			return append(s.line, part...), nil
		}
		s.line = append(s.line, part...)
		_, _ = s.r.Discard(len(buf))
	}
}

func (s *Reader) tooLong() error { return fmt.Errorf("%w: more than %d bytes", ErrTooLong, s.max) }

// Next returns the next event that has data. It returns io.EOF at the end of
// the stream and the reader's error when it breaks.
func (s *Reader) Next() (Event, error) {
	for {
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return Event{}, err
		}
		var ev Event
		ok := false
		if err == nil || len(line) > 0 {
			ev, ok = s.add(line)
		}
		if s.long || ev.TooLong {
			return Event{}, s.tooLong()
		}
		if err != nil && !ok {
			ev, ok = s.end(true)
		}
		switch {
		case ok:
			return ev, nil
		case err != nil:
			return Event{}, io.EOF
		}
	}
}

// splitField cuts a line at its colon and drops one space after it. The field
// of a comment, and of an empty line, is empty.
func splitField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, bytes.TrimPrefix(value, []byte(" "))
}
