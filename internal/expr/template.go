// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
)

// Template is a compiled string.
type Template struct {
	src   string
	parts []part
}

// part is text, or an expression.
type part struct {
	text string
	prog *Program
}

// maxEnds bounds how many }} are tried as the end of one expression.
const maxEnds = 50

// CompileTemplate compiles a string with {{ }} in it. The error is an
// [*Error].
func (e *Env) CompileTemplate(src string) (*Template, error) {
	t, err := e.compileTemplate(src)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (e *Env) compileTemplate(src string) (*Template, *Error) {
	t := &Template{src: src}
	for pos := 0; ; {
		open := strings.Index(src[pos:], "{{")
		if open < 0 {
			if pos < len(src) {
				t.parts = append(t.parts, part{text: src[pos:]})
			}
			return t, nil
		}
		if open > 0 {
			t.parts = append(t.parts, part{text: src[pos : pos+open]})
		}
		start := pos + open + len("{{")
		prog, size, err := e.untilEnd(src[start:])
		if err != nil {
			return nil, &Error{Src: src, Offset: start + err.Offset, Msg: err.Msg}
		}
		t.parts = append(t.parts, part{prog: prog})
		pos = start + size + len("}}")
	}
}

// untilEnd compiles the expression that ends at the first }} before which
// the text parses, so that {{ {"a": {"b": 1}} }} and {{ "}}" }} work.
func (e *Env) untilEnd(rest string) (*Program, int, *Error) {
	var first *Error
	end := 0
	for range maxEnds {
		i := strings.Index(rest[end:], "}}")
		if i < 0 {
			break
		}
		end += i
		prog, parsed, err := e.parse(rest[:end])
		if parsed {
			return prog, end, err
		}
		if first == nil {
			first = err
			if strings.Contains(withoutLiterals(rest[:end]), "{{") { // that is the end of another
				first = &Error{Offset: -len("{{"), Msg: "there is no }} to this {{ before the next one"}
			}
		}
		end++
	}
	if first == nil {
		first = &Error{Offset: -len("{{"), Msg: `there is no }} to this {{ (for the text itself write {{"{{"}})`}
	}
	return nil, 0, first
}

// parse compiles src and reports whether it parsed at all.
func (e *Env) parse(src string) (prog *Program, parsed bool, err *Error) {
	if p, ok := e.parsePath(src); ok {
		_, err := p.check(e, src)
		return &Program{env: e, src: strings.TrimSpace(src), path: p}, true, err
	}
	tree, issues := e.cel.Parse(src)
	if issues.Err() != nil {
		return nil, false, e.issue(src, issues)
	}
	prog, typ, err := e.check(src, tree)
	if err == nil && !prints(typ) {
		err = &Error{Src: src, Msg: fmt.Sprintf("%s cannot be printed", ofType(typ.String()))}
	}
	return prog, true, err
}

func prints(t *cel.Type) bool { return t.Kind() != cel.BytesKind && t.Kind() != cel.TypeKind }

// Literal returns the string when there is nothing to compute in it.
func (t *Template) Literal() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].prog == nil:
		return t.parts[0].text, true
	}
	return "", false
}

// Render computes the string.
func (t *Template) Render(vars *Vars) (string, error) {
	if text, ok := t.Literal(); ok {
		return text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.prog == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := p.prog.Eval(vars)
		if err != nil {
			return "", err
		}
		text := v.Text()
		if b.Len()+len(text) > maxText {
			return "", &LimitError{Pos: p.prog.pos, Src: p.prog.src, Msg: fmt.Sprintf("the text with it exceeds %d MB", maxText/1_000_000)}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// Programs returns the expressions of the template, for checks of a file.
func (t *Template) Programs() []*Program {
	var list []*Program
	for _, p := range t.parts {
		if p.prog != nil {
			list = append(list, p.prog)
		}
	}
	return list
}

// String returns the source.
func (t *Template) String() string { return t.src }
