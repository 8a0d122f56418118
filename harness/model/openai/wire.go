// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/retry"
)

// exchange is one attempt: the HTTPDoer beneath go-openai.
type exchange struct {
	cfg *Config
	out *outgoing

	next   func() ([]byte, error) // the documents of the reply; see receive
	status int
	size   int64       // of the reply's body, as announced; -1 when it was not
	header http.Header // of the response; nil before it came
	body   *body
	marked bool // the stream ended with [DONE]
	single bool // the reply was one whole document, no stream
	last   bool // the document handed out last was ended by the stream's end alone
}

// errIdle ends an attempt at which the endpoint has been silent too long.
var errIdle = errors.New("endpoint is silent")

// Do sends a request that go-openai made and returns a response that satisfies
// it, whatever the endpoint answered; what that was is read by next. What is no
// answer is a [*model.Error].
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	x.body = &body{ctx: ctx, cancel: cancel, left: x.cfg.MaxBodyBytes, max: x.cfg.MaxBodyBytes, idle: x.cfg.IdleTimeout}
	if x.cfg.IdleTimeout > 0 {
		x.body.timer = x.cfg.afterFunc(x.cfg.IdleTimeout, func() { cancel(errIdle) })
	}
	req = req.WithContext(ctx)
	if err := x.complete(req); err != nil {
		x.body.Close()
		return nil, fmt.Errorf("completing the request: %w", err)
	}
	for key, values := range x.cfg.Header {
		req.Header[http.CanonicalHeaderKey(key)] = values
	}
	client := http.Client{
		Transport:     x.cfg.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		defer x.body.Close()
		if errors.Is(context.Cause(ctx), errIdle) {
			return nil, x.readError(err)
		}
		e := x.err(model.KindConnection, "")
		e.Err, e.Repeatable = err, true
		var miss interface{ Miss() bool }
		if errors.As(err, &miss) && miss.Miss() { // of a cassette: it has no answer next time either
			e.Kind, e.Repeatable = model.KindMiss, false
		}
		return nil, e
	}
	x.header = resp.Header
	x.body.rc, x.size, x.status = resp.Body, resp.ContentLength, resp.StatusCode
	if x.next, err = x.receive(resp.StatusCode); err != nil {
		x.body.Close()
		return nil, err
	}
	resp.StatusCode = http.StatusOK // the only one left that go-openai calls a success for sure
	// go-openai would hand out what its structs can hold of a reply, and refuse
	// one that is no document.
	resp.Body = io.NopCloser(strings.NewReader("{}"))
	return resp, nil
}

// complete adds to a request what go-openai cannot say.
func (x *exchange) complete(req *http.Request) error {
	if x.out.isWhole() {
		return nil
	}
	raw := make([]byte, req.ContentLength) // go-openai knows it, its body being a buffer
	if _, err := io.ReadFull(req.Body, raw); err != nil {
		return err
	}
	raw, err := x.out.complete(raw)
	if err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.ContentLength = int64(len(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return nil
}

// receive decides by the status and the first bytes what a reply is. It
// returns a function for its documents, one by one, each good until the next;
// io.EOF ends them.
func (x *exchange) receive(status int) (func() ([]byte, error), error) {
	br := bufio.NewReaderSize(x.body, int(x.sizeOr(4<<10)))
	if isGzip(br) {
		// Nobody said so, or the transport would have inflated it.
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, x.readError(err)
		}
		br = bufio.NewReader(&inflated{r: zr, left: x.cfg.MaxBodyBytes, max: x.cfg.MaxBodyBytes})
	}
	if status < 200 || status > 299 {
		raw, err := io.ReadAll(br)
		if len(raw) == 0 && err != nil {
			return nil, x.readError(err)
		}
		w, _ := parseError(bytes.TrimPrefix(raw, []byte("\ufeff")))
		e := x.failure(status, w, raw)
		if loc := x.header.Get("Location"); loc != "" && status < 400 {
			e.Message = fmt.Sprintf("redirected to %q", loc)
		}
		return nil, e
	}
	first, head, err := sniff(br)
	switch {
	case errors.Is(err, io.EOF):
		e := x.err(model.KindEmpty, "the reply has an empty body")
		e.Status, e.Repeatable = status, true
		return nil, e
	case err != nil:
		return nil, x.readError(err)
	case first == '{' || first == '[':
		return x.document(status, br)
	case first != '<' && x.isStream(head):
		return x.events(status, newSSEReader(br, x.cfg.MaxEventBytes)), nil
	}
	raw, _ := io.ReadAll(io.LimitReader(br, maxExcerpt))
	e := x.err(model.KindMalformed, "the reply is "+describe(raw))
	e.Status, e.Body = status, raw
	return nil, e
}

// isGzip looks for the first bytes of a compressed body, without taking them.
func isGzip(br *bufio.Reader) bool {
	if b, err := br.Peek(1); err != nil || b[0] != 0x1f {
		return false
	}
	b, err := br.Peek(2)
	return err == nil && b[1] == 0x8b
}

// inflated bounds a body that grows as it is read.
type inflated struct {
	r         io.Reader
	left, max int64
}

func (z *inflated) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, tooLong(z.max)
	}
	n, err := z.r.Read(p[:min(int64(len(p)), z.left)])
	z.left -= int64(n)
	return n, err
}

