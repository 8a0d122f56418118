// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package key

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Difference is one place in which two requests differ.
type Difference struct {
	Path          string // "method", "path", "query.n", "body.messages[1].content"
	Recorded, Now string // compact JSON; empty where there is nothing
}

func (d Difference) String() string {
	switch {
	case d.Recorded == "":
		return fmt.Sprintf("%s: not recorded, now %s", d.Path, shorten(d.Now))
	case d.Now == "":
		return fmt.Sprintf("%s: recorded %s, now absent", d.Path, shorten(d.Recorded))
	}
	a, b := window(d.Recorded, d.Now)
	return fmt.Sprintf("%s: recorded %s, now %s", d.Path, a, b)
}

// maxText bounds how much of a value is shown.
const maxText = 120

func shorten(s string) string { return around(s, 0) }

// around shows maxText bytes of s around the byte at a place.
func around(s string, at int) string {
	const before = 20
	if at <= 2*before {
		at = 0
	}
	s = strings.ToValidUTF8(s, "?")
	after := maxText - min(at, before)
	part, _ := prose.Around(s, at, before, after)
	if len(s)-at > after {
		part += fmt.Sprintf(" (%d bytes)", len(s))
	}
	return part
}

// window shows two long texts around the first place where they differ.
func window(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if len(a) <= maxText && len(b) <= maxText {
		n = 0
	}
	return around(a, n), around(b, n)
}

// Diff returns where two requests differ, in order; nil when they count as
// the same. What does not count is not told of.
func Diff(recorded, now *Key) []Difference {
	var d differ
	d.text("method", recorded.method, now.method)
	d.text("path", recorded.path, now.path)
	names := map[string]bool{}
	for name := range recorded.query {
		names[name] = true
	}
	for name := range now.query {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.text("query."+name, strings.Join(recorded.query[name], ","), strings.Join(now.query[name], ","))
	}
	d.value("body", recorded.value(), now.value(), true, true)
	if !bytes.Equal(recorded.raw, now.raw) {
		d.text("body", string(recorded.raw), string(now.raw))
	}
	return d.out
}

type differ struct{ out []Difference }

func (d *differ) text(path, a, b string) {
	if a != b {
		d.out = append(d.out, Difference{path, quote(a), quote(b)})
	}
}

func quote(s string) string {
	if s == "" {
		return ""
	}
	if !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	return value.StringOf(s).String()
}

func (d *differ) value(path string, a, b value.Value, hasA, hasB bool) {
	switch {
	case hasA && hasB && a.Kind() == value.Object && b.Kind() == value.Object:
		for _, m := range a.Members() {
			other, ok := b.Get(m.Key)
			d.value(path+step(m.Key), m.Value, other, true, ok)
		}
		for _, m := range b.Members() {
			if _, ok := a.Get(m.Key); !ok {
				d.value(path+step(m.Key), value.Value{}, m.Value, false, true)
			}
		}
	case hasA && hasB && a.Kind() == value.Array && b.Kind() == value.Array:
		x, y := a.Items(), b.Items()
		for i := range max(len(x), len(y)) {
			var p, q value.Value
			if i < len(x) {
				p = x[i]
			}
			if i < len(y) {
				q = y[i]
			}
			d.value(fmt.Sprintf("%s[%d]", path, i), p, q, i < len(x), i < len(y))
		}
	default:
		var one, other string
		if hasA {
			one = a.String()
		}
		if hasB {
			other = b.String()
		}
		if one != other {
			d.out = append(d.out, Difference{path, one, other})
		}
	}
}
