// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// The lists, by method.
const (
	methodPrompts   = "prompts/list"
	methodResources = "resources/list"
	methodTemplates = "resources/templates/list"
)

// listKey is the member of the result that has the entries; "" for a method
// that lists nothing of ours.
func listKey(method string) string {
	switch method {
	case mcpwire.MethodTools:
		return "tools"
	case methodPrompts:
		return "prompts"
	case methodResources:
		return "resources"
	case methodTemplates:
		return "resourceTemplates"
	}
	return ""
}

// entries returns the entries of a list, and all of them as an array.
func (o *offer) entries(method string) ([]json.RawMessage, json.RawMessage) {
	switch method {
	case methodPrompts:
		return o.prompts.entries, o.prompts.all
	case methodResources:
		return o.resources.entries, o.resources.all
	case methodTemplates:
		return o.templates.entries, o.templates.all
	}
	return o.tools.entries, o.tools.all
}

// cursor is what an opaque cursor says.
type cursor struct {
	List string `json:"l"`
	From int    `json:"f"`
	// Shuffle is the number of the shuffled list, so that its pages fit.
	Shuffle uint64 `json:"s,omitempty"`
}

func (c cursor) String() string { return base64.RawURLEncoding.EncodeToString(mcpwire.Marshal(c)) }

func readCursor(s string) (c cursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	return c, err == nil && json.Unmarshal(raw, &c) == nil && c.From > 0
}

// list answers a request for a list with the page that it asks for.
func (s *Server) list(_ context.Context, r *request) *outcome {
	out := &outcome{cached: true}
	o := s.offer.Load()
	if r.Method == mcpwire.MethodTools {
		if s.changes != nil {
			out.after = s.changes.listed(r.out)
		}
		s.mu.Lock()
		s.lists++
		s.mu.Unlock()
	}
	entries, all := o.entries(r.Method)
	key, size, seed := listKey(r.Method), s.script.Protocol.PageSize, s.script.Protocol.Shuffle
	at := cursor{List: key}
	if r.params.Cursor != "" {
		c, ok := readCursor(r.params.Cursor)
		if !ok || c.List != key || size == 0 {
			out.rpc = invalid("Invalid cursor")
			return out
		}
		at = c
	}
	next := ""
	if size > 0 || seed != 0 {
		if seed != 0 {
			if at.Shuffle == 0 {
				at.Shuffle = s.shuffles.Add(1)
			}
			entries = shuffled(entries, uint64(seed), at.Shuffle)
		}
		from := min(at.From, len(entries))
		page := entries[from:]
		if size > 0 && len(page) > size {
			page = page[:size]
			at.From = from + size
			next = at.String()
		}
		all = array(page)
	}
	out.result = append(append(append([]byte(`{"`), key...), `":`...), all...)
	if next != "" {
		out.result = append(append(append(out.result, `,"nextCursor":"`...), next...), '"')
	}
	out.result = append(out.result, '}')
	return out
}

// array writes compact values as an array.
func array(items []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

// shuffled returns the entries in the order of the n-th list of a seed.
func shuffled(entries []json.RawMessage, seed, n uint64) []json.RawMessage {
	r := rand.New(rand.NewPCG(seed, n))
	mixed := make([]json.RawMessage, len(entries))
	for i, j := range r.Perm(len(entries)) {
		mixed[i] = entries[j]
	}
	return mixed
}