func tooLong(limit int64) error {
	return &model.Error{Kind: model.KindTooLarge, Message: fmt.Sprintf("the reply is longer than %d bytes", limit)}
}

// sizeOr is the announced size of the reply where that is less than n.
func (x *exchange) sizeOr(n int64) int64 {
	if x.size >= 0 && x.size < n {
		return x.size
	}
	return n
}

// sniff looks for the first byte that is not white space, without taking it,
// and returns what is there so far.
func sniff(br *bufio.Reader) (first byte, head []byte, err error) {
	for n := 1; ; n++ {
		if _, err := br.Peek(n); err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			return ' ', nil, err
		}
		head, _ = br.Peek(br.Buffered())
		head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
		if len(head) > 0 && head[0] != 0xef { // perhaps half a BOM
			return head[0], head, nil
		}
		n = br.Buffered()
	}
}

// isStream says whether text that is neither JSON nor HTML is a stream.
func (x *exchange) isStream(head []byte) bool {
	if strings.HasPrefix(x.header.Get("Content-Type"), "text/event-stream") {
		return true
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return true
		}
	}
	return false
}

// document reads a reply that is one JSON document.
func (x *exchange) document(status int, br *bufio.Reader) (func() ([]byte, error), error) {
	buf := bytes.NewBuffer(make([]byte, 0, x.sizeOr(64<<10)+bytes.MinRead))
	if _, err := buf.ReadFrom(br); err != nil {
		return nil, x.readError(err)
	}
	raw := bytes.TrimSpace(bytes.TrimPrefix(buf.Bytes(), []byte("\ufeff")))
	if !x.out.plain && !json.Valid(raw) { // a plain reply is decoded next
		return nil, x.badDocument(status, raw)
	}
	if w, ok := errorEvent("", raw); ok {
		return nil, x.failure(status, w, raw)
	}
	return func() ([]byte, error) { return x.once(raw) }, nil
}

// once returns the only document of a reply.
func (x *exchange) once(raw []byte) ([]byte, error) {
	if x.single {
		return nil, io.EOF
	}
	x.single = true
	return raw, nil
}

// badDocument says what is wrong with a document that is not JSON: it may be
// cut off, or go on after its end.
func (x *exchange) badDocument(status int, raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var doc json.RawMessage
	err := dec.Decode(&doc)
	if w, ok := parseError(doc); ok {
		return x.failure(status, w, raw)
	}
	e := x.err(model.KindMalformed, "the reply is no valid JSON")
	switch {
	case err == nil:
		raw = bytes.TrimSpace(raw[dec.InputOffset():])
		e.Message = fmt.Sprintf("the reply goes on after its JSON: %q", cut(raw, 80))
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Message, e.Repeatable = model.KindCutStream, "the reply ends inside its JSON", true
	}
	e.Status, e.Err, e.Body = status, err, excerpt(raw)
	return e
}

