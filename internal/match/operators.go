// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// operator is a key that begins with $. src is the whole map, arg its value.
type operator struct {
	name    string
	compile func(c *compiler, at value.Path, src, arg value.Value) node
}

// operators lists them in the order of the documentation.
func operators() []operator {
	return []operator{
		{"$any_of", (*compiler).anyOf},
		{"$all", (*compiler).all},
		{"$not", (*compiler).not},
		{"$optional", (*compiler).optional},
		{"$absent", (*compiler).absent},
		{"$regex", tested("$regex", regexTest)},
		{"$glob", tested("$glob", globTest)},
		{"$number", tested("$number", numberTest)},
		{"$integer", tested("$integer", integerTest)},
		{"$float", tested("$float", floatTest)},
		{"$normalize", tested("$normalize", normalizeTest)},
		{"$date", tested("$date", dateTest)},
		{"$length", tested("$length", lengthTest)},
		{"$schema", (*compiler).schema},
		{"$type", tested("$type", typeTest)},
		{"$set", (*compiler).set},
		{"$that", (*compiler).that},
		{"$cel", (*compiler).cel},
		{"$literal", (*compiler).literal},
	}
}

func operatorNames() []string {
	all := operators()
	names := make([]string, len(all))
	for i, op := range all {
		names[i] = op.name
	}
	return names
}

// matchers compiles the list of an operator. It returns false when there is
// none.
func (c *compiler) matchers(at value.Path, name string, arg value.Value) ([]node, bool) {
	at = at.Join(name)
	if arg.Kind() != value.Array || arg.Len() == 0 {
		c.fail(at, "%s needs a list with at least one item", name)
		return nil, false
	}
	nodes := make([]node, arg.Len())
	for i, item := range arg.Items() {
		nodes[i] = c.compile(at.Join(i), item)
	}
	return nodes, true
}

func (c *compiler) anyOf(at value.Path, src, arg value.Value) node {
	alternatives, ok := c.matchers(at, "$any_of", arg)
	if !ok {
		return node{}
	}
	return node{src, func(r *run, at value.Path, got value.Value, present bool) {
		for _, n := range alternatives {
			if r.try(n, at, got, present) {
				return
			}
		}
		r.fail(at, "$any_of", "one of "+short(arg), show(got, present))
	}}
}

func (c *compiler) all(at value.Path, src, arg value.Value) node {
	nodes, ok := c.matchers(at, "$all", arg)
	if !ok {
		return node{}
	}
	return node{src, func(r *run, at value.Path, got value.Value, present bool) {
		for _, n := range nodes {
			n.match(r, at, got, present)
		}
	}}
}

func (c *compiler) not(at value.Path, src, arg value.Value) node {
	inner := c.compile(at.Join("$not"), arg)
	return node{src, func(r *run, at value.Path, got value.Value, present bool) {
		if r.try(inner, at, got, present) {
			r.fail(at, "$not", "anything but "+short(arg), show(got, present))
		}
	}}
}

func (c *compiler) optional(at value.Path, src, arg value.Value) node {
	inner := c.compile(at.Join("$optional"), arg)
	return node{src, func(r *run, at value.Path, got value.Value, present bool) {
		if present {
			inner.match(r, at, got, true)
		}
	}}
}

func (c *compiler) absent(at value.Path, src, arg value.Value) node {
	if !arg.Bool() {
		c.fail(at.Join("$absent"), "$absent takes only true")
	}
	return node{src, func(r *run, at value.Path, got value.Value, present bool) {
		if present {
			r.fail(at, "$absent", absent, short(got))
		}
	}}
}

// set pairs expected items with those of a list, whatever their order, so
// that as many as possible fit.
func (c *compiler) set(at value.Path, src, arg value.Value) node {
	at = at.Join("$set")
	if arg.Kind() != value.Array {
		c.fail(at, "$set needs a list")
		return node{}
	}
	wanted := make([]node, arg.Len())
	for i, item := range arg.Items() {
		wanted[i] = c.compile(at.Join(i), item)
	}
	return required(src, func(r *run, at value.Path, got value.Value) {
		switch {
		case got.Kind() != value.Array:
			r.unequal(at, "$set", arg, got)
			return
		case got.Len() != len(wanted):
			r.fail(at, "$set", fmt.Sprintf("%d items: %s", len(wanted), short(arg)), fmt.Sprintf("%d items: %s", got.Len(), short(got)))
			return
		}
		fits := make([][]bool, len(wanted))
		for i, n := range wanted {
			fits[i] = make([]bool, got.Len())
			for j, item := range got.Items() {
				fits[i][j] = r.try(n, at.Join(j), item, true)
			}
		}
		owner := pair(fits)
		var rest []value.Value
		placed := make(map[int]bool)
		for j, i := range owner {
			if i < 0 {
				rest = append(rest, got.Items()[j])
			} else {
				placed[i] = true
			}
		}
		for i, n := range wanted {
			if !placed[i] {
				r.fail(at, "$set", "an item "+short(n.src), "left over: "+short(value.ArrayOf(rest...)))
			}
		}
	})
}

