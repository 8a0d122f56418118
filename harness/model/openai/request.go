// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
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

// outgoing is a request in go-openai's words, and what they cannot say.
type outgoing struct {
	req   oai.ChatCompletionRequest
	plain bool // asked without streaming
	// members are added to the body, as ,"key":value.
	members []byte
	// inMessages are members to add to messages, and inCalls to their calls,
	// by index.
	inMessages map[int]string
	inCalls    map[int]map[int]string
	notes      []string
}

// prepare says a request in go-openai's words. The error is of the kind
// invalid: the request cannot be sent as it is.
func (c *Client) prepare(req *model.Request) (*outgoing, error) {
	if err := checkText(req); err != nil {
		return nil, &model.Error{Kind: model.KindInvalid, Message: err.Error()}
	}
	out := &outgoing{plain: !req.Stream}
	out.req = oai.ChatCompletionRequest{Model: req.Model}
	if req.Stream {
		out.req.StreamOptions = &oai.StreamOptions{IncludeUsage: true}
	}
	out.req.Messages = make([]oai.ChatCompletionMessage, 0, len(req.Messages))
	for i, m := range req.Messages {
		out.addMessage(i, m, c.cfg.SendReasoning)
	}
	for _, t := range req.Tools {
		schema := t.Schema
		if len(schema) == 0 || string(schema) == "null" {
			schema = json.RawMessage(emptySchema)
		}
		out.req.Tools = append(out.req.Tools, oai.Tool{
			Type:     oai.ToolTypeFunction,
			Function: &oai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema},
		})
	}
	switch req.ToolChoice {
	case "":
	case "none", "auto", "required":
		out.req.ToolChoice = req.ToolChoice
	default:
		out.req.ToolChoice = oai.ToolChoice{Type: oai.ToolTypeFunction, Function: oai.ToolFunction{Name: req.ToolChoice}}
	}
	out.addSampling(req)
	for _, key := range slices.Sorted(maps.Keys(req.Extra)) {
		switch key {
		case "model", "messages", "tools", "tool_choice", "stream", "stream_options":
			return nil, &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("extra field %q has a place of its own in a request", key)}
		}
		out.add(key, req.Extra[key])
	}
	return out, nil
}

func (out *outgoing) addMessage(i int, m harness.Message, reasoning bool) {
	msg := oai.ChatCompletionMessage{
		Role:       string(m.Role),
		Content:    m.Text,
		Refusal:    m.Refusal,
		ToolCallID: m.CallID,
	}
	if reasoning {
		msg.ReasoningContent = m.Reasoning
	}
	for j, call := range m.Calls {
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		msg.ToolCalls = append(msg.ToolCalls, oai.ToolCall{
			ID:       call.ID,
			Type:     oai.ToolTypeFunction,
			Function: oai.FunctionCall{Name: wireName(call.Name), Arguments: call.Arguments},
		})
		if extra := strings.TrimSpace(call.Extra); len(extra) > 2 {
			if out.inCalls == nil {
				out.inCalls = make(map[int]map[int]string)
			}
			if out.inCalls[i] == nil {
				out.inCalls[i] = make(map[int]string)
			}
			out.inCalls[i][j] = "," + extra[1:len(extra)-1]
		}
	}
	if m.Text == "" && len(m.Calls) == 0 {
		if out.inMessages == nil {
			out.inMessages = make(map[int]string)
		}
		out.inMessages[i] = `,"content":""`
	}
	out.req.Messages = append(out.req.Messages, msg)
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

func (out *outgoing) add(key string, value any) {
	k, _ := json.Marshal(key)
	v, err := json.Marshal(value)
	if err != nil {
		v = []byte("null")
	}
	out.members = fmt.Appendf(out.members, ",%s:%s", k, v)
}

// addSampling adds the parameters that models of some families refuse, as
// far as this one takes them. What is left out is noted: a scenario that runs
// over many models asks them all for temperature 0.
func (out *outgoing) addSampling(req *model.Request) {
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
		out.add("temperature", *temperature)
	}
	if topP != nil {
		out.add("top_p", *topP)
	}
	if req.MaxTokens > 0 {
		if f.completionTokens {
			out.add("max_completion_tokens", req.MaxTokens)
		} else {
			out.add("max_tokens", req.MaxTokens)
		}
	}
	if req.Seed != nil {
		out.add("seed", *req.Seed)
	}
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
		if at := invalidAt(m.Text, m.Refusal, m.Reasoning, m.CallID); at >= 0 {
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

// unsent says why go-openai did not send a request.
func unsent(req *model.Request) string {
	for _, t := range req.Tools {
		if len(t.Schema) > 0 && !json.Valid(t.Schema) {
			return fmt.Sprintf("schema of tool %q is not JSON", t.Name)
		}
	}
	// It refuses some models and parameters by itself.
	return "go-openai does not send the request"
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

// isWhole says that the body is sent as go-openai writes it.
func (out *outgoing) isWhole() bool {
	return len(out.members)+len(out.inMessages)+len(out.inCalls) == 0
}

// complete makes the body that is sent of the one that go-openai wrote.
func (out *outgoing) complete(body []byte) ([]byte, error) {
	if len(out.inMessages)+len(out.inCalls) > 0 {
		var doc struct {
			Messages json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			return nil, err
		}
		messages, err := out.completeMessages(doc.Messages)
		if err != nil {
			return nil, err
		}
		body = bytes.Replace(body, doc.Messages, messages, 1)
	}
	return addMembers(body, out.members), nil
}

func (out *outgoing) completeMessages(raw json.RawMessage) ([]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for i, members := range out.inMessages {
		list[i] = addMembers(list[i], []byte(members))
	}
	for i, calls := range out.inCalls {
		var doc struct {
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		var each []json.RawMessage
		if err := json.Unmarshal(list[i], &doc); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(doc.ToolCalls, &each); err != nil {
			return nil, err
		}
		for j, members := range calls {
			each[j] = addMembers(each[j], []byte(members))
		}
		list[i] = bytes.Replace(list[i], doc.ToolCalls, joinArray(each), 1)
	}
	return joinArray(list), nil
}

// addMembers adds ,"key":value members to a JSON object.
func addMembers(object, members []byte) []byte {
	if len(members) == 0 {
		return object
	}
	return slices.Concat(object[:len(object)-1], members, []byte("}"))
}

func joinArray(list []json.RawMessage) []byte {
	out := []byte("[")
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}
