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

	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

const (
	kindJSON   = "application/json"
	kindEvents = "text/event-stream"
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
	return &mcphttp.Tap{Inner: mcphttp.Following{Inner: inner}, Begin: r.request}
}

// webRequest is a request over HTTP with its answer, as a tape has them.
type webRequest struct {
	r       *Recorder
	ctx     context.Context
	stream  int
	session int
	greets  bool // with initialize
	asked   *vcr.Request
	head    *HTTP // of the answer, until it is written
}

// keep notes a frame of it.
func (x *webRequest) keep(dir Dir, h *HTTP, line []byte) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	x.r.note(Frame{Dir: dir, Session: x.session, Stream: x.stream, HTTP: h}, line, x.asked)
}

// End notes how the answer ended.
func (x *webRequest) End(err error) {
	switch {
	case err == nil:
	case x.ctx.Err() != nil, errors.Is(err, mcphttp.ErrLeft):
		x.keep(Left, nil, nil)
	case errors.Is(err, io.EOF):
		x.keep(End, nil, nil)
	default:
		x.keep(End, nil, []byte(reason(err)))
	}
}

// Failed notes that there is no answer.
func (x *webRequest) Failed(err error) { x.End(errors.New(reason(err))) }

// reason is the text of an error without what names hosts and ports.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// request notes a request.
func (r *Recorder) request(req *http.Request, body []byte) mcphttp.Watcher {
	m, _ := mcpwire.Parse(body) // which has no method if it is none
	id := req.Header.Get(mcpwire.HeaderSession)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.web.streams++
	x := &webRequest{
		r: r, ctx: req.Context(), stream: r.web.streams, greets: m.Method == mcpwire.MethodInitialize,
		asked: &vcr.Request{URL: req.URL.String(), Header: req.Header.Clone()},
	}
	x.session = r.sessionOf(id, x.greets)
	h := &HTTP{Method: req.Method, Session: id != "", Event: r.web.event(req.Header.Get(mcpwire.HeaderLastEventID))}
	r.note(Frame{Dir: In, Session: x.session, Stream: x.stream, HTTP: h}, body, x.asked)
	return x
}

// Head notes the head of an answer.
func (x *webRequest) Head(resp *http.Response) {
	id := resp.Header.Get(mcpwire.HeaderSession)
	if x.greets && resp.StatusCode < 300 {
		x.r.mu.Lock()
		x.r.named(x.session, id)
		x.r.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // else none
	x.head = &HTTP{Status: resp.StatusCode, Type: kind, Session: id != ""}
	if kind == kindEvents {
		x.keep(Out, x.head, nil)
	}
}

// Body notes an answer that is no stream.
func (x *webRequest) Body(body []byte) {
	x.keep(Out, x.head, body[:min(len(body), mcpwire.DefaultMaxFrame)])
}

// Event notes an event of a stream, also one that only has an id or a time to
// wait.
func (x *webRequest) Event(ev sse.Event) {
	id := ""
	if ev.SetsID {
		id = ev.ID
	}
	if ev.Stray || ev.Last || ev.Bare && id == "" && ev.Retry == 0 {
		return
	}
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	f := Frame{Dir: Out, Session: x.session, Stream: x.stream}
	if ev.Name == "message" {
		ev.Name = "" // they all are
	}
	if id != "" || ev.Retry != 0 || ev.Name != "" {
		f.HTTP = &HTTP{Event: x.r.web.event(id), Name: ev.Name, Retry: int(ev.Retry.Milliseconds())}
	}
	x.r.note(f, ev.Data, x.asked)
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
