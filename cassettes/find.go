// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"bytes"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/key"
)

// queue are the interactions of one key, or those whose requests are the same
// byte for byte, in the order of the file.
type queue struct {
	entries []*entry
	next    int // those before it were used
}

// take returns the first that was not used, or nil.
func (q *queue) take() *entry {
	for q.next < len(q.entries) && q.entries[q.next].used > 0 {
		q.next++
	}
	if q.next == len(q.entries) {
		return nil
	}
	return q.entries[q.next]
}

// spelling is a request as it was sent, as far as a key can depend on it; of
// the body it has a hash.
type spelling struct {
	method, path, query, kind string
	body                      uint64
	length                    int
}

func (r *Recorder) spell(method string, u *url.URL, header http.Header, body []byte) spelling {
	path := u.EscapedPath()
	for _, base := range r.bases {
		if rest, ok := strings.CutPrefix(path, base+"/"); ok {
			path = path[len(path)-len(rest)-1:]
			break
		}
	}
	return spelling{method, path, u.RawQuery, header.Get("Content-Type"), maphash.Bytes(r.seed, body), len(body)}
}

// index files an interaction under what its request looks like.
func (r *Recorder) index(e *entry) {
	u, err := url.Parse(e.Request.URL)
	if err != nil {
		return // its key will do
	}
	s := r.spell(e.Request.Method, u, e.Request.Header, e.Request.Body)
	q := r.same[s]
	if q == nil {
		q = &queue{}
		r.same[s] = q
	} else if !bytes.Equal(q.entries[0].Request.Body, e.Request.Body) {
		return
	}
	q.entries = append(q.entries, e)
	e.same = q
}

// again returns the interaction whose request comes again byte for byte, or
// nil when there is none, or one that must be found by its key. It saves what
// a key costs, and among interactions that count as the same it finds those
// that are.
func (r *Recorder) again(req *http.Request, body []byte) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if base, _ := req.Context().Value(baseKey{}).(string); r.closed || base != "" && !slices.Contains(r.bases, base) {
		return nil
	}
	q := r.same[r.spell(req.Method, req.URL, req.Header, body)]
	if q == nil || !bytes.Equal(q.entries[0].Request.Body, body) {
		return nil
	}
	var found *entry
	switch {
	case r.opts.Order == Any:
		found = q.entries[0]
	case r.opts.Order != Strict:
		found = q.take()
	case r.strict < len(r.tape) && r.tape[r.strict].same == q:
		found = r.tape[r.strict]
		r.strict++
	}
	if found != nil {
		found.used++
	}
	return found
}

// keys makes the keys of the interactions, when the first request comes that
// needs them.
func (r *Recorder) keys() {
	if r.byKey != nil {
		return
	}
	r.byKey = map[string]*queue{}
	for _, e := range r.tape {
		e.key = r.keyOf(&e.Request)
		e.key.Pack()
		q := r.byKey[e.key.ID]
		if q == nil {
			q = &queue{}
			r.byKey[e.key.ID] = q
		}
		q.entries = append(q.entries, e)
	}
}

// find returns the interaction that answers a request by its key, or nil. The
// caller holds mu.
func (r *Recorder) find(k *key.Key) *entry {
	r.keys()
	if r.opts.Order == Strict {
		if r.strict < len(r.tape) && r.tape[r.strict].key.ID == k.ID {
			r.strict++
			return r.tape[r.strict-1]
		}
		return nil
	}
	q := r.byKey[k.ID]
	switch {
	case q == nil:
		return nil
	case r.opts.Order == Any:
		return q.entries[0]
	}
	if e := q.take(); e != nil || r.opts.Order != RepeatLast {
		return e
	}
	return q.entries[len(q.entries)-1]
}
