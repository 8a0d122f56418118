// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// effects are what a fault does to an answer, at each of the places where one
// can. A nil function does nothing there.
type effects struct {
	// before runs before anything is sent. With done, the exchange is over:
	// it has been recorded and answered, or never will be.
	before func(x *exchange) (done bool)
	// reply changes what is said, before it is rendered.
	reply func(x *exchange, r *llmwire.Reply)
	// style changes how it is rendered.
	style func(x *exchange, s *wire.Style)
	// body changes what is sent: status, headers, frames and what follows
	// them.
	body func(x *exchange, b *llmwire.Body)
}

// checkFaults says what is wrong with faults of a script.
func checkFaults(faults []Fault, pos harness.Position) error {
	for i := range faults {
		if err := faults[i].Check(); err != nil {
			where := faults[i].Pos
			if where.IsZero() {
				where = pos
			}
			return fmt.Errorf("%s%w", at(where), err)
		}
	}
	return nil
}

// pickFault returns the fault that a request meets, nil for none, and counts
// it. s is its position, rule that of an aside or a rule; both may be nil.
// m.mu is held.
func (m *Mock) pickFault(x *exchange, s *served, r *rule) *Fault {
	var player *fault.Player
	var label string
	switch {
	case s != nil:
		if s.player == nil && len(s.script.Faults) > 0 {
			label = fmt.Sprintf("turn %d reply %d", s.turn+1, s.reply+1)
			s.player = fault.NewPlayer(s.script.Faults, m.opts.Seed, label)
		}
		player = s.player
	case r != nil && len(r.reply.Faults) > 0:
		if player = m.state.players[r]; player == nil {
			player = fault.NewPlayer(r.reply.Faults, m.opts.Seed, fmt.Sprintf("rule %v", r.Pos))
			m.state.players[r] = player
		}
	}
	var anywhere *fault.Player
	if len(m.program.Faults) > 0 && x.kind != harness.KindAside {
		m.state.requests++
		if m.state.faults == nil {
			m.state.faults = fault.NewPlayer(m.program.Faults, m.opts.Seed, "everywhere")
		}
		anywhere = m.state.faults
	}
	if player == nil && anywhere == nil {
		return nil
	}
	q := m.faultRequest(x)
	switch {
	case s != nil:
		q.NoCalls = s.script.noCalls()
	case r != nil:
		q.NoCalls = r.reply.noCalls()
	}
	for _, p := range []*fault.Player{player, anywhere} {
		if p == nil {
			continue
		}
		f, err := p.Next(q)
		if err != nil {
			x.scriptErr = err
			return &Fault{Pos: f.Pos}
		}
		if f != nil {
			if s != nil {
				s.faulted++
			}
			return f
		}
	}
	return nil
}

// faultRequest is a request as placements see it.
func (m *Mock) faultRequest(x *exchange) *fault.Request {
	q := &fault.Request{
		Number: m.state.requests, Turn: x.turn, Reply: x.reply, Model: x.chat.Model(), Stream: x.chat.Stream(), Full: x.chat.Request,
	}
	for i := x.chat.Len() - 1; i >= 0; i-- {
		if msg := x.chat.At(i); msg.Role() == harness.RoleUser {
			q.User = msg.Message().Text
			break
		}
	}
	return q
}

// effectsOf says what a fault does.
func (m *Mock) effectsOf(x *exchange) effects {
	f := x.met
	if f.Kind == "" { // its condition failed
		return effects{before: func(x *exchange) bool {
			m.fail(x, located("condition of a fault", f.Pos, x.scriptErr))
			return true
		}}
	}
	x.entry.fault = f.String()
	form := f.FormFor(x.chat.Stream())
	for _, group := range []func(*Fault, string) (effects, bool){
		m.statusEffects, m.timeEffects, m.connectionEffects, m.framingEffects, m.chunkEffects, m.errorEffects, m.callEffects, m.replyEffects,
	} {
		if e, ok := group(f, form); ok {
			return m.told(e)
		}
	}
	panic("mockllm: fault " + f.String() + " is in the catalogue and not here")
}

// told has the position remember what became of its calls, since the client
// answers those that it was told of.
func (m *Mock) told(e effects) effects {
	change := e.reply
	if change == nil {
		return e
	}
	e.reply = func(x *exchange, r *llmwire.Reply) {
		change(x, r)
		if s := x.served; s != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			s.altered, s.mute = true, len(r.Choices) == 0 || len(r.Choices[0].Calls) == 0
		}
	}
	return e
}
