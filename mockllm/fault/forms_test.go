// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"testing"
)

// TestForms: a fault has the form that it names, else the first of its kind
// that strikes such a request.
func TestForms(t *testing.T) {
	for _, tt := range []struct {
		f             Fault
		plain, stream string
	}{
		{Fault{Kind: EmptyReply, Form: "length"}, "length", "length"},
		{Fault{Kind: Reset}, "before", "before"},
		{Fault{Kind: CRLF}, "", ""},
	} {
		if got := tt.f.FormFor(false); got != tt.plain {
			t.Errorf("%v of a plain reply has the form %q, want %q", tt.f.Kind, got, tt.plain)
		}
		if got := tt.f.FormFor(true); got != tt.stream {
			t.Errorf("%v of a stream has the form %q, want %q", tt.f.Kind, got, tt.stream)
		}
	}
	for _, info := range Kinds() {
		for _, stream := range []bool{false, true} {
			form := (&Fault{Kind: info.Kind}).FormFor(stream)
			if len(info.Forms) == 0 {
				if form != "" {
					t.Errorf("%s has no forms, and %q", info.Kind, form)
				}
				continue
			}
			first := ""
			for _, f := range info.Forms {
				if !(stream && f.PlainOnly || !stream && f.StreamOnly) {
					first = f.Name
					break
				}
			}
			if form != first {
				t.Errorf("%s of a stream: %t has the form %q, want %q", info.Kind, stream, form, first)
			}
			strikes := (stream && info.Stream || !stream && info.Plain)
			for _, f := range info.Forms {
				want := strikes && !(stream && f.PlainOnly || !stream && f.StreamOnly)
				if got := (&Fault{Kind: info.Kind, Form: f.Name}).Applies(stream); got != want {
					t.Errorf("%s/%s of a stream: %t applies: %t", info.Kind, f.Name, stream, got)
				}
			}
			if got := (&Fault{Kind: info.Kind}).Applies(stream); got != strikes {
				t.Errorf("%s of a stream: %t applies: %t", info.Kind, stream, got)
			}
		}
	}
	if (&Fault{Kind: "none"}).Applies(true) {
		t.Error("a kind that is none applies")
	}
	if !(&Fault{Kind: CRLF, Times: -1}).Endless() || (&Fault{Kind: CRLF}).Endless() || !(&Fault{Kind: CRLF, Every: 2}).Endless() || !(&Fault{Kind: CRLF, Probability: 1}).Endless() {
		t.Error("what is without end, and what is not")
	}
	if f, err := Lookup(string(CRLF)); err != nil || f.Kind != CRLF {
		t.Errorf("looking up a kind: %v, %v", f.Kind, err)
	}
	if f, err := Lookup("argo_html_502"); err != nil || f.Kind != HTMLPage {
		t.Errorf("looking up a preset: %v, %v", f.Kind, err)
	}
	if len(Presets()) < 40 || len(NotOffered()) < 5 {
		t.Errorf("%d presets, %d that are not offered", len(Presets()), len(NotOffered()))
	}
}

// TestFaultsOfCalls: a fault of tool calls waits for a reply that has some; any
// other strikes either.
func TestFaultsOfCalls(t *testing.T) {
	for _, tt := range []struct {
		kind    Kind
		noCalls bool
		want    bool
	}{{BadArguments, true, false}, {BadArguments, false, true}, {CRLF, true, true}, {CRLF, false, true}} {
		f, err := NewPlayer([]Fault{{Kind: tt.kind}}, 1, "test").Next(&Request{Number: 1, Stream: true, NoCalls: tt.noCalls})
		if err != nil || (f != nil) != tt.want {
			t.Errorf("%s, a reply without calls: %t: struck %t, %v", tt.kind, tt.noCalls, f != nil, err)
		}
	}
	for want, faults := range map[string][]Fault{
		"the faults before it struck every request":            {{Kind: CRLF, Times: -1}, {Kind: CR}},
		"it strikes tool calls, and no matching reply has any": {{Kind: BadArguments}},
	} {
		p := NewPlayer(faults, 1, "test")
		for n := range 3 {
			if _, err := p.Next(&Request{Number: n + 1, Stream: true, NoCalls: true}); err != nil {
				t.Fatal(err)
			}
		}
		if idle := IdleOf([]*Player{p, NewPlayer(faults, 1, "test")}); len(idle) != 1 || idle[0].Why != want {
			t.Errorf("idle: %+v, want %q", idle, want)
		}
	}
	if idle := IdleOf(nil); idle != nil {
		t.Errorf("of no player: %v", idle)
	}
}

// TestBoundsOfStatuses: each kind has the statuses that it can mean, and no
// setting is below zero.
func TestBoundsOfStatuses(t *testing.T) {
	for kind, bounds := range map[Kind][2]int{ServerError: {500, 599}, BadRequest: {400, 499}, StringError: {400, 599}, RawStatus: {400, 599}, HTTPStatus: {200, 599}} {
		for status, ok := range map[int]bool{bounds[0] - 1: false, bounds[0]: true, bounds[1]: true, bounds[1] + 1: false} {
			if err := (&Fault{Kind: kind, Status: status}).Check(); (err == nil) != ok {
				t.Errorf("%s with the status %d: %v", kind, status, err)
			}
		}
	}
	for name, f := range map[string]Fault{"every": {Kind: RateLimit, Every: -1}, "retry_after": {Kind: RateLimit, RetryAfter: -1}, "delay": {Kind: Stall, Delay: -1}, "size": {Kind: Comments, Size: -1}} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "has a negative setting") {
			t.Errorf("%s below zero: %v", name, err)
		}
	}
}
