// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// RetryPolicy says when a request is repeated, and how long the waits are.
type RetryPolicy = retry.Policy

// AnthropicVersion is the version of the Messages API, sent as
// anthropic-version where [Config.Header] has no other.
const AnthropicVersion = "2023-06-01"

// Config says where an endpoint is and how to treat it. Only BaseURL is
// required.
type Config struct {
	// BaseURL is where the paths of the API begin: for OpenAI's it ends in /v1
	// as a rule. For the others it is such as https://api.anthropic.com, and a
	// version is added where it ends in none: /v1, or /v1beta for Gemini's.
	BaseURL string
	// APIKey goes where the API wants it: a bearer token, x-api-key
	// (Anthropic), x-goog-api-key (Gemini). Empty sends none.
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
	// MaxTokens bounds the replies of models that must be told a bound when a
	// request has none: those of Anthropic's API, and Claude where a gateway
	// speaks chat completions for it. 0 means 8192 for the former; for the
	// latter it sends none, and the gateway has a default of its own.
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
	// reasoning_content: some endpoints want it, others refuse it. Chat
	// completions only.
	SendReasoning bool
	// OpenEnd accepts a stream that ends in order but without a
	// finish_reason, as argo-proxy 2 sends them. Without it such a stream
	// counts as cut off, since it looks the same, unless its usage and its
	// [DONE] came. Chat completions only.
	OpenEnd bool
}

// Client is a [Model] on one endpoint.
type Client struct {
	endpoint endpoint

	mu   sync.Mutex
	told map[string]bool // what was noted of schemas
}

// NewOpenAI makes a client of OpenAI's chat completions, and of its many near
// relatives. It does not connect.
//
// A request says what it means: a temperature of zero and an empty tool result
// are sent.
//
// See https://platform.openai.com/docs/api-reference/chat.
func NewOpenAI(cfg Config) *Client {
	c := newClient(cfg, chat.Dialect)
	c.endpoint.write = c.writeChat
	return c
}

// NewResponses makes a client of OpenAI's responses API. It does not connect.
//
// The client keeps the conversation: each request has all of it, and asks the
// endpoint to store nothing. Models that reason are asked to seal their
// reasoning (reasoning.encrypted_content), which is kept in the Extra of a
// message and goes back before the item that followed it. The API has no seed.
//
// See https://platform.openai.com/docs/api-reference/responses.
func NewResponses(cfg Config) *Client {
	c := newClient(cfg, responses.Dialect)
	c.endpoint.write = writeResponses
	return c
}

// NewAnthropic makes a client of Anthropic's Messages API. It does not connect.
//
// System messages become the system prompt, and the results of the calls of one
// reply become one message. Thoughts with their signatures, hidden thoughts and
// the work of the provider's own tools are kept in the Extra of a message and go
// back as they came. Finish reasons are those of [Done]: end_turn is stop,
// tool_use is tool_calls, max_tokens is length, refusal is content_filter.
//
// See https://docs.claude.com/en/api/messages.
func NewAnthropic(cfg Config) *Client {
	c := newClient(cfg, messages.Dialect)
	c.endpoint.write, c.endpoint.version = c.writeMessages, "/v1"
	const version = "Anthropic-Version"
	if c.endpoint.Header == nil {
		c.endpoint.Header = http.Header{}
	}
	c.endpoint.Header.Set(version, cmp.Or(c.endpoint.Header.Get(version), AnthropicVersion))
	c.endpoint.MaxTokens = cmp.Or(cfg.MaxTokens, 8192)
	return c
}

// NewGemini makes a client of Google's generateContent API. It does not
// connect.
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
// Finish reasons are those of [Done]: STOP is stop, or tool_calls beside
// calls, MAX_TOKENS is length, and SAFETY and its kin are content_filter.
//
// See https://ai.google.dev/api/generate-content.
func NewGemini(cfg Config) *Client {
	c := newClient(cfg, gemini.Dialect)
	c.endpoint.write, c.endpoint.version, c.endpoint.nameless = c.writeGemini, "/v1beta", true
	return c
}

func newClient(cfg Config, d *dialect.Dialect) *Client {
	cfg.Header = cfg.Header.Clone()
	cfg.OpenEnd = cfg.OpenEnd && d == chat.Dialect
	return &Client{endpoint: endpoint{Config: cfg, dialect: d}, told: map[string]bool{}}
}

// Provider is how the conventions of OpenTelemetry for generative AI name whose
// API is asked: openai, anthropic or gcp.gemini.
func (c *Client) Provider() string {
	switch c.endpoint.dialect {
	case messages.Dialect:
		return "anthropic"
	case gemini.Dialect:
		return "gcp.gemini"
	}
	return "openai"
}

// tell reports whether a note is new to the users of this client.
func (c *Client) tell(note string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.told[note]
	c.told[note] = true
	return !was
}
