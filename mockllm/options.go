// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/bpe"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// adjust returns what the settings of a request (n, stop, max_tokens,
// response_format, logprobs, tool_choice) make of a reply; nil when they ask
// for nothing. An error of it is a [scriptError] or a miss.
func (m *Mock) adjust(x *exchange, sp *givenReply) func(r *dialect.Reply) error {
	o := x.chat.Options()
	c := sp.content
	err := errors.Join(checkCalls(x, sp), checkChoice(o, sp), checkFormat(o, sp))
	if x.unchecked() {
		err = nil
	}
	long := o.MaxTokens > 0 && c.longer(o.MaxTokens)
	stopped := stopAt(c.say, o.Stop) < len(c.say)
	logprobs := o.Logprobs && len(c.logprobs) > 0
	if err == nil && !long && !stopped && !logprobs && o.Choices == 1 {
		return nil
	}
	return func(r *dialect.Reply) error {
		if err != nil {
			return &scriptError{err}
		}
		first := r.Choices[0]
		if logprobs {
			first.Logprobs = c.logprobs
		}
		told := r.Usage
		r.Choices, r.Usage.CompletionTokens, r.Usage.ReasoningTokens = nil, 0, 0
		for i := range o.Choices {
			choice, tokens, thought := first, told.CompletionTokens, told.ReasoningTokens
			if i > 0 && i <= len(c.others) {
				choice = dialect.Choice{Text: c.others[i-1], Finish: "stop"}
				tokens, thought = countText(choice.Text), 0
			}
			tokens = limit(&choice, o, tokens)
			r.Choices = append(r.Choices, choice)
			r.Usage.CompletionTokens += tokens
			r.Usage.ReasoningTokens += min(thought, tokens)
		}
		r.Usage.TotalTokens = r.Usage.PromptTokens + r.Usage.CompletionTokens
		return nil
	}
}

// checkCalls says what of a scripted reply the dialect has no words for.
func checkCalls(x *exchange, sp *givenReply) error {
	if !x.api.Calls && len(sp.calls) > 0 {
		return fmt.Errorf("the reply calls %s, and a completion has no calls", sp.calls[0].Name)
	}
	return nil
}

// limit ends a choice of so many tokens where stop and max_tokens want it to
// end, and returns how many tokens are left.
func limit(c *dialect.Choice, o dialect.Options, tokens int) int {
	if i := stopAt(c.Text, o.Stop); i < len(c.Text) {
		for _, s := range o.Stop {
			if s != "" && strings.HasPrefix(c.Text[i:], s) {
				c.Stopped = s
				break
			}
		}
		c.Text, c.Calls, c.Finish = c.Text[:i], nil, "stop"
		tokens = countChoice(c)
	}
	if o.MaxTokens > 0 && tokens > o.MaxTokens {
		cutChoice(c, o.MaxTokens)
		tokens = o.MaxTokens
	}
	return tokens
}

// checkChoice says how a scripted reply goes against the request's
// tool_choice: a model does not.
func checkChoice(o dialect.Options, sp *givenReply) error {
	ended := sp.content.finish == "stop" || sp.content.finish == "tool_calls"
	names := make([]string, len(sp.calls))
	for i, c := range sp.calls {
		names[i] = c.Name
	}
	if o.Serial && len(names) > 1 {
		return fmt.Errorf("the reply makes %d calls, and the request's parallel_tool_calls is false: it gets one at most", len(names))
	}
	switch o.ToolChoice {
	case "auto":
	case "none":
		if len(names) > 0 {
			return fmt.Errorf(`the reply calls %s, and the request's tool_choice is "none": it gets text only`, strings.Join(names, ", "))
		}
	case "required":
		if len(names) == 0 && sp.content.refusal == "" && ended {
			return errors.New(`the reply calls no tool, and the request's tool_choice is "required": it gets calls only`)
		}
	default:
		other := slices.IndexFunc(names, func(n string) bool { return n != o.ToolChoice })
		switch {
		case len(names) == 0 && sp.content.refusal == "" && ended:
			return fmt.Errorf("the reply calls no tool, and the request's tool_choice names %s: it gets a call of that", o.ToolChoice)
		case other >= 0:
			return fmt.Errorf("the reply calls %s, and the request's tool_choice names %s: it gets calls of that only", names[other], o.ToolChoice)
		}
	}
	return nil
}

