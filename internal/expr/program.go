// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Program is a compiled expression.
type Program struct {
	env  *Env
	src  string
	path *path // or
	ast  *cel.Ast
	prog evaluable
	pos  harness.Position
}

// Place tells where the expression stands, for the message when it is stopped.
// It is for whoever compiled it.
func (p *Program) Place(pos harness.Position) { p.pos = pos }

// Compile compiles an expression. The error is an [*Error].
func (e *Env) Compile(src string) (*Program, error) {
	p, _, err := e.compile(src)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// CompileCondition compiles an expression that must be a boolean. The error
// is an [*Error].
func (e *Env) CompileCondition(src string) (*Program, error) {
	p, typ, err := e.compile(src)
	if err != nil {
		return nil, err
	}
	if typ.Kind() != types.BoolKind && typ.Kind() != types.DynKind {
		return nil, &Error{Src: src, Msg: fmt.Sprintf("this is %s, not a condition", ofType(typ.String()))}
	}
	return p, nil
}

func (e *Env) compile(src string) (*Program, *cel.Type, *Error) {
	if p, ok := e.parsePath(src); ok {
		typ, err := p.check(e, src)
		return &Program{env: e, src: src, path: p}, typ, err
	}
	parsed, issues := e.cel.Parse(src)
	if issues.Err() != nil {
		return nil, nil, e.issue(src, issues)
	}
	return e.check(src, parsed)
}

func (e *Env) check(src string, parsed *cel.Ast) (*Program, *cel.Type, *Error) {
	checked, issues := e.cel.Check(parsed)
	if issues.Err() != nil {
		return nil, nil, e.issue(src, issues)
	}
	if m := typeAsName.FindStringSubmatch(checked.OutputType().String()); m != nil {
		return nil, nil, &Error{Src: src, Offset: max(strings.Index(src, m[1]), 0), Msg: e.hint(src, 0, m[0])}
	}
	prog, err := plan(e.cel, checked, maxSteps, cel.OptOptimize)
	if err != nil {
		return nil, nil, &Error{Src: src, Msg: err.Error()}
	}
	return &Program{env: e, src: src, ast: checked, prog: prog}, checked.OutputType(), nil
}

// Eval evaluates the expression.
func (p *Program) Eval(vars *Vars) (value.Value, error) {
	if vars == nil {
		vars = &Vars{}
	}
	if p.path == nil {
		return p.eval(p.prog, maxSteps, vars)
	}
	x, err := p.path.eval(p.src, vars)
	if err != nil {
		return value.Value{}, p.failed(err)
	}
	v, err := toValue(x)
	if err != nil {
		return value.Value{}, p.failed(err)
	}
	return v, nil
}

func (p *Program) eval(prog evaluable, steps uint64, vars *Vars) (value.Value, error) {
	x, _, err := prog.run(activation{p.env, vars})
	var v value.Value
	if err == nil {
		v, err = toValue(x)
	}
	if err == nil {
		return v, nil
	}
	if limit := limitOf(err, steps); limit != nil {
		limit.Pos, limit.Src = p.pos, p.src
		return value.Value{}, limit
	}
	return value.Value{}, p.failed(err)
}

// failed is the error of an expression that could not be evaluated.
func (p *Program) failed(err error) error {
	return filepos.Mark(p.pos, evalError(p.src, err))
}

// idle evaluates a condition that reads nothing, or on nothing, to check a
// file: with another environment than its own where one is given, and in few
// steps.
func (p *Program) idle(env *cel.Env, budget *Budget) (bool, error) {
	checked := p.ast
	if env == nil {
		env = p.env.cel
	} else {
		var issues *cel.Issues
		if checked, issues = env.Compile(p.src); issues.Err() != nil {
			return false, issues.Err()
		}
	}
	prog, err := plan(env, checked, maxIdleSteps, 0)
	if err != nil {
		return false, err
	}
	v, err := p.eval(prog, maxIdleSteps, &Vars{Budget: budget})
	if err == nil && v.Kind() != value.Bool {
		err = fmt.Errorf("evaluating %#q: the result is %s, not true or false", p.src, describe(v))
	}
	return err == nil && v.Bool(), err
}

// True evaluates a condition. A result that is no boolean is an error.
func (p *Program) True(vars *Vars) (bool, error) {
	v, err := p.Eval(vars)
	if err != nil {
		return false, err
	}
	if v.Kind() != value.Bool {
		return false, fmt.Errorf("evaluating %#q: the result is %s, not true or false", p.src, describe(v))
	}
	return v.Bool(), nil
}

// Holds is [Program.True], except that a condition that reads what is missing
// does not hold. It is the rule of when and failed_when.
func (p *Program) Holds(vars *Vars) (bool, error) {
	ok, err := p.True(vars)
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	return ok, err
}

// Reads reports whether the expression reads a name of its scope:
// Reads("transcript").
func (p *Program) Reads(name string) bool {
	if p.path != nil {
		return p.path.root.name == name
	}
	for _, info := range p.ast.NativeRep().ReferenceMap() {
		if info.Name == name || slices.Contains(info.OverloadIDs, name+"_string") {
			return true
		}
	}
	return false
}

// Constant reports whether the condition reads nothing, and so holds always or
// never. The error is a [*LimitError] of one that takes too much, and so does
// always. Of a budget that is spent, nothing is known.
func (p *Program) Constant(budget *Budget) (holds, constant bool, err error) {
	if p.readsAny() || budget.spent() {
		return false, false, nil
	}
	holds, err = p.idle(nil, budget)
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		return false, false, limit
	}
	return holds, err == nil, nil
}

