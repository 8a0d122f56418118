// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

const (
	sessionHeader = "Mcp-Session-Id"
	eventHeader   = "Last-Event-Id"
	kindJSON      = "application/json"
	kindEvents    = "text/event-stream"
)

// web is what a recorder knows of traffic over HTTP.
type web struct {
	streams  int
	sessions map[string]int    // by their ids
	events   map[string]string // ids of events, numbered anew
	// Requests without the id of a session go to the session open, until an
	// initialize has given it an id. -1 means a new one.
	open     int
	greeted  bool // it has an initialize
	nameless bool // which gave it none, and never will
}

func newWeb() web { return web{sessions: map[string]int{}, events: map[string]string{}, open: -1} }

// event returns the id of an event as it is written.
func (w *web) event(id string) string {
	if id == "" {
		return ""
	}
	if w.events[id] == "" {
		w.events[id] = fmt.Sprintf("e%d", len(w.events)+1)
	}
	return w.events[id]
}

// anonymous is a line without the ids of sessions, which some servers repeat
// in what they say.
func (w *web) anonymous(line []byte) []byte {
	for id, n := range w.sessions {
		if len(id) >= 8 {
			line = bytes.ReplaceAll(line, []byte(id), fmt.Appendf(nil, "session-%d", n))
		}
	}
	return line
}

// sessionOf is the session of a request. The caller holds mu.
func (r *Recorder) sessionOf(id string, initialize bool) int {
	w := &r.web
	fresh := func() int {
		r.sessions++
		return r.sessions - 1
	}
	if id != "" {
		n, ok := w.sessions[id]
		if !ok {
			n = fresh()
			w.sessions[id] = n
		}
		return n
	}
	if w.open < 0 || initialize && w.greeted && !w.nameless {
		w.open, w.greeted, w.nameless = fresh(), false, false
	}
	w.greeted = w.greeted || initialize
	return w.open
}

// named takes the id that the answer to an initialize has, if any.
func (r *Recorder) named(session int, id string) {
	w := &r.web
	if id != "" {
		w.sessions[id] = session
	}
	if w.open == session {
		w.nameless = id == ""
		if id != "" {
			w.open = -1
		}
	}
}

// Transport records a server over HTTP: what goes through inner is on the
// tape. Nil means a transport of its own.
func (r *Recorder) Transport(inner http.RoundTripper) http.RoundTripper {
	if inner == nil {
		// Nothing is left behind after the last request.
		inner = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	return &recording{r, inner}
}

type recording struct {
	r     *Recorder
	inner http.RoundTripper
}

// exchange is a request over HTTP with its answer.
type exchange struct {
	r       *Recorder
	ctx     context.Context
	stream  int
	session int
	greets  bool      // with initialize
	once    sync.Once // ends it
}

// keep notes a frame of it.
func (x *exchange) keep(dir Dir, h *HTTP, line []byte) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	x.r.note(Frame{Dir: dir, Session: x.session, Stream: x.stream, HTTP: h}, line)
}

// end notes how the answer ended, unless it has.
func (x *exchange) end(err error) {
	x.once.Do(func() {
		switch {
		case err == nil:
		case x.ctx.Err() != nil, errors.Is(err, errClosed):
			x.keep(Left, nil, nil)
		case errors.Is(err, io.EOF):
			x.keep(End, nil, nil)
		default:
			x.keep(End, nil, []byte(reason(err)))
		}
	})
}

// errClosed says that the client closed the body before its end.
var errClosed = errors.New("closed by the client")

// reason is the text of an error without what names hosts and ports.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// RoundTrip sends a request on. It follows redirects that keep the message, to
// the same host, since a recorded one would lead away from the tape.
func (t *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, mcpwire.DefaultMaxFrame+1))
		req.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case len(body) > mcpwire.DefaultMaxFrame:
			return nil, errors.New("the message is longer than a message may be")
		}
	}
	x := t.r.exchange(req, body)
	to := req.URL
	for range 10 {
		out := req.Clone(req.Context())
		out.URL, out.Body, out.ContentLength = to, http.NoBody, int64(len(body))
		if len(body) > 0 {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		out.Header.Del("Accept-Encoding") // so that answers can be read
		resp, err := t.inner.RoundTrip(out)
		if err != nil {
			x.end(errors.New(reason(err))) // an EOF is no end
			return nil, err
		}
		next, err := resp.Location()
		if err != nil || resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect ||
			next.Scheme != to.Scheme || next.Host != to.Host {
			resp.Request = req
			x.answer(resp)
			return resp, nil
		}
		resp.Body.Close()
		to = next
	}
	err := errors.New("it redirects without end")
	x.end(err)
	return nil, err
}

