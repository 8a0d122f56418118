// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
	"github.com/rehearse-dev/rehearse/mockllm/profile"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// habits are what a profile makes of a dialect and a model.
type habits struct {
	// style is how replies are written; nil is the provider's way.
	style *wire.Style
	// model is the name that is echoed; empty means as asked.
	model string
	// header are further headers of answers; a nil value takes one away.
	header http.Header
}

// proxied is a request to an endpoint that stands before the models.
type proxied struct {
	ask  profile.Ask
	body []byte
	// instead is what the endpoint answers without asking a model.
	instead *profile.Answer
	// wrong is a request that the provider would refuse, and that the proxy
	// has put right.
	wrong bool
	// catching has an answer in place of a reply kept here and not sent.
	catching bool
	caught   *errorAnswer
}

// checkProfile says what is wrong with the name of a profile.
func checkProfile(name string) error {
	if _, ok := profile.Lookup(name); ok {
		return nil
	}
	hint := ""
	if near := harness.Suggest(name, profile.Names()); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return fmt.Errorf("unknown profile %q%s; there are %s", name, hint, strings.Join(profile.Names(), ", "))
}

// habits returns what the profile makes of a request that was read.
func (m *Mock) habits(x *exchange) habits {
	if x.proxied == nil {
		return habits{}
	}
	a := x.proxied.ask
	return habits{style: m.profile.Style(a), model: a.Model.Echo, header: x.only(nil)}
}

// lacks reports whether the profile's endpoint has no such route.
func (m *Mock) lacks(x *exchange) bool {
	if strings.HasPrefix(x.path, "/rehearse/") || x.path == "/health" {
		return false
	}
	return !m.profile.Has(x.path)
}

// envelope is how the profile writes an error; nil leaves it to the dialect.
func (m *Mock) envelope(x *exchange, r *dialect.Refusal) *llmwire.Body {
	switch {
	case x.proxied == nil:
		return nil
	case x.proxied.instead != nil:
		return x.answerBody(x.proxied.instead)
	case r.Status == http.StatusRequestEntityTooLarge:
		if a := m.profile.TooLarge(x.proxied.ask.Dialect, x.r.ContentLength); a != nil {
			return x.answerBody(a)
		}
	}
	return nil
}

// serveProxy answers what is for an endpoint with a server of its own. It
// reports false when the request is left to the mock.
func (m *Mock) serveProxy(x *exchange) bool {
	d, a := m.profile.Route(x.r.Method, x.path)
	switch {
	case a != nil:
		m.sendAnswer(x, a)
		return true
	case d == "":
		return false
	}
	x.proxied = &proxied{ask: profile.Ask{Dialect: d}}
	if d == profile.Embeddings || d == profile.OldEmbed {
		m.serveProxiedEmbeddings(x)
		return true
	}
	speech := m.speechOf(d)
	if speech == nil {
		m.miss(x, fmt.Sprintf("%s %s: the profile %s does not answer there", x.r.Method, x.path, m.profile.Name))
		return true
	}
	x.speech = m.behindProxy(speech)
	m.serveSpeech(x)
	return true
}

// speechOf returns how the mock itself speaks a dialect.
func (m *Mock) speechOf(d profile.Dialect) *speech {
	path := map[profile.Dialect]string{
		profile.Chat: "/v1/chat/completions", profile.Messages: "/v1/messages", profile.Responses: "/v1/responses",
	}[d]
	if path == "" {
		return gatewaySpeech(d)
	}
	if r, _, _ := m.routing.find(http.MethodPost, path); r != nil {
		return r.speech
	}
	return nil
}

