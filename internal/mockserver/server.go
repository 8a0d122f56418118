// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/budget"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// Server is an [http.Handler] that plays a script of a mock model. It is safe
// for concurrent use.
type Server struct {
	*host[mockllm.Script, mockllm.Options, *model]
	budget budget.Budget
}

// model is the mock model of one conversation.
type model struct {
	*mockllm.Mock
	share *budget.Share
	bytes atomic.Int64 // of its requests
}

// Reset starts over.
func (m *model) Reset() {
	m.Mock.Reset()
	m.bytes.Store(0)
}

// Close ends the replies being paced and waits for their requests.
func (m *model) Close() {
	m.Mock.Close()
	m.share.Close()
}

// ServeHTTP answers a request, whose body the conversation keeps.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		with := *r
		with.Body = counted{r.Body, m}
		r = &with
	}
	m.Mock.ServeHTTP(w, r)
}

// counted is a body that a conversation keeps.
type counted struct {
	io.ReadCloser
	m *model
}

func (b counted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.m.bytes.Add(int64(n))
	return n, err
}

const defaultRequestBytes = 512 << 20

// New returns a server of script. The error says why it cannot be played.
func New(script mockllm.Script, opts *Options) (*Server, error) {
	s := &Server{host: newHost[mockllm.Script, mockllm.Options, *model](opts)}
	mock := &s.opts.Mock
	s.opts.MaxBytes = cmp.Or(max(s.opts.MaxBytes, 0), defaultRequestBytes)
	if mock.Memory == nil {
		mock.Memory = new(mockllm.Memory)
	}
	if mock.Logf == nil {
		mock.Logf = func(string, ...any) {}
	}
	mock.Observe = s.metrics.observe
	s.logf, s.fresh, s.end, s.converse = mock.Logf, s.model, (*model).Close, s.ask
	s.steady = true
	s.entries = func(id string, m *model) []entry { return modelEntries(id, m.Journal()) }
	s.ownHealth = func(script mockllm.Script) bool {
		p, ok := profile.Lookup(script.Profile)
		return ok && p.Proxy() && p.Has("/health")
	}
	s.shows = map[string]func(*model) any{
		"GET journal":      func(m *model) any { return some(m.Journal()) },
		"GET expectations": func(m *model) any { return expectationsOf(m.Mock) },
	}
	s.admin = map[string]adminRoute{
		"GET conversations": s.serveConversations,
		"GET scenario":      s.serveScenario,
		"GET metrics": func(w http.ResponseWriter, _ *http.Request, _ target) {
			ids, _ := s.conversations()
			s.metrics.write(w, len(ids))
		},
		"POST verify": s.verify(func(data []byte) (judge[*model], error) {
			a, err := decodeAssertion(data)
			return func(ctx context.Context, m *model) []check {
				checks := a.judge(ctx, m.Journal(), m.Called())
				if a.done != nil {
					checks = append(checks, judgeDone(*a.done, expectationsOf(m.Mock)))
				}
				return checks
			}, err
		}),
	}
	if err := s.Load(script); err != nil {
		return nil, err
	}
	return s, nil
}

// model returns a mock for a conversation that is not known to the server yet.
func (s *Server) model(id string, script mockllm.Script) (*model, error) {
	opts := s.opts.Mock
	opts.Logf = s.logOf(id)
	mock, err := mockllm.New(script, &opts)
	if err != nil {
		return nil, err
	}
	m := &model{Mock: mock}
	m.share = s.budget.Join(s.opts.MaxBytes, func(int) int { return s.outgrown(id, m) })
	return m, nil
}

