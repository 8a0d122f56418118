// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
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
	var list expr.Errors // of a whole value
	if !errors.As(err, &list) {
		c.fail(at, "%s", err)
		return
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
	t := c.template(at, v.Str())
	return required(v, func(r *run, at value.Path, got value.Value) {
		if s, err := t.Render(r.vars); r.check(err) {
			scalar(value.StringOf(s), false).match(r, at, got, true)
		}
	})
}

// template compiles a text with {{ }} in it; it is nil where that fails.
func (c *compiler) template(at value.Path, text string) *expr.Template {
	t, err := c.env.CompileTemplate(text)
	if err != nil {
		c.failExpr(at, err)
		return nil
	}
	c.programs = append(c.programs, t.Programs()...)
	return t
}

func (c *compiler) object(at value.Path, v value.Value) node {
	for _, m := range v.Members() {
		if !strings.HasPrefix(m.Key, "$") {
			continue
		}
		if v.Len() > 1 {
			c.fail(at, "%q has other keys beside it, but an operator must be the only key; if the map is data, write {$literal: {...}} around it", m.Key)
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
		if strings.Contains(m.Key, "{{") {
			members[i].template = c.template(below, m.Key)
		}
	}
	return object(v, members)
}

// unknown reports an unknown word and suggests a known one.
func unknown(what, word string, known []string) string {
	return fmt.Sprintf("unknown %s %q%s", what, word, prose.MeantOr(word, known, "; known are "+strings.Join(known, ", ")))
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

// literal expects exactly this value; operators and {{ }} in it have no
// meaning.
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
