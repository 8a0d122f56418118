// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/faults"
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

// count is how far one fault has come.
type count struct {
	// wire are events of its place over a transport that its kind does not
	// strike, over is the last of these; era are those of the other era.
	wire, era    int
	over         string
	placed       int // events that its place fits
	faults.Count     // of those, with its arguments
	taken        int // of those, that another fault struck
}

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
	schedule := f.schedule(&p.infos[i])
	if c.Spent(schedule) || !f.fits(&p.infos[i], e) {
		return false, nil
	}
	switch info := &p.infos[i]; {
	case !slices.Contains(info.Transports, e.Transport):
		c.wire, c.over = c.wire+1, e.Transport
		return false, nil
	case e.Method != Start && e.Method != End && (info.Era == Legacy && e.Modern || info.Era == Modern && !e.Modern):
		c.era++
		return false, nil
	}
	c.placed++
	if f.Match.Args != nil {
		if ok, err := f.Match.Args(e.Args); !ok || err != nil {
			return false, err
		}
	}
	if !free {
		c.Fitted, c.taken = c.Fitted+1, c.taken+1
		return false, nil
	}
	return c.Fits(schedule, p.random[i]), nil
}

// Struck returns how often each of the faults has struck, in their order.
func (p *Player) Struck() []int {
	n := make([]int, len(p.counts))
	for i, c := range p.counts {
		n[i] = c.Struck
	}
	return n
}

// Idle is a fault that has struck nothing, and why.
type Idle struct {
	Fault Fault
	Why   string
}

// Idle returns the faults that have not struck, with the reason.
func (p *Player) Idle() []Idle {
	var out []Idle
	for i, c := range p.counts {
		if c.Struck == 0 {
			out = append(out, Idle{p.faults[i], p.faults[i].why(&p.infos[i], c)})
		}
	}
	return out
}

// Unstruck returns the faults that have not struck.
func (p *Player) Unstruck() []Fault {
	var out []Fault
	for _, idle := range p.Idle() {
		out = append(out, idle.Fault)
	}
	return out
}

// why says why a fault has not struck.
func (f *Fault) why(info *Info, c count) string {
	switch {
	case c.placed > 0 && c.Fitted == 0:
		return "its arguments matched no call"
	case c.placed > 0 && c.taken == c.Fitted:
		return "other faults struck every request that it matches"
	case c.placed > 0 && f.Match.Nth > 0:
		return fmt.Sprintf("it strikes request %d of those that it matches, and %d matched", f.Match.Nth, c.Fitted)
	case c.placed > 0 && f.Every > 0:
		return fmt.Sprintf("it strikes every request number %d of those that it matches, and %d matched", f.Every, c.Fitted)
	case c.placed > 0:
		return fmt.Sprintf("its probability spared all %d matching requests", c.Fitted)
	case c.wire > 0:
		return fmt.Sprintf("it does not strike over %s, which the client used, but only over %s", transportName(c.over), transportNames(info.Transports))
	case c.era > 0:
		return fmt.Sprintf("it strikes only %s clients, and this client was not one", info.Era)
	}
	return "no matching request came: " + f.place(info)
}

// place names what the fault waits for.
func (f *Fault) place(info *Info) string {
	switch {
	case f.Match.Tool != "" && !info.aboutList():
		return fmt.Sprintf("%s of %q", cmp.Or(f.Match.Method, methodCall), f.Match.Tool)
	case f.Match.Method != "":
		return f.Match.Method
	case len(info.On) > 0:
		return info.Where()
	}
	return methodCall
}

// transportName is a transport in the words of files: a pipe stands for stdio,
// and stdio for a process.
func transportName(t string) string {
	switch t {
	case Pipe:
		return "stdio"
	case Stdio:
		return "process"
	}
	return t
}

func transportNames(list []string) string {
	var out []string
	for _, t := range list {
		out = append(out, transportName(t))
	}
	return strings.Join(out, ", ")
}

// fits reports whether e is at the place of the fault.
func (f *Fault) fits(info *Info, e *Event) bool {
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
