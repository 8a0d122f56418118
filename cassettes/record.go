// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// record asks the endpoint and keeps what it answers in i, in slot s; in mode
// verify it compares that with the interaction found instead.
func (r *Recorder) record(req *http.Request, body []byte, s *slot, i *vcr.Interaction, found *entry) (*http.Response, error) {
	start := r.opts.Clock.Now()
	// Since the start, for the time of day may be set meanwhile.
	i.Meta.Recorded = r.opts.Start.Add(start.Sub(r.opts.Start)).UTC().Truncate(time.Microsecond)
	i.Meta.Subject, i.Meta.Model, i.Meta.Label = r.opts.Subject, r.opts.Model, r.opts.Label
	resp, err := r.ask(req, body)
	if err != nil {
		i.Meta.Outcome, i.Meta.Error = vcr.UpstreamError, reason(err)
		if req.Context().Err() != nil {
			i.Meta.Outcome = vcr.ClientClosed
		}
		i.Response.Duration = r.opts.Clock.Now().Sub(start)
		var op *net.OpError
		s.unreached = errors.As(err, &op) && op.Op == "dial"
		r.finish(s, i, found)
		return nil, err
	}
	now := r.opts.Clock.Now()
	i.Response.Status, i.Response.Code, i.Response.Header = resp.Status, resp.StatusCode, resp.Header.Clone()
	i.Response.Duration = now.Sub(start)
	t := &tee{r: r, ctx: req.Context(), resp: resp, body: resp.Body, kept: i, slot: s, found: found, last: now}
	r.mu.Lock()
	s.live = t
	r.mu.Unlock()
	resp.Body = t
	if resp.Body != nil && (req.Method == http.MethodHead || resp.ContentLength == 0 && resp.StatusCode == http.StatusNoContent) {
		// There is no body, and clients need not read what is not there.
		t.finish(vcr.Complete, "")
	}
	return resp, nil
}

// reason is the text of an error as it is kept: without the address, which
// differs from run to run.
func reason(err error) string {
	var net interface{ Unwrap() error }
	text := err.Error()
	for errors.As(err, &net) && net.Unwrap() != nil {
		err = net.Unwrap()
		text = err.Error()
	}
	return text
}

// tee is the body of an answer on its way to the client: each part is kept
// with its time when the client has it.
type tee struct {
	r     *Recorder
	ctx   context.Context // of the request
	resp  *http.Response
	body  io.ReadCloser
	found *entry

	mu   sync.Mutex // guards the rest: Close may come from anywhere
	kept *vcr.Interaction
	slot *slot
	data bytes.Buffer
	last time.Time
	done bool
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	if n > 0 {
		t.mu.Lock()
		if !t.done {
			now := t.r.opts.Clock.Now()
			t.data.Write(p[:n])
			t.kept.Meta.Chunks = append(t.kept.Meta.Chunks, vcr.Chunk{Size: n, Gap: max(0, now.Sub(t.last))})
			t.last = now
		}
		t.mu.Unlock()
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		t.finish(vcr.Complete, "")
	case t.ctx.Err() != nil:
		t.finish(t.left(), "")
	default:
		t.finish(vcr.Aborted, reason(err))
	}
	return n, err
}

// Close ends the body.
func (t *tee) Close() error {
	t.finish(t.left(), "")
	return t.body.Close()
}

// left is the outcome when the client reads no more. It did not want the rest,
// unless what it has is the whole: many stop at the last event, and their
// leaving can be seen before the end of the body is.
func (t *tee) left() vcr.Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.resp.ContentLength; n >= 0 && int64(t.data.Len()) == n || ended(t.resp.Header, t.data.Bytes()) {
		return vcr.Complete
	}
	return vcr.ClientClosed
}

// ended reports whether a stream has had its last event, behind which nothing
// comes that anybody waits for.
func ended(h http.Header, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if kind != "text/event-stream" {
		return false
	}
	var data []byte
	events := sse.Parser{Max: len(body), Each: func(ev sse.Event) { data = append(data[:0], ev.Data...) }}
	events.Add(body)
	events.End()
	if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
		return true
	}
	var event struct {
		Type string `json:"type"`
	}
	if exactjson.Unmarshal(data, &event) != nil {
		return false
	}
	switch event.Type {
	case "message_stop", "response.completed", "response.failed", "response.incomplete":
		return true
	}
	return false
}

// finish keeps the exchange, once.
func (t *tee) finish(outcome vcr.Outcome, why string) {
	t.mu.Lock()
	if t.done {
		t.mu.Unlock()
		return
	}
	t.done = true
	i := t.kept
	i.Meta.Outcome, i.Meta.Error = outcome, why
	i.Response.Body = t.data.Bytes() // nothing is added once it is done
	if outcome == vcr.Complete && len(t.resp.Trailer) > 0 {
		i.Response.Trailer = t.resp.Trailer.Clone()
	}
	t.mu.Unlock()
	plainBody(i)
	t.r.finish(t.slot, i, t.found)
}

// codingsOf are the codings of a body as its header names them, all but those
// that do nothing.
func codingsOf(h http.Header) string {
	var list []string
	for _, v := range h["Content-Encoding"] {
		for c := range strings.SplitSeq(strings.ToLower(v), ",") {
			if c = strings.TrimSpace(c); c != "" && c != "identity" {
				list = append(list, c)
			}
		}
	}
	return strings.Join(list, ", ")
}

