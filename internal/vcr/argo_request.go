// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package vcr

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// argoCase is case.json: what all captures of a folder are of.
type argoCase struct {
	Family string            `json:"ingress_family"` // the dialect of ingress.json
	Models map[string]string `json:"models"`         // by target, without -stream
	User   string            `json:"argo_user"`
}

// The dialects of a gateway's endpoints.
const (
	openaiChat = "openai"
	anthropic  = "anthropic"
	argoNative = "argo"
)

// dialectAt is the dialect of an address; empty where nothing is known of it.
func dialectAt(address string) string {
	switch {
	case strings.Contains(address, "/chat/completions"):
		return openaiChat
	case strings.HasSuffix(strings.TrimRight(address, "/"), "/messages"):
		return anthropic
	case strings.Contains(address, "/resource/"):
		return argoNative
	}
	return ""
}

// argoRequest finds the body that was sent to a target, or makes it of the
// case's own request, in the dialect of the target; nil when there was none, as
// for a list of models.
func argoRequest(dir, target, address string) ([]byte, error) {
	body, err := first(dir, target+".capture.request.json", target+".request.json")
	if !errors.Is(err, fs.ErrNotExist) {
		return body, err
	}
	plain, streams := strings.CutSuffix(target, "-stream")
	dialect := dialectAt(address)
	body, err = first(dir, plain+".capture.request.json", plain+".request.json")
	if err == nil {
		return asked(body, "", streams && dialect != argoNative)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	body, err = first(dir, "ingress.json")
	switch {
	case errors.Is(err, fs.ErrNotExist) && dialect == "":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the request is unknown: %w", err)
	}
	c, err := readCase(dir)
	if err != nil {
		return nil, err
	}
	if body, err = translated(body, c, dialect); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "ingress.json"), err)
	}
	return asked(body, c.Models[plain], streams && dialect != argoNative)
}

