// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/profile"
)

// oldDialect is that of /resource/chat/, as far as a request is asked in it.
func (x *exchange) oldDialect() *dialect.Dialect {
	return &dialect.Dialect{
		Name: "argo", Calls: true, ReplyID: dialect.IDs{Len: 32}, CallID: dialect.IDs{Prefix: "call_", Len: 24},
		Read: func(body []byte, _ *dialect.Query) (dialect.Request, *dialect.Refusal) {
			c, refusal := readOld(x.proxied.ask.Stream, body)
			if c == nil {
				return nil, refusal
			}
			return oldChat{dialect.Plain{Chat: c}, x.proxied}, refusal
		},
	}
}

// oldChat is a request that was read.
type oldChat struct {
	dialect.Plain
	proxied *proxied
}

// oldRequest is a request to /resource/chat/: OpenAI's, with the tools and
// calls of each family in a spelling of its own.
type oldRequest struct {
	User     string       `json:"user"`
	Model    string       `json:"model"`
	System   string       `json:"system"`
	Prompt   []string     `json:"prompt"`
	Messages []oldMessage `json:"messages"`
	Tools    []oldTool    `json:"tools"`
}

type oldTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Input       json.RawMessage `json:"input_schema"`
	Function    *oldTool        `json:"function"`
}

type oldMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []oldCall       `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
}

type oldCall struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// oldBlock is a part of a message to Claude.
type oldBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	UseID   string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

// readOld reads a request.
func readOld(stream bool, body []byte) (*dialect.Chat, *dialect.Refusal) {
	var o oldRequest
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &o); err != nil && !errors.As(err, &wrong) {
		return nil, &dialect.Refusal{Status: http.StatusBadRequest, Type: "BadRequestError", Message: err.Error()}
	}
	req := harness.Request{Model: o.Model, Stream: stream}
	if o.System != "" {
		req.Messages = append(req.Messages, harness.Message{Role: harness.RoleSystem, Text: o.System})
	}
	for _, p := range o.Prompt {
		req.Messages = append(req.Messages, harness.Message{Role: harness.RoleUser, Text: p})
	}
	for _, m := range o.Messages {
		req.Messages = append(req.Messages, m.messages()...)
	}
	for _, t := range o.Tools {
		if t.Function != nil {
			t = *t.Function
		}
		schema := t.Parameters
		if schema == nil {
			schema = t.Input
		}
		req.Tools = append(req.Tools, harness.Tool{Name: t.Name, Description: t.Description, Schema: schema})
	}
	return dialect.NewChat(req, body), nil
}

// messages returns a message as OpenAI has it: results of tools are messages
// of their own.
func (m oldMessage) messages() []harness.Message {
	out := harness.Message{Role: harness.Role(m.Role), CallID: m.CallID}
	for _, c := range m.Calls {
		call := harness.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
		if c.Name != "" {
			call.Name, call.Arguments = c.Name, string(c.Args)
		}
		out.Calls = append(out.Calls, call)
	}
	text, blocks := oldText(m.Content)
	out.Text = text
	var results []harness.Message
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			out.Calls = append(out.Calls, harness.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case "tool_result":
			text, _ := oldText(b.Content)
			results = append(results, harness.Message{Role: harness.RoleTool, CallID: b.UseID, Text: text})
		}
	}
	if len(results) > 0 && out.Text == "" && len(out.Calls) == 0 {
		return results
	}
	return append(results, out)
}

// oldText returns the text of a content, and the blocks when it has some.
func oldText(content json.RawMessage) (string, []oldBlock) {
	var text string
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var blocks []oldBlock
	_ = json.Unmarshal(content, &blocks) // what is neither says nothing
	for _, b := range blocks {
		text += b.Text
	}
	return text, blocks
}

// Write writes {"response": …}, or the bare text of a stream.
func (o oldChat) Write(r *dialect.Reply, w dialect.Writing) *dialect.Body {
	c, a := r.Choices[0], o.proxied.ask
	if a.Dialect == profile.OldStream {
		b := &dialect.Body{Status: http.StatusOK, Stream: true}
		for _, p := range dialect.Pieces(c.Text, w.Style, r.Seed) {
			b.Frames = append(b.Frames, dialect.Frame{Data: []byte(p), Kind: dialect.KindText, Tokens: 1})
		}
		return b
	}
	body := append(append([]byte(`{"response":`), dialect.Quote(c.Text)...), '}')
	if a.Tools {
		body = append(append([]byte(`{"response":{"content":`), dialect.Quote(c.Text)...), `,"tool_calls":`...)
		body = append(append(body, oldCalls(a.Model.Family, c.Calls)...), "}}"...)
	}
	return &dialect.Body{Status: http.StatusOK, Frames: []dialect.Frame{{Data: body, Kind: dialect.KindText, Tokens: len(dialect.Words(c.Text))}}}
}

// oldCalls are the calls as each family has them: OpenAI's, Claude's blocks,
// and Gemini's without an id. Of Gemini the documentation shows one call as a
// bare object; argo-proxy 2.8.9, which was made for the real gateway, breaks
// on that and reads a list, so a list it is.
func oldCalls(f profile.Family, calls []dialect.Call) []byte {
	var list [][]byte
	for _, c := range calls {
		args := []byte(c.Arguments)
		if !json.Valid(args) {
			args = dialect.Quote(c.Arguments)
		}
		var b []byte
		switch f {
		case profile.Claude:
			b = append(append([]byte(`{"id":`), dialect.Quote(c.ID)...), `,"input":`...)
			b = append(append(b, args...), `,"name":`...)
			b = append(append(b, dialect.Quote(c.Name)...), `,"type":"tool_use","cache_control":null}`...)
		case profile.Gemini:
			b = append(append([]byte(`{"id":null,"args":`), args...), `,"name":`...)
			b = append(append(b, dialect.Quote(c.Name)...), '}')
		default:
			b = append(append([]byte(`{"function":{"arguments":`), dialect.Quote(c.Arguments)...), `,"name":`...)
			b = append(append(b, dialect.Quote(c.Name)...), `},"id":`...)
			b = append(append(b, dialect.Quote(c.ID)...), `,"type":"function"}`...)
		}
		list = append(list, b)
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// appendOldEmbeddings writes {"embedding": [[…], …]}.
func (m *Mock) appendOldEmbeddings(b []byte, req *dialect.Embeddings) []byte {
	b = append(b, `{"embedding":[`...)
	for i, in := range req.Inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendVector(b, embed(in, m.opts.Seed, req.Dimensions), false)
	}
	return append(b, "]}"...)
}

// gatewayError is how the gateway hands on an error of a provider: as the text
// of the exception that its Python client raised.
func gatewayError(a profile.Ask, r *dialect.Refusal) []byte {
	if a.Dialect == profile.Messages {
		inner := fmt.Sprintf("Error code: %d - {'type': 'error', 'error': {'type': %s, 'message': %s}, 'request_id': 'req_vrtx_0'}", r.Status, pythonText(r.Type), pythonText(r.Message))
		return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s}}`, dialect.Quote(r.Type), dialect.Quote(inner))
	}
	inner := fmt.Sprintf("Error code: %d - {'error': {'message': %s, 'type': %s, 'param': %s, 'code': %s}}",
		r.Status, pythonText(r.Message), pythonText(r.Type), pythonText(r.Param), pythonText(r.Code))
	class := "InternalServerError"
	switch r.Status {
	case http.StatusBadRequest:
		class = "BadRequestError"
	case http.StatusUnauthorized:
		class = "AuthenticationError"
	case http.StatusForbidden:
		class = "PermissionDeniedError"
	case http.StatusNotFound:
		class = "NotFoundError"
	case http.StatusTooManyRequests:
		class = "RateLimitError"
	}
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":%q,"code":"internal_error"}}`, dialect.Quote(inner), class)
}

// pythonText is a text as Python shows it in a dict; an empty one is None.
func pythonText(s string) string {
	switch {
	case s == "":
		return "None"
	case strings.Contains(s, "'") && !strings.Contains(s, `"`):
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `\'`) + "'"
}
