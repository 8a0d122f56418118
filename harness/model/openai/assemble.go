// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

// maxCalls bounds the tool calls of one reply; the API itself allows 128.
const maxCalls = 1024

// assembler puts the chunks of one reply together.
type assembler struct {
	maxArguments int

	id, model string
	usage     harness.Usage
	finish    string
	answered  bool // a message came, or a reason for there being none

	text, reasoning, refusal pieces
	calls                    []*callPieces
	byIndex                  map[int]*callPieces // the last call begun at an index
	notes                    []string
	events                   []model.Event // that the chunk added last tells
}

// pieces is text that comes bit by bit.
type pieces struct {
	joiner
	sb strings.Builder
}

// add returns what can be shown now.
func (p *pieces) add(s text) string {
	out := p.joiner.add(string(s))
	p.sb.WriteString(out)
	return out
}

func (p *pieces) end() string {
	p.sb.WriteString(p.flush())
	return p.sb.String()
}

// callPieces is a tool call that comes bit by bit.
type callPieces struct {
	number    int // in the order of beginning
	index     number
	id, name  string
	arguments pieces
	extra     json.RawMessage
}

// complete reports whether the argument text is a whole JSON object: a call
// that has one takes no more of it.
func (c *callPieces) complete() bool {
	s := strings.TrimSpace(c.arguments.sb.String())
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// add takes a chunk and returns what it tells, until the next one.
func (a *assembler) add(ch *chunk) ([]model.Event, error) {
	if ch.ID != "" {
		a.id = string(ch.ID)
	}
	if ch.Model != "" {
		a.model = string(ch.Model)
	}
	if ch.Usage != nil {
		if u := ch.Usage.total(); u != (harness.Usage{}) {
			a.usage = u
		}
	}
	a.events = a.events[:0]
	for _, c := range ch.Choices {
		if c.Index.n != 0 {
			continue // only one answer was asked for
		}
		if c.FinishReason != "" {
			a.finish = string(c.FinishReason)
		}
		if c.Delta != nil || c.Message != nil || a.finish == "length" || a.finish == "content_filter" {
			a.answered = true
		}
		m := c.Delta
		if m == nil && !a.begun() {
			m = c.Message // a whole completion; after pieces it would be a repetition
		}
		if m == nil {
			continue
		}
		if err := a.addMessage(m, m == c.Message); err != nil {
			return nil, err
		}
	}
	return a.events, nil
}

func (a *assembler) begun() bool {
	return a.text.sb.Len() > 0 || a.reasoning.sb.Len() > 0 || len(a.calls) > 0
}

// addMessage takes what a choice says. In a whole message every listed call is
// one call.
func (a *assembler) addMessage(m *message, whole bool) error {
	if s := a.reasoning.add(text(m.reasoning())); s != "" {
		a.events = append(a.events, model.ReasoningDelta{Text: s})
	}
	if s := a.text.add(m.Content); s != "" {
		a.events = append(a.events, model.TextDelta{Text: s})
	}
	a.refusal.add(m.Refusal)
	deltas := m.ToolCalls
	if m.FunctionCall != nil {
		deltas = append(deltas, toolCall{Function: *m.FunctionCall})
	}
	for _, d := range deltas {
		var c *callPieces
		if !whole {
			c = a.find(d)
		}
		event, err := a.addCall(c, d)
		if err != nil {
			return err
		}
		a.events = append(a.events, event)
	}
	return nil
}

// addCall takes a piece of c, or of a new call when c is nil.
func (a *assembler) addCall(c *callPieces, d toolCall) (model.Event, error) {
	if c == nil {
		if len(a.calls) == maxCalls {
			return nil, &model.Error{Kind: model.KindTooLarge, Message: fmt.Sprintf("more than %d tool calls in one reply", maxCalls)}
		}
		c = &callPieces{number: len(a.calls), index: d.Index}
		a.calls = append(a.calls, c)
	}
	if d.Index.set {
		if a.byIndex == nil {
			a.byIndex = make(map[int]*callPieces)
		}
		a.byIndex[d.Index.n] = c
	}
	if c.id == "" {
		c.id = string(d.ID)
	}
	switch name := string(d.Function.Name); {
	case c.name == "":
		c.name = name
	case name != c.name && c.arguments.sb.Len() == 0:
		c.name += name // a name in pieces
	}
	if len(d.Extra) > 0 && string(d.Extra) != "null" {
		c.extra = d.Extra
	}
	if c.arguments.sb.Len()+len(d.Function.Arguments) > a.maxArguments {
		return nil, &model.Error{Kind: model.KindTooLarge, Message: fmt.Sprintf("arguments of tool call %q are longer than %d bytes", c.name, a.maxArguments)}
	}
	piece := c.arguments.add(d.Function.Arguments)
	return model.CallDelta{Call: c.number, ID: c.id, Name: c.name, Arguments: piece}, nil
}

// find returns the call that d continues, nil if it begins one. The index
// tells, but some endpoints number every call 0, or none.
func (a *assembler) find(d toolCall) *callPieces {
	var c *callPieces
	if d.Index.set {
		c = a.byIndex[d.Index.n]
	} else if len(a.calls) > 0 {
		c = a.calls[len(a.calls)-1]
		if i := slices.IndexFunc(a.calls, func(o *callPieces) bool { return o.id == string(d.ID) }); i >= 0 && d.ID != "" {
			c = a.calls[i]
		}
	}
	if c == nil || d.Function.Name == "" {
		return c // a piece without a name never begins a second call
	}
	switch {
	case d.ID != "" && c.id != "":
		if string(d.ID) != c.id {
			return nil
		}
	case !d.Index.set && string(d.Function.Name) != c.name,
		d.Function.Arguments != "" && c.complete():
		return nil
	}
	return c
}

// message returns the whole reply. The calls are in the order of their
// indexes, where the endpoint numbers them; said are the messages before,
// whose ids of calls are taken.
func (a *assembler) message(said []harness.Message) (harness.Message, error) {
	m := harness.Message{
		Role:      harness.RoleAssistant,
		Text:      a.text.end(),
		Reasoning: a.reasoning.end(),
		Refusal:   a.refusal.end(),
	}
	slices.SortStableFunc(a.calls, func(x, y *callPieces) int { return x.index.n - y.index.n })
	for i, c := range a.calls {
		c.id, c.name = toValid(c.id), toValid(c.name)
		if c.name == "" {
			return m, &model.Error{Kind: model.KindMalformed, Message: fmt.Sprintf("tool call %d of the reply has no name", i+1)}
		}
		if c.id == "" || hasCall(m.Calls, c.id) {
			a.name(c, append(said[:len(said):len(said)], m))
		}
		call := harness.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.end()}
		if c.extra != nil {
			call.Extra = `{"extra_content":` + string(c.extra) + `}`
		}
		m.Calls = append(m.Calls, call)
	}
	return m, nil
}

// name gives c an id that none of the calls in messages has.
func (a *assembler) name(c *callPieces, messages []harness.Message) {
	taken := map[string]bool{"": true}
	for _, m := range messages {
		for _, call := range m.Calls {
			taken[call.ID] = true
		}
	}
	old := c.id
	for n := len(taken) - 1; taken[c.id]; n++ {
		c.id = fmt.Sprintf("call_%d", n)
	}
	a.note("call of %s came with the id %q and was given %q", c.name, old, c.id)
}

func hasCall(calls []harness.ToolCall, id string) bool {
	return slices.ContainsFunc(calls, func(c harness.ToolCall) bool { return c.ID == id })
}

func (a *assembler) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// whole reports whether a reply without finish_reason is likely to be all of
// it: its usage came. Calls with all their arguments are no sign: another may
// be missing, and some proxies end a stream that was cut off with [DONE].
func (a *assembler) whole() bool { return a.usage != (harness.Usage{}) }
