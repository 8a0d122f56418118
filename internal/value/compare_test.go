// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// TestComparisons has what each comparison takes for the same.
func TestComparisons(t *testing.T) {
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, tc := range []struct {
		a, b                string
		same, floats, canon bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b": [true, null], "a": 1.0}`, true, true, true},
		{`{"a":{"y":1,"x":2}}`, `{"a":{"x":2,"y":1}}`, true, true, true},
		{`[1,2]`, `[2,1]`, false, false, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false, false, false},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, false, false, false},
		{`1e2`, `100`, true, true, true},
		{`12345678901234567890`, `12345678901234567891`, false, true, false},
		{`0.1`, `0.10000000000000001`, false, true, false},
		{`1`, `2`, false, false, false},
		{`1`, `"1"`, false, false, false},
		{`"a"`, `"\u0061"`, true, true, true},
		{`"a"`, `"b"`, false, false, false},
		{`true`, `false`, false, false, false},
		{`1e999999999`, `1e999999999`, true, true, true},
		{`1e999999998`, `1e999999999`, false, false, false},
		{deep, strings.ReplaceAll(deep, "[", " ["), true, false, false},
		{deep, deep[1 : len(deep)-1], false, false, false},
		{`{`, `{`, true, false, false},
		{`{`, `[`, false, false, false},
	} {
		t.Run(fmt.Sprintf("%.30s and %.30s", tc.a, tc.b), func(t *testing.T) {
			if got := value.Same([]byte(tc.a), []byte(tc.b)); got != tc.same {
				t.Errorf("Same: got %v", got)
			}
			a, errA := value.Parse([]byte(tc.a))
			b, errB := value.Parse([]byte(tc.b))
			if errA != nil || errB != nil {
				return
			}
			if got := value.Equal(a, b); got != tc.same {
				t.Errorf("Equal: got %v", got)
			}
			if got := value.EqualFunc(a, b, value.Floats); got != tc.floats {
				t.Errorf("with Floats: got %v", got)
			}
			if got := string(a.AppendCanonical(nil)) == string(b.AppendCanonical(nil)); got != tc.canon {
				t.Errorf("canonical: %s and %s", a.AppendCanonical(nil), b.AppendCanonical(nil))
			}
		})
	}
}

func TestWalk(t *testing.T) {
	v, err := value.Parse([]byte(`{"a":[1,{"b":2}],"skip":{"c":3},"d":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	value.Walk(v, func(at value.Path, v value.Value) bool {
		got = append(got, fmt.Sprintf("%s=%s", at, v))
		return at.Key() != "skip"
	})
	want := []string{`={"a":[1,{"b":2}],"skip":{"c":3},"d":"x"}`, `a=[1,{"b":2}]`, `a[0]=1`, `a[1]={"b":2}`, `a[1].b=2`, `skip={"c":3}`, `d="x"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMap(t *testing.T) {
	v, err := value.Parse([]byte(`{"n":1,"a":[1,{"n":2}],"keep":{"n":3},"empty":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := value.Map(v, func(at value.Path, v value.Value) (value.Value, bool) {
		switch {
		case at.Key() == "keep":
			return v, false
		case v.Kind() == value.Number:
			return value.StringOf(at.String()), true
		}
		return v, true
	})
	if want := `{"n":"n","a":["a[0]",{"n":"a[1].n"}],"keep":{"n":3},"empty":[]}`; got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v.String() != `{"n":1,"a":[1,{"n":2}],"keep":{"n":3},"empty":[]}` {
		t.Errorf("the value itself has changed: %s", v)
	}
}

// TestScanner goes over texts that are JSON, broken off, and no JSON.
func TestScanner(t *testing.T) {
	for _, tc := range []struct {
		text string
		skip bool
		rest string // behind what Skip took
	}{
		{`{"a":[1,{"b":"}\""}],"c":null} x`, true, " x"},
		{`"a\\" 1`, true, " 1"},
		{` -1.5e+3,`, true, ","},
		{`[]`, true, ""},
		{`{"a`, false, ""},
		{`[1,2`, false, ""},
		{`"a\"`, false, ""},
		{`}`, false, ""},
		{`,1`, false, ",1"},
		{``, false, ""},
		{"\x00", false, "\x00"},
	} {
		s := value.Scanner{Data: []byte(tc.text)}
		if got := s.Skip(); got != tc.skip || string(s.Data[s.At:]) != tc.rest {
			t.Errorf("%q: got %v, and %q is left", tc.text, got, s.Data[s.At:])
		}
	}
	for _, tc := range []struct{ text, want string }{
		{`{"b":{"a":1}, "a" : [2]}`, "[2]}"},
		{`{"b":1}`, "none"},
		{`{}`, "none"},
		{`[1]`, "none"},
		{`{"b":1,`, "none"},
	} {
		s := value.Scanner{Data: []byte(tc.text)}
		got := "none"
		if s.Find("a") {
			got = string(s.Data[s.At:])
		}
		if got != tc.want {
			t.Errorf("%q: found %q, want %q", tc.text, got, tc.want)
		}
	}
}

// FuzzScanner holds that what is JSON is taken as one value, to its end, and
// that nothing else is read beyond it.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"}\""}],"c":null}`, `"a\\"`, `[`, `{"a":`, `tru`, "\x00", `{"a":1}{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := value.Scanner{Data: data}
		ends := s.Skip()
		if s.At > len(data) {
			t.Fatalf("read up to %d of %d", s.At, len(data))
		}
		if json.Valid(data) && (!ends || s.Next() != 0) {
			t.Errorf("%q: got %v, up to %d", data, ends, s.At)
		}
		s = value.Scanner{Data: data}
		s.Find("a")
	})
}
