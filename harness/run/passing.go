// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// passing is an answer on its way to the subject.
type passing struct {
	r        *http.Request
	endpoint dialects.Endpoint
	sent     []byte // body of the request
	x        *asked // nil for anything that is not a model call
	status   int
	header   http.Header
	// Guarded by the model's mu.
	kept bytes.Buffer // one byte more than maxBody of what is too long
	read bool         // what it leaves for later requests is held
}

// pass enters an answer that is about to be handed on.
func (m *liveModel) pass(p *passing) *passing {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = append(m.open, p)
	return p
}

// keep keeps a piece of an answer.
func (m *liveModel) keep(p *passing, piece []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.kept.Write(piece[:min(len(piece), maxBody+1-p.kept.Len())])
}

// passed ends an answer. Broke is what ended it before its end. m.mu is held.
func (m *liveModel) passed(p *passing, broke error) {
	m.open = slices.DeleteFunc(m.open, func(other *passing) bool { return other == p })
	if p.x == nil {
		m.hold(p)
		return
	}
	if p.kept.Len() > maxBody {
		p.x.Error = fmt.Sprintf("the answer is longer than %d bytes", maxBody)
		return
	}
	reply := readAnswer(&p.x.Exchange, m.read, p.header, p.kept.Bytes(), broke)
	if !p.read {
		keepReply(&m.held, p.x.request, reply)
	}
}

// catchUp reads the answers under way. A subject that has read to the end of a
// reply may send its next request before the endpoint ends the connection, or
// before we notice that it did. m.mu is held.
func (m *liveModel) catchUp() {
	for _, p := range m.open {
		m.hold(p)
	}
}

// hold holds what a whole answer leaves for later requests. m.mu is held.
func (m *liveModel) hold(p *passing) {
	if p.read || p.status >= 300 || p.kept.Len() > maxBody {
		return
	}
	if p.x == nil {
		p.read = keepConversation(&m.held, p.r, p.endpoint, p.sent, p.kept.Bytes())
		return
	}
	limits := dialect.Limits{Body: maxBody, Event: maxBody, Arguments: maxBody}
	reply, err := m.read(dialects.Named(p.x.Dialect), p.header, p.kept.Bytes(), nil, limits)
	if err == nil {
		keepReply(&m.held, p.x.request, reply)
		p.read = true
	}
}

// keepReply holds what a later request may refer to.
func keepReply(held *dialect.Store, req dialect.Request, reply dialect.Received) {
	if req != nil {
		req.Passed(reply, held)
	}
}

// keepConversation follows what a client does with OpenAI's conversations
// beside the calls of a model. The endpoint has granted it. It reports false
// for an answer that is not whole yet.
func keepConversation(held *dialect.Store, r *http.Request, e dialects.Endpoint, body, answer []byte) bool {
	rest, ok := strings.CutPrefix(e.Rest, "/conversations")
	if !ok || rest != "" && rest[0] != '/' {
		return true
	}
	var got struct {
		ID   string
		Data []json.RawMessage
		More bool `json:"has_more"`
	}
	in, err := dialect.Inflate(bytes.NewReader(answer), maxBody)
	if err != nil || json.NewDecoder(in).Decode(&got) != nil {
		return false
	}
	var sent struct{ Items []json.RawMessage }
	_ = json.Unmarshal(body, &sent) // what cannot be read brings nothing
	id, what, _ := strings.Cut(strings.Trim(rest, "/"), "/")
	item, ofItem := strings.CutPrefix(what, "items/")
	switch query := r.URL.Query(); {
	case r.Method == http.MethodPost && id == "" && got.ID != "":
		held.Create(func(int) string { return got.ID }, nil, sent.Items)
	case r.Method == http.MethodPost && what == "items":
		if got.Data == nil {
			got.Data = sent.Items
		}
		held.Known(id)
		held.Add(id, got.Data)
	case r.Method == http.MethodGet && what == "items" && got.Data != nil && !got.More && !query.Has("after"):
		if query.Get("order") != "asc" {
			slices.Reverse(got.Data)
		}
		held.Listed(id, got.Data)
	case r.Method == http.MethodDelete && ofItem:
		held.DeleteItem(id, item)
	case r.Method == http.MethodDelete && what == "":
		held.Delete(id)
	}
	return true
}
