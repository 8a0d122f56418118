// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
)

// messagesRequest is the body, but for [Request.Extra].
type messagesRequest struct {
	Model        string            `json:"model"`
	MaxTokens    int               `json:"max_tokens"`
	System       string            `json:"system,omitempty"`
	Messages     []messagesTurn    `json:"messages"`
	Tools        []messagesTool    `json:"tools,omitempty"`
	ToolChoice   *messagesChoice   `json:"tool_choice,omitempty"`
	Temperature  *float64          `json:"temperature,omitempty"`
	TopP         *float64          `json:"top_p,omitempty"`
	Thinking     *messagesThinking `json:"thinking,omitempty"`
	OutputConfig map[string]any    `json:"output_config,omitempty"`
	Stream       bool              `json:"stream,omitempty"`
}

type messagesTurn struct {
	Role    harness.Role      `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type messagesTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type messagesChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type messagesThinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
}

// writeMessages writes a request. Its error is of the kind invalid.
func (c *Client) writeMessages(req *Request) (*outgoing, error) {
	if err := checkText(req); err != nil {
		return nil, err
	}
	out := &outgoing{Path: messages.Dialect.Path, Stream: req.Stream}
	wire := messagesRequest{Model: req.Model, MaxTokens: req.MaxTokens}
	if wire.MaxTokens == 0 {
		wire.MaxTokens = c.endpoint.MaxTokens
	}
	wire.Temperature, wire.TopP = out.Sampling(req)
	wire.think(req, out)
	out.Streaming(req.Model, wire.MaxTokens)
	wire.Stream = out.Stream
	wire.System, wire.Messages = messagesHistory(req.Messages)
	for _, t := range req.Tools {
		schema, err := schemaOf(t)
		if err != nil {
			return nil, err
		}
		wire.Tools = append(wire.Tools, messagesTool{t.Name, t.Description, schema})
	}
	switch req.ToolChoice {
	case "":
	case "none", "auto":
		wire.ToolChoice = &messagesChoice{Type: req.ToolChoice}
	case "required":
		wire.ToolChoice = &messagesChoice{Type: "any"}
	default:
		wire.ToolChoice = &messagesChoice{"tool", req.ToolChoice}
	}
	more, err := addExtra(nil, req, "model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream")
	if err != nil {
		return nil, err
	}
	out.Body = addMembers(dialect.Encode(wire), more)
	return out, nil
}

// think asks for the effort of a request. Models since 4.6 think as much as
// they see fit, and are told an effort; those before are given a budget, which
// counts as a part of max_tokens.
func (r *messagesRequest) think(req *Request, out *outgoing) {
	budget, known := map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576}[req.Reasoning]
	switch {
	case req.Reasoning == "":
	case req.Reasoning == "none":
		r.Thinking = &messagesThinking{Type: "disabled"}
	case adaptiveThinking(req.Model):
		effort := req.Reasoning
		if effort == "minimal" {
			effort = "low"
		}
		r.Thinking, r.OutputConfig = &messagesThinking{Type: "adaptive"}, map[string]any{"effort": effort}
	case !known:
		out.Notes = append(out.Notes, fmt.Sprintf("reasoning %q left out: %s takes none, minimal, low, medium or high", req.Reasoning, req.Model))
	default:
		r.Thinking = &messagesThinking{"enabled", budget}
		r.MaxTokens += budget
		if r.Temperature != nil && *r.Temperature != 1 {
			out.Notes = append(out.Notes, fmt.Sprintf("temperature %v left out: %s takes none while it thinks", *r.Temperature, req.Model))
			r.Temperature = nil
		}
	}
}

var claudeVersion = regexp.MustCompile(`(?:opus|sonnet|haiku|claude)-?(\d)(?:[-.](\d)(?:\D|$))?`)

// adaptiveThinking reports whether a model decides itself how much it thinks: those
// since version 4.6 do.
func adaptiveThinking(name string) bool {
	const first = 46
	for _, m := range claudeVersion.FindAllStringSubmatch(strings.ToLower(name), -1) {
		if n, _ := strconv.Atoi(m[1] + cmp.Or(m[2], "0")); n >= first {
			return true
		}
	}
	return false
}

// messagesHistory are the system prompt and the messages of a history. Messages of
// one role in a row become one, results before the rest.
func messagesHistory(history []harness.Message) (system string, out []messagesTurn) {
	var instructions []string
	for _, m := range history {
		if m.Role == harness.RoleSystem {
			instructions = append(instructions, m.Text)
			continue
		}
		role, content := harness.RoleUser, []json.RawMessage(nil)
		switch m.Role {
		case harness.RoleAssistant:
			role, content = m.Role, messages.Back(m, saidBlock, toolUseBlock)
			if raw := saidBlock(m.Refusal); raw != nil {
				content = append(content, raw)
			}
		case harness.RoleTool:
			content = []json.RawMessage{toolResultBlock(m)}
		default:
			content = []json.RawMessage{textBlock(m.Text)}
		}
		switch last := len(out) - 1; {
		case len(content) == 0: // a reply without text and calls
		case last >= 0 && out[last].Role == role:
			out[last].Content = append(out[last].Content, content...)
		default:
			out = append(out, messagesTurn{role, content})
		}
	}
	return strings.Join(instructions, "\n\n"), out
}

func textBlock(s string) json.RawMessage {
	return dialect.Encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", s})
}

// saidBlock is a text of the model; the API takes back none that is blank.
func saidBlock(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return textBlock(s)
}

func toolUseBlock(c harness.ToolCall) json.RawMessage {
	return dialect.Encode(struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}{"tool_use", messages.BackID(c.ID), toolNameOf(c.Name), dialect.InputObject(c.Arguments)})
}

func toolResultBlock(m harness.Message) json.RawMessage {
	return dialect.Encode(struct {
		Type    string `json:"type"`
		ID      string `json:"tool_use_id"`
		Content string `json:"content"`
	}{"tool_result", messages.BackID(m.CallID), m.Text})
}
