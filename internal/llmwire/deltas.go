// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// delta is one delta of a choice before it is encoded.
type delta struct {
	kind   Kind
	role   bool
	text   []byte // content, encoded; nil is none
	other  string // reasoning or refusal, by kind
	calls  []callDelta
	finish string
	tokens int
	delay  time.Duration
}

// callDelta is what a delta says of one call. A nil member is not there;
// null is.
type callDelta struct {
	call                        int // which, from 0
	index, id, name, kind, args []byte
	extra                       json.RawMessage
	tokens                      int
}

func (d *delta) first() int {
	if len(d.calls) == 0 {
		return 0
	}
	return d.calls[0].call
}

// delta appends a delta.
func (c *chatWriter) delta(b []byte, d *delta) []byte {
	object := chatDelta
	switch d.kind {
	case Role:
		object = chatRoleDelta
	case Finish:
		object = chatLastDelta
	case CallStart, CallArgs:
		object = chatCallDelta
	}
	return Object(b, c.keys(object), func(member string) []byte {
		switch {
		case member == "content":
			return d.text
		case member == "role" && d.role:
			return []byte(`"assistant"`)
		case member == "reasoning_content" && d.kind == Reasoning, member == "refusal" && d.kind == Refusal:
			return Quote(d.other)
		case member == "tool_calls" && object == chatCallDelta:
			list := make([][]byte, len(d.calls))
			for i := range d.calls {
				list[i] = c.callDelta(&d.calls[i])
			}
			return array(list)
		}
		return nil
	})
}

func (c *chatWriter) callDelta(d *callDelta) []byte {
	b := Object(nil, c.keys(chatCall), func(member string) []byte {
		switch member {
		case "index":
			return d.index
		case "id":
			return d.id
		case "type":
			return d.kind
		case "function":
			return Object(nil, c.keys(chatFunction), func(member string) []byte {
				switch member {
				case "name":
					return d.name
				case "arguments":
					return d.args
				}
				return nil
			})
		}
		return nil
	})
	return withExtra(b, d.extra)
}

// deltas returns what a choice says, without role and finish reason.
func (c *chatWriter) deltas(ch *Choice) []delta {
	var out []delta
	if c.style.Role == wire.RoleOwn {
		head := delta{kind: Role}
		if c.content(ch, false) != nil {
			head.text = []byte(`""`)
		}
		out = append(out, head)
	}
	calls := c.callDeltas(ch)
	if c.style.CallsFirst {
		out = append(out, calls...)
	}
	for _, part := range []struct {
		kind Kind
		text string
	}{{Reasoning, ch.Reasoning}, {Text, ch.Text}, {Refusal, ch.Refusal}} {
		pieces := Pieces(part.text, c.style, c.r.Seed^uint64(part.kind))
		tokens := share(len(Words(part.text)), len(pieces))
		for i, p := range pieces {
			d := delta{kind: part.kind, tokens: tokens(i)}
			if i > 0 {
				d.delay = c.style.PiecePause
			}
			if part.kind == Text {
				d.text = Quote(p)
			} else {
				d.other = p
			}
			out = append(out, d)
		}
	}
	if !c.style.CallsFirst {
		out = append(out, calls...)
	}
	return out
}

// share shares n tokens among so many pieces.
func share(n, pieces int) func(i int) int {
	return func(i int) int { return n*(i+1)/pieces - n*i/pieces }
}

// placeRole says the role where the style does.
func (c *chatWriter) placeRole(deltas []delta) {
	for i := range deltas {
		switch c.style.Role {
		case wire.RoleNever:
		case wire.RoleEvery:
			deltas[i].role = true
		default:
			deltas[i].role = i == 0
		}
	}
}

// placeFinish says the finish reason where the style does.
func (c *chatWriter) placeFinish(ch *Choice, deltas []delta) []delta {
	where := c.style.Finish
	if f := c.style.Fragments.Finish; f != "" {
		where = f
	}
	last := len(deltas) - 1
	switch where {
	case wire.FinishNever:
	case wire.FinishLast:
		if last >= 0 {
			deltas[last].finish = ch.Finish
			break
		}
		fallthrough
	case wire.FinishOwn:
		deltas = append(deltas, delta{kind: Finish, finish: ch.Finish})
	case wire.FinishEachCall:
		for i := range deltas {
			if len(deltas[i].calls) > 0 {
				deltas[i].finish = "tool_calls"
			}
		}
		if last >= 0 && deltas[last].kind != Role {
			deltas[last].finish = ch.Finish
		}
	}
	return deltas
}

