// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// storeBytes is how much conversation is held, about: of responses and of
// threads each.
const storeBytes = 16 << 20

func newStore() *dialect.Store {
	return &dialect.Store{Bytes: storeBytes, Complete: func(label string, item json.RawMessage) json.RawMessage { return withItemID(item, label) }}
}

// withItemID returns an item as it is listed: with an id, its type and status.
func withItemID(item json.RawMessage, label string) json.RawMessage {
	var o struct {
		ID, Type, Role string
		Content        json.RawMessage
	}
	_ = json.Unmarshal(item, &o) // it has been read
	if len(o.Content) > 0 && o.Content[0] == '"' {
		kind := "input_text"
		if o.Role == "assistant" {
			kind = "output_text"
		}
		if v, err := value.Parse(item); err == nil {
			text, _ := v.Get("content")
			part := value.ObjectOf(value.Member{Key: "type", Value: value.StringOf(kind)}, value.Member{Key: "text", Value: text})
			item = editValue(v, []string{"content"}, set(value.ArrayOf(part))).Append(nil)
		}
	}
	if o.ID == "" {
		prefix := map[string]string{"function_call": "fc_", "reasoning": "rs_", "custom_tool_call": "ctc_"}[o.Type]
		if prefix == "" {
			prefix = "msg_"
		}
		if strings.HasSuffix(o.Type, "_output") {
			prefix = "fco_"
		}
		var random rand.PCG
		random.Seed(hashOf(label), 0)
		item = dialect.WithDefault(item, "id", `"`+makeID(&random, dialect.IDs{Prefix: prefix, Len: 48, Alphabet: "0123456789abcdef"}, 0)+`"`)
	}
	if o.Type == "" {
		item = dialect.WithDefault(item, "type", `"message"`)
	}
	return dialect.WithDefault(item, "status", `"completed"`)
}

// readConversation reads the body of a request about a conversation. It reports
// false when it was refused.
func (m *Mock) readConversation(x *exchange) (meta json.RawMessage, items []json.RawMessage, ok bool) {
	b := new(bytes.Buffer)
	if err := m.readBody(x, b); err != nil {
		m.refuse(x, &dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "reading the request: " + err.Error()})
		return nil, nil, false
	}
	if b.Len() == 0 {
		b.WriteString("{}")
	}
	meta, items, refusal := responses.ReadConversation(b.Bytes(), m.held)
	if refusal != nil {
		m.refuse(x, refusal)
		return nil, nil, false
	}
	return meta, items, true
}

func (m *Mock) createConversation(x *exchange) {
	meta, items, ok := m.readConversation(x)
	if !ok {
		return
	}
	id := m.held.Create(func(n int) string {
		var random rand.PCG
		random.Seed(m.seeds("conversation " + strconv.Itoa(n)))
		return makeID(&random, dialect.IDs{Prefix: "conv_", Len: 48, Alphabet: "0123456789abcdef"}, 0)
	}, meta, items)
	m.writeConversation(x, id)
}

func (m *Mock) writeConversation(x *exchange, id string) {
	type conversation struct {
		ID      string          `json:"id"`
		Object  string          `json:"object"`
		Created int64           `json:"created_at"`
		Meta    json.RawMessage `json:"metadata"`
	}
	meta, _ := m.held.Meta(id)
	if meta == nil {
		meta = json.RawMessage("{}")
	}
	m.common(x)
	m.writeJSON(x.w, conversation{id, "conversation", epoch, meta})
}

