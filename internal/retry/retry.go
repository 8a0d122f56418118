// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package retry decides whether and when a request to a model endpoint is
// made again. It only decides: the caller makes the request, waits by its own
// clock, and so a test can wait for nothing.
//
//	attempts := retry.Policy{}.Start()
//	for {
//		err := try()
//		wait, again := attempts.Next(askedToWait)
//		if err == nil || !repeatable || !again {
//			return err
//		}
//		clock.Sleep(ctx, wait)
//	}
//
// A request to a model changes nothing at the endpoint, so it is safe to
// repeat whatever became of the first one. A tool call is not: nothing here
// repeats one.
package retry

import (
	"cmp"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy says how often and how patiently to try. The zero Policy is usable.
type Policy struct {
	// MaxAttempts counts the first attempt too. 0 means 3; 1 never repeats.
	MaxAttempts int
	// Initial is the wait before the second attempt. 0 means 500ms.
	Initial time.Duration
	// Max bounds a wait that the endpoint did not ask for. 0 means 30s.
	Max time.Duration
	// Multiplier makes each wait longer than the one before. 0 means 2.
	Multiplier float64
	// Jitter spreads a wait by this share of it, 0.5 being half up or down.
	// 0 means 0.2; a negative value means none.
	Jitter float64
	// MaxAsked is the longest wait to grant an endpoint that asks for one
	// (Retry-After); a longer one ends the attempts. 0 means 2 minutes.
	MaxAsked time.Duration
}

// Attempts counts the attempts at one request. It is not safe for use by
// several goroutines.
type Attempts struct {
	policy  Policy
	made    int
	backoff *backoff.ExponentialBackOff
}

// Start begins counting with the first attempt.
func (p Policy) Start() *Attempts {
	p.MaxAttempts = cmp.Or(p.MaxAttempts, 3)
	p.Initial = cmp.Or(p.Initial, 500*time.Millisecond)
	p.Max = cmp.Or(p.Max, 30*time.Second)
	p.Multiplier = cmp.Or(p.Multiplier, 2)
	p.Jitter = max(0, cmp.Or(p.Jitter, 0.2))
	p.MaxAsked = cmp.Or(p.MaxAsked, 2*time.Minute)
	b := &backoff.ExponentialBackOff{
		InitialInterval:     p.Initial,
		RandomizationFactor: p.Jitter,
		Multiplier:          p.Multiplier,
		MaxInterval:         p.Max,
	}
	return &Attempts{policy: p, made: 1, backoff: b}
}

// Made returns the number of attempts so far, the running one included.
func (a *Attempts) Made() int { return a.made }

// TooLong reports whether the endpoint asks for more patience than the policy
// has, and how much that is.
func (a *Attempts) TooLong(asked time.Duration) (most time.Duration, tooLong bool) {
	return a.policy.MaxAsked, asked > a.policy.MaxAsked
}

// Next says how long to wait before the next attempt, which it counts; asked
// is what the endpoint asked for, zero if it did not. No further attempt
// is to be made when ok is false: the attempts are used up, or the endpoint
// asks for more patience than the policy has.
func (a *Attempts) Next(asked time.Duration) (wait time.Duration, ok bool) {
	if a.made >= a.policy.MaxAttempts || asked > a.policy.MaxAsked {
		return 0, false
	}
	a.made++
	wait = a.backoff.NextBackOff()
	if asked > 0 {
		wait = asked
	}
	return wait, true
}

// retryDelay is how Google asks to wait, in the details of an error.
var retryDelay = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"retryDelay"\s*:\s*"(\d{1,7}(?:\.\d+)?)s"`)
})

// Asked reads what an error asks to wait: in its header, see [After], or else in
// its body.
func Asked(h http.Header, body []byte, now time.Time) time.Duration {
	if d := After(h, now); d > 0 {
		return d
	}
	if m := retryDelay().FindSubmatch(body); m != nil {
		d, _ := number(string(m[1]), time.Second)
		return d
	}
	return 0
}

// After reads what a response asks to wait: retry-after-ms, or Retry-After as
// seconds or as a date, compared with now. It returns 0 when the response asks
// for nothing, or for something that is no time.
func After(h http.Header, now time.Time) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := number(v, time.Second); ok {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// number reads a decimal count of units, fractions included; inf is none. What
// would overflow becomes the longest duration.
func number(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	f *= float64(unit)
	if f >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(f), true
}

// Repeatable reports whether a response with this status and header is worth
// another attempt. The header x-should-retry, where there is one, decides.
func Repeatable(status int, h http.Header) bool {
	switch h.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}
