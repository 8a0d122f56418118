// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mockserver serves one script of a mock to many tests at once, each
// with a conversation of its own, told apart by the path, the API key or a
// header, and an admin API to verify it with.
//
//	s, err := mockserver.New(script, nil)
//	http.Serve(listener, s) // http://host/v1, http://host/t/any-id/v1
//
// # Paths
//
// Below /t/ID is the conversation ID, which begins with the first request;
// without it, the one that [Settings.Isolate] finds, else the default one.
// Below /rehearse is the admin API, for a conversation below /t/ID/rehearse;
// /rehearse/ itself is a page that shows the journal.
//
// [Server] is that for a mock model, [MCP] for a mock MCP server.
package mockserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// Settings are the settings of a server, whatever mock plays the scripts.
type Settings[Script, Mock any] struct {
	// Mock are the settings of each conversation's mock. The hosts and origins
	// that a mock MCP server lets in are those of Gate.
	Mock Mock
	// Transport of a mock MCP server is http, sse or ws. Empty means http.
	Transport string
	// Isolate finds the conversation of a request that is not below /t/.
	// Empty and nil find the default one.
	Isolate func(*http.Request) string
	// Parse reads a script that is sent to the admin API. name is the file that
	// the sender read it from; empty means that it has none. Nil refuses all.
	Parse func(name string, data []byte) (Script, error)
	// Prepare changes each script before it is played. Nil leaves it.
	Prepare func(*Script)
	// Gate says whose requests are answered.
	Gate gate.Rules
	// AdminToken is what a request to the admin API must carry, as a bearer
	// token. Empty wants none.
	AdminToken string
	// MaxConversations bounds the conversations that are kept; a request for
	// one more is answered 503. 0 means 10,000.
	MaxConversations int
	// MaxBytes bounds what all conversations keep together: of a mock model the
	// requests, and beyond it those that were busy longest ago are forgotten, but
	// for their misses and errors; of a mock MCP server calls, frames and
	// streams, and those that were busy longest ago forget theirs first. 0 means
	// 512 MiB and 256 MiB.
	MaxBytes int
	// MaxPosted bounds the scripts and states that conversations are sent of
	// their own, in bytes. 0 means 64 MiB.
	MaxPosted int
	// Grace is how long a mock MCP server that is replaced may go on with what
	// it is answering. 0 cuts it at once.
	Grace time.Duration
}

// Options are the settings of a [Server]. Nil means the defaults.
type Options = Settings[mockllm.Script, mockllm.Options]

// MCPOptions are the settings of an [MCP]. Nil means the defaults.
type MCPOptions = Settings[mockmcp.Script, mockmcp.Options]

// played is a mock that plays a script to one conversation.
type played interface {
	http.Handler
	cued
	Reset()
	Problems() []error
	Close()
}

// conversation is one playing of the script.
type conversation[M played] struct {
	mock   M
	active int // requests being answered
	used   int // by the count of requests, when it was asked last
}

// host is what the servers of both mocks do.
type host[Script, Options any, M played] struct {
	opts    Settings[Script, Options]
	logf    func(format string, args ...any)
	door    http.Handler // answer behind the guard
	metrics metrics

	// What the mocks have different: how one is made, ended and asked; whether it
	// is ended while it is asked; whether it answers /health itself; and its admin
	// API.
	fresh     func(id string, script Script) (M, error)
	end       func(M)
	atOnce    bool
	converse  func(w http.ResponseWriter, r *http.Request, id string)
	ownHealth func(Script) bool
	admin     map[string]adminRoute // by method and name
	shows     map[string]func(M) any
	entries   func(id string, m M) []entry // of its page
	steady    bool                         // when a request ends, its entry is in the journal

	mu       sync.Mutex // guards what follows
	script   Script
	version  int // of the script, from 1
	reload   string
	stopping bool
	asked    int // requests to conversations
	active   int // of which are being answered
	changes  int // to what the page shows: requests that began or ended, and to the admin API
	live     map[string]*conversation[M]
	retired  map[*conversation[M]]bool // taken away, and still being asked
	past     []error                   // of conversations that were forgotten for their size
	sent     map[posted]int
}

type adminRoute func(w http.ResponseWriter, r *http.Request, t target)

