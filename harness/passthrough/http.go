// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough

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

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Handler hands every request on to the server's URL, with the headers that
// [harness.Server] has for it, whatever the path. The error is that of a URL
// that cannot be read.
func (s *Server) Handler() (http.Handler, error) {
	target, err := url.Parse(s.server.URL)
	if err != nil {
		return nil, err
	}
	// Ids are unique in a session; where a client opens several sessions, the
	// session's own header tells them apart.
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // streams go on as they come
		Transport:     s.opts.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *target
			r.Out.URL, r.Out.Host = &to, to.Host
			for k, v := range s.server.Headers {
				r.Out.Header.Set(k, v)
			}
			r.Out.Header.Del("Accept-Encoding") // so that answers can be read
		},
		ModifyResponse: func(res *http.Response) error {
			session := res.Request.Header.Get("Mcp-Session-Id")
			key, _ := res.Request.Context().Value(pendingKey{}).(string)
			kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
			w := watcher{
				body: res.Body,
				each: func(frame []byte) { s.response(session, frame) },
				end:  func(why string) { s.noAnswer(key, why) },
			}
			switch kind {
			case "text/event-stream":
				res.Body = &eventWatcher{watcher: w}
			case "application/json":
				res.Body = &jsonWatcher{watcher: w}
			default:
				s.noAnswer(key, fmt.Sprintf("it answered with HTTP %d", res.StatusCode))
			}
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if key, _ := r.Context().Value(pendingKey{}).(string); r.Context().Err() == nil {
				s.noAnswer(key, err.Error())
			}
			http.Error(w, fmt.Sprintf("server %q: %v", s.server.Name, err), http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcpwire.DefaultMaxFrame))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			key := s.request(r.Header.Get("Mcp-Session-Id"), nil, body)
			r = r.WithContext(context.WithValue(r.Context(), pendingKey{}, key))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}), nil
}

const (
	tooLong  = "its answer is longer than a message may be"
	noResult = "its answer has no result"
)

// pendingKey is the context key of what a request waits for.
type pendingKey struct{}

// watcher is the body of an answer that is looked at while it goes by.
type watcher struct {
	body io.ReadCloser
	each func(frame []byte)
	end  func(why string) // what has no answer by now has none
	part []byte
}

func (w *watcher) Close() error { return w.body.Close() }

// ended tells how the body ended, when it has. That the client left is not
// the server's doing.
func (w *watcher) ended(err error) {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case errors.Is(err, io.EOF):
		w.end(noResult)
	default:
		w.end(fmt.Sprintf("its answer broke off: %v", err))
	}
}

// jsonWatcher takes the whole body for one message. It does not wait for the
// end of the body: the client may go on as soon as it has the last byte.
type jsonWatcher struct {
	watcher
	done   bool
	extent mcpwire.Extent
}

func (w *jsonWatcher) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if w.done {
		return n, err
	}
	defer w.ended(err)
	w.part = append(w.part, p[:min(n, mcpwire.DefaultMaxFrame+1-len(w.part))]...)
	switch {
	case len(w.part) > mcpwire.DefaultMaxFrame:
		w.end(tooLong)
	case w.extent.Add(p[:n]), errors.Is(err, io.EOF):
		w.each(w.part)
		w.end(noResult) // if that was none
	default:
		return n, err
	}
	w.part, w.done = nil, true
	return n, err
}

// eventWatcher takes the data of each event for one message.
type eventWatcher struct {
	watcher
	lines *lines
	drop  bool // the rest of an event that is too long
}

func (w *eventWatcher) Read(p []byte) (int, error) {
	if w.lines == nil {
		w.lines = &lines{each: w.line}
	}
	n, err := w.body.Read(p)
	w.lines.add(p[:n])
	w.ended(err)
	return n, err
}

func (w *eventWatcher) line(line []byte) {
	line = bytes.TrimRight(line, "\r\n")
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if w.drop = w.drop || len(w.part)+len(data) > mcpwire.DefaultMaxFrame; w.drop {
			w.part = nil
			w.end(tooLong)
			return
		}
		w.part = append(w.part, bytes.TrimPrefix(data, []byte(" "))...)
		w.part = append(w.part, '\n')
		return
	}
	if len(line) > 0 {
		return
	}
	if len(w.part) > 0 {
		w.each(w.part)
	}
	w.part, w.drop = nil, false
}
