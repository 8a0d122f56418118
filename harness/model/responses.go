// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// responsesRequest is the body, but for [Request.Extra].
type responsesRequest struct {
	Model           string              `json:"model"`
	Input           []json.RawMessage   `json:"input"`
	Tools           []responsesTool     `json:"tools,omitempty"`
	ToolChoice      any                 `json:"tool_choice,omitempty"`
	Temperature     *float64            `json:"temperature,omitempty"`
	TopP            *float64            `json:"top_p,omitempty"`
	MaxOutputTokens int                 `json:"max_output_tokens,omitempty"`
	Reasoning       *responsesReasoning `json:"reasoning,omitempty"`
	Include         []string            `json:"include,omitempty"`
	Store           bool                `json:"store"`
	Stream          bool                `json:"stream,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type responsesReasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitempty"`
}

// writeResponses writes a request. The error is of the kind invalid.
func writeResponses(req *Request) (*outgoing, error) {
	if err := checkText(req); err != nil {
		return nil, err
	}
	out := &outgoing{Path: responses.Dialect.Path, Stream: req.Stream}
	wire := responsesRequest{Model: req.Model, Input: responsesInput(req.Messages), MaxOutputTokens: req.MaxTokens, Stream: req.Stream}
	for _, t := range req.Tools {
		schema, err := schemaOf(t)
		if err != nil {
			return nil, err
		}
		wire.Tools = append(wire.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema})
	}
	switch req.ToolChoice {
	case "":
	case "none", "auto", "required":
		wire.ToolChoice = req.ToolChoice
	default:
		wire.ToolChoice = map[string]string{"type": "function", "name": req.ToolChoice}
	}
	wire.Temperature, wire.TopP = out.Sampling(req)
	if req.Reasoning != "" {
		wire.Reasoning = &responsesReasoning{Effort: req.Reasoning}
		if req.Reasoning != "none" {
			wire.Reasoning.Summary = "auto"
		}
	}
	if wire.Reasoning != nil || familyOf(req.Model).CompletionTokens { // others refuse it
		wire.Include = []string{"reasoning.encrypted_content"}
	}
	more, err := addExtra(nil, req, "model", "input", "tools", "tool_choice", "stream", "store", "previous_response_id", "conversation")
	if err != nil {
		return nil, err
	}
	out.Body = addMembers(dialect.Encode(wire), more)
	return out, nil
}

// responsesInput are the items of a history.
func responsesInput(history []harness.Message) (out []json.RawMessage) {
	for _, m := range history {
		switch m.Role {
		case harness.RoleAssistant:
			out = append(out, responses.Back(m, func(s string) json.RawMessage { return messageItem(m.Role, s) }, callItem)...)
			if m.Refusal != "" {
				out = append(out, messageItem(m.Role, m.Refusal))
			}
		case harness.RoleTool:
			out = append(out, dialect.Encode(struct {
				Type   string `json:"type"`
				CallID string `json:"call_id"`
				Output string `json:"output"`
			}{"function_call_output", m.CallID, m.Text}))
		default:
			out = append(out, messageItem(m.Role, m.Text))
		}
	}
	return out
}

func messageItem(role harness.Role, text string) json.RawMessage {
	return dialect.Encode(struct {
		Role    harness.Role `json:"role"`
		Content string       `json:"content"`
	}{role, text})
}

func callItem(c harness.ToolCall) json.RawMessage {
	return dialect.Encode(struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}{"function_call", c.ID, toolNameOf(c.Name), argumentText(c)})
}
