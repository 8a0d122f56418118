// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/provider"
)

// request is the body, but for [model.Request.Extra].
type request struct {
	Model        string         `json:"model"`
	MaxTokens    int            `json:"max_tokens"`
	System       string         `json:"system,omitempty"`
	Messages     []message      `json:"messages"`
	Tools        []tool         `json:"tools,omitempty"`
	ToolChoice   *choice        `json:"tool_choice,omitempty"`
	Temperature  *float64       `json:"temperature,omitempty"`
	TopP         *float64       `json:"top_p,omitempty"`
	Thinking     *thinking      `json:"thinking,omitempty"`
	OutputConfig map[string]any `json:"output_config,omitempty"`
	Stream       bool           `json:"stream,omitempty"`
}

type message struct {
	Role    harness.Role      `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type choice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
}

// write writes a request. Its error is of the kind invalid.
func (c *Client) write(req *model.Request) (*provider.Outgoing, error) {
	if err := provider.CheckText(req); err != nil {
		return nil, err
	}
	out := &provider.Outgoing{Path: messages.Dialect.Path, Stream: req.Stream}
	wire := request{Model: req.Model, MaxTokens: req.MaxTokens}
	if wire.MaxTokens == 0 {
		wire.MaxTokens = c.cfg.MaxTokens
	}
	wire.Temperature, wire.TopP = out.Sampling(req)
	wire.think(req, out)
	out.Streaming(req.Model, wire.MaxTokens)
	wire.Stream = out.Stream
	wire.System, wire.Messages = conversation(req.Messages)
	for _, t := range req.Tools {
		schema, err := provider.Schema(t)
		if err != nil {
			return nil, err
		}
		wire.Tools = append(wire.Tools, tool{t.Name, t.Description, schema})
	}
	switch req.ToolChoice {
	case "":
	case "none", "auto":
		wire.ToolChoice = &choice{Type: req.ToolChoice}
	case "required":
		wire.ToolChoice = &choice{Type: "any"}
	default:
		wire.ToolChoice = &choice{"tool", req.ToolChoice}
	}
	more, err := provider.AddExtra(nil, req, "model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream")
	if err != nil {
		return nil, err
	}
	out.Body = provider.AddMembers(dialect.Encode(wire), more)
	return out, nil
}

// think asks for the effort of a request. Models since 4.6 think as much as
// they see fit, and are told an effort; those before are given a budget, which
// counts as a part of max_tokens.
func (r *request) think(req *model.Request, out *provider.Outgoing) {
	budget, known := map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 24576}[req.Reasoning]
	switch {
	case req.Reasoning == "":
	case req.Reasoning == "none":
		r.Thinking = &thinking{Type: "disabled"}
	case adaptive(req.Model):
		effort := req.Reasoning
		if effort == "minimal" {
			effort = "low"
		}
		r.Thinking, r.OutputConfig = &thinking{Type: "adaptive"}, map[string]any{"effort": effort}
	case !known:
		out.Notes = append(out.Notes, fmt.Sprintf("reasoning %q left out: %s takes none, minimal, low, medium or high", req.Reasoning, req.Model))
	default:
		r.Thinking = &thinking{"enabled", budget}
		r.MaxTokens += budget
		if r.Temperature != nil && *r.Temperature != 1 {
			out.Notes = append(out.Notes, fmt.Sprintf("temperature %v left out: %s takes none while it thinks", *r.Temperature, req.Model))
			r.Temperature = nil
		}
	}
}

var modelVersion = regexp.MustCompile(`(?:opus|sonnet|haiku|claude)-?(\d)(?:[-.](\d)(?:\D|$))?`)

// adaptive reports whether a model decides itself how much it thinks: those
// since version 4.6 do.
func adaptive(name string) bool {
	const first = 46
	for _, m := range modelVersion.FindAllStringSubmatch(strings.ToLower(name), -1) {
		if n, _ := strconv.Atoi(m[1] + cmp.Or(m[2], "0")); n >= first {
			return true
		}
	}
	return false
}

// conversation are the system prompt and the messages of a history. Messages of
// one role in a row become one, results before the rest.
func conversation(history []harness.Message) (system string, out []message) {
	var instructions []string
	for _, m := range history {
		if m.Role == harness.RoleSystem {
			instructions = append(instructions, m.Text)
			continue
		}
		role, content := harness.RoleUser, []json.RawMessage(nil)
		switch m.Role {
		case harness.RoleAssistant:
			role, content = m.Role, messages.Back(m, said, toolUse)
			if raw := said(m.Refusal); raw != nil {
				content = append(content, raw)
			}
		case harness.RoleTool:
			content = []json.RawMessage{toolResult(m)}
		default:
			content = []json.RawMessage{text(m.Text)}
		}
		switch last := len(out) - 1; {
		case len(content) == 0: // a reply without text and calls
		case last >= 0 && out[last].Role == role:
			out[last].Content = append(out[last].Content, content...)
		default:
			out = append(out, message{role, content})
		}
	}
	return strings.Join(instructions, "\n\n"), out
}

func text(s string) json.RawMessage {
	return dialect.Encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", s})
}

// said is a text of the model; the API takes back none that is blank.
func said(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return text(s)
}

func toolUse(c harness.ToolCall) json.RawMessage {
	return dialect.Encode(struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}{"tool_use", callID(c.ID), provider.ToolName(c.Name), dialect.InputObject(c.Arguments)})
}

func toolResult(m harness.Message) json.RawMessage {
	return dialect.Encode(struct {
		Type    string `json:"type"`
		ID      string `json:"tool_use_id"`
		Content string `json:"content"`
	}{"tool_result", callID(m.CallID), m.Text})
}

// callID is an id that the API takes: letters, digits, _ and -. Others come
// from models of another provider.
func callID(id string) string {
	if dialect.IsWord(id, "_-", len(id)) {
		return id
	}
	return fmt.Sprintf("toolu_%x", id)
}
