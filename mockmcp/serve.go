// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

const methodList = "tools/list"

// outcome is what a request is answered with: result or rpc.
type outcome struct {
	result json.RawMessage // without what the era adds to each result
	meta   json.RawMessage // the script's _meta of the result, or null
	// inputRequired says that the result asks for input; it has its
	// resultType then.
	inputRequired bool
	rpc           *harness.RPCError
	cancelled     bool // nobody waits for an answer
	// whole says that nothing is to be added to the result.
	whole bool
	// sent is told of the result as it goes out; after is called when it has.
	// Both may be nil.
	sent  func(result json.RawMessage)
	after func()
}

// serves reports whether the requests of a method are answered from the
// script.
func serves(method string) bool { return method == methodCall || method == methodList }

// serve answers a request from the script. ctx ends when the client waits no
// more.
func (s *Server) serve(ctx context.Context, r *request) *outcome {
	if r.Method == methodCall {
		return s.callTool(ctx, r)
	}
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	return &outcome{result: slices.Concat([]byte(`{"tools":`), s.listing, []byte(`}`))}
}

// callTool answers tools/call.
func (s *Server) callTool(ctx context.Context, r *request) *outcome {
	t := &ticket{params: r.Params, after: r.after, decided: r.decided}
	s.run(ctx, t)
	if t.cancelled || t.answer == nil {
		return nil
	}
	if t.answer.RPCError != nil {
		return &outcome{rpc: t.answer.RPCError, sent: func(json.RawMessage) { s.sent(t, nil) }}
	}
	return &outcome{
		result: t.answer.result(r.era),
		sent:   func(result json.RawMessage) { s.sent(t, result) },
	}
}

// result is the result object of an answer, without the envelope of the era.
func (a *Answer) result(e era) json.RawMessage {
	r := struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		IsError    bool              `json:"isError,omitempty"`
	}{Content: a.blocks(), IsError: a.IsError}
	// Before 2026-07-28 structured content is an object or absent.
	if e == modern || isObject(a.JSON) {
		r.Structured = a.JSON
	}
	return mcpwire.Marshal(r)
}
