// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"errors"
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
	settings := []string{"code", "message", "data", "status", "headers", "body", "delay", "size", "count", "bytes", "exit_code", "stderr"}
	seen := map[string]bool{}
	for _, info := range Kinds() {
		name := string(info.Kind)
		switch {
		case seen[name]:
			t.Errorf("%s is duplicated", name)
		case info.What == "" || info.For == "" || len(info.Seen) == 0:
			t.Errorf("%s does not say what it is, what it is for, or where it was seen", name)
		case !groups[info.Group]:
			t.Errorf("%s is in the group %q, which has no heading", name, info.Group)
		case len(info.Transports) == 0:
			t.Errorf("%s strikes nothing", name)
		}
		seen[name] = true
		for _, s := range info.Seen {
			if !strings.HasPrefix(s, "https://github.com/") {
				t.Errorf("%s was seen in %q, which is no address", name, s)
			}
		}
		for _, u := range info.Uses {
			if !slices.Contains(settings, u) {
				t.Errorf("%s has a use for %q, which is no setting", name, u)
			}
		}
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
			t.Errorf("preset %s is duplicated, or does not say what it is", p.Name)
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
}

func TestCheck(t *testing.T) {
	args := func(json.RawMessage) (bool, error) { return true, nil }
	for _, test := range []struct {
		name  string
		fault Fault
		want  string
	}{
		{"right", Fault{Kind: RPCError, Code: -32050, Data: json.RawMessage(`{"a":1}`), Times: 3}, ""},
		{"kind", Fault{Kind: "junk_lines"}, "unknown fault \"junk_lines\" (did you mean \"junk_line\"?); `rehearse faults` lists them"},
		{"form", Fault{Kind: Exit, Form: "befor"}, "fault exit has no form \"befor\" (did you mean \"before\"?); it has after, before"},
		{"no forms", Fault{Kind: CRLF, Form: "x"}, "fault crlf has no forms, but \"x\" is given"},
		{"setting", Fault{Kind: CRLF, Status: 500}, "fault crlf does not use status"},
		{"status", Fault{Kind: HTTPStatus, Status: 99}, "status 99 of fault http_status is not between 200 and 599"},
		{"exit code", Fault{Kind: Exit, ExitCode: 256}, "exit code 256 of fault exit is not between 0 and 255"},
		{"chance", Fault{Kind: CRLF, Probability: 2}, "probability 2 of fault crlf is not between 0 and 1"},
		{"negative", Fault{Kind: Delay, Delay: -1}, "fault delay has a negative setting"},
		{"data", Fault{Kind: RPCError, Data: json.RawMessage(`{`)}, "the data of fault rpc_error is not JSON"},
		{"tool of a drift", Fault{Kind: ToolDrift, Match: Match{Method: "tools/call", Tool: "refund"}}, ""},
		{"method of a kind", Fault{Kind: CursorLoop, Match: Match{Method: "tools/lists"}}, "fault cursor_loop strikes tools/list, but never \"tools/lists\" (did you mean \"tools/list\"?)"},
		{"tool of a list", Fault{Kind: BadSchema, Match: Match{Tool: "refund"}}, ""},
		{"tool at the start", Fault{Kind: DieAtStart, Match: Match{Tool: "refund"}}, "fault die_at_start does not strike calls here: match does not use tool"},
		{"tool of another method", Fault{Kind: Hang, Match: Match{Method: "ping", Tool: "refund"}}, "fault hang does not strike calls here: match does not use tool"},
		{"args of a list", Fault{Kind: BadSchema, Match: Match{Args: args}}, "fault bad_schema does not strike calls here: match does not use args"},
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

// TestPlayer plays faults over ten events and says which were struck.
func TestPlayer(t *testing.T) {
	odd := func(args json.RawMessage) (bool, error) { return slices.Contains([]byte(args), '1'), nil }
	for _, test := range []struct {
		name   string
		faults []Fault
		want   string // a letter for each event: the fault's, or a dot
	}{
		{"once", []Fault{{Kind: Hang}}, "..a......."},
		{"without end", []Fault{{Kind: Hang, Times: -1}}, "..aaaaaaa."},
		{"twice", []Fault{{Kind: Hang, Times: 2}}, "..aa......"},
		{"every third", []Fault{{Kind: Hang, Every: 3}}, "....a..a.."},
		{"nth", []Fault{{Kind: Hang, Match: Match{Nth: 2}}}, "...a......"},
		{"nth of a tool", []Fault{{Kind: Hang, Match: Match{Nth: 2, Tool: "b"}}}, ".....a...."},
		{"args", []Fault{{Kind: Hang, Match: Match{Args: odd}, Times: -1}}, "...a.a.a.."},
		{"method", []Fault{{Kind: Hang, Match: Match{Method: "tools/list"}}}, ".a........"},
		{"lasting", []Fault{{Kind: CursorLoop}}, ".a........"},
		{"start", []Fault{{Kind: DieAtStart}}, "a........."},
		{"end", []Fault{{Kind: IgnoreEOF}}, ".........a"},
		{"another transport", []Fault{{Kind: HTTPStatus, Times: -1}}, ".........."},
		{"another era", []Fault{{Kind: ServerRequest, Times: -1}}, ".........."},
		{"one after the other", []Fault{{Kind: Hang, Times: 2}, {Kind: WrongID}}, "..aab....."},
		{"chance", []Fault{{Kind: Hang, Probability: 0.5, Seed: 2}}, "....aaaa.."},
		{"another seed", []Fault{{Kind: Hang, Probability: 0.5, Seed: 4}}, "..a.a.a..."},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := NewPlayer(test.faults)
			var got strings.Builder
			for i := range 10 {
				e := Event{Method: methodCall, Tool: []string{"a", "b"}[i%2], Args: json.RawMessage([]string{`{"n":0}`, `{"n":1}`}[i%2]), Transport: Stdio, Modern: true}
				switch i {
				case 0:
					e = Event{Method: Start, Transport: Stdio}
				case 1:
					e = Event{Method: methodList, Transport: Stdio}
				case 9:
					e = Event{Method: End, Transport: Stdio}
				}
				f, err := p.Next(&e)
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
			for i, n := range p.Struck() {
				if want := strings.Count(got.String(), string(rune('a'+i))); n != want {
					t.Errorf("Struck says %d of fault %d, want %d", n, i, want)
				}
			}
		})
	}
}

func TestUnstruck(t *testing.T) {
	p := NewPlayer([]Fault{{Kind: Hang}, {Kind: WrongID}, {Kind: IgnoreEOF}})
	if _, err := p.Next(&Event{Method: methodCall, Transport: Pipe}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range p.Unstruck() {
		got = append(got, f.String())
	}
	if want := []string{"wrong_id", "ignore_eof"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPlayerError(t *testing.T) {
	bad := errors.New("no such key")
	p := NewPlayer([]Fault{{Kind: Hang, Match: Match{Args: func(json.RawMessage) (bool, error) { return false, bad }}}})
	if _, err := p.Next(&Event{Method: methodCall, Transport: Pipe}); !errors.Is(err, bad) || err.Error() != "matching fault hang: no such key" {
		t.Errorf("got %v", err)
	}
}
