// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

func faultsKey() key {
	return key{name: "faults", typ: list(objectOf("fault")), def: "none", doc: "What goes wrong at the mock model, whichever reply is due, except for asides. The first fault that matches strikes."}
}

// faultObject is the object of `fault` and of the items of `faults`.
func faultObject() *object {
	kind := enum(fault.Names()...)
	kind.words = "a kind or a preset that `rehearse faults` lists"
	return &object{
		name: "fault", doc: "A typed fault, in place of a reply or inside it. `rehearse faults` lists the kinds, what each tests, and the settings that it uses.",
		keys: []key{
			{name: "kind", typ: kind, required: true, doc: "What goes wrong, as in `rate_limit`, or a preset, as in `argo_3_3_cut_done`."},
			{name: "form", typ: filled(), def: "the kind's first", doc: "One of the kind's forms. Quote the form `null`, as any text that YAML reads as something else: `form: \"null\"`."},
			{name: "at", typ: objectOf("at"), def: "any request; the middle of the reply", doc: "Which requests it strikes, and where in the reply."},
			{name: "when", typ: celText(), def: "always", doc: "Holds for the requests that it strikes; reads " + known(expr.Request) + "."},
			{name: "match", typ: anyMap(), def: "any", doc: "What the request contains: its `model`, `messages`, `tools` and so on; operators allowed, keys that are not named are ignored."},
			{name: "times", typ: either(count(1), enum("always")), def: "1, or always with every, probability or chance", doc: "How often it strikes."},
			{name: "every", typ: count(1), def: "1", doc: "Strikes every Nth request that matches."},
			{name: "probability", typ: number(), def: "1", doc: "The probability with which it strikes, from 0 to 1; the seed decides."},
			{name: "chance", typ: probability(), def: "1", doc: "The probability with which it strikes a request, drawn from the request itself as that of a rule is. `times` then counts for each such request by itself: with 2, a request that is drawn meets the fault twice and then its reply. Without `times` it meets the fault whenever it is repeated. It goes with neither `every` nor `probability`."},
			{name: "status", typ: count(200), def: "the kind's", doc: "The HTTP status."},
			{name: "body", typ: text(), def: "the kind's", doc: "The body, or the text."},
			{name: "retry_after", typ: duration(), def: "none sent", doc: "How long the answer asks the client to wait."},
			{name: "delay", typ: duration(), def: "the kind's", doc: "The wait of a slow fault; the clock of a run skips it."},
			{name: "size", typ: count(1), def: "the kind's", doc: "The size of a long reply in bytes, or a number of lines."},
		},
	}
}

func atObject() *object {
	inside := " of the reply, from 1, before which it strikes; -1 is the last."
	return &object{
		name: "at", doc: "Where a fault strikes. Everything given must match; at most one of chunk, byte and token.",
		some: []string{"request", "model", "turn", "reply", "chunk", "byte", "token"},
		keys: []key{
			{name: "request", typ: count(1), def: "any", doc: "The n-th request to the mock model, asides not counted."},
			{name: "model", typ: filled(), def: "any", doc: "The model that is asked for."},
			{name: "turn", typ: count(1), def: "any", doc: "The turn."},
			{name: "reply", typ: count(1), def: "any", doc: "The reply of its turn."},
			{name: "chunk", typ: whole(), def: "the middle", doc: "The chunk" + inside},
			{name: "byte", typ: whole(), def: "the middle", doc: "The byte" + inside},
			{name: "token", typ: whole(), def: "the middle", doc: "The token" + inside},
		},
	}
}

// faultScript is a fault whose conditions are bound to the vars of each case.
type faultScript struct {
	fault mockllm.Fault
	when  *expr.Program
	match *match.Matcher
}

func (l *loader) faults(n *strictyaml.Node) []faultScript {
	var out []faultScript
	for _, item := range itemsOf(n) {
		if usable(item) && usable(item.Get("kind")) {
			out = append(out, l.fault(item))
		}
	}
	return out
}

func (l *loader) fault(n *strictyaml.Node) faultScript {
	f, err := fault.Lookup(textOf(n.Get("kind")))
	if err != nil {
		l.problems.add(n.Get("kind").Pos, "%v", err)
		return faultScript{}
	}
	f.Pos = n.Pos
	if form := textOf(n.Get("form")); form != "" {
		f.Form = form
	}
	if at := n.Get("at"); usable(at) {
		for _, place := range []string{"chunk", "byte", "token"} {
			if n := at.Get(place); usable(n) && intOf(n) == 0 {
				l.problems.add(n.Pos, "%ss count from 1, or from -1 at the end: there is no %s 0", place, place)
			}
		}
		f.At = fault.At{
			Request: intOf(at.Get("request")), Model: textOf(at.Get("model")), Turn: intOf(at.Get("turn")), Reply: intOf(at.Get("reply")),
			Chunk: intOf(at.Get("chunk")), Byte: intOf(at.Get("byte")), Token: intOf(at.Get("token")),
		}
	}
	switch times := n.Get("times"); {
	case textOf(times) == "always":
		f.Times = -1
	case usable(times):
		f.Times = intOf(times)
	}
	f.Every = intOf(n.Get("every"))
	if p := floatOf(n.Get("probability")); p != nil {
		f.Probability = *p
		if *p == 0 {
			l.problems.add(n.Get("probability").Pos, "a probability of 0: this fault never strikes")
		}
	}
	if p := floatOf(n.Get("chance")); p != nil {
		f.Chance = *p
	}
	if status := n.Get("status"); usable(status) {
		f.Status = intOf(status)
	}
	if body := textOf(n.Get("body")); body != "" {
		f.Body = body
	}
	f.RetryAfter, f.Delay, f.Size = durationOf(n.Get("retry_after")), durationOf(n.Get("delay")), intOf(n.Get("size"))
	if err := f.Check(); err != nil {
		for _, one := range filepos.All(err) {
			l.problems.add(n.Pos, "%s", one)
		}
	}
	return faultScript{
		fault: f, when: l.condition(n.Get("when"), expr.Request),
		match: l.matcher(n.Get("match"), match.Options{Scope: expr.Request}),
	}
}

// bindFaults returns the faults with the vars of a case.
func bindFaults(faults []faultScript, vars value.Value) []mockllm.Fault {
	var out []mockllm.Fault
	for _, f := range faults {
		out = append(out, f.bind(vars))
	}
	return slices.Clip(out)
}

func (s faultScript) bind(vars value.Value) mockllm.Fault {
	f := s.fault
	if s.when == nil && s.match == nil {
		return f
	}
	f.When = func(r *fault.Request) (bool, error) {
		var request harness.Request
		if r.Full != nil {
			request = r.Full()
		}
		names := &expr.Vars{Request: &request, User: r.User, Turn: r.Turn, Vars: vars}
		if s.when != nil {
			if ok, err := s.when.Holds(names); !ok || err != nil {
				return false, at(f.Pos, err)
			}
		}
		if s.match == nil {
			return true, nil
		}
		got, err := value.From(request)
		if err != nil {
			return false, at(f.Pos, fmt.Errorf("the request as a value: %w", err))
		}
		differs, err := s.match.Match(got, names)
		return len(differs) == 0 && err == nil, at(f.Pos, err)
	}
	return f
}
