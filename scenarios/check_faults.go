// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// script is what check knows of a mock model's script.
type script struct {
	turns  []*strictyaml.Node
	bare   []*strictyaml.Node // replies in place of turns
	others []*strictyaml.Node // replies of asides, rules and lanes
	stream *bool              // whether requests are for streams; nil when that is not known
}

func scriptOf(root *strictyaml.Node) *script {
	s := &script{turns: itemsOf(root.Get("turns")), bare: itemsOf(root.Get("replies"))}
	for _, k := range []string{"asides", "rules"} {
		for _, r := range itemsOf(root.Get(k)) {
			s.others = append(s.others, r.Get("reply"))
		}
	}
	for _, lane := range itemsOf(root.Get("lanes")) {
		s.others = append(s.others, itemsOf(lane.Get("replies"))...)
		for _, t := range itemsOf(lane.Get("turns")) {
			s.others = append(s.others, itemsOf(t.Get("replies"))...)
		}
	}
	return s
}

// replies are all of them.
func (s *script) replies() []*strictyaml.Node {
	out := slices.Concat(s.bare, s.others)
	for _, t := range s.turns {
		out = append(out, itemsOf(t.Get("replies"))...)
	}
	return slices.DeleteFunc(out, func(n *strictyaml.Node) bool { return !usable(n) })
}

// faults warns about faults that can strike no request.
func (c *checks) faults(root, model *strictyaml.Node, stream *bool) {
	s := scriptOf(root)
	s.stream = stream
	for i, t := range s.turns {
		c.repliesOf(s, itemsOf(t.Get("replies")), i+1)
	}
	c.repliesOf(s, s.bare, 1)
	for _, r := range s.others {
		c.faultList(s, r.Get("fault"), "the reply calls no tools", callsTools(r), func(*fault.Fault) string { return "" })
	}
	c.faultList(s, model.Get("faults"), "no reply calls a tool", s.callsTools(), s.nowhere)
}

// repliesOf looks at the faults of the replies of a turn, whose places are
// known.
func (c *checks) repliesOf(s *script, replies []*strictyaml.Node, turn int) {
	first := 1
	for _, r := range replies {
		last := first + max(intOf(r.Get("repeat")), 1) - 1
		c.faultList(s, r.Get("fault"), "the reply calls no tools", callsTools(r), func(f *fault.Fault) string {
			switch at := f.At; {
			case at.Turn != 0 && at.Turn != turn:
				return fmt.Sprintf("this reply belongs to turn %d, not %d", turn, at.Turn)
			case at.Reply != 0 && (at.Reply < first || at.Reply > last):
				return fmt.Sprintf("this is reply %d of its turn, not %d", first, at.Reply)
			}
			return ""
		})
		first = last + 1
	}
}

func callsTools(reply *strictyaml.Node) bool { return len(itemsOf(reply.Get("calls"))) > 0 }

// callsTools reports whether any reply of the script calls a tool.
func (s *script) callsTools() bool {
	if slices.ContainsFunc(s.bare, callsTools) || slices.ContainsFunc(s.others, callsTools) {
		return true
	}
	return slices.ContainsFunc(s.turns, func(t *strictyaml.Node) bool { return slices.ContainsFunc(itemsOf(t.Get("replies")), callsTools) })
}

// nowhere says why a fault of the model has no place in the script.
func (s *script) nowhere(f *fault.Fault) string {
	turns := max(len(s.turns), 1)
	switch {
	case f.At.Turn > turns:
		return fmt.Sprintf("turn %d does not exist: there are %d", f.At.Turn, turns)
	case f.At.Reply != 0 && len(s.others) == 0 && f.At.Reply > s.most(f.At.Turn):
		return fmt.Sprintf("reply %d does not exist: no turn has more than %d", f.At.Reply, s.most(f.At.Turn))
	}
	return ""
}

// most is how many replies a turn has; of turn 0, the longest.
func (s *script) most(turn int) int {
	most := 0
	count := func(replies []*strictyaml.Node) {
		n := 0
		for _, r := range replies {
			n += max(intOf(r.Get("repeat")), 1)
		}
		most = max(most, n)
	}
	count(s.bare)
	for i, t := range s.turns {
		if turn == 0 || turn == i+1 {
			count(itemsOf(t.Get("replies")))
		}
	}
	return most
}

// faultList looks at the faults of one list, of which the first that fits
// strikes. calls says whether there are calls for those that change calls, and
// none what to say when there are not; place says what is wrong with the place
// of a fault.
func (c *checks) faultList(s *script, list *strictyaml.Node, none string, calls bool, place func(*fault.Fault) string) {
	var endless *strictyaml.Node
	for _, n := range itemsOf(list) {
		f, ok := plainFault(n)
		if !ok {
			continue
		}
		info, _ := fault.Describe(f.Kind)
		why := ""
		switch {
		case endless != nil:
			why = fmt.Sprintf("the one at %s always strikes first", endless.Pos)
		case s.stream != nil && !f.Applies(*s.stream) && *s.stream:
			why = "it strikes only requests without a stream, but model.stream is true"
		case s.stream != nil && !f.Applies(*s.stream):
			why = "it strikes only streams, but model.stream is not true"
		case info.Calls && !calls:
			why = none
		default:
			why = place(&f)
		}
		if why != "" {
			c.doubt(n, "the fault %s never strikes: %s", textOf(n.Get("kind")), why)
		}
		if f.Times < 0 && f.At == (fault.At{Chunk: f.At.Chunk, Byte: f.At.Byte, Token: f.At.Token}) && why == "" &&
			f.Every == 0 && f.Probability == 0 && f.Chance == 0 && n.Get("when") == nil && n.Get("match") == nil && f.Applies(true) == f.Applies(false) {
			endless = n
		}
	}
}

// plainFault reads what check looks at of a fault.
func plainFault(n *strictyaml.Node) (fault.Fault, bool) {
	if !usable(n) || !usable(n.Get("kind")) {
		return fault.Fault{}, false
	}
	f, err := fault.Lookup(textOf(n.Get("kind")))
	if err != nil {
		return f, false
	}
	if form := textOf(n.Get("form")); form != "" {
		f.Form = form
	}
	at := n.Get("at")
	f.At.Turn, f.At.Reply, f.At.Request, f.At.Model = intOf(at.Get("turn")), intOf(at.Get("reply")), intOf(at.Get("request")), textOf(at.Get("model"))
	f.Every = intOf(n.Get("every"))
	if p := floatOf(n.Get("probability")); p != nil {
		f.Probability = *p
	}
	if p := floatOf(n.Get("chance")); p != nil {
		f.Chance = *p
	}
	switch times := n.Get("times"); {
	case textOf(times) == "always":
		f.Times = -1
	case usable(times):
		f.Times = intOf(times)
	}
	return f, true
}
