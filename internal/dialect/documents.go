// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Limits bound what is read of a reply. 0 means the default.
type Limits struct {
	Body      int64 // bytes, once they are inflated; 32 MiB by default
	Event     int   // bytes of one event of a stream; 8 MiB by default
	Arguments int   // bytes of the argument text of one tool call; 1 MiB by default
}

func (l Limits) orDefault() Limits {
	if l.Body == 0 {
		l.Body = 32 << 20
	}
	if l.Event == 0 {
		l.Event = 8 << 20
	}
	if l.Arguments == 0 {
		l.Arguments = 1 << 20
	}
	return l
}

// Documents tells apart the documents of a response's body: the events of a stream,
// the items of a list, or one whole document.
type Documents struct {
	// Single says that the body is one whole document and no stream.
	Single bool
	// Marked says that the stream ended with [DONE].
	Marked bool

	br     *bufio.Reader
	limits Limits
	size   int64 // as announced; -1 when it was not
	next   func() (Document, error)
	taken  bool // the whole document was handed out
}

// Document is one event of a stream, one item of a list, or a whole body.
type Document struct {
	// Name is that of the event; empty for anything that is not an event.
	Name string
	// Data is good until the next document.
	Data []byte
	// Last says that the end of the stream alone ended it: it may be a
	// fragment.
	Last bool
}

// Opening says what is known of a body before it is read.
type Opening struct {
	// ContentType is what the header says. It decides only where the body
	// itself does not.
	ContentType string
	// Size is the announced length; -1 when it is not known.
	Size int64
	// Items says that a JSON list is a stream of its items, as Gemini sends
	// them.
	Items  bool
	Limits Limits
}

// Open decides by the first bytes what a body is. The error is a [*Fault], or
// what reading came to.
func Open(r io.Reader, o Opening) (*Documents, error) {
	b := &Documents{limits: o.Limits.orDefault(), size: o.Size}
	b.br = bufio.NewReaderSize(r, int(b.sizeOr(4<<10)))
	if isGzip(b.br) {
		// Nobody said so, or the transport would have inflated it.
		zr, err := gzip.NewReader(b.br)
		if err != nil {
			return nil, err
		}
		b.size = -1
		b.br = bufio.NewReader(&bounded{r: zr, left: b.limits.Body, max: b.limits.Body})
	}
	first, head, err := sniff(b.br)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &Fault{Kind: Empty, Message: "the reply has an empty body"}
	case err != nil:
		return nil, err
	case first == '[' && o.Items:
		b.next = b.items()
	case first == '{' || first == '[':
		b.Single, b.next = true, b.document
	case first != '<' && isStream(o.ContentType, head):
		b.next = b.events(sse.NewReader(b.br, b.limits.Event))
	default:
		raw, _ := io.ReadAll(io.LimitReader(b.br, maxExcerpt))
		return nil, &Fault{Kind: Malformed, Message: "the reply is " + Describe(raw), Body: raw}
	}
	return b, nil
}

// Next returns the next document; io.EOF ends them. Other errors are a
// [*Fault], or what reading came to.
func (b *Documents) Next() (Document, error) { return b.next() }

// isGzip looks for the first bytes of a compressed body, without taking them.
func isGzip(br *bufio.Reader) bool {
	if b, err := br.Peek(1); err != nil || b[0] != 0x1f {
		return false
	}
	b, err := br.Peek(2)
	return err == nil && b[1] == 0x8b
}

// Inflate returns what reads a body that may be compressed without saying so.
func Inflate(r io.Reader, limit int64) (io.Reader, error) {
	br := bufio.NewReader(r)
	if !isGzip(br) {
		return br, nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, err
	}
	return &bounded{r: zr, left: limit, max: limit}, nil
}

// TooLongBody is the fault of a body that exceeds its limit.
func TooLongBody(limit int64) *Fault {
	return &Fault{Kind: TooLong, Message: fmt.Sprintf("the reply is longer than %d bytes", limit)}
}

// sizeOr is the announced size of the body where that is less than n.
func (b *Documents) sizeOr(n int64) int64 {
	if b.size >= 0 && b.size < n {
		return b.size
	}
	return n
}

