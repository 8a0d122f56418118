// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// withExtra adds the members of extra, a JSON object, to the object at the end
// of b.
func withExtra(b []byte, extra json.RawMessage) []byte {
	extra = bytes.TrimSpace(extra)
	if len(extra) < len(`{"":0}`) || extra[0] != '{' {
		return b
	}
	if b = b[:len(b)-1]; b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(b, extra[1:]...)
}

// callDelta is what a delta says of one call.
type callDelta struct {
	call                 int // which, from 0
	index                int // as it is sent; negative is absent
	id, name, kind, args value
	extra                json.RawMessage
	tokens               int
}

func (w *writer) callDelta(b []byte, d *callDelta) []byte {
	b = w.object(b, chatCall, func(b []byte, member string) []byte {
		switch member {
		case "index":
			if d.index < 0 {
				return b
			}
			return strconv.AppendInt(b, int64(d.index), 10)
		case "id":
			return d.id.append(b)
		case "type":
			return d.kind.append(b)
		case "function":
			return w.object(b, chatFunction, func(b []byte, member string) []byte {
				switch member {
				case "name":
					return d.name.append(b)
				case "arguments":
					return d.args.append(b)
				}
				return b
			})
		}
		return b
	})
	return withExtra(b, d.extra)
}

// callDeltas lists the deltas of all calls of a choice, in the order in which
// they are sent.
func (w *writer) callDeltas(ch *dialect.Choice) {
	f := &w.style.Fragments
	var random *rand.Rand
	if f.Index == dialect.IndexMixed {
		random = dialect.Random(uint64(f.Seed)^w.r.Seed, "calls")
	}
	if !f.Interleave && !f.Together {
		for i := range ch.Calls {
			list := w.oneCall(&ch.Calls[i], i, random)
			for len(list) > 1 && f.Pairs {
				w.add(list[:2])
				list = list[2:]
			}
			for i := range list {
				w.add(list[i : i+1])
			}
		}
		return
	}
	var lists [][]callDelta
	longest := 0
	for i := range ch.Calls {
		lists = append(lists, w.oneCall(&ch.Calls[i], i, random))
		longest = max(longest, len(lists[i]))
	}
	for n := range longest {
		var row []callDelta
		for _, list := range lists {
			if n < len(list) {
				row = append(row, list[n])
			}
		}
		for size := 1; len(row) > 0; row = row[size:] {
			if f.Together {
				size = len(row)
			}
			w.add(row[:size])
		}
	}
}

// add lists a delta of calls.
func (w *writer) add(calls []callDelta) {
	d := delta{kind: dialect.KindCallArgs, calls: calls}
	for i := range calls {
		d.tokens += calls[i].tokens
		if calls[i].name.text != "" {
			d.kind = dialect.KindCallStart
		}
	}
	w.list = append(w.list, d)
}

// oneCall returns the deltas of call n.
func (w *writer) oneCall(call *dialect.Call, n int, random *rand.Rand) []callDelta {
	f := &w.style.Fragments
	list := w.arguments(call, n)
	if len(list) < 2 && (f.ID == dialect.PlaceSplit || f.Name == dialect.PlaceSplit) {
		list = append(list, callDelta{args: textValue("")})
	}
	for i := range list {
		list[i].call = n
		list[i].index = index(f.Index, n, i, random)
	}
	list[0].extra = call.Extra
	put(list, f.ID, call.ID, func(d *callDelta) *value { return &d.id })
	put(list, f.Type, "function", func(d *callDelta) *value { return &d.kind })
	put(list, f.Name, call.Name, func(d *callDelta) *value { return &d.name })
	return list
}

// arguments returns deltas with nothing but the arguments of a call.
func (w *writer) arguments(call *dialect.Call, n int) []callDelta {
	f := &w.style.Fragments
	text := call.Arguments
	if f.Escape {
		text = dialect.Escape(text)
	}
	pieces, total := w.cut(text, w.r.Seed^uint64(1+n)<<32)
	whole := callDelta{args: textValue(text), tokens: total}
	blocks := w.style.BlockArgs && f.Args == ""
	switch {
	case blocks && text == "{}":
		return []callDelta{{args: textValue("")}, {args: textValue("")}}
	case f.Args == dialect.ArgsEmpty && text == "{}":
		return []callDelta{{args: textValue("")}}
	case f.Args == dialect.ArgsObject && json.Valid([]byte(text)):
		return []callDelta{{args: value{raw, text}, tokens: total}}
	case f.Args == dialect.ArgsWhole || w.style.WholeCalls:
		return []callDelta{whole}
	}
	head := callDelta{args: textValue("")}
	if f.Args == dialect.ArgsNull {
		head.args = value{form: null}
	}
	if need := len(pieces) + 4; cap(w.parts)-len(w.parts) < need { // what others refer to stays where it is
		w.parts = make([]callDelta, 0, max(need, 2*cap(w.parts)))
	}
	from := len(w.parts)
	list := append(w.parts[from:from:from+len(pieces)+4], head)
	w.parts = w.parts[:from+len(pieces)+4]
	if blocks {
		list = append(list, head)
	}
	tokens := share(total, len(pieces))
	said := 0
	for i, p := range pieces {
		said += len(p)
		if f.Args == dialect.ArgsCumulative {
			p = text[:said]
		}
		list = append(list, callDelta{args: textValue(p), tokens: tokens(i)})
	}
	switch {
	case f.Args == dialect.ArgsMerged && len(list) > 1:
		return list[1:]
	case f.Args == dialect.ArgsRepeated:
		return append(list, callDelta{args: textValue(text)})
	}
	return list
}

// index numbers delta i of call n; -1 is no number.
func index(how dialect.Index, n, i int, random *rand.Rand) int {
	switch how {
	case dialect.IndexMissing:
		return -1
	case dialect.IndexZero:
		return 0
	case dialect.IndexWandering:
		return i + 1
	case dialect.IndexMixed:
		if i > 0 && random.IntN(2) == 0 {
			return -1
		}
	}
	return n
}

// put puts a member of a call into the deltas where place says.
func put(list []callDelta, place dialect.Place, text string, member func(*callDelta) *value) {
	switch place {
	case dialect.PlaceNever:
		return
	case dialect.PlaceFirst:
		*member(&list[0]) = textValue(text)
		return
	}
	for i := range list {
		m := member(&list[i])
		first, last := i == 0, i == len(list)-1
		switch {
		case place == dialect.PlaceSplit:
			half := len(text) / 2
			if first {
				*m = textValue(text[:half])
			} else if i == 1 {
				*m = textValue(text[half:])
			}
		case place == dialect.PlaceLate:
			if last {
				*m = textValue(text)
			}
		case first, place == dialect.PlaceRepeated:
			*m = textValue(text)
		case place == dialect.PlaceNull:
			*m = value{form: null}
		case place == dialect.PlaceEmpty:
			*m = textValue("")
		}
	}
}
