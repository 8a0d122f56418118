// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// sseEvent is one event of a stream.
type sseEvent struct {
	name string // of the event: field; empty as a rule
	data []byte // data lines joined with a newline; valid until the next event
	// stray marks a line that begins like JSON and belongs to no field. The
	// specification ignores it; some proxies put their error there.
	stray bool
	// last marks an event that the stream's end dispatched: it may be a
	// fragment.
	last bool
}

// sseReader reads server-sent events as the WHATWG specification says: a BOM
// at the start, lines that end with LF, CR or both, comments, several data
// lines. It differs in one point: an event that only the end of the stream
// ends is delivered, since providers forget the last empty line.
type sseReader struct {
	r    *bufio.Reader
	max  int // bytes of one line and of one event's data
	line []byte
	data []byte
	// skipLF says that the last line ended with CR. Whether LF follows is
	// seen only with the next read: waiting for it could hold an event back
	// for as long as the connection is silent.
	skipLF  bool
	started bool
}

// errEventSize is met when an event is longer than the reader allows.
var errEventSize = errors.New("event of a stream too long")

func newSSEReader(r *bufio.Reader, maxEvent int) *sseReader {
	return &sseReader{r: r, max: maxEvent}
}

// readLine returns the next line without its end, valid until the next. At the end of the stream
// it returns what is left, with the error.
func (s *sseReader) readLine() ([]byte, error) {
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
			return nil, fmt.Errorf("%w: more than %d bytes", errEventSize, s.max)
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

// next returns the next event that has data. It returns io.EOF at the end of
// the stream and the reader's error when it breaks.
func (s *sseReader) next() (sseEvent, error) {
	var ev sseEvent
	seen := false // a data field, even an empty one
	s.data = s.data[:0]
	for {
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return sseEvent{}, err
		}
		if !s.started {
			s.started = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 && line[0] == '{' {
			return sseEvent{data: line, stray: true}, nil
		}
		switch field, value := splitField(line); string(field) {
		case "data":
			if seen {
				s.data = append(s.data, '\n')
			}
			seen = true
			if len(s.data)+len(value) > s.max {
				return sseEvent{}, fmt.Errorf("%w: more than %d bytes", errEventSize, s.max)
			}
			s.data = append(s.data, value...)
		case "event":
			ev.name = string(value)
		}
		atEnd := err != nil
		if seen && (atEnd || len(line) == 0) {
			ev.data, ev.last = s.data, atEnd
			return ev, nil
		}
		if atEnd {
			return sseEvent{}, io.EOF
		}
		if len(line) == 0 {
			ev = sseEvent{}
		}
	}
}

// splitField cuts a line at its colon and drops one space after it. The field
// of a comment, and of an empty line, is empty.
func splitField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, bytes.TrimPrefix(value, []byte(" "))
}