// posted is what was sent to the admin API for a conversation: its script or
// its state.
type posted struct {
	id    string
	state bool
}

const (
	defaultConversations = 10_000
	defaultPosted        = 64 << 20
	maxPast              = 100 // errors of conversations that were forgotten
)

// newHost completes the settings; the caller sets what is different.
func newHost[Script, Options any, M played](opts *Settings[Script, Options]) *host[Script, Options, M] {
	h := &host[Script, Options, M]{retired: map[*conversation[M]]bool{}, ownHealth: func(Script) bool { return false }}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.MaxConversations <= 0 {
		h.opts.MaxConversations = defaultConversations
	}
	if h.opts.Prepare == nil {
		h.opts.Prepare = func(*Script) {}
	}
	h.door = h.opts.Gate.Handler(http.HandlerFunc(h.answer))
	return h
}

// logOf is the log of a conversation.
func (h *host[S, O, M]) logOf(id string) func(format string, args ...any) {
	if id == "" {
		return h.logf
	}
	return func(format string, args ...any) { h.logf("conversation %q: %s", id, fmt.Sprintf(format, args...)) }
}

// Load puts script in the place of the one that is played: all conversations
// start over with it, and clients of an MCP server have to connect again. On an
// error everything is as before.
func (h *host[S, O, M]) Load(script S) error {
	h.opts.Prepare(&script)
	first, err := h.fresh("", script)
	if err != nil {
		return err
	}
	h.mu.Lock()
	idle := h.retire(slices.Collect(maps.Values(h.live))...)
	h.live = map[string]*conversation[M]{"": {mock: first}}
	h.script, h.version, h.reload = script, h.version+1, ""
	h.past, h.sent = nil, nil
	h.mu.Unlock()
	h.finish(idle)
	return nil
}

// replace starts a conversation over with a script of its own.
func (h *host[S, O, M]) replace(id string, script S) error {
	h.opts.Prepare(&script)
	m, err := h.fresh(id, script)
	if err != nil {
		return err
	}
	h.mu.Lock()
	idle := h.retire(h.live[id])
	h.live[id] = &conversation[M]{mock: m}
	h.mu.Unlock()
	h.finish(idle)
	return nil
}

// forget takes a conversation away; the next request begins it anew.
func (h *host[S, O, M]) forget(id string) {
	h.mu.Lock()
	idle := h.retire(h.live[id])
	h.remove(id)
	h.mu.Unlock()
	h.finish(idle)
}

// remove takes a conversation from those that live; h.mu is held.
func (h *host[S, O, M]) remove(id string) {
	delete(h.live, id)
	delete(h.sent, posted{id, false})
	delete(h.sent, posted{id, true})
}

// retire takes conversations away and returns the mocks to be ended at once;
// the others are when their last request ends. h.mu is held.
func (h *host[S, O, M]) retire(list ...*conversation[M]) (idle []M) {
	for _, c := range list {
		switch {
		case c == nil:
		case c.active == 0 || h.atOnce:
			idle = append(idle, c.mock)
		default:
			h.retired[c] = true
		}
	}
	return idle
}

func (h *host[S, O, M]) finish(list []M) {
	for _, m := range list {
		h.end(m)
	}
}

var (
	errTooMany  = errors.New("too many conversations: DELETE those that are over at /t/ID/rehearse/conversation")
	errStopping = errors.New("the mock server is stopping")
)

// enter returns a conversation, a new one where there is none, and counts a
// request of it that leave ends.
func (h *host[S, O, M]) enter(id string) (*conversation[M], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.live[id]
	if c == nil {
		if h.stopping {
			return nil, errStopping
		}
		if len(h.live) >= h.opts.MaxConversations {
			return nil, errTooMany
		}
		m, err := h.fresh(id, h.script)
		if err != nil {
			return nil, err
		}
		c = &conversation[M]{mock: m}
		h.live[id] = c
	}
	c.active++
	h.active++
	h.changes++
	h.asked++
	c.used = h.asked
	return c, nil
}

