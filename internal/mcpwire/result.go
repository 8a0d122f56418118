// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Result is the result object of a tools/call, as far as everybody needs it.
type Result struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
	// Type is null before 2026-07-28.
	Type json.RawMessage `json:"resultType"`
}

// ParseResult reads the result object of a tools/call. Content may be absent
// and its blocks of any type.
func ParseResult(raw json.RawMessage) (*Result, error) {
	var r *Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the result is no tool result: %w", err)
	}
	if r == nil {
		return nil, fmt.Errorf("the result is no tool result: null")
	}
	if !hasValue(r.Structured) {
		r.Structured = nil
	}
	return r, nil
}

// NeedsInput reports whether the server asks for more before the call is over.
func (r *Result) NeedsInput() bool { return string(r.Type) == `"input_required"` }

// Text joins the text of the text blocks with newlines.
func (r *Result) Text() string { return Text(r.Content) }

// Value is the structured content, else the text parsed as JSON, else the
// text as a JSON string.
func (r *Result) Value() json.RawMessage {
	if r.Structured != nil {
		return r.Structured
	}
	return TextValue(r.Text())
}

// Text joins the text of those content blocks that are text with newlines.
func Text(content []json.RawMessage) string {
	var parts []string
	for _, raw := range content {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// TextValue is text parsed as JSON, else text as a JSON string.
func TextValue(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return Marshal(text)
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
