// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// rewrites reports whether a dialect whose arguments are objects writes a reply
// otherwise than it is given: a proxy may leave out ids, and arguments that are no
// object become one.
func (x *exchange) rewrites(r *dialect.Reply) bool {
	if len(r.Choices) == 0 {
		return false
	}
	calls := r.Choices[0].Calls
	return len(calls) > 0 && x.proxied != nil ||
		slices.ContainsFunc(calls, func(c dialect.Call) bool { return !dialect.IsObject(c.Arguments) })
}

// asReceived is the reply that a client hears which a fault has struck, or which
// the dialect rewrites: what the journal keeps in place of what the script says.
func asReceived(x *exchange, r *dialect.Reply, b *dialect.Body) *dialect.Reply {
	got := r.Clone()
	if len(got.Choices) == 0 {
		got.Choices = []dialect.Choice{{}}
		return got
	}
	c := &got.Choices[0]
	if x.api.Objects && x.rewrites(r) {
		// Where the provider gives up the reply, the journal says what the model wrote.
		if said, err := reread(x.api, b); err == nil {
			c.Calls = callsOf(said)
		}
	}
	if x.struckBy == nil {
		return got
	}
	switch x.struckBy.Kind {
	case fault.MalformedJSON:
		// What goes on after its end can be read, and so can NaN, by Python's clients.
		if (b.Stream || x.struckBy.Form != "trailing") && x.struckBy.Form != "nan" {
			*c = dialect.Choice{}
		}
	case fault.DuplicateChunk, fault.ReorderedChunks, fault.InvalidUTF8, fault.MissingID, fault.MissingName:
		// The frames were changed after the reply was written.
		if x.api.Parse != nil && x.api.Calls && (!x.api.ChatFields || x.proxied == nil) {
			said, _ := reread(x.api, b)
			c.Text, c.Calls = said.Text, callsOf(said)
		}
	}
	return got
}

// reread reads the frames of a reply.
func reread(d *dialect.Dialect, b *dialect.Body) (harness.Message, error) {
	var raw []byte
	for _, f := range b.Frames {
		raw = append(raw, f.Data...)
	}
	// What is not whole about it is another's concern.
	reply, err := dialect.ReadAll(d, b.Header, raw, nil, dialect.Limits{})
	return reply.Message, err
}

func callsOf(m harness.Message) (out []dialect.Call) {
	for _, call := range m.Calls {
		out = append(out, dialect.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return out
}

// toolCalls are the calls of a reply's one answer.
func toolCalls(r *dialect.Reply) (out []harness.ToolCall) {
	for _, call := range r.Choices[0].Calls {
		out = append(out, harness.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return out
}
