// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// look answers a resources/read and a prompts/get.
func (s *Server) look(ctx context.Context, r *request) *outcome {
	var f *found
	var q *Query
	var rpc *jsonrpc.Error
	if r.Method == methodRead {
		f, q, rpc = s.offer.Load().resource(r.params.URI, r.era == modern)
	} else {
		f, q, rpc = s.offer.Load().prompt(r.Params)
	}
	if rpc != nil {
		return &outcome{rpc: rpc}
	}
	if len(f.before) > 0 {
		rd, rpc := s.resume(r, f.name)
		if rpc != nil {
			return &outcome{rpc: rpc}
		}
		if rd == nil {
			rd = &round{}
		}
		halt := s.play(ctx, r, rd, func(json.RawMessage) ([]Step, error) { return f.before, nil })
		if halt != nil {
			return s.halted(f, halt)
		}
		q.Asked = rd.answers()
	}
	s.fill(q)
	result, err := guard(func() (any, error) { return f.answer(q) })
	switch {
	case errors.Is(err, errGone):
		return &outcome{rpc: notFound(f.name, r.era == modern)}
	case err != nil:
		return &outcome{rpc: s.scriptError("answering "+f.what+" "+f.name, err)}
	}
	return &outcome{result: mcpwire.Marshal(result), cached: r.Method == methodRead}
}

func (s *Server) halted(f *found, h *halt) *outcome {
	switch {
	case h.err != nil:
		return &outcome{rpc: s.scriptError("answering "+f.what+" "+f.name, h.err)}
	case h.rpc != nil:
		return &outcome{rpc: h.rpc}
	case h.refused != "":
		return &outcome{rpc: &jsonrpc.Error{Code: codeBroken, Message: h.refused}}
	}
	return h.outcome()
}

// outcome is what a request is answered with whose steps ended because input
// is required, or because the client waits no more.
func (h *halt) outcome() *outcome {
	if h.required == nil {
		return nil
	}
	return &outcome{result: h.required, kind: "input_required"}
}

// completion answers a completion/complete.
func (s *Server) completion(_ context.Context, r *request) *outcome {
	completion, rpc := s.complete(r.Params)
	if rpc != nil {
		return &outcome{rpc: rpc}
	}
	return &outcome{result: mcpwire.Marshal(map[string]any{"completion": completion})}
}
