// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package yamledit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/internal/yamledit"
)

// TestSet replaces the value of the key v, which is in the map at the given line,
// and nothing beside it.
func TestSet(t *testing.T) {
	list := []any{map[string]any{"a.b": map[string]any{"x": 1}}, "c"}
	for _, tc := range []struct {
		name, src string
		line, col int
		value     any
		want      string
	}{
		{"plain", "a: 1  # one\nv: old # why\nb: [x,  y]\n", 1, 1, "new", "a: 1  # one\nv: new # why\nb: [x,  y]\n"},
		{"plain over lines", "v: old text\n  goes on\nb: 1\n", 1, 1, "new", "v: new\nb: 1\n"},
		{"double quotes", `v: "a \" # b" # c` + "\n", 1, 1, "x: y", "v: 'x: y' # c\n"},
		{"single quotes", "v: 'it''s' # c\n", 1, 1, 5, "v: 5 # c\n"},
		{"a text of lines", "v: old\nb: 1\n", 1, 1, "a\nb\n", "v: \"a\\nb\\n\"\nb: 1\n"},
		{"a block", "x:\n  - v: |\n      old\n\n      text\n    b: 1\n", 2, 5, "new\ntext\n", "x:\n  - v: |\n      new\n      text\n    b: 1\n"},
		{"a block at the end", "v: |\n  old\n", 1, 1, "one", "v: one\n"},
		{"flow in flow", "x: {a: 1, v: [1, 'a]', {b: \"}\"}], c: it's} # d\n", 1, 4, list, "x: {a: 1, v: [{a.b: {x: 1}}, c], c: it's} # d\n"},
		{"flow over lines", "v: [1, # one\n  2]\nb: 1\n", 1, 1, list, "v: [{a.b: {x: 1}}, c]\nb: 1\n"},
		{"a block list", "x:\n    - v:\n      - old\n      - {o: l}  # two\n      # three\n    - b: 1\n", 2, 7, list, "x:\n    - v:\n      - a.b:\n          x: 1\n      - c\n      # three\n    - b: 1\n"},
		{"a block list that is emptied", "v:\n  - old\nb: 1\n", 1, 1, []any{}, "v:\n  []\nb: 1\n"},
		{"characters of several bytes", "ä: {ö: ü, v: é}\n", 1, 4, "ß", "ä: {ö: ü, v: ß}\n"},
		{"no line at the end", "v: old", 1, 1, "new", "v: new"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := yamledit.Parse("f.yaml", []byte(tc.src))
			if err != nil {
				t.Fatal(err)
			}
			n := yamledit.Get(f.At(tc.line, tc.col), "v")
			if n == nil {
				t.Fatal("there is no such value")
			}
			if err := f.Set(n, tc.value); err != nil {
				t.Fatal(err)
			}
			got, err := f.Bytes()
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestSetKeeps: nodes of the file keep what they look like, and their comments.
func TestSetKeeps(t *testing.T) {
	const src = "v:\n  # before a\n  - a: {x: 'y'} # of a\n  # before b\n  - b: \"z\" # of b\nw: 1\n"
	f, err := yamledit.Parse("f.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	list := yamledit.Get(f.At(1, 1), "v")
	with := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{list.Content[0], {Kind: yaml.ScalarNode, Value: "new"}, list.Content[1]}}
	if err := f.Set(list, with); err != nil {
		t.Fatal(err)
	}
	got, err := f.Bytes()
	const want = "v:\n  # before a\n  - a: {x: 'y'} # of a\n  - new\n  # before b\n  - b: \"z\" # of b\nw: 1\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestItemAt(t *testing.T) {
	f, err := yamledit.Parse("f.yaml", []byte("a: 1\nturns:\n  - v:\n      - {a: {v: [b]}}\n      - c: [d,\n          e]\n    w: [x]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ line, col, want int }{{4, 9, 4}, {4, 18, 4}, {5, 9, 5}, {6, 11, 5}, {7, 8, 0}, {1, 1, 0}} {
		got := 0
		if n := f.ItemAt("v", tc.line, tc.col); n != nil {
			got = n.Line
		}
		if got != tc.want {
			t.Errorf("%d:%d is in the item at line %d, want %d", tc.line, tc.col, got, tc.want)
		}
	}
	// Items of one line are told apart by their columns.
	f, err = yamledit.Parse("f.yaml", []byte("v: [{a: 1}, {b: 2}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for col, want := range map[int]int{5: 5, 9: 5, 13: 13, 17: 13} {
		if n := f.ItemAt("v", 1, col); n == nil || n.Column != want {
			t.Errorf("1:%d is in the item %+v, want the one at column %d", col, n, want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	f, err := yamledit.Parse("f.yaml", []byte("a: &x [1]\nv: *x\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "v"} {
		if err := f.Set(yamledit.Get(f.At(1, 1), key), 1); err == nil || !strings.Contains(err.Error(), "f.yaml:") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if f.At(2, 4) != nil {
		t.Error("an alias is no map")
	}
	if _, err := yamledit.Parse("f.yaml", []byte("a: [")); err == nil {
		t.Error("no error of what is no YAML")
	}
}

// FuzzSet: an edit changes its value and no other.
func FuzzSet(f *testing.F) {
	f.Add("a: 1\nv: [x, 'y', {z: \"w\"}] # c\nb: |\n  t\n")
	f.Add("v: |\n  a\n\n  b\nc: d\n")
	f.Add("v:\n- a: b # c\n  d: e f\n   g\n# h\nx: y\n")
	f.Add("{a: it's, v: 'it''s', b: \"\\\"\"}")
	f.Fuzz(func(t *testing.T, src string) {
		file, err := yamledit.Parse("f", []byte(src))
		if err != nil {
			return
		}
		n := yamledit.Get(file.At(1, 1), "v")
		var before map[string]any
		if n == nil || yaml.Unmarshal([]byte(src), &before) != nil || file.Set(n, "set") != nil {
			return
		}
		got, err := file.Bytes()
		if err != nil {
			return // refused
		}
		var after map[string]any
		if err := yaml.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		before["v"] = "set"
		if diff := cmp.Diff(fmt.Sprint(before), fmt.Sprint(after)); diff != "" {
			t.Errorf("%q became %q: %s", src, got, diff)
		}
	})
}
