// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package openai asks models over the OpenAI chat completions protocol, and
// over its many near relatives, by way of go-openai.
//
//	client := openai.New(openai.Config{BaseURL: "http://localhost:8000/v1"})
//	for event, err := range client.Generate(ctx, &model.Request{Model: "gpt-5", Messages: msgs}) {
//		...
//	}
//
// Everything on the wire passes through one place of ours. On the way out it
// adds what go-openai's structs cannot say: a temperature of zero, an empty
// tool result. On the way back the status and the first bytes of a reply
// decide what it is, whatever was asked for: a stream, a JSON document, an
// HTML page, nothing. A reply ends as the model's answer or as a
// [*model.Error] that says what was wrong with it, never as an empty answer.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	oai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/retry"
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
	cfg.IdleTimeout = defaultTo(cfg.IdleTimeout, 10*time.Minute)
	cfg.MaxBodyBytes = defaultTo(cfg.MaxBodyBytes, 32<<20)
	cfg.MaxEventBytes = defaultTo(cfg.MaxEventBytes, 8<<20)
	cfg.MaxArgumentBytes = defaultTo(cfg.MaxArgumentBytes, 1<<20)
	if cfg.IdleTimeout < 0 {
		cfg.IdleTimeout = math.MaxInt64
	}
	return &Client{cfg: cfg, badURL: checkURL(cfg.BaseURL)}
}

func defaultTo[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
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
			a := &attempt{
				x:    &exchange{cfg: &c.cfg, out: out},
				asm:  assembler{maxArguments: c.cfg.MaxArgumentBytes},
				said: req.Messages,
			}
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
			if !yield(model.Withdrawn{Attempt: made, Err: err, Wait: wait, Text: a.asm.text.sb.String()}, nil) {
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
	if !errors.As(err, &e) {
		return &model.Error{Kind: model.KindInvalid, Message: unsent(req), Err: err}
	}
	e.Attempts = made
	return e
}

// attempt is one request with its reply.
type attempt struct {
	x    *exchange
	asm  assembler
	said []harness.Message // before
}

// run makes the attempt. It returns nil when the reply was delivered, and
// also when yield wants no more of it.
func (a *attempt) run(ctx context.Context, yield func(model.Event, error) bool) error {
	config := oai.DefaultConfig(a.x.cfg.APIKey)
	config.BaseURL = a.x.cfg.BaseURL
	config.HTTPClient = a.x
	client := oai.NewClientWithConfig(config)
	if a.x.out.plain {
		if _, err := client.CreateChatCompletion(ctx, a.x.out.req); err != nil {
			return err
		}
	} else {
		stream, err := client.CreateChatCompletionStream(ctx, a.x.out.req)
		if err != nil {
			return err
		}
		defer stream.Close()
	}
	defer a.x.body.Close()
	var ch chunk
	for {
		raw, err := a.x.next()
		if err != nil {
			done, err := a.end(err)
			if err == nil {
				yield(done, nil)
			}
			return err
		}
		ch = chunk{}
		if err := json.Unmarshal(raw, &ch); err != nil {
			return a.x.badEvent(err, raw)
		}
		events, err := a.asm.add(&ch)
		if err != nil {
			return err
		}
		for _, event := range events {
			if !yield(event, nil) {
				return nil
			}
		}
	}
}

// end decides what the end of a reply makes of it: done, or cut off. err is
// io.EOF when it ended in order.
func (a *attempt) end(err error) (model.Event, error) {
	inOrder := errors.Is(err, io.EOF)
	asm := &a.asm
	switch {
	case inOrder && !asm.answered:
		e := a.x.err(model.KindEmpty, "the reply has no choices with a message")
		e.Repeatable = true
		return nil, e
	case asm.finish == "error":
		e := a.x.err(model.KindServer, `the endpoint gave up the reply: finish_reason "error"`)
		e.Repeatable = true
		return nil, e
	case asm.finish != "":
		if !inOrder {
			var e *model.Error
			if errors.As(err, &e) && e.Kind != model.KindReset && e.Kind != model.KindTimeout && e.Kind != model.KindCutStream {
				return nil, err
			}
			asm.note("the stream broke after its finish_reason: %v", err)
		}
	case !inOrder:
		return nil, err
	case a.x.single, a.x.marked && asm.whole(), a.x.cfg.OpenEnd:
		asm.note("the reply has no finish_reason")
	default:
		e := a.x.err(model.KindCutStream, "the stream ends without a finish_reason: the reply is cut off")
		e.Repeatable = true
		return nil, e
	}
	m, err := asm.message(a.said)
	if err != nil {
		return nil, err
	}
	return model.Done{
		Message:      m,
		FinishReason: asm.finish,
		Usage:        asm.usage,
		Model:        asm.model,
		ID:           asm.id,
		RequestID:    a.x.requestID(),
		Notes:        append(a.x.out.notes[:len(a.x.out.notes):len(a.x.out.notes)], asm.notes...),
	}, nil
}