// readsAny reports whether the expression reads anything at all.
func (p *Program) readsAny() bool {
	return p.path != nil || p.Reads("results") || slices.ContainsFunc(p.env.vars, func(v variable) bool { return p.Reads(v.name) })
}

// Tools returns the tools whose results the expression reads, as far as they
// are written out: results("gemflux.build_model").
func (p *Program) Tools() []string {
	if p.path != nil {
		if p.path.root.name != "results" {
			return nil
		}
		return []string{p.path.tool}
	}
	var tools []string
	calls := ast.MatchDescendants(ast.NavigateAST(p.ast.NativeRep()), ast.FunctionMatcher("results"))
	for _, call := range calls {
		if args := call.AsCall().Args(); len(args) == 1 && args[0].Kind() == ast.LiteralKind {
			if tool, ok := args[0].AsLiteral().(types.String); ok {
				tools = append(tools, string(tool))
			}
		}
	}
	return tools
}

// Texts returns the texts that are written out in the expression.
func (p *Program) Texts() []string {
	if p.path != nil {
		return p.Tools()
	}
	var texts []string
	ast.PostOrderVisit(p.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		if s, ok := e.AsLiteral().(types.String); ok {
			texts = append(texts, string(s))
		}
	}))
	return texts
}

// Keys returns the keys of a name that the expression reads, as far as they
// are written out: of vars.id and vars["n"] they are id and n. A key that the
// same expression asks for with has() or ? may be absent and is left out.
func (p *Program) Keys(name string) []string {
	if p.path != nil {
		if p.path.root.name != name || len(p.path.steps) == 0 || !p.path.steps[0].isKey {
			return nil
		}
		return []string{p.path.steps[0].key}
	}
	var keys, asked []string
	of := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }
	literal := func(e ast.Expr) string {
		if e.Kind() != ast.LiteralKind {
			return ""
		}
		s, _ := e.AsLiteral().(types.String)
		return string(s)
	}
	ast.PostOrderVisit(p.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			s := e.AsSelect()
			switch {
			case !of(s.Operand()):
			case s.IsTestOnly():
				asked = append(asked, s.FieldName())
			default:
				keys = append(keys, s.FieldName())
			}
		case ast.CallKind:
			c := e.AsCall()
			if len(c.Args()) != 2 {
				return
			}
			switch arg := c.Args(); {
			case c.FunctionName() == "_[_]" && of(arg[0]):
				keys = append(keys, literal(arg[1]))
			case strings.Contains(c.FunctionName(), "?") && of(arg[0]):
				asked = append(asked, literal(arg[1]))
			case c.FunctionName() == "@in" && of(arg[1]):
				asked = append(asked, literal(arg[0]))
			}
		}
	}))
	return slices.DeleteFunc(keys, func(k string) bool { return k == "" || slices.Contains(asked, k) })
}

// HoldsVacuously reports whether a condition would hold for a conversation
// without a single call just because there is nothing to object to:
// trajectory.all(c, !c.failed), but not trajectory.size() == 0.
//
// It evaluates the condition on nothing twice, the second time with all()
// false and exists() true on what is empty. If that turns true into false,
// only emptiness made it true.
func (p *Program) HoldsVacuously(budget *Budget) bool {
	if p.path != nil || !p.readsAny() {
		return false
	}
	if ok, err := p.idle(nil, budget); !ok || err != nil {
		return false
	}
	strict, err := p.env.strict()
	if err != nil {
		return false
	}
	holds, err := p.idle(strict, budget)
	return err == nil && !holds
}

// String returns the source.
func (p *Program) String() string { return p.src }