// sniff looks for the first byte that is not white space, without taking it,
// and returns what is there so far: enough to tell a field of a stream.
func sniff(br *bufio.Reader) (first byte, head []byte, err error) {
	for n := 1; ; n++ {
		_, err := br.Peek(n)
		head, _ = br.Peek(br.Buffered())
		head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
		switch {
		case err != nil && len(head) > 0:
			return head[0], head, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return ' ', nil, nil
		case err != nil:
			return ' ', nil, err
		}
		if _, short := sse.Begins(head); !short {
			return head[0], head, nil
		}
		n = br.Buffered()
	}
}

// isStream says whether text that is neither JSON nor HTML is a stream.
func isStream(contentType string, head []byte) bool {
	begins, _ := sse.Begins(head)
	return begins || strings.HasPrefix(contentType, "text/event-stream")
}

// document reads a body that is one JSON document.
func (b *Documents) document() (Document, error) {
	if b.taken {
		return Document{}, io.EOF
	}
	buf := bytes.NewBuffer(make([]byte, 0, b.sizeOr(64<<10)+bytes.MinRead))
	if _, err := buf.ReadFrom(b.br); err != nil {
		return Document{}, err
	}
	raw := bytes.TrimSpace(bytes.TrimPrefix(buf.Bytes(), []byte("\ufeff")))
	if w, ok := errorEvent("", raw); ok {
		return Document{}, &Fault{Kind: Refused, Object: &w, Body: excerpt(raw)}
	}
	b.taken = true
	return Document{Data: raw}, nil
}

// bad is the fault of a document that is not JSON, or no part of a reply.
func (b *Documents) bad(d Document, err error) *Fault {
	data := d.Data
	switch {
	case b.Single && !json.Valid(data):
		return badDocument(data)
	case d.Last:
		return &Fault{Kind: Cut, Message: "the stream ends inside an event: " + shortened(data, 200), Err: err, Body: excerpt(data)}
	}
	return &Fault{Kind: Malformed, Message: "an event of the stream is not as it should be: " + shortened(data, 200), Err: err, Body: excerpt(data)}
}

// badDocument says what is wrong with a document that is not JSON: it may be
// cut off, or go on after its end.
func badDocument(raw []byte) *Fault {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var doc json.RawMessage
	err := dec.Decode(&doc)
	if w, ok := ParseError(doc); ok {
		return &Fault{Kind: Refused, Object: &w, Body: excerpt(raw)}
	}
	f := &Fault{Kind: Malformed, Message: "the reply is not valid JSON", Err: err}
	switch {
	case err == nil:
		raw = bytes.TrimSpace(raw[dec.InputOffset():])
		f.Message = fmt.Sprintf("the reply goes on after its JSON: %q", shortened(raw, 80))
	case errors.Is(err, io.ErrUnexpectedEOF):
		f.Kind, f.Message = Cut, "the reply ends inside its JSON"
	}
	f.Body = excerpt(raw)
	return f
}

// events reads a stream.
func (b *Documents) events(r *sse.Reader) func() (Document, error) {
	return func() (Document, error) {
		for {
			ev, err := r.Next()
			switch {
			case errors.Is(err, sse.ErrTooLong):
				return Document{}, &Fault{Kind: TooLong, Message: err.Error()}
			case err != nil:
				return Document{}, err
			}
			data := bytes.TrimSpace(ev.Data)
			if string(data) == "[DONE]" {
				b.Marked = true
				return Document{}, io.EOF
			}
			if w, ok := errorEvent(ev.Name, data); ok {
				return Document{}, &Fault{Kind: Refused, Object: &w, Body: excerpt(data)}
			}
			if ev.Stray || len(data) == 0 || data[0] == ':' { // some proxies send comments as data
				continue
			}
			return Document{Name: ev.Name, Data: data, Last: ev.Last}, nil
		}
	}
}

