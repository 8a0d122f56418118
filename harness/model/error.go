// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"
	"time"
)

// ErrorKind says what kind of thing went wrong, whatever the provider calls
// it.
type ErrorKind string

// The kinds.
const (
	KindRateLimit       ErrorKind = "rate_limit"       // too many requests for now
	KindQuota           ErrorKind = "quota"            // paid or granted amount used up
	KindContextOverflow ErrorKind = "context_overflow" // the request is too long for the model
	KindContentFilter   ErrorKind = "content_filter"   // the endpoint's filter refused
	KindAuth            ErrorKind = "auth"             // key missing, wrong or not allowed
	KindNotFound        ErrorKind = "not_found"        // no such model or path
	KindBadRequest      ErrorKind = "bad_request"      // the endpoint will not take the request
	KindInvalid         ErrorKind = "invalid"          // the request was not sent: it cannot be said as asked
	KindServer          ErrorKind = "server"           // the endpoint broke
	KindConnection      ErrorKind = "connection"       // no reply at all
	KindTimeout         ErrorKind = "timeout"          // silence for too long
	KindCutStream       ErrorKind = "cut_stream"       // the reply ended in order, but before its end
	KindReset           ErrorKind = "reset"            // the connection broke inside the reply
	KindMalformed       ErrorKind = "malformed"        // the reply is not what the protocol says
	KindEmpty           ErrorKind = "empty"            // a reply in good order that holds no answer
	KindTooLarge        ErrorKind = "too_large"        // the reply passed a limit of the client
	KindCircuitOpen     ErrorKind = "circuit_open"     // not asked: the endpoint has failed again and again
	KindMiss            ErrorKind = "miss"             // a mock has nothing scripted for the request
	KindScript          ErrorKind = "script"           // a mock's script is wrong
)

// Error is what an endpoint, or the way to it, did wrong.
type Error struct {
	Kind   ErrorKind
	Status int // HTTP status; 0 when there was none or the error came inside a stream
	// Type, Code and Param are the endpoint's own words, where it has any.
	Type  string
	Code  string
	Param string
	// Message is the endpoint's message, whole, or ours where it gave none.
	Message string
	// RetryAfter is what the endpoint asks to wait; 0 when it does not ask.
	RetryAfter time.Duration
	RequestID  string
	// Repeatable says that the same request may well succeed later.
	Repeatable bool
	// Attempts made in all, this one included; 0 when not sent.
	Attempts int
	// Body is the beginning of a reply that was not understood.
	Body []byte
	// Err is the cause below, where there is one.
	Err error
}

// Error names the kind, the status, the message and the number of attempts.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (after %d attempts)", e.Attempts)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
