// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Player decides which of a list of faults strikes an event. The faults of a
// list are tried in order, and one that strikes keeps those after it for the
// next event. It is not safe for concurrent use.
type Player struct {
	faults []Fault
	infos  []Info // of the kinds of faults
	counts []count
	random []*rand.Rand
}

// count is how far one fault has come: events that its place fits, and those
// that it struck.
type count struct{ fitted, struck int }

// NewPlayer plays faults.
func NewPlayer(faults []Fault) *Player {
	p := &Player{faults: slices.Clone(faults), counts: make([]count, len(faults))}
	for i, f := range faults {
		info, _ := Describe(f.Kind)
		p.infos = append(p.infos, info)
		p.random = append(p.random, rand.New(rand.NewPCG(uint64(f.Seed), uint64(i))))
	}
	return p
}

// Next returns the fault that strikes e; nil when none does. An error is that
// of a Match.
func (p *Player) Next(e *Event) (*Fault, error) {
	var first *Fault
	for i := range p.faults {
		// Each fault counts all events that it fits, those too that another
		// one strikes: the second call is the second whoever failed the first.
		ok, err := p.strikes(i, e, first == nil)
		if err != nil {
			return nil, fmt.Errorf("matching fault %s: %w", p.faults[i].String(), err)
		}
		if ok {
			first = &p.faults[i]
		}
	}
	return first, nil
}

// strikes counts an event for fault i and reports whether it strikes it; free
// says that no other fault has.
func (p *Player) strikes(i int, e *Event, free bool) (bool, error) {
	f, c := &p.faults[i], &p.counts[i]
	if !f.endless(&p.infos[i]) && c.struck >= max(f.Times, 1) || !f.fits(&p.infos[i], e) {
		return false, nil
	}
	if f.Match.Args != nil {
		if ok, err := f.Match.Args(e.Args); !ok || err != nil {
			return false, err
		}
	}
	c.fitted++
	switch {
	case !free,
		f.Match.Nth > 0 && c.fitted != f.Match.Nth,
		f.Every > 0 && c.fitted%f.Every != 0,
		f.Probability > 0 && p.random[i].Float64() >= f.Probability:
		return false, nil
	}
	c.struck++
	return true, nil
}

// Struck returns how often each of the faults has struck, in their order.
func (p *Player) Struck() []int {
	n := make([]int, len(p.counts))
	for i, c := range p.counts {
		n[i] = c.struck
	}
	return n
}

// Unstruck returns the faults that have not struck.
func (p *Player) Unstruck() []Fault {
	var out []Fault
	for i, c := range p.counts {
		if c.struck == 0 {
			out = append(out, p.faults[i])
		}
	}
	return out
}

// fits reports whether the fault can strike e by its place and its kind.
func (f *Fault) fits(info *Info, e *Event) bool {
	if !slices.Contains(info.Transports, e.Transport) {
		return false
	}
	if e.Method != Start && e.Method != End && (info.Era == Legacy && e.Modern || info.Era == Modern && !e.Modern) {
		return false
	}
	m := f.Match
	switch {
	case m.Method != "":
		if m.Method != e.Method {
			return false
		}
	case len(info.On) > 0:
		if !slices.Contains(info.On, e.Method) {
			return false
		}
	case e.Method != methodCall:
		return false
	}
	return m.Tool == "" || info.aboutList() && e.Method == methodList || e.Method == methodCall && m.Tool == e.Tool
}