// plain undoes the codings of a body, so that people can read it and rules find
// secrets in it. What cannot be undone is named. In an empty body nothing is
// hidden, whatever its header says. cut says that the body broke off.
func plain(h http.Header, body []byte, cut bool) (out []byte, undone bool, opaque string) {
	codings := codingsOf(h)
	if codings == "" || len(body) == 0 {
		return body, false, ""
	}
	out, err := vcr.Uncompressed(codings, body, cut)
	if err != nil || bytes.Equal(out, body) { // it is not what its header says
		return body, false, codings
	}
	return out, true, ""
}

// plainRequest stores a request's body decoded. It names what cannot be decoded.
func plainRequest(q *vcr.Request) (opaque string) {
	var undone bool
	if q.Body, undone, opaque = plain(q.Header, q.Body, false); undone {
		q.Header = q.Header.Clone()
		q.Header.Del("Content-Encoding")
	}
	return opaque
}

// plainBody stores an answer's body decoded, unless it cannot be.
func plainBody(i *vcr.Interaction) {
	var undone bool
	i.Response.Body, undone, i.Meta.Coding = plain(i.Response.Header, i.Response.Body, i.Meta.Outcome != vcr.Complete)
	if undone {
		var total time.Duration
		for _, c := range i.Meta.Chunks {
			total += c.Gap
		}
		i.Meta.Chunks = []vcr.Chunk{{Size: len(i.Response.Body), Gap: total}}
		i.Response.Header.Del("Content-Encoding")
	}
	// Lengths and framing are computed anew at replay.
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"} {
		i.Response.Header.Del(name)
	}
}

// finish takes the secrets out of an exchange that has ended and keeps it.
func (r *Recorder) finish(s *slot, i *vcr.Interaction, found *entry) {
	kept := r.secrets.Interaction(i)
	r.mu.Lock()
	s.live = nil
	defer r.mu.Unlock()
	defer r.open.Done()
	if failedAttempt(kept) {
		r.failed[s.key]++
	}
	if s.unreached || kept.Response.Code >= http.StatusBadRequest {
		r.refused = kept
	}
	if r.opts.Mode == Verify {
		r.compare(found, kept)
		return
	}
	const keep = "which is not recorded; --keep-errors (in a scenario: cassette.keep_errors) records it"
	if code := kept.Response.Code; !r.opts.KeepErrors && (code == http.StatusTooManyRequests || code >= 500) {
		r.note("%s %s was answered %d, %s", kept.Request.Method, kept.Request.URL, code, keep)
		return
	}
	if s.unreached && !r.opts.KeepErrors {
		r.note("%s %s did not reach the endpoint (%s), %s", kept.Request.Method, kept.Request.URL, kept.Meta.Error, keep)
		return
	}
	if coding := kept.Meta.Coding; coding != "" {
		r.note("%s %s was answered in %s, in which secrets cannot be found; it is not recorded", kept.Request.Method, kept.Request.URL, coding)
		return
	}
	if s.opaque != "" {
		r.note("%s %s was sent in %s, in which secrets cannot be found; it is not recorded", kept.Request.Method, kept.Request.URL, s.opaque)
		return
	}
	for _, side := range []struct {
		name string
		body []byte
	}{{"request", kept.Request.Body}, {"answer", kept.Response.Body}} {
		if format := redact.Packed(side.body); format != "" {
			r.note("%s %s: the body of the %s is compressed (%s), and secrets in it cannot be found; it is recorded as it came", kept.Request.Method, kept.Request.URL, side.name, format)
		}
	}
	if s.renews != nil && isCut(kept) && s.renews.Meta.Outcome == vcr.Complete {
		r.note("%s %s was cut off while it was recorded again; the older answer stays", kept.Request.Method, kept.Request.URL)
		return
	}
	s.kept = kept
	renews := 0
	if s.renews != nil {
		renews = s.renews.number
	}
	if r.opts.Whole {
		return
	}
	if err := r.journal.add(r.slotNumber(s), renews, kept); err != nil {
		r.note("%v", err)
	}
}

func (r *Recorder) slotNumber(s *slot) int {
	for n := len(r.slots) - 1; n >= 0; n-- {
		if r.slots[n] == s {
			return n
		}
	}
	return len(r.slots)
}

// compare holds an answer against the recorded one. One that did not come, or
// not to its end, says nothing about either. The caller holds mu.
func (r *Recorder) compare(found *entry, live *vcr.Interaction) {
	what := fmt.Sprintf("%s %s", live.Request.Method, live.Request.URL)
	if found == nil {
		r.drift = append(r.drift, what+": this request is not recorded")
		return
	}
	why := ""
	switch {
	case live.Meta.Outcome == vcr.Aborted:
		why = "the answer broke off: " + live.Meta.Error
	case live.Meta.Outcome == vcr.UpstreamError:
		why = "the endpoint did not answer: " + live.Meta.Error
	case live.Response.Code == 0:
		why = "the client left before the endpoint answered"
	}
	if why != "" && found.Meta.Outcome != live.Meta.Outcome {
		r.unjudged = append(r.unjudged, fmt.Sprintf("%s: interaction %d: not compared: %s", what, found.number, why))
		return
	}
	for _, d := range shape.Diff(shape.Of(found.Interaction), shape.Of(live)) {
		r.drift = append(r.drift, fmt.Sprintf("%s: interaction %d: %s", what, found.number, d))
	}
}
