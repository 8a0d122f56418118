// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/harness/value"
)

type compiler struct {
	env      *expr.Env
	scope    expr.Scope
	problems Problems
	programs []*expr.Program
}

func (c *compiler) fail(at value.Path, format string, args ...any) {
	c.problems = append(c.problems, Problem{at, fmt.Sprintf(format, args...)})
}

// failExpr notes the mistakes that expr found below at.
func (c *compiler) failExpr(at value.Path, err error) {
	var list expr.Errors
	var one *expr.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = expr.Errors{one}
	default:
		c.fail(at, "%s", err)
	}
	for _, e := range list {
		below := e.Path
		e.Path = nil
		c.fail(at.Join(below...), "%s", e)
	}
}

func (c *compiler) compile(at value.Path, v value.Value) node {
	switch v.Kind() {
	case value.String:
		return c.text(at, v)
	case value.Array:
		items := make([]node, v.Len())
		for i, item := range v.Items() {
			items[i] = c.compile(at.Join(i), item)
		}
		return list(v, items)
	case value.Object:
		return c.object(at, v)
	default:
		return scalar(v, false)
	}
}

func (c *compiler) text(at value.Path, v value.Value) node {
	if !strings.Contains(v.Str(), "{{") {
		return scalar(v, false)
	}
	t, err := c.env.CompileTemplate(v.Str())
	if err != nil {
		c.failExpr(at, err)
		return node{}
	}
	c.programs = append(c.programs, t.Programs()...)
	return required(v, func(r *run, at value.Path, got value.Value) {
		if s, err := t.Render(r.vars); r.check(err) {
			scalar(value.StringOf(s), false).match(r, at, got, true)
		}
	})
}

func (c *compiler) object(at value.Path, v value.Value) node {
	for _, m := range v.Members() {
		if !strings.HasPrefix(m.Key, "$") {
			continue
		}
		if v.Len() > 1 {
			c.fail(at, "%q stands beside other keys, but an operator stands alone; where it is data, write {$literal: {...}} around the map", m.Key)
			return node{}
		}
		for _, op := range operators() {
			if op.name == m.Key {
				return op.compile(c, at, v, m.Value)
			}
		}
		c.fail(at.Join(m.Key), "%s", unknown("operator", m.Key, operatorNames()))
		return node{}
	}
	members := make([]member, v.Len())
	for i, m := range v.Members() {
		below := at.Join(m.Key)
		members[i] = member{key: m.Key, node: c.compile(below, m.Value)}
		if !strings.Contains(m.Key, "{{") {
			continue
		}
		t, err := c.env.CompileTemplate(m.Key)
		if err != nil {
			c.failExpr(below, err)
			continue
		}
		c.programs = append(c.programs, t.Programs()...)
		members[i].template = t
	}
	return object(v, members)
}

// unknown says that a word is not known, and which one may have been meant.
func unknown(what, word string, known []string) string {
	if s := harness.Suggest(word, known); s != "" {
		return fmt.Sprintf("unknown %s %q (did you mean %q?)", what, word, s)
	}
	return fmt.Sprintf("unknown %s %q; known are %s", what, word, strings.Join(known, ", "))
}

// member is a key of an expected map.
type member struct {
	key      string
	template *expr.Template // of the key; nil when it is plain
	node
}

func object(v value.Value, members []member) node {
	return required(v, func(r *run, at value.Path, got value.Value) {
		if got.Kind() != value.Object {
			r.unequal(at, "equal", v, got)
			return
		}
		named := make(map[string]bool, len(members))
		for _, m := range members {
			key := m.key
			if m.template != nil {
				var err error
				if key, err = m.template.Render(r.vars); !r.check(err) {
					return
				}
			}
			named[key] = true
			x, ok := got.Get(key)
			m.match(r, at.Join(key), x, ok)
		}
		if !r.opts.Exact {
			return
		}
		for _, m := range got.Members() {
			if !named[m.Key] {
				r.fail(at.Join(m.Key), "unexpected", absent, short(m.Value))
			}
		}
	})
}

func list(v value.Value, items []node) node {
	return required(v, func(r *run, at value.Path, got value.Value) {
		switch {
		case got.Kind() != value.Array:
			r.unequal(at, "equal", v, got)
		case got.Len() != len(items):
			r.fail(at, "length", fmt.Sprintf("%d items: %s", len(items), short(v)), fmt.Sprintf("%d items: %s", got.Len(), short(got)))
		default:
			for i, item := range items {
				item.match(r, at.Join(i), got.Items()[i], true)
			}
		}
	})
}

func scalar(v value.Value, spelled bool) node {
	return required(v, func(r *run, at value.Path, got value.Value) {
		switch {
		case !value.Equal(v, got):
			r.unequal(at, "equal", v, got)
		case spelled && v.Num() != got.Num():
			r.fail(at, "spelling", short(v), short(got))
		}
	})
}

// literal expects a value as it stands, without operators and {{ }}.
func literal(v value.Value, spelled bool) node {
	switch v.Kind() {
	case value.Array:
		items := make([]node, v.Len())
		for i, item := range v.Items() {
			items[i] = literal(item, spelled)
		}
		return list(v, items)
	case value.Object:
		members := make([]member, v.Len())
		for i, m := range v.Members() {
			members[i] = member{key: m.Key, node: literal(m.Value, spelled)}
		}
		return object(v, members)
	default:
		return scalar(v, spelled)
	}
}
