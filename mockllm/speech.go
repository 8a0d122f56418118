// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// speech is a dialect as the mock speaks it. Each has a file of its own with a
// function that returns it, and a line in speeches.
type speech struct {
	// name tells it in journals and faults. OpenAI's chat completions have
	// none in journals.
	name string
	// decode reads a request. The chat is nil when there is none to speak of.
	// It may set x.extra for render.
	decode func(x *exchange, body []byte, prev *dialect.Chat) (*dialect.Chat, *dialect.Refusal)
	// render writes a reply, as x.chat asks for it and in x.style.
	render func(x *exchange, r *llmwire.Reply) *llmwire.Body
	// refuse is the body of an error. Nil means the refusal's own.
	refuse func(x *exchange, r *dialect.Refusal) []byte
	// id is how ids of replies and calls begin, and how long they go on.
	id, callID wire.IDs
	// quick says that the mock has a faster way to write what render writes
	// in the provider's way. Only chat has.
	quick bool
	// plain leaves out the headers that only OpenAI sends.
	plain bool
	// idHeader is where a plain speech tells the id of the request; empty is
	// nowhere.
	idHeader string
}

// route leads requests to what answers them.
type route struct {
	method string
	// path is below the mock's root. One that ends in / or : is the beginning
	// of paths; the rest goes into exchange.rest.
	path string
	// speech answers a model request; else serve answers.
	speech *speech
	serve  func(m *Mock, x *exchange)
}

// routes is the table of all that a mock answers. A profile may lack some of
// it, see [Mock.lacks], and have more.
func routes() []route {
	return slices.Concat([]route{
		{method: http.MethodPost, path: "/v1/chat/completions", speech: chatSpeech()},
		{method: http.MethodGet, path: "/v1/models", serve: (*Mock).serveModels},
		{method: http.MethodGet, path: "/v1/models/", serve: (*Mock).serveModel},
		{method: http.MethodGet, path: "/rehearse/journal", serve: (*Mock).serveJournal},
		{method: http.MethodPost, path: "/rehearse/reset", serve: (*Mock).serveReset},
		{method: http.MethodPost, path: "/rehearse/cue/", serve: (*Mock).serveCue},
	}, anthropicRoutes(), geminiRoutes(), responsesRoutes(), completionsRoutes(), embeddingsRoutes(), gatewayRoutes())
}

// routing finds routes by path.
type routing struct {
	exact  map[string][]*route
	prefix []*route
}

func newRouting(list []route) routing {
	t := routing{exact: make(map[string][]*route)}
	for i := range list {
		r := &list[i]
		if strings.HasSuffix(r.path, "/") || strings.HasSuffix(r.path, ":") {
			t.prefix = append(t.prefix, r)
		} else {
			t.exact[r.path] = append(t.exact[r.path], r)
		}
	}
	return t
}

// find returns the route of a request. When only the method is wrong, known
// is true.
func (t *routing) find(method, path string) (r *route, rest string, known bool) {
	for _, r := range t.exact[path] {
		if r.method == method {
			return r, "", true
		}
		known = true
	}
	if known {
		return nil, "", true
	}
	n := 0
	for _, c := range t.prefix {
		after, ok := strings.CutPrefix(path, c.path)
		if !ok || after == "" || len(c.path) < n {
			continue
		}
		known = true
		if c.method == method && len(c.path) > n {
			r, rest, n = c, after, len(c.path)
		}
	}
	return r, rest, known
}
