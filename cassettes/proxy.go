// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// Proxy returns a handler that answers clients in any language through the
// recorder. upstream is the address of the endpoint, to which the path of a
// request is added, with one version where both have one; in mode replay it may be
// nil, and else Proxy panics. A miss is answered with 422 and an error of type
// rehearse_miss, which no SDK sends again.
func (r *Recorder) Proxy(upstream *url.URL) http.Handler {
	if upstream == nil && r.opts.Mode != Replay {
		panic("cassettes: Proxy needs the address of an endpoint in mode " + string(r.opts.Mode))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		to := url.URL{Scheme: "http", Host: req.Host} // what the client has asked for; nobody goes there
		if upstream != nil {
			to = *upstream
		}
		if to.Path == "" {
			to.Path = "/" // else what is joined to it has no slash in front
		}
		r.proxy(w, req, &to)
	})
}

// baseKey is the key of the context under which the proxy hands the path of
// the endpoint's address on, as it is sent.
type baseKey struct{}

func (r *Recorder) proxy(w http.ResponseWriter, req *http.Request, upstream *url.URL) {
	upstream = dialects.WithoutVersion(upstream, req.URL.Path)
	from := &origin{base: strings.TrimRight(upstream.EscapedPath(), "/")}
	ctx := context.WithValue(req.Context(), baseKey{}, from.base)
	out := req.Clone(context.WithValue(ctx, originKey{}, from))
	// Byte for byte: %2F and // may mean something to the endpoint.
	path := req.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	to := *upstream
	setPath(&to, from.base+path)
	to.RawQuery = req.URL.RawQuery
	out.URL, from.url = &to, &to
	out.Host, out.RequestURI = "", ""
	dropHops(out.Header)
	// A coding would only have to be undone to be kept.
	out.Header.Set("Accept-Encoding", "identity")
	resp, err := r.RoundTrip(out)
	var miss *MissError
	var unread *bodyError
	switch {
	case errors.As(err, &miss):
		r.opts.Logf("%s", miss) // many clients show little of an answer
		answer(w, http.StatusUnprocessableEntity, "rehearse_miss", miss.Error())
		return
	case errors.As(err, &unread): // with it the context may have ended
		code, why := http.StatusBadRequest, unread.cause
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			code, why = http.StatusRequestEntityTooLarge, fmt.Errorf("the request is larger than %d bytes", tooLarge.Limit)
		}
		answer(w, code, "rehearse_request", fmt.Sprintf("reading the request: %v", why))
		return
	case err != nil && req.Context().Err() != nil:
		// Nobody waits, or a client that has ended its own side only: net/http
		// does not tell them apart. To return would be to say 200 to it.
		panic(http.ErrAbortHandler)
	case err != nil:
		answer(w, http.StatusBadGateway, "rehearse_upstream", fmt.Sprintf("no answer from the endpoint: %v", err))
		return
	}
	defer resp.Body.Close()
	dropHops(resp.Header)
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	if location := resp.Header.Get("Location"); location != "" {
		w.Header().Set("Location", from.inward(location, req))
	}
	if _, said := resp.Header["Content-Type"]; !said {
		w.Header()["Content-Type"] = nil // else net/http guesses one
	}
	for name := range resp.Trailer {
		w.Header().Add("Trailer", name)
	}
	w.WriteHeader(resp.StatusCode)
	flusher := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return // the client is gone; closing the body notes it
			}
			_ = flusher.Flush()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the client is to see that it broke off
		}
	}
	for name, values := range resp.Trailer {
		w.Header()[name] = values
	}
}

// answer refuses a request in the way that OpenAI's clients read.
func answer(w http.ResponseWriter, code int, kind, message string) {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"type": kind, "message": message, "code": kind, "param": nil}})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// dropHops removes the headers that are about one connection.
func dropHops(h http.Header) {
	for _, f := range h["Connection"] {
		for name := range strings.SplitSeq(f, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}
