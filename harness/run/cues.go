// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// prompter gives the cues of a scenario: it sees the tool side and tells the
// model's side, which do not know each other.
type prompter struct {
	mu     sync.Mutex // guards what follows
	cues   []scenarios.Cue
	calls  map[string]int // of each server.tool
	states map[string]value.Value
	given  []string
	give   func(cue string) // nil until there is somebody to tell
}

func newPrompter(cues []scenarios.Cue) *prompter {
	return &prompter{cues: cues, calls: map[string]int{}, states: map[string]value.Value{}}
}

// start has f told of the cues, and of those given before.
func (p *prompter) start(f func(cue string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give = f
	for _, name := range p.given {
		f(name)
	}
}

// called is told of a call of a tool as it arrives.
func (p *prompter) called(server, tool string) {
	if len(p.cues) == 0 {
		return
	}
	name := server + "." + tool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[name]++
	for _, c := range p.cues {
		if c.Tool == name && c.Nth == p.calls[name] {
			p.tell(c.Name)
		}
	}
}

// state is told of the state that a server is in. An expectation that cannot
// be answered for it does not hold: the next state may have what it lacks.
func (t *trial) state(server string, raw json.RawMessage) {
	p := t.prompter
	if len(p.cues) == 0 {
		return
	}
	state, err := value.Parse(raw)
	if err != nil {
		return // it comes from a mock server, which keeps values
	}
	vars := t.scenario.Seen(int(t.turn.Load()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states[server] = state
	for _, c := range p.cues {
		holds := len(c.State) > 0
		for name, m := range c.State {
			state, known := p.states[name]
			if diff, err := m.Match(state, vars); !known || err != nil || diff != nil {
				holds = false
			}
		}
		if holds {
			p.tell(c.Name)
		}
	}
}

// tell gives a cue; p.mu is held.
func (p *prompter) tell(cue string) {
	if p.give == nil {
		p.given = append(p.given, cue)
		return
	}
	p.give(cue)
}
