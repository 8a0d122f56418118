// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
)

func parse(t testing.TB, s string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(s))
	if err != nil {
		t.Fatalf("Parse(%s): %v", s, err)
	}
	return v
}

func compile(t testing.TB, expected string, exact bool) *match.Matcher {
	t.Helper()
	m, err := match.Compile(parse(t, expected), &match.Options{Scope: expr.Expectation, Exact: exact, Root: "args"})
	if err != nil {
		t.Fatalf("Compile(%s): %v", expected, err)
	}
	return m
}

func sample(t testing.TB) *expr.Vars {
	result := parse(t, `{"id":"m1","n":5,"list":[1,2],"re":"^a","x":{"k":1.50}}`)
	return &expr.Vars{Result: &result, User: "hi"}
}

// TestOperators lists for each expectation what matches and what does not;
// "absent" stands for no value at all.
func TestOperators(t *testing.T) {
	for _, test := range []struct {
		name, expected string
		yes, no        []string
	}{
		{"literal string", `"a"`, []string{`"a"`}, []string{`"A"`, `1`, `null`, `absent`}},
		{"literal number", `5`, []string{`5`, `5.0`, `50e-1`}, []string{`"5"`, `5.1`, `true`}},
		{"literal null", `null`, []string{`null`}, []string{`absent`, `false`, `""`}},
		{"map is named", `{"a":1,"b":{"c":2}}`, []string{`{"a":1,"b":{"c":2}}`, `{"z":0,"b":{"c":2,"d":3},"a":1.0}`}, []string{`{"a":1}`, `{"a":1,"b":{}}`, `[]`, `absent`}},
		{"list", `[1,{"a":1}]`, []string{`[1,{"a":1,"b":2}]`}, []string{`[1]`, `[{"a":1},1]`, `[1,{"a":1},2]`, `{}`}},
		{"empty map", `{}`, []string{`{}`, `{"a":1}`}, []string{`[]`, `null`}},
		{"$any_of", `{"$any_of":["a",{"$number":{"value":5,"abs":1}}]}`, []string{`"a"`, `6`}, []string{`"b"`, `7`, `absent`}},
		{"$any_of with $absent", `{"$any_of":[{"$absent":true},"a"]}`, []string{`absent`, `"a"`}, []string{`"b"`}},
		{"$all", `{"$all":[{"$regex":"^a"},{"$length":2}]}`, []string{`"ab"`}, []string{`"abc"`, `"ba"`, `absent`}},
		{"$not", `{"$not":"a"}`, []string{`"b"`, `1`, `absent`}, []string{`"a"`}},
		{"$not $absent", `{"$not":{"$absent":true}}`, []string{`null`, `1`}, []string{`absent`}},
		{"$optional", `{"$optional":{"$any_of":["a","b"]}}`, []string{`absent`, `"a"`}, []string{`null`, `"c"`}},
		{"$absent", `{"$absent":true}`, []string{`absent`}, []string{`null`, `1`}},
		{"$set, an item of which fits two", `{"$set":[{"$any_of":[1,2]},1]}`, []string{`[1,2]`, `[2,1]`}, []string{`[1,3]`, `[2,2]`}},
		{"$regex", `{"$regex":"^\\d+\\.\\d+$"}`, []string{`"83333.1"`}, []string{`"83333"`, `83333.1`, `absent`}},
		{"$regex anywhere", `{"$regex":"b"}`, []string{`"abc"`}, []string{`"ac"`}},
		{"$regex from an expression", `{"$regex":"{{result.re}}b"}`, []string{`"abc"`}, []string{`"bab"`}},
		{"$glob", `{"$glob":"a*.?"}`, []string{`"a.b"`, `"abc.é"`}, []string{`"a."`, `"ba.b"`, `1`}},
		{"$glob of an end", `{"$glob":"*.txt"}`, []string{`"a.txt"`, `".txt"`, `"a.txt.txt"`}, []string{`"a.txt.gz"`, `"txt"`, `""`}},
		{"$number", `{"$number":{"value":100,"abs":0.5}}`, []string{`100.5`, `99.5`, `1e2`}, []string{`100.50000000000000000001`, `"100"`, `1e999999999`}},
		{"$number relative", `{"$number":{"value":-100,"rel":0.01,"abs":0.5}}`, []string{`-101`, `-99`}, []string{`-101.1`}},
		{"$number without tolerance", `{"$number":{"value":0.3}}`, []string{`0.30`}, []string{`0.30000000000000004`}},
		{"$number from an expression", `{"$number":{"value":{"$cel":"result.n"},"abs":1}}`, []string{`4`}, []string{`3`}},
		{"$integer", `{"$integer":5}`, []string{`5`}, []string{`5.0`, `"5"`, `6`, `5e0`}},
		{"$integer any", `{"$integer":true}`, []string{`5`, `-12345678901234567890`}, []string{`5.0`, `true`, `"5"`}},
		{"$float", `{"$float":5.0}`, []string{`5.0`, `5.00`, `5e0`}, []string{`5`, `5.1`}},
		{"$float any", `{"$float":true}`, []string{`5.0`, `1e3`}, []string{`5`}},
		{"$normalize case", `{"$normalize":{"value":"ÉCOLI","rule":"case"}}`, []string{`"École"`, `"écoli"`}[1:], []string{`"e coli"`, `1`}},
		{"$normalize case of a letter with two small ones", `{"$normalize":{"value":"ΣΊΣΥΦΟΣ","rule":"case"}}`, []string{`"σίσυφος"`, `"ΣΊΣΥΦΟΣ"`}, []string{`"σίσυφο"`}},
		{"$normalize space", `{"$normalize":{"value":"a b","rule":"space"}}`, []string{`" a\n  b "`}, []string{`"ab"`, `"A b"`}},
		{"$normalize in a list", `{"$normalize":{"value":["A",1],"rule":"case"}}`, []string{`["a",1.0]`}, []string{`["a"]`, `["b",1]`}},
		{"$normalize bfcl", `{"$normalize":{"value":"San Francisco, CA's","rule":"bfcl"}}`, []string{`"sanfrancisco ca\"s"`, `"San-Francisco_CA's"`, `"san^fran*cisco./ca's"`}, []string{`"San\tFrancisco, CA's"`, `"San Francisco: CA's"`}},
		{"$normalize bfcl blank", `{"$normalize":{"value":"","rule":"bfcl"}}`, []string{`"-"`, `" "`, `""`}, []string{`"a"`, `null`, `absent`}},
		{"$normalize bfcl integer", `{"$normalize":{"value":5,"rule":"bfcl"}}`, []string{`5`}, []string{`5.0`, `"5"`, `true`}},
		{"$normalize bfcl float", `{"$normalize":{"value":5.0,"rule":"bfcl"}}`, []string{`5.0`, `5`}, []string{`5.5`}},
		{"$normalize bfcl inside", `{"$normalize":{"value":{"a":["X Y",2]},"rule":"bfcl"}}`, []string{`{"a":["xy",2]}`}, []string{`{"a":["xy",2.0]}`, `{"a":["xy",2],"b":1}`}},
		{"$date", `{"$date":"2025-03-14"}`, []string{
			`"2025-03-14"`, `"2025/3/14"`, `"20250314"`, `"14.3.2025"`, `"3/14/2025"`, `"14/03/2025"`, `"March 14, 2025"`, `"14th of march 2025"`,
			`"Friday, March 14th, 2025"`, `"2025-03-14T10:00:00Z"`, `"2025-03-14 10:00"`, `"Mar 14 2025"`, `"2025-03-14T23:30:00-08:00"`,
		}, []string{`"2025-03-15"`, `"14"`, `20250314`, `"next friday"`, `""`}},
		{"$date either way round", `{"$date":"2025-03-04"}`, []string{`"3/4/2025"`, `"4/3/2025"`}, []string{`"4/4/2025"`}},
		{"$length", `{"$length":2}`, []string{`"éa"`, `[1,2]`, `{"a":1,"b":2}`}, []string{`"a"`, `2`, `null`, `absent`}},
		{"$length range", `{"$length":{"min":1,"max":2}}`, []string{`[1]`, `"ab"`}, []string{`[]`, `"abc"`}},
		{"$length at least", `{"$length":{"min":1}}`, []string{`[1,2,3]`}, []string{`""`}},
		{"$schema", `{"$schema":{"type":"object","properties":{"a":{"type":"integer","minimum":2}},"required":["a"]}}`, []string{`{"a":2}`, `{"a":2.0,"b":1}`}, []string{`{}`, `{"a":1}`, `{"a":"2"}`, `absent`}},
		{"$schema has no operators", `{"$schema":{"$defs":{"x":{"const":"{{user}}"}},"$ref":"#/$defs/x"}}`, []string{`"{{user}}"`}, []string{`"hi"`}},
		{"$type", `{"$type":"string"}`, []string{`""`}, []string{`1`, `null`, `absent`}},
		{"$type integer", `{"$type":"integer"}`, []string{`5`, `5.0`}, []string{`5.5`, `"5"`}},
		{"$type number", `{"$type":"number"}`, []string{`5`, `5.5`}, []string{`"5"`}},
		{"$set", `{"$set":["a",{"$regex":"^[ab]$"},{"$type":"number"}]}`, []string{`["b",1,"a"]`, `["a",1,"b"]`, `["a","a",2]`}, []string{`["b",1,"b"]`, `["a","b"]`, `["a","b",1,2]`, `{}`, `absent`}},
		{"$set empty", `{"$set":[]}`, []string{`[]`}, []string{`[1]`}},
		{"$that", `{"$that":"value > 3 && value < result.n"}`, []string{`4`, `3.5`}, []string{`5`, `"4"`, `null`, `absent`}},
		{"$that misses a key", `{"$that":"value.x == 1"}`, []string{`{"x":1}`}, []string{`{}`, `5`}},
		{"$cel", `{"$cel":"result.id"}`, []string{`"m1"`}, []string{`"m2"`, `absent`}},
		{"$cel of a map is named", `{"$cel":"result.x"}`, []string{`{"k":1.5,"z":1}`}, []string{`{}`}},
		{"$literal", `{"$literal":{"$regex":"{{user}}"}}`, []string{`{"$regex":"{{user}}"}`}, []string{`"hi"`, `{"$regex":"x"}`}},
		{"$literal number", `{"$literal":[1.50]}`, []string{`[1.50]`}, []string{`[1.5]`}},
		{"text", `"{{user}}: {{result.n}}"`, []string{`"hi: 5"`}, []string{`"hi: 6"`, `absent`}},
		{"key", `{"{{result.id}}":1}`, []string{`{"m1":1}`}, []string{`{"{{result.id}}":1}`}},
		{"operators deep down", `{"a":[{"b":{"$optional":1}}]}`, []string{`{"a":[{}]}`, `{"a":[{"b":1}]}`}, []string{`{"a":[{"b":2}]}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := compile(t, test.expected, false)
			for i, got := range append(append([]string{}, test.yes...), test.no...) {
				var mismatches []trials.Mismatch
				var err error
				if got == "absent" {
					mismatches, err = m.MatchAbsent(sample(t))
				} else {
					mismatches, err = m.Match(parse(t, got), sample(t))
				}
				if err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if want := i < len(test.yes); want != (len(mismatches) == 0) {
					t.Errorf("%s: matches %t, want %t: %v", got, !want, want, mismatches)
				}
			}
		})
	}
}

func TestMismatches(t *testing.T) {
	for _, test := range []struct {
		name, expected, got string
		exact               bool
		want                string // one line each
	}{
		{
			"by path", `{"a":1,"b":[{"c":"x"}],"d":true}`, `{"a":2,"b":[{"c":"y"}]}`, false,
			"args.a: want 1, got 2\nargs.b[0].c: want \"x\", got \"y\"\nargs.d: missing: want true, got absent",
		},
		{"at the root", `1`, `[2]`, false, "args: want 1, got [2]"},
		{"looks alike", `{"genome_id":"83333.1"}`, `{"genome_id":83333.1}`, false, `args.genome_id: want "83333.1" (a string), got 83333.1 (a number)`},
		{"list length", `[1,2]`, `[1]`, false, "args: length: want 2 items: [1,2], got 1 items: [1]"},
		{"in a list", `[1,2]`, `[1,3]`, false, "args[1]: want 2, got 3"},
		{"odd key", `{"odd key":{"x":1}}`, `{"odd key":{"x":2}}`, false, `args["odd key"].x: want 1, got 2`},
		{"exact", `{"a":{"b":1}}`, `{"c":0,"a":{"b":1,"d":2}}`, true, "args.a.d: unexpected: want absent, got 2\nargs.c: unexpected: want absent, got 0"},
		{"exact with optional", `{"a":{"$optional":1}}`, `{"a":1}`, true, ""},
		{"operator", `{"a":{"$regex":"^x"}}`, `{"a":"y"}`, false, `args.a: $regex: want "^x", got "y"`},
		{"operator misses", `{"a":{"$regex":"^x"}}`, `{}`, false, `args.a: missing: want {"$regex":"^x"}, got absent`},
		{"any of", `{"$any_of":["a","b"]}`, `"c"`, false, `args: $any_of: want one of ["a","b"], got "c"`},
		{"not", `{"$not":{"$any_of":["a","b"]}}`, `"a"`, false, `args: $not: want anything but {"$any_of":["a","b"]}, got "a"`},
		{"all says which", `{"$all":[{"$type":"string"},{"$length":3}]}`, `"ab"`, false, `args: $length: want 3, got "ab"`},
		{"set", `{"$set":[1,2,3]}`, `[3,4,1]`, false, `args: $set: want an item 2, got left over: [4]`},
		{"schema", `{"$schema":{"properties":{"a":{"type":"integer"}}}}`, `{"a":"x"}`, false, `args: $schema: want a value that fits the schema (validating /properties/a: type: x has type "string", want "integer"), got {"a":"x"}`},
		{"that", `{"$that":"value.x > 3"}`, `{"y":4}`, false, "args: $that: want value.x > 3, got {\"y\":4} (evaluating `value.x > 3`: no such key: x)"},
		{"computed", `{"$cel":"result.n + 1"}`, `5`, false, `args: want 6, got 5`},
		{"spelling", `{"$literal":1.50}`, `1.5`, false, `args: spelling: want 1.50, got 1.5`},
		{"shortened", `"a"`, `"` + strings.Repeat("é", 400) + `"`, false, `args: want "a", got "` + strings.Repeat("é", 149) + `...`},
	} {
		t.Run(test.name, func(t *testing.T) {
			mismatches, err := compile(t, test.expected, test.exact).Match(parse(t, test.got), sample(t))
			if err != nil {
				t.Fatal(err)
			}
			lines := make([]string, len(mismatches))
			for i, m := range mismatches {
				lines[i] = m.String()
			}
			if diff := cmp.Diff(test.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	expected := parse(t, `{
		"a": {"$regx": "x"},
		"b": {"$regex": "("},
		"c": {"$any_of": []},
		"d": {"$regex": "x", "y": 1},
		"e": [{"$number": {"value": 1, "ab": 2}}, {"$number": {"value": "1"}}, {"$number": {"abs": 1}}, {"$number": 5}],
		"f": {"$integer": 5.0},
		"g": {"$float": 5},
		"h": {"$normalize": {"value": "x", "rule": "bfc"}},
		"i": {"$date": "14.3.2025"},
		"j": {"$length": {"min": 3, "max": 1}},
		"k": {"$schema": {"type": "object", "proprties": {}}},
		"l": {"$schema": {"type": 5}},
		"m": {"$type": "strin"},
		"n": {"$set": "x"},
		"o": {"$that": "valu > 3"},
		"p": {"$that": "value + \"x\" + resutl"},
		"q": {"$cel": "args.x"},
		"r": "{{resutl.x}}",
		"s": {"{{": 1},
		"t": {"$absent": false},
		"u": {"$not": {"$any_of": [{"$lenght": 3}]}},
		"v": {"$regex": 5},
		"w": {"$glob": "{{resutl}}"},
		"x": {"$schema": {"$ref": "https://example.com/s.json"}},
		"y": {"$schema": {"$ref": "#"}},
		"z": {"$schema": {"$schema": "http://json-schema.org/draft-04/schema#"}},
		"za": {"$schema": {"properties": {"type": {"type": ["null", "strin"]}, "enum": {"enum": [{"type": "x"}]}}}},
		"zz": {"$normalize": {"value": "x", "rule": "qqqqqqqq"}}
	}`)
	_, err := match.Compile(expected, &match.Options{Scope: expr.Expectation})
	var problems match.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("error %v, want match.Problems", err)
	}
	want := []string{
		`a.$regx: unknown operator "$regx" (did you mean "$regex"?)`,
		"b.$regex: $regex: error parsing regexp: missing closing ): `(`",
		`c.$any_of: $any_of needs a list with at least one item`,
		`d: "$regex" has other keys beside it, but an operator must be the only key; if the map is data, write {$literal: {...}} around it`,
		`e[0].$number: $number: unknown key "ab" (did you mean "abs"?)`,
		`e[1].$number: $number: value is "1", not a number of reasonable size`,
		`e[2].$number: $number needs a value`,
		`e[3].$number: $number needs a map {value, abs, rel}, not a value of type number`,
		`f.$integer: $integer takes true, or a number spelled like 5, not 5.0`,
		`g.$float: $float takes true, or a number spelled like 5.0, not 5`,
		`h.$normalize: $normalize: unknown rule "bfc" (did you mean "bfcl"?)`,
		`i.$date: $date needs a date like 2025-03-14, not "14.3.2025"`,
		`j.$length: $length: max is less than min`,
		`k.$schema.proprties: unknown keyword "proprties" (did you mean "properties"?)`,
		`l.$schema: this is not a JSON Schema: `,
		`m.$type: unknown type "strin" (did you mean "string"?)`,
		`n.$set: $set needs a list`,
		"o.$that: unknown name \"valu\" (did you mean \"value\"?)\n    valu > 3\n    ^",
		"p.$that: unknown name \"resutl\" (did you mean \"result\"?)\n    value + \"x\" + resutl\n                  ^",
		"q.$cel: \"args\" is unknown here; known are result, results, turn, user, vars\n    args.x\n    ^",
		"r: unknown name \"resutl\" (did you mean \"result\"?)\n    {{resutl.x}}\n      ^",
		"s[\"{{\"]: there is no }} to this {{ (for the text itself write {{\"{{\"}})\n    {{\n    ^",
		`t.$absent: $absent takes only true`,
		`u.$not.$any_of[0].$lenght: unknown operator "$lenght" (did you mean "$length"?)`,
		`v.$regex: $regex needs a string, not a value of type number`,
		"w.$glob: unknown name \"resutl\" (did you mean \"result\"?)\n    {{resutl}}\n      ^",
		`x.$schema: this JSON Schema cannot be used: `,
		`y.$schema: this JSON Schema cannot be used: the $ref to "#" leads back to itself`,
		`z.$schema: $schema is "http://json-schema.org/draft-04/schema#"; draft-07 and 2020-12 can be checked`,
		`za.$schema.properties.type.type: unknown type "strin" (did you mean "string"?)`,
		`zz.$normalize: $normalize: unknown rule "qqqqqqqq"; known are case, space, bfcl`,
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems, want %d", len(problems), len(want))
	}
	for i, p := range problems {
		got := match.Problems{p}.Error()
		if i < len(want) && got != want[i] && !(strings.HasSuffix(want[i], ": ") && strings.HasPrefix(got, want[i])) {
			t.Errorf("problem %d\n got %s\nwant %s", i, got, want[i])
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	for _, test := range []struct{ expected, want string }{
		{`{"$cel":"result.idd"}`, `result has no key "idd" (did you mean "id"?)`},
		{`{"a":"{{result.idd}}"}`, `result has no key "idd"`},
		{`{"{{result.idd}}":1}`, `result has no key "idd"`},
		{`{"$any_of":["x",{"$cel":"result.idd"}]}`, `result has no key "idd"`},
		{`{"$regex":"{{result.idd}}"}`, `result has no key "idd"`},
		{`{"$regex":"({{user}}"}`, `error parsing regexp`},
	} {
		mismatches, err := compile(t, test.expected, false).Match(parse(t, `{"a":"b"}`), sample(t))
		if err == nil || !strings.Contains(err.Error(), test.want) || mismatches != nil {
			t.Errorf("%s: %v, error %v, want %q", test.expected, mismatches, err, test.want)
		}
	}
}

func TestPrograms(t *testing.T) {
	m := compile(t, `{"a":"{{user}}","{{user}}":{"$cel":"result.n"},"c":{"$not":{"$that":"value > turn"}},"d":{"$regex":"{{user}}"}}`, false)
	if got := len(m.Programs()); got != 5 {
		t.Errorf("%d programs, want 5: %v", got, m.Programs())
	}
}

func TestGlobProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab*?é.")), 0, 8, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abé.")), 0, 8, -1).Draw(t, "text")
		re := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
		want := regexp.MustCompile(`(?s)^` + re + `$`).MatchString(text)
		if got := match.Glob(pattern, text); got != want {
			t.Fatalf("Glob(%q, %q) = %t", pattern, text, got)
		}
	})
}

// A list is a $set of itself in any order.
func TestSetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 6).Draw(t, "numbers")
		want, err := value.From(map[string]any{"$set": numbers})
		if err != nil {
			t.Fatal(err)
		}
		got, err := value.From(rapid.Permutation(numbers).Draw(t, "order"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := match.Compile(want, nil)
		if err != nil {
			t.Fatal(err)
		}
		if mismatches, err := m.Match(got, nil); err != nil || mismatches != nil {
			t.Fatalf("%v, %v", mismatches, err)
		}
	})
}

