// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// DefaultMaxFrame is the longest frame that a [Reader] takes by default:
// 64 MiB, well above what servers send in earnest (a 20 MB image is).
const DefaultMaxFrame = 64 << 20

// JunkError reports a line that is no JSON-RPC message. The reader can go on.
type JunkError struct {
	Line []byte // the line, or its beginning
	Why  string
	// ID is the id of the message that the line was to be, as far as one can
	// tell: of one that is cut off, too long or nested too deep. Else nil.
	ID json.RawMessage
	// Torn says that the stream ended inside the line.
	Torn bool
}

func (e *JunkError) Error() string {
	return fmt.Sprintf("line is no JSON-RPC message (%s): %q", e.Why, Excerpt(e.Line, 120))
}

// Excerpt returns at most n bytes of b in whole runes, with a mark when
// something was cut.
func Excerpt(b []byte, n int) string {
	if len(b) <= n {
		return string(b)
	}
	b = b[:n]
	for range utf8.UTFMax {
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return string(b) + "..."
}

// Reader reads messages, one a line. It is for one goroutine.
type Reader struct {
	br    *bufio.Reader
	max   int
	whole bool // an array is no message
	batch []json.RawMessage
	torn  bool // the last line had no newline
}

// ReaderOptions are settings of a [Reader]. nil means all defaults.
type ReaderOptions struct {
	// MaxFrame is the longest line in bytes; longer ones are skipped and
	// reported. Default [DefaultMaxFrame].
	MaxFrame int
	// NoBatches has an array of messages be none. Default: it is taken apart.
	NoBatches bool
}

// NewReader returns a reader of the messages in r.
func NewReader(r io.Reader, opts *ReaderOptions) *Reader {
	var o ReaderOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxFrame <= 0 {
		o.MaxFrame = DefaultMaxFrame
	}
	return &Reader{br: bufio.NewReader(r), max: o.MaxFrame, whole: o.NoBatches}
}

// Next returns the next message. Blank lines are skipped, a last line without
// newline counts, and an array is taken as its messages, one by one, unless
// [ReaderOptions.NoBatches] is set. The
// error is a [*JunkError] for a line that is no message; any other error is
// final, and io.EOF says that the stream ended.
func (r *Reader) Next() (Message, error) {
	for {
		if len(r.batch) > 0 {
			frame := r.batch[0]
			r.batch = r.batch[1:]
			return r.parse(frame)
		}
		line, err := r.line()
		if err != nil {
			return Message{}, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] == '[' && !r.whole && json.Unmarshal(line, &r.batch) == nil {
			continue
		}
		return r.parse(line)
	}
}

func (r *Reader) parse(line []byte) (Message, error) {
	m, err := Parse(line)
	if err != nil {
		return m, &JunkError{Line: line, Why: err.Error(), ID: IDOf(line), Torn: r.torn}
	}
	return m, nil
}

// line returns the next line in memory of its own.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	total := 0
	for {
		part, err := r.br.ReadSlice('\n')
		total += len(part)
		room := r.max + 1 - len(line) // the newline is not part of the frame
		part = part[:min(room, len(part))]
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(part), len(line))) // twice as much: frames can be long
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && total > 0):
			return nil, err
		}
		r.torn = err != nil
		if total > r.max+1 {
			return nil, &JunkError{
				Line: bytes.Clone(line[:min(len(line), 200)]), Why: fmt.Sprintf("longer than %d bytes", r.max), ID: bytes.Clone(IDOf(line)), Torn: r.torn,
			}
		}
		return line, nil
	}
}

// Writer writes messages, one a line. It may be used concurrently.
type Writer struct {
	mu sync.Mutex // guards w: lines must not interleave
	w  io.Writer
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame and its newline in one call to the writer below.
// The frame must hold no newline.
func (w *Writer) Write(frame []byte) error {
	line := make([]byte, 0, len(frame)+1)
	line = append(append(line, frame...), '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(line)
	return err
}

// IDOf looks for the member "id" of a message that cannot be decoded: one that
// is cut off, or nested too deep. It is nil where there is none, and where the
// line may be one of a log, since it lacks "jsonrpc".
func IDOf(line []byte) json.RawMessage {
	line = bytes.TrimLeft(line, " \t\r\n")
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return nil
	}
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(line, i)
			if end < 0 {
				return nil
			}
			if depth == 1 && string(line[i:end]) == `"id"` {
				if id := idAfter(line[end:]); id != nil {
					return id
				}
			}
			i = end - 1
		}
	}
	return nil
}

// stringEnd returns the index after the string that begins at i, or -1.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// idAfter reads a whole id after a colon.
func idAfter(b []byte) json.RawMessage {
	b, ok := bytes.CutPrefix(bytes.TrimLeft(b, " \t"), []byte(":"))
	if !ok {
		return nil // "id" was a value
	}
	end := bytes.IndexAny(b, ",}")
	if end < 0 {
		return nil
	}
	id := bytes.TrimSpace(b[:end])
	if !json.Valid(id) || !hasValue(id) {
		return nil
	}
	return id
}
