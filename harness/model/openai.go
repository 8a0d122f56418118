// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	oai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
)

// wireRequest is the body, but for the members that addSampling and
// [Request.Extra] add at its end.
type wireRequest struct {
	Model         string             `json:"model"`
	Messages      []json.RawMessage  `json:"messages"`
	Stream        bool               `json:"stream"`
	Tools         []oai.Tool         `json:"tools,omitempty"`
	ToolChoice    any                `json:"tool_choice,omitempty"`
	StreamOptions *oai.StreamOptions `json:"stream_options,omitempty"`
}

// wireMessage is a message, but for its extra members.
type wireMessage struct {
	Role             harness.Role      `json:"role"`
	Content          string            `json:"content,omitempty"`
	Refusal          string            `json:"refusal,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ToolCalls        []json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
}

// writeChat writes a request. The error is of the kind invalid: the request
// cannot be sent as it is.
func (c *Client) writeChat(req *Request) (*outgoing, error) {
	out := &outgoing{Path: "/chat/completions", Stream: req.Stream}
	if err := checkText(req); err != nil {
		return nil, err
	}
	if req.MaxTokens == 0 && familyOf(req.Model).NeedsMaxTokens {
		bounded := *req
		bounded.MaxTokens = c.endpoint.MaxTokens
		req = &bounded
	}
	out.Streaming(req.Model, req.MaxTokens)
	wire := wireRequest{Model: req.Model, Messages: make([]json.RawMessage, 0, len(req.Messages)), Stream: out.Stream}
	if out.Stream {
		wire.StreamOptions = &oai.StreamOptions{IncludeUsage: true}
	}
	for i, m := range req.Messages {
		raw, err := encodeMessage(m, c.endpoint.SendReasoning)
		if err != nil {
			return nil, &Error{Kind: KindInvalid, Err: err, Message: fmt.Sprintf("writing message %d (%s)", i+1, m.Role)}
		}
		wire.Messages = append(wire.Messages, raw)
	}
	for _, t := range req.Tools {
		schema, err := schemaOf(t)
		if err != nil {
			return nil, err
		}
		wire.Tools = append(wire.Tools, oai.Tool{
			Type:     oai.ToolTypeFunction,
			Function: &oai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema},
		})
	}
	switch req.ToolChoice {
	case "":
	case "none", "auto", "required":
		wire.ToolChoice = req.ToolChoice
	default:
		wire.ToolChoice = oai.ToolChoice{Type: oai.ToolTypeFunction, Function: oai.ToolFunction{Name: req.ToolChoice}}
	}
	body, err := json.Marshal(wire)
	if err != nil {
		return nil, &Error{Kind: KindInvalid, Err: err, Message: "writing the request"}
	}
	more := addSampling(out, nil, req)
	if more, err = addExtra(more, req, "model", "messages", "tools", "tool_choice", "stream", "stream_options"); err != nil {
		return nil, err
	}
	out.Body = addMembers(body, more)
	return out, nil
}

// encodeMessage writes a message with the members that the endpoint may want
// back. Content that is required is there also when it is empty.
func encodeMessage(m harness.Message, reasoning bool) ([]byte, error) {
	msg := wireMessage{Role: m.Role, Content: m.Text, Refusal: m.Refusal, ToolCallID: m.CallID}
	if reasoning {
		msg.ReasoningContent = m.Reasoning
	}
	for _, call := range m.Calls {
		raw, err := json.Marshal(oai.ToolCall{
			ID:       call.ID,
			Type:     oai.ToolTypeFunction,
			Function: oai.FunctionCall{Name: toolNameOf(call.Name), Arguments: argumentText(call)},
		})
		if err != nil {
			return nil, err
		}
		if extra := strings.TrimSpace(call.Extra); len(extra) > 2 {
			raw = addMembers(raw, []byte(","+extra[1:len(extra)-1]))
		}
		msg.ToolCalls = append(msg.ToolCalls, raw)
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		return nil, err
	}
	var more []byte
	if m.Text == "" && len(m.Calls) == 0 {
		more = []byte(`,"content":""`)
	}
	return addMembers(raw, append(more, extraMembers(m, reasoning)...)), nil
}

// argumentText are those of a call as they are sent back: no endpoint takes none.
func argumentText(c harness.ToolCall) string {
	if strings.TrimSpace(c.Arguments) == "" {
		return "{}"
	}
	return c.Arguments
}

// extraMembers are the members that the endpoint sent with a message and may
// want back, such as reasoning_details, as ,"key":value. Reasoning goes back
// where it is asked for, and also an empty one.
func extraMembers(m harness.Message, reasoning bool) (out []byte) {
	var extra map[string]json.RawMessage
	if m.Role != harness.RoleAssistant || m.Extra == "" || json.Unmarshal([]byte(m.Extra), &extra) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		switch key {
		case "role", "content", "refusal", "name", "tool_calls", "tool_call_id", "function_call":
			continue // they have places of their own
		case "reasoning_content":
			if !reasoning || m.Reasoning != "" {
				continue
			}
		}
		out = addMember(out, key, extra[key])
	}
	return out
}

// addSampling adds the parameters that models of some families refuse, as far
// as this one takes them.
func addSampling(out *outgoing, more []byte, req *Request) []byte {
	temperature, topP := out.Sampling(req)
	if temperature != nil {
		more = addMember(more, "temperature", *temperature)
	}
	if topP != nil {
		more = addMember(more, "top_p", *topP)
	}
	if req.MaxTokens > 0 {
		if familyOf(req.Model).CompletionTokens {
			more = addMember(more, "max_completion_tokens", req.MaxTokens)
		} else {
			more = addMember(more, "max_tokens", req.MaxTokens)
		}
	}
	if req.Seed != nil {
		more = addMember(more, "seed", *req.Seed)
	}
	if req.Reasoning != "" {
		more = addMember(more, "reasoning_effort", req.Reasoning)
	}
	return more
}
