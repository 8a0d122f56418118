// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// TestArgumentsOfOperators: an operator says at once what is wrong with its
// argument, and where it is computed, when it is matched. It never comes to be
// a test that holds for everything.
func TestArgumentsOfOperators(t *testing.T) {
	for _, test := range []struct{ operator, argument, want string }{
		{"$regex", `5`, "$regex needs a string, not a value of type number"},
		{"$regex", `"("`, "$regex: error parsing regexp: missing closing ): `(`"},
		{"$glob", `5`, "$glob needs a string, not a value of type number"},
		{"$number", `5`, "$number needs a map {value, abs, rel}, not a value of type number"},
		{"$number", `{"abs":1}`, "$number needs a value"},
		{"$number", `{"value":1,"abs":-0.1}`, "$number: abs is negative"},
		{"$number", `{"value":1,"rel":-1}`, "$number: rel is negative"},
		{"$number", `{"value":"x"}`, `$number: value is "x", not a number of reasonable size`},
		{"$integer", `"5"`, `$integer takes true, or a number spelled like 5, not "5"`},
		{"$integer", `false`, `$integer takes true, or a number spelled like 5, not false`},
		{"$float", `5`, "$float takes true, or a number spelled like 5.0, not 5"},
		{"$normalize", `"x"`, "$normalize needs a map {value, rule}, not a value of type string"},
		{"$normalize", `{"rule":"case"}`, "$normalize needs a value"},
		{"$normalize", `{"value":"x"}`, "$normalize needs a rule: case, space or bfcl"},
		{"$normalize", `{"value":"x","rule":"spaces"}`, `$normalize: unknown rule "spaces" (did you mean "space"?)`},
		{"$date", `5`, "$date needs a string, not a value of type number"},
		{"$date", `"2025-02-30"`, `$date needs a date like 2025-03-14, not "2025-02-30"`},
		{"$length", `"5"`, "$length needs a map {min, max}, not a value of type string; or a number"},
		{"$length", `{}`, "$length needs a number, min or max"},
		{"$length", `-1`, "$length is negative"},
		{"$length", `{"min":-1}`, "$length: min is -1, not a number of items"},
		{"$length", `{"max":-1}`, "$length: max is -1, not a number of items"},
		{"$length", `{"max":"3"}`, `$length: max is "3", not a number of items`},
		{"$length", `{"min":1,"max":0}`, "$length: max is less than min"},
		{"$type", `5`, "$type needs a string, not a value of type number"},
		{"$type", `"int"`, `unknown type "int"; known are null, boolean, integer, number, string, array, object`},
	} {
		t.Run(test.operator+" "+test.argument, func(t *testing.T) {
			_, err := match.Compile(parse(t, `{"`+test.operator+`":`+test.argument+`}`), nil)
			if err == nil || err.Error() != test.operator+": "+test.want {
				t.Errorf("when compiled: %v\nwant %s: %s", err, test.operator, test.want)
			}
			computed := compile(t, `{"`+test.operator+`":{"$cel":"vars.argument"}}`, false)
			mismatches, err := computed.Match(parse(t, `"x"`), &expr.Vars{Vars: parse(t, `{"argument":`+test.argument+`}`)})
			if err == nil || !strings.Contains(err.Error(), test.want) || mismatches != nil {
				t.Errorf("when computed: %v, %v\nwant %s", mismatches, err, test.want)
			}
		})
	}
	for expected, want := range map[string]string{
		`{"$that":5}`:                        "$that: $that needs an expression in a string, not a value of type number",
		`{"$cel":["user"]}`:                  "$cel: $cel needs an expression in a string, not a value of type array",
		`{"$all":"x"}`:                       "$all: $all needs a list with at least one item",
		`{"$set":{"a":1}}`:                   "$set: $set needs a list",
		`{"$absent":"true"}`:                 "$absent: $absent takes only true",
		`"{{"`:                               "there is no }} to this {{ (for the text itself write {{\"{{\"}})\n    {{\n    ^",
		`{"$number":{"value":"{{resutl}}"}}`: "$number.value: unknown name \"resutl\" (did you mean \"result\"?)\n    {{resutl}}\n      ^",
	} {
		_, err := match.Compile(parse(t, expected), &match.Options{Scope: expr.Expectation})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", expected, err, want)
		}
	}
}