// exchange begins one.
func (r *Recorder) exchange(req *http.Request, body []byte) *exchange {
	m, _ := mcpwire.Parse(body) // which has no method if it is none
	id := req.Header.Get(sessionHeader)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.web.streams++
	x := &exchange{r: r, ctx: req.Context(), stream: r.web.streams, greets: m.Method == "initialize"}
	x.session = r.sessionOf(id, x.greets)
	h := &HTTP{Method: req.Method, Session: id != "", Event: r.web.event(req.Header.Get(eventHeader))}
	r.note(Frame{Dir: In, Session: x.session, Stream: x.stream, HTTP: h}, body)
	return x
}

// answer notes the head of an answer and looks at its body.
func (x *exchange) answer(resp *http.Response) {
	id := resp.Header.Get(sessionHeader)
	if x.greets && resp.StatusCode < 300 {
		x.r.mu.Lock()
		x.r.named(x.session, id)
		x.r.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // else none
	h := &HTTP{Status: resp.StatusCode, Type: kind, Session: id != ""}
	w := &watched{ReadCloser: resp.Body, x: x}
	resp.Body = w
	switch {
	case kind == kindEvents:
		x.keep(Out, h, nil)
		events := mcpwire.Events{Each: x.event}
		w.add = func(p []byte) bool {
			events.Add(p)
			return false
		}
	case kind == kindJSON:
		w.rest = func(body []byte) { x.keep(Out, h, body) }
		var extent mcpwire.Extent
		w.add = extent.Add
	default:
		w.rest = func(body []byte) { x.keep(Out, h, body) }
		w.add = func([]byte) bool { return false }
		if resp.ContentLength == 0 || resp.StatusCode == http.StatusNoContent {
			w.finish(nil) // clients need not read what is not there
		}
	}
}

// event notes an event of a stream.
func (x *exchange) event(ev mcpwire.Event) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	f := Frame{Dir: Out, Session: x.session, Stream: x.stream}
	if ev.Name == "message" {
		ev.Name = "" // they all are
	}
	if ev.ID != "" || ev.Retry != 0 || ev.Name != "" {
		f.HTTP = &HTTP{Event: x.r.web.event(ev.ID), Name: ev.Name, Retry: ev.Retry}
	}
	x.r.note(f, ev.Data)
}

// watched is the body of an answer that is looked at while it goes by.
type watched struct {
	io.ReadCloser
	x    *exchange
	add  func(p []byte) (whole bool)
	rest func(body []byte) // takes the body when it is whole; nil for events

	mu   sync.Mutex // guards the rest: Close may come from anywhere
	part []byte
	done bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return n, err
	}
	if w.rest != nil {
		w.part = append(w.part, p[:min(n, mcpwire.DefaultMaxFrame-len(w.part))]...)
	}
	switch whole := w.add(p[:n]); {
	case whole: // the client may go on before it reads the end of the body
		w.finish(nil)
	case err != nil:
		w.finish(err)
	}
	return n, err
}

// finish takes the end of the body. The caller holds mu, or has w alone.
func (w *watched) finish(err error) {
	if w.done {
		return
	}
	w.done = true
	if w.rest != nil {
		w.rest(w.part)
		if errors.Is(err, io.EOF) {
			err = nil // it goes without saying
		}
	}
	w.x.end(err)
}

func (w *watched) Close() error {
	w.mu.Lock()
	w.finish(errClosed)
	w.mu.Unlock()
	return w.ReadCloser.Close()
}

// Handler stands before the server at target, and records what is asked of its
// path. Requests for other paths go to the same host and are not recorded.
// Header are added to all requests and appear nowhere.
func (r *Recorder) Handler(target *url.URL, header http.Header) http.Handler {
	plain := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	taped := r.Transport(plain)
	path := "/" + strings.TrimPrefix(target.Path, "/")
	proxy := func(transport http.RoundTripper, whole bool) *httputil.ReverseProxy {
		return &httputil.ReverseProxy{
			FlushInterval: -1, // streams go on as they come
			Transport:     transport,
			Rewrite: func(p *httputil.ProxyRequest) {
				to := *target
				if !whole {
					to.Path, to.RawPath, to.RawQuery = p.In.URL.Path, p.In.URL.RawPath, p.In.URL.RawQuery
				} else if p.In.URL.RawQuery != "" {
					to.RawQuery = strings.Trim(to.RawQuery+"&"+p.In.URL.RawQuery, "&")
				}
				p.Out.URL, p.Out.Host = &to, to.Host
				p.Out.Header.Del("Origin") // it is that of the proxy
				for k, v := range header {
					p.Out.Header[http.CanonicalHeaderKey(k)] = v
				}
			},
			ErrorLog: log.New(io.Discard, "", 0),
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, "asking the server: "+reason(err), http.StatusBadGateway)
			},
		}
	}
	mcp, other := proxy(taped, true), proxy(plain, false)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.TrimSuffix(req.URL.Path, "/") == strings.TrimSuffix(path, "/") {
			mcp.ServeHTTP(w, req)
			return
		}
		other.ServeHTTP(w, req)
	})
}
