// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"
	"strings"
	"testing"
)

// TestWhereFaultsStrike: a kind says what it is about, in words.
func TestWhereFaultsStrike(t *testing.T) {
	for kind, want := range map[Kind]string{
		Hang: "any request, tools/call by default", DieAtStart: "the start of a connection", IgnoreEOF: "the end of the input", CursorLoop: "tools/list",
	} {
		info, ok := Describe(kind)
		if got := info.Where(); !ok || got != want {
			t.Errorf("%s strikes %s, want %s", kind, got, want)
		}
	}
	for _, want := range []struct {
		f    Fault
		form string
	}{{Fault{Kind: Exit}, "after"}, {Fault{Kind: Exit, Form: "before"}, "before"}, {Fault{Kind: CRLF}, ""}} {
		if got := want.f.FormOf(); got != want.form {
			t.Errorf("%v has the form %q, want %q", want.f.Kind, got, want.form)
		}
	}
	if f, err := Lookup(string(Hang)); err != nil || f.Kind != Hang {
		t.Errorf("looking up a kind: %v, %v", f.Kind, err)
	}
	for _, m := range []string{"initialize", "tools/list", "tools/call", "prompts/get", "GET", "DELETE", Start, End} {
		if !slices.Contains(Methods(), m) {
			t.Errorf("no fault can be matched with %s", m)
		}
	}
	for f, endless := range map[*Fault]bool{
		{Kind: Hang}: false, {Kind: Hang, Times: -1}: true, {Kind: CursorLoop}: true, {Kind: CursorLoop, Match: Match{Nth: 2}}: false, {Kind: CursorLoop, Times: 1}: false, {Kind: Hang, Every: 2}: true,
	} {
		if f.Endless() != endless {
			t.Errorf("%+v is without end: %t", f, f.Endless())
		}
	}
}

// TestEvents has which events a fault fits, by its method, its tool and the
// eras of clients.
func TestEvents(t *testing.T) {
	const none, struck = "", "struck"
	call := Event{Method: methodCall, Tool: "a", Transport: Pipe}
	list := Event{Method: methodList, Transport: Pipe}
	modern := func(e Event) Event { e.Modern = true; return e }
	for _, tt := range []struct {
		name string
		f    Fault
		e    Event
		want string // struck, or why not
	}{
		{"a tool", Fault{Kind: Hang, Match: Match{Tool: "a"}}, call, struck},
		{"another tool", Fault{Kind: Hang, Match: Match{Tool: "b"}}, call, `no matching request came: tools/call of "b"`},
		{"a tool, in a list", Fault{Kind: Hang, Match: Match{Tool: "a"}}, list, `no matching request came: tools/call of "a"`},
		{"a tool of the list", Fault{Kind: BadSchema, Match: Match{Tool: "a"}}, list, struck},
		{"a tool of the list, in a call", Fault{Kind: BadSchema, Match: Match{Tool: "a"}}, call, "no matching request came: tools/list"},
		{"a tool of a method that is no list's", Fault{Kind: Hang, Match: Match{Method: methodList, Tool: "a"}}, list, `no matching request came: tools/list of "a"`},
		{"the start", Fault{Kind: DieAtStart}, call, "no matching request came: the start of a connection"},
		{"the end", Fault{Kind: IgnoreEOF}, call, "no matching request came: the end of the input"},
		{"a client of sessions", Fault{Kind: ServerRequest}, call, struck},
		{"a client without sessions", Fault{Kind: ServerRequest}, modern(call), "it strikes only legacy clients, and this client was not one"},
		{"in process, a fault of HTTP", Fault{Kind: HTTPStatus}, call, "it does not strike over stdio, which the client used, but only over http, sse"},
		{"in a process, a fault of HTTP", Fault{Kind: HTTPStatus}, Event{Method: methodCall, Transport: Stdio}, "it does not strike over process, which the client used, but only over http, sse"},
		{"over a WebSocket, a fault of HTTP", Fault{Kind: HTTPStatus}, Event{Method: methodCall, Transport: WS}, "it does not strike over ws, which the client used, but only over http, sse"},
		{"nothing", Fault{Kind: Hang, Match: Match{Nth: 2}}, Event{Method: "ping", Transport: Pipe}, "no matching request came: tools/call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPlayer([]Fault{tt.f})
			f, err := p.Next(&tt.e)
			if err != nil {
				t.Fatal(err)
			}
			got := none
			if f != nil {
				got = struck
			} else if idle := p.Idle(); len(idle) == 1 {
				got = idle[0].Why
			}
			if got != tt.want && !(strings.HasPrefix(tt.want, "it does not") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if n := p.Struck(); len(n) != 1 || (n[0] == 1) != (tt.want == struck) {
				t.Errorf("struck %v", n)
			}
		})
	}
	// A start or an end belongs to no era.
	for _, kind := range []Kind{ServerRequest, SSERetry} {
		info, _ := Describe(kind)
		p := NewPlayer([]Fault{{Kind: kind, Match: Match{Method: Start}}})
		if _, err := p.Next(&Event{Method: Start, Transport: info.Transports[0], Modern: true}); err != nil {
			t.Fatal(err)
		}
		if len(info.On) == 0 && p.Struck()[0] != 1 {
			t.Errorf("%s at the start of a connection: %+v", kind, p.Idle())
		}
	}
}

// TestNothingBelowZero: no setting is below zero, and what strikes calls takes
// a tool.
func TestNothingBelowZero(t *testing.T) {
	for name, f := range map[string]Fault{
		"every": {Kind: Hang, Every: -1}, "delay": {Kind: Delay, Delay: -1}, "size": {Kind: Huge, Size: -1}, "count": {Kind: ListStorm, Count: -1}, "nth": {Kind: Hang, Match: Match{Nth: -1}},
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "has a negative setting") {
			t.Errorf("%s below zero: %v", name, err)
		}
	}
	for name, f := range map[string]Fault{
		"a kind of any request": {Kind: Hang, Match: Match{Tool: "a"}}, "a kind of calls": {Kind: IsError, Match: Match{Tool: "a"}}, "calls in words": {Kind: Hang, Match: Match{Method: methodCall, Tool: "a"}},
	} {
		if err := f.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var on []Kind
	for _, info := range Kinds() {
		if slices.Contains(info.On, methodCall) {
			on = append(on, info.Kind)
		}
	}
	for _, kind := range on {
		if err := (&Fault{Kind: kind, Match: Match{Tool: "a"}}).Check(); err != nil {
			t.Errorf("%s strikes calls: %v", kind, err)
		}
	}
}
