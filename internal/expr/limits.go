// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// What one evaluation may take. The number of steps is what stops an
// expression that does not end, in a second or so and at the same step on every
// machine; the time is for what the steps do not foresee.
const (
	maxSteps = 10_000_000
	// maxIdleSteps is for an expression that reads nothing and is only
	// evaluated to check a file.
	maxIdleSteps = 200_000
	// maxTime is far above what maxSteps take.
	maxTime = 5 * time.Second
	// maxMade bounds one value that an expression makes, in items; bytesPerItem
	// of a text count as one.
	maxMade      = 500_000
	bytesPerItem = 20
	// maxScan bounds what a search may take: the length of the text times that
	// of what is searched for.
	maxScan = 500_000_000
	// maxText bounds a text with expressions in it, in bytes. What it is given
	// may be longer than what an expression may make.
	maxText = 64_000_000
	// maxPrecision of a number in format().
	maxPrecision = 100
	// checkEvery is how many rounds of a loop go by before the time is looked at.
	checkEvery = 1000
)

// Budget is what many evaluations may take together, beside the limit of each.
// It can be used concurrently.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of a number of steps.
func NewBudget(steps int64) *Budget {
	b := new(Budget)
	b.left.Store(steps)
	return b
}

// spent reports whether nothing is left.
func (b *Budget) spent() bool { return b != nil && b.left.Load() <= 0 }

func (b *Budget) take(details *cel.EvalDetails) {
	if b == nil || details == nil {
		return
	}
	if steps := details.ActualCost(); steps != nil {
		b.left.Add(-int64(min(*steps, maxSteps)) - 1)
	}
}

// LimitError says that an expression was stopped, since it took too much. It
// tells nothing of whether the expression holds.
type LimitError struct {
	// Pos is where the expression stands, zero where that is not known.
	Pos harness.Position
	Src string
	Msg string
	// Cause is the context's, where that ended the evaluation; else nil.
	Cause error
}

func (e *LimitError) Error() string {
	msg := fmt.Sprintf("evaluating %#q: %s", prose.Excerpt(e.Src, 100), e.Msg)
	if !e.Pos.IsZero() {
		msg = fmt.Sprintf("%s: %s", e.Pos, msg)
	}
	return msg
}

func (e *LimitError) Unwrap() error { return e.Cause }

// evaluable is a planned expression under the limits of this file. All that is
// evaluated is evaluated by its run.
type evaluable struct {
	prog  cel.Program
	loops bool // it can take time, and grow a value out of itself
}

// plan makes an expression ready to be evaluated within a number of steps.
func plan(env *cel.Env, checked *cel.Ast, steps uint64, options cel.EvalOption) (evaluable, error) {
	e := evaluable{loops: hasAny(checked, ast.KindMatcher(ast.ComprehensionKind))}
	if hasAny(checked, ast.FunctionMatcher("matches")) {
		options &^= cel.OptOptimize // it would put a call of its own in the place of the guard's
	}
	opts := []cel.ProgramOption{
		cel.EvalOptions(options), cel.CostLimit(steps), cel.CostTracking(prices{}),
		cel.CustomDecoratorV2(guard(env, e.loops)),
	}
	if e.loops {
		opts = append(opts, cel.InterruptCheckFrequency(checkEvery))
	}
	var err error
	e.prog, err = env.Program(checked, opts...)
	return e, err
}

func hasAny(checked *cel.Ast, match ast.ExprMatcher) bool {
	return len(ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), match)) > 0
}

// run evaluates the expression. What it comes to can be read as a whole.
func (e evaluable) run(a activation) (x ref.Val, details *cel.EvalDetails, err error) {
	if a.vars.Budget.spent() {
		return nil, nil, errSpent
	}
	defer func() { a.vars.Budget.take(details) }()
	if !e.loops {
		return e.prog.Eval(a)
	}
	ctx := a.vars.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	x, details, err = e.prog.ContextEval(ctx, a)
	if err == nil && unreadable(x) {
		err = errTooLarge
	}
	return x, details, err
}

// errTooLarge is what cel-go's own measure of memory says.
var errTooLarge = interpreter.EvalCancelledError{Cause: interpreter.MemoryLimitExceeded, Message: "too large"}

var errSpent = &LimitError{Msg: "the expressions evaluated together with it used up their steps"}

var errTooLong = fmt.Errorf("it takes longer than %v", maxTime)

