// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package match compares a JSON value with an expectation: a literal value
// with operators ($regex, $any_of, $optional, ...) and {{ }} in it. What
// differs is listed by path with the rule that failed.
//
//	m, err := match.Compile(expected, &match.Options{Scope: expr.Expectation, Root: "args"})
//	mismatches, err := m.Match(got, &expr.Vars{})
//
// # Rules
//
// A map in an expectation matches when the keys that it names match (named),
// and with [Options.Exact] only when there are no others. Lists match item by
// item at equal length. Numbers are compared by exact value: 5 is 5.0. A
// string with {{ }} in it is the string that comes out.
//
// A map with one key that begins with $ is an operator:
//
//	$any_of: [a, b]     one of these
//	$all: [a, b]        all of these
//	$not: a             not this; holds for what is absent too, unless a does
//	$optional: a        absent, or this
//	$absent: true       absent
//	$regex: '^ab'       a string with this in it (RE2)
//	$glob: 'a*.?'       a string; * is any text, ? one character
//	$number: {value: 5, abs: 0.1, rel: 0.01}
//	                    a number as near as the larger of the two allows
//	$integer: 5         a number spelled without point and exponent; true: any
//	$float: 5.0         a number spelled with one of them; true: any
//	$normalize: {value: x, rule: case}
//	                    the same but for case; rule: space, but for runs of
//	                    space; rule: bfcl, but for space, case and , . / - _ * ^
//	                    in strings, while integers and floats differ
//	$date: 2025-03-14   a string that is this day, in whatever spelling
//	$length: 3          items, keys or characters; {min: 1, max: 3}
//	$schema: {...}      what fits a JSON Schema (draft 2020-12 or 7)
//	$type: string       null, boolean, integer, number, string, array, object
//	$set: [a, b]        a list of these in any order
//	$that: value > 3    a value for which the expression is true
//	$cel: result.id     what the expression gives
//	$literal: {...}     this, without operators and {{ }}; numbers as spelled
//
// An expression in $that that cannot be evaluated for a value (it misses a
// key, or has another type) does not hold. All other expressions that fail are
// an error of the expectation, and so is one in $that that takes too much
// ([expr.LimitError]).
package match

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Options are settings of [Compile].
type Options struct {
	// Scope of the expressions in the expectation. Default: expr.Request.
	Scope expr.Scope
	// Exact makes keys that the expectation does not name a mismatch.
	// Default: named, they are ignored.
	Exact bool
	// Root stands before the paths of mismatches: "args". Default: "value".
	Root string
	// Pos tells where the expectation at a path stands, for mismatches. Nil
	// knows no positions.
	Pos func(value.Path) harness.Position
}

// Problem is a mistake in an expectation.
type Problem struct {
	Path value.Path
	Msg  string // may have a second and third line, with a caret
}

// Problems are all mistakes of an expectation, in document order.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Msg
		if len(problem.Path) > 0 {
			lines[i] = problem.Path.String() + ": " + problem.Msg
		}
	}
	return strings.Join(lines, "\n")
}

// Matcher is a compiled expectation. It can be used concurrently.
type Matcher struct {
	src  value.Value
	root node
	opts Options
	list []*expr.Program
	tree func() *expr.Tree // the expectation as a value that computes; nil where it is none
}

// Compile compiles an expectation. opts may be nil. The error is [Problems].
func Compile(v value.Value, opts *Options) (*Matcher, error) {
	m := &Matcher{src: v}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Root == "" {
		m.opts.Root = "value"
	}
	env, err := expr.NewEnv(m.opts.Scope)
	if err != nil {
		return nil, Problems{{Msg: err.Error()}}
	}
	c := compiler{env: env, scope: m.opts.Scope}
	m.root = c.compile(nil, v)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	m.list = c.programs
	m.tree = sync.OnceValue(func() *expr.Tree {
		if text := v.String(); !strings.Contains(text, "$cel") && !strings.Contains(text, "{{") {
			return nil // it reads nothing
		}
		tree, err := env.CompileValue(v)
		if err != nil {
			return nil // it is compiled as an expectation, and not wrong
		}
		return tree
	})
	return m, nil
}

