// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/redirect"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// attempt is one request with its reply.
type attempt struct {
	cfg    *endpoint
	out    *outgoing
	reader *dialect.Reader
	before []harness.Message

	reply  *dialect.Documents // nil before it came
	status int
	header http.Header // of the response; nil before it came
	body   *body
}

// errIdle ends an attempt at which the endpoint has been silent too long.
var errIdle = errors.New("endpoint is silent")

// send sends a request and opens what the endpoint answers; that is read by
// next. Anything that is not an answer is a [*Error].
func (a *attempt) send(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	a.body = &body{ctx: ctx, cancel: cancel, left: a.cfg.MaxBodyBytes, max: a.cfg.MaxBodyBytes, idle: a.cfg.IdleTimeout}
	if a.cfg.IdleTimeout > 0 {
		a.body.timer = a.cfg.Clock.AfterFunc(a.cfg.IdleTimeout, harness.Silence, func() { cancel(errIdle) })
	}
	err := a.receive(ctx)
	if err != nil {
		a.body.Close()
	}
	return err
}

// request makes the HTTP request.
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	url := a.cfg.BaseURL + a.out.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(a.out.Body))
	if err != nil {
		return nil, &Error{Kind: KindInvalid, Err: err, Message: "making the request"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if a.out.Stream {
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Cache-Control", "no-cache")
	}
	switch header := a.cfg.dialect.KeyHeader; {
	case a.cfg.APIKey == "":
	case header != "":
		req.Header.Set(header, a.cfg.APIKey)
	default:
		req.Header.Set("Authorization", "Bearer "+a.cfg.APIKey)
	}
	for key, values := range a.cfg.Header {
		req.Header[http.CanonicalHeaderKey(key)] = values
	}
	// The next attempt would come to the same.
	if !httpguts.ValidHeaderFieldValue(a.cfg.APIKey) {
		return nil, invalid("the API key has a line break or another control character, which no HTTP header can carry")
	}
	for _, key := range slices.Sorted(maps.Keys(req.Header)) {
		if slices.ContainsFunc(req.Header[key], func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
			return nil, invalid("the header %q has a line break or another control character, which no HTTP header can carry", key)
		}
	}
	return req, nil
}

// receive sends the request and tells a failure from a reply.
func (a *attempt) receive(ctx context.Context) error {
	req, err := a.request(ctx)
	if err != nil {
		return err
	}
	client := http.Client{Transport: a.cfg.Transport, CheckRedirect: redirect.None}
	resp, err := client.Do(req)
	if err != nil {
		return a.unreached(err)
	}
	a.header, a.body.rc, a.status = resp.Header, resp.Body, resp.StatusCode
	if a.status < 200 || a.status > 299 {
		return a.refused()
	}
	a.reply, err = dialect.Open(a.body, dialect.Opening{
		ContentType: a.header.Get("Content-Type"), Size: resp.ContentLength, Items: a.cfg.dialect.List, Limits: a.cfg.limits(),
	})
	if err != nil {
		return a.readError(err)
	}
	return nil
}

// unreached is the error of a request without a response.
func (a *attempt) unreached(err error) error {
	if errors.Is(context.Cause(a.body.ctx), errIdle) {
		return a.readError(err)
	}
	e := a.err(KindConnection, "")
	e.Err, e.Repeatable = err, true
	if errors.Is(err, harness.ErrMiss) { // of a cassette: it has no answer next time either
		e.Kind, e.Repeatable = KindMiss, false
	}
	return e
}

// refused is the error of a response that its status calls no reply.
func (a *attempt) refused() error {
	in, err := dialect.Inflate(a.body, a.cfg.MaxBodyBytes)
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(in)
	}
	if len(raw) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return a.readError(err)
	}
	w, _ := dialect.ParseError(bytes.TrimPrefix(raw, []byte("\ufeff")))
	e := a.failure(a.status, w, raw)
	if loc := a.header.Get("Location"); loc != "" && a.status < 400 {
		e.Message = fmt.Sprintf("redirected to %q", loc)
	}
	return e
}

// next returns the next document of the reply; io.EOF ends them. What was
// wrong with it is as reading told it: see [attempt.readError].
func (a *attempt) next() (dialect.Document, error) {
	d, err := a.reply.Next()
	a.body.drain = a.body.drain || a.reply.Marked
	return d, err
}

// faulty makes the typed error of what is wrong with a reply.
func (a *attempt) faulty(f *dialect.Fault) *Error {
	if f.Object != nil {
		return a.failure(a.status, *f.Object, f.Body)
	}
	e := a.err("", f.Message)
	e.Err, e.Body = f.Err, f.Body
	switch f.Kind {
	case dialect.Empty:
		e.Kind, e.Repeatable = KindEmpty, true
	case dialect.Cut:
		e.Kind, e.Repeatable = KindCutStream, true
	case dialect.GaveUp:
		e.Kind, e.Repeatable = KindServer, true
	case dialect.TooLong:
		e.Kind = KindTooLarge
	default:
		e.Kind = KindMalformed
	}
	if a.reply == nil || a.reply.Single {
		e.Status = a.status
	}
	return e
}

// err begins an error of this attempt.
func (a *attempt) err(kind ErrorKind, message string) *Error {
	return &Error{
		Kind:       kind,
		Message:    message,
		RetryAfter: retry.After(a.header, a.cfg.Clock.Now()),
		RequestID:  a.requestID(),
	}
}

func (a *attempt) requestID() string {
	for _, key := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id"} {
		if id := a.header.Get(key); id != "" {
			return id
		}
	}
	return ""
}

// readError sorts what reading a reply came to.
func (a *attempt) readError(err error) error {
	var e *Error
	var f *dialect.Fault
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &f):
		return a.faulty(f)
	case errors.Is(context.Cause(a.body.ctx), errIdle):
		e = a.err(KindTimeout, fmt.Sprintf("the endpoint was silent for %v", a.cfg.IdleTimeout))
	default:
		e = a.err(KindReset, "the connection broke inside the reply")
		e.Err = err
	}
	e.Repeatable = true
	return e
}

// body is a response body that counts its bytes and does not wait for ever.
type body struct {
	rc     io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  harness.Timer // nil without a bound
	idle   time.Duration
	left   int64
	max    int64
	drain  bool // the reply is at its end: what follows is the transport's
}

// drainTime is how long Close waits for the end of a body after [DONE].
const drainTime = 50 * time.Millisecond

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, dialect.TooLongBody(b.max)
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
