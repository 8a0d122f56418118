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
//   - An evaluation that takes too many steps or too long, or makes a value that
//     is too large, is stopped with a [*LimitError].
//   - Fields of request, message, trajectory, journal and transcript are
//     checked when the expression is compiled; args, result, state, vars and
//     value are JSON and can have any.
package expr

import (
	"context"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Scope says where an expression stands and so which names it knows. user,
// turn and vars are known everywhere, user only once there is one.
type Scope uint8

// The scopes. Value is added to another one: Expectation|Value.
const (
	Request     Scope = iota // request, message: when of rules, asides, faults
	Reply                    // result, results: what a scripted reply says
	Tool                     // args, state, asked: when and answers of a tool's results
	ToolResult               // args, state, asked, result: set and failed_when of a tool
	Expectation              // result, results
	User                     // turn and vars alone: what the user says
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
	// Asked are the answers of the client by the name of what it was asked;
	// null when it was asked nothing, and then reading it is [ErrMissing].
	Asked value.Value

	User string
	Turn int
	Vars value.Value // the case's row, an object

	// Ctx ends an evaluation that nobody waits for any more. Nil never does:
	// the limits end it then.
	Ctx context.Context
	// Budget is shared by evaluations that belong together. Nil is no limit
	// beside that of each.
	Budget *Budget

	Value value.Value // under $that

	Trajectory []harness.Call
	Journal    Journal
	Requests   []harness.Exchange  // to the model, in order
	Transcript *harness.Transcript // nil when the subject reports nothing
}

// Journal is the journal as expressions see it.
type Journal struct {
	ModelCalls int // attempts that reached the endpoint, without asides
	Retries    int
	ToolCalls  int
	Tokens     int
	Answers    []string // the answers in text, one for each turn that has one
	Told       []string // the tool results in the last request, as the model read them
	Stops      []string // for what reasons the last answer of the endpoint may end a turn; empty for a valid one
}
