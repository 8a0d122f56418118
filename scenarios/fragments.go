// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

func fragmentsObject() *object {
	knob := func(name, doc string) key {
		return key{name: name, typ: enum(dialect.FragmentValues(name)...), def: "as the profile does", doc: doc}
	}
	places := "`repeated` in every delta, `late` in the last, `null` or `empty` in those after the first, `split` over two, `never`."
	return &object{
		name: "fragments", doc: "How a streamed reply is split into deltas; real endpoints were seen to send each of these. A reply that is not streamed has none.",
		keys: []key{
			{name: "seed", typ: whole(), def: "0", doc: "Seed of the random choices, combined with that of the run."},
			knob("unit", "Where text and arguments may be split: between bytes, characters, tokens of JSON (words of text), or nowhere."),
			{name: "min", typ: count(1), def: "1", doc: "With `unit`: the minimum size of a piece."},
			{name: "max", typ: count(1), def: "`min`", doc: "With `unit`: the maximum size of a piece."},
			{name: "cuts", typ: list(count(1)), def: "none", doc: "With `unit`: where every text is split, in units from its start, instead of `min` and `max`."},
			{name: "escape", typ: boolean(), def: "false", doc: "Writes non-ASCII characters in arguments as escapes, so that a split falls within an escape or between surrogates."},
			{name: "interleave", typ: boolean(), def: "false", doc: "Interleaves the deltas of parallel calls."},
			{name: "together", typ: boolean(), def: "false", doc: "Sends parallel calls in the same chunks."},
			{name: "pairs", typ: boolean(), def: "false", doc: "Sends two deltas of a call in each chunk, as two entries with the same index."},
			knob("index", "The index of a call: `missing`, `zero` for all, `wandering` from delta to delta, `mixed` with missing ones."),
			knob("id", "Where the id of a call is: "+places),
			knob("name", "Where the name of a call is: "+places),
			knob("type", "Where the type of a call is: "+places),
			knob("args", "How arguments are sent: the first piece `merged` into the first delta, `whole` there, `empty` for none, `null` there, an `object`, `cumulative`, or `repeated` whole at the end."),
			knob("finish", "Where the finish reason is: with the `last` delta, with `each_call`, or `never`."),
			{name: "writes", typ: count(1), def: "whole events", doc: "Splits the output into network writes of at most this many bytes, regardless of event boundaries."},
		},
	}
}

func fragmentsKey(of string) key {
	return key{name: "fragments", typ: objectOf("fragments"), def: "as the profile does", doc: "How " + of + " split when streamed."}
}

// fragments compiles the map of that name; nil when there is none.
func (l *loader) fragments(n *strictyaml.Node) *dialect.Fragments {
	if !usable(n) {
		return nil
	}
	seed, _ := strconv.ParseInt(textOf(n.Get("seed")), 10, 64)
	f := &dialect.Fragments{
		Seed: seed, Unit: dialect.Unit(textOf(n.Get("unit"))), Min: intOf(n.Get("min")), Max: intOf(n.Get("max")),
		Escape: boolOf(n.Get("escape")), Interleave: boolOf(n.Get("interleave")), Together: boolOf(n.Get("together")), Pairs: boolOf(n.Get("pairs")),
		Index: dialect.Index(textOf(n.Get("index"))), ID: dialect.Place(textOf(n.Get("id"))), Name: dialect.Place(textOf(n.Get("name"))),
		Type: dialect.Place(textOf(n.Get("type"))), Args: dialect.Args(textOf(n.Get("args"))), Finish: dialect.Finish(textOf(n.Get("finish"))),
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

func habitsObject() *object {
	knob := func(name, doc string) key {
		return key{name: name, typ: enum(dialect.HabitValues(name)...), def: "as the profile does", doc: doc}
	}
	return &object{
		name: "habits", doc: "Odd spellings of a reply, streamed or whole, in every dialect that has the member; real endpoints were seen to send each of these. The call stays the same, and a client may send it back in either spelling.",
		keys: []key{
			knob("ids", "`number`: the ids of calls are numbers."),
			knob("names", "White space around the name of a called tool: a space at both ends (`padded`), or a `newline` after it."),
			knob("args", "Extra text around the arguments of a call: two `quotes` after them, as in `{}\"\"`, or an empty `object` before them. The journal holds what was sent."),
			knob("function_call", "Chat completions also have this member, which predates tools: with `empty` texts, an empty `object` or `null`."),
			{name: "extra_content", typ: boolean(), def: "false", doc: "Each call of chat completions has extra_content with a thought signature, as at Google's endpoint."},
			{name: "reasoning_details", typ: boolean(), def: "false", doc: "The thoughts of chat completions also come as reasoning_details, as at OpenRouter."},
		},
	}
}

func habitsKey(of string) key {
	return key{name: "habits", typ: objectOf("habits"), def: "as the profile does", doc: "Odd ways to spell " + of + "."}
}

// habits compiles the map of that name; nil when there is none.
func (l *loader) habits(n *strictyaml.Node) *dialect.Habits {
	if !usable(n) {
		return nil
	}
	return &dialect.Habits{
		IDs: dialect.IDForm(textOf(n.Get("ids"))), Names: dialect.NameForm(textOf(n.Get("names"))), Args: dialect.ArgsForm(textOf(n.Get("args"))),
		FunctionCall: dialect.FunctionForm(textOf(n.Get("function_call"))), ExtraContent: boolOf(n.Get("extra_content")), ReasoningDetails: boolOf(n.Get("reasoning_details")),
	}
}
