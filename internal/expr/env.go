// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Env compiles expressions of one scope.
type Env struct {
	schema *schema
	vars   []variable
	cel    *cel.Env
	strict func() (*cel.Env, error) // for HoldsVacuously
}

// variable is a name that expressions know, and how to read it.
type variable struct {
	name string
	typ  *cel.Type
	obj  *objectType // of typ, or of its elements
	get  func(v *Vars) (any, error)
}

// scopes are the shared environments, by scope; those with Value follow.
var scopes = sync.OnceValue(func() [][2]func() (*Env, error) {
	s := sharedSchema()
	all := make([][2]func() (*Env, error), That+1)
	for i := range all {
		for j, extra := range []Scope{0, Value} {
			all[i][j] = sync.OnceValues(func() (*Env, error) { return newEnv(s, Scope(i)|extra) })
		}
	}
	return all
})

// NewEnv returns the environment of a scope. It is made once and then shared.
func NewEnv(scope Scope) (*Env, error) {
	base := scope &^ Value
	if base > That {
		panic(fmt.Sprintf("expr: NewEnv(%d): no such scope", scope))
	}
	return scopes()[base][scope/Value]()
}

func newEnv(s *schema, scope Scope) (*Env, error) {
	e := &Env{schema: s, vars: scopeVars(s, scope)}
	opts := []cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(1)), // version 2 brings a first and last of its own
		ext.Strings(ext.StringsMaxPrecision(maxPrecision)), ext.Math(),
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
		cel.CustomTypeAdapter(adapter{}),
		cel.EnableMacroCallTracking(), // so that a part of an expression can be shown as it was written
	}
	elem := cel.TypeParamType("T")
	for name, index := range map[string]func(n int) int{"first": func(int) int { return 0 }, "last": func(n int) int { return n - 1 }} {
		opts = append(opts, cel.Function(name, cel.MemberOverload("list_"+name, []*cel.Type{cel.ListType(elem)}, elem,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return pick(list, name, index) }))))
	}
	for _, v := range e.vars {
		if v.name == "results" {
			opts = append(opts, cel.Function(v.name, cel.Overload("results_string",
				[]*cel.Type{cel.StringType}, v.typ, cel.LateFunctionBinding())))
			continue
		}
		opts = append(opts, cel.Variable(v.name, v.typ))
	}
	var err error
	if e.cel, err = cel.NewEnv(opts...); err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	if e.cel, err = e.cel.Extend(cel.CustomTypeProvider(&provider{Provider: e.cel.CELTypeProvider(), schema: s})); err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	e.strict = sync.OnceValues(func() (*cel.Env, error) { return e.cel.Extend(cel.Macros(strictMacros()...)) })
	return e, nil
}

func pick(list ref.Val, name string, index func(int) int) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	n := int(l.Size().(types.Int))
	if n == 0 {
		return types.WrapErr(missingf("%s() of an empty list", name))
	}
	return l.Get(types.Int(index(n)))
}

// noResult says why there is no result of the last call.
func noResult(v *Vars) string {
	if v.Request != nil && slices.ContainsFunc(v.Request.Messages, func(m harness.Message) bool { return m.Role == harness.RoleTool }) {
		return "no turn of the script made a call that has one; results of other calls, such as those of rules, are in the request: message.text is its last message"
	}
	return "no call was made before"
}

// scopeVars is the table of names in the documentation.
func scopeVars(s *schema, scope Scope) []variable {
	vars := []variable{
		{"turn", cel.IntType, nil, func(v *Vars) (any, error) { return v.Turn, nil }},
		{"vars", cel.DynType, nil, func(v *Vars) (any, error) { return v.Vars, nil }},
	}
	if scope&^Value != User {
		vars = append(vars, variable{"user", cel.StringType, nil, func(v *Vars) (any, error) { return v.User, nil }})
	}
	result := variable{"result", cel.DynType, nil, func(v *Vars) (any, error) {
		if v.Result == nil {
			return nil, missingf("there is no result: %s", noResult(v))
		}
		return *v.Result, nil
	}}
	results := variable{"results", cel.ListType(cel.DynType), nil, nil}
	tool := []variable{
		{"args", cel.DynType, nil, func(v *Vars) (any, error) { return v.Args, nil }},
		{"state", cel.DynType, nil, func(v *Vars) (any, error) { return v.State, nil }},
		{"asked", cel.DynType, nil, func(v *Vars) (any, error) {
			if v.Asked.Kind() == value.Null {
				return nil, missingf("the client was not asked anything")
			}
			return v.Asked, nil
		}},
	}
	switch scope &^ Value {
	case Request:
		vars = append(vars,
			variable{"request", s.request.cel, s.request, func(v *Vars) (any, error) {
				if v.Request == nil {
					return nil, missingf("there is no request")
				}
				return &object{s.request, v.Request}, nil
			}},
			variable{"message", s.message.cel, s.message, func(v *Vars) (any, error) {
				if v.Request != nil {
					if m, ok := lastMessage(v.Request); ok {
						return &object{s.message, m}, nil
					}
				}
				return nil, missingf("the request has no message")
			}})
	case Reply, Expectation:
		vars = append(vars, result, results)
	case Tool:
		vars = append(vars, tool...)
	case ToolResult:
		vars = append(append(vars, tool...), result)
	case That:
		vars = append(vars, result, results,
			variable{"trajectory", cel.ListType(s.call.cel), s.call, func(v *Vars) (any, error) {
				return objects(s.call, v.Trajectory), nil
			}},
			variable{"journal", s.journal.cel, s.journal, func(v *Vars) (any, error) {
				return &object{s.journal, &v.Journal}, nil
			}},
			variable{"requests", cel.ListType(s.sent.cel), s.sent, func(v *Vars) (any, error) {
				return objects(s.sent, v.Requests), nil
			}},
			variable{"transcript", s.transcript.cel, s.transcript, func(v *Vars) (any, error) {
				if v.Transcript == nil {
					return types.NullValue, nil
				}
				return &object{s.transcript, v.Transcript}, nil
			}})
	}
	if scope&Value != 0 {
		vars = append(vars, variable{"value", cel.DynType, nil, func(v *Vars) (any, error) { return v.Value, nil }})
	}
	return vars
}

