// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package anthropic asks models over Anthropic's Messages API.
//
//	client := anthropic.New(anthropic.Config{BaseURL: "https://api.anthropic.com", APIKey: key})
//	for event, err := range client.Generate(ctx, &model.Request{Model: "claude-sonnet-4-5", Messages: msgs}) {
//		...
//	}
//
// System messages become the system prompt, and the results of the calls of one
// reply become one message. Thoughts with their signatures, hidden thoughts and
// the work of the provider's own tools are kept in the Extra of a message and go
// back as they came. Finish reasons are those of [model.Done]: end_turn is stop,
// tool_use is tool_calls, max_tokens is length, refusal is content_filter.
//
// See https://docs.claude.com/en/api/messages.
package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/provider"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// RetryPolicy says when a request is repeated, and how long the waits are.
type RetryPolicy = retry.Policy

// Version is the version of the API, sent as anthropic-version.
const Version = "2023-06-01"

// Config says where the endpoint is and how to treat it. Only BaseURL is
// required.
type Config struct {
	// BaseURL is that of the endpoint, such as https://api.anthropic.com. Where
	// it does not end in a version, /v1 is added.
	BaseURL string
	// APIKey is sent as x-api-key. Empty sends none.
	APIKey string
	// Header fields to add to every request, such as anthropic-beta. Nil means
	// none.
	Header http.Header
	// MaxTokens bounds a reply whose request does not say how long it may be:
	// the API wants a bound. 0 means 8192.
	MaxTokens int
	// Transport carries the requests. Nil means [http.DefaultTransport].
	Transport http.RoundTripper
	// Retry says when a request is made again. The zero Policy means up to
	// three attempts.
	Retry RetryPolicy
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
}

// Client is a [model.Model] on one endpoint.
type Client struct{ cfg Config }

// New makes a client. It does not connect.
func New(cfg Config) *Client {
	cfg.Header = cfg.Header.Clone()
	if cfg.Header == nil {
		cfg.Header = http.Header{}
	}
	const version = "Anthropic-Version"
	cfg.Header.Set(version, cmp.Or(cfg.Header.Get(version), Version))
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, 8192)
	return &Client{cfg: cfg}
}

// Generate implements [model.Model].
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return provider.Endpoint{
		Dialect: messages.Dialect, Write: c.write, Version: "/v1",
		BaseURL: c.cfg.BaseURL, APIKey: c.cfg.APIKey, Header: c.cfg.Header, Transport: c.cfg.Transport,
		Retry: c.cfg.Retry, Clock: c.cfg.Clock, IdleTimeout: c.cfg.IdleTimeout,
		MaxBodyBytes: c.cfg.MaxBodyBytes, MaxEventBytes: c.cfg.MaxEventBytes, MaxArgumentBytes: c.cfg.MaxArgumentBytes,
	}.Generate(ctx, req)
}