// leave ends a request of a conversation, and reports whether it ended the
// conversation too.
func (h *host[S, O, M]) leave(c *conversation[M]) (ended bool) {
	h.mu.Lock()
	c.active--
	h.active--
	h.changes++
	if ended = c.active == 0 && h.retired[c]; ended {
		delete(h.retired, c)
	}
	h.mu.Unlock()
	if ended {
		h.end(c.mock)
	}
	return ended
}

// room takes in n bytes that were sent, unless they are too many with those of
// all conversations.
func (h *host[S, O, M]) room(what posted, n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := n - h.sent[what]
	for _, bytes := range h.sent {
		total += bytes
	}
	if most := cmp.Or(h.opts.MaxPosted, defaultPosted); total > most {
		return fmt.Errorf("conversations with scripts and states of their own have more than %d bytes of them: DELETE those that are over at /t/ID/rehearse/conversation", most)
	}
	if h.sent == nil {
		h.sent = map[posted]int{}
	}
	h.sent[what] = n
	return nil
}

// Failed notes that a newer script could not be loaded, until one is.
func (h *host[S, O, M]) Failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reload = err.Error()
}

// Stop has /health say that the server is about to end.
func (h *host[S, O, M]) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
}

// conversations are the mocks of those that began, by id.
func (h *host[S, O, M]) conversations() (ids []string, list []M) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids = slices.Sorted(maps.Keys(h.live))
	for _, id := range ids {
		list = append(list, h.live[id].mock)
	}
	return ids, list
}

// Problems returns the misses, refusals and script errors of all conversations.
// Those that started over or were deleted have no part in it.
func (h *host[S, O, M]) Problems() []error {
	var all []error
	_, list := h.conversations()
	for _, m := range list {
		all = append(all, m.Problems()...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(all, h.past...)
}

// Close ends all mocks and waits for them. Later requests are answered 503.
func (h *host[S, O, M]) Close() {
	h.mu.Lock()
	h.stopping = true
	all := slices.Concat(slices.Collect(maps.Values(h.live)), slices.Collect(maps.Keys(h.retired)))
	h.mu.Unlock()
	for _, c := range all {
		c.mock.Close()
	}
}

// ServeHTTP answers a request to a conversation or to the admin API.
func (h *host[S, O, M]) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.door.ServeHTTP(w, r) }

// answer answers a request that was let in.
func (h *host[S, O, M]) answer(w http.ResponseWriter, r *http.Request) {
	id, path, named := split(r)
	if named {
		r = below(r, path)
	}
	h.mu.Lock()
	script := h.script
	h.mu.Unlock()
	switch admin, ok := strings.CutPrefix(r.URL.Path+"/", "/rehearse/"); {
	case ok && (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Trim(admin, "/") == "":
		servePage(w) // it has nothing to hide: what it shows it asks for, with the token
		return
	case ok:
		if mayAdmin(w, r, h.opts.AdminToken) {
			h.serveAdmin(w, r, target{id: id, all: !named}, strings.TrimSuffix(admin, "/"))
		}
		return
	case !named && r.URL.Path == "/health" && !h.ownHealth(script):
		h.serveHealth(w)
		return
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || r.URL.Path == "/favicon.ico"):
		// A browser, or who waits until the server is there. No client of the mock.
		http.Error(w, "this is a mock; its journal is shown at /rehearse/", http.StatusNotFound)
		return
	case !named && h.opts.Isolate != nil:
		id = h.opts.Isolate(r)
	}
	h.converse(w, r, id)
}

// split finds the conversation in a path, and what is below it.
func split(r *http.Request) (id, path string, named bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/t/")
	if !ok {
		return "", "", false
	}
	segment, path, _ := strings.Cut(rest, "/")
	id, err := url.PathUnescape(segment)
	if err != nil || id == "" {
		return "", "", false
	}
	return id, "/" + path, true
}

// below returns a request with an escaped path in place of its own.
func below(r *http.Request, path string) *http.Request {
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain = path // as it was unescaped before, it can be
	}
	u := *r.URL
	u.Path, u.RawPath = plain, path
	out := *r
	out.URL = &u
	return &out
}

// ByKey finds the conversation by the API key, wherever a client puts it.
func ByKey(r *http.Request) string {
	if key := gate.Token(r); key != "" {
		return key
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}

// ByHeader finds the conversation by the value of a header.
func ByHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}
