// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// effects are what a fault does to an answer, at each of the places where one
// can. A nil function does nothing there.
type effects struct {
	// before runs before anything is sent. With done, the exchange is over:
	// it has been recorded and answered, or never will be.
	before func(x *exchange) (done bool)
	// reply changes what is said, before it is rendered.
	reply func(x *exchange, r *dialect.Reply)
	// style changes how it is rendered.
	style func(x *exchange, s *dialect.Style)
	// body changes what is sent: status, headers, frames and what follows
	// them.
	body func(x *exchange, b *dialect.Body)
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

// effectsOf says what a fault does.
func (m *Mock) effectsOf(x *exchange) effects {
	f := x.struckBy
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
			return m.noteChange(e)
		}
	}
	panic("mockllm: fault " + f.String() + " is in the catalogue and not here")
}

// noteChange has the position remember what became of its calls, since the client
// answers those that it was told of.
func (m *Mock) noteChange(e effects) effects {
	change := e.reply
	if change == nil {
		return e
	}
	e.reply = func(x *exchange, r *dialect.Reply) {
		change(x, r)
		if s := x.served; s != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			s.altered, s.mute = true, len(r.Choices) == 0 || len(r.Choices[0].Calls) == 0
		}
	}
	return e
}

// noCalls reports whether a reply is known to call no tools.
func (r *reply) noCalls() bool {
	if r.content == nil {
		return r.NoCalls
	}
	return len(r.content.calls) == 0
}