// limitOf returns what an error of run says about a limit; nil when it is an
// error of another kind.
func limitOf(err error, steps uint64) *LimitError {
	var cancelled interpreter.EvalCancelledError
	var own *LimitError
	switch {
	case errors.As(err, &own):
		limit := *own
		return &limit
	case errors.Is(err, errTooLong):
		return &LimitError{Msg: errTooLong.Error() + ": make it simpler, or let it read less"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &LimitError{Msg: "it was cancelled: " + err.Error(), Cause: err}
	case !errors.As(err, &cancelled):
		return nil
	case cancelled.Cause == interpreter.MemoryLimitExceeded:
		return &LimitError{Msg: fmt.Sprintf("it produces a value of more than %d items or %d MB of text", maxMade, maxMade*bytesPerItem/1_000_000)}
	case cancelled.Cause == interpreter.CostLimitExceeded:
		return &LimitError{Msg: fmt.Sprintf("it takes more than %d steps: make it simpler, or let it read less", steps)}
	}
	return &LimitError{Msg: cancelled.Message}
}

// prices are what calls cost: as much as they make. cel-go takes most functions
// to cost one step.
type prices struct{}

var _ cost.ActualCostEstimator = prices{}

func (prices) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	switch function {
	case "_==_", "_!=_", "@in", "contains", "startsWith", "endsWith", "_<_", "_<=_", "_>_", "_>=_", "matches":
		return nil // cel-go has a price for these, which counts what they read
	case "first", "last", "results", "dyn", "size", "_[_]", "_?._", "_[?_]", "value", "hasValue", "or", "orValue",
		"optional.of", "optional.ofNonZeroValue", "optional.none":
		return nil // they make nothing of what they give
	}
	made := sizeOf(result)
	if made > maxMade*bytesPerItem {
		panic(errTooLarge)
	}
	if _, list := result.(traits.Lister); list && function == "_+_" {
		made = sizeOf(args[1]) // the list before it is not copied
	}
	for _, arg := range args {
		if _, list := arg.(traits.Lister); !list {
			made = max(made, sizeOf(arg)/bytesPerItem)
		}
	}
	steps := 1 + 2*made/bytesPerItem
	return &steps
}

// sizeOf is the size of a text or list in bytes, or in items that count for as
// many.
func sizeOf(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	case traits.Lister:
		if n, ok := v.Size().(types.Int); ok {
			return uint64(n) * bytesPerItem
		}
	}
	return 0
}

// guard has functions refuse what would take out of all proportion to what
// they get, before they begin. Nothing can interrupt them.
func guard(env *cel.Env, loops bool) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		var refuses func(args []ref.Val) bool
		switch call.Function() {
		case "replace":
			refuses = func(args []ref.Val) bool { return replaced(args) > maxMade*bytesPerItem }
		case "join":
			refuses = func(args []ref.Val) bool { return joined(args) > maxMade*bytesPerItem }
		case "indexOf", "lastIndexOf", "matches":
			refuses = func(args []ref.Val) bool {
				if sizeOf(args[0])*sizeOf(args[1]) > maxScan {
					panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
				}
				return false
			}
		case "_==_", "_!=_", "@in", "format", "string":
			if !loops {
				return i, nil // what it gets is no larger than what it was given
			}
			refuses = func(args []ref.Val) bool { return slices.ContainsFunc(args, unreadable) }
		default:
			return i, nil
		}
		op, err := operator(env, call)
		if err != nil {
			return nil, err
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			if refuses(args) {
				panic(errTooLarge)
			}
			return op(args)
		}), nil
	}
}

// unreadable reports whether a value is too large to be read as a whole. It can
// be small in memory, and have one part in many places.
func unreadable(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper, *types.Optional:
	default:
		return false
	}
	sizes := types.NewSizeCalculator(types.SizeCalculatorMaxDepth(maxDepth), types.SizeCalculatorMaxTraversal(4*maxMade),
		types.SizeCalculatorStringUnitLength(bytesPerItem))
	return sizes.AggregateSize(v) > maxMade
}

// maxDepth of a value that an expression makes.
const maxDepth = 500

// replaced is the length of s.replace(old, new).
func replaced(args []ref.Val) uint64 {
	if len(args) < 3 {
		return 0
	}
	s, ok1 := args[0].(types.String)
	old, ok2 := args[1].(types.String)
	other, ok3 := args[2].(types.String)
	if !ok1 || !ok2 || !ok3 {
		return 0
	}
	return uint64(len(s)) + uint64(strings.Count(string(s), string(old)))*uint64(len(other))
}

// joined is the length of list.join(separator).
func joined(args []ref.Val) uint64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	n := sizeOf(list) / bytesPerItem
	var total uint64
	if len(args) > 1 {
		total = n * sizeOf(args[1])
	}
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxMade*bytesPerItem; {
		total += sizeOf(it.Next())
	}
	return total
}

// operator is how a call is carried out.
func operator(env *cel.Env, call interpreter.InterpretableCall) (func(args []ref.Val) ref.Val, error) {
	switch call.Function() {
	case "_==_":
		return func(args []ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, nil
	case "_!=_":
		return func(args []ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, nil
	case "matches":
		if pattern, ok := call.Args()[1].(interpreter.InterpretableConst); ok {
			return constantPattern(pattern.Value())
		}
	}
	bindings, err := env.Functions()[call.Function()].Bindings()
	if err != nil {
		return nil, err
	}
	var found *functions.Overload
	for _, b := range bindings {
		if b.Operator == call.OverloadID() || found == nil && b.Operator == call.Function() {
			found = b
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the function %s has no operator %q", call.Function(), call.OverloadID())
	}
	return func(args []ref.Val) ref.Val {
		switch {
		case len(args) == 1 && found.Unary != nil:
			return found.Unary(args[0])
		case len(args) == 2 && found.Binary != nil:
			return found.Binary(args[0], args[1])
		case found.Function != nil:
			return found.Function(args...)
		}
		return types.MaybeNoSuchOverloadErr(args[0])
	}, nil
}

// constantPattern is matches with a pattern that is compiled once.
func constantPattern(pattern ref.Val) (func(args []ref.Val) ref.Val, error) {
	text, ok := pattern.(types.String)
	if !ok {
		return nil, errors.New("the pattern of matches is not a string")
	}
	re, err := regexp.Compile(string(text))
	if err != nil {
		return nil, err
	}
	return func(args []ref.Val) ref.Val {
		s, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.Bool(re.MatchString(string(s)))
	}, nil
}
