// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package gemini asks models over Google's generateContent API.
//
//	client := gemini.New(gemini.Config{BaseURL: "https://generativelanguage.googleapis.com", APIKey: key})
//	for event, err := range client.Generate(ctx, &model.Request{Model: "gemini-2.5-flash", Messages: msgs}) {
//		...
//	}
//
// System messages become the system instruction. Each call of a reply is
// answered in the order of the calls. The signatures of thoughts are kept in the
// Extra of a call or of a message and go back in the parts in which they came.
//
// Schemas are written in the part of OpenAPI's schema language that the API
// takes. References are resolved; a type beside null is nullable; oneOf becomes
// anyOf. A key that the API does not take is left out, and a note of the first
// reply names it. A schema with values of any type, or objects of any members, cannot be
// written so: that tool is declared with parametersJsonSchema.
//
// Finish reasons are those of [model.Done]: STOP is stop, or tool_calls beside
// calls, MAX_TOKENS is length, and SAFETY and its kin are content_filter.
//
// See https://ai.google.dev/api/generate-content.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/provider"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// RetryPolicy says when a request is repeated, and how long the waits are.
type RetryPolicy = retry.Policy

// Config says where the endpoint is and how to treat it. Only BaseURL is
// required.
type Config struct {
	// BaseURL is that of the endpoint, such as
	// https://generativelanguage.googleapis.com. Where it does not end in a
	// version, /v1beta is added.
	BaseURL string
	// APIKey is sent as x-goog-api-key. Empty sends none.
	APIKey string
	// Header fields to add to every request. Nil means none.
	Header http.Header
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
type Client struct {
	cfg Config

	mu   sync.Mutex
	told map[string]bool // what was noted of schemas
}

// New makes a client. It does not connect.
func New(cfg Config) *Client {
	cfg.Header = cfg.Header.Clone()
	return &Client{cfg: cfg, told: map[string]bool{}}
}

// Generate implements [model.Model].
func (c *Client) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return provider.Endpoint{
		Dialect: gemini.Dialect, Write: c.write, Version: "/v1beta", Nameless: true,
		BaseURL: c.cfg.BaseURL, APIKey: c.cfg.APIKey, Header: c.cfg.Header, Transport: c.cfg.Transport,
		Retry: c.cfg.Retry, Clock: c.cfg.Clock, IdleTimeout: c.cfg.IdleTimeout,
		MaxBodyBytes: c.cfg.MaxBodyBytes, MaxEventBytes: c.cfg.MaxEventBytes, MaxArgumentBytes: c.cfg.MaxArgumentBytes,
	}.Generate(ctx, req)
}

// tell reports whether a note is new to the users of this client.
func (c *Client) tell(note string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.told[note]
	c.told[note] = true
	return !was
}
