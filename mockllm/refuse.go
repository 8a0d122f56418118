// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// errorBody is an error as the dialect writes it.
func (x *exchange) errorBody(r *dialect.Refusal) []byte {
	if x.api == nil || x.api.Error == nil {
		return r.Body()
	}
	return x.api.Error(r, dialect.ErrorOf{Chat: x.chat, Query: &x.query, ID: x.w.Header().Get(x.api.IDHeader)})
}

// unknownPath answers anything that is not an endpoint of the profile. A POST
// to another endpoint of the provider is a miss, since the mock could have been
// asked for it by mistake only.
func (m *Mock) unknownPath(x *exchange) {
	x.stray = true
	if x.r.Method == http.MethodHead {
		m.probe(x)
		return
	}
	hint := ""
	if _, _, known := m.routing.find(x.r.Method, x.path); known && m.lacks(x) {
		hint = fmt.Sprintf(": the profile %s has no such endpoint, others have, such as %s", m.profile.Name, m.profileWith(x.path))
	}
	if x.r.Method == http.MethodPost && strings.HasPrefix(x.path, "/v1") {
		if hint == "" {
			hint = ": a mock model has no such endpoint" + m.nearPath(x)
		}
		m.miss(x, fmt.Sprintf("%s %s%s", x.r.Method, x.path, hint))
		return
	}
	if m.routing.exact["/v1"+x.path] != nil {
		hint = fmt.Sprintf(": did you mean /v1%s? The base URL ends in /v1", x.path)
	}
	m.refuse(x, &dialect.Refusal{
		Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)%s", x.r.Method, x.path, hint),
	})
}

// probe answers a HEAD of no endpoint. Clients send one to see whether somebody
// is there, and go on whatever it says: it is no mistake.
func (m *Mock) probe(x *exchange) {
	refusal := &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.path)}
	x.kind, x.status, x.err = harness.KindProbe, refusal.Status, refusal.Error()
	m.record(x.entry, nil)
	m.writeError(x, refusal)
}

// noAdmin answers what asks for the mock itself and is no route of it. It is no
// request to the provider, so that the journal has nothing of it.
func (m *Mock) noAdmin(x *exchange) {
	m.adminError(x, fmt.Sprintf("there is no %s %s; there are GET journal, POST reset and POST cue/NAME", x.r.Method, x.path))
}

func (m *Mock) adminError(x *exchange, message string) {
	x.w.Header()["Content-Type"] = m.headers.json
	x.w.WriteHeader(http.StatusNotFound)
	m.writeJSON(x.w, map[string]any{"error": map[string]string{
		"type":    "rehearse_admin",
		"message": message,
	}})
}

// profileWith is a profile that has an endpoint: the plain one if it can be.
func (m *Mock) profileWith(path string) string {
	for _, name := range profile.Names() {
		if p, ok := profile.Lookup(name); ok && p.Has(path) {
			return name
		}
	}
	return "none"
}

// nearPath names an endpoint that the client may have meant.
func (m *Mock) nearPath(x *exchange) string {
	var paths []string
	for path, list := range m.routing.exact {
		if list[0].method == x.r.Method && m.profile.Has(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return prose.DidYouMean(x.path, paths)
}

// refuse answers as the provider would.
func (m *Mock) refuse(x *exchange, r *dialect.Refusal) {
	x.kind, x.status, x.err = harness.KindRefusal, r.Status, r.Error()
	m.record(x.entry, errors.New("refused: "+x.err))
	m.writeError(x, r)
}

// miss answers a request that nobody scripted.
func (m *Mock) miss(x *exchange, why string) {
	m.mu.Lock()
	text := m.explain(x.chat, why)
	m.mu.Unlock()
	x.kind, x.status, x.err = harness.KindMiss, http.StatusUnprocessableEntity, text
	m.record(x.entry, errors.New("miss: "+text))
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "rehearse_miss", Code: "rehearse_miss", Message: text})
}

// fail answers when the script itself is wrong.
func (m *Mock) fail(x *exchange, err error) {
	x.kind, x.status, x.err = harness.KindScript, http.StatusInternalServerError, err.Error()
	if where := (*locatedError)(nil); errors.As(err, &where) && !where.pos.IsZero() {
		x.pos, x.err = where.pos, where.bare()
	}
	m.record(x.entry, fmt.Errorf("script: %w", err))
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "rehearse_script", Code: "rehearse_script", Message: err.Error()})
}

func (m *Mock) writeError(x *exchange, r *dialect.Refusal) {
	h := x.w.Header()
	m.common(x)
	if b := m.envelope(x, r); b != nil {
		m.sendError(x, b)
		return
	}
	h["Content-Type"] = m.headers.json
	if x.api != nil && x.api.ErrorType != "" {
		h.Set("Content-Type", x.api.ErrorType)
	} else if r.Status != http.StatusTooManyRequests {
		h["X-Should-Retry"] = m.headers.no
	}
	body := x.errorBody(r)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(r.Status)
	_, _ = x.w.Write(body) // the client is gone
}

// sendError sends an error as a profile writes it.
func (m *Mock) sendError(x *exchange, b *dialect.Body) {
	h := x.w.Header()
	for k, v := range b.Header {
		h[k] = v
	}
	n := 0
	for _, f := range b.Frames {
		n += len(f.Data)
	}
	h.Set("Content-Length", strconv.Itoa(n))
	x.w.WriteHeader(b.Status)
	for _, f := range b.Frames {
		_, _ = x.w.Write(f.Data) // the client is gone
	}
}
