// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// preset are what a profile makes of a dialect and a model.
type preset struct {
	// style is how replies are written; nil is the provider's way.
	style *dialect.Style
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
	// half has half of the text left out, and noReason the reason to end.
	half, noReason bool
	// catching has an answer in place of a reply kept here and not sent.
	catching bool
	caught   *errorAnswer
}

// checkProfile says what is wrong with the name of a profile.
func checkProfile(name string) error {
	if _, ok := profile.Lookup(name); ok {
		return nil
	}
	return fmt.Errorf("unknown profile %q%s; the profiles are %s", name, prose.DidYouMean(name, profile.Names()), strings.Join(profile.Names(), ", "))
}

// presetOf returns what the profile makes of a request that was read.
func (m *Mock) presetOf(x *exchange) preset {
	if x.proxied == nil {
		return preset{}
	}
	a := x.proxied.ask
	return preset{style: m.profile.Style(a), model: a.Model.Echo, header: x.only(nil)}
}

// lacks reports whether the profile's endpoint has no such route.
func (m *Mock) lacks(x *exchange) bool {
	if strings.HasPrefix(x.path, "/rehearse/") || x.path == "/health" {
		return false
	}
	return !m.profile.Has(x.path)
}

// envelope is how the profile writes an error; nil leaves it to the dialect.
func (m *Mock) envelope(x *exchange, r *dialect.Refusal) *dialect.Body {
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
	switch own, known := dialects.Find(string(d)); {
	case known:
		x.api = own
	case d == profile.Old || d == profile.OldStream:
		x.api = x.oldDialect()
	default:
		m.miss(x, fmt.Sprintf("%s %s: the profile %s does not answer there", x.r.Method, x.path, m.profile.Name))
		return true
	}
	if x.query = dialects.EndpointOf(x.path).Query; x.query.Model != "" {
		x.query.IDs = m.recognise()
	}
	m.serveModel(x)
	return true
}

// writeProxied writes a reply as a proxy hands it on: names of models are
// resolved, and headers are the proxy's.
func (m *Mock) writeProxied(x *exchange, r *dialect.Reply) *dialect.Body {
	a := x.proxied.ask
	a.Text = len(r.Choices) > 0 && r.Choices[0].Text != ""
	a.Calls = len(r.Choices) > 0 && len(r.Choices[0].Calls) > 0
	if style := m.profile.Style(a); style != nil {
		style.Fragments = x.style.Fragments
		x.style = style
	}
	if x.proxied.half {
		pieces := dialect.Pieces(r.Choices[0].Text, x.style, r.Seed)
		r.Choices[0].Text, r.Choices[0].Calls = strings.Join(pieces[:fault.Index(cmp.Or(x.struckBy.At.Chunk, x.struckBy.At.Token), len(pieces))], ""), nil
	}
	for i := range r.Choices {
		c := &r.Choices[i]
		c.Finish = m.profile.Finish(a, len(c.Calls) > 0, c.Finish)
	}
	b := x.writeOwn(r)
	if x.proxied.noReason {
		edit(b, []string{"stop_reason"}, set(value.Value{}))
	}
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
			f.Data = edit(f.Kind == dialect.KindText, f.Data)
		}
	})
	return m.fromGateway(x, b, r)
}

// decodeProxied reads a request. What the provider would refuse is passed on.
func (m *Mock) decodeProxied(x *exchange, body []byte) (*dialect.Chat, *dialect.Refusal) {
	p := x.proxied
	p.body = bytes.Clone(body)
	x.preset.header = x.only(nil)
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, p.refuse(m.profile.BadBody(p.ask.Dialect, body))
	}
	_, p.ask.Tools = o["tools"]
	p.ask.Stream = profile.Truth(o["stream"]) || p.ask.Dialect == profile.OldStream
	name, present := "", false
	if p.ask.Dialect == profile.Generate {
		name, present, p.ask.Stream = x.query.Model, true, x.query.Stream
	} else {
		_ = json.Unmarshal(o["model"], &name) // anything that is not a text is no name
		present = name != ""
	}
	if a := m.profile.Check(p.ask, o); a != nil {
		return nil, p.refuse(a)
	}
	model, instead := m.profile.Resolve(p.ask.Dialect, name, present)
	p.ask.Model = model
	if instead == nil {
		instead = m.profile.Check(p.ask, o)
	}
	chat, refusal := x.decodeOwn(readable(body, o, model.Name))
	switch {
	case instead != nil:
		return chat, p.refuse(instead)
	case chat == nil || m.profile.Checked():
		// Without a chat, a mock has nothing to go by.
		return chat, refusal
	}
	return chat, nil
}

