// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package openai asks models over the OpenAI chat completions protocol, and
// over its many near relatives. [NewResponses] is a client of OpenAI's other
// API, responses.
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
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/provider"
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
	// MaxTokens bounds the replies of models that must be told a bound (Claude,
	// where a gateway speaks chat completions for it) when a request has none.
	// 0 sends none, and the endpoint has a default of its own.
	MaxTokens int
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
	cfg       Config
	responses bool
}

// New makes a client. It does not connect.
func New(cfg Config) *Client {
	cfg.Header = cfg.Header.Clone()
	return &Client{cfg: cfg}
}

// Generate implements [model.Model].
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	spoken, write, openEnd := chat.Dialect, c.prepare, c.cfg.OpenEnd
	if c.responses {
		spoken, write, openEnd = responses.Dialect, prepareResponses, false
	}
	return provider.Endpoint{
		Dialect: spoken, Write: write,
		BaseURL: c.cfg.BaseURL, APIKey: c.cfg.APIKey, Header: c.cfg.Header, Transport: c.cfg.Transport,
		Retry: c.cfg.Retry, Clock: c.cfg.Clock, IdleTimeout: c.cfg.IdleTimeout,
		MaxBodyBytes: c.cfg.MaxBodyBytes, MaxEventBytes: c.cfg.MaxEventBytes, MaxArgumentBytes: c.cfg.MaxArgumentBytes,
		OpenEnd: openEnd,
	}.Generate(ctx, req)
}
