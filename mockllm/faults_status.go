// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// errorAnswer is an answer in place of a reply.
type errorAnswer struct {
	status      int
	contentType string // empty is JSON
	body        []byte
}

// statusEffects are those of an HTTP answer in place of the reply.
func (m *Mock) statusEffects(f *Fault, form string) (effects, bool) {
	if f.Kind == fault.ContextOverflow {
		return m.overflowEffects(form), true
	}
	answer := func(x *exchange) *errorAnswer { return nil }
	switch f.Kind {
	case fault.HTTPStatus:
		answer = func(*exchange) *errorAnswer {
			a := &errorAnswer{status: cmp.Or(f.Status, http.StatusInternalServerError), body: []byte(f.Body)}
			if !json.Valid(a.body) {
				a.contentType = "text/plain; charset=utf-8"
			}
			return a
		}
	case fault.HTMLPage:
		answer = func(*exchange) *errorAnswer {
			status := cmp.Or(f.Status, http.StatusBadGateway)
			title := fmt.Sprintf("%d %s", status, http.StatusText(status))
			page := fmt.Sprintf("<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", title, title)
			return &errorAnswer{status: status, contentType: "text/html", body: []byte(cmp.Or(f.Body, page))}
		}
	case fault.EmptyBody:
		answer = func(*exchange) *errorAnswer { return &errorAnswer{status: cmp.Or(f.Status, http.StatusOK)} }
	case fault.StringError:
		answer = func(*exchange) *errorAnswer {
			text := cmp.Or(f.Body, `Upstream API error: 400 {"error":{"message":"Bad Request"}}`)
			return &errorAnswer{status: cmp.Or(f.Status, http.StatusBadRequest), body: []byte(`{"error":` + string(quote(text)) + `}`)}
		}
	case fault.DetailError:
		answer = func(*exchange) *errorAnswer {
			detail := cmp.Or(f.Body, `[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{}}]`)
			if !json.Valid([]byte(detail)) {
				detail = string(quote(detail))
			}
			return &errorAnswer{status: cmp.Or(f.Status, http.StatusUnprocessableEntity), body: []byte(`{"detail":` + detail + `}`)}
		}
	case fault.ErrorCompletion:
		answer = func(x *exchange) *errorAnswer {
			return &errorAnswer{status: cmp.Or(f.Status, http.StatusBadRequest), body: fmt.Appendf(nil,
				`{"id":"0123456789abcdef0123456789abcdef","object":"chat.completion","created":%d,"model":%s,"choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}`,
				epoch, quote(x.chat.Model()))}
		}
	default:
		refusal := refusalOf(f)
		if refusal == nil {
			return effects{}, false
		}
		answer = func(x *exchange) *errorAnswer {
			r := refusal(x.chat.Model())
			if f.Status != 0 {
				r.Status = f.Status
			}
			switch {
			case f.Body != "":
				return &errorAnswer{status: r.Status, body: []byte(f.Body)}
			case f.Kind == fault.Overloaded:
				return &errorAnswer{status: r.Status, body: []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}
			}
			return &errorAnswer{status: r.Status, body: m.errorBytes(x, r)}
		}
	}
	return effects{before: func(x *exchange) bool {
		m.answerError(x, f, form, answer(x))
		return true
	}}, true
}

