// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// runCalls runs the calls of m and returns the tool messages that answer them, in
// the model's order. Whatever goes wrong with a call is a
// result that the model can read.
func (t *turn) runCalls(ctx context.Context, m harness.Message, offered []harness.Tool) []harness.Message {
	var reports []harness.ReportedCall
	if len(m.Calls) == 1 {
		reports = t.runOne(ctx, m.Calls[0], offered)
	} else {
		reports = t.runSeveral(ctx, m.Calls, offered)
	}
	answers := make([]harness.Message, 0, len(reports))
	for _, r := range reports {
		answers = append(answers, harness.Message{Role: harness.RoleTool, CallID: r.ID, Text: r.Result})
	}
	t.mu.Lock()
	t.calls = append(t.calls, reports...)
	t.mu.Unlock()
	return answers
}

// runOne runs the only call of a reply, without the detour over goroutines.
func (t *turn) runOne(ctx context.Context, call harness.ToolCall, offered []harness.Tool) []harness.ReportedCall {
	t.yield(ToolStarted{Call: call})
	ctx, done := t.cfg.Clock.Waiting(ctx)
	defer done()
	report, notes := t.runCall(ctx, call, offered)
	t.finished(report, notes)
	return []harness.ReportedCall{report}
}

// finished tells that a call is over.
func (t *turn) finished(report harness.ReportedCall, notes []Notice) {
	for _, note := range notes {
		t.yield(note)
	}
	t.yield(ToolFinished{Call: report})
}

// runSeveral runs calls, several at once. Events are yielded by this goroutine
// alone: the loop of a caller is no place for others.
func (t *turn) runSeveral(ctx context.Context, calls []harness.ToolCall, offered []harness.Tool) []harness.ReportedCall {
	ended := make(chan func(), len(calls))
	reports := make([]harness.ReportedCall, len(calls))
	started := 0
	turnOf := inOrder(t.cfg.InOrder)
	// A clock that skips waits is told of all calls that can begin before the
	// first of them does, and of the next one before the last is over.
	var start func(most int)
	start = func(most int) {
		var begin []func(begun func())
		for ; started < len(calls) && len(begin) < most; started++ {
			i, call := started, calls[started]
			t.yield(ToolStarted{Call: call})
			ctx, done := t.cfg.Clock.Waiting(ctx)
			mine, next := turnOf(call.Name)
			begin = append(begin, func(begun func()) {
				defer begun()
				if t.cfg.ordered {
					ctx = mcpwire.OnTaken(ctx, begun)
				} else {
					begun()
				}
				<-mine
				report, notes := t.runCall(ctx, call, offered)
				close(next)
				ended <- func() {
					reports[i] = report
					t.finished(report, notes)
					start(1)
					done()
				}
			})
		}
		for _, f := range begin { // in the model's order
			begun := make(chan struct{})
			go f(sync.OnceFunc(func() { close(begun) }))
			<-begun
		}
	}
	start(t.cfg.MaxToolConcurrency)
	for range calls {
		(<-ended)()
	}
	return reports
}

// inOrder has the calls of some tools wait for each other. The function that it
// returns is asked for each call, in the model's order: mine is closed when the
// call may run, and whoever ran it closes next.
func inOrder(tools []string) func(tool string) (mine, next chan struct{}) {
	free := make(chan struct{})
	close(free)
	last := free
	return func(tool string) (mine, next chan struct{}) {
		next = make(chan struct{})
		if !slices.Contains(tools, tool) {
			return free, next
		}
		mine, last = last, next
		return mine, next
	}
}

// errToolTimeout ends a call that takes longer than Config.ToolTimeout.
var errToolTimeout = errors.New("tool timeout")