// behindProxy is a speech as a proxy hands it on: what the provider would
// refuse is passed on, names of models are resolved, and headers are the
// proxy's.
func (m *Mock) behindProxy(inner *speech) *speech {
	s := *inner
	s.plain, s.quick, s.idHeader = true, false, ""
	s.decode = func(x *exchange, body []byte, prev *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
		return m.decodeProxied(x, inner, body, prev)
	}
	s.render = func(x *exchange, r *llmwire.Reply) *llmwire.Body {
		a := x.proxied.ask
		a.Text = len(r.Choices) > 0 && r.Choices[0].Text != ""
		if style := m.profile.Style(a); style != nil {
			style.Fragments = x.style.Fragments
			x.style = style
		}
		for i := range r.Choices {
			c := &r.Choices[i]
			c.Finish = m.profile.Finish(a, len(c.Calls) > 0, c.Finish)
		}
		b := inner.render(x, r)
		if m.profile.SameBlocks(a) {
			b.Frames = sameBlocks(b.Frames)
		}
		b.Header = x.only(m.profile.Header(a))
		b.EarlyHead = m.profile.EarlyHead(a)
		size := 0
		for _, f := range b.Frames {
			size += len(f.Data)
		}
		m.profile.Shape(a, b.Header, size, func(edit func(bool, []byte) []byte) {
			for i := range b.Frames {
				f := &b.Frames[i]
				f.Data = edit(f.Kind == llmwire.Text, f.Data)
			}
		})
		return m.fromGateway(x, b, r)
	}
	return &s
}

func (m *Mock) decodeProxied(x *exchange, inner *speech, body []byte, prev *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
	p := x.proxied
	p.body = bytes.Clone(body)
	x.habits.header = x.only(nil)
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, p.refuse(m.profile.BadBody(p.ask.Dialect, body))
	}
	_, p.ask.Tools = o["tools"]
	_ = json.Unmarshal(o["stream"], &p.ask.Stream) // what is no boolean is false
	p.ask.Stream = p.ask.Stream || p.ask.Dialect == profile.OldStream
	var name string
	_ = json.Unmarshal(o["model"], &name) // what is no text is no name
	model, instead := m.profile.Resolve(p.ask.Dialect, name, name != "")
	p.ask.Model = model
	chat, refusal := inner.decode(x, body, prev)
	switch {
	case instead != nil:
		return chat, p.refuse(instead)
	case chat == nil || m.profile.Checked():
		// Without a chat, a mock has nothing to go by.
		return chat, refusal
	}
	p.wrong = refusal != nil
	return chat, nil
}

// refuse has a answered in place of a reply.
func (p *proxied) refuse(a *profile.Answer) *dialect.Refusal {
	p.instead = a
	return &dialect.Refusal{Status: a.Status, Type: "invalid_request_error", Message: strings.TrimSpace(string(a.Body))}
}

// only returns the headers of h and takes those of the mock itself away.
func (x *exchange) only(h http.Header) http.Header {
	out := http.Header{"X-Request-Id": nil, "Openai-Version": nil, "X-Should-Retry": nil, "Request-Id": nil}
	for k, v := range h {
		if len(v) == 1 && v[0] == "" {
			v = []string{x.requestID()}
		}
		out[k] = v
	}
	return out
}

