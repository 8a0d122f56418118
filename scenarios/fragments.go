// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

func fragmentsObject() *object {
	knob := func(name, doc string) key {
		return key{name: name, typ: enum(wire.Values(name)...), def: "as the profile does", doc: doc}
	}
	places := "`repeated` in every delta, `late` in the last, `null` or `empty` in those after the first, `split` over two, `never`."
	return &object{
		name: "fragments", doc: "How a streamed reply is cut into deltas; all are seen in the wild. A reply that is not streamed has none.",
		keys: []key{
			{name: "seed", typ: whole(), def: "0", doc: "Seed of the random choices; that of the run goes into them too."},
			knob("unit", "Where text and arguments may be cut: between bytes, characters, tokens of JSON (words of text), or nowhere."),
			{name: "min", typ: count(1), def: "1", doc: "With `unit`: the fewest units of a piece."},
			{name: "max", typ: count(1), def: "`min`", doc: "With `unit`: the most units of a piece."},
			{name: "cuts", typ: list(count(1)), def: "none", doc: "With `unit`: where every text is cut, in units from its start, in place of `min` and `max`."},
			{name: "escape", typ: boolean(), def: "false", doc: "Writes what is beyond ASCII in arguments as escapes, so that a cut falls within an escape or between surrogates."},
			{name: "interleave", typ: boolean(), def: "false", doc: "Sends the deltas of parallel calls in turns."},
			{name: "together", typ: boolean(), def: "false", doc: "Sends parallel calls in the same chunks."},
			knob("index", "The index of a call: `missing`, `zero` for all, `wandering` from delta to delta, `mixed` with missing ones."),
			knob("id", "Where the id of a call is: "+places),
			knob("name", "Where the name of a call is: "+places),
			knob("type", "Where the type of a call is: "+places),
			knob("args", "How arguments are told: first piece `merged` into the first delta, `whole` there, `empty` for none, `null` there, an `object`, `cumulative`, or `repeated` whole at the end."),
			knob("finish", "Where the finish reason is: with the `last` delta, with `each_call`, or `never`."),
			{name: "writes", typ: count(1), def: "whole events", doc: "Cuts what goes to the network into writes of at most so many bytes, wherever events begin."},
		},
	}
}

func fragmentsKey(of string) key {
	return key{name: "fragments", typ: objectOf("fragments"), def: "as the profile does", doc: "How " + of + " cut when streamed."}
}

// fragments compiles the map of that name; nil when there is none.
func (l *loader) fragments(n *strictyaml.Node) *wire.Fragments {
	if !usable(n) {
		return nil
	}
	seed, _ := strconv.ParseInt(textOf(n.Get("seed")), 10, 64)
	f := &wire.Fragments{
		Seed: seed, Unit: wire.Unit(textOf(n.Get("unit"))), Min: intOf(n.Get("min")), Max: intOf(n.Get("max")),
		Escape: boolOf(n.Get("escape")), Interleave: boolOf(n.Get("interleave")), Together: boolOf(n.Get("together")),
		Index: wire.Index(textOf(n.Get("index"))), ID: wire.Place(textOf(n.Get("id"))), Name: wire.Place(textOf(n.Get("name"))),
		Type: wire.Place(textOf(n.Get("type"))), Args: wire.Args(textOf(n.Get("args"))), Finish: wire.Finish(textOf(n.Get("finish"))),
		Writes: intOf(n.Get("writes")),
	}
	for _, c := range itemsOf(n.Get("cuts")) {
		f.Cuts = append(f.Cuts, intOf(c))
	}
	if err := f.Check(); err != nil {
		l.problems.add(n.Pos, "%v", err)
		return nil
	}
	return f
}
