// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// TestNestedKeys: a key that does not exist is refused at every depth, with its
// path; keys that clients send back of replies are not.
func TestNestedKeys(t *testing.T) {
	chat := func(body string) (*dialect.Chat, *dialect.Refusal) { return chat.Read([]byte(body), nil) }
	responses := func(body string) (*dialect.Chat, *dialect.Refusal) {
		r, refusal := responses.Read([]byte(body), nil)
		return r.Chat, refusal
	}
	messages := func(body string) (*dialect.Chat, *dialect.Refusal) {
		r, refusal := messages.Read([]byte(body), false, nil)
		return r.Chat, refusal
	}
	const (
		hi    = `"messages":[{"role":"user","content":"hi"}]`
		input = `{"model":"gpt-4o","input":"hi",`
	)
	block := func(b string) string { return claude("", `{"role":"user","content":[`+b+`]}`) }
	for _, tc := range []struct {
		decode     func(string) (*dialect.Chat, *dialect.Refusal)
		body, path string
	}{
		{chat, `{"model":"gpt-4o","tools":[{"type":"function","function":{"name":"f"},"foo":1}],` + hi + `}`, "'tools[0].foo'"},
		{chat, `{"model":"gpt-4o","tools":[{"type":"function","function":{"name":"f","foo":1}}],` + hi + `}`, "'tools[0].function.foo'"},
		{chat, `{"model":"gpt-4o","response_format":{"type":"text","foo":1},` + hi + `}`, "'response_format.foo'"},
		{chat, `{"model":"gpt-4o","stream":true,"stream_options":{"foo":1},` + hi + `}`, "'stream_options.foo'"},
		{chat, `{"model":"gpt-4o","audio":{"voice":"a","format":"wav","foo":1},` + hi + `}`, "'audio.foo'"},
		{chat, `{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"text","text":"a","foo":1}]}]}`, "'messages[0].content[0].foo'"},
		{chat, `{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:","foo":1}}]}]}`, "'messages[0].content[0].image_url.foo'"},
		{chat, `{"model":"gpt-4o","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","refusal":null,"annotations":[],"audio":null,"parsed":null}]}`, ""},
		{responses, input + `"reasoning":{"foo":1}}`, "'reasoning.foo'"},
		{responses, input + `"text":{"foo":1}}`, "'text.foo'"},
		{responses, input + `"text":{"format":{"type":"text","foo":1}}}`, "'text.format.foo'"},
		{responses, input + `"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"function":{}}]}`, "'tools[0].function'"},
		{responses, `{"model":"gpt-4o","input":[{"role":"user","content":"a","foo":1}]}`, "'input[0].foo'"},
		{responses, `{"model":"gpt-4o","input":[{"role":"user","content":[{"type":"input_text","text":"a","foo":1}]}]}`, "'input[0].content[0].foo'"},
		{messages, block(`{"type":"text","text":"a","foo":1}`), "messages.0.content.0.text.foo"},
		{messages, block(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","foo":1}}`), "messages.0.content.0.text.cache_control.ephemeral.foo"},
		{messages, block(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk=","foo":1}}`), "messages.0.content.0.image.source.base64.foo"},
		{messages, claude(`"tools":[{"name":"f","input_schema":{"type":"object"},"foo":1}]`, claudeHi), "tools.0.custom.foo"},
		{messages, claude(`"metadata":{"foo":1}`, claudeHi), "metadata.foo"},
		{messages, claude(`"thinking":{"type":"disabled","foo":1}`, claudeHi), "thinking.disabled.foo"},
		{messages, claude(`"system":[{"type":"text","text":"x","foo":1}]`, claudeHi), "system.0.text.foo"},
		{messages, block(`{"type":"text","text":"a","citations":null,"cache_control":{"type":"ephemeral","ttl":"1h"}}`), ""},
	} {
		c, refusal := tc.decode(tc.body)
		if refusal == nil {
			refusal = c.Unsupported()
		}
		if (refusal == nil) != (tc.path == "") || refusal != nil && !strings.Contains(refusal.Message, tc.path) {
			t.Errorf("%s: %v, want %q", tc.body, refusal, tc.path)
		}
	}
	for body, words := range map[string]string{
		google(googleTool+`,"toolConfig":{"foo":1}`, googleHi):                                                   `Unknown name "foo" at 'tool_config'`,
		google(`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF","foo":1}]`, googleHi): `Unknown name "foo" at 'safety_settings[0]'`,
		google(``, googleParts("user", `{"inlineData":{"mimeType":"image/png","data":"AA==","foo":1}}`)):         `.inline_data'`,
	} {
		if _, r := gemini.Read([]byte(body), &dialect.Query{}); r == nil || !strings.Contains(r.Message, words) {
			t.Errorf("%s: %v, want %q", body, r, words)
		}
	}
}

// FuzzShape: whatever a request has in it, its keys can be looked at.
func FuzzShape(f *testing.F) {
	f.Add(`{"type":"text","text":"a","foo":1}`)
	f.Add(`[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"base64","x":[]}}]}]}]`)
	f.Add(`[[[{"type":1}]],null,{"content":{}}]`)
	f.Fuzz(func(t *testing.T, body string) {
		if !json.Valid([]byte(body)) {
			return
		}
		raw := json.RawMessage(strings.TrimSpace(body))
		for _, members := range []map[string]dialect.Shape{chat.Shapes(), chat.ContentShapes(), responses.Shapes(), messages.Shapes()} {
			for key, s := range members {
				p := s.Unknown(key, raw, dialect.OpenAIPath, func(path, _ string) string { return path })
				if p != "" && !strings.HasPrefix(p, key) {
					t.Errorf("%s: %q", body, p)
				}
			}
		}
	})
}
