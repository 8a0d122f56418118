// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCatalogue checks that every entry says what it must.
func TestCatalogue(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range Groups() {
		groups[g[0]] = true
	}
	seen := map[string]bool{}
	for _, info := range Kinds() {
		name := string(info.Kind)
		switch {
		case seen[name]:
			t.Errorf("%s is there twice", name)
		case info.What == "" || info.For == "" || len(info.Seen) == 0:
			t.Errorf("%s does not say what it is, what it is for, or where it was seen", name)
		case !groups[info.Group]:
			t.Errorf("%s is in the group %q, which has no heading", name, info.Group)
		case !info.Stream && !info.Plain:
			t.Errorf("%s strikes nothing", name)
		}
		seen[name] = true
		forms := map[string]bool{}
		for _, f := range info.Forms {
			if forms[f.Name] || f.What == "" {
				t.Errorf("%s has the form %q twice, or does not say what it is", name, f.Name)
			}
			forms[f.Name] = true
			if err := (&Fault{Kind: info.Kind, Form: f.Name}).Check(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, p := range Presets() {
		if seen[p.Name] || p.Ref == "" || p.What == "" {
			t.Errorf("preset %s is there twice, or does not say what it is", p.Name)
		}
		seen[p.Name] = true
		if err := p.Fault.Check(); err != nil {
			t.Errorf("preset %s: %v", p.Name, err)
		}
		got, err := Lookup(p.Name)
		if err != nil || got.String() != p.Fault.String() {
			t.Errorf("looking up %s: %v, %v", p.Name, got, err)
		}
	}
	for _, a := range NotOffered() {
		if a.Ref == "" || a.What == "" || a.Why == "" {
			t.Errorf("%v lacks a reason", a)
		}
	}
}

func TestCheck(t *testing.T) {
	const byOrder = "fault crlf has a chance beside every or probability, which go by the order of requests: give one of them"
	for _, test := range []struct {
		name  string
		fault Fault
		want  string
	}{
		{"right", Fault{Kind: ServerError, Status: 529, Times: 3}, ""},
		{"kind", Fault{Kind: "rate_limits"}, "unknown fault \"rate_limits\" (did you mean \"rate_limit\"?); `rehearse faults` lists them"},
		{"form", Fault{Kind: Reset, Form: "befor"}, "fault reset has no form \"befor\" (did you mean \"before\"?); it has before, during, after"},
		{"no forms", Fault{Kind: CRLF, Form: "x"}, "fault crlf has no forms, but \"x\" is given"},
		{"setting", Fault{Kind: CRLF, Status: 500}, "fault crlf does not use status"},
		{"place", Fault{Kind: CRLF, At: At{Byte: 2}}, "fault crlf strikes the whole reply: at does not use chunk, byte and token"},
		{"status", Fault{Kind: HTTPStatus, Status: 99}, "status 99 of fault status is not between 200 and 599"},
		{"chance", Fault{Kind: CRLF, Probability: 2}, "probability 2 of fault crlf is not between 0 and 1"},
		{"chance of the request", Fault{Kind: CRLF, Chance: 1}, ""},
		{"chance of the request, above one", Fault{Kind: CRLF, Chance: 1.1}, "chance 1.1 of fault crlf is not between 0 and 1"},
		{"chance of the request, below zero", Fault{Kind: CRLF, Chance: -0.1}, "chance -0.1 of fault crlf is not between 0 and 1"},
		{"chance of the request, no number", Fault{Kind: CRLF, Chance: math.NaN()}, "chance NaN of fault crlf is not between 0 and 1"},
		{"chance of the request, and every", Fault{Kind: CRLF, Chance: 0.5, Every: 2}, byOrder},
		{"chance of the request, and probability", Fault{Kind: CRLF, Chance: 0.5, Probability: 0.5}, byOrder},
		{"every and probability", Fault{Kind: CRLF, Every: 2, Probability: 0.5}, ""},
		{"negative", Fault{Kind: Stall, Delay: -1}, "fault stall has a negative setting"},
		{"two places", Fault{Kind: Cut, At: At{Byte: 2, Chunk: 1}}, "fault cut strikes at 2 places of a reply: give one of chunk, byte and token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := test.fault.Check(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlayer plays faults over ten requests and says which were struck.
func TestPlayer(t *testing.T) {
	for _, test := range []struct {
		name   string
		faults []Fault
		want   string // a letter for each request: the fault's, or a dot
	}{
		{"once", []Fault{{Kind: CRLF}}, "a........."},
		{"three times", []Fault{{Kind: CRLF, Times: 3}}, "aaa......."},
		{"without end", []Fault{{Kind: CRLF, Times: -1}}, "aaaaaaaaaa"},
		{"every third", []Fault{{Kind: CRLF, Every: 3}}, "..a..a..a."},
		{"every third, twice", []Fault{{Kind: CRLF, Every: 3, Times: 2}}, "..a..a...."},
		{"one after the other", []Fault{{Kind: CRLF, Times: 2}, {Kind: CR}}, "aab......."},
		{"request", []Fault{{Kind: CRLF, At: At{Request: 4}}}, "...a......"},
		{"turn", []Fault{{Kind: CRLF, At: At{Turn: 2}, Times: -1}}, ".....aaaaa"},
		{"turn and reply", []Fault{{Kind: CRLF, At: At{Turn: 2, Reply: 3}, Times: -1}}, ".......a.."},
		{"model", []Fault{{Kind: CRLF, At: At{Model: "m2"}, Times: -1}}, ".a.a.a.a.a"},
		{"only plain", []Fault{{Kind: SSEForPlain, Times: -1}}, ".........."},
		{"form for plain", []Fault{{Kind: EmptyReply, Form: "null", Times: -1}}, ".........."},
		{"when", []Fault{{Kind: CRLF, When: func(r *Request) (bool, error) { return r.Number > 8, nil }, Times: -1}}, "........aa"},
		{"chance", []Fault{{Kind: CRLF, Probability: 0.4}}, ".......a.a"},
		{"always", []Fault{{Kind: CRLF, Probability: 1}}, "aaaaaaaaaa"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := NewPlayer(test.faults, 1, "test")
			var got strings.Builder
			for i := range 10 {
				f, err := p.Next(&Request{Number: i + 1, Turn: 1 + i/5, Reply: 1 + i%5, Model: []string{"m1", "m2"}[i%2], Stream: true})
				if err != nil {
					t.Fatal(err)
				}
				letter := byte('.')
				for j := range test.faults {
					if f == &p.faults[j] {
						letter = byte('a' + j)
					}
				}
				got.WriteByte(letter)
			}
			if got.String() != test.want {
				t.Errorf("struck %s, want %s", got.String(), test.want)
			}
		})
	}
}

// TestDrawnFromTheRequest: a fault with a chance strikes the requests whose number is
// below it, and each of them as often as it says, whatever came in between. So does
// one without a chance where requests are counted apart.
func TestDrawnFromTheRequest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault Fault
		apart bool
		drawn []float64 // of each request, which is told from others by it
		want  string
	}{
		{"a number below the chance", Fault{Kind: CRLF, Chance: 0.5}, false, []float64{0, 0.49, 0.5, 0.51, 0}, "xx..x"},
		{"certain", Fault{Kind: CRLF, Chance: 1}, false, []float64{0, 0.99}, "xx"},
		{"once each", Fault{Kind: CRLF, Chance: 0.5, Times: 1}, false, []float64{0.1, 0.1, 0.2, 0.1, 0.2, 0.9}, "x.x..."},
		{"twice each", Fault{Kind: CRLF, Chance: 0.5, Times: 2}, false, []float64{0.1, 0.2, 0.1, 0.1, 0.2, 0.2}, "xxx.x."},
		{"once, counted together", Fault{Kind: CRLF}, false, []float64{0.9, 0.1}, "x."},
		{"once, counted apart", Fault{Kind: CRLF}, true, []float64{0.9, 0.9, 0.1}, "x.x"},
		{"every second, counted apart", Fault{Kind: CRLF, Every: 2}, true, []float64{0.1, 0.2, 0.1, 0.2}, "..xx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer([]Fault{tt.fault}, 1, "test")
			got := ""
			for i, n := range tt.drawn {
				f, err := p.Next(&Request{Number: i + 1, Stream: true, Apart: tt.apart, Draw: func(string) (float64, string) { return n, fmt.Sprint(n) }})
				if err != nil {
					t.Fatal(err)
				}
				got += map[bool]string{true: "x", false: "."}[f != nil]
			}
			if got != tt.want {
				t.Errorf("struck %s, want %s", got, tt.want)
			}
		})
	}
	for chance, want := range map[float64]bool{0: true, 1: false} { // a request that has no number
		f, err := NewPlayer([]Fault{{Kind: CRLF, Chance: chance}}, 1, "test").Next(&Request{Number: 1, Stream: true, Apart: true})
		if err != nil || (f != nil) != want {
			t.Errorf("a chance of %v, and no number: struck %t, %v", chance, f != nil, err)
		}
	}
}

// TestManyRequestsCountedApart: so many requests are remembered, and then all are
// forgotten.
func TestManyRequestsCountedApart(t *testing.T) {
	p := NewPlayer([]Fault{{Kind: CRLF}}, 1, "test")
	struck := func(request int) bool {
		f, err := p.Next(&Request{Stream: true, Apart: true, Draw: func(string) (float64, string) { return 0, fmt.Sprint(request) }})
		if err != nil {
			t.Fatal(err)
		}
		return f != nil
	}
	for n := range maxApart {
		if !struck(n) {
			t.Fatalf("request %d is not struck", n)
		}
	}
	if struck(0) {
		t.Error("a request that is remembered is struck again")
	}
	if !struck(maxApart) || !struck(0) {
		t.Error("what came before one more is not forgotten")
	}
}

// TestBehind: an error inside a stream strikes a reply that is streamed to an
// endpoint which hands it on as one document; faults of a stream alone do not.
func TestBehind(t *testing.T) {
	for _, tt := range []struct {
		kind   Kind
		form   string
		behind bool
		want   bool
	}{{InStreamError, "held", true, true}, {InStreamError, "held", false, false}, {MissingDone, "", true, false}, {MissingDone, "", false, false}} {
		f, err := NewPlayer([]Fault{{Kind: tt.kind, Form: tt.form}}, 1, "test").Next(&Request{Number: 1, Behind: tt.behind})
		if err != nil || (f != nil) != tt.want {
			t.Errorf("%s %s, behind %t: struck %t, %v", tt.kind, tt.form, tt.behind, f != nil, err)
		}
	}
}

func TestIdleOf(t *testing.T) {
	never := func(*Request) (bool, error) { return false, nil }
	drawn := func(string) (float64, string) { return 0.9, "a" }
	for _, tt := range []struct {
		name     string
		fault    Fault
		requests []Request
		want     string // empty where it struck
	}{
		{"it struck", Fault{Kind: CRLF}, []Request{{Stream: true}}, ""},
		{"no request", Fault{Kind: CRLF}, nil, "no request came"},
		{"no stream", Fault{Kind: MissingDone}, []Request{{}}, "it strikes only streams, and no request asked for one"},
		{"streams alone", Fault{Kind: SSEForPlain}, []Request{{Stream: true}}, "it strikes only requests without a stream, and all asked for streams"},
		{"another request", Fault{Kind: CRLF, At: At{Request: 3}}, []Request{{Stream: true}}, "no request was at its place (request 3)"},
		{"another place", Fault{Kind: CRLF, At: At{Model: "m", Turn: 2, Reply: 1}}, []Request{{Stream: true}}, `no request was at its place (model "m", turn 2, reply 1)`},
		{"its condition", Fault{Kind: CRLF, When: never}, []Request{{Stream: true}}, "its condition held for no request"},
		{"too few", Fault{Kind: CRLF, Every: 3}, []Request{{Stream: true}, {Stream: true}}, "it strikes every request number 3 of those that it matches, and 2 matched"},
		{"chance", Fault{Kind: CRLF, Probability: 1e-9}, []Request{{Stream: true}}, ""},
		{"chance of the request", Fault{Kind: CRLF, Chance: 0.5}, []Request{{Stream: true, Draw: drawn}}, ""},
		{"it struck, counted apart", Fault{Kind: CRLF}, []Request{{Stream: true, Draw: drawn, Apart: true}}, ""},
		{"chance of the request, and another place", Fault{Kind: CRLF, Chance: 0.5, At: At{Turn: 2}}, []Request{{Stream: true, Draw: drawn}}, "no request was at its place (turn 2)"},
		{"chance, and another place", Fault{Kind: CRLF, Probability: 1, At: At{Turn: 2}}, []Request{{Stream: true}}, "no request was at its place (turn 2)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer([]Fault{tt.fault}, 1, "test")
			for _, r := range tt.requests {
				if _, err := p.Next(&r); err != nil {
					t.Fatal(err)
				}
			}
			var why []string
			for _, idle := range IdleOf([]*Player{p}) {
				why = append(why, idle.Why)
			}
			if got := strings.Join(why, "; "); got != tt.want {
				t.Errorf("idle: %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlayerError(t *testing.T) {
	bad := errors.New("no such key")
	p := NewPlayer([]Fault{{Kind: CRLF, When: func(*Request) (bool, error) { return false, bad }}}, 0, "")
	if _, err := p.Next(&Request{Stream: true}); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}

func TestIndex(t *testing.T) {
	var got []int
	for _, v := range []int{0, 1, 2, 10, 99, -1, -10, -99} {
		got = append(got, Index(v, 10))
	}
	if want := []int{5, 0, 1, 9, 10, 9, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
