// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// path is an expression that only leads somewhere: result.a[0].b,
// results("s.tool").last().id. It does not go through CEL.
type path struct {
	root  variable
	tool  string // of results(tool)
	steps []step
}

// step is a key, an index, or first() and last().
type step struct {
	key    string
	index  int // -1: last()
	isKey  bool
	offset int // in the source
	end    int
}

// parsePath returns false when src is not a path, or its root is not known.
func (e *Env) parsePath(src string) (*path, bool) {
	s := scanner{src: src}
	s.space()
	name := s.ident()
	root, ok := e.variable(name)
	if !ok {
		return nil, false
	}
	p := &path{root: root}
	if name == "results" {
		if p.tool, ok = s.arg(); !ok {
			return nil, false
		}
	}
	for {
		st := step{offset: s.pos, isKey: true}
		switch {
		case s.take('.'):
			st.offset = s.pos
			if st.key = s.ident(); st.key == "" {
				return nil, false
			}
			if s.take('(') {
				if !s.take(')') || (st.key != "first" && st.key != "last") {
					return nil, false
				}
				st.isKey = false
				if st.key == "last" {
					st.index = -1
				}
			}
		case s.take('['):
			if st.key, ok = s.str(); !ok {
				st.isKey = false
				if st.index, ok = s.int(); !ok {
					return nil, false
				}
			}
			if !s.take(']') {
				return nil, false
			}
		default:
			s.space()
			return p, s.pos == len(src)
		}
		st.end = s.pos
		p.steps = append(p.steps, st)
	}
}

// scanner reads the few tokens of a path.
type scanner struct {
	src string
	pos int
}

func (s *scanner) space() {
	for s.pos < len(s.src) && strings.IndexByte(" \t\r\n", s.src[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *scanner) take(c byte) bool {
	if s.pos < len(s.src) && s.src[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) ident() string {
	start := s.pos
	for ; s.pos < len(s.src); s.pos++ {
		c := s.src[s.pos]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (s.pos == start || c < '0' || c > '9') {
			break
		}
	}
	return s.src[start:s.pos]
}

// str reads a quoted string without escapes; CEL reads the others.
func (s *scanner) str() (string, bool) {
	if s.pos >= len(s.src) || (s.src[s.pos] != '"' && s.src[s.pos] != '\'') {
		return "", false
	}
	text, _, ok := strings.Cut(s.src[s.pos+1:], s.src[s.pos:s.pos+1])
	if !ok || strings.ContainsAny(text, "\\\n\r") {
		return "", false
	}
	s.pos += len(text) + 2
	return text, true
}

func (s *scanner) int() (int, bool) {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	n, err := strconv.Atoi(s.src[start:s.pos])
	return n, err == nil
}

func (s *scanner) arg() (string, bool) {
	if !s.take('(') {
		return "", false
	}
	text, ok := s.str()
	return text, ok && s.take(')')
}

// check follows the path through the declared types and returns the type at
// its end.
func (p *path) check(e *Env, src string) (*cel.Type, *Error) {
	typ := p.root.typ
	for _, st := range p.steps {
		switch {
		case typ.Kind() == types.DynKind:
			return typ, nil
		case typ.Kind() == types.ListKind && !st.isKey:
			typ = typ.Parameters()[0]
			continue
		case typ.Kind() == types.StructKind && st.isKey:
			obj := (&provider{schema: e.schema}).object(typ.TypeName())
			f, ok := obj.field(st.key)
			if !ok {
				return nil, &Error{Src: src, Offset: st.offset, Msg: obj.noField(st.key)}
			}
			typ = f.typ
			continue
		}
		msg := ofType(typ.TypeName()) + " has no fields"
		if typ.Kind() == types.ListKind {
			msg += "; take an item first: [0], first() or last()"
		}
		return nil, &Error{Src: src, Offset: st.offset, Msg: msg}
	}
	return typ, nil
}

// eval follows the path through the values.
func (p *path) eval(src string, vars *Vars) (any, error) {
	x, err := p.start(vars)
	if err != nil {
		return nil, err
	}
	for i, st := range p.steps {
		next, ok := st.from(x)
		if !ok {
			return nil, p.missing(src, i, x)
		}
		x = next
	}
	return x, nil
}

func (p *path) start(vars *Vars) (any, error) {
	if p.root.name == "results" {
		items, err := vars.results(p.tool)
		return value.ArrayOf(items...), err
	}
	return p.root.get(vars)
}

func (st step) from(x any) (any, bool) {
	index := func(n int) (int, bool) {
		i := st.index
		if i < 0 {
			i += n
		}
		return i, !st.isKey && i >= 0 && i < n
	}
	switch x := x.(type) {
	case value.Value:
		if st.isKey {
			return x.Get(st.key)
		}
		i, ok := index(len(x.Items()))
		if !ok {
			return nil, false
		}
		return x.Items()[i], true
	case *object:
		next, err := x.get(st.key)
		return next, st.isKey && err == nil
	case []any:
		if i, ok := index(len(x)); ok {
			return x[i], true
		}
	case []string:
		if i, ok := index(len(x)); ok {
			return x[i], true
		}
	}
	return nil, false
}

// missing says which step led nowhere, and what was there instead.
func (p *path) missing(src string, i int, x any) error {
	st := p.steps[i]
	at := strings.TrimSpace(src[:st.offset])
	at = strings.TrimRight(at, ".[")
	if !st.isKey {
		if i > 0 {
			at = strings.TrimSpace(src[:p.steps[i-1].end])
		}
		what := strings.TrimSpace(src[st.offset:st.end])
		return missingf("%s has no item %s: it is %s", at, strings.Trim(what, "[]"), describe(x))
	}
	msg := fmt.Sprintf("%s has no key %q", at, st.key)
	v, ok := x.(value.Value)
	if x == types.NullValue {
		return missingf("there is no %s to read %q from", at, st.key)
	}
	if !ok {
		return missingf("%s", msg)
	}
	if v.Kind() != value.Object {
		return missingf("%s: it is %s", msg, describe(x))
	}
	keys := make([]string, 0, v.Len())
	for _, m := range v.Members() {
		keys = append(keys, m.Key)
	}
	return missingf("%s%s", msg, prose.MeantOr(st.key, keys, ": it is "+describe(x)))
}

// describe shows a value in a message, shortened.
func describe(x any) string {
	v, err := toValue(x)
	if err != nil {
		return "something else"
	}
	return prose.Excerpt(v.String(), 300)
}
