// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// placed is a matcher whose mismatches stand at a line.
func placed(t testing.TB, src, root string, line int) *match.Matcher {
	t.Helper()
	v, err := value.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	m, err := match.Compile(v, &match.Options{Scope: expr.Expectation, Root: root, Pos: func(p value.Path) harness.Position {
		if len(p) == 0 {
			return harness.Position{} // its place is not known
		}
		return harness.Position{File: "a.yaml", Line: line}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWhichCall: each expected call is shown beside the call that was meant
// for it, however often a tool is called.
func TestWhichCall(t *testing.T) {
	a := func(args string) harness.Call { return call(1, "a", args, "1") }
	extra := score.Calls{AllowExtra: true}
	schema := score.Calls{Arguments: score.ArgumentsSchema, AllowExtra: true}
	tests := []struct {
		name     string
		settings score.Calls
		list     []string
		calls    []harness.Call
		state    trials.State
		rows     []string
		expected []string // of the rows
	}{
		{"a call takes one place", extra, []string{`s.a`}, []harness.Call{a(`{}`), a(`{}`)}, trials.Passed, []string{"matched 0", "extra 1"}, []string{"s.a", ""}},
		{"a place takes one call", score.Calls{}, []string{`s.a`, `s.a`}, []harness.Call{a(`{}`)}, trials.Failed, []string{"matched 0", "missing -1"}, []string{"s.a", "s.a"}},
		{
			"of two that are wrong the one that is less wrong", extra,
			[]string{`s.a {"x":1,"y":1}`},
			[]harness.Call{a(`{"x":2,"y":2}`), a(`{"x":1,"y":2}`)},
			trials.Failed,
			[]string{"extra 0", "mismatched 1"},
			[]string{"", `s.a {"x":1,"y":1}`},
		},
		{
			"calls that are wrong alike, in order",
			score.Calls{},
			[]string{`s.a {"x":1}`, `s.a {"x":2}`, `s.a {"x":3}`},
			[]harness.Call{a(`{"x":7}`), a(`{"x":8}`), a(`{"x":9}`)},
			trials.Failed,
			[]string{"mismatched 0", "mismatched 1", "mismatched 2"},
			[]string{`s.a {"x":1}`, `s.a {"x":2}`, `s.a {"x":3}`},
		},
		{
			"a call that is wrong is held against the nearest place",
			score.Calls{},
			[]string{`s.a {"x":1}`, `s.b`, `s.b`, `s.a {"x":2}`},
			[]harness.Call{call(1, "c", `{}`, "1"), call(1, "b", `{}`, "1"), call(1, "b", `{}`, "1"), a(`{"x":9}`)},
			trials.Failed,
			[]string{"missing -1", "extra 0", "matched 1", "matched 2", "mismatched 3"},
			[]string{`s.a {"x":1}`, "", "s.b", "s.b", `s.a {"x":2}`},
		},
		{"another tool needs no schema", schema, []string{`s.a`}, []harness.Call{call(1, "b", `{}`, `1`), a(`{"x":1}`)}, trials.Passed, []string{"extra 0", "matched 1"}, []string{"", "s.a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.settings
			for i, src := range tt.list {
				s.List = append(s.List, pattern(t, i+1, src))
			}
			v := s.Score(&score.Evidence{Trajectory: tt.calls, Schemas: map[string]json.RawMessage{"s.a": json.RawMessage(`{"type":"object"}`)}})
			if v.State != tt.state {
				t.Errorf("%s %q, want %s", v.State, v.Message, tt.state)
			}
			if d := cmp.Diff(tt.rows, statuses(v)); d != "" {
				t.Errorf("alignment (-want +got):\n%s", d)
			}
			var expected []string
			for _, r := range v.Alignment.Rows {
				expected = append(expected, r.Expected)
			}
			if d := cmp.Diff(tt.expected, expected); d != "" {
				t.Errorf("expected (-want +got):\n%s", d)
			}
		})
	}
}

// TestWhereCallsFail: a verdict stands at the first argument that is wrong,
// else at the call, else at the expectation.
func TestWhereCallsFail(t *testing.T) {
	at := func(line int) harness.Position { return harness.Position{File: "a.yaml", Line: line} }
	tests := []struct {
		name     string
		settings score.Calls
		list     []score.CallPattern
		calls    []harness.Call
		line     int
	}{
		{"an argument", score.Calls{}, []score.CallPattern{{Tool: "s.a", Args: placed(t, `{"x":1}`, "args", 7), Pos: at(5)}}, []harness.Call{call(1, "a", `{"x":2}`, "1")}, 7},
		{"an argument that is no map", score.Calls{}, []score.CallPattern{{Tool: "s.a", Args: placed(t, `{"x":1}`, "args", 7), Pos: at(5)}}, []harness.Call{call(1, "a", `[]`, "1")}, 5},
		{"a missing call", score.Calls{}, []score.CallPattern{{Tool: "s.a", Pos: at(5)}, {Tool: "s.b", Pos: at(6)}}, nil, 5},
		{"the second missing call", score.Calls{}, []score.CallPattern{{Tool: "s.a", Pos: at(5)}, {Tool: "s.b", Pos: at(6)}}, []harness.Call{call(1, "a", `{}`, "1")}, 6},
		{"a call that may be missing", score.Calls{AllowMissing: true}, []score.CallPattern{{Tool: "s.a", Pos: at(5)}, {Tool: "s.b", Args: placed(t, `{"x":1}`, "args", 8), Pos: at(6)}}, []harness.Call{call(1, "b", `{}`, "1")}, 8},
		{"an unexpected call", score.Calls{}, nil, []harness.Call{call(1, "a", `{}`, "1")}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.settings
			s.List, s.Pos = tt.list, at(1)
			if v := s.Score(&score.Evidence{Trajectory: tt.calls}); v.State != trials.Failed || v.Pos != at(tt.line) {
				t.Errorf("%s at %v, want it at line %d", v.State, v.Pos, tt.line)
			}
		})
	}
}

// TestProblemsInAll: four problems are all told, of more the number.
func TestProblemsInAll(t *testing.T) {
	for n, want := range map[int]string{
		4: "unexpected call s.b {}; unexpected call s.b {}; unexpected call s.b {}; unexpected call s.b {}",
		5: "unexpected call s.b {}; unexpected call s.b {}; unexpected call s.b {}; unexpected call s.b {}; and 1 more",
	} {
		e := &score.Evidence{}
		for range n {
			e.Trajectory = append(e.Trajectory, call(1, "b", `{}`, ""))
		}
		v := score.Calls{}.Score(e)
		if v.Message != want || *v.Score != 0 {
			t.Errorf("%d problems: %q at %v, want %q at 0", n, v.Message, *v.Score, want)
		}
	}
	if v := (score.Calls{}).Score(&score.Evidence{}); *v.Score != 1 {
		t.Errorf("nothing wanted and nothing made has the score %v", *v.Score)
	}
}

// TestNeverOnce: a call is forbidden once, whatever the number of rules that
// forbid it and of witnesses who saw it.
func TestNeverOnce(t *testing.T) {
	s := score.Never{Tools: []string{"s.del*", "*.delete"}}
	deleted := call(1, "delete", `{}`, `1`)
	deleted.Exec = 1
	v := s.Score(&score.Evidence{Trajectory: []harness.Call{deleted}, Tools: []harness.ToolExchange{{Seq: 1, Server: "s", Tool: "delete", Args: json.RawMessage(`{}`)}}})
	if d := cmp.Diff([]string{"forbidden 0"}, statuses(v)); d != "" || v.Message != "want no call of s.del*, *.delete, got s.delete {}" {
		t.Errorf("%q (-want +got):\n%s", v.Message, d)
	}
	if v := s.Score(&score.Evidence{Trajectory: []harness.Call{call(1, "a", `{}`, `1`)}}); v.Alignment != nil {
		t.Error("a verdict that passed has an alignment")
	}
}

// TestCallsInWords: the calls of a message are those that were made, with
// arguments that are no JSON as they came; eight are told, of more the number.
func TestCallsInWords(t *testing.T) {
	that := score.That{Program: program(t, `trajectory.size() == 99`)}
	calls := []harness.Call{{Server: "s", Tool: "a", ArgsText: `{"x":`}, {Server: "s", Tool: "a", Args: json.RawMessage(`{}`), Unasked: true}}
	if v := that.Score(&score.Evidence{Trajectory: calls}); !strings.HasSuffix(v.Message, `trajectory: 2 calls: s.a {"x":, s.a {} (executed, but no reply asks for it)`) {
		t.Errorf("got %s", v.Message)
	}
	for n, want := range map[int]string{8: ": 8 calls: s.b" + strings.Repeat(", s.b", 7), 9: ": 9 calls: s.b" + strings.Repeat(", s.b", 7) + ", and 1 more"} {
		e := &score.Evidence{}
		for range n {
			e.Trajectory = append(e.Trajectory, harness.Call{Server: "s", Tool: "b"})
		}
		if v := that.Score(e); !strings.HasSuffix(v.Message, want) {
			t.Errorf("%d calls: %s\nwant %s", n, v.Message, want)
		}
	}
}
