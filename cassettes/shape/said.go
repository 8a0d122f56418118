// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package shape

import (
	"bytes"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes/vcr"
	"github.com/rehearse-dev/rehearse/harness/value"
)

// Said is what an answer says, for people who compare two: the text of the
// model with its calls of tools in brackets, in one piece whether it was
// streamed or not; else the body as it is.
func Said(i *vcr.Interaction) string {
	s := said{}
	body := bytes.TrimSpace(i.Response.Body)
	if v, err := value.Parse(body); err == nil {
		s.message(v)
	} else {
		for line := range bytes.Lines(body) {
			data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
			if !ok {
				continue
			}
			if v, err := value.Parse(bytes.TrimSpace(data)); err == nil {
				s.message(v)
			}
		}
	}
	s.endCall()
	if s.text.Len() == 0 {
		return string(body)
	}
	return s.text.String()
}

// said collects what a model says.
type said struct {
	text strings.Builder
	call string // the call under way: in streams its arguments come in parts
	open bool
}

func (s *said) say(text string) {
	if text != "" {
		s.endCall()
		s.text.WriteString(text)
	}
}

// tool begins a call, or goes on with one when it has no name.
func (s *said) tool(name, args string) {
	if name != "" {
		s.endCall()
		s.open, s.call = true, name
		if args != "" {
			s.call += " "
		}
	} else if args != "" && s.open && !strings.Contains(s.call, " ") {
		s.call += " "
	}
	s.call += args
}

func (s *said) endCall() {
	if s.open {
		s.text.WriteString("[" + s.call + "]")
	}
	s.open, s.call = false, ""
}

// message reads an answer, or an event of one, in any of the dialects.
func (s *said) message(v value.Value) {
	for _, c := range list(v, "choices") { // OpenAI
		for _, key := range []string{"message", "delta"} {
			m, _ := c.Get(key)
			s.say(textAt(m, "content"))
			for _, call := range list(m, "tool_calls") {
				f, _ := call.Get("function")
				s.tool(textAt(f, "name"), textAt(f, "arguments"))
			}
		}
		s.say(textAt(c, "text")) // of older completions
	}
	s.parts(list(v, "content"))               // Anthropic
	for _, c := range list(v, "candidates") { // Gemini
		content, _ := c.Get("content")
		s.parts(list(content, "parts"))
	}
	if block, ok := v.Get("content_block"); ok {
		s.parts([]value.Value{block})
	}
	switch d, _ := v.Get("delta"); d.Kind() {
	case value.Object:
		s.say(textAt(d, "text"))
		s.tool("", textAt(d, "partial_json"))
	default: // of the Responses API: its last event has all of it
	}
	output := list(v, "output") // the Responses API
	switch r, _ := v.Get("response"); r.Kind() {
	case value.Object:
		if kind := textAt(v, "type"); kind == "" || kind == "response.completed" || kind == "response.incomplete" {
			output = append(output, list(r, "output")...)
		}
		s.say(textAt(r, "content")) // the Argo Gateway
	case value.String:
		s.say(r.Str())
	default:
	}
	for _, item := range output {
		s.parts(list(item, "content"))
		s.parts([]value.Value{item})
	}
}

// parts reads the parts of a message.
func (s *said) parts(parts []value.Value) {
	for _, p := range parts {
		s.say(textAt(p, "text"))
		switch textAt(p, "type") {
		case "tool_use", "function_call":
			args := textAt(p, "arguments")
			if input, ok := p.Get("input"); ok && len(input.Members()) > 0 {
				args = input.String()
			}
			s.tool(textAt(p, "name"), args)
		default:
		}
		if call, ok := p.Get("functionCall"); ok {
			args, _ := call.Get("args")
			s.tool(textAt(call, "name"), args.String())
		}
	}
}

// textAt is the string under a key; empty when there is none.
func textAt(v value.Value, key string) string {
	inner, _ := v.Get(key)
	return inner.Str()
}