// refusalOf returns the provider's error that a kind stands for; nil when it
// is none.
func refusalOf(f *Fault) func(model string) *dialect.Refusal {
	made := func(status int, typ, code, format string, args ...any) func(string) *dialect.Refusal {
		return func(string) *dialect.Refusal {
			return &dialect.Refusal{Status: status, Type: typ, Code: code, Message: fmt.Sprintf(format, args...)}
		}
	}
	const invalid = "invalid_request_error"
	switch f.Kind {
	case fault.RateLimit:
		return func(model string) *dialect.Refusal {
			text := fmt.Sprintf("Rate limit reached for %s on requests per min (RPM).", model)
			if f.RetryAfter > 0 {
				text += fmt.Sprintf(" Please try again in %s.", f.RetryAfter)
			}
			return &dialect.Refusal{Status: http.StatusTooManyRequests, Type: "requests", Code: "rate_limit_exceeded", Message: text}
		}
	case fault.Quota:
		return made(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
	case fault.Unauthorized:
		return made(http.StatusUnauthorized, invalid, "invalid_api_key", "Incorrect API key provided.")
	case fault.Forbidden:
		return made(http.StatusForbidden, "authentication_error", "permission_denied", "You are not allowed to use this model.")
	case fault.ModelNotFound:
		return func(model string) *dialect.Refusal {
			return &dialect.Refusal{
				Status: http.StatusNotFound, Type: invalid, Code: "model_not_found",
				Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model),
			}
		}
	case fault.BadRequest:
		return made(http.StatusBadRequest, invalid, "", "Invalid request.")
	case fault.RequestTimeout:
		return made(http.StatusRequestTimeout, invalid, "user_request_timeout", "Timed out reading request body. Try again, or use a smaller request size.")
	case fault.TooLarge:
		return made(http.StatusRequestEntityTooLarge, "request_too_large", "", "Request exceeds the maximum size")
	case fault.ServerError:
		return made(http.StatusInternalServerError, "server_error", "", "The server had an error while processing your request. Sorry about that!")
	case fault.Overloaded:
		return made(529, "overloaded_error", "", "Overloaded")
	case fault.ContentFilter:
		return made(http.StatusBadRequest, invalid, "content_filter", "The response was filtered due to the prompt triggering content management policy.")
	}
	return nil
}

// errorBytes is the error as profile and dialect write it.
func (m *Mock) errorBytes(x *exchange, r *dialect.Refusal) []byte {
	if x.proxied != nil && !m.profile.Behind() {
		return gatewayError(x.proxied.ask, r)
	}
	if b := m.envelope(x, r); b != nil {
		var out []byte
		for _, f := range b.Frames {
			out = append(out, f.Data...)
		}
		return out
	}
	return x.errorBody(r)
}

// answerError sends an answer in place of the reply.
func (m *Mock) answerError(x *exchange, f *Fault, form string, a *errorAnswer) {
	if x.caught(a) {
		return
	}
	x.status = a.status
	h := http.Header{"Content-Type": {cmp.Or(a.contentType, "application/json")}}
	if len(a.body) == 0 {
		delete(h, "Content-Type")
	}
	x.retryAfter = retryHeader(h, form, f.RetryAfter, m.now())
	m.record(x.entry, nil)
	m.send(x, &dialect.Body{Status: a.status, Header: h, Frames: []dialect.Frame{{Data: a.body, Kind: dialect.KindFault}}, Part: true})
}

// retryHeader asks the client to wait, in one of the ways that there are, and
// returns how long that is on the wire.
func retryHeader(h http.Header, form string, wait time.Duration, now time.Time) time.Duration {
	if wait <= 0 {
		return 0
	}
	seconds := (wait + time.Second - 1) / time.Second
	switch form {
	case "date":
		until := now.Add(wait + time.Second - 1).UTC().Truncate(time.Second)
		h.Set("Retry-After", until.Format(http.TimeFormat))
		return until.Sub(now)
	case "decimal":
		h.Set("Retry-After", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
		return wait
	case "seconds":
		h.Set("Retry-After", strconv.Itoa(int(seconds)))
		return seconds * time.Second
	case "ms":
	default:
		h.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	h.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
	return wait.Truncate(time.Millisecond)
}

// overflowEffects are those of a history that is too long, in each of its
// disguises.
func (m *Mock) overflowEffects(form string) effects {
	const window, tokens = 8192, 10061
	refusal := dialect.Invalid("messages", "context_length_exceeded",
		"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, tokens)
	refusal.Window, refusal.Tokens = window, tokens
	switch form {
	case "empty_200":
		return effects{reply: func(_ *exchange, r *dialect.Reply) { say(r, "", "stop") }}
	case "in_stream":
		return effects{body: func(x *exchange, b *dialect.Body) {
			errorInside(x, b, fault.At{Chunk: 1}, "object", `{"message":`+string(quote(refusal.Message))+`,"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`)
		}}
	case "rate_429":
		refusal = &dialect.Refusal{
			Status: http.StatusTooManyRequests, Type: "tokens", Code: "rate_limit_exceeded",
			Message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 51000. The input or output tokens must be reduced in order to run successfully.",
		}
	}
	return effects{before: func(x *exchange) bool {
		m.answerError(x, x.struckBy, "", &errorAnswer{status: refusal.Status, body: m.errorBytes(x, refusal)})
		return true
	}}
}
