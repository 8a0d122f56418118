// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package openai asks models over the OpenAI chat completions protocol, and
// over its many near relatives.
//
//	client := openai.New(openai.Config{BaseURL: "http://localhost:8000/v1"})
//	for event, err := range client.Generate(ctx, &model.Request{Model: "gpt-5", Messages: msgs}) {
//		...
//	}
//
// A request says what it means: a temperature of zero and an empty tool result
// are sent. The status and the first bytes of a reply decide what it is,
// whatever was asked for: a stream, a JSON document, an HTML page, nothing. A
// reply ends as the model's answer or as a [*model.Error] that says what was
// wrong with it, never as an empty answer.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// Config says where the endpoint is and how to treat it. Only BaseURL is
// required.
type Config struct {
	// BaseURL ends in /v1 as a rule.
	BaseURL string
	// APIKey is sent as bearer token. Empty sends none.
	APIKey string
	// Header fields to add to every request. Nil means none.
	Header http.Header
	// Transport carries the requests. Nil means [http.DefaultTransport].
	Transport http.RoundTripper
	// Retry says when a request is made again. The zero Policy means up to
	// three attempts.
	Retry retry.Policy
	// Clock is what waits between attempts go by. Nil means
	// [harness.SystemClock].
	Clock harness.Clock
	// IdleTimeout is the longest silence of an endpoint, before its reply
	// and within. 0 means 10 minutes; a negative value means no bound.
	IdleTimeout time.Duration
	// MaxBodyBytes bounds a whole reply. 0 means 32 MiB.
	MaxBodyBytes int64
	// MaxEventBytes bounds one event of a stream. 0 means 8 MiB.
	MaxEventBytes int
	// MaxArgumentBytes bounds the argument text of one tool call. 0 means
	// 1 MiB.
	MaxArgumentBytes int
	// SendReasoning sends the reasoning of earlier replies back, as
	// reasoning_content: some endpoints want it, others refuse it.
	SendReasoning bool
	// OpenEnd accepts a stream that ends in order but without a
	// finish_reason, as argo-proxy 2 sends them. Without it such a stream
	// counts as cut off, since it looks the same, unless its usage and its
	// [DONE] came.
	OpenEnd bool
}

// Client is a [model.Model] on one endpoint.
type Client struct {
	cfg    Config
	badURL error
}

// New makes a client. It does not connect.
func New(cfg Config) *Client {
	cfg.Header = cfg.Header.Clone()
	if cfg.Clock == nil {
		cfg.Clock = harness.SystemClock()
	}
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 10*time.Minute)
	cfg.MaxBodyBytes = cmp.Or(cfg.MaxBodyBytes, 32<<20)
	cfg.MaxEventBytes = cmp.Or(cfg.MaxEventBytes, 8<<20)
	cfg.MaxArgumentBytes = cmp.Or(cfg.MaxArgumentBytes, 1<<20)
	if cfg.IdleTimeout < 0 {
		cfg.IdleTimeout = math.MaxInt64
	}
	return &Client{cfg: cfg, badURL: checkURL(cfg.BaseURL)}
}

// limits are what the reader of replies is bounded by.
func (c *Config) limits() dialect.Limits {
	return dialect.Limits{Body: c.MaxBodyBytes, Event: c.MaxEventBytes, Arguments: c.MaxArgumentBytes}
}

