// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package faults

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type entry string

func (e entry) String() string { return string(e) }

// TestLookedUp: an entry is found by its whole name, and a name that is not
// known is told with the nearest.
func TestLookedUp(t *testing.T) {
	list := []entry{"hang", "delay"}
	if got, ok := Find(list, "delay"); !ok || got != "delay" {
		t.Errorf("delay is %q, %t", got, ok)
	}
	if got, ok := Find(list, "hang"); !ok || got != "hang" {
		t.Errorf("hang, the first, is %q, %t", got, ok)
	}
	if got, ok := Find(list, "han"); ok || got != "" {
		t.Errorf("han is %q, %t", got, ok)
	}
	if got := Names(list); !slices.Equal(got, []string{"hang", "delay"}) {
		t.Errorf("names %q", got)
	}
	for name, want := range map[string]string{
		"dely":     "unknown fault \"dely\" (did you mean \"delay\"?); `rehearse faults` lists them",
		"preset_2": "unknown fault \"preset_2\" (did you mean \"preset_1\"?); `rehearse faults` lists them",
		"zzzzzz":   "unknown fault \"zzzzzz\"; `rehearse faults` lists them",
	} {
		if err := Unknown(name, Names(list), []string{"preset_1"}); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := Name("hang", "") + " " + Name("hang", "before"); got != "hang hang/before" {
		t.Errorf("named %s", got)
	}
}

// TestSchedule plays each schedule over eight events that a fault fits.
func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		name    string
		s       Schedule
		want    string // of each event
		endless bool
	}{
		{"once", Schedule{}, "x.......", false},
		{"once, in words", Schedule{Times: 1}, "x.......", false},
		{"twice", Schedule{Times: 2}, "xx......", false},
		{"without end", Schedule{Times: -1}, "xxxxxxxx", true},
		{"lasting", Schedule{Endless: true}, "xxxxxxxx", true},
		{"lasting, twice", Schedule{Endless: true, Times: 2}, "xx......", false},
		{"each", Schedule{Every: 1}, "xxxxxxxx", true},
		{"each third", Schedule{Every: 3}, "..x..x..", true},
		{"each third, once", Schedule{Every: 3, Times: 1}, "..x.....", false},
		{"the first", Schedule{Nth: 1}, "x.......", false},
		{"the third", Schedule{Nth: 3}, "..x.....", false},
		{"always", Schedule{Probability: 1}, "xxxxxxxx", true},
		{"always, twice", Schedule{Probability: 1, Times: 2}, "xx......", false},
		{"hardly ever", Schedule{Probability: 1e-12}, "........", true},
	} {
		var c Count
		var got strings.Builder
		random := rand.New(rand.NewPCG(1, 2))
		for range 8 {
			letter := byte('.')
			if !c.Spent(tt.s) && c.Fits(tt.s, random) {
				letter = 'x'
			}
			got.WriteByte(letter)
		}
		if got.String() != tt.want || c.Struck != strings.Count(tt.want, "x") || tt.s.IsEndless() != tt.endless {
			t.Errorf("%s: strikes %s, %d times, endless %t; want %s, %t", tt.name, got.String(), c.Struck, tt.s.IsEndless(), tt.want, tt.endless)
		}
		if c.Spent(tt.s) == tt.endless && tt.name != "the third" {
			t.Errorf("%s: spent %t in the end", tt.name, c.Spent(tt.s))
		}
	}
	var c Count
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		c.Fits(Schedule{Probability: 0.3}, random)
	}
	if c.Fitted != 1000 || c.Struck < 250 || c.Struck > 350 {
		t.Errorf("with a chance of 0.3 it strikes %d of %d", c.Struck, c.Fitted)
	}
}

// TestEdgeOfAProbability: what is drawn is from 0 to below 1, so a number below
// the probability strikes, and the probability itself does not.
func TestEdgeOfAProbability(t *testing.T) {
	drawn := rand.New(rand.NewPCG(1, 2)).Float64()
	for p, want := range map[float64]bool{drawn: false, math.Nextafter(drawn, 1): true} {
		var c Count
		if got := c.Fits(Schedule{Probability: p}, rand.New(rand.NewPCG(1, 2))); got != want {
			t.Errorf("%v of a probability of %v strikes: %t, want %t", drawn, p, got, want)
		}
	}
}

// TestChecks holds each check to both sides of its bounds.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *Check)
		want string
	}{
		{"nothing", func(*Check) {}, ""},
		{"a form", func(c *Check) { c.Form("a", []string{"a", "b"}) }, ""},
		{"no form", func(c *Check) { c.Form("", []string{"a"}); c.Form("", nil) }, ""},
		{"a form that is none", func(c *Check) { c.Form("before", []string{"befor", "x"}) }, `fault f has no form "before" (did you mean "befor"?); it has befor, x`},
		{"a form of a kind without", func(c *Check) { c.Form("a", nil) }, `fault f has no forms, but "a" is given`},
		{"settings", func(c *Check) { c.Uses([]string{"a"}, []Setting{{"a", true}, {"b", false}}) }, ""},
		{"settings of no use", func(c *Check) { c.Uses([]string{"a"}, []Setting{{"b", true}, {"c", true}}) }, "fault f does not use b\nfault f does not use c"},
		{"not given", func(c *Check) { c.Between("status", 0, 200, 599) }, ""},
		{"the least", func(c *Check) { c.Between("status", 200, 200, 599) }, ""},
		{"the most", func(c *Check) { c.Between("status", 599, 200, 599) }, ""},
		{"less", func(c *Check) { c.Between("status", 199, 200, 599) }, "status 199 of fault f is not between 200 and 599"},
		{"more", func(c *Check) { c.Between("status", 600, 200, 599) }, "status 600 of fault f is not between 200 and 599"},
		{"no chance", func(c *Check) { c.Schedule(0, false) }, ""},
		{"certain", func(c *Check) { c.Schedule(1, false) }, ""},
		{"more than certain", func(c *Check) { c.Schedule(1.1, false) }, "probability 1.1 of fault f is not between 0 and 1"},
		{"less than none", func(c *Check) { c.Schedule(-0.1, false) }, "probability -0.1 of fault f is not between 0 and 1"},
		{"negative", func(c *Check) { c.Schedule(0, true) }, "fault f has a negative setting"},
	} {
		c := Check{Kind: "f"}
		got := ""
		if tt.do(&c); c.Err() != nil {
			got = c.Err().Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
