// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// maxRaw is how much of one body or message is kept for [Options.KeepWire].
const maxRaw = 1 << 20

// wireLog keeps what went over the wires of a trial, byte for byte: what the
// subject sent to its endpoint and got from there, and the messages of real MCP
// servers. Mock servers have a log of their own. A nil log keeps nothing.
type wireLog struct {
	clock harness.Clock

	mu     sync.Mutex // guards the rest
	list   []*rawExchange
	frames []jsonrpc.Frame
}

// rawExchange is one request with its answer, as far as they have gone by.
type rawExchange struct {
	log *wireLog
	trials.RawExchange
	body, answer rawText
}

// rawText is the beginning of a body.
type rawText struct {
	kept bytes.Buffer
	size int
}

func (t *rawText) add(b []byte) {
	t.size += len(b)
	t.kept.Write(b[:min(len(b), maxRaw-t.kept.Len())])
}

// exchanges returns what has gone by so far, in order of arrival.
func (l *wireLog) exchanges() []trials.RawExchange {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []trials.RawExchange
	for _, x := range l.list {
		r := x.RawExchange
		r.Body, r.BodySize = x.body.kept.String(), x.body.size
		r.Answer, r.AnswerSize = x.answer.kept.String(), x.answer.size
		out = append(out, r)
	}
	return out
}

// begin enters a request, and returns it with a body that is kept as it is read.
func (l *wireLog) begin(r *http.Request) (*rawExchange, *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &rawExchange{log: l, RawExchange: trials.RawExchange{
		Start: l.clock.Now(), Method: r.Method, Path: r.URL.Path, Headers: dialect.Headers(r.Header, nil),
	}}
	l.list = append(l.list, x)
	if r.Body != nil && r.Body != http.NoBody {
		seen := *r
		seen.Body = &keptBody{r.Body, x, &x.body}
		r = &seen
	}
	return x, r
}

// head notes how an answer begins.
func (x *rawExchange) head(status int, h http.Header) {
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	if x.Status == 0 {
		x.Status, x.AnswerHeaders = status, dialect.Headers(h, nil)
	}
}

func (x *rawExchange) add(to *rawText, b []byte) {
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	to.add(b)
	x.Duration = x.log.clock.Now().Sub(x.Start)
}

// keptBody keeps what is read of a body.
type keptBody struct {
	io.ReadCloser
	x  *rawExchange
	to *rawText
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.add(b.to, p[:n])
	return n, err
}

// handler keeps what goes through a handler.
func (l *wireLog) handler(h http.Handler) http.Handler {
	if l == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, r := l.begin(r)
		h.ServeHTTP(&keptWriter{w, x}, r)
	})
}

// keptWriter keeps what is written. What a fault writes to the connection itself
// it does not see.
type keptWriter struct {
	http.ResponseWriter
	x *rawExchange
}

func (w *keptWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *keptWriter) WriteHeader(status int) {
	if status >= 200 {
		w.x.head(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *keptWriter) Write(b []byte) (int, error) {
	w.x.head(http.StatusOK, w.Header())
	n, err := w.ResponseWriter.Write(b)
	w.x.add(&w.x.answer, b[:n])
	return n, err
}

// transport keeps what goes through a transport.
func (l *wireLog) transport(inner http.RoundTripper) http.RoundTripper {
	if l == nil {
		return inner
	}
	return &keptTransport{l, inner}
}

type keptTransport struct {
	log   *wireLog
	inner http.RoundTripper
}

func (t *keptTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, r := t.log.begin(r)
	res, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x.head(res.StatusCode, res.Header)
	res.Body = &keptBody{res.Body, x, &x.answer}
	return res, nil
}

// seen keeps a message between the subject and a real MCP server; nil where
// nothing is kept.
func (l *wireLog) seen(server string) func(session string, in bool, frame []byte) {
	if l == nil {
		return nil
	}
	return func(session string, in bool, frame []byte) {
		f := jsonrpc.Frame{
			Server: server, Session: session, In: in, Kind: jsonrpc.FrameJunk, Time: l.clock.Now(),
			Body: string(frame[:min(len(frame), maxRaw)]), Size: len(frame),
		}
		if m, err := mcpwire.Parse(frame); err == nil {
			f.Method, f.ID = m.Method, m.ID
			switch {
			case m.IsResponse():
				f.Kind = jsonrpc.FrameResponse
			case m.IsRequest():
				f.Kind = jsonrpc.FrameRequest
			default:
				f.Kind = jsonrpc.FrameNotification
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		f.Seq = len(l.frames) + 1
		l.frames = append(l.frames, f)
	}
}

// keptFrames are the messages of all servers of a trial, where they are kept, of
// each its beginning.
func (t *trial) keptFrames() []jsonrpc.Frame {
	if t.wires == nil {
		return nil
	}
	t.wires.mu.Lock()
	out := append([]jsonrpc.Frame(nil), t.wires.frames...)
	t.wires.mu.Unlock()
	for _, s := range t.servers {
		if s.mock != nil {
			for _, f := range s.mock.Frames() {
				f.Body = f.Body[:min(len(f.Body), maxRaw)]
				out = append(out, f)
			}
		}
	}
	return out
}
