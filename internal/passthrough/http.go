// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/mcphttp"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Handler hands every request on to the server's URL, with the headers that
// [harness.Server] has for it, whatever the path. The error is that of a URL
// that cannot be read.
func (s *Server) Handler() (http.Handler, error) {
	target, err := url.Parse(s.server.URL)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1, // streams go on as they come
		Transport:     &mcphttp.Tap{Inner: mcphttp.Following{Inner: s.opts.Transport}, Begin: s.begin},
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *target
			r.Out.URL, r.Out.Host = &to, to.Host
			for k, v := range s.server.Headers {
				r.Out.Header.Set(k, v)
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, mcphttp.ErrTooLong) {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			http.Error(w, fmt.Sprintf("server %q: %v", s.server.Name, err), http.StatusBadGateway)
		},
	}, nil
}

// webRequest is a request over HTTP whose answer goes by.
type webRequest struct {
	s       *Server
	ctx     context.Context
	session string          // ids are unique in a session; where a client opens several, the header tells them apart
	id      json.RawMessage // of what the server has to answer; nil for nothing
	status  int
	here    bool  // the answer is to come on this connection
	unread  error // why its body cannot be read
}

func (s *Server) begin(r *http.Request, body []byte) mcphttp.Watcher {
	x := &webRequest{s: s, ctx: r.Context(), session: r.Header.Get(mcpwire.HeaderSession)}
	if r.Method == http.MethodPost {
		x.id = slices.Clone(s.request(x.session, nil, body))
	}
	return x
}

func (x *webRequest) noAnswer(why string) { x.s.noAnswer(x.session, x.id, why) }

func (x *webRequest) Head(resp *http.Response) {
	x.status = resp.StatusCode
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream", "application/json":
		x.here = true
	default:
		x.noAnswer(fmt.Sprintf("it answered with HTTP %d", resp.StatusCode))
	}
}

func (x *webRequest) Body(body []byte) {
	if !x.seen(len(body) > mcpwire.DefaultMaxFrame, body) || x.id == nil {
		return
	}
	messages, err := mcpwire.ParseBody(body, x.id)
	refused := x.status < 200 || x.status > 299
	switch {
	case refused && (err != nil || len(messages) != 1 || messages[0].Error == nil), !refused && !(x.answers() && x.here):
		x.noAnswer(fmt.Sprintf("it answered with HTTP %d", x.status))
	case err != nil:
		x.unread = err
	default:
		x.s.answers(x.session, messages, nil, false)
	}
}

// answers reports whether the status is that of an answer.
func (x *webRequest) answers() bool {
	return x.status >= 200 && x.status <= 299 && x.status != http.StatusAccepted && x.status != http.StatusNoContent
}

func (x *webRequest) Event(ev sse.Event) {
	if ev.Stray || !x.answers() || !mcphttp.IsMessage(ev) || !ev.TooLong && len(ev.Data) == 0 || !x.seen(ev.TooLong, ev.Data) {
		return
	}
	messages, junk := mcpwire.ParseAll(ev.Data)
	x.s.answers(x.session, messages, junk, false)
}

// seen shows a frame to whoever wants to see it, and reports whether it can be
// read.
func (x *webRequest) seen(tooLong bool, frame []byte) bool {
	if tooLong {
		x.noAnswer("its answer exceeds the size limit")
		return false
	}
	x.s.opts.Seen(x.session, false, bytes.TrimPrefix(frame, []byte("\ufeff")))
	return true
}

func (x *webRequest) Failed(err error) {
	if x.ctx.Err() == nil {
		x.noAnswer(err.Error())
	}
	x.s.leave(x.session, x.id)
}

// End tells how the answer ended. That the client left is not the server's
// doing.
func (x *webRequest) End(err error) {
	left := errors.Is(err, mcphttp.ErrLeft) || errors.Is(err, context.Canceled) || x.ctx.Err() != nil
	switch {
	case left:
	case err == nil && x.unread != nil:
		x.noAnswer(x.unread.Error())
	case err == nil, errors.Is(err, io.EOF):
		x.noAnswer("its answer has no result")
	default:
		x.noAnswer(fmt.Sprintf("its answer broke off: %v", err))
	}
	if left || x.here {
		x.s.leave(x.session, x.id)
	}
}
