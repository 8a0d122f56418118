// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// FuzzOptions are the settings of [Fuzz].
type FuzzOptions struct {
	// Options of the trials. Mode must be mock; Timeout defaults to five
	// seconds, Trials and Out are not used.
	Options
	// Tries is how many ways to cut are tried on each scenario. Default 100.
	Tries int
	// Wild tries what is against the rules too, but was seen in the wild:
	// indexes missing or wrong, ids and names late or split, arguments that
	// repeat themselves.
	Wild bool
}

// Finding is a way to cut streams that breaks a subject.
type Finding struct {
	Scenario string
	Subject  string // its name
	Pos      harness.Position
	// Fragments are the smallest that were found to break it.
	Fragments dialect.Fragments
	// Try is the one that found it, from 1, and Trials how many were played
	// to make it small.
	Try, Trials int
	// Broken says what is then not as it is without.
	Broken string
}

// FuzzResult is what [Fuzz] came to.
type FuzzResult struct {
	// Findings are at most one for each scenario and subject.
	Findings []Finding
	// Tried counts the trials.
	Tried int
	// Unjudged are the trials of scenarios that do not pass when streamed as
	// usual, so that cuts tell nothing.
	Unjudged []trials.Record
	// Whole are the trials of scenarios whose subject asked for no streamed reply,
	// so that nothing could be cut.
	Whole []trials.Record
}

// ExitCode is the exit status of a program: 1 with findings, 3 when a scenario
// could not be judged or had nothing to cut, else 0.
func (r *FuzzResult) ExitCode() int {
	switch {
	case len(r.Findings) > 0:
		return 1
	case len(r.Unjudged)+len(r.Whole) > 0:
		return 3
	}
	return 0
}

const (
	defaultTries = 100
	fuzzTimeout  = 5 * time.Second
)

// Fuzz plays scenarios with replies that are streamed in pieces that differ
// each time. Whatever the cuts, a subject is to do as it does without: a trial
// that does not pass, or has other calls or answers, is a finding, which is
// then made small. The same seed tries the same cuts. When ctx ends, Fuzz
// returns what it has found.
func Fuzz(ctx context.Context, list []*scenarios.Scenario, opts *FuzzOptions) (*FuzzResult, error) {
	o := *opts
	o.Timeout = cmp.Or(o.Timeout, fuzzTimeout)
	r, err := newRunner(&o.Options)
	if err != nil {
		return nil, err
	}
	defer r.gateway.close()
	if r.opts.Mode != harness.ModeMock {
		return nil, fmt.Errorf("mode %q cannot be fuzzed: only the mock model splits its streams", r.opts.Mode)
	}
	if err := errors.Join(r.playable(list), r.findProjects(list)); err != nil {
		return nil, err
	}
	res := &FuzzResult{}
	var all []*fuzzer
	for _, s := range list {
		for _, subject := range r.subjectsOf(s) {
			all = append(all, &fuzzer{runner: r, ctx: ctx, scenario: s, subject: subject, wild: o.Wild})
		}
	}
	if r.opts.Observer != nil {
		r.opts.Observer.Planned(Plan{Trials: len(all)})
	}
	for _, z := range all {
		finding := z.run(cmp.Or(o.Tries, defaultTries))
		res.Tried += z.trials
		if ctx.Err() != nil {
			break
		}
		rec := z.usual
		switch {
		case finding != nil:
			res.Findings = append(res.Findings, *finding)
			rec = z.worst
		case rec.Outcome != harness.OutcomePassed:
			res.Unjudged = append(res.Unjudged, rec)
		case !z.streamed:
			res.Whole = append(res.Whole, rec)
		}
		if r.opts.Observer != nil {
			r.opts.Observer.Ended(rec)
		}
	}
	return res, nil
}

// fuzzer fuzzes one scenario with one subject.
type fuzzer struct {
	*runner
	ctx      context.Context
	scenario *scenarios.Scenario
	subject  *scenarios.Subject
	wild     bool

	usual    trials.Record // without cuts
	worst    trials.Record // with the last that broke it
	streamed bool          // the subject asked for a stream
	texts    []string      // what the model says: texts and arguments
	trials   int
}

