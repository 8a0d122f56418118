// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"context"
	"fmt"
	"net/http"
)

// Cue lets go the replies that are held until the cue of that name, and those
// that would be. POST /rehearse/cue/NAME does the same.
func (m *Mock) Cue(name string) { m.cues.Give(name) }

// AwaitHeld waits until a request is held until the cue of that name.
func (m *Mock) AwaitHeld(ctx context.Context, name string) error {
	if err := m.cues.AwaitHeld(ctx, name); err != nil {
		return fmt.Errorf("waiting for a request that is held until %q: %w", name, err)
	}
	return nil
}

// HeldInVain are the cues, sorted, until which a request was held and that were
// never given.
func (m *Mock) HeldInVain() []string { return m.cues.InVain() }

// hold waits for the cue of a reply. It does not return when the client goes
// away before or the mock is closed.
func (m *Mock) hold(x *exchange, r *reply) {
	if r.Hold == "" {
		return
	}
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
	m.Cue(x.rest)
	x.w.WriteHeader(http.StatusNoContent)
}
