// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/profile"
)

// serveProxiedEmbeddings answers a request for embeddings, in the proxy's
// dialect or the gateway's own. As elsewhere, vectors follow from their text.
func (m *Mock) serveProxiedEmbeddings(x *exchange) {
	var req *dialect.Embeddings
	x.api = readingEmbeddings(&req)
	if x.proxied.ask.Dialect == profile.OldEmbed {
		x.api.Read = func(body []byte, _ *dialect.Query) (dialect.Request, *dialect.Refusal) {
			var o struct{ Prompt []string }
			_ = json.Unmarshal(body, &o) // anything that is not a list of texts asks for nothing
			req = &dialect.Embeddings{Inputs: o.Prompt, Chat: dialect.NewChat(harness.Request{Model: x.proxied.ask.Model.Echo}, body)}
			req.Dimensions = chat.Dimensions(x.proxied.ask.Model.Echo)
			return unanswered{dialect.Plain{Chat: req.Chat}}, nil
		}
	}
	if refusal := m.read(x); refusal != nil {
		m.refuse(x, refusal)
		return
	}
	x.preset = m.presetOf(x)
	x.status = http.StatusOK
	m.mu.Lock()
	x.struckBy = m.pickFault(x, nil, nil)
	m.mu.Unlock()
	x.kind = harness.KindAside // which no fault of a script strikes
	if m.playBefore(x) {
		return
	}
	x.delivered = true
	m.record(x.entry, nil)
	total := 0
	for _, in := range req.Inputs {
		total += countInput(in)
	}
	a := x.proxied.ask
	var body []byte
	if a.Dialect == profile.OldEmbed {
		body = m.appendOldEmbeddings(nil, req)
	} else {
		full := *req
		full.Chat = dialect.NewChat(harness.Request{Model: a.Model.Echo}, nil)
		if most := chat.Dimensions(a.Model.Echo); full.Dimensions <= 0 || full.Dimensions > most {
			full.Dimensions = most
		}
		full.Base64 = full.Base64 && !m.profile.ListsOnly()
		body = m.appendEmbeddings(nil, &full, total)
	}
	m.send(x, x.answerBody(&profile.Answer{Status: http.StatusOK, Header: m.profile.Header(a), Body: body}))
}

// sameBlocks puts all calls of a stream of messages into the block of the
// first, and ends only the last.
func sameBlocks(frames []dialect.Frame) []dialect.Frame {
	index := regexp.MustCompile(`"index":([0-9]+)`)
	numberOf := func(f *dialect.Frame) []byte {
		if at := index.FindSubmatch(f.Data); at != nil {
			return at[1]
		}
		return nil
	}
	var first, last []byte
	for i := range frames {
		if f := &frames[i]; f.Kind == dialect.KindCallStart {
			if last = numberOf(f); first == nil {
				first = last
			}
		}
	}
	var out []dialect.Frame
	calls := false
	for _, f := range frames {
		calls = calls || f.Kind == dialect.KindCallStart
		if n := numberOf(&f); calls && n != nil {
			if bytes.Contains(f.Data, []byte("content_block_stop")) && !bytes.Equal(n, last) {
				continue
			}
			f.Data = index.ReplaceAll(f.Data, append([]byte(`"index":`), first...))
		}
		out = append(out, f)
	}
	return out
}
