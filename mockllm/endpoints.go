// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// route leads requests to what answers them.
type route struct {
	method string
	// path is below the mock's root. One that ends in / is the beginning of
	// paths; the rest goes into exchange.rest.
	path string
	// api answers a model request; else serve answers.
	api   *dialect.Dialect
	serve func(m *Mock, x *exchange)
}

// routes is the table of all that a mock answers. A profile may lack some of
// it, see [Mock.lacks], and have more.
func routes() []route {
	const (
		get, post, drop       = http.MethodGet, http.MethodPost, http.MethodDelete
		conversations, stored = "/v1/conversations", "/v1/responses"
	)
	out := []route{
		{method: get, path: "/v1/models", serve: (*Mock).serveModels},
		{method: get, path: "/v1/models/", serve: (*Mock).serveModels},
		{method: get, path: "/rehearse/journal", serve: (*Mock).serveJournal},
		{method: post, path: "/rehearse/reset", serve: (*Mock).serveReset},
		{method: post, path: "/rehearse/cue/", serve: (*Mock).serveCue},
		{method: post, path: "/v1/messages/count_tokens", serve: (*Mock).countMessages},
		{method: get, path: stored, serve: (*Mock).serveUpgrade},
		{method: get, path: stored + "/", serve: (*Mock).serveResponse},
		{method: drop, path: stored + "/", serve: (*Mock).deleteResponse},
		{method: post, path: conversations, serve: (*Mock).createConversation},
		{method: post, path: conversations + "/", serve: (*Mock).changeConversation},
		{method: get, path: conversations + "/", serve: (*Mock).serveConversation},
		{method: drop, path: conversations + "/", serve: (*Mock).deleteConversation},
		{method: post, path: "/v1/embeddings", serve: (*Mock).serveEmbeddings},
	}
	for _, d := range dialects.All() {
		if d.Path != "" {
			out = append(out, route{method: post, path: "/v1" + d.Path, api: d})
		}
	}
	// Clients of Google's call the stable version and beta.
	for _, version := range []string{"/v1", "/v1beta", "/v1alpha"} {
		out = append(out,
			route{method: post, path: version + "/models/", serve: (*Mock).serveMethod},
			route{method: post, path: version + "/tunedModels/", serve: (*Mock).serveMethod},
		)
		if version != "/v1" { // those are OpenAI's as well
			out = append(out,
				route{method: get, path: version + "/models", serve: (*Mock).serveGoogleModels},
				route{method: get, path: version + "/models/", serve: (*Mock).serveGoogleModels},
			)
		}
	}
	return out
}

func newRouting(list []route) routing {
	t := routing{exact: make(map[string][]*route)}
	for i := range list {
		r := &list[i]
		if strings.HasSuffix(r.path, "/") {
			t.prefix = append(t.prefix, r)
		} else {
			t.exact[r.path] = append(t.exact[r.path], r)
		}
	}
	return t
}

// unanswered is a request that no model answers.
type unanswered struct{ dialect.Plain }

// Write writes nothing.
func (unanswered) Write(*dialect.Reply, dialect.Writing) *dialect.Body { return nil }

// countMessages answers how many tokens a request has.
func (m *Mock) countMessages(x *exchange) {
	x.api, x.query.Counting = messages.Dialect, true
	if m.counted(x) {
		m.common(x)
		m.writeJSON(x.w, map[string]int{"input_tokens": promptTokens(x.chat)})
	}
}

// counted reads a request whose tokens are to be counted. What is refused goes
// into the journal; what is counted does not, since no model is asked.
func (m *Mock) counted(x *exchange) bool {
	refusal := m.read(x)
	if refusal == nil {
		refusal = m.unknownModel(x.chat.Model())
	}
	if refusal != nil {
		m.refuse(x, refusal)
		return false
	}
	return true
}

// methods are those of Google's models.
func methods() []string {
	return []string{"generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"}
}