// outgrown forgets a conversation that all others left no room for, unless it
// is being asked. It returns what it keeps.
func (s *Server) outgrown(id string, m *model) (kept int) {
	s.mu.Lock()
	c := s.live[id]
	if c == nil || c.mock != m || c.active > 0 {
		s.mu.Unlock()
		return int(m.bytes.Load())
	}
	s.remove(id)
	found := m.Problems()
	s.past = append(s.past, found[:min(len(found), maxPast-len(s.past))]...)
	s.mu.Unlock()
	m.Mock.Close()
	s.logf("conversation %q is forgotten: all of them keep more than %d MB of requests; DELETE those that are over at /t/ID/rehearse/conversation", id, s.opts.MaxBytes>>20)
	return 0
}

// ask hands a request to the mock of a conversation.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, id string) {
	c, err := s.enter(id)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer func() {
		if !s.leave(c) {
			c.mock.share.Keep(int(c.mock.bytes.Load()))
		}
	}()
	m := s.metrics.begin(w, r)
	defer m.end()
	c.mock.ServeHTTP(m, r)
}

// place is a position of the script for a client.
type place struct {
	Lane  string `json:"lane,omitempty"`
	Turn  int    `json:"turn"`
	Reply int    `json:"reply"`
	Pos   string `json:"pos,omitempty"`
}

// expectations say how far the script was played, and what went against it.
type expectations struct {
	OK bool `json:"ok"` // nothing is unmet and there are no problems
	// Met are the replies that were asked for, Unmet the others.
	Met   []place `json:"met"`
	Unmet []place `json:"unmet"`
	// Problems are misses, refusals and errors of the script.
	Problems []string `json:"problems"`

	asked bool // there was a request
}

func expectationsOf(m *mockllm.Mock) expectations {
	e := expectations{Met: []place{}, Unmet: []place{}, Problems: []string{}}
	seen := map[place]bool{}
	for _, x := range m.Outline() {
		e.asked = true
		p := place{Lane: x.Lane, Turn: x.Turn, Reply: x.Reply}
		if x.Kind == harness.KindReply && !seen[p] {
			seen[p] = true
			e.Met = append(e.Met, p)
		}
	}
	m.EachRemaining(func(lane string, turn, reply int, pos harness.Position) {
		p := place{Lane: lane, Turn: turn, Reply: reply}
		if !pos.IsZero() {
			p.Pos = pos.String()
		}
		e.Unmet = append(e.Unmet, p)
	})
	for _, err := range m.Problems() {
		e.Problems = append(e.Problems, err.Error())
	}
	e.OK = len(e.Unmet)+len(e.Problems) == 0
	return e
}

func (s *Server) serveConversations(w http.ResponseWriter, _ *http.Request, _ target) {
	type row struct {
		ID       string `json:"id"`
		Requests int    `json:"requests"`
		Unmet    int    `json:"unmet"`
		Problems int    `json:"problems"`
	}
	rows := []row{}
	ids, list := s.conversations()
	for i, m := range list {
		e := expectationsOf(m.Mock)
		rows = append(rows, row{ids[i], len(m.Outline()), len(e.Unmet), len(e.Problems)})
	}
	writeJSON(w, http.StatusOK, rows)
}

// Chaos adds faults to a script that strike about rate of the requests, from
// 0 to 1, by the mock's seed. They are such as a client should survive by
// asking again: limits, errors of a server or of what stands before it, and
// connections that end early.
func Chaos(script *mockllm.Script, rate float64) {
	kinds := []fault.Fault{
		{Kind: fault.RateLimit},
		{Kind: fault.ServerError},
		{Kind: fault.ServerError, Status: http.StatusServiceUnavailable},
		{Kind: fault.RequestTimeout},
		{Kind: fault.HTMLPage},
		{Kind: fault.Reset, Form: "before"},
		{Kind: fault.Reset, Form: "during"},
		{Kind: fault.Cut},
	}
	// Each is asked when those before it did not strike, and all are to be
	// equally frequent.
	share, left := rate/float64(len(kinds)), 1.0
	faults := slices.Clone(script.Faults)
	for _, f := range kinds {
		if share <= 0 {
			break
		}
		f.Probability = min(share/left, 1)
		left -= share
		faults = append(faults, f)
	}
	script.Faults = faults
}