// TestBounds has each bound from both sides, and what is least to be allowed.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		name, expected string
		yes, no        []string
	}{
		{"no tolerance", `{"$number":{"value":1,"abs":0,"rel":0}}`, []string{`1`, `1.0`}, []string{`1.0001`, `0.9999`}},
		{"the larger tolerance", `{"$number":{"value":100,"abs":1,"rel":0.02}}`, []string{`102`, `98`}, []string{`102.1`, `97.9`}},
		{"no item", `{"$length":0}`, []string{`""`, `[]`, `{}`}, []string{`"a"`, `[1]`}},
		{"at least none", `{"$length":{"min":0}}`, []string{`""`, `"abc"`}, []string{`5`}},
		{"at most none", `{"$length":{"max":0}}`, []string{`""`}, []string{`"a"`}},
		{"at most one", `{"$length":{"max":1}}`, []string{`""`, `"a"`}, []string{`"ab"`}},
		{"from none to none", `{"$length":{"min":0,"max":0}}`, []string{`[]`}, []string{`[1]`}},
		{"from two to two", `{"$length":{"min":2,"max":2}}`, []string{`"ab"`}, []string{`"a"`, `"abc"`}},
		{"letters, where bfcl takes out what stands between", `{"$normalize":{"value":"San Jose","rule":"bfcl"}}`, []string{`"san-jose"`}, []string{`"San Juan"`}},
	} {
		m := compile(t, test.expected, false)
		for i, got := range append(append([]string{}, test.yes...), test.no...) {
			mismatches, err := m.Match(parse(t, got), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := i < len(test.yes); want != (mismatches == nil) {
				t.Errorf("%s: %s matches: %t, want %t", test.name, got, !want, want)
			}
		}
	}
}

// TestWhereAndWhat: a mismatch says where the expectation stands, and under
// which name the value is known; an expectation can be shown.
func TestWhereAndWhat(t *testing.T) {
	const src = `{"a":[1,{"$optional":2}]}`
	m, err := match.Compile(parse(t, src), &match.Options{Pos: func(p value.Path) harness.Position {
		return harness.Position{File: "s.yaml", Line: 10 + len(p)}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if m.String() != src {
		t.Errorf("shown as %s, want %s", m, src)
	}
	mismatches, err := m.Match(parse(t, `{"a":[1,3]}`), nil)
	want := []trials.Mismatch{{Path: "value.a[1]", Rule: "equal", Want: "2", Got: "3", Pos: harness.Position{File: "s.yaml", Line: 12}}}
	if d := cmp.Diff(want, mismatches); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
	if mismatches, err = compile(t, `{"$any_of":[1]}`, false).MatchAbsent(nil); err != nil || len(mismatches) != 1 || mismatches[0].Got != "absent" {
		t.Errorf("nothing at all is told as %v, error %v", mismatches, err)
	}
}

// TestText: an expectation is told with the values of what it computes, as it is
// written where there are none.
func TestText(t *testing.T) {
	for expected, want := range map[string]string{
		`{"a":[1,"x"]}`:                `{"a":[1,"x"]}`,
		`{"a":{"$cel":"result.n"}}`:    `{"a":5}`,
		`"{{result.id}} of {{user}}"`:  `"m1 of hi"`,
		`{"a":{"$cel":"result.idd"}}`:  `{"a":{"$cel":"result.idd"}}`,
		`["{{result.idd}}", {"b": 2}]`: `["{{result.idd}}",{"b":2}]`,
	} {
		if got := compile(t, expected, false).Text(sample(t)); got != want {
			t.Errorf("%s is told as %s, want %s", expected, got, want)
		}
	}
}

// TestFirstError: of the expressions that cannot be computed the first is told.
func TestFirstError(t *testing.T) {
	mismatches, err := compile(t, `[{"$cel":"result.idd"},{"$cel":"result.nn"}]`, false).Match(parse(t, `[1,2]`), sample(t))
	if err == nil || !strings.Contains(err.Error(), `no key "idd"`) || mismatches != nil {
		t.Errorf("%v, error %v", mismatches, err)
	}
}

// TestStopped: a condition that was stopped is an error, and says nothing about
// the value.
func TestStopped(t *testing.T) {
	vars := &expr.Vars{Budget: expr.NewBudget(0)}
	mismatches, err := compile(t, `{"$not":{"$that":"value.all(a, a > 0)"}}`, false).Match(parse(t, `[1,2]`), vars)
	if limit := (*expr.LimitError)(nil); !errors.As(err, &limit) || mismatches != nil {
		t.Errorf("%v, error %v", mismatches, err)
	}
}
