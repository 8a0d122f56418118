// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/rehearse-dev/rehearse/internal/faults"
)

// Player decides which of a list of faults strikes a request. The faults of a
// list are tried in order, and one that strikes keeps those after it for the
// next request. It is not safe for concurrent use.
type Player struct {
	faults []Fault
	infos  []Info // of the kinds of faults
	counts []count
	random *rand.Rand
	label  string
	// apart are how far faults have come with each request that they are counted
	// for by itself.
	apart map[requestOf]*faults.Count
}

// requestOf is a request and the place of a fault in its list.
type requestOf struct {
	fault   int
	request string
}

// maxApart is how many requests are remembered. Then all are forgotten: an
// endpoint may stand for weeks.
const maxApart = 1 << 16

// count is how far one fault has come.
type count struct {
	asked        int // requests that it was tried on
	apt          int // of those, of the sort that the kind strikes
	able         int // of those, with something in the reply to go wrong
	placed       int // of those, at its place
	faults.Count     // of those, for which its condition held
}

// add counts what another player of the fault has counted.
func (c *count) add(o count) {
	c.asked += o.asked
	c.apt += o.apt
	c.able += o.able
	c.placed += o.placed
	c.Fitted += o.Fitted
	c.Struck += o.Struck
}

// NewPlayer plays faults. What is left to chance follows from seed and label.
func NewPlayer(faults []Fault, seed int64, label string) *Player {
	h := fnv.New64a()
	fmt.Fprint(h, label)
	p := &Player{label: label, faults: faults, counts: make([]count, len(faults)), random: rand.New(rand.NewPCG(uint64(seed), h.Sum64()))}
	for _, f := range faults {
		info, _ := Describe(f.Kind)
		p.infos = append(p.infos, info)
	}
	return p
}

// Next returns the fault that strikes r; nil when none does. An error is that
// of the When of the fault that comes with it.
func (p *Player) Next(r *Request) (*Fault, error) {
	for i := range p.faults {
		f := &p.faults[i]
		ok, err := p.strikes(i, r)
		if err != nil {
			return f, err
		}
		if ok {
			return f, nil
		}
	}
	return nil, nil
}

func (p *Player) strikes(i int, r *Request) (bool, error) {
	f, info, c := &p.faults[i], &p.infos[i], &p.counts[i]
	schedule := f.schedule()
	apart := (f.Chance > 0 || r.Apart) && r.Draw != nil
	if !apart && c.Spent(schedule) {
		return false, nil
	}
	c.asked++
	inside := r.Behind && f.Kind == InStreamError && info.applies(f.Form, true)
	if !info.applies(f.Form, r.Stream) && !inside {
		return false, nil
	}
	c.apt++
	if info.Calls && r.NoCalls {
		return false, nil
	}
	c.able++
	if !f.at(r) {
		return false, nil
	}
	c.placed++
	if f.When != nil {
		if ok, err := f.When(r); !ok || err != nil {
			return false, err
		}
	}
	if !apart {
		return f.Chance == 0 && c.Fits(schedule, p.random), nil
	}
	c.Fitted++
	drawn, request := r.Draw(fmt.Sprintf("%s, fault %d", p.label, i))
	if f.Chance > 0 && drawn >= f.Chance {
		return false, nil
	}
	own := p.of(i, request)
	if own.Spent(schedule) || !own.Fits(schedule, p.random) {
		return false, nil
	}
	c.Struck++
	return true, nil
}

// of is how far a fault has come with a request.
func (p *Player) of(i int, request string) *faults.Count {
	key := requestOf{i, request}
	if c := p.apart[key]; c != nil {
		return c
	}
	if p.apart == nil || len(p.apart) >= maxApart {
		p.apart = map[requestOf]*faults.Count{}
	}
	c := new(faults.Count)
	p.apart[key] = c
	return c
}

// Applies reports whether the fault strikes requests for a stream, or others.
func (f *Fault) Applies(stream bool) bool {
	info, ok := Describe(f.Kind)
	return ok && info.applies(f.Form, stream)
}

func (i *Info) applies(form string, stream bool) bool {
	return (stream && i.Stream || !stream && i.Plain) && i.formFits(form, stream)
}

// at reports whether r is at the fault's place.
func (f *Fault) at(r *Request) bool {
	at := f.At
	return (at.Request == 0 || at.Request == r.Number) && (at.Model == "" || at.Model == r.Model) &&
		(at.Turn == 0 || at.Turn == r.Turn) && (at.Reply == 0 || at.Reply == r.Reply)
}

// Index returns the place among n things that a value from 1, or from the end
// when it is negative, stands for: how many of them come before it. Without a
// value it is the middle.
func Index(v, n int) int {
	switch {
	case v == 0:
		return n / 2
	case v < 0:
		v = n + v
	default:
		v--
	}
	return min(max(v, 0), n)
}