// pair assigns each column of fits to at most one row, with as many pairs as
// possible. It returns the row of each column, -1 for none.
func pair(fits [][]bool) []int {
	owner := make([]int, len(fits))
	for j := range owner {
		owner[j] = -1
	}
	for i := range fits {
		tried := make([]bool, len(fits))
		var place func(i int) bool
		place = func(i int) bool {
			for j, ok := range fits[i] {
				if !ok || tried[j] {
					continue
				}
				tried[j] = true
				if owner[j] < 0 || place(owner[j]) {
					owner[j] = i
					return true
				}
			}
			return false
		}
		place(i)
	}
	return owner
}

func (c *compiler) that(at value.Path, src, arg value.Value) node {
	env, err := expr.NewEnv(c.scope | expr.Value)
	if err != nil {
		c.fail(at, "%s", err)
		return node{}
	}
	prog, ok := c.program(env.CompileCondition, at, "$that", arg)
	if !ok {
		return node{}
	}
	return required(src, func(r *run, at value.Path, got value.Value) {
		vars := *r.vars
		vars.Value = got
		ok, err := prog.True(&vars)
		if limit := (*expr.LimitError)(nil); errors.As(err, &limit) {
			r.check(err) // it was stopped, which says nothing about the value
		} else if err != nil {
			r.fail(at, "$that", arg.Str(), fmt.Sprintf("%s (%s)", short(got), err))
		} else if !ok {
			r.fail(at, "$that", arg.Str(), short(got))
		}
	})
}

func (c *compiler) cel(at value.Path, src, arg value.Value) node {
	prog, ok := c.program(c.env.Compile, at, "$cel", arg)
	if !ok {
		return node{}
	}
	return required(src, func(r *run, at value.Path, got value.Value) {
		if want, err := prog.Eval(r.vars); r.check(err) {
			literal(want, false).match(r, at, got, true)
		}
	})
}

func (c *compiler) program(compile func(string) (*expr.Program, error), at value.Path, name string, arg value.Value) (*expr.Program, bool) {
	at = at.Join(name)
	if arg.Kind() != value.String {
		c.fail(at, "%s needs an expression in a string, not a value of type %s", name, arg.Kind())
		return nil, false
	}
	prog, err := compile(arg.Str())
	if err != nil {
		c.failExpr(at, err)
		return nil, false
	}
	c.programs = append(c.programs, prog)
	return prog, true
}

func (c *compiler) literal(_ value.Path, _, arg value.Value) node { return literal(arg, true) }

// test decides about a value that is there.
type test func(got value.Value) bool

// tested makes an operator of a function that reads its argument. The
// argument is read when the file is loaded, or, where it has expressions in
// it, at each match.
func tested(name string, read func(arg value.Value) (test, error)) func(*compiler, value.Path, value.Value, value.Value) node {
	return func(c *compiler, at value.Path, src, arg value.Value) node {
		at = at.Join(name)
		tree, err := c.env.CompileValue(arg)
		if err != nil {
			c.failExpr(at, err)
			return node{}
		}
		c.programs = append(c.programs, tree.Programs()...)
		judge := func(r *run, at value.Path, arg, got value.Value, ok test) {
			if !ok(got) {
				r.fail(at, name, short(arg), short(got))
			}
		}
		if fixed, plain := tree.Literal(); plain {
			ok, err := read(fixed)
			if err != nil {
				c.fail(at, "%s", err)
				return node{}
			}
			return required(src, func(r *run, at value.Path, got value.Value) { judge(r, at, fixed, got, ok) })
		}
		return required(src, func(r *run, at value.Path, got value.Value) {
			arg, err := tree.Expand(r.vars)
			if !r.check(err) {
				return
			}
			if ok, err := read(arg); r.check(err) {
				judge(r, at, arg, got, ok)
			}
		})
	}
}