// Match compares got with the expectation and returns what differs, nil when
// nothing does. The error is that of an expression in the expectation.
func (m *Matcher) Match(got value.Value, vars *expr.Vars) ([]trials.Mismatch, error) {
	return m.run(got, true, vars)
}

// MatchAbsent is [Matcher.Match] for an absent value.
func (m *Matcher) MatchAbsent(vars *expr.Vars) ([]trials.Mismatch, error) {
	return m.run(value.Value{}, false, vars)
}

func (m *Matcher) run(got value.Value, present bool, vars *expr.Vars) ([]trials.Mismatch, error) {
	if vars == nil {
		vars = &expr.Vars{}
	}
	r := run{opts: &m.opts, vars: vars}
	m.root.match(&r, nil, got, present)
	if r.err != nil {
		return nil, r.err
	}
	return r.out, nil
}

// Programs returns the expressions of the expectation, for checks of a file.
func (m *Matcher) Programs() []*expr.Program { return m.list }

// Text returns the expectation as compact JSON with the values of what it
// computes; as it is written where one of them does not exist.
func (m *Matcher) Text(vars *expr.Vars) string {
	tree := m.tree()
	if tree == nil {
		return m.String()
	}
	v, err := tree.Expand(vars)
	if err != nil {
		return m.String()
	}
	return v.String()
}

// String returns the expectation as compact JSON.
func (m *Matcher) String() string { return m.src.String() }

// run is one comparison.
type run struct {
	opts *Options
	vars *expr.Vars
	out  []trials.Mismatch
	err  error // the first
}

// fail notes a mismatch.
func (r *run) fail(at value.Path, rule, want, got string) {
	path := r.opts.Root + at.String()
	if len(at) > 0 {
		if s := at.String(); s[0] != '[' {
			path = r.opts.Root + "." + s
		}
	}
	m := trials.Mismatch{Path: path, Rule: rule, Want: want, Got: got}
	if r.opts.Pos != nil {
		m.Pos = r.opts.Pos(at)
	}
	r.out = append(r.out, m)
}

// check notes an error, and reports whether there was none.
func (r *run) check(err error) bool {
	if err != nil && r.err == nil {
		r.err = err
	}
	return err == nil
}

// try reports whether a node matches, without noting why not.
func (r *run) try(n node, at value.Path, got value.Value, present bool) bool {
	attempt := run{opts: r.opts, vars: r.vars}
	n.match(&attempt, at, got, present)
	return r.check(attempt.err) && len(attempt.out) == 0
}

// node is one place of an expectation.
type node struct {
	src   value.Value
	match matchFunc
}

type matchFunc func(r *run, at value.Path, got value.Value, present bool)

const absent = "absent"

// present wraps a match that an absent value fails.
func (n node) present(r *run, at value.Path, got value.Value, present bool) {
	if !present {
		r.fail(at, "missing", short(n.src), absent)
		return
	}
	n.match(r, at, got, true)
}

// required makes a node from a match that needs a value.
func required(src value.Value, match func(r *run, at value.Path, got value.Value)) node {
	n := node{src: src, match: func(r *run, at value.Path, got value.Value, _ bool) { match(r, at, got) }}
	return node{src: src, match: n.present}
}

// short shows a value in a mismatch.
func short(v value.Value) string { return prose.Excerpt(v.String(), 300) }

// show is short, or the word for an absent value.
func show(v value.Value, present bool) string {
	if !present {
		return absent
	}
	return short(v)
}

// unequal notes that two values differ, and says how where they look alike.
func (r *run) unequal(at value.Path, rule string, want, got value.Value) {
	w, g := short(want), short(got)
	if want.Kind() != got.Kind() && want.Text() == got.Text() {
		w = fmt.Sprintf("%s (a %s)", w, want.Kind())
		g = fmt.Sprintf("%s (a %s)", g, got.Kind())
	}
	r.fail(at, rule, w, g)
}