// serveMethod answers a method of one of Google's models.
func (m *Mock) serveMethod(x *exchange) {
	model, method, _ := strings.Cut(x.rest, ":")
	stream := method == "streamGenerateContent"
	x.api = gemini.Dialect
	x.query = dialect.Query{
		Version: strings.Split(x.path, "/")[1], Model: model, Stream: stream, List: stream && x.r.URL.Query().Get("alt") != "sse",
		Counting: method == "countTokens", IDs: m.recognise(),
	}
	switch method {
	case "generateContent", "streamGenerateContent":
		m.serveModel(x)
	case "countTokens":
		if m.counted(x) {
			n := promptTokens(x.chat)
			m.writeIndented(x, fmt.Appendf(nil, `{"totalTokens":%d,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, n, n))
		}
	case "embedContent", "batchEmbedContents":
		m.serveEmbedContent(x, model, method == "batchEmbedContents")
	default:
		x.stray = true
		m.miss(x, fmt.Sprintf("POST %s: a mock model has no method %q%s", x.path, method, prose.DidYouMean(method, methods())))
	}
}

// recognise returns a function that finds the ids of the calls in a history
// whose messages come without them, or with ids of the client's own: those of
// the next reply with the same calls, as the client was told of them.
func (m *Mock) recognise() func(calls []harness.ToolCall) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var spoken []toldCalls
	for _, m := range append([]*Mock{m}, m.laneOrder...) {
		seen := map[string]bool{}
		for _, turn := range m.state.served {
			for _, s := range turn {
				if t := s.toldCalls(seen); len(t.calls) > 0 {
					spoken = append(spoken, t)
				}
			}
		}
	}
	next := 0
	return func(calls []harness.ToolCall) []string {
		for _, exact := range []bool{true, false} {
			for i := next; i < len(spoken); i++ {
				if ids := spoken[i].matches(calls, exact); ids != nil {
					next = i + 1
					return ids
				}
			}
		}
		return nil
	}
}

// writeIndented writes JSON as Google does.
func (m *Mock) writeIndented(x *exchange, data []byte) {
	x.w.Header().Set("Content-Type", gemini.Dialect.ErrorType)
	_, _ = x.w.Write(gemini.Indented(data)) // the client is gone
}

// serveModels lists the models, or describes one, in the dialect of the client.
func (m *Mock) serveModels(x *exchange) { m.listModels(x, m.profile.Lists(x.r, dialects.All())) }

// serveGoogleModels does so in Google's.
func (m *Mock) serveGoogleModels(x *exchange) { m.listModels(x, gemini.Dialect) }

func (m *Mock) listModels(x *exchange, d *dialect.Dialect) {
	if _, method, _ := strings.Cut(x.rest, ":"); slices.Contains(methods(), method) {
		x.api = gemini.Dialect
		m.refuse(x, &dialect.Refusal{
			Status: http.StatusNotFound, Type: "NOT_FOUND", Message: fmt.Sprintf("%s takes a POST, not a %s.", method, x.r.Method),
		})
		return
	}
	var b []byte
	if x.rest == "" {
		b = d.Models(m.models(), epoch)
	} else if r := m.unknownModel(x.rest); r == nil {
		b = d.Model(x.rest, epoch)
	} else {
		if d.NoModel != "" {
			x.api, r.Message, r.Code = d, fmt.Sprintf(d.NoModel, x.rest), ""
		}
		m.writeError(x, r)
		return
	}
	x.w.Header().Set("Content-Type", d.ContentType())
	if b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	_, _ = x.w.Write(b) // the client is gone
}

func (m *Mock) models() []string {
	if len(m.program.Models) == 0 {
		return []string{"rehearse-mock"}
	}
	return m.program.Models
}

// unknownModel refuses a model that is not listed.
func (m *Mock) unknownModel(id string) *dialect.Refusal {
	if len(m.program.Models) == 0 || slices.Contains(m.program.Models, id) {
		return nil
	}
	return &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", id),
	}
}

func (m *Mock) serveJournal(x *exchange) {
	list := m.Journal()
	if list == nil {
		list = []harness.Exchange{}
	}
	m.writeJSON(x.w, list)
}

func (m *Mock) serveReset(x *exchange) {
	m.Reset()
	x.w.WriteHeader(http.StatusNoContent)
}
