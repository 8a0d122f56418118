// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
)

// effects are what a fault does to an answer, at each of the places where one
// can. A nil function does nothing there.
type effects struct {
	// before runs before anything is sent. With done, the exchange is over:
	// it has been recorded and answered, or never will be.
	before func(x *exchange) (done bool)
	// reply changes what is said, before it is rendered.
	reply func(x *exchange, r *llmwire.Reply)
	// body changes what is sent: status, headers, frames and what follows
	// them.
	body func(x *exchange, b *llmwire.Body)
}

// pickFault returns the fault that a request meets, nil for none, and counts
// it. s is its position; nil for asides and rules. m.mu is held.
func (m *Mock) pickFault(x *exchange, s *served) *Fault {
	if s == nil {
		return nil
	}
	f := s.script.fault(s.faulted)
	if f != nil {
		s.faulted++
	}
	return f
}

// effectsOf says what a fault does.
func (m *Mock) effectsOf(f *Fault) effects {
	return effects{before: func(x *exchange) bool {
		m.rateLimit(x, f)
		return true
	}}
}

// rateLimit plays the fault of that name.
func (m *Mock) rateLimit(x *exchange, f *Fault) {
	x.status, x.entry.fault, x.retryAfter = http.StatusTooManyRequests, string(f.Kind), f.RetryAfter
	m.record(x.entry, nil)
	text := fmt.Sprintf("Rate limit reached for %s on requests per min (RPM).", x.chat.Model())
	if f.RetryAfter > 0 {
		text += fmt.Sprintf(" Please try again in %s.", f.RetryAfter)
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		x.w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		x.w.Header().Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
	}
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "requests", Code: "rate_limit_exceeded", Message: text})
}