func readCase(dir string) (argoCase, error) {
	var c argoCase
	path := filepath.Join(dir, "case.json")
	data, err := plainfile.Read(path, plainfile.MaxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// asked sets the model of a request, and whether it wants a stream.
func asked(body []byte, model string, stream bool) ([]byte, error) {
	v, err := value.Parse(body)
	if err != nil {
		return nil, err
	}
	var out []value.Member
	for _, m := range v.Members() {
		switch {
		case m.Key == "stream":
			continue
		case m.Key == "model" && model != "":
			m.Value = value.StringOf(model)
		}
		out = append(out, m)
	}
	if stream {
		out = append(out, value.Member{Key: "stream", Value: value.BoolOf(true)})
	}
	return value.ObjectOf(out...).Append(nil), nil
}

// translated brings the case's own request into the dialect of a target.
func translated(body []byte, c argoCase, dialect string) ([]byte, error) {
	v, err := value.Parse(body)
	if err != nil {
		return nil, err
	}
	from := c.Family
	if _, ok := v.Get("system"); from == "" && ok {
		from = anthropic
	}
	from = cmp.Or(from, openaiChat)
	t := &translator{}
	switch {
	case from == dialect:
	case from == anthropic && (dialect == openaiChat || dialect == argoNative):
		v = t.chatOfMessages(v)
	case dialect == argoNative:
	case from == openaiChat && dialect == anthropic:
		v = t.messagesOfChat(v)
	default:
		t.fail(fmt.Errorf("it is a request to %s, but the target speaks another dialect: add its request as TARGET.request.json", from))
	}
	if _, ok := v.Get("user"); dialect == argoNative && c.User != "" && !ok {
		v = value.ObjectOf(append([]value.Member{{Key: "user", Value: value.StringOf(c.User)}}, v.Members()...)...)
	}
	return v.Append(nil), t.err
}

// object makes an object of keys and values: texts, and values of JSON.
func object(pairs ...any) value.Value {
	var out []value.Member
	for i := 0; i < len(pairs); i += 2 {
		v, _ := value.From(pairs[i+1]) // of these it is never an error
		out = append(out, value.Member{Key: pairs[i].(string), Value: v})
	}
	return value.ObjectOf(out...)
}

// at is a member of an object; null where it is not there.
func at(v value.Value, key string) value.Value {
	got, _ := v.Get(key)
	return got
}

// translator translates requests. What has no counterpart in the other dialect
// is its error.
type translator struct{ err error }

func (t *translator) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *translator) cannot(what string) {
	t.fail(fmt.Errorf("%s has no counterpart in the dialect of the target: add its request as TARGET.request.json", what))
}

// tools are tools declared anew: inner is where a declaration stands in one of
// them, wrap puts the new one into its place.
func tools(list value.Value, schemaIn, schemaOut string, inner, wrap func(value.Value) value.Value) value.Value {
	var out []value.Value
	for _, t := range list.Items() {
		f := inner(t)
		one := []any{"name", at(f, "name")}
		if text := at(f, "description").Str(); text != "" {
			one = append(one, "description", text)
		}
		out = append(out, wrap(object(append(one, schemaOut, at(f, schemaIn))...)))
	}
	return value.ArrayOf(out...)
}

func itself(v value.Value) value.Value { return v }

// chatOfMessages translates a request of Anthropic's Messages into one of
// OpenAI's chat.
func (t *translator) chatOfMessages(v value.Value) value.Value {
	var list []value.Value
	if system, ok := v.Get("system"); ok {
		list = append(list, object("role", "system", "content", t.plainText(system)))
	}
	for _, m := range at(v, "messages").Items() {
		list = append(list, t.chatOfMessage(m)...)
	}
	var out []any
	for _, m := range v.Members() {
		switch m.Key {
		case "system":
		case "messages":
			out = append(out, "messages", value.ArrayOf(list...))
		case "tools":
			out = append(out, "tools", tools(m.Value, "input_schema", "parameters", itself, func(f value.Value) value.Value {
				return object("type", "function", "function", f)
			}))
		case "tool_choice":
			kind := at(m.Value, "type").Str()
			choice := value.StringOf(map[string]string{"any": "required", "auto": "auto", "none": "none"}[kind])
			if kind == "tool" {
				choice = object("type", "function", "function", object("name", at(m.Value, "name")))
			}
			out = append(out, "tool_choice", choice)
		case "stop_sequences":
			out = append(out, "stop", m.Value)
		case "thinking", "metadata":
			t.cannot(m.Key)
		default:
			out = append(out, m.Key, m.Value)
		}
	}
	if _, ok := v.Get("messages"); !ok {
		t.fail(errors.New("it has no messages"))
	}
	return object(out...)
}

// plainText is the text of a content that is a text, or blocks of text.
func (t *translator) plainText(v value.Value) string {
	if v.Kind() != value.Array {
		return v.Str()
	}
	var parts []string
	for _, block := range v.Items() {
		if kind := at(block, "type").Str(); kind != "text" {
			t.cannot(fmt.Sprintf("a block of type %q", kind))
		}
		parts = append(parts, at(block, "text").Str())
	}
	return strings.Join(parts, "\n")
}

func (t *translator) chatOfMessage(m value.Value) []value.Value {
	content := at(m, "content")
	if content.Kind() != value.Array {
		return []value.Value{m}
	}
	var out, calls, texts []value.Value
	for _, block := range content.Items() {
		switch kind := at(block, "type").Str(); kind {
		case "text":
			texts = append(texts, block)
		case "tool_use":
			calls = append(calls, object("id", at(block, "id"), "type", "function",
				"function", object("name", at(block, "name"), "arguments", at(block, "input").String())))
		case "tool_result":
			out = append(out, object("role", "tool", "tool_call_id", at(block, "tool_use_id"), "content", t.plainText(at(block, "content"))))
		default:
			t.cannot(fmt.Sprintf("a block of type %q", kind))
		}
	}
	text := t.plainText(value.ArrayOf(texts...))
	switch {
	case len(calls) > 0:
		said := value.Value{}
		if text != "" {
			said = value.StringOf(text)
		}
		out = append(out, object("role", at(m, "role"), "content", said, "tool_calls", value.ArrayOf(calls...)))
	case len(texts) > 0:
		out = append(out, object("role", at(m, "role"), "content", text))
	}
	return out
}

// messagesOfChat translates a request of OpenAI's chat into one of Anthropic's
// Messages.
func (t *translator) messagesOfChat(v value.Value) value.Value {
	var out []any
	limited := false
	for _, m := range v.Members() {
		switch m.Key {
		case "messages":
			system, list := t.messagesOf(m.Value.Items())
			if system != "" {
				out = append(out, "system", system)
			}
			out = append(out, "messages", value.ArrayOf(list...))
		case "tools":
			out = append(out, "tools", tools(m.Value, "parameters", "input_schema", func(t value.Value) value.Value { return at(t, "function") }, itself))
		case "tool_choice":
			choice := object("type", map[string]string{"required": "any", "none": "none", "auto": "auto"}[m.Value.Str()])
			if m.Value.Kind() == value.Object {
				choice = object("type", "tool", "name", at(at(m.Value, "function"), "name"))
			}
			out = append(out, "tool_choice", choice)
		case "max_tokens", "max_completion_tokens":
			limited = true
			out = append(out, "max_tokens", m.Value)
		case "stop":
			if m.Value.Kind() == value.String {
				m.Value = value.ArrayOf(m.Value)
			}
			out = append(out, "stop_sequences", m.Value)
		case "response_format", "n", "logprobs":
			t.cannot(m.Key)
		case "reasoning_effort", "user", "seed", "stream_options", "parallel_tool_calls":
		default:
			out = append(out, m.Key, m.Value)
		}
	}
	if !limited {
		out = append(out, "max_tokens", 4096) // which it must have
	}
	return object(out...)
}

func (t *translator) messagesOf(items []value.Value) (system string, list []value.Value) {
	for _, m := range items {
		text, calls := t.plainText(at(m, "content")), at(m, "tool_calls")
		switch role := at(m, "role").Str(); {
		case role == "system" || role == "developer":
			system = strings.TrimSpace(system + "\n" + text)
		case role == "tool":
			block := object("type", "tool_result", "tool_use_id", at(m, "tool_call_id"), "content", text)
			list = append(list, object("role", "user", "content", value.ArrayOf(block)))
		case calls.Len() > 0:
			var blocks []value.Value
			if text != "" {
				blocks = append(blocks, object("type", "text", "text", text))
			}
			for _, c := range calls.Items() {
				f := at(c, "function")
				input, err := value.Parse([]byte(at(f, "arguments").Str()))
				if err != nil {
					t.fail(fmt.Errorf("the arguments of a call of %q: %w", at(f, "name").Str(), err))
				}
				blocks = append(blocks, object("type", "tool_use", "id", at(c, "id"), "name", at(f, "name"), "input", input))
			}
			list = append(list, object("role", role, "content", value.ArrayOf(blocks...)))
		default:
			list = append(list, object("role", role, "content", text))
		}
	}
	return system, list
}
