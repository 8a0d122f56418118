// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"bytes"
	"encoding/json"
	"io"
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
		// Nothing is left behind after the last request.
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
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
			kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
			w := watcher{body: res.Body, each: func(frame []byte) { s.response(session, frame) }}
			switch kind {
			case "text/event-stream":
				res.Body = &eventWatcher{watcher: w}
			case "application/json":
				res.Body = &jsonWatcher{watcher: w}
			}
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcpwire.DefaultMaxFrame))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			s.request(r.Header.Get("Mcp-Session-Id"), body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}), nil
}

// watcher is the body of an answer that is looked at while it goes by.
type watcher struct {
	body io.ReadCloser
	each func(frame []byte)
	part []byte
}

func (w *watcher) Close() error { return w.body.Close() }

// jsonWatcher takes the whole body for one message. It does not wait for the
// end of the body: the client may go on as soon as it has the last byte.
type jsonWatcher struct {
	watcher
	done bool
}

func (w *jsonWatcher) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if w.done || len(w.part)+n > mcpwire.DefaultMaxFrame {
		return n, err
	}
	w.part = append(w.part, p[:n]...)
	if bytes.HasSuffix(bytes.TrimRight(w.part, " \r\n\t"), []byte("}")) && json.Valid(w.part) {
		w.each(w.part)
		w.done = true
	}
	return n, err
}

// eventWatcher takes the data of each event for one message.
type eventWatcher struct {
	watcher
	lines *lines
}

func (w *eventWatcher) Read(p []byte) (int, error) {
	if w.lines == nil {
		w.lines = &lines{each: w.line}
	}
	n, err := w.body.Read(p)
	w.lines.add(p[:n])
	return n, err
}

func (w *eventWatcher) line(line []byte) {
	line = bytes.TrimRight(line, "\r\n")
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		w.part = append(w.part, bytes.TrimPrefix(data, []byte(" "))...)
		w.part = append(w.part, '\n')
		return
	}
	if len(line) == 0 && len(w.part) > 0 {
		w.each(w.part)
		w.part = nil
	}
}
