// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// Completions is a request to the older completions endpoint.
type Completions struct {
	// Chat has the prompts as one user message. It is never nil.
	Chat *Chat
	// Prompts are the texts to go on from; each gets its own choices. Tokens
	// are spelled as JSON.
	Prompts []string
	// Echo says that the prompt comes before the text.
	Echo bool
}

const (
	// defaultTokens bounds a completion that does not say.
	defaultTokens = 16
	maxLogprobs   = 5
	endOfText     = "<|endoftext|>"
)

// DecodeCompletions reads the body of a completions request. The completions
// are nil when the body is no JSON object; otherwise they are there beside a
// refusal, as far as they could be read.
func DecodeCompletions(body []byte) (*Completions, *Refusal) {
	o, refusal := readBody(body)
	if refusal != nil {
		return nil, refusal
	}
	c, e := &Completions{}, &envelope{}
	refusal = c.read(o, e)
	req := harness.Request{Model: e.model, Temperature: e.temperature, MaxTokens: e.maxTokens, Stream: e.stream}
	req.Messages = []harness.Message{{Role: harness.RoleUser, Text: strings.Join(c.Prompts, "\n")}}
	c.Chat = NewChat(req, body)
	c.Chat.env.options, c.Chat.env.choices, c.Chat.env.includeUsage = e.options, e.choices, e.includeUsage
	c.Chat.refusal = refusal
	return c, refusal
}

func (c *Completions) read(o object, e *envelope) *Refusal {
	var logprobs int
	for _, name := range []string{"messages", "tools", "tool_choice", "response_format", "max_completion_tokens", "functions"} {
		if _, ok := o[name]; ok {
			return invalid("", "", "Unrecognized request argument supplied: %s", name)
		}
	}
	r := firstOf(
		func() *Refusal { return e.readModel(o["model"]) },
		func() *Refusal { return c.readPrompt(o["prompt"]) },
		func() *Refusal { return decimal("temperature", o["temperature"], 2, &e.temperature) },
		func() *Refusal { return within("top_p", o["top_p"], 0, 1) },
		func() *Refusal { return integer("max_tokens", o["max_tokens"], &e.maxTokens) },
		func() *Refusal { return atLeast("max_tokens", e.maxTokens, 0) },
		func() *Refusal { return positive("n", o["n"], &e.choices) },
		func() *Refusal { return boolean("stream", o["stream"], &e.stream) },
		func() *Refusal { return boolean("echo", o["echo"], &c.Echo) },
		func() *Refusal { return str("suffix", o["suffix"], nil) },
		func() *Refusal { return integer("logprobs", o["logprobs"], &logprobs) },
		func() *Refusal { return atMost("logprobs", logprobs, maxLogprobs) },
		func() *Refusal { return e.readOptions(o) },
		func() *Refusal { return e.streamOptions(o["stream_options"]) },
	)
	e.options.Logprobs = !absent(o["logprobs"])
	if e.maxTokens == 0 {
		e.maxTokens = defaultTokens
	}
	return r
}

// readModel reads the model's name.
func (e *envelope) readModel(raw json.RawMessage) *Refusal {
	switch {
	case absent(raw):
	case raw[0] != '"':
		return wrongType("model", "a string", raw)
	default:
		e.model = text(raw)
	}
	if e.model == "" {
		return invalid("", "", "you must provide a model parameter")
	}
	return nil
}

func (c *Completions) readPrompt(raw json.RawMessage) *Refusal {
	if absent(raw) {
		c.Prompts = []string{endOfText}
		return nil
	}
	list, ok := texts(raw)
	if !ok {
		return invalid("", "", "'$.prompt' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	}
	c.Prompts = list
	return nil
}

// texts reads what the older endpoints take as text: a string, an array of
// strings, an array of tokens, or an array of such arrays. Tokens are spelled
// as they came.
func texts(raw json.RawMessage) ([]string, bool) {
	switch raw[0] {
	case '"':
		return []string{text(raw)}, true
	case '[':
	default:
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, false
	}
	if tokens(raw) {
		return []string{string(raw)}, true
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		switch {
		case v[0] == '"' && list[0][0] == '"':
			out = append(out, text(v))
		case v[0] == '[' && list[0][0] == '[' && tokens(v):
			out = append(out, string(v))
		default:
			return nil, false
		}
	}
	return out, true
}

// tokens reports whether raw is an array of tokens.
func tokens(raw json.RawMessage) bool {
	var list []uint32
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}
