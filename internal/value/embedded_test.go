// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/value"
)

func TestEmbedded(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"none", "two (2) items", nil},
		{"nothing but one", ` {"a": [1]} `, []string{`{"a": [1]}`}},
		{"behind a line", "Found [two]:\n{\n \"a\": 1\n}\nand [3].", []string{"{\n \"a\": 1\n}", "[3]"}},
		{"inside what is none", "[see {\"a\":1}]", []string{`{"a":1}`}},
		{"braces in a text", `{"a": "}{"} {}`, []string{`{"a": "}{"}`, "{}"}},
		{"cut off", `x {"a": {"b": 1}`, []string{`{"b": 1}`}},
		{"side by side", "[1][2]", []string{"[1]", "[2]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range value.Embedded(tt.text) {
				got = append(got, tt.text[p.Start:p.End])
				if v, err := value.Parse([]byte(tt.text[p.Start:p.End])); err != nil || !value.Equal(v, p.Value) {
					t.Errorf("the value of %q is %v", tt.text[p.Start:p.End], p.Value)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A million brackets are a text, and take no time worth speaking of.
func TestEmbeddedBrackets(t *testing.T) {
	if got := value.Embedded(strings.Repeat("[", 1<<20)); got != nil {
		t.Errorf("found %d", len(got))
	}
}

func FuzzEmbedded(f *testing.F) {
	f.Add("Found:\n{\"a\": [1, {\"b\": \"}\"}]} [x]")
	f.Add("[[[[{{{{")
	f.Add("{\"a\":1}{\"a\":1}")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, p := range value.Embedded(text) {
			if p.Start < at || p.End <= p.Start || p.End > len(text) {
				t.Fatalf("place %d to %d after %d, of %d bytes", p.Start, p.End, at, len(text))
			}
			if k := p.Value.Kind(); k != value.Object && k != value.Array {
				t.Fatalf("%v is no object and no array", p.Value)
			}
			at = p.End
		}
	})
}
