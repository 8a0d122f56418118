// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// FaultKind sorts the reasons for which a body holds no whole reply.
type FaultKind int

// The kinds of fault.
const (
	Empty     FaultKind = iota + 1 // the body, or the reply in it, is empty
	Malformed                      // no JSON, no events, or a call without a name
	Cut                            // it ends before the reply does
	TooLong                        // it exceeds a limit
	Refused                        // the endpoint sent an error; Fault.Object has it
	GaveUp                         // the endpoint says that it gave up the reply
)

// Fault says why a body holds no whole reply.
type Fault struct {
	Kind FaultKind
	// Message says it in a sentence. Empty for Refused: the object has a
	// message.
	Message string
	// Err is the cause, if there is one.
	Err error
	// Body is the beginning of what was not understood.
	Body []byte
	// Object is the error that the endpoint sent; nil unless Kind is Refused.
	Object *ErrorObject
}

func (f *Fault) Error() string {
	switch {
	case f.Object != nil:
		return f.Object.Message
	case f.Err != nil:
		return f.Message + ": " + f.Err.Error()
	}
	return f.Message
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ErrorObject is an error of an endpoint, in whichever of its many forms.
type ErrorObject struct {
	Type, Code, Param, Message string
	Status                     int // where the object itself has one
}

// ParseError looks for an error in a JSON document: an error object or text
// under "error" wherever it stands, a "detail", the envelopes of Anthropic and
// Google, or a bare object that says it is an error. A document that is a
// reply, or a part of one, is an error only if it also has an "error".
func ParseError(data []byte) (ErrorObject, bool) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return ErrorObject{}, false
		}
		data = list[0]
	}
	var doc Members
	if json.Unmarshal(data, &doc) != nil {
		return ErrorObject{}, false
	}
	return doc.ErrorObject(data)
}

func (o Members) ErrorObject(data []byte) (ErrorObject, bool) {
	if raw, ok := o["error"]; ok && !isBlank(raw) {
		w := readError(raw)
		w.Status = firstStatus(w.Status, o["status"], o["status_code"])
		return w, true
	}
	if o.isReply() {
		return ErrorObject{}, false
	}
	if raw, ok := o["detail"]; ok && !isBlank(raw) {
		w := readError(raw)
		w.Status = firstStatus(w.Status, o["status"], o["status_code"])
		return w, true
	}
	if Lenient(o["object"]) == "error" || Lenient(o["type"]) == "error" || o["message"] != nil {
		return readError(data), true
	}
	return ErrorObject{}, false
}

// isReply reports whether a document is a reply, or a part of one, in one of
// the dialects.
func (o Members) isReply() bool {
	for _, key := range []string{"choices", "candidates", "output", "response", "promptFeedback"} {
		if _, ok := o[key]; ok {
			return true
		}
	}
	return isPart(Lenient(o["type"]))
}

// isPart reports whether the name of an event is that of a part of a reply.
func isPart(kind string) bool {
	return kind == "message" || strings.HasPrefix(kind, "message_") || strings.HasPrefix(kind, "content_block_") || strings.HasPrefix(kind, "response.")
}

func isBlank(raw json.RawMessage) bool {
	switch string(raw) {
	case "null", "false", `""`, "{}", "[]":
		return true
	}
	return false
}

// readError reads the value of "error": an object, a text, or a list of
// complaints as FastAPI makes them.
func readError(raw json.RawMessage) ErrorObject {
	switch raw[0] {
	case '{':
		var doc Members
		_ = json.Unmarshal(raw, &doc)
		w := ErrorObject{
			Type:    Lenient(doc["type"]),
			Code:    Lenient(doc["code"]),
			Param:   Lenient(doc["param"]),
			Message: Lenient(doc["message"]),
		}
		w.Status = firstStatus(0, doc["code"], doc["status"], doc["status_code"])
		if w.Type == "" {
			w.Type = Lenient(doc["status"]) // Google: INVALID_ARGUMENT
		}
		if w.Message == "" {
			w.Message = Lenient(doc["detail"])
		}
		if w.Message == "" {
			w.Message = Lenient(raw)
		}
		return w
	case '[':
		var list []struct {
			Msg string `json:"msg"`
			Loc []any  `json:"loc"`
		}
		if exactjson.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0].Msg != "" {
			var says []string
			for _, c := range list {
				says = append(says, strings.TrimSpace(fmt.Sprintln(c.Loc...))+": "+c.Msg)
			}
			return ErrorObject{Message: strings.Join(says, "; ")}
		}
	}
	return ErrorObject{Message: Lenient(raw)}
}

// Lenient returns a JSON string's text, or any other value as it is spelled.
func Lenient(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var t Text
	if raw[0] == '[' || t.UnmarshalJSON(raw) != nil {
		return string(raw)
	}
	return ToValid(string(t))
}

// firstStatus returns the first HTTP error status among have and the values.
func firstStatus(have int, values ...json.RawMessage) int {
	for _, v := range values {
		if have >= 400 && have < 600 {
			return have
		}
		have, _ = strconv.Atoi(Lenient(v))
	}
	if have < 400 || have > 599 {
		return 0
	}
	return have
}

// maxExcerpt bounds what a fault keeps of a body that was not understood.
const maxExcerpt = 4 << 10

func shortened(b []byte, n int) string {
	return prose.Excerpt(b, n)
}

// excerpt copies the beginning of a body.
func excerpt(b []byte) []byte { return bytes.Clone(b[:min(len(b), maxExcerpt)]) }

// Describe says for a person what a body is.
func Describe(body []byte) string {
	all := len(body)
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case len(body) == 0 && all > 0:
		return fmt.Sprintf("a body that begins with %d bytes of white space", all)
	case len(body) == 0:
		return "an empty body"
	case body[0] == '<':
		if title, ok := htmlTitle(body); ok {
			return fmt.Sprintf("an HTML page, %q", title)
		}
		return fmt.Sprintf("an HTML page that begins with %q", shortened(body, 80))
	case json.Valid(body):
		return fmt.Sprintf("JSON that is not an error object: %s", shortened(body, 200))
	}
	return fmt.Sprintf("a body that is not JSON: %q", shortened(body, 200))
}

// htmlTitle returns what stands between <title> and </title>.
func htmlTitle(page []byte) ([]byte, bool) {
	lower := bytes.ToLower(page)
	from := bytes.Index(lower, []byte("<title"))
	if from < 0 || len(lower) != len(page) {
		return nil, false
	}
	open := bytes.IndexByte(lower[from:], '>')
	if open < 0 {
		return nil, false
	}
	from += open + 1
	length := bytes.Index(lower[from:], []byte("</title>"))
	if length < 0 {
		return nil, false
	}
	return bytes.TrimSpace(page[from : from+length]), true
}
