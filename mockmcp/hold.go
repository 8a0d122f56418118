// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"fmt"
)

// Cue lets go the results that are held until the cue of that name and those
// that would be, and makes the changes that wait for it.
func (s *Server) Cue(name string) {
	s.cues.Give(name)
	if s.changes != nil {
		s.changes.cued(name)
	}
}

// AwaitHeld waits until a result is held until the cue of that name.
func (s *Server) AwaitHeld(ctx context.Context, name string) error {
	if err := s.cues.AwaitHeld(ctx, name); err != nil {
		return fmt.Errorf("waiting for a call of %q that is held until %q: %w", s.script.Name, name, err)
	}
	return nil
}

// HeldInVain are the cues, sorted, until which a call was held and that were
// never given.
func (s *Server) HeldInVain() []string { return s.cues.InVain() }
