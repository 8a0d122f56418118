// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Tree is a compiled JSON value.
type Tree struct {
	src  value.Value
	root branch
}

// branch is one place of a tree. One of text, prog, items and members is set
// where something is computed; else the place is the literal.
type branch struct {
	path    value.Path
	literal value.Value
	text    *Template
	prog    *Program
	items   []branch
	members []memberBranch
}

type memberBranch struct {
	key *Template
	branch
}

func (b *branch) isLiteral() bool {
	return b.text == nil && b.prog == nil && b.items == nil && b.members == nil
}

// CompileValue compiles a JSON value with {{ }} in its strings and keys, $cel
// and $literal. The error is [Errors].
func (e *Env) CompileValue(v value.Value) (*Tree, error) {
	c := treeCompiler{env: e}
	t := &Tree{src: v, root: c.compile(nil, v)}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return t, nil
}

type treeCompiler struct {
	env  *Env
	errs Errors
}

func (c *treeCompiler) fail(p value.Path, err *Error) {
	err.Path = p
	c.errs = append(c.errs, err)
}

func (c *treeCompiler) compile(p value.Path, v value.Value) branch {
	switch v.Kind() {
	case value.String:
		return c.text(p, v)
	case value.Array:
		return c.array(p, v)
	case value.Object:
		for _, m := range v.Members() {
			if !strings.HasPrefix(m.Key, "$") {
				continue
			}
			if v.Len() > 1 {
				c.fail(p, &Error{Msg: besideOthers(m.Key)})
				return branch{}
			}
			return c.operator(p, m)
		}
		return c.object(p, v)
	default:
		return branch{path: p, literal: v}
	}
}

func besideOthers(key string) string {
	return fmt.Sprintf("%q has other keys beside it, but an operator must be the only key; if the map is data, write {$literal: {...}} around it", key)
}

func (c *treeCompiler) text(p value.Path, v value.Value) branch {
	if !strings.Contains(v.Str(), "{{") {
		return branch{path: p, literal: v}
	}
	t, err := c.env.compileTemplate(v.Str())
	if err != nil {
		c.fail(p, err)
	}
	return branch{path: p, text: t}
}

func (c *treeCompiler) array(p value.Path, v value.Value) branch {
	items := make([]branch, v.Len())
	literals := make([]value.Value, v.Len())
	plain := true
	for i, item := range v.Items() {
		items[i] = c.compile(p.Join(i), item)
		literals[i] = items[i].literal
		plain = plain && items[i].isLiteral()
	}
	if plain {
		return branch{path: p, literal: value.ArrayOf(literals...)}
	}
	return branch{path: p, items: items}
}

func (c *treeCompiler) object(p value.Path, v value.Value) branch {
	members := make([]memberBranch, v.Len())
	literals := make([]value.Member, v.Len())
	plain := true
	for i, m := range v.Members() {
		at := p.Join(m.Key)
		key, err := c.env.compileTemplate(m.Key)
		if err != nil {
			c.fail(at, err)
			continue
		}
		members[i] = memberBranch{key, c.compile(at, m.Value)}
		_, fixed := key.Literal()
		plain = plain && fixed && members[i].isLiteral()
		literals[i] = value.Member{Key: m.Key, Value: members[i].literal}
	}
	if plain {
		return branch{path: p, literal: value.ObjectOf(literals...)}
	}
	return branch{path: p, members: members}
}

func (c *treeCompiler) operator(p value.Path, m value.Member) branch {
	at := p.Join(m.Key)
	switch m.Key {
	case "$literal":
		return branch{path: p, literal: m.Value}
	case "$cel":
		if m.Value.Kind() != value.String {
			c.fail(at, &Error{Msg: fmt.Sprintf("$cel needs an expression in a string, not a value of type %s", m.Value.Kind())})
			return branch{}
		}
		prog, _, err := c.env.compile(m.Value.Str())
		if err != nil {
			c.fail(at, err)
		}
		return branch{path: p, prog: prog}
	}
	msg := fmt.Sprintf("%q is unknown here, only $cel and $literal are allowed; matchers belong in expectations", m.Key)
	if meant := prose.DidYouMean(m.Key, []string{"$cel", "$literal"}); meant != "" {
		msg = fmt.Sprintf("unknown operator %q%s", m.Key, meant)
	}
	c.fail(at, &Error{Msg: msg})
	return branch{}
}

// Literal returns the value when there is nothing to compute in it.
func (t *Tree) Literal() (value.Value, bool) { return t.root.literal, t.root.isLiteral() }

// Expand computes the value. An error names the path of what failed.
func (t *Tree) Expand(vars *Vars) (value.Value, error) { return t.root.expand(vars) }

func (b *branch) expand(vars *Vars) (value.Value, error) {
	switch {
	case b.text != nil:
		s, err := b.text.Render(vars)
		return value.StringOf(s), b.at(err)
	case b.prog != nil:
		v, err := b.prog.Eval(vars)
		return v, b.at(err)
	case b.items != nil:
		items := make([]value.Value, len(b.items))
		for i := range b.items {
			var err error
			if items[i], err = b.items[i].expand(vars); err != nil {
				return value.Value{}, err
			}
		}
		return value.ArrayOf(items...), nil
	case b.members != nil:
		return b.expandMembers(vars)
	default:
		return b.literal, nil
	}
}

func (b *branch) expandMembers(vars *Vars) (value.Value, error) {
	members := make([]value.Member, len(b.members))
	for i := range b.members {
		m := &b.members[i]
		key, err := m.key.Render(vars)
		if err != nil {
			return value.Value{}, m.at(err)
		}
		v, err := m.expand(vars)
		if err != nil {
			return value.Value{}, err
		}
		members[i] = value.Member{Key: key, Value: v}
	}
	v := value.ObjectOf(members...)
	if v.Len() < len(members) {
		return value.Value{}, b.at(errors.New("two keys became equal"))
	}
	return v, nil
}

func (b *branch) at(err error) error {
	if err == nil || len(b.path) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", b.path, err)
}

// Programs returns the expressions of the tree, for checks of a file.
func (t *Tree) Programs() []*Program { return t.root.programs(nil) }

func (b *branch) programs(list []*Program) []*Program {
	if b.text != nil {
		list = append(list, b.text.Programs()...)
	}
	if b.prog != nil {
		list = append(list, b.prog)
	}
	for i := range b.items {
		list = b.items[i].programs(list)
	}
	for i := range b.members {
		list = append(list, b.members[i].key.Programs()...)
		list = b.members[i].programs(list)
	}
	return list
}

// String returns the source as compact JSON.
func (t *Tree) String() string { return t.src.String() }