func TestSchemaLoops(t *testing.T) {
	for _, test := range []struct {
		name, schema string
		loop         bool
	}{
		{"tree", `{"type":"object","properties":{"child":{"$ref":"#"}}}`, false},
		{"list", `{"$ref":"#/$defs/node","$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"}}}}}`, false},
		{"twice", `{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object"}}}`, false},
		{"data", `{"const":{"$ref":"#"}}`, false},
		{"itself", `{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, true},
		{"two", `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, true},
		{"not", `{"not":{"$ref":"#"}}`, true},
		{"anchor", `{"$anchor":"x","if":{"$ref":"#x"}}`, true},
		{"into a list", `{"allOf":[{"$ref":"#/allOf/0"}]}`, true},
		{"in a property", `{"properties":{"a":{"then":{"$ref":"#/properties/a"}}}}`, true},
	} {
		_, err := match.CompileSchema(parse(t, test.schema))
		if got := err != nil && strings.Contains(err.Error(), "leads back to itself"); got != test.loop {
			t.Errorf("%s: loop %t, error %v", test.name, got, err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"$regex":"^a"},"b":[{"$any_of":[1,{"$absent":true}]}]}`, `{"$schema":{"type":["string","null"],"pattern":"("}}`,
		`{"$number":{"value":1e999999999,"abs":1}}`, `{"$set":[{"$set":[]}]}`, `{"$that":"value.all(x, x > 1)"}`, `{"$date":"2025-02-30"}`,
		`{"$length":{"min":-1}}`, `{"$normalize":{"value":{"a":["X"]},"rule":"bfcl"}}`, `{"{{user}}":"{{turn}}"}`, `{"$literal":{"$cel":1}}`,
		`{"$schema":{"$ref":"#"}}`, `{"$schema":{"multipleOf":0}}`, `{"$all":[{"$not":{"$optional":null}}]}`, `{"$cel":"[1].last()"}`,
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, expected, got string) {
		want, err := value.Parse([]byte(expected))
		if err != nil {
			return
		}
		m, err := match.Compile(want, nil)
		if err != nil {
			var problems match.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%s: %v", expected, err)
			}
			return
		}
		v, err := value.Parse([]byte(got))
		if err != nil {
			return
		}
		_, _ = m.Match(v, nil) // must not panic
		_, _ = m.MatchAbsent(nil)
	})
}

func Example() {
	expected, _ := value.Parse([]byte(`{
		"genome_id": {"$regex": "^[0-9]+[.][0-9]+$"},
		"media": {"$optional": {"$any_of": ["minimal", "rich"]}}
	}`))
	m, err := match.Compile(expected, &match.Options{Scope: expr.Expectation, Root: "args"})
	if err != nil {
		fmt.Println(err)
		return
	}
	got, _ := value.Parse([]byte(`{"genome_id": 83333.1, "media": "plain"}`))
	mismatches, _ := m.Match(got, nil)
	for _, mismatch := range mismatches {
		fmt.Println(mismatch)
	}
	// Output:
	// args.genome_id: $regex: want "^[0-9]+[.][0-9]+$", got 83333.1
	// args.media: $any_of: want one of ["minimal","rich"], got "plain"
}
