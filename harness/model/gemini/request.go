// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/provider"
)

// request is the body, but for [model.Request.Extra].
type request struct {
	SystemInstruction *content    `json:"systemInstruction,omitempty"`
	Contents          []content   `json:"contents"`
	Tools             []tools     `json:"tools,omitempty"`
	ToolConfig        *toolConfig `json:"toolConfig,omitempty"`
	GenerationConfig  *generation `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts"`
}

type tools struct {
	Declarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	Calling calling `json:"functionCallingConfig"`
}

type calling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type generation struct {
	Temperature     *float64  `json:"temperature,omitempty"`
	TopP            *float64  `json:"topP,omitempty"`
	MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
	Seed            *int64    `json:"seed,omitempty"`
	Thinking        *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

// write writes a request. Its error is of the kind invalid.
func (c *Client) write(req *model.Request) (*provider.Outgoing, error) {
	if err := provider.CheckText(req); err != nil {
		return nil, err
	}
	out := &provider.Outgoing{Path: path(req.Model, req.Stream), Stream: req.Stream}
	wire := request{}
	var err error
	if wire.SystemInstruction, wire.Contents, err = conversation(req.Messages); err != nil {
		return nil, err
	}
	if err := c.offer(&wire, req, out); err != nil {
		return nil, err
	}
	g := generation{MaxOutputTokens: req.MaxTokens, Seed: req.Seed}
	g.Temperature, g.TopP = out.Sampling(req)
	g.Thinking = think(req, out)
	if g != (generation{}) {
		wire.GenerationConfig = &g
	}
	more, err := provider.AddExtra(nil, req, "systemInstruction", "contents", "tools", "toolConfig")
	if err != nil {
		return nil, err
	}
	if wire.GenerationConfig != nil && req.Extra["generationConfig"] != nil {
		return nil, provider.Invalid("extra field %q would replace settings that have fields of their own in a request", "generationConfig")
	}
	out.Body = provider.AddMembers(dialect.Encode(wire), more)
	return out, nil
}

// path is where a model is asked. A name may say that it is one of another
// kind, as in tunedModels/mine.
func path(name string, stream bool) string {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || kind != "models" && kind != "tunedModels" {
		kind, rest = "models", name
	}
	method := ":generateContent"
	if stream {
		method = ":streamGenerateContent?alt=sse"
	}
	return "/" + kind + "/" + url.PathEscape(rest) + method
}

// offer declares the tools, and says which may be called.
func (c *Client) offer(wire *request, req *model.Request, out *provider.Outgoing) error {
	var list []declaration
	for _, t := range req.Tools {
		raw, err := provider.Schema(t)
		if err != nil {
			return err
		}
		d := declaration{Name: t.Name, Description: t.Description}
		schema, left, ok := convert(raw)
		if ok {
			d.Parameters = schema
		} else {
			d.JSONSchema, left = raw, nil
		}
		if left != nil {
			if note := fmt.Sprintf("left out of the schema of %s: %s, which Gemini does not take", t.Name, strings.Join(left, ", ")); c.tell(note) {
				out.Notes = append(out.Notes, note)
			}
		}
		list = append(list, d)
	}
	if list == nil {
		return nil
	}
	wire.Tools = []tools{{list}}
	switch req.ToolChoice {
	case "":
	case "none", "auto":
		wire.ToolConfig = &toolConfig{calling{Mode: strings.ToUpper(req.ToolChoice)}}
	case "required":
		wire.ToolConfig = &toolConfig{calling{Mode: "ANY"}}
	default:
		wire.ToolConfig = &toolConfig{calling{"ANY", []string{req.ToolChoice}}}
	}
	return nil
}

// think asks for the effort of a request: models before 3 are given a budget,
// others a level.
func think(req *model.Request, out *provider.Outgoing) *thinking {
	budget, known := map[string]int{"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}[req.Reasoning]
	name := strings.ToLower(req.Model)
	name = name[strings.LastIndexAny(name, "/:")+1:]
	switch {
	case req.Reasoning == "":
		return nil
	case !known:
		out.Notes = append(out.Notes, fmt.Sprintf("reasoning %q left out: Gemini takes none, minimal, low, medium or high", req.Reasoning))
		return nil
	case strings.HasPrefix(name, "gemini-1"), strings.HasPrefix(name, "gemini-2"), strings.HasPrefix(name, "gemini2"):
		return &thinking{Include: budget > 0, Budget: &budget}
	case budget == 0:
		return &thinking{Level: "minimal"} // the least of models that always think
	}
	return &thinking{Include: true, Level: req.Reasoning}
}

// conversation are the system instruction and the contents of a history.
func conversation(history []harness.Message) (system *content, out []content, err error) {
	for i := 0; i < len(history); i++ {
		m := history[i]
		switch m.Role {
		case harness.RoleSystem:
			if system == nil {
				system = &content{}
			}
			system.Parts = append(system.Parts, text(m.Text))
		case harness.RoleAssistant:
			parts := gemini.Back(m, functionCall)
			if m.Refusal != "" {
				parts = append(parts, text(m.Refusal))
			}
			if len(parts) == 0 {
				continue // a reply without text and calls
			}
			out = append(out, content{"model", parts})
			results := i + 1
			for results < len(history) && history[results].Role == harness.RoleTool {
				results++
			}
			answers, err := responses(m.Calls, history[i+1:results])
			if err != nil {
				return nil, nil, err
			}
			if answers != nil {
				out = append(out, content{"user", answers})
			}
			i = results - 1
		case harness.RoleTool:
			return nil, nil, provider.Invalid("message %d is the result of call %q, which the message before it does not have", i+1, m.CallID)
		default:
			if n := len(out); n > 0 && i > 0 && history[i-1].Role == m.Role && out[n-1].Role == "user" {
				out[n-1].Parts = append(out[n-1].Parts, text(m.Text))
				continue
			}
			out = append(out, content{"user", []json.RawMessage{text(m.Text)}})
		}
	}
	return system, out, nil
}

func text(s string) json.RawMessage {
	return dialect.Encode(struct {
		Text string `json:"text"`
	}{s})
}

func functionCall(c harness.ToolCall) json.RawMessage {
	var extra gemini.CallExtra
	_ = json.Unmarshal([]byte(c.Extra), &extra) // of another endpoint, or none
	type call struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	return dialect.Encode(struct {
		Call call `json:"functionCall"`
		gemini.CallExtra
	}{call{c.ID, provider.ToolName(c.Name), dialect.InputObject(c.Arguments)}, extra})
}

// responses are the results of the calls of one message. The API wants one for
// each call; it takes them in any order, and they are sent in that of the calls.
func responses(calls []harness.ToolCall, results []harness.Message) (out []json.RawMessage, err error) {
	type response struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	}
	given := map[string]string{}
	for _, r := range results {
		given[r.CallID] = r.Text
	}
	for _, c := range calls {
		says := map[string]string{"output": given[c.ID]}
		if _, ok := given[c.ID]; !ok {
			says = map[string]string{"error": "there is no result of this call"}
		}
		delete(given, c.ID)
		out = append(out, dialect.Encode(map[string]response{"functionResponse": {c.ID, provider.ToolName(c.Name), says}}))
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		return nil, provider.Invalid("there is a result of call %q, which the message before it does not have", id)
	}
	return out, nil
}
