// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package match compares a JSON value with an expectation: a literal value
// with operators ($regex, $any_of, $optional, ...) and {{ }} in it. What
// differs is listed by path with the rule that failed.
//
//	m, err := match.Compile(expected, &match.Options{Scope: expr.Expectation, Root: "args"})
//	mismatches, err := m.Match(got, &expr.Vars{})
//
// A map in an expectation matches when the keys that it names match; lists
// match item by item at equal length.
package match

import (
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/harness/value"
)

// Options are settings of [Compile].
type Options struct {
	// Scope of the expressions in the expectation; default expr.Request.
	Scope expr.Scope
	// Exact makes keys that the expectation does not name a mismatch.
	// Default: named, they are ignored.
	Exact bool
	// Root stands before the paths of mismatches: "args". Default "value".
	Root string
}

// Problem is a mistake in an expectation.
type Problem struct {
	Path value.Path
	Msg  string
}

// Problems are all mistakes of an expectation, in document order.
type Problems []Problem

func (p Problems) Error() string { panic("TODO") }

// Matcher is a compiled expectation. It can be used concurrently.
type Matcher struct{ opts Options }

// Compile compiles an expectation. opts may be nil. The error is [Problems].
func Compile(v value.Value, opts *Options) (*Matcher, error) { panic("TODO") }

// Match compares got with the expectation and returns what differs, nil when
// nothing does. The error is that of an expression in the expectation.
func (m *Matcher) Match(got value.Value, vars *expr.Vars) ([]harness.Mismatch, error) {
	panic("TODO")
}

// MatchAbsent is [Matcher.Match] for a value that is not there at all.
func (m *Matcher) MatchAbsent(vars *expr.Vars) ([]harness.Mismatch, error) { panic("TODO") }

// String returns the expectation as compact JSON.
func (m *Matcher) String() string { panic("TODO") }

// Glob reports whether text matches a pattern in which * stands for any text
// and ? for one character.
func Glob(pattern, text string) bool { panic("TODO") }
