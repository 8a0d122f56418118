// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"net/http"

	"github.com/rehearse-dev/rehearse/harness"
)

// Mock is a scripted model endpoint. It is safe for concurrent use.
type Mock struct {
	// URL is the base URL for OpenAI clients; it ends in /v1. It is set by
	// [NewServer] and [Host.Mount]; before, it is one that only
	// [Mock.Transport] reaches.
	URL string
	// Root is URL without /v1, where the journal is.
	Root string
}

// New returns a mock without a socket. It panics when the script cannot be
// played: Turns beside Replies, or arguments that are no JSON.
func New(script Script, opts *Options) *Mock { panic("TODO") }

// ServeHTTP answers POST /v1/chat/completions, GET /v1/models and
// /v1/models/{id}, GET /rehearse/journal and POST /rehearse/reset.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic("TODO") }

// Transport carries requests to the mock in memory, whatever their host.
func (m *Mock) Transport() http.RoundTripper { panic("TODO") }

// BeginTurn says that the runner plays turn n, from 1: requests that follow
// take their positions in that turn, whatever user texts they have. 0 goes
// back to finding the turn by the user texts.
func (m *Mock) BeginTurn(n int) { panic("TODO") }

// Journal returns what was asked and answered so far, in order of arrival.
func (m *Mock) Journal() []harness.Exchange { panic("TODO") }

// Remaining returns the positions of the replies that were never asked for,
// in script order.
func (m *Mock) Remaining() []harness.Position { panic("TODO") }

// Err returns the misses, refusals and script errors so far, joined; nil when
// there were none.
func (m *Mock) Err() error { panic("TODO") }

// Reset forgets the conversation and the journal.
func (m *Mock) Reset() { panic("TODO") }

// Close ends the replies still being paced and waits for their requests to
// end. Later requests are answered 503.
func (m *Mock) Close() { panic("TODO") }