// callDeltas returns the deltas of all calls of a choice, in the order in
// which they are sent.
func (c *chatWriter) callDeltas(ch *Choice) []delta {
	f := &c.style.Fragments
	random := Random(uint64(f.Seed)^c.r.Seed, "calls")
	var lists [][]callDelta
	longest := 0
	for i := range ch.Calls {
		lists = append(lists, c.oneCall(&ch.Calls[i], i, random))
		longest = max(longest, len(lists[i]))
	}
	var out []delta
	add := func(list ...callDelta) {
		d := delta{kind: CallArgs, calls: list}
		for _, call := range list {
			d.tokens += call.tokens
			if call.name != nil && string(call.name) != "null" && string(call.name) != `""` {
				d.kind = CallStart
			}
		}
		out = append(out, d)
	}
	if !f.Interleave && !f.Together {
		for _, list := range lists {
			for _, d := range list {
				add(d)
			}
		}
		return out
	}
	for n := range longest {
		var row []callDelta
		for _, list := range lists {
			if n < len(list) {
				row = append(row, list[n])
			}
		}
		if f.Together {
			add(row...)
			continue
		}
		for _, d := range row {
			add(d)
		}
	}
	return out
}

// oneCall returns the deltas of call n.
func (c *chatWriter) oneCall(call *Call, n int, random *rand.Rand) []callDelta {
	f := &c.style.Fragments
	list := c.arguments(call, n)
	if len(list) < 2 && (f.ID == wire.PlaceSplit || f.Name == wire.PlaceSplit) {
		list = append(list, callDelta{args: []byte(`""`)})
	}
	for i := range list {
		list[i].call = n
		list[i].index = index(f.Index, n, i, random)
	}
	list[0].extra = call.Extra
	put(list, f.ID, call.ID, func(d *callDelta) *[]byte { return &d.id })
	put(list, f.Type, "function", func(d *callDelta) *[]byte { return &d.kind })
	put(list, f.Name, call.Name, func(d *callDelta) *[]byte { return &d.name })
	return list
}

// arguments returns deltas with nothing but the arguments of a call.
func (c *chatWriter) arguments(call *Call, n int) []callDelta {
	f := &c.style.Fragments
	text := call.Arguments
	if f.Escape {
		text = Escape(text)
	}
	total := len(Words(text))
	whole := callDelta{args: Quote(text), tokens: total}
	switch {
	case f.Args == wire.ArgsEmpty && text == "{}":
		return []callDelta{{args: []byte(`""`)}}
	case f.Args == wire.ArgsObject && json.Valid([]byte(text)):
		return []callDelta{{args: []byte(text), tokens: total}}
	case f.Args == wire.ArgsWhole || c.style.WholeCalls:
		return []callDelta{whole}
	}
	head := callDelta{args: []byte(`""`)}
	if f.Args == wire.ArgsNull {
		head.args = []byte("null")
	}
	list := []callDelta{head}
	pieces := Pieces(text, c.style, c.r.Seed^uint64(1+n)<<32)
	tokens := share(total, len(pieces))
	said := ""
	for i, p := range pieces {
		said += p
		if f.Args == wire.ArgsCumulative {
			p = said
		}
		list = append(list, callDelta{args: Quote(p), tokens: tokens(i)})
	}
	switch {
	case f.Args == wire.ArgsMerged && len(list) > 1:
		return list[1:]
	case f.Args == wire.ArgsRepeated:
		return append(list, callDelta{args: Quote(text)})
	}
	return list
}

// index numbers delta i of call n.
func index(how wire.Index, n, i int, random *rand.Rand) []byte {
	switch how {
	case wire.IndexMissing:
		return nil
	case wire.IndexZero:
		n = 0
	case wire.IndexWandering:
		n = i + 1
	case wire.IndexMixed:
		if i > 0 && random.IntN(2) == 0 {
			return nil
		}
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// put puts a member of a call into the deltas where place says.
func put(list []callDelta, place wire.Place, value string, member func(*callDelta) *[]byte) {
	if place == wire.PlaceNever {
		return
	}
	quoted := Quote(value)
	for i := range list {
		m := member(&list[i])
		first, last := i == 0, i == len(list)-1
		switch {
		case place == wire.PlaceSplit:
			half := len(value) / 2
			if first {
				*m = Quote(value[:half])
			} else if i == 1 {
				*m = Quote(value[half:])
			}
		case place == wire.PlaceLate:
			if last {
				*m = quoted
			}
		case first || place == wire.PlaceRepeated:
			*m = quoted
		case place == wire.PlaceNull:
			*m = []byte("null")
		case place == wire.PlaceEmpty:
			*m = []byte(`""`)
		}
	}
}
