// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// The notifications that clients listen for.
const (
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"
)

// filter says what a modern client listens for.
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (f *filter) passes(method, uri string) bool {
	switch method {
	case mcpwire.NoticeTools:
		return f.Tools
	case promptsChanged:
		return f.Prompts
	case resourcesChanged:
		return f.Resources
	case resourceUpdated:
		return slices.Contains(f.URIs, uri)
	}
	return false
}

// listen is a subscriptions/listen under way.
type listen struct {
	filter filter
	out    *outlet
}

// meta has the subscription's id.
func (l *listen) meta() json.RawMessage {
	return mcpwire.Marshal(map[string]json.RawMessage{mcpwire.MetaSubscription: l.out.r.ID})
}

// listen answers subscriptions/listen: it says what the client will be told
// of, and ends when the client or the server does.
func (s *Server) listen(ctx context.Context, r *request) *outcome {
	var want struct {
		Notifications filter `json:"notifications"`
	}
	_ = json.Unmarshal(r.Params, &want)
	l := &listen{filter: s.allowed(want.Notifications), out: r.out}
	c := r.client
	c.mu.Lock()
	c.listens = append(c.listens, l)
	c.mu.Unlock()
	s.addClient(c)
	defer func() {
		c.mu.Lock()
		c.listens = slices.DeleteFunc(c.listens, func(other *listen) bool { return other == l })
		c.mu.Unlock()
		if c.id == "" {
			s.dropClient(c)
		}
	}()
	_ = r.out.notify("notifications/subscriptions/acknowledged", map[string]any{"_meta": l.meta(), "notifications": l.filter})
	if l.filter.Tools || l.filter.Prompts || l.filter.Resources || len(l.filter.URIs) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-c.eof:
			return nil
		case <-s.closing:
		}
	}
	return &outcome{meta: l.meta()}
}

// allowed is what of a filter the server can serve.
func (s *Server) allowed(want filter) filter {
	can := s.announces()
	f := filter{
		Tools:     want.Tools && can.Tools,
		Prompts:   want.Prompts && can.Prompts,
		Resources: want.Resources && can.Resources,
	}
	if can.URIs != nil {
		f.URIs = want.URIs
	}
	return f
}

// broadcast tells every client that listens: on its pipe, on its listening
// stream, or on each of its subscriptions. Those of a resource are told when
// they subscribed to it: uri, or "". params is anything that encodes as an
// object, or nil.
func (s *Server) broadcast(method, uri string, params any) {
	var raw json.RawMessage
	if params != nil {
		raw = members(params)
	}
	s.mu.Lock()
	clients := slices.Clone(s.clients)
	s.mu.Unlock()
	for _, c := range clients {
		c.tell(method, uri, raw)
	}
}

func (c *client) tell(method, uri string, params json.RawMessage) {
	c.mu.Lock()
	listens := slices.Clone(c.listens)
	wanted := c.greeted && (method != resourceUpdated || c.subscribed[uri])
	c.mu.Unlock()
	if wanted {
		out := c.out
		if out == nil {
			out = c.listening()
		}
		_ = out.tell(method, params)
	}
	for _, l := range listens {
		if !l.filter.passes(method, uri) {
			continue
		}
		tagged := slices.Concat([]byte(`{"_meta":`), l.meta(), []byte(`}`))
		if len(params) > 0 {
			tagged = extend(params, tagged)
		}
		_ = l.out.tell(method, tagged)
	}
}

// addClient makes c one that broadcasts reach.
func (s *Server) addClient(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.clients, c) {
		s.clients = append(s.clients, c)
	}
}

func (s *Server) dropClient(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = slices.DeleteFunc(s.clients, func(other *client) bool { return other == c })
}

// forget ends the session of c: the server knows it no more.
func (s *Server) forget(c *client) {
	s.mu.Lock()
	delete(s.byID, c.id)
	s.mu.Unlock()
	s.dropClient(c)
	c.abandon()
}
