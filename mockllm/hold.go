// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/cues"
)

// Cue lets go the replies that are held until the cue of that name, and those
// that would be. POST /rehearse/cue/NAME does the same.
func (m *Mock) Cue(name string) { m.cues.Give(name) }

// AwaitHeld waits until a request is held until the cue of that name. One that the
// script does not wait for is an error.
func (m *Mock) AwaitHeld(ctx context.Context, name string) error {
	names, all := m.Cues()
	err := cues.Known(name, names, all)
	if err == nil {
		err = m.cues.AwaitHeld(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("waiting for a request that is held until %q: %w", name, err)
	}
	return nil
}

// Cues are the names, sorted, until which replies of the script are held. all
// says that there are no others, which is so for every script.
func (m *Mock) Cues() (names []string, all bool) {
	add := func(r *reply) {
		if r.Hold != "" && !slices.Contains(names, r.Hold) {
			names = append(names, r.Hold)
		}
	}
	of := func(p *program) {
		for i := range p.turns {
			for _, r := range p.turns[i].replies {
				add(r)
			}
		}
	}
	p := m.program
	of(p)
	for _, r := range slices.Concat(p.asides, p.rules) {
		add(r.reply)
	}
	for i := range p.lanes {
		of(p.lanes[i].program)
	}
	slices.Sort(names)
	return names, true
}

// HeldInVain are the cues, sorted, until which a request was held and that were
// never given.
func (m *Mock) HeldInVain() []string { return m.cues.InVain() }

// hold waits for the cue of a reply, which has one. It does not return when the client goes
// away before or the mock is closed.
func (m *Mock) hold(x *exchange, r *reply) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	if err := m.cues.Hold(ctx, r.Hold); err != nil {
		x.err = fmt.Sprintf("held until the cue %q, and the client went away before", r.Hold)
		m.record(x.entry, nil)
		panic(http.ErrAbortHandler)
	}
}

func (m *Mock) serveCue(x *exchange) {
	if names, _ := m.Cues(); !slices.Contains(names, x.rest) {
		m.adminError(x, fmt.Sprintf("the script does not wait for the cue %q; the cues are %q", x.rest, names))
		return
	}
	m.Cue(x.rest)
	x.w.WriteHeader(http.StatusNoContent)
}
