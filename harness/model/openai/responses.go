// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/provider"
)

// NewResponses makes a client of the responses API at the same base URL. It
// does not connect.
//
// The client keeps the conversation: each request has all of it, and asks the
// endpoint to store nothing. Models that reason are asked to seal their
// reasoning (reasoning.encrypted_content), which is kept in the Extra of a
// message and goes back before the item that followed it. The API has no seed.
// Config.SendReasoning and Config.OpenEnd are not used.
//
// See https://platform.openai.com/docs/api-reference/responses.
func NewResponses(cfg Config) *Client {
	c := New(cfg)
	c.responses = true
	return c
}

// responsesRequest is the body, but for [model.Request.Extra].
type responsesRequest struct {
	Model           string            `json:"model"`
	Input           []json.RawMessage `json:"input"`
	Tools           []responsesTool   `json:"tools,omitempty"`
	ToolChoice      any               `json:"tool_choice,omitempty"`
	Temperature     *float64          `json:"temperature,omitempty"`
	TopP            *float64          `json:"top_p,omitempty"`
	MaxOutputTokens int               `json:"max_output_tokens,omitempty"`
	Reasoning       *reasoning        `json:"reasoning,omitempty"`
	Include         []string          `json:"include,omitempty"`
	Store           bool              `json:"store"`
	Stream          bool              `json:"stream,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitempty"`
}

// prepareResponses writes a request. The error is of the kind invalid.
func prepareResponses(req *model.Request) (*provider.Outgoing, error) {
	if err := provider.CheckText(req); err != nil {
		return nil, err
	}
	out := &provider.Outgoing{Path: responses.Dialect.Path, Stream: req.Stream}
	wire := responsesRequest{Model: req.Model, Input: input(req.Messages), MaxOutputTokens: req.MaxTokens, Stream: req.Stream}
	for _, t := range req.Tools {
		schema, err := provider.Schema(t)
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
		wire.Reasoning = &reasoning{Effort: req.Reasoning}
		if req.Reasoning != "none" {
			wire.Reasoning.Summary = "auto"
		}
	}
	if wire.Reasoning != nil || provider.FamilyOf(req.Model).CompletionTokens { // others refuse it
		wire.Include = []string{"reasoning.encrypted_content"}
	}
	more, err := provider.AddExtra(nil, req, "model", "input", "tools", "tool_choice", "stream", "store", "previous_response_id", "conversation")
	if err != nil {
		return nil, err
	}
	out.Body = provider.AddMembers(dialect.Encode(wire), more)
	return out, nil
}

// input are the items of a history.
func input(history []harness.Message) (out []json.RawMessage) {
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
	}{"function_call", c.ID, provider.ToolName(c.Name), arguments(c)})
}