func (z *fuzzer) run(tries int) *Finding {
	var detail trials.Detail
	z.usual, detail = z.play(nil)
	if z.ctx.Err() != nil || z.usual.Outcome != harness.OutcomePassed {
		return nil
	}
	for _, x := range detail.Exchanges {
		z.streamed = z.streamed || x.Request.Stream
		z.texts = append(z.texts, x.Answer.Text, x.Answer.Reasoning)
		for _, c := range x.Answer.Calls {
			z.texts = append(z.texts, c.Arguments)
		}
	}
	if !z.streamed {
		return nil
	}
	for n := range tries {
		f := z.generate(rand.New(rand.NewPCG(uint64(z.opts.Seed), uint64(n))))
		if z.breaks(f) == "" {
			continue
		}
		before := z.trials
		f = z.shrink(f)
		broken := z.breaks(f)
		if z.ctx.Err() != nil {
			return nil
		}
		return &Finding{
			Scenario: z.scenario.Name, Subject: z.subject.Name, Pos: z.scenario.Pos, Fragments: f, Try: n + 1, Trials: z.trials - before, Broken: broken,
		}
	}
	return nil
}

// play plays the scenario with f; nil cuts as usual.
func (z *fuzzer) play(f *dialect.Fragments) (trials.Record, trials.Detail) {
	s := *z.scenario
	s.Settings.Stream, s.Fragments = true, f
	z.trials++
	rec, detail, _ := z.trial(z.ctx, job{scenario: &s, subject: z.subject, entry: z.entries[0], key: z.keyOf(&s, z.subject, z.entries[0], 1)})
	return rec, detail
}

// breaks says what is not as usual with f; empty is nothing.
func (z *fuzzer) breaks(f dialect.Fragments) string {
	rec, _ := z.play(&f)
	if z.ctx.Err() != nil {
		return ""
	}
	broken := difference(&z.usual, &rec)
	if broken != "" {
		z.worst = rec
	}
	return broken
}

// difference says how a trial differs from a usual one that passed.
func difference(usual, got *trials.Record) string {
	if got.Outcome != harness.OutcomePassed {
		return explain(*got, "")
	}
	if len(got.Trajectory) != len(usual.Trajectory) {
		return fmt.Sprintf("%d tool calls instead of %d", len(got.Trajectory), len(usual.Trajectory))
	}
	for i, want := range usual.Trajectory {
		c := got.Trajectory[i]
		if c.Name() != want.Name() || !value.Same(c.Args, want.Args) || c.ArgsText != want.ArgsText || c.Executed != want.Executed {
			return fmt.Sprintf("call %d is %s%s instead of %s%s", i+1, c.Name(), c.Args, want.Name(), want.Args)
		}
	}
	for i, want := range usual.Answers {
		if i >= len(got.Answers) {
			return fmt.Sprintf("turn %d has no answer", i+1)
		}
		if got.Answers[i] != want {
			return fmt.Sprintf("the answer of turn %d is %s instead of %s", i+1, strconv.Quote(got.Answers[i]), strconv.Quote(want))
		}
	}
	return ""
}

// units is the number of units of the longest text.
func (z *fuzzer) units(f *dialect.Fragments) int {
	most := 0
	for _, s := range z.texts {
		if f.Escape {
			s = dialect.Escape(s)
		}
		most = max(most, dialect.Units(s, f.Unit))
	}
	return most
}

// generate makes up a way to cut.
func (z *fuzzer) generate(r *rand.Rand) dialect.Fragments {
	f := dialect.Fragments{
		Unit:   pick(r, 1, dialect.UnitByte, dialect.UnitRune, dialect.UnitToken, dialect.UnitWhole),
		Escape: r.IntN(3) == 0, Interleave: r.IntN(3) == 0, Together: r.IntN(4) == 0,
		ID:     pick(r, 3, dialect.PlaceRepeated, dialect.PlaceNull, dialect.PlaceEmpty),
		Name:   pick(r, 3, dialect.PlaceNull, dialect.PlaceEmpty),
		Type:   pick(r, 3, dialect.PlaceRepeated, dialect.PlaceNull),
		Args:   pick(r, 3, dialect.ArgsMerged, dialect.ArgsWhole, dialect.ArgsEmpty),
		Finish: pick(r, 3, dialect.FinishLast),
	}
	if r.IntN(3) == 0 {
		f.Writes = 1 + r.IntN(16)
	}
	if z.wild {
		z.generateWild(r, &f)
	}
	if f.Unit == dialect.UnitWhole || f.Unit == "" {
		return f
	}
	// From a cut here and there to one after every unit.
	every := 1 << r.IntN(6)
	for n := 1; n < z.units(&f); n++ {
		if r.IntN(every) == 0 {
			f.Cuts = append(f.Cuts, n)
		}
	}
	if len(f.Cuts) == 0 {
		f.Cuts = []int{1}
	}
	return f
}