func (e *Env) variable(name string) (variable, bool) {
	i := slices.IndexFunc(e.vars, func(v variable) bool { return v.name == name })
	if i < 0 {
		return variable{}, false
	}
	return e.vars[i], true
}

// Names lists the names that expressions of a scope know, sorted.
func Names(scope Scope) []string { return sortedNames(scopeVars(sharedSchema(), scope)) }

var sharedSchema = sync.OnceValue(newSchema)

func sortedNames(vars []variable) []string {
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.name
	}
	slices.Sort(names)
	return names
}

// provider tells CEL's checker about our object types. misses collects the
// fields that it asked for in vain, to say what was meant.
type provider struct {
	types.Provider
	schema *schema
	misses *[]fieldMiss // nil where nobody asks
}

type fieldMiss struct {
	typ  *objectType
	name string
}

func (p *provider) object(name string) *objectType {
	for _, t := range p.schema.all() {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t := p.object(name); t != nil {
		return types.NewTypeTypeWithParam(t.cel), true
	}
	return p.Provider.FindStructType(name)
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t := p.object(name); t != nil {
		return t.fieldNames(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

func (p *provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	t := p.object(name)
	if t == nil {
		return p.Provider.FindStructFieldType(name, fieldName)
	}
	f, ok := t.field(fieldName)
	if !ok {
		if p.misses != nil {
			*p.misses = append(*p.misses, fieldMiss{t, fieldName})
		}
		return nil, false
	}
	return &types.FieldType{
		Type: f.typ,
		IsSet: func(x any) bool {
			o, ok := x.(*object)
			return ok && f.get(o.x) != nil
		},
		GetFrom: func(x any) (any, error) {
			o, ok := x.(*object)
			if !ok {
				return nil, missingf("there is no %s to read %q from", t.name, f.name)
			}
			return o.get(f.name)
		},
	}, true
}

// activation gives CEL the variables as it asks for them.
type activation struct {
	env  *Env
	vars *Vars
}

var _ interpreter.FunctionActivation = activation{}

func (a activation) Parent() interpreter.Activation { return nil }

func (a activation) ResolveName(name string) (any, bool) {
	v, ok := a.env.variable(name)
	if !ok || v.get == nil {
		return nil, false
	}
	x, err := v.get(a.vars)
	if err != nil {
		return types.WrapErr(err), true
	}
	return x, true
}

func (a activation) ResolveFunction(name string) (cel.LateBoundFunction, bool) {
	if name != "results" {
		return nil, false
	}
	return func(_ string, args ...ref.Val) ref.Val {
		items, err := a.vars.results(string(args[0].(types.String)))
		if err != nil {
			return types.WrapErr(err)
		}
		return adapter{}.NativeToValue(items)
	}, true
}

func (v *Vars) results(tool string) ([]value.Value, error) {
	if v.Results == nil {
		return nil, nil
	}
	return v.Results(tool)
}

// strictMacros are all and exists, turned round for empty ranges: see
// [Program.HoldsVacuously].
func strictMacros() []cel.Macro {
	isEmpty := func(mef parser.ExprHelper, target ast.Expr) ast.Expr {
		return mef.NewCall("_==_", mef.NewCall("size", mef.Copy(target)), mef.NewLiteral(types.Int(0)))
	}
	return []cel.Macro{
		parser.NewReceiverMacro("all", 2, func(mef parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			all, err := parser.MakeAll(mef, target, args)
			if err != nil || alwaysFilled(target) {
				return all, err
			}
			return mef.NewCall("_&&_", mef.NewCall("!_", isEmpty(mef, target)), all), nil
		}),
		parser.NewReceiverMacro("exists", 2, func(mef parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			exists, err := parser.MakeExists(mef, target, args)
			if err != nil || alwaysFilled(target) {
				return exists, err
			}
			return mef.NewCall("_||_", isEmpty(mef, target), exists), nil
		}),
	}
}

// alwaysFilled reports whether a range has something in it whenever a turn was
// played, with a tool call or without: the requests, the answers, or what is
// chosen of them.
func alwaysFilled(target ast.Expr) bool {
	switch target.Kind() {
	case ast.IdentKind:
		return target.AsIdent() == "requests"
	case ast.SelectKind:
		s := target.AsSelect()
		of := s.Operand()
		return s.FieldName() == "answers" && of.Kind() == ast.IdentKind && (of.AsIdent() == "journal" || of.AsIdent() == "transcript")
	case ast.ComprehensionKind: // filter and map
		return alwaysFilled(target.AsComprehension().IterRange())
	default:
		return false
	}
}
