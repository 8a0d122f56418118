// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tier says how much a difference matters to a client.
type Tier string

// The tiers, the worst first.
const (
	Breaking Tier = "breaking" // something is gone, or of another type
	Risky    Tier = "risky"    // it ends, is ordered or calls tools otherwise
	Minor    Tier = "minor"    // something has come in addition
)

// Difference is one way in which two shapes differ.
type Difference struct {
	Tier Tier
	Path string
	Text string // "was a string, is absent"
}

func (d Difference) String() string { return fmt.Sprintf("%s: %s: %s", d.Tier, d.Path, d.Text) }

// Diff returns how an answer's shape differs from what it was, the worst
// first; nil when it does not.
func Diff(was, is *Shape) []Difference {
	var out []Difference
	add := func(t Tier, path, format string, args ...any) {
		out = append(out, Difference{t, path, fmt.Sprintf(format, args...)})
	}
	if was.code != is.code {
		add(Breaking, "status", "was %d, is %d", was.code, is.code)
	}
	if was.kind != is.kind {
		add(Breaking, "content type", "was %q, is %q", was.kind, is.kind)
	}
	paths(was.body, is.body, add)
	paths(was.details, is.details, add)
	if !slices.Equal(was.events, is.events) {
		add(Risky, "events", "were %s, are %s", strings.Join(was.events, ", "), strings.Join(is.events, ", "))
	}
	for _, name := range KeysOf(was.habits, is.habits) {
		if a, b := was.habits[name], is.habits[name]; a != b {
			add(Risky, name, "was %s, is %s", orAbsent(a), orAbsent(b))
		}
	}
	order := []Tier{Breaking, Risky, Minor}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return slices.Index(order, a.Tier) - slices.Index(order, b.Tier)
	})
	return out
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return fmt.Sprintf("%q", s)
}

// paths compares types by path. What lies beneath a path that is on one side
// only is not told of as well.
func paths(was, is map[string]types, add func(Tier, string, string, ...any)) {
	told := ""
	for _, path := range KeysOf(was, is) {
		if told != "" && (strings.HasPrefix(path, told+".") || strings.HasPrefix(path, told+"[")) {
			continue
		}
		a, b := was[path], is[path]
		switch {
		case b == nil:
			add(Breaking, path, "was %s, is absent", a)
			told = path
		case a == nil:
			add(Minor, path, "was absent, is %s", b)
			told = path
		case !maps.Equal(a, b):
			tier := Minor // a type fewer: the rest was seen before
			for t := range b {
				if !a[t] {
					tier = Breaking
				}
			}
			add(tier, path, "was %s, is %s", a, b)
		}
	}
}

// KeysOf are the keys of both, in order.
func KeysOf[V any](a, b map[string]V) []string {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return slices.Sorted(maps.Keys(all))
}
