// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package faults is what the fault catalogues of both mocks have in common: a
// kind or preset is found by its name, what is written of a fault is checked,
// and what it fits is counted until it strikes.
package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Find returns the entry of that name.
func Find[E fmt.Stringer](list []E, name string) (found E, ok bool) {
	i := slices.IndexFunc(list, func(e E) bool { return e.String() == name })
	if i < 0 {
		return found, false
	}
	return list[i], true
}

// Names returns the names of entries.
func Names[E fmt.Stringer](list []E) []string {
	var names []string
	for _, e := range list {
		names = append(names, e.String())
	}
	return names
}

// Unknown is the error about a name that is neither a kind nor a preset.
func Unknown(name string, known ...[]string) error {
	return fmt.Errorf("unknown fault %q%s; `rehearse faults` lists them", name, prose.DidYouMean(name, slices.Concat(known...)))
}

// Schedule says which of the events that a fault fits it strikes.
type Schedule struct {
	Times, Every, Nth int
	Probability       float64
	Endless           bool // where Times is 0
}

// IsEndless reports whether a fault strikes again and again.
func (s Schedule) IsEndless() bool {
	return s.Times < 0 || s.Times == 0 && (s.Every > 0 || s.Probability > 0 || s.Endless)
}

// Count is how far a fault has come.
type Count struct{ Fitted, Struck int }

// Spent reports whether the fault strikes no more.
func (c *Count) Spent(s Schedule) bool { return !s.IsEndless() && c.Struck >= max(s.Times, 1) }

// Fits counts an event that the fault fits, and reports whether it strikes it.
func (c *Count) Fits(s Schedule, random *rand.Rand) bool {
	c.Fitted++
	switch {
	case s.Nth > 0 && c.Fitted != s.Nth,
		s.Every > 0 && c.Fitted%s.Every != 0,
		s.Probability > 0 && random.Float64() >= s.Probability:
		return false
	}
	c.Struck++
	return true
}

// Name names a fault for messages: its kind, and its form after a slash.
func Name(kind, form string) string {
	if form == "" {
		return kind
	}
	return kind + "/" + form
}

// Setting is a setting of a fault, and whether it is given.
type Setting = struct {
	Name string
	Set  bool
}

// Check collects what is wrong with a fault as it is written.
type Check struct {
	Kind string
	bad  []error
}

// Report notes a mistake.
func (c *Check) Report(format string, args ...any) {
	c.bad = append(c.bad, fmt.Errorf(format, args...))
}

// Err is what was noted.
func (c *Check) Err() error { return errors.Join(c.bad...) }

// Form checks that a form is one of the kind's.
func (c *Check) Form(form string, forms []string) {
	switch {
	case form == "" || slices.Contains(forms, form):
	case len(forms) == 0:
		c.Report("fault %s has no forms, but %q is given", c.Kind, form)
	default:
		c.Report("fault %s has no form %q%s; it has %s", c.Kind, form, prose.DidYouMean(form, forms), strings.Join(forms, ", "))
	}
}

// Uses checks that the kind has a use for the settings that are given.
func (c *Check) Uses(uses []string, settings []Setting) {
	for _, s := range settings {
		if s.Set && !slices.Contains(uses, s.Name) {
			c.Report("fault %s does not use %s", c.Kind, s.Name)
		}
	}
}

// Between checks a number that is given.
func (c *Check) Between(what string, n, least, most int) {
	if n != 0 && (n < least || n > most) {
		c.Report("%s %d of fault %s is not between %d and %d", what, n, c.Kind, least, most)
	}
}

// Schedule checks when it strikes; negative says that a setting is below zero
// that may not be.
func (c *Check) Schedule(probability float64, negative bool) {
	if probability < 0 || probability > 1 {
		c.Report("probability %v of fault %s is not between 0 and 1", probability, c.Kind)
	}
	if negative {
		c.Report("fault %s has a negative setting", c.Kind)
	}
}
