// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// endpoint is where requests go and how they are treated.
type endpoint struct {
	Config
	dialect *dialect.Dialect
	// write writes a request. Its error is of the kind invalid.
	write func(*Request) (*outgoing, error)
	// version is put behind a base URL that has none, such as /v1beta. Empty
	// takes the base URL as it is.
	version string
	// nameless says that it is usual for calls to come without ids: nothing is
	// noted of those that are given one.
	nameless bool
}

// outgoing is a request as it is sent.
type outgoing struct {
	// Path is what follows the version, such as /chat/completions.
	Path   string
	Body   []byte
	Stream bool
	Notes  []string // of what was left out
}

// orDefault is e with the defaults of what it leaves open.
func (e endpoint) orDefault() *endpoint {
	if e.Clock == nil {
		e.Clock = harness.SystemClock()
	}
	e.IdleTimeout = cmp.Or(e.IdleTimeout, 10*time.Minute)
	e.MaxBodyBytes = cmp.Or(e.MaxBodyBytes, 32<<20)
	e.MaxEventBytes = cmp.Or(e.MaxEventBytes, 8<<20)
	e.MaxArgumentBytes = cmp.Or(e.MaxArgumentBytes, 1<<20)
	if e.IdleTimeout < 0 {
		e.IdleTimeout = math.MaxInt64
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	if e.version != "" && !versioned(e.BaseURL) {
		e.BaseURL += e.version
	}
	return &e
}

// versioned reports whether a base URL ends in a version.
func versioned(base string) bool {
	last := base[strings.LastIndexByte(base, '/')+1:]
	return last == "v1" || last == "v1beta" || last == "v1alpha"
}

// limits are what the reader of replies is bounded by.
func (e *endpoint) limits() dialect.Limits {
	return dialect.Limits{Body: e.MaxBodyBytes, Event: e.MaxEventBytes, Arguments: e.MaxArgumentBytes}
}

// Generate implements [Model].
func (c *Client) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		out, err := c.endpoint.write(req)
		if err == nil {
			err = checkURL(c.endpoint.BaseURL)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		c.endpoint.orDefault().generate(ctx, req, out, yield)
	}
}

func (e *endpoint) generate(ctx context.Context, req *Request, out *outgoing, yield func(Event, error) bool) {
	for attempts := e.Retry.Start(); ; {
		a := &attempt{cfg: e, out: out, reader: dialect.NewReader(e.dialect, e.limits()), before: req.Messages}
		err := a.run(ctx, yield)
		if err == nil {
			return
		}
		made := attempts.Made()
		err = finalError(ctx, err, req, made)
		var failed *Error
		if !errors.As(err, &failed) || !failed.Repeatable {
			yield(nil, err)
			return
		}
		wait, again := attempts.Next(failed.RetryAfter)
		if !again {
			if most, tooLong := attempts.TooLong(failed.RetryAfter); tooLong {
				failed.Message = strings.TrimPrefix(fmt.Sprintf("%s; it asks to wait %v, and %v is the most that is waited", failed.Message, failed.RetryAfter, most), "; ")
			}
			yield(nil, err)
			return
		}
		if !yield(Withdrawn{Attempt: made, Err: err, Wait: wait, Text: a.reader.Text()}, nil) {
			return
		}
		if err := e.Clock.Sleep(ctx, wait); err != nil {
			yield(nil, finalError(ctx, err, req, made))
			return
		}
	}
}

// checkURL finds a base URL that no attempt can reach.
func checkURL(base string) error {
	if _, ok := prose.WholeURL(base); ok {
		return nil
	}
	_, err := url.Parse(base) // says why, where it is no URL at all
	return &Error{Kind: KindInvalid, Err: err, Message: fmt.Sprintf("base URL %q is not an http or https URL", base)}
}

// finalError makes an error of what ended an attempt. The end of ctx is no
// fault of the endpoint's.
func finalError(ctx context.Context, err error, req *Request, made int) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking model %q: %w", req.Model, context.Cause(ctx))
	}
	var e *Error
	if errors.As(err, &e) {
		e.Attempts = made
	}
	return err
}