// Generate implements [model.Model].
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		out, err := c.prepare(req)
		if err == nil {
			err = c.badURL
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for attempts := c.cfg.Retry.Start(); ; {
			a := &attempt{cfg: &c.cfg, out: out, reader: dialect.NewReader(chat.Dialect, c.cfg.limits()), before: req.Messages}
			err := a.run(ctx, yield)
			if err == nil {
				return
			}
			made := attempts.Made()
			err = finalError(ctx, err, req, made)
			var e *model.Error
			if !errors.As(err, &e) || !e.Repeatable {
				yield(nil, err)
				return
			}
			wait, again := attempts.Next(e.RetryAfter)
			if !again {
				if most, tooLong := attempts.TooLong(e.RetryAfter); tooLong {
					e.Message = strings.TrimPrefix(fmt.Sprintf("%s; it asks to wait %v, and %v is the most that is waited", e.Message, e.RetryAfter, most), "; ")
				}
				yield(nil, err)
				return
			}
			if !yield(model.Withdrawn{Attempt: made, Err: err, Wait: wait, Text: a.reader.Text()}, nil) {
				return
			}
			if err := c.cfg.Clock.Sleep(ctx, wait); err != nil {
				yield(nil, finalError(ctx, err, req, made))
				return
			}
		}
	}
}

// checkURL finds a base URL that no attempt can reach.
func checkURL(base string) error {
	u, err := url.Parse(base)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	return &model.Error{Kind: model.KindInvalid, Err: err, Message: fmt.Sprintf("base URL %q is not an http or https URL", base)}
}

// finalError makes an error of what ended an attempt. The end of ctx is no
// fault of the endpoint's.
func finalError(ctx context.Context, err error, req *model.Request, made int) error {
	if ctx.Err() != nil {
		return fmt.Errorf("asking model %q: %w", req.Model, context.Cause(ctx))
	}
	var e *model.Error
	if errors.As(err, &e) {
		e.Attempts = made
	}
	return err
}

// run makes the attempt. It returns nil when the reply was delivered, and
// also when yield wants no more of it.
func (a *attempt) run(ctx context.Context, yield func(model.Event, error) bool) error {
	if err := a.send(ctx); err != nil {
		return err
	}
	defer a.body.Close()
	for {
		doc, err := a.next()
		if err != nil {
			done, err := a.end(err)
			if err == nil {
				yield(done, nil)
			}
			return err
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
	}
}

// eventOf is what a piece of a reply is to the user of a model.
func eventOf(d dialect.Delta) model.Event {
	switch d.Kind {
	case dialect.ReasoningDelta:
		return model.ReasoningDelta{Text: d.Text}
	case dialect.CallDelta:
		return model.CallDelta{Call: d.Call, ID: d.ID, Name: d.Name, Arguments: d.Text}
	}
	return model.TextDelta{Text: d.Text}
}

// end decides what the end of a reply makes of it: done, or cut off. err is
// io.EOF when it ended in order.
func (a *attempt) end(err error) (model.Event, error) {
	if f := (*dialect.Fault)(nil); !errors.Is(err, io.EOF) && !errors.As(err, &f) {
		err = a.readError(err)
	}
	notes, err := a.reader.End(a.reply, err, a.cfg.OpenEnd)
	if err != nil {
		return nil, a.lacking(err)
	}
	reply := a.reader.Reply()
	named, err := nameCalls(&reply.Message, a.before)
	if err != nil {
		return nil, a.lacking(err)
	}
	notes = append(notes, named...)
	return model.Done{
		Message:      reply.Message,
		FinishReason: reply.Finish,
		Usage:        reply.Usage,
		Model:        reply.Model,
		ID:           reply.ID,
		RequestID:    a.requestID(),
		Notes:        slices.Concat(a.out.notes, notes),
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

// nameCalls gives the calls of a reply that have no id, or one that another
// has, an id of their own; said are the messages before, whose ids of calls are
// taken. It returns what to report about them.
func nameCalls(m *harness.Message, said []harness.Message) (notes []string, err error) {
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
		if c.ID == "" || own[c.ID] {
			old := c.ID
			for n := len(taken) - 1; taken[c.ID]; n++ {
				c.ID = fmt.Sprintf("call_%d", n)
			}
			notes = append(notes, fmt.Sprintf("call of %s came with the id %q and was given %q", c.Name, old, c.ID))
		}
		own[c.ID], taken[c.ID] = true, true
	}
	return notes, nil
}
