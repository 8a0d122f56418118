// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/cues"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// Mock is a scripted model endpoint. It is safe for concurrent use.
type Mock struct {
	// URL is the base URL for OpenAI clients; it ends in /v1. It is set by
	// [NewServer] and [Host.Mount]; before, it is http://127.0.0.1:0/v1,
	// which only [Mock.Transport] reaches: nothing can listen there, and no
	// name is looked up that a client without it would ask the network for.
	URL string
	// Root is URL without /v1, where the journal is.
	Root string

	program  *program
	profile  *profile.Profile
	opts     Options
	now      func() time.Time // by the clock of opts
	resolver *toolname.Resolver
	headers  headers
	routing  routing
	logf     func(format string, args ...any)

	ctx    context.Context // ends when the mock is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup // requests being answered

	// prev is the last request of the conversation: the provider's cache has it.
	prev atomic.Pointer[dialect.Chat]
	// lastHeaders are the headers of the request before, which the next one
	// likely shares.
	lastHeaders atomic.Pointer[map[string]string]
	// held is what later requests may refer to.
	held   *dialect.Store
	called *calledTools
	memory *Memory
	cues   *cues.Board
	// root is the mock that this one plays a lane of, named lane; nil for one
	// that plays a script.
	root *Mock
	lane string
	// echoes says that what the model said is to come back in some way.
	echoes bool

	mu      *sync.Mutex // guards what follows; shared with lanes
	closed  bool
	state   state
	journal journal
	// lanes are those begun, by name and conversation.
	lanes     map[string]*Mock
	laneOrder []*Mock
	begun     map[string]int
}

// unmounted is the root of a mock that has no listener.
const unmounted = "http://127.0.0.1:0"

const (
	defaultJournalEntries = 1_000
	defaultJournalBytes   = 32 << 20
	defaultBodyBytes      = 64 << 20
)

// New returns a mock without a socket. The error says why the script cannot be
// played: Turns beside Replies, an unknown profile or fault, or arguments
// that cannot be encoded.
func New(script Script, opts *Options) (*Mock, error) {
	p, err := compile(script)
	if err != nil {
		return nil, err
	}
	m := &Mock{mu: new(sync.Mutex), held: newStore(), called: new(calledTools), cues: cues.New(), Root: unmounted, program: p, resolver: toolname.NewResolver(script.Servers, script.Names)}
	m.URL = m.Root + "/v1"
	m.profile, _ = profile.Lookup(script.Profile) // compile has checked it
	if opts != nil {
		m.opts = *opts
	}
	m.now = time.Now
	if m.opts.Clock != nil {
		m.now = m.opts.Clock.Now
	} else {
		m.opts.Clock = harness.SystemClock()
	}
	if m.opts.JournalEntries <= 0 {
		m.opts.JournalEntries = defaultJournalEntries
	}
	if m.opts.JournalBytes <= 0 {
		m.opts.JournalBytes = defaultJournalBytes
	}
	if m.opts.MaxBodyBytes <= 0 {
		m.opts.MaxBodyBytes = defaultBodyBytes
	}
	m.logf = m.opts.Logf
	if m.logf == nil {
		m.logf = func(string, ...any) {}
	}
	if m.memory = m.opts.Memory; m.memory == nil {
		m.memory = new(Memory)
	}
	calls, _ := m.profile.Echoes()
	m.echoes = calls || len(p.Echo) > 0
	m.headers = newHeaders()
	m.routing = newRouting(routes())
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.reset()
	return m, nil
}

// reset starts the conversation over; m.mu is held or m is not shared yet.
func (m *Mock) reset() {
	m.clear()
	m.journal = journal{most: m.opts.JournalEntries, limit: m.opts.JournalBytes}
	m.cues.Reset()
	m.lanes, m.laneOrder, m.begun = make(map[string]*Mock), nil, make(map[string]int)
	m.held.Reset()
	m.called.reset()
	if m.opts.Memory == nil {
		m.memory.last.Store(nil)
	}
}

// clear forgets the positions.
func (m *Mock) clear() {
	m.state = state{
		served: make([][]*served, len(m.program.turns)),
		uses:   make([]int, len(m.program.asides)+len(m.program.rules)),

		players: make(map[*rule]*fault.Player),
	}
	m.prev.Store(nil)
}

// Reset forgets the conversation and the journal.
func (m *Mock) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset()
}

// BeginTurn says that the runner plays turn n, from 1: requests that follow
// take their positions in that turn, whatever user texts they have. 0 goes
// back to finding the turn by the user texts.
func (m *Mock) BeginTurn(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.turn = n
}

// Journal returns what was asked and answered so far, in order of arrival.
// The slices in it are shared: they are not to be changed.
func (m *Mock) Journal() []harness.Exchange {
	m.mu.Lock()
	entries := m.journal.copy()
	m.mu.Unlock()
	out := make([]harness.Exchange, len(entries))
	for i := range entries {
		out[i] = entries[i].exchange()
	}
	return out
}

// EachOutline tells f of the entries of the [Mock.Journal], without what was
// said, until it returns false. f must not call the mock.
func (m *Mock) EachOutline(f func(*harness.Exchange) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.journal.entries {
		if x := e.outline(); !f(&x) {
			return
		}
	}
}

// Outline is the [Mock.Journal] without what was said, which is most of it.
func (m *Mock) Outline() []harness.Exchange {
	var out []harness.Exchange
	m.EachOutline(func(x *harness.Exchange) bool {
		out = append(out, *x)
		return true
	})
	return out
}

// Remaining returns the positions of the replies that were never asked for,
// in script order, those of lanes last. A reply that repeats was asked for when it
// was asked for once.
func (m *Mock) Remaining() []harness.Position {
	var out []harness.Position
	m.eachRemaining(func(_, _ int, _ string, r *reply) { out = append(out, r.Pos) })
	return out
}

// EachRemaining tells f of each reply that was never asked for, with its lane
// (empty for the main conversation), its turn and reply from 1, and where it is
// written. f must not call the mock.
func (m *Mock) EachRemaining(f func(lane string, turn, reply int, pos harness.Position)) {
	m.eachRemaining(func(turn, n int, lane string, r *reply) { f(lane, turn, n, r.Pos) })
}

// eachRemaining tells f of each reply never asked for, with its turn and
// reply from 1 and the lane.
func (m *Mock) eachRemaining(f func(turn, n int, lane string, r *reply)) {
	defer m.remainingLanes(f)
	m.mu.Lock()
	defer m.mu.Unlock()
	for t := range m.program.turns {
		first := 0
		for _, r := range m.program.turns[t].replies {
			if first >= m.reached(t) {
				f(t+1, first+1, "", r)
			}
			first += max(r.Repeat, 1)
		}
	}
}

// Err is [Mock.Problems] as one error; nil when there are none.
func (m *Mock) Err() error { return errors.Join(m.Problems()...) }

// Problems returns the misses, refusals and script errors so far.
func (m *Mock) Problems() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.journal.problems)
}

// Close ends the replies still being paced and waits for their requests to
// end. Later requests are answered 503.
func (m *Mock) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
}

// place names a position for messages.
func place(turn, reply int, pos harness.Position) string {
	s := fmt.Sprintf("turn %d, reply %d", turn, reply)
	if !pos.IsZero() {
		s += " (" + pos.String() + ")"
	}
	return s
}