// items reads a list, item by item.
func (b *Documents) items() func() (Document, error) {
	skipBOM(b.br)
	dec := json.NewDecoder(&bounded{r: b.br, left: b.limits.Body, max: b.limits.Body})
	begun := false
	return func() (Document, error) {
		if !begun {
			begun = true
			if _, err := dec.Token(); err != nil { // the bracket
				return Document{}, err
			}
		}
		if !dec.More() {
			if _, err := dec.Token(); err != nil { // the other bracket
				return Document{}, cutList(err)
			}
			return Document{}, io.EOF
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return Document{}, cutList(err)
		}
		if w, ok := errorEvent("", raw); ok {
			return Document{}, &Fault{Kind: Refused, Object: &w, Body: excerpt(raw)}
		}
		return Document{Data: raw}, nil
	}
}

// cutList is the fault of a list that does not end, or is no JSON.
func cutList(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Fault{Kind: Cut, Message: "the reply ends inside its JSON", Err: err}
	case errors.As(err, &syntax):
		return &Fault{Kind: Malformed, Message: "the reply is not valid JSON", Err: err}
	}
	return err
}

// bounded reads no more than a body may have.
type bounded struct {
	r         io.Reader
	left, max int64
}

func (l *bounded) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, TooLongBody(l.max)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// skipBOM takes a byte order mark at the beginning.
func skipBOM(br *bufio.Reader) {
	if b, err := br.Peek(3); err == nil && string(b) == "\ufeff" {
		_, _ = br.Discard(3)
	}
}

// errorEvent looks for an error in a document. Most are chunks or
// completions, which are not parsed a second time for it.
func errorEvent(name string, data []byte) (ErrorObject, bool) {
	if name != "error" && bytes.Contains(data, []byte(`"choices"`)) && !bytes.Contains(data, []byte(`"error"`)) {
		return ErrorObject{}, false
	}
	if isPart(name) && !bytes.Contains(data, []byte(`"error"`)) {
		return ErrorObject{}, false
	}
	w, ok := ParseError(data)
	if !ok && name == "error" {
		return ErrorObject{Message: shortened(data, 1000)}, true
	}
	return w, ok
}

// ReadAll reads the body of a response that came with a status of success.
// Broke is what ended the body in place of its proper end; nil when it ended
// in order. The error says why the reply is not whole; nil when it is. The
// reply is there as far as it came.
func ReadAll(d *Dialect, header http.Header, body []byte, broke error, limits Limits) (Received, error) {
	return readChoice(d, 0, header, body, broke, limits)
}

// ReadChoice is [ReadAll] for one of several answers that were asked for, by
// its index. Dialects that know of one answer only have nothing but the first.
func ReadChoice(d *Dialect, choice int, header http.Header, body []byte, limits Limits) (Received, error) {
	return readChoice(d, choice, header, body, nil, limits)
}

func readChoice(d *Dialect, choice int, header http.Header, body []byte, broke error, limits Limits) (Received, error) {
	in := io.Reader(bytes.NewReader(body))
	if broke != nil {
		in = io.MultiReader(in, broken{broke})
	}
	b, err := Open(in, Opening{ContentType: header.Get("Content-Type"), Size: int64(len(body)), Items: d.List, Limits: limits})
	r := NewReader(d, limits)
	r.Choice = choice
	for err == nil {
		var doc Document
		if doc, err = b.Next(); err == nil {
			_, err = r.Add(b, doc)
		}
		if err == nil && r.Over(b) {
			err = io.EOF
		}
	}
	if b != nil {
		_, err = r.End(b, err, false)
	}
	return r.Reply(), err
}

// broken is a reader that breaks.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// ErrorBody is the body of an error as it was written: it may be compressed.
func ErrorBody(body []byte, limits Limits) []byte {
	in, err := Inflate(bytes.NewReader(body), limits.orDefault().Body)
	if err == nil {
		if raw, err := io.ReadAll(in); err == nil {
			body = raw
		}
	}
	return bytes.TrimPrefix(body, []byte("\ufeff"))
}

// ReadError returns what the body of a failure says: the message of its error
// object, or a description of what is there instead.
func ReadError(body []byte, limits Limits) string {
	body = ErrorBody(body, limits)
	if w, ok := ParseError(body); ok && w.Message != "" {
		return w.Message
	}
	return prose.Excerpt(bytes.TrimSpace(body), 500)
}