// run makes the attempt. It returns nil when the reply was delivered, and
// also when yield wants no more of it.
func (a *attempt) run(ctx context.Context, yield func(Event, error) bool) error {
	if err := a.send(ctx); err != nil {
		return err
	}
	defer a.body.Close()
	for {
		doc, err := a.next()
		if err != nil {
			return a.finish(err, yield)
		}
		deltas, err := a.reader.Add(a.reply, doc)
		for _, d := range deltas {
			if err == nil && !yield(eventOf(d), nil) {
				return nil
			}
		}
		if err != nil {
			return a.readError(err)
		}
		if a.reader.Over(a.reply) {
			a.body.drain = true
			return a.finish(io.EOF, yield)
		}
	}
}

// finish reports the reply that ended with err.
func (a *attempt) finish(err error, yield func(Event, error) bool) error {
	done, err := a.end(err)
	if err == nil {
		yield(done, nil)
	}
	return err
}

// eventOf is what a piece of a reply is to the user of a model.
func eventOf(d dialect.Delta) Event {
	switch d.Kind {
	case dialect.ReasoningDelta:
		return ReasoningDelta{Text: d.Text}
	case dialect.CallDelta:
		return CallDelta{Call: d.Call, ID: d.ID, Name: d.Name, Arguments: d.Text}
	}
	return TextDelta{Text: d.Text}
}

// end decides what the end of a reply makes of it: done, or cut off. err is
// io.EOF when it ended in order.
func (a *attempt) end(err error) (Event, error) {
	if f := (*dialect.Fault)(nil); !errors.Is(err, io.EOF) && !errors.As(err, &f) {
		err = a.readError(err)
	}
	notes, err := a.reader.End(a.reply, err, a.cfg.OpenEnd)
	if err != nil {
		return nil, a.lacking(err)
	}
	reply := a.reader.Reply()
	named, err := a.nameCalls(&reply.Message, a.before)
	if err != nil {
		return nil, a.lacking(err)
	}
	notes = append(notes, named...)
	return Done{
		Message:      reply.Message,
		FinishReason: reply.Finish,
		Usage:        reply.Usage,
		Model:        reply.Model,
		ID:           reply.ID,
		RequestID:    a.requestID(),
		Notes:        slices.Concat(a.out.Notes, notes),
	}, nil
}

// lacking is the error of a reply that can be read and is none. Its status
// says nothing of that.
func (a *attempt) lacking(err error) error {
	f := (*dialect.Fault)(nil)
	if !errors.As(err, &f) {
		return err
	}
	e := a.faulty(f)
	if f.Object == nil {
		e.Status = 0
	}
	return e
}

// nameCalls gives the calls of a reply that have no id, or one that another has
// or that the endpoint would not take back, an id of their own; said are the
// messages before, whose ids of calls are taken. It returns what to report.
func (a *attempt) nameCalls(m *harness.Message, said []harness.Message) (notes []string, err error) {
	taken := map[string]bool{"": true}
	for _, before := range said {
		for _, c := range before.Calls {
			taken[c.ID] = true
		}
	}
	own := map[string]bool{}
	for i := range m.Calls {
		c := &m.Calls[i]
		if c.Name == "" {
			return nil, &dialect.Fault{Kind: dialect.Malformed, Message: fmt.Sprintf("tool call %d of the reply has no name", i+1)}
		}
		old := c.ID
		if back := a.cfg.dialect.BackID; back != nil && old != "" {
			c.ID = back(old)
		}
		if c.ID == "" || own[c.ID] {
			for n := len(taken) - 1; taken[c.ID]; n++ {
				c.ID = fmt.Sprintf("call_%d", n)
			}
			if old == "" && a.cfg.nameless {
				own[c.ID], taken[c.ID] = true, true
				continue
			}
		}
		if c.ID != old {
			notes = append(notes, fmt.Sprintf("call of %s came with the id %q and was given %q", c.Name, old, c.ID))
		}
		own[c.ID], taken[c.ID] = true, true
	}
	return notes, nil
}
