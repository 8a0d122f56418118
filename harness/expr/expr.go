// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package expr evaluates the expressions of scenario files: CEL, alone
// (when, failed_when, that, $that), inside {{ }} in strings, and as $cel in
// JSON values.
//
//	env, err := expr.NewEnv(expr.Reply)
//	say, err := env.CompileTemplate("Built {{result.model_id}}.")
//	text, err := say.Render(&expr.Vars{Result: &result})
//
// Everything is compiled when a file is loaded; an [Env] and what it compiles
// can be used concurrently.
//
// # Rules
//
//   - A plain path (result.a[0].b, results("s.tool").last().id) does not go
//     through CEL: it returns the stored value with the spelling of its
//     numbers. CEL knows int and double only, so that 1.10 becomes 1.1 there,
//     and an integer beyond 64 bits is an error.
//   - JSON integers are ints, other numbers doubles. + - * / never mix the
//     two (double(x) converts); comparisons do.
//   - A key that is not there, an index out of bounds, and first() or last()
//     of an empty list are [ErrMissing]; [Program.Holds] takes that as false.
//   - {{ }} always makes a string; what is not one prints as JSON. }} ends the
//     expression at the first place where it parses.
//   - Fields of request, message, trajectory, journal and transcript are
//     checked when the expression is compiled; args, result, state, vars and
//     value are JSON and can have any.
package expr

import (
	"errors"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/value"
)

// ErrMissing is met when an expression reads what is not there.
var ErrMissing = errors.New("missing")

// Scope says where an expression stands and so which names it knows. user,
// turn and vars are known everywhere.
type Scope uint8

// The scopes. Value is added to another one: Expectation|Value.
const (
	Request     Scope = iota // request, message: when of rules, asides, faults
	Reply                    // result, results: what a scripted reply says
	Tool                     // args, state: when and answers of a tool's results
	ToolResult               // args, state, result: set and failed_when of a tool
	Expectation              // result, results
	That                     // result, results, trajectory, journal, transcript

	Value Scope = 1 << 7 // value: $that
)

// Vars are what an expression can read. Only what its scope knows needs to be
// set. Nothing is converted before it is read, so a long request costs
// nothing where the expression does not look at it.
type Vars struct {
	Request *harness.Request // message is its last one

	// Result is the result of the last call; nil when there is none yet, and
	// then reading it is [ErrMissing].
	Result *value.Value
	// Results returns the results of a tool in call order. Nil means none.
	Results func(tool string) ([]value.Value, error)

	Args, State value.Value

	User string
	Turn int
	Vars value.Value // the case's row, an object

	Value value.Value // under $that

	Trajectory []harness.Call
	Journal    Journal
	Transcript *harness.Transcript // nil when the subject reports nothing
}

// Journal is the journal as expressions see it.
type Journal struct {
	ModelCalls int // attempts that reached the endpoint, without asides
	Retries    int
	ToolCalls  int
	Tokens     int
	Answers    []string // the answers in text, one for each turn that has one
}

// Env compiles expressions of one scope.
type Env struct{ impl *env }

// NewEnv returns the environment of a scope. It is made once and then shared.
func NewEnv(scope Scope) (*Env, error) { panic("TODO") }

// Compile compiles an expression. The error is an [*Error].
func (e *Env) Compile(src string) (*Program, error) { panic("TODO") }

// CompileCondition compiles an expression that must be a boolean. The error
// is an [*Error].
func (e *Env) CompileCondition(src string) (*Program, error) { panic("TODO") }

// CompileTemplate compiles a string with {{ }} in it. The error is an
// [*Error].
func (e *Env) CompileTemplate(src string) (*Template, error) { panic("TODO") }

// CompileValue compiles a JSON value with {{ }} in its strings and keys, $cel
// and $literal. The error is [Errors].
func (e *Env) CompileValue(v value.Value) (*Tree, error) { panic("TODO") }

// Program is a compiled expression.
type Program struct{ impl *program }

// Eval evaluates the expression.
func (p *Program) Eval(vars *Vars) (value.Value, error) { panic("TODO") }

// True evaluates a condition. A result that is no boolean is an error.
func (p *Program) True(vars *Vars) (bool, error) { panic("TODO") }

// Holds is [Program.True], except that a condition that reads what is missing
// does not hold. It is the rule of when and failed_when.
func (p *Program) Holds(vars *Vars) (bool, error) { panic("TODO") }

// Reads reports whether the expression reads a name: Reads("transcript").
func (p *Program) Reads(name string) bool { panic("TODO") }

// HoldsVacuously reports whether a condition over the trajectory would hold
// for one without calls just because there is nothing to object to:
// trajectory.all(c, !c.failed), but not trajectory.size() == 0.
func (p *Program) HoldsVacuously() bool { panic("TODO") }

// String returns the source.
func (p *Program) String() string { panic("TODO") }

// Template is a compiled string.
type Template struct{ impl *template }

// Literal returns the string when there is nothing to compute in it.
func (t *Template) Literal() (string, bool) { panic("TODO") }

// Render computes the string.
func (t *Template) Render(vars *Vars) (string, error) { panic("TODO") }

// Tree is a compiled JSON value.
type Tree struct{ impl *tree }

// Literal returns the value when there is nothing to compute in it.
func (t *Tree) Literal() (value.Value, bool) { panic("TODO") }

// Expand computes the value. An error names the path of what failed.
func (t *Tree) Expand(vars *Vars) (value.Value, error) { panic("TODO") }

// Error is a mistake in an expression.
type Error struct {
	// Path leads to the string in the value; nil outside of values.
	Path value.Path
	// Src is the whole string or expression, Offset the byte in it.
	Src    string
	Offset int
	// Msg says what is wrong, with a hint where there is one.
	Msg string
}

// Error returns the message, and below it the line of the source with a caret.
func (e *Error) Error() string { panic("TODO") }

// Errors are all mistakes in a value, in document order.
type Errors []*Error

func (e Errors) Error() string { panic("TODO") }

type (
	env      struct{}
	program  struct{}
	template struct{}
	tree     struct{}
)
