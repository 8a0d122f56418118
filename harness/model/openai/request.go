// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	oai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// emptySchema is what a tool without parameters is offered with: null is
// refused.
const emptySchema = `{"type":"object","properties":{}}`

// outgoing is a request as it is sent.
type outgoing struct {
	body   []byte
	stream bool
	notes  []string // of what was left out
}

// wireRequest is the body, but for the members that addSampling and
// [model.Request.Extra] add at its end.
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

// prepare writes a request. The error is of the kind invalid: the request
// cannot be sent as it is.
func (c *Client) prepare(req *model.Request) (*outgoing, error) {
	out := &outgoing{stream: req.Stream}
	if err := checkText(req); err != nil {
		return nil, &model.Error{Kind: model.KindInvalid, Message: err.Error()}
	}
	wire := wireRequest{Model: req.Model, Messages: make([]json.RawMessage, 0, len(req.Messages)), Stream: req.Stream}
	if req.Stream {
		wire.StreamOptions = &oai.StreamOptions{IncludeUsage: true}
	}
	for i, m := range req.Messages {
		raw, err := encodeMessage(m, c.cfg.SendReasoning)
		if err != nil {
			return nil, &model.Error{Kind: model.KindInvalid, Err: err, Message: fmt.Sprintf("writing message %d (%s)", i+1, m.Role)}
		}
		wire.Messages = append(wire.Messages, raw)
	}
	for _, t := range req.Tools {
		schema := t.Schema
		if len(schema) == 0 || string(schema) == "null" {
			schema = json.RawMessage(emptySchema)
		}
		if !json.Valid(schema) {
			return nil, &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("schema of tool %q is not JSON", t.Name)}
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
		return nil, &model.Error{Kind: model.KindInvalid, Err: err, Message: "writing the request"}
	}
	more := out.addSampling(nil, req)
	for _, key := range slices.Sorted(maps.Keys(req.Extra)) {
		switch key {
		case "model", "messages", "tools", "tool_choice", "stream", "stream_options":
			return nil, &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("extra field %q has a place of its own in a request", key)}
		}
		if !json.Valid(req.Extra[key]) {
			return nil, &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("extra field %q is not JSON", key)}
		}
		more = addMember(more, key, req.Extra[key])
	}
	out.body = addMembers(body, more)
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
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		raw, err := json.Marshal(oai.ToolCall{
			ID:       call.ID,
			Type:     oai.ToolTypeFunction,
			Function: oai.FunctionCall{Name: wireName(call.Name), Arguments: call.Arguments},
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

// wireName is a name that the endpoint takes back. A model may have called a
// tool that there is not, by a name that no tool could have; it would be
// refused in the history for ever after.
func wireName(name string) string {
	const longest = 64
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), longest)]
}

// addMember writes a member with the comma before it. Values are made here or
// known to be JSON.
func addMember(out []byte, key string, value any) []byte {
	k, _ := json.Marshal(key)
	v, _ := json.Marshal(value)
	return fmt.Appendf(out, ",%s:%s", k, v)
}

// addMembers adds ,"key":value members to a JSON object.
func addMembers(object, members []byte) []byte {
	if len(members) == 0 {
		return object
	}
	return slices.Concat(object[:len(object)-1], members, []byte("}"))
}

// addSampling adds the parameters that models of some families refuse, as
// far as this one takes them. What is left out is noted: a scenario that runs
// over many models asks them all for temperature 0.
func (out *outgoing) addSampling(more []byte, req *model.Request) []byte {
	f := familyOf(req.Model)
	skip := func(name string, value *float64) {
		out.notes = append(out.notes, fmt.Sprintf("%s %v left out: %s takes none", name, *value, req.Model))
	}
	temperature, topP := req.Temperature, req.TopP
	if temperature != nil && f.fixedSampling && *temperature != 1 {
		skip("temperature", temperature)
		temperature = nil
	}
	if topP != nil && (f.fixedSampling || f.oneSampling && temperature != nil) {
		skip("top_p", topP)
		topP = nil
	}
	if temperature != nil {
		more = addMember(more, "temperature", *temperature)
	}
	if topP != nil {
		more = addMember(more, "top_p", *topP)
	}
	if req.MaxTokens > 0 {
		if f.completionTokens {
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

// family is what the models of one family have in common.
type family struct {
	fixedSampling    bool // no temperature but 1, no top_p
	oneSampling      bool // temperature or top_p, not both
	completionTokens bool // max_completion_tokens in place of max_tokens
}

// familyOf goes by the model's name, also where a proxy puts its own before
// it (argo:gpt-5, openai/o3) or spells it together (gpt5mini, gpto3).
func familyOf(name string) family {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if before, after, ok := strings.Cut(name, ":"); ok && strings.Trim(before, "abcdefghijklmnopqrstuvwxyz") == "" {
		name = after
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("-._", r) {
			return -1
		}
		return r
	}, name)
	for _, prefix := range []string{"gpt5", "gpt6", "o1", "o3", "o4", "gpto1", "gpto3", "gpto4"} {
		if strings.HasPrefix(name, prefix) {
			return family{fixedSampling: true, completionTokens: true}
		}
	}
	if strings.Contains(name, "claude") {
		for _, v := range []string{"opus47", "47opus", "opus48", "48opus"} {
			if strings.Contains(name, v) {
				return family{fixedSampling: true}
			}
		}
		return family{oneSampling: true}
	}
	return family{}
}

// checkText finds text that JSON cannot carry: it would arrive changed.
func checkText(req *model.Request) error {
	for i, m := range req.Messages {
		if at := invalidAt(m.Text, m.Refusal, m.Reasoning, m.CallID, m.Extra); at >= 0 {
			return fmt.Errorf("message %d (%s) is not UTF-8 at byte %d", i+1, m.Role, at)
		}
		for _, call := range m.Calls {
			if at := invalidAt(call.Arguments, call.ID, call.Name); at >= 0 {
				return fmt.Errorf("call of %q in message %d is not UTF-8 at byte %d", call.Name, i+1, at)
			}
		}
	}
	for _, t := range req.Tools {
		at := invalidAt(t.Name, t.Description)
		if at < 0 && !utf8.Valid(t.Schema) {
			at = invalidAt(string(t.Schema))
		}
		if at >= 0 {
			return fmt.Errorf("tool %q is not UTF-8 at byte %d", t.Name, at)
		}
	}
	return nil
}

// invalidAt returns where the first of the texts that is no UTF-8 breaks, or
// -1.
func invalidAt(texts ...string) int {
	for _, s := range texts {
		if utf8.ValidString(s) {
			continue
		}
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return i
			}
			i += n
		}
	}
	return -1
}
