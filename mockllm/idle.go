// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import "github.com/rehearse-dev/rehearse/mockllm/fault"

// IdleFaults returns the faults that struck no request, of the script and of
// the replies that were asked for, with the reason. A test that has one did
// not test what it was written for.
func (m *Mock) IdleFaults() []fault.Idle {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []fault.Idle
	var everywhere []*fault.Player
	var replies []*reply
	of := map[*reply][]*fault.Player{}
	for _, each := range append([]*Mock{m}, m.laneOrder...) {
		if each.state.faults != nil {
			everywhere = append(everywhere, each.state.faults)
		}
		for _, turn := range each.state.served {
			for _, s := range turn {
				if s.player == nil {
					continue
				}
				if of[s.script] == nil {
					replies = append(replies, s.script)
				}
				of[s.script] = append(of[s.script], s.player)
			}
		}
	}
	if len(everywhere) == 0 && len(m.program.Faults) > 0 { // nobody asked
		everywhere = append(everywhere, fault.NewPlayer(m.program.Faults, m.opts.Seed, ""))
	}
	out = append(out, fault.IdleOf(everywhere)...)
	for _, r := range replies {
		out = append(out, fault.IdleOf(of[r])...)
	}
	return out
}
