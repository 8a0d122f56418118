// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
)

// chunk is one event of a stream of chat completions, or a whole completion,
// as far as it is read.
type chunk struct {
	ID      dialect.Text         `json:"id"`
	Model   dialect.Text         `json:"model"`
	Choices []choice             `json:"choices"`
	Usage   *dialect.OpenAIUsage `json:"usage"` // of whatever type: no reply is lost for it
}

type choice struct {
	Index        dialect.Number `json:"index"`
	Delta        *replyMessage  `json:"delta"`
	Message      *replyMessage  `json:"message"`
	Text         *dialect.Text  `json:"text"` // of the older completions
	FinishReason dialect.Text   `json:"finish_reason"`
}

type replyMessage struct {
	Content          dialect.Text    `json:"content"`
	Refusal          dialect.Text    `json:"refusal"`
	ReasoningContent *dialect.Text   `json:"reasoning_content"` // DeepSeek's name
	Reasoning        dialect.Text    `json:"reasoning"`         // OpenRouter's
	ReasoningDetails json.RawMessage `json:"reasoning_details"` // OpenRouter's, which it wants back
	ToolCalls        toolCalls       `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"` // before there were tools
}

func (m *replyMessage) reasoning() dialect.Text {
	if m.ReasoningContent != nil && *m.ReasoningContent != "" {
		return *m.ReasoningContent
	}
	return m.Reasoning
}

type toolCall struct {
	Index    dialect.Number  `json:"index"`
	ID       dialect.Text    `json:"id"`
	Type     dialect.Text    `json:"type"`
	Function function        `json:"function"`
	Custom   *custom         `json:"custom"`        // of a tool that takes a text
	Extra    json.RawMessage `json:"extra_content"` // thought signatures and the like
}

// UnmarshalJSON takes any JSON value. Anything that is not an object calls
// nothing.
func (t *toolCall) UnmarshalJSON(b []byte) error {
	type plain toolCall
	return dialect.OfObject(b, (*plain)(t))
}

func (t *toolCall) piece() dialect.Piece {
	p := dialect.Piece{Index: t.Index, ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments, Extra: t.Extra}
	if t.Custom != nil && p.Name == "" && p.Arguments == "" {
		p.Name, p.Arguments = t.Custom.Name, t.Custom.Input
	}
	return p
}

type function struct {
	Name      dialect.Text `json:"name"`
	Arguments dialect.Text `json:"arguments"` // an object becomes its JSON text
}

// UnmarshalJSON takes any JSON value. Anything that is not an object calls
// nothing.
func (f *function) UnmarshalJSON(b []byte) error {
	type plain function
	return dialect.OfObject(b, (*plain)(f))
}

type custom struct {
	Name  dialect.Text `json:"name"`
	Input dialect.Text `json:"input"`
}

// UnmarshalJSON takes any JSON value.
func (c *custom) UnmarshalJSON(b []byte) error {
	type plain custom
	return dialect.OfObject(b, (*plain)(c))
}

// toolCalls is a list of calls, or a bare call where the list was forgotten.
type toolCalls []toolCall

// UnmarshalJSON takes any JSON value. Anything that is not an object in it
// calls nothing.
func (t *toolCalls) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{':
		*t = make(toolCalls, 1)
		return exactjson.Unmarshal(b, &(*t)[0])
	case '[':
		return exactjson.Unmarshal(b, (*[]toolCall)(t))
	}
	return nil
}

// parser puts a reply of chat completions together.
type parser struct {
	details        details
	blankReasoning bool // reasoning_content came, and was empty
}

func newParser() dialect.Parser { return &parser{} }