// readable is a body with what the endpoint makes of its stream and of a model
// that is not there.
func readable(body []byte, o map[string]json.RawMessage, model string) []byte {
	stream, streams := o["stream"]
	streams = streams && string(stream) != "true" && string(stream) != "false"
	var name string
	_ = json.Unmarshal(o["model"], &name) // anything that is not a text is no name
	if !streams && (name != "" || model == "") {
		return body
	}
	o = maps.Clone(o)
	if streams {
		o["stream"] = json.RawMessage(strconv.FormatBool(profile.Truth(stream)))
	}
	if name == "" && model != "" {
		o["model"] = dialect.Encode(model)
	}
	return dialect.Encode(o)
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

func (x *exchange) answerBody(a *profile.Answer) *dialect.Body {
	return &dialect.Body{Status: a.Status, Header: x.only(a.Header), Frames: []dialect.Frame{{Data: a.Body}}}
}

// sendAnswer sends an answer that has nothing to do with a model.
func (m *Mock) sendAnswer(x *exchange, a *profile.Answer) {
	x.stray = true
	x.preset.header = x.only(nil)
	if a.Status >= http.StatusBadRequest {
		x.kind, x.status, x.err = harness.KindRefusal, a.Status, fmt.Sprintf("%s %s: %s", x.r.Method, x.path, a.Body)
		m.record(x.entry, errors.New("refused: "+x.err))
	}
	b := x.answerBody(a)
	if a.Status == http.StatusNoContent && a.Header["Content-Length"] != nil { // which net/http would not send
		b.RawHead = true
		b.Header["Date"] = []string{m.now().UTC().Format(http.TimeFormat)}
	}
	m.send(x, b)
}

// fromGateway is an ordinary reply as the proxy hands it on: the gateway's
// notice to users whom it does not know looks like one.
func (m *Mock) fromGateway(x *exchange, b *dialect.Body, r *dialect.Reply) *dialect.Body {
	if len(r.Choices) == 0 || !strings.HasPrefix(r.Choices[0].Text, profile.NoticeText) {
		return b
	}
	a, t := m.profile.Fail(x.proxied.ask, profile.Behind{Trouble: profile.Notice})
	switch {
	case a != nil:
		return x.answerBody(a)
	case t != nil:
		first := slices.IndexFunc(b.Frames, func(f dialect.Frame) bool { return f.Kind == dialect.KindText })
		if first >= 0 && x.style.Fragments.Unit != "" && !bytes.Contains(b.Frames[first].Data, []byte(profile.NoticeText)) {
			return b // only a notice in one piece is found
		}
		b.Frames = b.Frames[:max(first, 0)]
		if x.proxied.ask.Model.Family != profile.Claude { // whose block begins with its text
			b.Frames = withoutKinds(b.Frames, dialect.KindRole)
		}
		rewritten(b, t, profile.Behind{})
	}
	return b
}

// behind is what the client of a proxy sees of a fault that happens behind it.
// Other faults are the proxy's own.
func (m *Mock) behind(x *exchange, fx effects) effects {
	if x.proxied == nil || x.struckBy.Kind == "" || !m.profile.Behind() {
		return fx
	}
	gone, ok := m.behindFault(x)
	if !ok {
		return fx
	}
	a, t := m.profile.Fail(x.proxied.ask, gone)
	switch {
	case a != nil:
		return effects{before: func(x *exchange) bool {
			x.status = a.Status // what the proxy answers asks for no wait
			m.record(x.entry, nil)
			b := x.answerBody(a)
			b.Part = true
			m.send(x, b)
			return true
		}}
	case t != nil:
		return effects{
			reply: func(x *exchange, r *dialect.Reply) {
				switch {
				case t.Empty:
					r.ID, r.Created, r.Model, r.Usage = "", 0, "", harness.Usage{}
					r.Choices[0] = dialect.Choice{Finish: "stop"}
				case t.Half:
					x.proxied.half, x.proxied.noReason = true, t.NoReason
				}
				if t.Text != "" && len(r.Choices) > 0 {
					text := strings.ReplaceAll(t.Text, "$body", string(gone.Body))
					r.Choices[0] = dialect.Choice{Text: strings.TrimSpace(text), Finish: "stop"}
				}
			},
			body: func(x *exchange, b *dialect.Body) {
				if t.Half { // the text is cut already
					return
				}
				switch gone.Trouble {
				case profile.CutClean, profile.CutReset, profile.ErrorChunk, profile.ErrorEvent:
					var after []dialect.Frame
					b.Frames, after = strike(b.Frames, x.struckBy.At, false)
					if t.Stop {
						after = onlyKinds(after, dialect.KindDone)
					} else if t.Usage {
						after = onlyKinds(after, dialect.KindUsage)
					} else {
						after = nil
					}
					b.Frames = append(b.Frames, after...)
				}
				rewritten(b, t, gone)
			},
		}
	}
	return effects{}
}

// behindFault is what the fault that a request meets is when it happens behind a
// proxy; false for the faults that only a proxy itself can have.
func (m *Mock) behindFault(x *exchange) (profile.Behind, bool) {
	f := x.struckBy
	form := f.FormFor(x.chat.Stream())
	switch f.Kind {
	case fault.Reset:
		switch form {
		case "before":
			return profile.Behind{Trouble: profile.Closed}, true
		case "during":
			return profile.Behind{Trouble: profile.CutReset}, true
		}
	case fault.Cut:
		return profile.Behind{Trouble: profile.CutClean}, true
	case fault.MissingDone:
		return profile.Behind{Trouble: profile.NoDone}, true
	case fault.InStreamError:
		g := profile.Behind{
			// A document that has to say nothing of what came before it begins
			// with the error, unless it is told where that is.
			Trouble: profile.ErrorChunk, Early: f.At.Chunk == 1 || !x.proxied.ask.Stream && f.At.Chunk == 0 && f.At.Token == 0,
			Body: []byte(errorDocument(form, cmp.Or(f.Body, `{"message":"Internal server error","type":"server_error"}`))),
		}
		if form == "anthropic" {
			g.Trouble = profile.ErrorEvent
			if f.Body != "" {
				g.Body = fmt.Appendf(nil, `{"type":"error","error":%s}`, f.Body)
			}
		}
		if !x.proxied.ask.Stream && !m.profile.Forces(x.proxied.ask) {
			g.Trouble = profile.EmptyObject // a document that says nothing but the error
		}
		return g, form != "finish"
	}
	e, ok := m.statusEffects(f, form)
	if !ok || e.before == nil {
		return profile.Behind{}, false
	}
	x.proxied.catching = true
	e.before(x)
	x.proxied.catching = false
	a := x.proxied.caught
	g := profile.Behind{Trouble: profile.Status, Status: a.status, Type: a.contentType, Body: a.body}
	if a.status != http.StatusOK {
		return g, true
	}
	var o struct {
		Response json.RawMessage
		Choices  []struct{ Message *json.RawMessage }
	}
	var old struct {
		Calls json.RawMessage `json:"tool_calls"`
	}
	switch err := json.Unmarshal(a.body, &o); {
	case err != nil && json.Valid(a.body):
		g.Trouble = profile.NoObject
	case err != nil:
		g.Trouble = profile.NotJSON
	case len(o.Choices) > 0 && o.Choices[0].Message != nil:
		return g, false // as good as any
	case len(o.Choices) > 0:
		g.Trouble = profile.BadShape
	case string(o.Response) == "null":
		g.Trouble = profile.NoResponse
	case json.Unmarshal(o.Response, &old) == nil && bytes.HasPrefix(old.Calls, []byte("{")):
		g.Trouble = profile.BareCall
	default:
		g.Trouble = profile.EmptyObject
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

// rewritten changes a stream as trouble behind the endpoint does.
func rewritten(b *dialect.Body, t *profile.Rewrite, g profile.Behind) {
	b.Part = true
	if !t.Keep {
		b.Frames = nil
	}
	if t.NoDone {
		b.Frames = withoutKinds(b.Frames, dialect.KindDone)
	}
	if t.NoUsage {
		b.Frames = withoutKinds(b.Frames, dialect.KindUsage)
	}
	if t.NoFinish {
		b.Frames = withoutKinds(b.Frames, dialect.KindFinish)
	}
	for _, e := range t.Events {
		e = strings.NewReplacer("$body", string(g.Body), "$message", "APIError").Replace(e)
		b.Frames = append(b.Frames, dialect.Frame{Kind: dialect.KindFault, Data: []byte(e)})
	}
	if t.Raw != "" {
		// The server believes that all is well, and keeps the connection.
		rest := fmt.Sprintf("%s%x\r\n%s\r\n0\r\n\r\n", t.Raw, len(t.Chunk), t.Chunk)
		b.Frames = append(b.Frames, dialect.Frame{Kind: dialect.KindFault, Raw: true, Data: []byte(rest), Then: dialect.ThenHang})
	}
	if n := len(b.Frames); t.Cut && n > 0 {
		b.Frames[n-1].Then = dialect.ThenCut
	}
}

// unchecked reports whether a reply may go against what the request asks for:
// a proxy passes that on, or does not, and no model behind it is known to hold
// to it.
func (x *exchange) unchecked() bool { return x.proxied != nil && !x.m.profile.Checked() }

// echoedSettings are the settings of a request as a proxy repeats them: as they
// came, with the name of its user.
func (x *exchange) echoedSettings() json.RawMessage {
	if x.style.Rebuilt == nil || x.proxied.ask.Dialect != profile.Responses {
		return nil // as the provider does
	}
	const user = `"rehearse"`
	var came map[string]json.RawMessage
	_ = json.Unmarshal(x.proxied.body, &came) // was decoded
	out := map[string]json.RawMessage{}
	for _, key := range append(responses.Repeated(), "frequency_penalty", "presence_penalty") {
		if v, ok := came[key]; ok {
			out[key] = v
		}
	}
	out["user"] = json.RawMessage(user)
	if x.proxied.ask.Model.Family == profile.Claude {
		metadata := map[string]json.RawMessage{}
		if v, ok := out["metadata"]; !ok || json.Unmarshal(v, &metadata) == nil && metadata != nil {
			metadata["user_id"] = json.RawMessage(user)
			out["metadata"] = dialect.Encode(metadata)
		}
	}
	return dialect.Encode(out)
}
