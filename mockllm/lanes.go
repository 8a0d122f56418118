// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// Lane is a conversation beside the others under the same base URL, such as
// that of a worker agent. It has its own replies and counters; results are
// read from the request's messages.
type Lane struct {
	// Name tells it in journals and messages.
	Name string
	// When reports whether a request belongs to it; the first lane of the
	// script that does has it. Nil means always. What is in no lane takes its
	// position in the script's own turns.
	When func(*Ask) (bool, error)
	// Each begins the lane anew for each conversation: requests with the same
	// system message and the same first user text are of the same one.
	Each bool
	// Turns or Replies are as those of [Script].
	Turns   []Turn
	Replies []Reply
	Pos     harness.Position
}

// lane is a lane made ready to play.
type lane struct {
	Lane
	program *program
}

func compileLanes(s Script) ([]lane, error) {
	var out []lane
	seen := map[string]bool{}
	for _, l := range s.Lanes {
		if l.Name == "" || seen[l.Name] {
			return nil, fmt.Errorf("%sa lane needs a name of its own, not %q", at(l.Pos), l.Name)
		}
		seen[l.Name] = true
		own := s
		own.Turns, own.Replies, own.Lanes, own.Asides, own.Results = l.Turns, l.Replies, nil, nil, nil
		p, err := compile(own)
		if err != nil {
			return nil, fmt.Errorf("%slane %q: %w", at(l.Pos), l.Name, err)
		}
		out = append(out, lane{l, p})
	}
	return out, nil
}

// laneMock is the mock that plays a lane, or one conversation of it. It shares
// all but the script and the state with m.
func (m *Mock) laneMock(l *lane, c *dialect.Chat) *Mock {
	name, key := l.Name, l.Name
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.Each {
		key = l.Name + "\x00" + conversationKey(c)
	}
	if found := m.lanes[key]; found != nil {
		return found
	}
	if l.Each {
		m.begun[l.Name]++
		name = fmt.Sprintf("%s/%d", l.Name, m.begun[l.Name])
	}
	p := *l.program
	h := fnv.New64a()
	fmt.Fprint(h, name)
	p.hash ^= h.Sum64()
	p.fingerprint = fingerprintOf(p.hash)
	child := &Mock{
		URL: m.URL, Root: m.Root, program: &p, profile: m.profile, opts: m.opts, now: m.now, resolver: m.resolver,
		mu: m.mu, headers: m.headers, logf: m.logf, ctx: m.ctx, held: m.held, called: m.called, memory: m.memory, cues: m.cues, root: m, lane: name, echoes: m.echoes,
	}
	child.clear()
	m.lanes[key] = child
	m.laneOrder = append(m.laneOrder, child)
	return child
}

// conversationKey is what the requests of a conversation begin with.
func conversationKey(c *dialect.Chat) string {
	var b strings.Builder
	for i := range c.Len() {
		msg := c.At(i)
		if msg.Role() == harness.RoleSystem || msg.Role() == harness.RoleUser {
			fmt.Fprintf(&b, "%s %q\n", msg.Role(), msg.Message().Text)
		}
		if msg.Role() == harness.RoleUser {
			break
		}
	}
	return b.String()
}

// laneOf returns the mock that a request belongs to: m, or that of a lane.
func (m *Mock) laneOf(x *exchange) (*Mock, error) {
	ask, err := m.ask(x.chat, 0, 0)
	if err != nil {
		return nil, err
	}
	for i := range m.program.lanes {
		l := &m.program.lanes[i]
		if l.When != nil {
			ok, err := guard(func() (bool, error) { return l.When(ask) })
			if err != nil {
				return nil, &scriptError{located(fmt.Sprintf("condition of lane %q", l.Name), l.Pos, err)}
			}
			if !ok {
				continue
			}
		}
		child := m.laneMock(l, x.chat)
		x.m, x.before, x.entry.lane = child, child.prev.Load(), child.lane
		return child, nil
	}
	return m, nil
}

// remainingLanes tells f of the replies of lanes that were never asked for.
func (m *Mock) remainingLanes(f func(turn, n int, lane string, r *reply)) {
	if len(m.program.lanes) == 0 {
		return
	}
	m.mu.Lock()
	begun := append([]*Mock(nil), m.laneOrder...)
	m.mu.Unlock()
	for i := range m.program.lanes {
		l := &m.program.lanes[i]
		found := false
		for _, child := range begun {
			if child.lane == l.Name || strings.HasPrefix(child.lane, l.Name+"/") {
				found = true
				child.eachRemaining(func(turn, n int, _ string, r *reply) { f(turn, n, child.lane, r) })
			}
		}
		if found {
			continue
		}
		for t := range l.program.turns {
			first := 0
			for _, r := range l.program.turns[t].replies {
				f(t+1, first+1, l.Name, r)
				first += max(r.Repeat, 1)
			}
		}
	}
}

// inTurn gives a position of a lane its place in the turn that the runner
// plays, since lanes have turns of their own. m.mu is held.
func (m *Mock) inTurn(x *exchange, s *served) {
	turn := m.root.state.turn
	if turn == 0 {
		return
	}
	x.turn = turn
	for i := range s.turn {
		x.reply += m.program.turns[i].count
	}
}

// guard turns a panic of the script into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
