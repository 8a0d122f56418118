// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package fault is the catalogue of what a model endpoint can do wrong: every
// [Kind] of misbehaviour that was seen at a real one, where it strikes, and how
// often. It only describes and decides; package mockllm carries it out.
//
//	mockllm.Reply{Say: "Sunny.", Faults: []fault.Fault{
//		{Kind: fault.RateLimit, RetryAfter: time.Second},
//		{Kind: fault.Cut, At: fault.At{Chunk: 3}, Times: 2},
//	}}
//
// # Terms
//
// A kind may have forms: variants of the same misbehaviour. A preset is a fault
// under an unknown name, as one endpoint was seen to have it; [Lookup] knows
// kinds and presets alike.
//
// A fault strikes a request when its [At] and its When fit, counted by Every,
// Times and Probability, or drawn by its Chance; and it strikes inside the reply at a chunk, a byte or
// a token. A kind that exists only for streams ignores a plain request, and the
// other way round: that request does not count.
package fault

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/faults"
)

// Kind names a misbehaviour.
type Kind string

// Fault is one misbehaviour: what, where, and how often. Only Kind is
// required.
type Fault struct {
	Kind Kind
	// Form chooses among the kind's forms. Empty means the first.
	Form string
	// At says which requests it strikes and where in the reply. The zero At
	// is any request, and a place in the middle of the reply.
	At At
	// When reports whether it strikes a request that At fits. Nil means
	// always. An error is an error of the script.
	When func(*Request) (bool, error)
	// Times is how often it strikes. 0 means once, or without end when Every
	// or Probability is set; a negative value means without end.
	Times int
	// Every strikes only each so-manieth of the requests that it fits, the
	// first one not: with 3 the third, the sixth. 0 means each one.
	Every int
	// Probability is the chance with which it strikes a request that it
	// fits, drawn from the seed. 0 means 1.
	Probability float64
	// Chance is the probability with which it strikes a request that it fits,
	// drawn from the request itself: see Chance of the rules of package mockllm.
	// 0 means 1. A request that is repeated draws the same, and Times counts for
	// each such request by itself: with 2, one that is drawn meets the fault
	// twice and then its reply. 0 times is without end. It goes with neither
	// Every nor Probability.
	Chance float64

	// Status is the HTTP status of a fault that answers with one. 0 means
	// the kind's own.
	Status int
	// Body is the body of a fault that answers with one, or the text of one
	// that says something. Empty means the kind's own.
	Body string
	// RetryAfter is what the client is asked to wait. 0 asks for nothing.
	RetryAfter time.Duration
	// Delay is the wait of a slow fault. 0 means the kind's own.
	Delay time.Duration
	// Size is the size of a long reply in bytes, or the number of lines of a
	// fault that sends some. 0 means the kind's own.
	Size int
	// Pos is where the fault is written, for messages.
	Pos harness.Position
}

// At is a place. Fields that are zero do not matter.
type At struct {
	Request int    // the n-th request to the mock, from 1
	Model   string // the model that is asked for
	Turn    int    // of the script, from 1
	Reply   int    // of the turn, from 1

	// Chunk, Byte and Token are places inside the reply, from 1: it strikes
	// before what is said there is sent. A negative one counts from the end:
	// -1 is before the last. A reply that is not streamed is one chunk.
	Chunk int
	Byte  int
	Token int
}

// Request is what a placement looks at.
type Request struct {
	Number      int // of the request to the mock, from 1
	Turn, Reply int // its position, from 1; 0 when it has none
	Model       string
	Stream      bool
	Behind      bool   // the reply is streamed to an endpoint that hands it on as one document
	User        string // the text of the turn's user message
	NoCalls     bool   // the reply calls no tools: faults of calls pass it by
	// Full returns the whole request. Nil returns none.
	Full func() harness.Request
	// Draw returns the number from 0 to below 1 that the request has for a
	// label, and what tells the request from others. Nil is for a request that
	// has none: no fault with a Chance strikes it.
	Draw func(label string) (n float64, request string)
	// Apart counts Times and Every for each request by itself.
	Apart bool
}

// Endless reports whether the fault strikes again and again.
func (f *Fault) Endless() bool { return f.schedule().IsEndless() }

func (f *Fault) schedule() faults.Schedule {
	return faults.Schedule{Times: f.Times, Every: f.Every, Probability: f.Probability, Endless: f.Chance > 0}
}

// String names the fault for messages: its kind, and its form after a slash.
func (f *Fault) String() string { return faults.Name(string(f.Kind), f.Form) }

// Check reports what is wrong with the fault as it is written: an unknown
// kind or form, a value out of range, a setting that the kind has no use for.
func (f *Fault) Check() error {
	info, ok := Describe(f.Kind)
	if !ok {
		return faults.Unknown(string(f.Kind), Names())
	}
	check := faults.Check{Kind: string(f.Kind)}
	check.Form(f.Form, faults.Names(info.Forms))
	check.Uses(info.Uses, []faults.Setting{
		{"status", f.Status != 0},
		{"body", f.Body != ""},
		{"retry_after", f.RetryAfter != 0},
		{"delay", f.Delay != 0},
		{"size", f.Size != 0},
	})
	if f.At.places() > 0 && !slices.Contains(info.Uses, "at") {
		check.Report("fault %s strikes the whole reply: at does not use chunk, byte and token", f.Kind)
	}
	least, most := f.Kind.statuses()
	check.Between("status", f.Status, least, most)
	check.Schedule(f.Probability, f.Every < 0 || f.RetryAfter < 0 || f.Delay < 0 || f.Size < 0)
	if !(f.Chance >= 0 && f.Chance <= 1) { // not a number neither
		check.Report("chance %v of fault %s is not between 0 and 1", f.Chance, f.Kind)
	}
	if f.Chance > 0 && (f.Every > 0 || f.Probability > 0) {
		check.Report("fault %s has a chance beside every or probability, which go by the order of requests: give one of them", f.Kind)
	}
	if n := f.At.places(); n > 1 {
		check.Report("fault %s strikes at %d places of a reply: give one of chunk, byte and token", f.Kind, n)
	}
	return check.Err()
}

// statuses are the bounds of the status that a kind can have.
func (k Kind) statuses() (least, most int) {
	switch k {
	case ServerError:
		return 500, 599
	case BadRequest:
		return 400, 499
	case StringError, DetailError, ErrorCompletion, RawStatus:
		return 400, 599
	}
	return 200, 599
}

// places counts the places inside a reply that are given.
func (a At) places() int {
	n := 0
	for _, v := range []int{a.Chunk, a.Byte, a.Token} {
		if v != 0 {
			n++
		}
	}
	return n
}
