// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// errorEffects are those of an error inside a 200.
func (m *Mock) errorEffects(f *Fault, form string) (effects, bool) {
	switch f.Kind {
	case fault.InStreamError:
		if form == "finish" {
			return effects{reply: func(_ *exchange, r *dialect.Reply) {
				for i := range r.Choices {
					c := &r.Choices[i]
					c.Finish, c.Calls = "error", nil
					c.Text = string([]rune(c.Text)[:len([]rune(c.Text))/2])
				}
			}}, true
		}
		const usual = `{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}`
		return onBody(func(x *exchange, b *dialect.Body) { errorInside(x, b, f.At, form, cmp.Or(f.Body, usual)) })
	case fault.SwallowedError:
		return onBody(func(_ *exchange, b *dialect.Body) {
			b.Part = true
			if b.Stream {
				b.Frames = slices.DeleteFunc(slices.Clone(b.Frames), func(f dialect.Frame) bool { return f.Kind != dialect.KindDone })
				return
			}
			b.Frames = []dialect.Frame{{Data: []byte("{}\n"), Kind: dialect.KindFault}}
		})
	}
	return effects{}, false
}

// errorInside puts an error in place of the rest of a reply.
func errorInside(x *exchange, b *dialect.Body, at fault.At, form, object string) {
	doc := errorDocument(form, object)
	if !b.Stream {
		b.Frames, b.Part = []dialect.Frame{{Data: []byte(doc + "\n"), Kind: dialect.KindFault}}, true
		return
	}
	event := "data: " + doc + "\n\n"
	switch form {
	case "event":
		event = "event: error\n" + event
	case "bare":
		event = doc + "\n\n"
	}
	before, after := strike(b.Frames, fault.At{Chunk: at.Chunk, Token: at.Token}, false)
	done := slices.DeleteFunc(after, func(f dialect.Frame) bool { return f.Kind != dialect.KindDone })
	failure := dialect.Frame{Data: []byte(event), Kind: dialect.KindFault, Flush: true}
	if usual := form == "object" || form == "unended" || form == "held"; usual && x.api.Failure != nil && len(before) > 0 {
		failure.Data = x.api.Failure(before, json.RawMessage(object)).Data
	}
	before = append(before, failure)
	then := dialect.ThenEnd
	switch form {
	case "held":
		then, done = dialect.ThenHang, nil
	case "unended":
		then = dialect.ThenCut
	}
	ends(b, append(before, done...), nil, then)
}

// errorDocument spells an error in one of the ways that there are.
func errorDocument(form, object string) string {
	switch form {
	case "spaced":
		return fmt.Sprintf(`{ "error": %s }`, object)
	case "not_first":
		return fmt.Sprintf(`{"id":"chatcmpl-0","object":"chat.completion.chunk","created":%d,"model":"gpt-4o","error":%s}`, epoch, object)
	case "event":
		return `{"detail":"The server had an error while processing your request."}`
	case "string":
		return `{"error":"The server had an error while processing your request."}`
	case "no_message":
		return `{"error":{"type":"server_error","code":500}}`
	case "anthropic":
		return `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`
	}
	return fmt.Sprintf(`{"error":%s}`, object)
}
