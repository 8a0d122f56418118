// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
)

// geminiRequest is the body, but for [Request.Extra].
type geminiRequest struct {
	SystemInstruction *geminiContent    `json:"systemInstruction,omitempty"`
	Contents          []geminiContent   `json:"contents"`
	Tools             []geminiTools     `json:"tools,omitempty"`
	ToolConfig        *geminiToolConfig `json:"toolConfig,omitempty"`
	GenerationConfig  *geminiGeneration `json:"generationConfig,omitempty"`
}

type geminiContent struct {
	Role  string            `json:"role,omitempty"`
	Parts []json.RawMessage `json:"parts"`
}

type geminiTools struct {
	Declarations []geminiDeclaration `json:"functionDeclarations"`
}

type geminiDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type geminiToolConfig struct {
	Calling geminiCalling `json:"functionCallingConfig"`
}

type geminiCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type geminiGeneration struct {
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"topP,omitempty"`
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	Seed            *int64          `json:"seed,omitempty"`
	Thinking        *geminiThinking `json:"thinkingConfig,omitempty"`
}

type geminiThinking struct {
	Include bool   `json:"includeThoughts,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Level   string `json:"thinkingLevel,omitempty"`
}

// writeGemini writes a request. Its error is of the kind invalid.
func (c *Client) writeGemini(req *Request) (*outgoing, error) {
	if err := checkText(req); err != nil {
		return nil, err
	}
	out := &outgoing{Path: geminiPath(req.Model, req.Stream), Stream: req.Stream}
	wire := geminiRequest{}
	var err error
	if wire.SystemInstruction, wire.Contents, err = geminiHistory(req.Messages); err != nil {
		return nil, err
	}
	if err := c.offer(&wire, req, out); err != nil {
		return nil, err
	}
	g := geminiGeneration{MaxOutputTokens: req.MaxTokens, Seed: req.Seed}
	g.Temperature, g.TopP = out.Sampling(req)
	g.Thinking = thinkGemini(req, out)
	if g != (geminiGeneration{}) {
		wire.GenerationConfig = &g
	}
	more, err := addExtra(nil, req, "systemInstruction", "contents", "tools", "toolConfig")
	if err != nil {
		return nil, err
	}
	if wire.GenerationConfig != nil && req.Extra["generationConfig"] != nil {
		return nil, invalid("extra field %q would replace settings that have fields of their own in a request", "generationConfig")
	}
	out.Body = addMembers(dialect.Encode(wire), more)
	return out, nil
}

// geminiPath is where a model is asked. A name may say that it is one of another
// kind, as in tunedModels/mine.
func geminiPath(name string, stream bool) string {
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
func (c *Client) offer(wire *geminiRequest, req *Request, out *outgoing) error {
	var list []geminiDeclaration
	for _, t := range req.Tools {
		raw, err := schemaOf(t)
		if err != nil {
			return err
		}
		d := geminiDeclaration{Name: t.Name, Description: t.Description}
		schema, left, ok := geminiSchema(raw)
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
	wire.Tools = []geminiTools{{list}}
	switch req.ToolChoice {
	case "":
	case "none", "auto":
		wire.ToolConfig = &geminiToolConfig{geminiCalling{Mode: strings.ToUpper(req.ToolChoice)}}
	case "required":
		wire.ToolConfig = &geminiToolConfig{geminiCalling{Mode: "ANY"}}
	default:
		wire.ToolConfig = &geminiToolConfig{geminiCalling{"ANY", []string{req.ToolChoice}}}
	}
	return nil
}

// thinkGemini asks for the effort of a request: models before 3 are given a budget,
// others a level.
func thinkGemini(req *Request, out *outgoing) *geminiThinking {
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
		return &geminiThinking{Include: budget > 0, Budget: &budget}
	case budget == 0:
		return &geminiThinking{Level: "minimal"} // the least of models that always think
	}
	return &geminiThinking{Include: true, Level: req.Reasoning}
}

// geminiHistory are the system instruction and the contents of a history.
func geminiHistory(history []harness.Message) (system *geminiContent, out []geminiContent, err error) {
	for i := 0; i < len(history); i++ {
		m := history[i]
		switch m.Role {
		case harness.RoleSystem:
			if system == nil {
				system = &geminiContent{}
			}
			system.Parts = append(system.Parts, textPart(m.Text))
		case harness.RoleAssistant:
			parts := gemini.Back(m, functionCallPart)
			if m.Refusal != "" {
				parts = append(parts, textPart(m.Refusal))
			}
			if len(parts) == 0 {
				continue // a reply without text and calls
			}
			out = append(out, geminiContent{"model", parts})
			results := i + 1
			for results < len(history) && history[results].Role == harness.RoleTool {
				results++
			}
			answers, err := responseParts(m.Calls, history[i+1:results])
			if err != nil {
				return nil, nil, err
			}
			if answers != nil {
				out = append(out, geminiContent{"user", answers})
			}
			i = results - 1
		case harness.RoleTool:
			return nil, nil, invalid("message %d is the result of call %q, which the message before it does not have", i+1, m.CallID)
		default:
			if n := len(out); n > 0 && i > 0 && history[i-1].Role == m.Role && out[n-1].Role == "user" {
				out[n-1].Parts = append(out[n-1].Parts, textPart(m.Text))
				continue
			}
			out = append(out, geminiContent{"user", []json.RawMessage{textPart(m.Text)}})
		}
	}
	return system, out, nil
}

func textPart(s string) json.RawMessage {
	return dialect.Encode(struct {
		Text string `json:"text"`
	}{s})
}

func functionCallPart(c harness.ToolCall) json.RawMessage {
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
	}{call{c.ID, toolNameOf(c.Name), dialect.InputObject(c.Arguments)}, extra})
}

// responseParts are the results of the calls of one message. The API wants one for
// each call; it takes them in any order, and they are sent in that of the calls.
func responseParts(calls []harness.ToolCall, results []harness.Message) (out []json.RawMessage, err error) {
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
		out = append(out, dialect.Encode(map[string]response{"functionResponse": {c.ID, toolNameOf(c.Name), says}}))
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		return nil, invalid("there is a result of call %q, which the message before it does not have", id)
	}
	return out, nil
}
