// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/retry"
)

// maxExcerpt bounds what an error keeps of a reply that was not understood.
const maxExcerpt = 4 << 10

// wireError is an error object, in whichever of its many forms.
type wireError struct {
	typ, code, param, message string
	status                    int // where the object itself has one
}

// parseError looks for an error in a JSON document: an error object or text
// under "error" wherever it stands, a "detail", Anthropic's and Google's
// envelopes, or a bare object that says it is an error. A document with
// choices is one only if it also has an "error".
func parseError(data []byte) (wireError, bool) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return wireError{}, false
		}
		data = list[0]
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(data, &doc) != nil {
		return wireError{}, false
	}
	if raw, ok := doc["error"]; ok && !isBlank(raw) {
		w := errorObject(raw)
		w.status = firstStatus(w.status, doc["status"], doc["status_code"])
		return w, true
	}
	if _, ok := doc["choices"]; ok {
		return wireError{}, false
	}
	if raw, ok := doc["detail"]; ok && !isBlank(raw) {
		w := errorObject(raw)
		w.status = firstStatus(w.status, doc["status"], doc["status_code"])
		return w, true
	}
	if lenient(doc["object"]) == "error" || lenient(doc["type"]) == "error" || doc["message"] != nil {
		return errorObject(data), true
	}
	return wireError{}, false
}

func isBlank(raw json.RawMessage) bool {
	switch string(raw) {
	case "null", "false", `""`, "{}", "[]":
		return true
	}
	return false
}

// errorObject reads the value of "error": an object, a text, or a list of
// complaints as FastAPI makes them.
func errorObject(raw json.RawMessage) wireError {
	switch raw[0] {
	case '{':
		var doc map[string]json.RawMessage
		_ = json.Unmarshal(raw, &doc)
		w := wireError{
			typ:     lenient(doc["type"]),
			code:    lenient(doc["code"]),
			param:   lenient(doc["param"]),
			message: lenient(doc["message"]),
		}
		w.status = firstStatus(0, doc["code"], doc["status"], doc["status_code"])
		if w.typ == "" {
			w.typ = lenient(doc["status"]) // Google: INVALID_ARGUMENT
		}
		if w.message == "" {
			w.message = lenient(doc["detail"])
		}
		if w.message == "" {
			w.message = lenient(raw)
		}
		return w
	case '[':
		var list []struct {
			Msg string `json:"msg"`
			Loc []any  `json:"loc"`
		}
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0].Msg != "" {
			var says []string
			for _, c := range list {
				says = append(says, strings.TrimSpace(fmt.Sprintln(c.Loc...))+": "+c.Msg)
			}
			return wireError{message: strings.Join(says, "; ")}
		}
	}
	return wireError{message: lenient(raw)}
}

// lenient returns a JSON string's text, or any other value as it is spelled.
func lenient(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var t text
	if raw[0] == '[' || t.UnmarshalJSON(raw) != nil {
		return string(raw)
	}
	return toValid(string(t))
}

// firstStatus returns the first HTTP error status among have and the values.
func firstStatus(have int, values ...json.RawMessage) int {
	for _, v := range values {
		if have >= 400 && have < 600 {
			return have
		}
		have, _ = strconv.Atoi(lenient(v))
	}
	if have < 400 || have > 599 {
		return 0
	}
	return have
}

// failure makes the typed error of an error object. status is that of the
// response; an error inside a reply that began with 200 has its own, or none.
func (x *exchange) failure(status int, w wireError, body []byte) *model.Error {
	e := x.err("", w.message)
	e.Status, e.Type, e.Code, e.Param = status, w.typ, w.code, w.param
	if status < 300 {
		status, e.Status = w.status, w.status
	}
	e.Kind = kindOf(status, w)
	switch e.Kind {
	case model.KindMiss, model.KindScript, model.KindQuota, model.KindContextOverflow, model.KindContentFilter:
	case model.KindRateLimit, model.KindServer:
		e.Repeatable = status == 0 || retry.Repeatable(status, x.header)
	default:
		e.Repeatable = status != 0 && retry.Repeatable(status, x.header)
	}
	if w.message == "" {
		e.Message = fmt.Sprintf("%s with %s", http.StatusText(status), describe(body))
		e.Body = excerpt(body)
	}
	return e
}

// kindOf sorts an error. What the request can never pass comes first; then
// the status decides, since types and codes are often wrong; then they do.
func kindOf(status int, w wireError) model.ErrorKind {
	words := strings.ToLower(w.typ + " " + w.code)
	switch {
	case w.typ == "rehearse_miss":
		return model.KindMiss
	case strings.HasPrefix(w.typ, "rehearse_") && w.typ != "rehearse_upstream": // that one tells of a real endpoint
		return model.KindScript
	case status == http.StatusRequestEntityTooLarge, strings.Contains(words, "context_length"), overflow.MatchString(w.message):
		return model.KindContextOverflow
	case strings.Contains(words, "content_filter"), strings.Contains(words, "content_policy"):
		return model.KindContentFilter
	case status == http.StatusPaymentRequired, strings.Contains(words, "insufficient_quota"), strings.Contains(words, "billing"):
		return model.KindQuota
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.KindAuth
	case status == http.StatusNotFound:
		return model.KindNotFound
	case status == http.StatusTooManyRequests:
		return model.KindRateLimit
	case status == http.StatusRequestTimeout:
		return model.KindTimeout
	case status >= 500:
		return model.KindServer
	case status >= 400:
		return model.KindBadRequest
	case status >= 300:
		return model.KindMalformed
	case strings.Contains(words, "rate_limit"), strings.Contains(words, "too_many"):
		return model.KindRateLimit
	case strings.Contains(words, "auth"), strings.Contains(words, "permission"):
		return model.KindAuth
	case strings.Contains(words, "not_found"):
		return model.KindNotFound
	case strings.Contains(words, "invalid_request"), strings.Contains(words, "invalid_argument"):
		return model.KindBadRequest
	}
	return model.KindServer
}

// overflow recognises a request that is too long by what endpoints say of it
// when they have no code for it.
var overflow = regexp.MustCompile(`(?i)maximum context length|context[ _](length|window|size)[^.]{0,40}exceed|exceed[^.]{0,40}context[ _](length|window|size)|(prompt|input) is too long|input token count[^.]{0,40}exceeds|too many (input )?tokens|request too large for|tokens must be reduced`)

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// describe says for a person what a body is.
func describe(body []byte) string {
	all := len(body)
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case len(body) == 0 && all > 0:
		return fmt.Sprintf("a body that begins with %d bytes of white space", all)
	case len(body) == 0:
		return "an empty body"
	case body[0] == '<':
		if m := htmlTitle.FindSubmatch(body); m != nil {
			return fmt.Sprintf("an HTML page, %q", bytes.TrimSpace(m[1]))
		}
		return fmt.Sprintf("an HTML page that begins with %q", cut(body, 80))
	case json.Valid(body):
		return fmt.Sprintf("a body that is no error object: %s", cut(body, 200))
	}
	return fmt.Sprintf("a body that is no JSON: %q", cut(body, 200))
}

func cut(b []byte, n int) string {
	if len(b) <= n {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:n]), "") + "..."
}

// excerpt copies the beginning of a body.
func excerpt(b []byte) []byte { return bytes.Clone(b[:min(len(b), maxExcerpt)]) }
