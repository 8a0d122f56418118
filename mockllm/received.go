// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// asReceived is the reply that a client hears of which a fault has struck: what the
// journal keeps in place of what the script says.
func asReceived(x *exchange, r *dialect.Reply, b *dialect.Body) *dialect.Reply {
	got := r.Clone()
	if len(got.Choices) == 0 {
		got.Choices = []dialect.Choice{{}}
		return got
	}
	c := &got.Choices[0]
	switch x.struckBy.Kind {
	case fault.MalformedJSON:
		if b.Stream || x.struckBy.Form != "trailing" { // what goes on after its end can be read
			*c = dialect.Choice{}
		}
	case fault.DuplicateChunk, fault.ReorderedChunks, fault.InvalidUTF8, fault.MissingID, fault.MissingName:
		// The frames were changed after the reply was written.
		if x.api.Parse != nil && x.api.Calls && (!x.api.ChatFields || x.proxied == nil) {
			reread(c, x.api, b)
		}
	}
	return got
}

// reread takes text and calls from the frames of a reply.
func reread(c *dialect.Choice, d *dialect.Dialect, b *dialect.Body) {
	var raw []byte
	for _, f := range b.Frames {
		raw = append(raw, f.Data...)
	}
	// What is not whole about it is another's concern.
	reply, _ := dialect.ReadAll(d, b.Header, raw, nil, dialect.Limits{})
	c.Text, c.Calls = reply.Message.Text, nil
	for _, call := range reply.Message.Calls {
		c.Calls = append(c.Calls, dialect.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
}