// events reads a stream.
func (x *exchange) events(status int, sse *sseReader) func() ([]byte, error) {
	return func() ([]byte, error) {
		for {
			ev, err := sse.next()
			switch {
			case errors.Is(err, io.EOF):
				return nil, io.EOF
			case errors.Is(err, errEventSize):
				return nil, x.err(model.KindTooLarge, err.Error())
			case err != nil:
				return nil, x.readError(err)
			}
			data := bytes.TrimSpace(ev.data)
			if string(data) == "[DONE]" {
				x.marked, x.body.drain = true, true
				return nil, io.EOF
			}
			if w, ok := errorEvent(ev.name, data); ok {
				return nil, x.failure(status, w, data)
			}
			if ev.stray || len(data) == 0 || data[0] == ':' { // some proxies send comments as data
				continue
			}
			x.last = ev.last
			return data, nil
		}
	}
}

// errorEvent looks for an error in a document. Most are chunks or
// completions, which are not parsed a second time for it.
func errorEvent(name string, data []byte) (wireError, bool) {
	if name != "error" && bytes.Contains(data, []byte(`"choices"`)) && !bytes.Contains(data, []byte(`"error"`)) {
		return wireError{}, false
	}
	w, ok := parseError(data)
	if !ok && name == "error" {
		return wireError{message: cut(data, 1000)}, true
	}
	return w, ok
}

// badEvent is the error of an event that is not JSON, or not a chunk. A last
// one that was not ended is a stream cut off.
func (x *exchange) badEvent(err error, data []byte) error {
	if x.single && !json.Valid(data) {
		return x.badDocument(x.status, data)
	}
	e := x.err(model.KindMalformed, fmt.Sprintf("an event of the stream is not as it should be: %s", cut(data, 200)))
	if x.last {
		e = x.err(model.KindCutStream, fmt.Sprintf("the stream ends inside an event: %s", cut(data, 200)))
		e.Repeatable = true
	}
	e.Err, e.Body = err, excerpt(data)
	return e
}

// err begins an error of this exchange.
func (x *exchange) err(kind model.ErrorKind, message string) *model.Error {
	return &model.Error{
		Kind:       kind,
		Message:    message,
		RetryAfter: retry.After(x.header, x.cfg.Clock.Now()),
		RequestID:  x.requestID(),
	}
}

func (x *exchange) requestID() string {
	for _, key := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id"} {
		if id := x.header.Get(key); id != "" {
			return id
		}
	}
	return ""
}

// readError sorts what reading a reply came to.
func (x *exchange) readError(err error) error {
	var e *model.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(context.Cause(x.body.ctx), errIdle):
		e = x.err(model.KindTimeout, fmt.Sprintf("the endpoint was silent for %v", x.cfg.IdleTimeout))
	default:
		e = x.err(model.KindReset, "the connection broke inside the reply")
		e.Err = err
	}
	e.Repeatable = true
	return e
}

// alarm is a running timer.
type alarm = interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// afterFunc is [time.AfterFunc], by the clock where that can.
func (c *Config) afterFunc(d time.Duration, f func()) alarm {
	if a, ok := c.Clock.(harness.Alarms); ok {
		return a.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f)
}

// body is a response body that counts its bytes and does not wait for ever.
type body struct {
	rc     io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  alarm // nil without a bound
	idle   time.Duration
	left   int64
	max    int64
	drain  bool // the reply is at its end: what follows is the transport's
}

// drainTime is how long Close waits for the end of a body after [DONE].
const drainTime = 50 * time.Millisecond

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLong(b.max)
	}
	n, err := b.rc.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if b.timer != nil && n > 0 {
		b.timer.Reset(b.idle)
	}
	return n, err
}

// Close ends the exchange. A body that is read to its end leaves its
// connection for the next request; some endpoints never end it.
func (b *body) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	defer b.cancel(nil)
	if b.rc == nil {
		return nil
	}
	if b.drain {
		timer := time.AfterFunc(drainTime, func() { b.cancel(nil) })
		_, _ = io.CopyN(io.Discard, b.rc, 4<<10)
		timer.Stop()
	}
	return b.rc.Close()
}
