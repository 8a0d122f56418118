// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package gate keeps strangers out of HTTP servers on this machine. A page in
// a browser can send requests to any port of loopback, and a name can be made
// to point there; neither has any business with a mock, a recording or an
// admin API. Every listener of rehearse for HTTP is a [Rules.Server].
package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rules say which requests a server answers. The zero Rules let in what is
// sent to this machine by its own name and is not sent by a page of another
// origin.
type Rules struct {
	// Hosts are further names by which the server may be called, with or
	// without a port; * is any.
	Hosts []string
	// Origins are those whose pages a browser lets in; * is any.
	Origins []string
}

// headerTimeout is how long a client may take to say what it wants.
const headerTimeout = 30 * time.Second

// Server returns a server that hands to h what the rules let in.
func (r Rules) Server(h http.Handler) *http.Server { return NewServer(r.Handler(h)) }

// NewServer returns a server of h, which is a [Rules.Handler] itself. It cuts
// headers that do not end.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}
}

// Handler hands to h what the rules let in, answers the preflights of pages
// that are let in, and refuses everything else with 403. It cuts bodies that do
// not end.
func (r Rules) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if why := r.Foreign(req); why != "" {
			refuse(w, why)
			return
		}
		if len(r.Origins) > 0 {
			w = r.letIn(w, req)
			if preflight(w, req) {
				return
			}
		}
		req, done := impatient(w, req)
		defer done()
		h.ServeHTTP(w, req)
	})
}

// Foreign says why a request may not be answered, and "" when it may. A name
// of another machine in its Host header may have been made to point here.
// A browser says in Origin or Sec-Fetch-Site that a page of another origin
// sent it; clients that are no browsers send no Sec-Fetch-Site, and an Origin
// of this machine alone is taken from them.
func (r Rules) Foreign(req *http.Request) string {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	known := func(host string) bool {
		return isLoopback(host) || ok && host == local.String() || listed(r.Hosts, host) || listed(r.Hosts, hostname(host))
	}
	origin, site := req.Header.Get("Origin"), req.Header.Get("Sec-Fetch-Site")
	switch {
	case !enforced:
		return ""
	case ok && req.Host != "" && !known(req.Host): // a browser always names one
		return fmt.Sprintf("Forbidden: the Host header %q is not a name of this machine; --allow-host %s permits it", req.Host, hostname(req.Host))
	case listed(r.Origins, origin):
		return ""
	case origin != "" && !belongs(origin, req.Host, known):
		return fmt.Sprintf("Forbidden: a page of the Origin %q sent this request; --cors %s permits it", origin, origin)
	case site == "cross-site" || site == "same-site":
		return fmt.Sprintf("Forbidden: a page of another origin sent this request (Sec-Fetch-Site: %s, Origin %q); --cors ORIGIN permits it", site, origin)
	}
	return ""
}

// belongs reports whether an origin is this machine, or the server itself.
func belongs(origin, host string, known func(string) bool) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (u.Host == host || known(u.Host))
}

func listed(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}

// hostname is host without a port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// isLoopback reports whether host, with or without a port, is this machine.
func isLoopback(host string) bool {
	host = hostname(host)
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// mediaType is the type of what a request sends, without parameters; "" when
// it says none.
func mediaType(req *http.Request) string {
	kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil && kind == "" {
		return ""
	}
	return kind
}

// Sent reports whether the body of a request is of one of these types. A page
// can send text/plain, forms and bodies of no type to a server that has not
// been asked whether it may; not so JSON or YAML.
func Sent(req *http.Request, types ...string) bool {
	return !enforced || slices.Contains(types, mediaType(req))
}

// firstPart is what is reserved for a body of which nothing has come.
const firstPart = 32 << 10

// ReadAnnounced reads n bytes from r into b. Whoever sends them has announced
// how many there are, which costs nothing; so b grows with what arrives, beyond
// the room that it has. A body that ends early is an [io.ErrUnexpectedEOF].
func ReadAnnounced(b *bytes.Buffer, r io.Reader, n int64) error {
	for n > 0 {
		part := int(min(n, int64(max(firstPart, b.Len(), b.Available()))))
		b.Grow(part)
		p := b.AvailableBuffer()[:part]
		got, err := io.ReadFull(r, p)
		b.Write(p[:got]) // where it stands already
		n -= int64(got)
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Bounds of a body.
const (
	bodyTimeout = 30 * time.Second // for a body that brings nothing
	bodyRate    = 64 << 10         // bytes that buy another second
	bodyLimit   = 256 << 20        // of any; most servers take less
)

// SlowBodyError says that a body did not end.
type SlowBodyError struct {
	// Read are the bytes that came, After the time that they took.
	Read  int64
	After time.Duration
}

// Error says how much came and how long it took.
func (e *SlowBodyError) Error() string {
	return fmt.Sprintf("the body did not end: %d bytes in %v", e.Read, e.After.Round(time.Second))
}

// impatient returns a request whose body ends with an error when it comes too
// slowly or never ends. done says that the request is answered. The request
// itself is left alone: its server looks at the body that it gave it.
func impatient(w http.ResponseWriter, req *http.Request) (with *http.Request, done func()) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, func() {}
	}
	b := &body{ReadCloser: http.MaxBytesReader(w, req.Body, bodyLimit), control: http.NewResponseController(w), began: time.Now()}
	b.timer = time.AfterFunc(bodyTimeout, b.check)
	out := *req
	out.Body = b
	return &out, b.over
}

// body is one that is timed until it ends or nobody reads it any more.
type body struct {
	io.ReadCloser
	control *http.ResponseController

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	began time.Time
	read  int64
	ended bool
	cut   *SlowBodyError
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read += int64(n)
	if err == nil {
		return n, nil
	}
	b.end()
	if b.cut != nil && err != io.EOF {
		err = b.cut
	}
	return n, err
}

// check cuts a body that has had its time. A deadline in the past ends a read
// that is waiting.
func (b *body) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	passed := time.Since(b.began)
	if left := bodyTimeout + time.Duration(b.read/bodyRate)*time.Second - passed; left > 0 {
		b.timer.Reset(left)
		return
	}
	b.cut = &SlowBodyError{b.read, passed}
	_ = b.control.SetReadDeadline(time.Unix(1, 0)) // what has no deadline is no connection
}

func (b *body) over() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

func (b *body) end() {
	b.ended = true
	b.timer.Stop()
}
