// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"order of keys stays", `{"b": 1, "a": [ {"z":null,"y":true} ]}`, `{"b":1,"a":[{"z":null,"y":true}]}`},
		{"spelling of numbers stays", `[1.10, 5.0, 1e3, -0, 12345678901234567890]`, `[1.10,5.0,1e3,-0,12345678901234567890]`},
		{"empty ones", ` [ { } , [ ] , "" ] `, `[{},[],""]`},
		{"last of a repeated key", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{"escapes", `"a\u00e9\n\"\\\/<&\u0001"`, `"aé\n\"\\/<&\u0001"`},
		{"surrogates", `"\ud83d\ude00 \ud83d"`, "\"\U0001F600 \uFFFD\""},
		{"not UTF-8", "\"\xff\"", "\"\uFFFD\""},
		{"escaped key", `{"\u0061":1}`, `{"a":1}`},
		{"scalar", ` false`, `false`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parse(t, test.in).String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nothing", ``, "unexpected end of JSON input"},
		{"cut", `{"a":`, "unexpected end of JSON input"},
		{"cut, and too deep", strings.Repeat("[", value.MaxDepth+1), "JSON nests deeper than 1000 levels"},
		{"cut, and just not too deep", strings.Repeat("[", value.MaxDepth), "unexpected end of JSON input"},
		{"brackets of a text do not nest", `"\"` + strings.Repeat("[", 2*value.MaxDepth), "unexpected end of JSON input"},
		{"what is closed does not nest", strings.Repeat("[[]],", 2*value.MaxDepth), "invalid character ','"},
		{"two values", `1 2`, "invalid JSON at byte 3: invalid character '2' after top-level value"},
		{"octal", `010`, "after top-level value"},
		{"trailing comma", `[1,]`, "invalid character ']'"},
		{"nested too deep", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "nests deeper than 1000 levels"},
		{"nested far too deep", strings.Repeat(`{"a":`, 200_000), "nests deeper than 1000 levels"},
		{"too large", strings.Repeat(" ", value.MaxBytes+1), "is larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := value.Parse([]byte(test.in))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestFrom(t *testing.T) {
	type point struct {
		Y int `json:"y"`
		X int `json:"x"`
	}
	for _, test := range []struct {
		name string
		in   any
		want string
	}{
		{"nil", nil, `null`},
		{"map is sorted", map[string]any{"b": 1, "a": []any{true, "x"}}, `{"a":[true,"x"],"b":1}`},
		{"struct keeps its order", point{1, 2}, `{"y":1,"x":2}`},
		{"float", 5.0, `5`},
		{"large float", 1e6, `1000000`},
		{"number", json.Number("1.10"), `1.10`},
		{"raw", json.RawMessage(`{"a": 1.0}`), `{"a":1.0}`},
		{"no raw", json.RawMessage(nil), `null`},
		{"value", value.IntOf(3), `3`},
		{"html is not escaped", "<a>", `"<a>"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := value.From(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, v.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if _, err := value.From(func() {}); err == nil {
		t.Error("From of a function: no error")
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		want       bool
	}{
		{"integer and float", `5`, `5.0`, true},
		{"exponent", `1000`, `1e3`, true},
		{"negative exponent", `0.010`, `1E-2`, true},
		{"zeros", `-0`, `0.00e7`, true},
		{"beyond float64", `0.1`, `0.10000000000000000001`, false},
		{"20 digits", `12345678901234567890`, `12345678901234567891`, false},
		{"sign", `-1`, `1`, false},
		{"huge exponents are quick", `1e999999999`, `10e999999998`, true},
		{"absurd exponents", `1e99999999999999999999`, `1e99999999999999999999`, true},
		{"absurd exponents differ", `1e99999999999999999999`, `2e99999999999999999999`, false},
		{"absurd zero", `0e99999999999999999999`, `0`, true},
		{"order of keys", `{"a":1,"b":2}`, `{"b":2.0,"a":1}`, true},
		{"order of items", `[1,2]`, `[2,1]`, false},
		{"missing key", `{"a":null}`, `{"b":null}`, false},
		{"kinds", `"5"`, `5`, false},
		{"empty kinds", `[]`, `{}`, false},
		{"null and false", `null`, `false`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := parse(t, test.a), parse(t, test.b)
			if got := value.Equal(a, b); got != test.want {
				t.Errorf("Equal(%s, %s) = %t", a, b, got)
			}
			if got := value.Equal(b, a); got != test.want {
				t.Errorf("Equal(%s, %s) = %t", b, a, got)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		in      string
		integer bool
		i       int64
		rat     string // empty: out of bounds
	}{
		{"5", true, 5, "5"},
		{"5.0", false, 0, "5"},
		{"-12", true, -12, "-12"},
		{"1.25e1", false, 0, "25/2"},
		{"1e999999999", false, 0, ""},
		{"1e99999999999999999999", false, 0, ""},
		{"12345678901234567890", true, 0, "12345678901234567890"},
		// The bound is on the magnitude: 10^5000 has a digit more than it allows.
		{"1e4999", false, 0, "1" + strings.Repeat("0", 4999)},
		{"1e5000", false, 0, ""},
		{"10e4999", false, 0, ""},
		{"1e-5001", false, 0, "1/1" + strings.Repeat("0", 5001)},
		{"1e-5002", false, 0, ""},
		{"1." + strings.Repeat("0", 9998), false, 0, "1"},
		{"1." + strings.Repeat("0", 9999), false, 0, ""},
	} {
		v := value.NumberOf(test.in)
		i, _ := v.Int()
		if v.IsInteger() != test.integer || (i != test.i && test.i != 0) {
			t.Errorf("%s: integer %t, Int %d", test.in, v.IsInteger(), i)
		}
		r, ok := v.Rat()
		if ok != (test.rat != "") || (ok && r.RatString() != test.rat) {
			t.Errorf("%s: Rat = %v, %t, want %q", test.in, r, ok, test.rat)
		}
	}
	for _, s := range []string{"", "-", "01", "0x1f", "1_000", ".5", "5.", "1e", "1e+", "+1", "Inf", "1 "} {
		if value.ValidNumber(s) {
			t.Errorf("ValidNumber(%q) = true", s)
		}
	}
}

func TestPath(t *testing.T) {
	v := parse(t, `{"a":{"b":[1,{"odd key":2.50}]},"c":null}`)
	for _, test := range []struct {
		path       value.Path
		text, want string
	}{
		{nil, ``, v.String()},
		{value.Path{"a", "b", 0}, `a.b[0]`, `1`},
		{value.Path{"a", "b", 1, "odd key"}, `a.b[1]["odd key"]`, `2.50`},
		{value.Path{"c"}, `c`, `null`},
		{value.Path{"c", "d"}, `c.d`, ``},
		{value.Path{"a", "b", 2}, `a.b[2]`, ``},
		{value.Path{"a", "b", -1}, `a.b[-1]`, ``},
		{value.Path{"a", 0}, `a[0]`, ``},
	} {
		if diff := cmp.Diff(test.text, test.path.String()); diff != "" {
			t.Errorf("String (-want +got)\n%s", diff)
		}
		got := ""
		if x, ok := value.Lookup(v, test.path); ok {
			got = x.String()
		}
		if got != test.want {
			t.Errorf("Lookup(%s) = %q, want %q", test.path, got, test.want)
		}
	}
	p := make(value.Path, 1, 4)
	p[0] = "a"
	x, y := p.Join("x"), p.Join("y")
	if x.String() != "a.x" || y.String() != "a.y" {
		t.Errorf("paths share memory: %s, %s", x, y)
	}
}

func TestMergePatch(t *testing.T) {
	// The cases of RFC 7396, appendix A, and the order of keys.
	for _, test := range []struct{ doc, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"z":1,"y":2,"x":3}`, `{"w":0,"y":2.50,"z":null}`, `{"y":2.50,"x":3,"w":0}`},
	} {
		got := value.MergePatch(parse(t, test.doc), parse(t, test.patch))
		if got.String() != test.want {
			t.Errorf("MergePatch(%s, %s) = %s, want %s", test.doc, test.patch, got, test.want)
		}
	}
}

// gen draws values; few different keys and numbers, so that they meet.
func gen() *rapid.Generator[value.Value] {
	number := rapid.SampledFrom([]string{"0", "-0", "5", "5.0", "50e-1", "0.5", "1e3", "1000", "-1.10", "12345678901234567890", "1e99999999999999999999"})
	key := rapid.SampledFrom([]string{"a", "b", "c", "odd key", ""})
	leaf := rapid.OneOf(
		rapid.Just(value.Value{}),
		rapid.Map(rapid.Bool(), value.BoolOf),
		rapid.Map(rapid.String(), value.StringOf),
		rapid.Map(number, value.NumberOf),
	)
	g := leaf
	for range 3 {
		inner := g
		member := rapid.Custom(func(t *rapid.T) value.Member {
			return value.Member{Key: key.Draw(t, "key"), Value: inner.Draw(t, "value")}
		})
		g = rapid.OneOf(inner,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(items []value.Value) value.Value { return value.ArrayOf(items...) }),
			rapid.Map(rapid.SliceOfN(member, 0, 4), func(members []value.Member) value.Value { return value.ObjectOf(members...) }),
		)
	}
	return g
}

func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := gen().Draw(t, "v")
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back value.Value
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if back.String() != v.String() || !value.Equal(v, back) {
			t.Fatalf("%s came back as %s", v, back)
		}
	})
}

func TestEqualProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := gen().Draw(t, "a"), gen().Draw(t, "b"), gen().Draw(t, "c")
		if !value.Equal(a, a) {
			t.Fatalf("%s is not itself", a)
		}
		if value.Equal(a, b) != value.Equal(b, a) {
			t.Fatalf("not symmetric: %s, %s", a, b)
		}
		if value.Equal(a, b) && value.Equal(b, c) && !value.Equal(a, c) {
			t.Fatalf("not transitive: %s, %s, %s", a, b, c)
		}
	})
}

func TestMergePatchProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, patch := gen().Draw(t, "doc"), gen().Draw(t, "patch")
		once := value.MergePatch(doc, patch)
		if twice := value.MergePatch(once, patch); twice.String() != once.String() {
			t.Fatalf("not idempotent: %s, then %s", once, twice)
		}
		if doc.Kind() == value.Object && value.MergePatch(doc, value.ObjectOf()).String() != doc.String() {
			t.Fatalf("the empty patch changes %s", doc)
		}
		for _, m := range patch.Members() {
			if _, ok := once.Get(m.Key); ok == m.Value.IsNull() {
				t.Fatalf("%s of %s: key %q wrong in %s", patch, doc, m.Key, once)
			}
		}
	})
}

func TestLargeObject(t *testing.T) {
	var members []value.Member
	for i := range 100 {
		members = append(members, value.Member{Key: fmt.Sprint("k", i%50), Value: value.IntOf(int64(i))})
	}
	v := value.ObjectOf(members...)
	if v.Len() != 50 {
		t.Errorf("%d members, want 50", v.Len())
	}
	if got, ok := v.Get("k7"); !ok || got.Num() != "57" {
		t.Errorf("k7 is %s, %t", got, ok)
	}
}

func TestNumberOfPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NumberOf(010) did not panic")
		}
	}()
	value.NumberOf("010")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,{"b":null}],"c":"\ud83d\ude00"}`, `[[[[]]]]`, `"\u0000"`, `1e999999999`, `-0.0e-7`,
		`{"a":1,"a":2}`, "\"\xff\xfe\"", `{"a":}`, ` [ true , false ] `, `12345678901234567890`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Parse(data)
		if (err == nil) != json.Valid(data) && !strings.Contains(err.Error(), "deeper") {
			t.Fatalf("Parse error %v, but encoding/json says valid: %t", err, json.Valid(data))
		}
		if err != nil {
			return
		}
		again := parse(t, v.String())
		if !value.Equal(v, again) || again.String() != v.String() {
			t.Fatalf("%s came back as %s", v, again)
		}
	})
}
