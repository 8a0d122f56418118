// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/retry"
)

// maxExcerpt bounds what an error keeps of a body that was not understood.
const maxExcerpt = 4 << 10

var (
	// filtered is what endpoints say that have no code for it: Anthropic ("Output
	// blocked by content filtering policy"), Azure ("content management policy").
	filtered = pattern(`(?i)\bcontent (filter|filtering|management) policy\b`)
	// badKey is what Google says of a key, with a status of 400.
	badKey = pattern(`(?i)\bAPI key (not valid|expired)\b`)
	// unpaid is what Anthropic says of an account without money.
	unpaid = pattern(`(?i)\bcredit balance is too low\b`)
)

// failure makes the typed error of an error object. status is that of the
// response; an error inside a reply that began with 200 has its own, or none.
func (a *attempt) failure(status int, w dialect.ErrorObject, body []byte) *Error {
	e := a.err("", w.Message)
	e.Status, e.Type, e.Code, e.Param = status, w.Type, w.Code, w.Param
	if status < 300 {
		status, e.Status = w.Status, w.Status
	}
	e.Kind = kindOfBody(status, w, body)
	switch e.Kind {
	case KindMiss, KindScript, KindQuota, KindContextOverflow, KindContentFilter:
	case KindRateLimit, KindServer:
		e.Repeatable = status == 0 || retry.Repeatable(status, a.header)
	default:
		e.Repeatable = status != 0 && retry.Repeatable(status, a.header)
	}
	e.RetryAfter = retry.Asked(a.header, body, a.cfg.Clock.Now())
	if w.Message == "" {
		e.Message = fmt.Sprintf("%s with %s", http.StatusText(status), dialect.Describe(body))
		e.Body = bytes.Clone(body[:min(len(body), maxExcerpt)])
	}
	return e
}

// kindOfBody sorts an error whose body may be no error object: gateways say it
// in other forms.
func kindOfBody(status int, w dialect.ErrorObject, body []byte) ErrorKind {
	if w.Message == "" {
		w.Message = string(body[:min(len(body), maxExcerpt)])
	}
	return kindOf(status, w)
}

// kindOf sorts an error. What the request can never pass comes first; then
// the status decides, since types and codes are often wrong; then they do.
func kindOf(status int, w dialect.ErrorObject) ErrorKind {
	own := strings.ToLower(w.Type) // in capitals over Gemini's API
	words := strings.ToLower(w.Type + " " + w.Code)
	switch {
	case own == "rehearse_miss":
		return KindMiss
	case strings.HasPrefix(own, "rehearse_") && own != "rehearse_upstream": // that one is about a real endpoint
		return KindScript
	case status == http.StatusRequestEntityTooLarge, strings.Contains(words, "context_length"), overflows(status, w.Message):
		return KindContextOverflow
	case strings.Contains(words, "content_filter"), strings.Contains(words, "content_policy"), filtered().MatchString(w.Message):
		return KindContentFilter
	case status == http.StatusPaymentRequired, strings.Contains(words, "insufficient_quota"), strings.Contains(words, "billing"), unpaid().MatchString(w.Message):
		return KindQuota
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest && badKey().MatchString(w.Message):
		return KindAuth
	case status == http.StatusNotFound:
		return KindNotFound
	case status == http.StatusTooManyRequests:
		return KindRateLimit
	case status == http.StatusRequestTimeout:
		return KindTimeout
	case status >= 500:
		return KindServer
	case status >= 400:
		return KindBadRequest
	case status >= 300:
		return KindMalformed
	case strings.Contains(words, "rate_limit"), strings.Contains(words, "too_many"), strings.Contains(words, "throttl"), throttled().MatchString(w.Message):
		return KindRateLimit
	case strings.Contains(words, "auth"), strings.Contains(words, "permission"):
		return KindAuth
	case strings.Contains(words, "not_found"):
		return KindNotFound
	case strings.Contains(words, "invalid_request"), strings.Contains(words, "invalid_argument"):
		return KindBadRequest
	}
	return KindServer
}
