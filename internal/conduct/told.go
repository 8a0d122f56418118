// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// This file decides whether a tool message carries the result of a call.

// holds reports whether a tool message contains the whole result of x:
// verbatim, inside other text, or inside JSON. JSON may be reformatted.
func (c *checker) holds(text string, x harness.ToolExchange) bool {
	want := x.Text
	if x.RPCError != nil {
		want = x.RPCError.Message
	}
	want = strings.TrimSpace(want)
	if want == "" && blank(x.Result) {
		return true // there was nothing to tell
	}
	if want != "" && tells(text, want) || holdsBlocks(text, x.Content) {
		return true
	}
	result, err := value.Parse(x.Result)
	if err != nil && want == "" {
		return strings.Contains(text, string(value.Compact(x.Result))) // too deep, or too large
	}
	if err != nil || x.RPCError != nil {
		result = value.StringOf(want)
	}
	switch {
	case result.Kind() != value.String:
		if tells(text, result.String()) {
			return true
		}
	case want == "" && tells(text, strings.TrimSpace(result.Str())):
		return true
	}
	if got, err := value.Parse([]byte(text)); err == nil && inside(got, want, result) {
		return true
	}
	return c.Capped && capped(text, want)
}

// blank reports whether a result says nothing: it is absent, null, or a text of
// white space alone, which clients trim.
func blank(result json.RawMessage) bool {
	v, err := value.Parse(result)
	return len(result) == 0 || err == nil && (v.IsNull() || v.Kind() == value.String && strings.TrimSpace(v.Str()) == "")
}

// holdsBlocks reports whether text has every text of a result with several
// content blocks, in their order. Between them stands what a client puts in
// place of an image.
func holdsBlocks(text string, content json.RawMessage) bool {
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if exactjson.Unmarshal(content, &result) != nil || len(result.Content) < 2 {
		return false
	}
	found := false
	for _, block := range result.Content {
		if block.Type != "text" {
			continue
		}
		_, rest, ok := strings.Cut(text, strings.TrimSpace(block.Text))
		if !ok {
			return false
		}
		text, found = rest, true
	}
	return found
}

// inside reports whether a JSON message holds the result somewhere.
func inside(got value.Value, text string, result value.Value) (found bool) {
	value.Walk(got, func(_ value.Path, v value.Value) bool {
		found = found || value.Equal(v, result) || v.Kind() == value.String && text != "" && tells(v.Str(), text)
		return !found
	})
	return found
}

// tells reports whether a text contains another. JSON in both may be
// reformatted: other white space, another order of keys.
func tells(text, want string) bool {
	if strings.Contains(text, want) {
		return true
	}
	if !strings.ContainsAny(want, "{[") || !strings.ContainsAny(text, "{[") {
		return false
	}
	return strings.Contains(canonical(text), canonical(want))
}

// canonical is a text in which each JSON object or array is written in one
// way: without white space, keys sorted, numbers and texts in one spelling.
func canonical(text string) string {
	var out []byte
	at := 0
	for _, p := range value.Embedded(text) {
		out = p.Value.AppendCanonical(append(out, text[at:p.Start]...))
		at = p.End
	}
	return string(append(out, text[at:]...))
}

// cappedHead is how many of the first bytes of a shortened result must reach
// the model: as many as a person needs to recognise it.
const cappedHead = 64

// leastOf is how many bytes of a result a shortened one must have.
func leastOf(want string) int {
	n := min(cappedHead, len(want)/2)
	for n > 0 && want[n]&0xC0 == 0x80 {
		n--
	}
	return n
}

// capped reports whether text holds the beginning of want, followed by less
// than the rest.
func capped(text, want string) bool {
	n := leastOf(want)
	return n > 0 && strings.Contains(text, want[:n])
}

func sameArgs(a, b json.RawMessage) bool { return value.Same(orEmpty(a), orEmpty(b)) }

// orEmpty gives absent arguments the value that they have on the wire.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// parseArgs reads arguments; absent ones are an empty object.
func parseArgs(raw json.RawMessage) (value.Value, error) {
	return value.Parse(orEmpty(raw))
}