// generateWild adds one thing against the rules, since what two of them mean
// together is anybody's guess.
func (z *fuzzer) generateWild(r *rand.Rand, f *dialect.Fragments) {
	switch r.IntN(6) {
	case 0:
		f.Index = pick(r, 1, dialect.IndexMissing, dialect.IndexZero, dialect.IndexWandering, dialect.IndexMixed)
		f.Interleave, f.Together = false, false
	case 1:
		f.ID = pick(r, 1, dialect.PlaceLate, dialect.PlaceNever)
	case 2:
		f.Name = pick(r, 1, dialect.PlaceSplit, dialect.PlaceLate, dialect.PlaceRepeated)
	case 3:
		f.Args = pick(r, 1, dialect.ArgsNull, dialect.ArgsObject, dialect.ArgsCumulative, dialect.ArgsRepeated)
	case 4:
		f.Finish = dialect.FinishNever
	}
}

// pick returns one of the list, or with every above 1 nothing in most cases.
func pick[T ~string](r *rand.Rand, every int, list ...T) T {
	if r.IntN(every) > 0 {
		return ""
	}
	return list[r.IntN(len(list))]
}

// maxShrink bounds the trials that make a finding small.
const maxShrink = 400

// shrink takes away from f what is not needed to break the subject: the knobs
// first, then the cuts.
func (z *fuzzer) shrink(f dialect.Fragments) dialect.Fragments {
	limit := z.trials + maxShrink
	try := func(change func(*dialect.Fragments)) bool {
		g := f
		change(&g)
		if reflect.DeepEqual(f, g) || z.trials >= limit || g.Check() != nil || z.breaks(g) == "" {
			return false
		}
		f = g
		return true
	}
	for range 2 { // what goes first may have kept the rest
		for _, change := range simpler() {
			try(change)
		}
		if len(f.Cuts) > 0 {
			z.shrinkCuts(&f, try)
		}
	}
	if f.Writes > 0 { // fewer cuts
		for n := f.Writes * 2; n <= 1<<12 && try(func(g *dialect.Fragments) { g.Writes = n }); n *= 2 {
		}
	}
	return f
}

// simpler are the ways to take one thing away.
func simpler() []func(*dialect.Fragments) {
	return []func(*dialect.Fragments){
		func(g *dialect.Fragments) { g.Unit, g.Cuts = "", nil },
		func(g *dialect.Fragments) {
			if g.Unit != "" {
				g.Unit, g.Cuts = dialect.UnitWhole, nil
			}
		},
		func(g *dialect.Fragments) { g.Writes = 0 },
		func(g *dialect.Fragments) { g.Interleave = false },
		func(g *dialect.Fragments) { g.Together = false },
		func(g *dialect.Fragments) { g.Escape = false },
		func(g *dialect.Fragments) { g.Index = "" },
		func(g *dialect.Fragments) { g.ID = "" },
		func(g *dialect.Fragments) { g.Name = "" },
		func(g *dialect.Fragments) { g.Type = "" },
		func(g *dialect.Fragments) { g.Args = "" },
		func(g *dialect.Fragments) { g.Finish = "" },
	}
}

// shrinkCuts takes away cuts: halves first, then quarters, down to one.
func (z *fuzzer) shrinkCuts(f *dialect.Fragments, try func(func(*dialect.Fragments)) bool) {
	for size := (len(f.Cuts) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(f.Cuts) && len(f.Cuts) > 1; {
			end := min(at+size, len(f.Cuts))
			if end-at == len(f.Cuts) {
				break
			}
			if !try(func(g *dialect.Fragments) { g.Cuts = append(append([]int(nil), f.Cuts[:at]...), f.Cuts[end:]...) }) {
				at = end
			}
		}
	}
}
