// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// StateDiff returns what has become of the script's state, as a JSON merge
// patch (RFC 7396): {} when it is as it was. A null inside an array is kept; a
// member that has become null cannot be told from one that is gone.
func (s *Server) StateDiff() json.RawMessage {
	first := value.ObjectOf()
	if len(s.script.State) > 0 {
		first, _ = value.Parse(s.script.State) // New has seen that it can be read
	}
	s.mu.Lock()
	now := s.state
	s.mu.Unlock()
	patch, _ := diff(first, now)
	return patch.Append(nil)
}

// diff returns the merge patch that makes b of a, both objects, and whether it
// changes anything.
func diff(a, b value.Value) (value.Value, bool) {
	var members []value.Member
	for _, m := range a.Members() {
		if _, ok := b.Get(m.Key); !ok {
			members = append(members, value.Member{Key: m.Key})
		}
	}
	for _, m := range b.Members() {
		old, ok := a.Get(m.Key)
		switch {
		case !ok:
			members = append(members, m)
		case old.Kind() == value.Object && m.Value.Kind() == value.Object:
			if sub, changed := diff(old, m.Value); changed {
				members = append(members, value.Member{Key: m.Key, Value: sub})
			}
		case !value.Equal(old, m.Value):
			members = append(members, m)
		}
	}
	return value.ObjectOf(members...), len(members) > 0
}

// SetState puts another state in place of the present one, such as one that
// [Server.State] gave before.
func (s *Server) SetState(state json.RawMessage) error {
	v, err := value.Parse(state)
	if err == nil && v.Kind() != value.Object {
		err = fmt.Errorf("it is %s, not an object", v.Kind())
	}
	if err != nil {
		return fmt.Errorf("setting the state of mock server %q: %w", s.script.Name, err)
	}
	s.mu.Lock()
	s.state, s.spelled = v, nil
	s.mu.Unlock()
	return nil
}