// runCall runs one call.
func (t *turn) runCall(ctx context.Context, call harness.ToolCall, offered []harness.Tool) (report harness.ReportedCall, notes []Notice) {
	start := t.cfg.Clock.Now()
	report = harness.ReportedCall{ID: call.ID, Tool: call.Name, Arguments: call.Arguments}
	var kind ErrorType
	fail := func(as ErrorType, format string, args ...any) {
		kind, report.Error = as, fmt.Sprintf(format, args...)
		report.Result = mcpwire.ErrorMark + report.Error
	}
	defer func() {
		report.Duration = t.cfg.Clock.Now().Sub(start)
		var more []string
		report.Result, more = t.readable(call.Name, report.Result)
		for _, text := range more {
			notes = append(notes, Notice{Text: text})
		}
		if t.cfg.ErrorObjects && kind != "" {
			report.Result = errorObject(kind, report.Result)
		}
	}()

	turn := ctx
	if turn.Err() != nil {
		fail(ErrorNotRun, "%s was not run: %v", call.Name, context.Cause(turn))
		return report, nil
	}
	if !slices.ContainsFunc(offered, func(o harness.Tool) bool { return o.Name == call.Name }) {
		if err := t.denied(call.Name); err != nil {
			fail(ErrorDenied, "%v", err)
			return report, []Notice{{Text: "refused: " + err.Error()}}
		}
		if t.leftOut(call.Name) {
			fail(ErrorNoTool, "the tool %q was not offered; it is offered now", call.Name)
			return report, nil
		}
		fail(ErrorNoTool, "there is no tool %q; the tools are %s", call.Name, names(offered))
		return report, nil
	}
	ctx, span := t.cfg.recorder.Tool(ctx, call)
	defer func() { span.Executed(report.Result, string(kind), report.Error) }()
	args, err := object(call.Arguments)
	if err != nil {
		fail(ErrorArguments, "the arguments of %s are not a JSON object: %v; write one that fits the tool's schema", call.Name, err)
		return report, nil
	}
	if t.cfg.Approve != nil {
		asked := call
		asked.Arguments = args
		_, err := guard(func() (any, error) { return nil, t.cfg.Approve(ctx, asked) })
		switch {
		case turn.Err() != nil: // whatever was decided since
			fail(ErrorNotRun, "%s was not run: it was not approved in time (%v)", call.Name, context.Cause(turn))
			return report, nil
		case err != nil:
			fail(ErrorNotApproved, "%s was not run: it was denied: %v", call.Name, err)
			return report, []Notice{{Text: fmt.Sprintf("denied: %s: %v", call.Name, err), Denied: &call}}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.cfg.ToolTimeout, errToolTimeout)
	defer cancel()
	res, err := guard(func() (tools.Result, error) { return t.cfg.Tools.Call(ctx, call.Name, args) })
	report.Server, report.Result = res.Server, res.Text
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errToolTimeout):
		tool := call.Name
		if res.Server != "" {
			tool += fmt.Sprintf(" of server %q", res.Server)
		}
		fail(ErrorTimeout, "%s did not answer within %v", tool, t.cfg.ToolTimeout)
	case err != nil && turn.Err() != nil:
		fail(ErrorBrokenOff, "the call of %s was broken off (%v); whether it took effect is not known", call.Name, context.Cause(turn))
	case err != nil:
		fail(ErrorFailed, "calling %s: %v", call.Name, err)
	case res.IsError && res.Err != nil:
		kind, report.Error = typeOf(res.Err), res.Err.Error()
	case res.IsError:
		kind, report.Error = ErrorTool, res.Text
	}
	return report, nil
}

// guard turns a panic into an error: calls run in goroutines of ours, so that nobody
// else could recover from it.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	return f()
}

// denied says why a tool that is not offered may not be called.
func (t *turn) denied(tool string) error {
	if t.cfg.Denied == nil {
		return nil
	}
	_, err := guard(func() (any, error) { return nil, t.cfg.Denied(tool) })
	return err
}

// readable makes a result one that a request can carry: text, and not too
// much of it.
func (t *turn) readable(tool, text string) (string, []string) {
	var notes []string
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd") + "\n[bytes that are not UTF-8 were replaced by \ufffd]"
		notes = append(notes, fmt.Sprintf("result of %s is not UTF-8: invalid bytes were replaced", tool))
	}
	if short := shorten(text, t.cfg.MaxResultBytes); len(short) < len(text) {
		notes = append(notes, fmt.Sprintf("result of %s has %d bytes: it was shortened", tool, len(text)))
		text = short
	}
	return text, notes
}

// shorten keeps head and tail of a text that is longer than limit bytes, in
// whole characters, and says in between how much is missing.
func shorten(text string, limit int) string {
	if limit < 0 || len(text) <= limit {
		return text
	}
	head, tail, left := prose.Ends(text, limit-limit/4, limit/4)
	return fmt.Sprintf("%s\n[... %d of %d bytes left out ...]\n%s", head, left, len(text), tail)
}

// object returns the arguments of a call; nothing at all counts as {}.
func object(args string) (string, error) {
	trimmed := strings.TrimSpace(args)
	if trimmed == "" || trimmed == "null" {
		return "{}", nil
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return args, nil
	}
	var v map[string]json.RawMessage
	return args, json.Unmarshal([]byte(trimmed), &v)
}

// canonical spells JSON in one way, so that equal arguments are equal texts.
func canonical(args string) string {
	args, err := object(args)
	if err != nil {
		return args
	}
	v, err := value.Parse([]byte(args))
	if err != nil {
		return args
	}
	return string(v.AppendCanonical(nil))
}

func names(tools []harness.Tool) string {
	if len(tools) == 0 {
		return "none"
	}
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return strings.Join(list, ", ")
}