// requestID is the client's id of the request, or one made of its number.
func (x *exchange) requestID() string {
	if id := x.r.Header.Get("X-Request-Id"); id != "" {
		return id
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", x.seq)
}

func (x *exchange) answerBody(a *profile.Answer) *llmwire.Body {
	return &llmwire.Body{Status: a.Status, Header: x.only(a.Header), Frames: []llmwire.Frame{{Data: a.Body}}}
}

// sendAnswer sends an answer that has nothing to do with a model.
func (m *Mock) sendAnswer(x *exchange, a *profile.Answer) {
	x.stray = true
	x.habits.header = x.only(nil)
	if a.Status >= http.StatusBadRequest {
		x.kind, x.status, x.err = harness.KindRefusal, a.Status, fmt.Sprintf("%s %s: %s", x.r.Method, x.path, a.Body)
		m.record(x.entry, errors.New("refused: "+x.err))
	}
	m.send(x, x.answerBody(a))
}

// fromGateway is an ordinary reply as the proxy hands it on: the gateway's
// notice to users whom it does not know looks like one.
func (m *Mock) fromGateway(x *exchange, b *llmwire.Body, r *llmwire.Reply) *llmwire.Body {
	if len(r.Choices) == 0 || !strings.HasPrefix(r.Choices[0].Text, profile.NoticeText) {
		return b
	}
	a, t := m.profile.Fail(x.proxied.ask, profile.Gone{Trouble: profile.Notice})
	switch {
	case a != nil:
		return x.answerBody(a)
	case t != nil:
		twist(b, t, profile.Gone{})
	}
	return b
}

// behind is what the client of a proxy sees of a fault that happens behind it.
// Other faults are the proxy's own.
func (m *Mock) behind(x *exchange, fx effects) effects {
	if x.proxied == nil || x.met.Kind == "" || !m.profile.Behind() {
		return fx
	}
	gone, ok := m.gone(x)
	if !ok {
		return fx
	}
	a, t := m.profile.Fail(x.proxied.ask, gone)
	switch {
	case a != nil:
		return effects{before: func(x *exchange) bool {
			x.status, x.retryAfter = a.Status, x.met.RetryAfter
			m.record(x.entry, nil)
			b := x.answerBody(a)
			b.Part = true
			m.send(x, b)
			return true
		}}
	case t != nil:
		return effects{
			reply: func(_ *exchange, r *llmwire.Reply) {
				if t.Text != "" && len(r.Choices) > 0 {
					text := strings.ReplaceAll(t.Text, "$body", string(gone.Body))
					r.Choices[0] = llmwire.Choice{Text: strings.TrimSpace(text), Finish: "stop"}
				}
			},
			body: func(x *exchange, b *llmwire.Body) {
				switch gone.Trouble {
				case profile.CutClean, profile.CutReset, profile.ErrorChunk, profile.ErrorEvent:
					b.Frames, _ = strike(b.Frames, x.met.At, false)
				}
				twist(b, t, gone)
			},
		}
	}
	return effects{}
}

// gone is what the fault that a request meets is when it happens behind a
// proxy; false for the faults that only a proxy itself can have.
func (m *Mock) gone(x *exchange) (profile.Gone, bool) {
	f := x.met
	form := f.FormFor(x.chat.Stream())
	switch f.Kind {
	case fault.Reset:
		switch form {
		case "before":
			return profile.Gone{Trouble: profile.Closed}, true
		case "during":
			return profile.Gone{Trouble: profile.CutReset}, true
		}
	case fault.Cut:
		return profile.Gone{Trouble: profile.CutClean}, true
	case fault.MissingDone:
		return profile.Gone{Trouble: profile.NoDone}, true
	case fault.InStreamError:
		g := profile.Gone{Trouble: profile.ErrorChunk, Body: []byte(errorDocument(form, cmp.Or(f.Body, `{"message":"Internal server error","type":"server_error"}`)))}
		if form == "anthropic" {
			g.Trouble = profile.ErrorEvent
		}
		return g, x.chat.Stream() || x.proxied.ask.Model.Family == profile.Claude
	}
	e, ok := m.statusEffects(f, form)
	if !ok || e.before == nil {
		return profile.Gone{}, false
	}
	x.proxied.catching = true
	e.before(x)
	x.proxied.catching = false
	a := x.proxied.caught
	g := profile.Gone{Trouble: profile.Status, Status: a.status, Type: a.contentType, Body: a.body}
	if a.status != http.StatusOK {
		return g, true
	}
	var o struct {
		Response *json.RawMessage
		Choices  []struct{ Message *json.RawMessage }
	}
	switch err := json.Unmarshal(a.body, &o); {
	case err != nil:
		g.Trouble = profile.NotJSON
	case strings.TrimSpace(string(a.body)) == "{}":
		g.Trouble = profile.EmptyObject
	case len(o.Choices) > 0 && o.Choices[0].Message != nil:
		return g, false // as good as any
	default:
		g.Trouble = profile.BadShape
	}
	return g, true
}

// caught reports whether an answer in place of a reply was only wanted to be
// known.
func (x *exchange) caught(a *errorAnswer) bool {
	if x.proxied == nil || !x.proxied.catching {
		return false
	}
	x.proxied.caught = a
	return true
}

// twist makes of a stream what a trouble behind the endpoint makes of it.
func twist(b *llmwire.Body, t *profile.Twist, g profile.Gone) {
	b.Part = true
	if !t.Keep {
		b.Frames = nil
	}
	if t.NoDone {
		b.Frames = withoutKinds(b.Frames, llmwire.Done)
	}
	for _, e := range t.Events {
		e = strings.NewReplacer("$body", string(g.Body), "$message", "APIError").Replace(e)
		b.Frames = append(b.Frames, llmwire.Frame{Kind: llmwire.Fault, Data: []byte(e)})
	}
	if t.Raw != "" {
		// The server believes that all is well, and keeps the connection.
		rest := fmt.Sprintf("%s%x\r\n%s\r\n0\r\n\r\n", t.Raw, len(t.Chunk), t.Chunk)
		b.Frames = append(b.Frames, llmwire.Frame{Kind: llmwire.Fault, Raw: true, Data: []byte(rest), Then: llmwire.Hang})
	}
	if n := len(b.Frames); t.Cut && n > 0 {
		b.Frames[n-1].Then = llmwire.Cut
	}
}

// serveProxiedEmbeddings answers a request for embeddings, in the proxy's
// dialect or the gateway's own. As elsewhere, vectors follow from their text.
func (m *Mock) serveProxiedEmbeddings(x *exchange) {
	var req *dialect.Embeddings
	x.speech = m.behindProxy(&speech{name: "embeddings", decode: func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
		if x.proxied.ask.Dialect == profile.OldEmbed {
			var o struct{ Prompt []string }
			_ = json.Unmarshal(body, &o) // what is no list of texts asks for nothing
			req = &dialect.Embeddings{Inputs: o.Prompt, Chat: dialect.NewChat(harness.Request{Model: x.proxied.ask.Model.Echo}, body)}
			req.Dimensions = dialect.FullDimensions(x.proxied.ask.Model.Echo)
			return req.Chat, nil
		}
		var refusal *dialect.Refusal
		if req, refusal = dialect.DecodeEmbeddings(body); req == nil {
			return nil, refusal
		}
		return req.Chat, refusal
	}})
	if refusal := m.read(x); refusal != nil {
		m.refuse(x, refusal)
		return
	}
	x.habits = m.habits(x)
	x.status = http.StatusOK
	m.mu.Lock()
	x.met = m.pickFault(x, nil, nil)
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
		if full.Dimensions <= 0 {
			full.Dimensions = dialect.FullDimensions(a.Model.Echo)
		}
		body = m.appendEmbeddings(nil, &full, total)
	}
	m.send(x, x.answerBody(&profile.Answer{Status: http.StatusOK, Header: m.profile.Header(a), Body: body}))
}

// sameBlocks puts all calls of a stream of messages into the block of the
// first, and ends only the last.
func sameBlocks(frames []llmwire.Frame) []llmwire.Frame {
	index := regexp.MustCompile(`"index":([0-9]+)`)
	numberOf := func(f *llmwire.Frame) []byte {
		if at := index.FindSubmatch(f.Data); at != nil {
			return at[1]
		}
		return nil
	}
	var first, last []byte
	for i := range frames {
		if f := &frames[i]; f.Kind == llmwire.CallStart {
			if last = numberOf(f); first == nil {
				first = last
			}
		}
	}
	var out []llmwire.Frame
	calls := false
	for _, f := range frames {
		calls = calls || f.Kind == llmwire.CallStart
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

// unchecked reports whether a reply may go against what the request asks for:
// the proxy has not asked the model for that.
func (x *exchange) unchecked() bool { return x.proxied != nil && x.proxied.wrong }