// conversationOf finds the conversation of a path, and what of it is asked for:
// nothing, items or an item.
func (m *Mock) conversationOf(x *exchange) (id, what string, ok bool) {
	id, what, _ = strings.Cut(x.rest, "/")
	if _, ok = m.held.Meta(id); !ok {
		m.writeError(x, &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Conversation with id '%s' not found.", id)})
	}
	return id, what, ok
}

// changeConversation gives a conversation other metadata, or further items.
func (m *Mock) changeConversation(x *exchange) {
	id, what, ok := m.conversationOf(x)
	if !ok {
		return
	}
	meta, items, ok := m.readConversation(x)
	switch {
	case !ok:
		return
	case what == "items":
		m.writeItems(x, m.held.Add(id, items))
		return
	case meta != nil:
		m.held.SetMeta(id, meta)
	}
	m.writeConversation(x, id)
}

func (m *Mock) serveConversation(x *exchange) {
	id, what, ok := m.conversationOf(x)
	if !ok {
		return
	}
	if what == "" {
		m.writeConversation(x, id)
		return
	}
	items, _ := m.held.Conversation(id, nil)
	if what == "items" {
		m.listItems(x, items)
		return
	}
	item := strings.TrimPrefix(what, "items/")
	if at := dialect.ItemAt(items, item); at >= 0 {
		m.common(x)
		m.writeJSON(x.w, items[at])
		return
	}
	m.writeError(x, noItem(item))
}

func (m *Mock) deleteConversation(x *exchange) {
	id, what, ok := m.conversationOf(x)
	if !ok {
		return
	}
	if item, ok := strings.CutPrefix(what, "items/"); ok {
		if !m.held.DeleteItem(id, item) {
			m.writeError(x, noItem(item))
			return
		}
		m.writeConversation(x, id)
		return
	}
	m.held.Delete(id)
	m.common(x)
	m.writeJSON(x.w, map[string]any{"id": id, "object": "conversation.deleted", "deleted": true})
}

func noItem(id string) *dialect.Refusal {
	return &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Item with id '%s' not found.", id)}
}

// listItems answers with a page of items, the latest first unless asked for in
// order.
func (m *Mock) listItems(x *exchange, items []json.RawMessage) {
	const usual, most = 20, 100
	q := x.r.URL.Query()
	if q.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := q.Get("after"); after != "" {
		at := dialect.ItemAt(items, after)
		if at < 0 {
			m.writeError(x, noItem(after))
			return
		}
		items = items[at+1:]
	}
	limit := usual
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		limit = min(n, most)
	}
	more := len(items) > limit
	m.writePage(x, items[:min(limit, len(items))], more)
}

func (m *Mock) writeItems(x *exchange, items []json.RawMessage) { m.writePage(x, items, false) }

func (m *Mock) writePage(x *exchange, items []json.RawMessage, more bool) {
	type page struct {
		Object string            `json:"object"`
		Data   []json.RawMessage `json:"data"`
		First  *string           `json:"first_id"`
		Last   *string           `json:"last_id"`
		More   bool              `json:"has_more"`
	}
	p := page{Object: "list", Data: []json.RawMessage{}, More: more}
	if n := len(items); n > 0 {
		first, last := dialect.ItemID(items[0]), dialect.ItemID(items[n-1])
		p.Data, p.First, p.Last = items, &first, &last
	}
	m.common(x)
	m.writeJSON(x.w, p)
}

// serveResponse gives a stored response once more.
func (m *Mock) serveResponse(x *exchange) {
	id, what, _ := strings.Cut(x.rest, "/")
	e := m.held.Stored(id)
	switch {
	case e == nil:
		m.writeError(x, noResponse(id))
		return
	case what == "input_items":
		var items []json.RawMessage
		for i, item := range e.Input {
			items = append(items, withItemID(item, id+" "+strconv.Itoa(i)))
		}
		m.listItems(x, items)
		return
	case what != "":
		m.writeError(x, &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.path)})
		return
	}
	m.common(x)
	x.w.Header()["Content-Type"] = m.headers.json
	_, _ = x.w.Write(e.Render()) // the client is gone
}

func (m *Mock) deleteResponse(x *exchange) {
	if !m.held.Forget(x.rest) {
		m.writeError(x, noResponse(x.rest))
		return
	}
	type deleted struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}
	m.common(x)
	m.writeJSON(x.w, deleted{x.rest, "response", true})
}

func noResponse(id string) *dialect.Refusal {
	return &dialect.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Response with id '%s' not found.", id)}
}

// serveUpgrade answers a client that wants a WebSocket: there is none, and
// the client is to POST. The connection is closed, as one that was to be
// upgraded must not be used on.
func (m *Mock) serveUpgrade(x *exchange) {
	if x.r.Header.Get("Upgrade") == "" {
		m.refuse(x, &dialect.Refusal{
			Status: http.StatusMethodNotAllowed, Type: "invalid_request_error",
			Message: fmt.Sprintf("Not allowed to %s on %s.", x.r.Method, x.path),
		})
		return
	}
	x.kind, x.status = harness.KindProbe, m.opts.UpgradeStatus
	if x.status == 0 {
		x.status = http.StatusUpgradeRequired
	}
	x.err = fmt.Sprintf("%s %s: upgrade to %s", x.r.Method, x.path, x.r.Header.Get("Upgrade"))
	m.record(x.entry, nil)
	h := x.w.Header()
	h.Set("Connection", "close")
	if x.status == http.StatusUpgradeRequired {
		h.Set("Upgrade", "HTTP/1.1")
	}
	m.writeError(x, &dialect.Refusal{Status: x.status, Type: "invalid_request_error", Message: "WebSocket connections are not supported here. Send a POST request."})
}
