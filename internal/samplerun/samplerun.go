// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package samplerun writes run folders that nobody has run: some models on some
// scenarios, with outcomes drawn from a seed. Tests and measurements of reports
// read them. Of the models, large and large-cold pass equally often, and small
// passes less often.
package samplerun

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// Options say what a run holds.
type Options struct {
	Scenarios int // default 40
	Attempts  int // default 5
	// Seed of all that is drawn.
	Seed uint64
	// Better is added to the pass rate of small, for a second run that is
	// compared with a first.
	Better float64
	// Hostile has the texts of [Hostile] wherever a model or a server writes.
	Hostile bool
	// KeepWire has requests, answers and MCP messages in the transcripts as they
	// were on the wire.
	KeepWire bool
	// NoDetails leaves the transcripts out.
	NoDetails bool
}

type model struct {
	label, name string
	skill       float64
	price       trials.Price
	latency     time.Duration
}

var (
	models = []model{
		{"large", "large-2026-01", 0.88, trials.Price{Input: 2.5, Output: 10, Date: "2026-01-02"}, 900 * time.Millisecond},
		{"large-cold", "large-2026-01", 0.88, trials.Price{Input: 2.5, Output: 10, Date: "2026-01-02"}, 950 * time.Millisecond},
		{"small", "small-2026-01", 0.6, trials.Price{Input: 0.15, Output: 0.6, Date: "2026-01-02"}, 280 * time.Millisecond},
	}
	places  = []string{"Berlin", "Lyon", "Oslo", "Porto", "Quito", "Turin", "Utrecht", "Zagreb"}
	kinds   = []kind{lookup, booking, twoTurns, chat, dated}
	started = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
)

// kind is what a scenario asks for.
type kind int

const (
	lookup kind = iota
	booking
	twoTurns
	chat // no tool is to be called
	dated
)

var kindTags = [][]string{{"lookup"}, {"write"}, {"multi-turn", "write"}, {"irrelevance"}, {"dates", "lookup"}}

// Write writes a run into a folder, which it makes.
func Write(dir string, opts *Options) error {
	o := Options{Scenarios: 40, Attempts: 5, Seed: 1}
	if opts != nil {
		o = *opts
		if o.Scenarios == 0 {
			o.Scenarios = 40
		}
		if o.Attempts == 0 {
			o.Attempts = 5
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, trials.DetailsDir), 0o755); err != nil {
		return err
	}
	m := trials.Manifest{
		Schema: trials.Schema, Name: "calendar nightly", Rehearse: "v0.1.0", Go: "go1.26.0", Mode: harness.ModeLive, Subject: "agent", Seed: int64(o.Seed),
		Started: started, Finished: started.Add(21 * time.Minute), Planned: len(models) * o.Scenarios * o.Attempts,
	}
	for i, x := range models {
		entry := trials.Model{Label: x.label, Name: x.name, BaseURL: "https://models.example/v1", Answered: []string{x.name}, Price: &x.price}
		if i == 1 {
			cold := 0.0
			entry.Settings.Temperature = &cold
		}
		m.Models = append(m.Models, entry)
	}
	w, err := trials.Append(filepath.Join(dir, trials.RecordsFile))
	if err != nil {
		return err
	}
	for i := range o.Scenarios {
		s := o.scenario(i)
		m.Scenarios = append(m.Scenarios, s.source)
		for n := range o.Attempts {
			for c := range models {
				t := o.trial(s, c, n+1)
				if !o.NoDetails {
					if t.record.Detail, err = trials.WriteDetail(dir, t.detail); err != nil {
						return err
					}
				}
				if err := w.Write(t.record); err != nil {
					return err
				}
			}
		}
	}
	if o.Hostile {
		m.Warnings = Hostile()[:3]
	}
	if err := w.Close(); err != nil {
		return err
	}
	return trials.WriteManifest(dir, m)
}

// scenario is one with how hard it is.
type scenario struct {
	source trials.Source
	kind   kind
	place  string
	i      int
	shift  float64 // of the pass rate
}

func (o *Options) scenario(i int) *scenario {
	k := kinds[i%len(kinds)]
	place := places[i%len(places)]
	name := []string{"find the meeting in %s", "book a room in %s", "move the meeting to %s", "small talk about %s", "free days in %s"}[k]
	s := &scenario{kind: k, place: place, i: i, shift: 0.24*float64((i*7)%11)/10 - 0.14}
	file := []string{"calendar/lookup.yaml", "calendar/booking.yaml", "calendar/turns.yaml", "calendar/chat.yaml", "calendar/dates.yaml"}[k]
	s.source = trials.Source{
		Suite: "calendar", Scenario: fmt.Sprintf(name, place), File: file, Description: "Asks for one thing and says where.",
		Tags: append([]string(nil), kindTags[k]...), Trials: len(models) * o.Attempts,
		Hashes: trials.Hashes{Scenario: fmt.Sprintf("%08x", 0x9f1c2ab0+i*7919), Scorers: "51ce", Tools: "7001"},
	}
	if i >= len(places)*len(kinds) {
		s.source.Case = fmt.Sprintf("case %d", i/(len(places)*len(kinds))+1)
	}
	switch {
	case i == 6:
		s.shift = -2 // what is expected is wrong: nobody passes
	case i%9 == 0:
		s.shift = 2 // everybody passes
	}
	if o.Hostile {
		s.source.Scenario = fmt.Sprintf("%d %s", i, o.text(i, "scenario"))
		s.source.Description = o.text(i+1, "description")
		s.source.Tags = append(s.source.Tags, o.text(i+2, "tag"))
	}
	return s
}

// text is a text of a run: a hostile one where they are wanted.
func (o *Options) text(i int, plain string) string {
	if !o.Hostile {
		return plain
	}
	list := Hostile()
	return plain + " " + list[i%len(list)]
}

// fate is how a trial goes.
type fate int

const (
	right fate = iota
	wrongArgument
	wrongTool
	noCall
	extraCall
	tooLong
	endpoint // an error, not the model's
)

func (o *Options) fate(s *scenario, c int, r *rand.Rand) fate {
	skill := models[c].skill + s.shift
	if c == 2 {
		skill += o.Better
	}
	roll, how, storm := r.Float64(), r.IntN(10), r.Float64()
	switch {
	case storm < 0.02:
		return endpoint
	case roll < skill:
		return right
	case s.kind == chat:
		return extraCall
	case how < 5:
		return wrongArgument
	case how < 7:
		return wrongTool
	case how < 8:
		return noCall
	case how < 9:
		return extraCall
	default:
		return tooLong
	}
}

func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is given are maps of texts
	}
	return data
}
