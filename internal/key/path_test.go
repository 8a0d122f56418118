// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/key"
)

// TestPaths: a path may be written as a miss prints it.
func TestPaths(t *testing.T) {
	const was = `{"body":{"x":1},"messages":[{"content":"on 2026-11-27 at noon"}],"metadata":{"a.b":1,"n":[[1]]},"t":1}`
	const is = `{"body":{"x":2},"messages":[{"content":"on 2026-11-28 at noon"}],"metadata":{"a.b":2,"n":[[2]]},"t":1}`
	of := func(body string, paths ...string) *key.Key {
		return key.Of("POST", "http://h/v1", http.Header{}, []byte(body), &key.Rules{Ignore: []string{}, Also: paths})
	}
	d := key.Diff(of(was), of(is))
	var printed []string
	for _, one := range d {
		printed = append(printed, one.Path)
	}
	if want := `body.body.x body.messages[0].content body.metadata["a.b"] body.metadata.n[0][0]`; strings.Join(printed, " ") != want {
		t.Fatalf("a miss prints %q", printed)
	}
	for _, paths := range [][]string{
		printed,
		{"body.x", "messages.0.content", `metadata["a.b"]`, "metadata.n.0.0"},
		{"body.x", `messages[0].content =~ \d{4}-\d{2}-\d{2}`, "metadata.*", "**.n"},
		{"**.x", `** =~ \d{4}-\d{2}-\d{2}`, "metadata"},
	} {
		k := of(is, paths...)
		if k.ID != of(was, paths...).ID {
			t.Errorf("%q: the requests differ still: %v", paths, key.Diff(of(was, paths...), k))
		}
		for _, p := range paths {
			if !k.Fits(p) && p != "**.n" { // metadata.* was first
				t.Errorf("%q fitted nothing", p)
			}
		}
		if k.Fits("messages[1]") {
			t.Error("a path that was not given fits")
		}
	}
	if of(was, `messages[0].content =~ \d\d:\d\d`).Fits(`messages[0].content =~ \d\d:\d\d`) {
		t.Error("a pattern fits that is not in the text")
	}
	if a, b := of(`{"c":"on 1 at noon"}`, `c =~ \d`), of(`{"c":"on 2 at night"}`, `c =~ \d`); a.ID == b.ID {
		t.Error("a pattern takes the whole text out")
	}
}

func TestBadPaths(t *testing.T) {
	for path, want := range map[string]string{
		"":           "is empty",
		"**":         "want a key after **",
		"a.**.b":     "** is allowed only at the beginning",
		"a[0":        "not closed",
		`a["x]`:      "not closed",
		"a..b":       "a key is empty",
		"a]b[0]c":    "want a dot or a bracket",
		"a =~ [":     "after =~",
		"a =~ x*":    "matches the empty text",
		"a =~ ":      "matches the empty text",
		"a.b.":       "a key is empty",
		"=~ \\d":     "is empty",
		`["a"]b`:     "want a dot or a bracket",
		`a["\x"]`:    "not closed",
		"a.[0]":      "a key is empty",
		"messages[]": "not closed",
	} {
		err := (&key.Rules{Also: []string{path}}).Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", path, err, want)
		}
	}
	if err := (&key.Rules{}).Check(); err != nil {
		t.Error(err)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"messages[0].content", "**.a", `x["a.b"][1]`, "a =~ \\d+", "body.*.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := key.ParsePath(s)
		if err == nil {
			p.Fits([]string{"a", "b"})
			p.Fits(nil)
		}
	})
}