// checkFormat says how the scripted texts go against the request's
// response_format: a model's do not. A refusal and a text cut short may.
func checkFormat(o dialect.Options, sp *givenReply) error {
	c := sp.content
	if o.Format == "text" || c.finish != "stop" || c.refusal != "" {
		return nil
	}
	for _, text := range append([]string{c.say}, c.others...) {
		if err := checkText(o, text); err != nil {
			return err
		}
	}
	return nil
}

func checkText(o dialect.Options, text string) error {
	v, err := value.Parse([]byte(text))
	if err != nil {
		return fmt.Errorf("the reply's text is not JSON, and the request's response_format is %s: %q", o.Format, prose.Excerpt(text, 60))
	}
	if v.Kind() != value.Object && o.Format == "json_object" {
		return fmt.Errorf("the reply's text is JSON and not an object, and the request's response_format is json_object: %q", prose.Excerpt(text, 60))
	}
	if o.Format != "json_schema" {
		return nil
	}
	raw, err := value.Parse(o.Schema)
	if err != nil {
		return fmt.Errorf("the request's json_schema: %w", err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		return fmt.Errorf("the request's json_schema: %w", err)
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("the reply's text does not match the request's json_schema: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// stopAt returns where the first of the stops is in a text; its length when
// none is.
func stopAt(text string, stops []string) int {
	end := len(text)
	for _, s := range stops {
		if i := strings.Index(text, s); s != "" && i >= 0 {
			end = min(end, i)
		}
	}
	return end
}

// longer reports whether more than n tokens are said. No token is shorter than
// a byte, so that most replies need not be counted.
func (c *content) longer(n int) bool {
	bytes := len(c.reasoning) + len(c.say) + len(c.refusal)
	for _, call := range c.calls {
		bytes += callTokens + len(call.tool) + len(call.args)
	}
	if bytes <= n {
		return false
	}
	tokens, _ := c.completionTokens()
	return tokens > n
}

// callTokens is what a call costs beside its name and arguments.
const callTokens = 8

// countChoice counts what a choice says.
func countChoice(c *dialect.Choice) int {
	n := countText(c.Reasoning) + countText(c.Text) + countText(c.Refusal)
	for _, call := range c.Calls {
		n += callTokens + countText(call.Name) + countText(call.Arguments)
	}
	return n
}

// cutChoice cuts a choice after n tokens, in the order in which a model says
// its parts.
func cutChoice(c *dialect.Choice, n int) {
	c.Finish = "length"
	for _, part := range []*string{&c.Reasoning, &c.Text, &c.Refusal} {
		*part, n = cutText(*part, n)
	}
	calls := c.Calls
	c.Calls = nil
	for _, call := range calls {
		if n -= callTokens + countText(call.Name); n <= 0 {
			return
		}
		call.Arguments, n = cutText(call.Arguments, n)
		c.Calls = append(c.Calls, call)
	}
}

// cutText returns the first n tokens of a text, and how many of n are left.
func cutText(s string, n int) (string, int) {
	if n <= 0 || s == "" {
		return "", max(n, 0)
	}
	if count := countText(s); count <= n {
		return s, n - count
	}
	cut := s[:bpe.Prefix(s, n)]
	// A token may end within a character.
	for !utf8.ValidString(cut) && cut != "" {
		cut = cut[:len(cut)-1]
	}
	return cut, 0
}

// cacheFrom and cacheStep say what the provider caches: prompts from so many
// tokens on, in steps of so many.
const (
	cacheFrom = 1024
	cacheStep = 128
)

// cachedTokens counts what a request has in common with the one before.
func cachedTokens(c, before *dialect.Chat) int {
	if before == nil || before.Model() != c.Model() || !sameTools(c, before) {
		return 0
	}
	n := 3 + c.ToolTokens(countTools)
	for i := range c.Common(before) {
		n += c.At(i).Tokens(countMessage)
	}
	if n < cacheFrom {
		return 0
	}
	return n / cacheStep * cacheStep
}

// sameTools reports whether two requests offer the same tools, which come
// before the messages in a prompt.
func sameTools(a, b *dialect.Chat) bool {
	s, t := a.Tools(), b.Tools()
	if len(s) != len(t) || len(s) > 0 && &s[0] == &t[0] {
		return len(s) == len(t)
	}
	for i := range s {
		if s[i].Name != t[i].Name || s[i].Description != t[i].Description || string(s[i].Schema) != string(t[i].Schema) {
			return false
		}
	}
	return true
}
