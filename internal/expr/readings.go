// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// maxReadings bounds what [Program.Readings] returns.
const maxReadings = 8

// Readings says for a condition what its parts came to: the sides of its
// comparisons and what its functions were asked about, as far as they are no
// literals and could be evaluated, in the order of the source. What holds and
// ought to is left out. It is for a message about a condition that does not
// hold, and evaluates it once more.
func (p *Program) Readings(vars *Vars) []value.Member {
	if p.path != nil || vars == nil {
		return nil // the value is the result itself
	}
	prog, err := plan(p.env.cel, p.ast, maxSteps, cel.OptTrackState)
	if err != nil {
		return nil
	}
	_, details, _ := prog.run(activation{p.env, vars}) // what was evaluated before an error is of use too
	if details == nil || details.State() == nil {
		return nil
	}
	rep := p.ast.NativeRep()
	var out []value.Member
	holds := func(e ast.Expr) bool {
		got, known := details.State().Value(e.ID())
		return known && got == types.True
	}
	for _, e := range parts(rep.Expr(), holds) {
		got, known := details.State().Value(e.ID())
		src, err := cel.ExprToString(e, rep.SourceInfo())
		if !known || err != nil || slices.ContainsFunc(out, func(m value.Member) bool { return m.Key == src }) {
			continue
		}
		if v, err := toValue(got); err == nil && len(out) < maxReadings {
			out = append(out, value.Member{Key: src, Value: v})
		}
	}
	return out
}

// comparisons are the operators whose sides explain their result.
var comparisons = [...]string{
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
}

// parts are the parts of a condition whose values explain why it does not hold.
func parts(e ast.Expr, holds func(ast.Expr) bool) []ast.Expr {
	var out []ast.Expr
	tell := func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind && e.Kind() != ast.ComprehensionKind {
			out = append(out, e)
		}
	}
	switch e.Kind() {
	case ast.CallKind:
	case ast.ComprehensionKind:
		return nil // its elements are too many
	default:
		tell(e)
		return out
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalAnd:
		for _, arg := range args {
			if !holds(arg) {
				out = append(out, parts(arg, holds)...)
			}
		}
	case name == operators.LogicalOr, name == operators.LogicalNot, name == operators.Conditional:
		all := func(ast.Expr) bool { return false }
		for _, arg := range args {
			out = append(out, parts(arg, all)...)
		}
	case slices.Contains(comparisons[:], name):
		for _, arg := range args {
			tell(arg)
		}
	case call.IsMemberFunction():
		tell(call.Target())
		for _, arg := range args {
			tell(arg)
		}
	default:
		tell(e)
	}
	return out
}
