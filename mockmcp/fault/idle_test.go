// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"testing"
)

// TestIdle: a fault that struck nothing says why.
func TestIdle(t *testing.T) {
	call := func(tool string) *Event {
		return &Event{Method: methodCall, Tool: tool, Transport: Pipe, Args: json.RawMessage(`{}`)}
	}
	for _, tc := range []struct {
		name   string
		faults []Fault
		events []*Event
		want   string
	}{
		{"nothing came", []Fault{{Kind: Hang}}, nil, "no matching request came: tools/call"},
		{"another tool", []Fault{{Kind: Hang, Match: Match{Tool: "pay"}}}, []*Event{call("look")}, `no matching request came: tools/call of "pay"`},
		{"another method", []Fault{{Kind: Hang, Match: Match{Method: "ping"}}}, []*Event{call("look")}, "no matching request came: ping"},
		{"another transport", []Fault{{Kind: Session404}}, []*Event{call("look")}, "it does not strike over stdio, which the client used, but only over http, sse"},
		{"another number", []Fault{{Kind: Hang, Match: Match{Nth: 3}}}, []*Event{call("a"), call("a")}, "it strikes request 3 of those that it matches, and 2 matched"},
		{"each third", []Fault{{Kind: Hang, Every: 3}}, []*Event{call("a")}, "it strikes every request number 3 of those that it matches, and 1 matched"},
		{"chance", []Fault{{Kind: Hang, Probability: 1e-9}}, []*Event{call("a"), call("a")}, "its probability spared all 2 matching requests"},
		{"other arguments", []Fault{{Kind: Hang, Match: Match{Args: func(json.RawMessage) (bool, error) { return false, nil }}}}, []*Event{call("a")}, "its arguments matched no call"},
		{"another fault", []Fault{{Kind: IsError}, {Kind: Hang}}, []*Event{call("a")}, "other faults struck every request that it matches"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := NewPlayer(tc.faults)
			for _, e := range tc.events {
				if _, err := p.Next(e); err != nil {
					t.Fatal(err)
				}
			}
			idle := p.Idle()
			if len(idle) != 1 || idle[0].Why != tc.want {
				t.Errorf("%+v, want %s", idle, tc.want)
			}
		})
	}
}
