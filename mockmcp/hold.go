// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"

	"github.com/rehearse-dev/rehearse/internal/cues"
)

// Cue lets go the results that are held until the cue of that name and those
// that would be, and makes the changes that wait for it.
func (s *Server) Cue(name string) {
	s.cues.Give(name)
	if s.changes != nil {
		s.changes.cued(name)
	}
}

// AwaitHeld waits until a result is held until the cue of that name. One that the
// script does not wait for is an error.
func (s *Server) AwaitHeld(ctx context.Context, name string) error {
	names, all := s.Cues()
	err := cues.Known(name, names, all)
	if err == nil {
		err = s.cues.AwaitHeld(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("waiting for a call of %q that is held until %q: %w", s.script.Name, name, err)
	}
	return nil
}

// Cues are the names, sorted, that the script waits for. all says that there
// are no others: a [Result.Plan] may compute some.
func (s *Server) Cues() (names []string, all bool) {
	all = true
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s.may(func(st Step) bool { // it is asked of every step, since it never says yes
		if h, ok := st.(Hold); ok {
			add(string(h))
		}
		return false
	})
	tools := slices.Clone(s.script.Tools)
	for _, ch := range s.script.Changes {
		add(ch.Cue)
		tools = append(tools, ch.AddTools...)
	}
	for _, t := range tools {
		for _, r := range t.Results {
			add(r.Hold)
			all = all && r.Plan == nil
		}
	}
	slices.Sort(names)
	return names, all
}

// HeldInVain are the cues, sorted, until which a call was held and that were
// never given.
func (s *Server) HeldInVain() []string { return s.cues.InVain() }

// hang waits until nobody waits any more: ctx has ended, or the client says
// nothing from now on.
func (c *client) hang(ctx context.Context) {
	over, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-over.Done():
		case <-c.eof:
			end()
		}
	})
	_ = c.s.opts.Clock.Sleep(over, harness.Forever)
	end()
	watch.Wait()
}