// Add takes a chunk, or a whole completion.
func (p *parser) Add(r *dialect.Reader, d dialect.Document) error {
	var ch chunk
	if err := exactjson.Unmarshal(d.Data, &ch); err != nil {
		return err
	}
	r.SetID(ch.ID, ch.Model)
	if ch.Usage != nil {
		r.SetUsage(ch.Usage.Total())
	}
	for i := range ch.Choices {
		c := &ch.Choices[i]
		if c.Index.N != r.Choice {
			continue // as a rule, only one answer was asked for
		}
		if c.FinishReason != "" {
			r.Finish = string(c.FinishReason)
		}
		word := dialect.FinishWord(r.Finish)
		if c.Delta != nil || c.Message != nil || c.Text != nil || word == "length" || word == "content_filter" {
			r.Answered = true
		}
		if c.Text != nil {
			r.AddText(*c.Text)
		}
		m := c.Delta
		if m == nil && !r.Begun() {
			m = c.Message // a whole completion; after pieces it would be a repetition
		}
		if m == nil {
			continue
		}
		if err := p.addMessage(r, m, m == c.Message); err != nil {
			return err
		}
	}
	return nil
}

// addMessage takes what a choice says. In a whole message every listed call is
// one call.
func (p *parser) addMessage(r *dialect.Reader, m *replyMessage, whole bool) error {
	if m.ReasoningContent != nil && *m.ReasoningContent == "" {
		p.blankReasoning = true
	}
	r.AddReasoning(m.reasoning())
	r.AddText(m.Content)
	r.Refusal.Add(m.Refusal)
	p.details.add(m.ReasoningDetails)
	for i := range m.ToolCalls {
		d := m.ToolCalls[i].piece()
		var c *dialect.PendingCall
		if !whole {
			c = r.Find(d)
		}
		if d.ID == "" && d.Name == "" && d.Arguments == "" && d.Extra == nil && (whole || c == nil) {
			continue // an entry that calls nothing
		}
		if err := r.AddCall(c, d); err != nil {
			return err
		}
	}
	// Many endpoints send an empty one beside every text.
	if f := m.FunctionCall; f != nil && (f.Name != "" || f.Arguments != "") {
		d := dialect.Piece{Name: f.Name, Arguments: f.Arguments}
		var c *dialect.PendingCall
		if !whole {
			c = r.Find(d)
		}
		return r.AddCall(c, d)
	}
	return nil
}

// End keeps the members of the message that the endpoint sent and may want
// back, as a JSON object.
func (p *parser) End(r *dialect.Reader) {
	members := map[string]json.RawMessage{}
	if list := p.details.list(); list != nil {
		members["reasoning_details"] = list
	}
	if p.blankReasoning && r.Reasoning.Sb.Len() == 0 && len(r.Calls) > 0 {
		members["reasoning_content"] = json.RawMessage(`""`)
	}
	if len(members) > 0 {
		out, _ := json.Marshal(members) // its values were decoded
		r.Extra = string(out)
	}
}

// details are the reasoning_details of a reply, which come in pieces in a
// stream.
type details struct{ items []dialect.Members }

// add takes the items of a document. One that goes on with an item before has
// its index and its type; its texts are appended, and else the last counts.
func (d *details) add(raw json.RawMessage) {
	var list []dialect.Members
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, item := range list {
		if item == nil {
			continue
		}
		last := len(d.items) - 1
		if last < 0 || item["index"] == nil || string(item["index"]) != string(d.items[last]["index"]) || string(item["type"]) != string(d.items[last]["type"]) {
			d.items = append(d.items, item)
			continue
		}
		for key, v := range item {
			have := d.items[last][key]
			switch {
			case string(v) == "null":
			case (key == "text" || key == "summary" || key == "data") && len(have) > 0 && have[0] == '"' && v[0] == '"':
				d.items[last][key] = json.RawMessage(string(have[:len(have)-1]) + string(v[1:]))
			default:
				d.items[last][key] = v
			}
		}
	}
}

func (d *details) list() json.RawMessage {
	if len(d.items) == 0 {
		return nil
	}
	out, _ := json.Marshal(d.items) // they were decoded
	return out
}
