// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// decide finds the outcome and the primary cause.
func (e *evidence) decide(checks int, explain func([]trials.Cause)) (harness.Outcome, *trials.Cause) {
	if e.played.Unable != nil {
		return harness.OutcomeSkipped, e.played.Unable
	}
	causes := e.causes()
	explain(causes)
	if len(causes) == 0 {
		switch {
		case checks > 0 || e.scenario.ConductOnly && e.mode.Alone():
			return harness.OutcomePassed, nil
		case e.mode.Real() && !e.scenario.HasExpectations():
			return harness.OutcomeSkipped, &trials.Cause{
				Kind: trials.CauseScenario, Pos: e.scenario.Pos, Message: fmt.Sprintf("a trial in mode %s needs expectations, but the scenario has none", e.mode),
			}
		default:
			return harness.OutcomeError, &trials.Cause{
				Kind: trials.CauseScenario, Pos: e.scenario.Pos, Message: nothingChecked(e.verdicts),
			}
		}
	}
	primary := causes[0]
	primary.Folded = e.fold(causes)
	switch primary.Kind {
	case trials.CauseScenario, trials.CauseEndpoint, trials.CauseJudge:
		return harness.OutcomeError, &primary
	}
	return harness.OutcomeFailed, &primary
}

// blameOfStop says whose doing it is that a turn has ended with an error. A
// reply that is cut off, withheld or empty is the model's, whatever the subject
// makes of it; a panic never is.
func (t *trial) blameOfStop(e *evidence) trials.Blame {
	if panicked := (*panicError)(nil); t.opts.Mode == harness.ModeMock || t.brokeIn == 0 || errors.As(t.broke, &panicked) {
		return trials.BlameSubject
	}
	switch t.reports[t.brokeIn-1].Stop {
	case harness.StopLength, harness.StopEmptyReply, harness.StopContentFilter, harness.StopRefusal,
		harness.StopModelCalls, harness.StopTokens, harness.StopRepeatedCall:
		return trials.BlameModel
	case "":
		if last := lastOf(e.exchanges, t.brokeIn); last != nil && last.Delivered && last.FinishReason == "length" {
			return trials.BlameModel
		}
	}
	return trials.BlameSubject
}

// asked reports whether a reply of the model asks for a call that a server got.
func (e *evidence) asked(x harness.ToolExchange) bool {
	return slices.ContainsFunc(e.calls, func(c harness.Call) bool {
		return c.Server == x.Server && c.Exec == x.Seq && !c.Unasked
	})
}

// nothingChecked says why no expectation came to a verdict.
func nothingChecked(verdicts []trials.Verdict) string {
	var why []string
	what := "every expectation was skipped"
	for _, v := range verdicts {
		switch {
		case v.Advisory && v.State != trials.Skipped:
			what = "no expectation decides"
			why = append(why, v.Check+": it is advisory; set decides: true, or expect something else too")
		case v.Scripted:
			what = "no expectation decides"
			why = append(why, v.Check+": it was judged by what the script says, since "+silent)
		case !v.Conduct:
			why = append(why, fmt.Sprintf("%s: %s", v.Check, v.Message))
		}
	}
	if len(why) == 0 {
		return "nothing was checked: the scenario has no expectations and does not set conduct_only"
	}
	return "nothing was checked: " + what + " (" + strings.Join(why, "; ") + ")"
}

// stopped reports whether the scenario expects that a turn stops as it did.
func (e *evidence) stopped(turn int) bool {
	return slices.ContainsFunc(e.verdicts, func(v trials.Verdict) bool {
		return v.Check == "stops" && !v.Conduct && v.Turn == turn && v.State == trials.Passed
	})
}

// causes lists what went wrong, the first being primary.
func (e *evidence) causes() []trials.Cause {
	f := &e.played.Faults
	found := func(kind trials.CauseKind, v *trials.Verdict) trials.Cause {
		return trials.Cause{Kind: kind, Message: v.Check + ": " + v.Message, Pos: cmp.Or(v.Pos, e.scenario.Pos), Check: v.Check, Tools: e.toolsOf(v.Alignment)}
	}
	out := slices.Clone(f.Setup)
	altered := e.alteration()
	explained := altered != nil && len(f.Script) > 0
	if !explained {
		out = append(out, f.Script...)
	}
	out = append(out, f.Course...)
	if explained {
		out = append(out, found(trials.CauseConduct, &trials.Verdict{Check: altered.Check, Message: altered.Message}))
	}
	// An error of the subject after any of these is how it reports them. A
	// panic is never.
	if f.Subject != nil && (len(out) == 0 || f.Panicked) {
		out = append(out, *f.Subject)
	}
	for _, v := range primaryConduct(e.verdicts) {
		if !explained || v.Check != altered.Check {
			out = append(out, found(trials.CauseConduct, &v))
		}
	}
	// Where nothing interrupted a turn, what was expected of it tells nothing.
	untested := func(v *trials.Verdict) bool {
		return v.State == trials.Undecided && slices.Contains(interruptions, v.Check)
	}
	for _, v := range e.verdicts {
		if untested(&v) {
			out = append(out, found(trials.CauseScenario, &v))
		}
	}
	for _, v := range e.verdicts {
		if !v.Conduct && v.State == trials.Failed {
			c := found(trials.CauseExpectation, &v)
			if v.Check == "retries" || v.Check == "start_error" {
				c.Blame = trials.BlameSubject
			}
			out = append(out, c)
		}
	}
	for _, v := range e.verdicts {
		switch {
		case v.State != trials.Undecided || v.Advisory || untested(&v):
		case v.Conduct, v.Check == "judge": // conduct: of a trial that is judged again
			out = append(out, found(trials.CauseJudge, &v))
		default:
			out = append(out, found(trials.CauseScenario, &v))
		}
	}
	if len(out) > 0 { // what else is wrong may follow from them
		out = slices.Concat(f.Behind, out)
	}
	return out
}

// toolsOf are the tools of the calls that are not as they are expected.
func (e *evidence) toolsOf(a *trials.Alignment) []string {
	if a == nil {
		return nil
	}
	var out []string
	for _, row := range a.Rows {
		name := row.Tool
		if row.Call >= 0 && row.Call < len(e.calls) {
			name = e.calls[row.Call].Name()
		}
		if row.Status != trials.AlignMatched && name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// named is a list of the one name, if there is one.
func named(tool string) []string {
	if tool == "" {
		return nil
	}
	return []string{tool}
}

// faults lists what went wrong while the trial was played.
func (t *trial) faults(e *evidence) trials.Faults {
	var f trials.Faults
	cause := func(kind trials.CauseKind, pos harness.Position, format string, args ...any) trials.Cause {
		return trials.Cause{Kind: kind, Message: fmt.Sprintf(format, args...), Pos: cmp.Or(pos, t.scenario.Pos)}
	}
	add := func(kind trials.CauseKind, pos harness.Position, format string, args ...any) *trials.Cause {
		f.Course = append(f.Course, cause(kind, pos, format, args...))
		return &f.Course[len(f.Course)-1]
	}
	if t.infra != nil {
		f.Setup = []trials.Cause{*t.infra}
	}
	f.Script = t.scriptErrors(e)
	live, _ := t.model.(*liveModel)
	if t.opts.Mode.Real() && live != nil {
		if c := t.slowEndpoint(e.exchanges); c != nil {
			f.Course = append(f.Course, *c)
		} else if t.passed() != nil {
			// a limit of calls or tokens, or of the subject's own time
		} else if c := endpointCause(e.exchanges, live.brokeOff, t.reports, t.broke, e.stopped); c != nil {
			f.Course = append(f.Course, *c)
		}
	}
	f.Course = append(f.Course, t.tapeMisses()...) // the model's may follow from them
	for _, x := range e.exchanges {
		switch x.Kind {
		case harness.KindRefusal:
			add(trials.CauseRefusal, t.turnPos(x.Turn), "the provider would refuse request %d: %s", x.Seq, x.Error)
		case harness.KindMiss:
			add(trials.CauseMiss, t.turnPos(x.Turn), "%s", x.Error).Tools = named(x.Unoffered)
		}
	}
	if live != nil {
		for _, text := range live.strays() {
			add(trials.CauseMiss, harness.Position{}, "%s", text)
		}
	}
	for _, x := range e.tools {
		if x.Miss != "" {
			c := add(trials.CauseMiss, harness.Position{}, "%s", x.Miss)
			c.Tools = named(x.Server + "." + x.Tool)
			if t.opts.Mode != harness.ModeMock && e.asked(x) {
				c.Blame = trials.BlameModel
			}
		}
	}
	if !t.opts.Mode.Real() {
		for _, text := range t.approvals.undecided() {
			add(trials.CauseMiss, harness.Position{}, "%s", text)
		}
	}
	for _, h := range t.heldInVain() {
		switch {
		case h.nobody:
			f.Behind = append([]trials.Cause{cause(trials.CauseScenario, h.pos, "%s", h.msg)}, f.Behind...)
		case !t.waited():
		case t.broke != nil:
			add(trials.CauseSubject, h.pos, "%s; %s", h.msg, t.subjectFault(e))
		default:
			add(trials.CauseSubject, h.pos, "%s", h.msg)
		}
	}
	if l := t.passed(); l != nil {
		c := add(trials.CauseLimits, t.scenario.Limits.Pos[l.key], "limit exceeded: %s", l)
		if t.opts.Mode != harness.ModeMock && l.key != limitTime {
			c.Blame = trials.BlameModel // which asks for more and more
		}
	}
	if t.broke != nil {
		c := cause(trials.CauseSubject, t.turnPos(len(t.reports)), "%s", t.subjectFault(e))
		c.Blame = t.blameOfStop(e)
		panicked := (*panicError)(nil)
		if ranOn := (*ranOnError)(nil); errors.As(t.broke, &ranOn) {
			f.Setup = append(f.Setup, c) // all else comes of it
		} else {
			f.Subject, f.Panicked = &c, errors.As(t.broke, &panicked)
		}
	}
	if c := t.serverCause(); c != nil {
		f.Behind = append([]trials.Cause{*c}, f.Behind...)
	}
	return f
}

// alteration is the conduct that explains an error of the script, if any: the
// subject dropped or changed a result that the script goes on from, or gave it up
// in a wrong way.
func (e *evidence) alteration() *trials.Verdict {
	checks := []string{conduct.AnsweredOnce, conduct.Results, conduct.WitnessesAgree}
	if slices.ContainsFunc(e.tools, func(x harness.ToolExchange) bool { return x.Unsent }) {
		checks = append(checks, conduct.ProgressToken, conduct.CancelledSent)
	}
	for i, v := range e.verdicts {
		if v.Conduct && v.State == trials.Failed && slices.Contains(checks, v.Check) {
			return &e.verdicts[i]
		}
	}
	return nil
}

// scriptErrors are the errors of the script in the order in which they came
// about: one of a server leads to those of the model's replies that read its
// result.
func (t *trial) scriptErrors(e *evidence) []trials.Cause {
	type scriptError struct {
		at    time.Time
		cause trials.Cause
	}
	var all []scriptError
	for _, x := range e.tools {
		if x.ScriptError != "" {
			c := trials.Cause{Kind: trials.CauseScenario, Pos: t.resultPos(x), Message: x.ScriptError, Tools: named(x.Server + "." + x.Tool)}
			all = append(all, scriptError{x.Start, c})
		}
	}
	for _, x := range e.exchanges {
		if x.Kind == harness.KindScript {
			pos := cmp.Or(x.Pos, t.turnPos(x.Turn), t.scenario.Pos)
			msg := x.Error + t.strangeArguments(e.tools) + unansweredCall(e.tools)
			all = append(all, scriptError{x.Start, trials.Cause{Kind: trials.CauseScenario, Pos: pos, Message: msg, Tools: named(x.Unoffered)}})
		}
	}
	slices.SortStableFunc(all, func(a, b scriptError) int { return a.at.Compare(b.at) })
	var out []trials.Cause
	for _, e := range all {
		out = append(out, e.cause)
	}
	return out
}

// resultPos is where the expression or the result stands whose error x has.
// Else it is where the server does.
func (t *trial) resultPos(x harness.ToolExchange) harness.Position {
	for _, server := range t.scenario.Servers {
		if server.Name == x.Server {
			return cmp.Or(x.ScriptPos, server.Pos)
		}
	}
	return cmp.Or(x.ScriptPos, t.scenario.Pos)
}

// primaryConduct lists failed conduct checks. That replies were not reached
// comes last, since it follows from most of the others; limits have a cause
// of their own, and refusals too.
func primaryConduct(verdicts []trials.Verdict) []trials.Verdict {
	var out, last []trials.Verdict
	for _, v := range verdicts {
		switch {
		case !v.Conduct || v.State != trials.Failed, v.Check == conduct.Limits, v.Check == conduct.ProviderAccepts:
		case v.Check == conduct.AllRepliesReached:
			last = append(last, v)
		default:
			out = append(out, v)
		}
	}
	return append(out, last...)
}

// subjectFault says how the subject broke.
func (t *trial) subjectFault(e *evidence) string {
	where := ""
	if n := len(t.reports); n > 0 {
		where = fmt.Sprintf("turn %d: ", n)
	}
	if errors.Is(t.broke, errHang) || errors.Is(t.broke, errAbandoned) {
		c, _ := counts(e.exchanges, e.mode)
		return fmt.Sprintf("%sthe subject hangs: no answer within %s, after %d model calls and %d tool calls (%v)",
			where, t.opts.Timeout, c.ModelCalls, len(e.tools), t.broke)
	}
	if panicked := (*panicError)(nil); errors.As(t.broke, &panicked) {
		return where + t.broke.Error() + panicked.stack
	}
	hint := ""
	if n := len(t.reports); n > 0 && t.reports[n-1].Stop != "" {
		hint = fmt.Sprintf("; if the turn should end like this, expect it with `stops: %s`", t.reports[n-1].Stop)
	}
	return where + t.broke.Error() + hint
}

// turnPos is where a turn stands in its file; for 0 the last that was played.
func (t *trial) turnPos(turn int) harness.Position {
	if turn == 0 {
		turn = len(t.reports)
	}
	if turn < 1 || turn > len(t.scenario.Turns) {
		return harness.Position{}
	}
	return t.scenario.Turns[turn-1].Pos
}

// fold says in a few words what followed from the primary cause.
func (e *evidence) fold(causes []trials.Cause) []trials.Consequence {
	var out, unmet []trials.Consequence
	add := func(list *[]trials.Consequence, c trials.Cause, format string, args ...any) {
		*list = append(*list, trials.Consequence{Text: fmt.Sprintf(format, args...), Check: c.Check, Pos: c.Pos})
	}
	say := func(format string, args ...any) {
		out = append(out, trials.Consequence{Text: fmt.Sprintf(format, args...)})
	}
	for _, c := range causes[1:] {
		switch {
		case c.Kind == trials.CauseExpectation:
			add(&unmet, c, "%s: %s", c.Pos, inShort(c.Message))
		case c.Kind == trials.CauseSubject:
			add(&out, c, "%s: %s", c.Kind, c.Message) // a panic, with its stack
		case c.Check == conduct.AllRepliesReached:
			// counted below
		case c.Kind == trials.CauseScenario && c.Pos != e.scenario.Pos && c.Message != causes[0].Message:
			add(&out, c, "%s: %s: %s", c.Kind, c.Pos, inShort(c.Message))
		case c.Message != causes[0].Message:
			add(&out, c, "%s: %s", c.Kind, inShort(c.Message))
		}
	}
	const most = 5
	if n := len(out); n > most {
		out = out[:most]
		say("%d more findings", n-most)
	}
	const mostUnmet = 20
	if n := len(unmet); n > mostUnmet {
		unmet = append(unmet[:mostUnmet], trials.Consequence{Text: prose.Count(n-mostUnmet, "more expectation") + " not met"})
	}
	out = append(out, unmet...)
	if n := e.played.Unreached; causes[0].Check != conduct.AllRepliesReached {
		if n > 0 {
			out = append(out, trials.Consequence{Text: prose.CountOf(n, "reply", "replies") + " not reached", Check: conduct.AllRepliesReached})
		}
	}
	if e.mode != harness.ModeMock && e.transcript != nil {
		for i, turn := range e.transcript.Turns {
			broke := e.played.Ended != nil && e.played.Ended.Turn == i+1
			if turn.Stop == harness.StopLength && !broke && !e.stopped(i+1) {
				say("turn %d: %s", i+1, inShort(turn.Error))
			}
		}
	}
	if n, turn := e.unplayed(), "later turn"; n > 0 {
		if e.played.Turns == 0 {
			turn = "turn"
		}
		say("%s not played", prose.Count(n, turn))
	}
	return out
}

// inShort is the first line of a message, without its middle when it is long:
// what to do stands at the end.
func inShort(s string) string {
	short, rest, _ := strings.Cut(s, "\n")
	if head, tail, left := prose.Ends(short, 140, 100); left > 0 {
		short = head + " … " + tail
	}
	if rest != "" {
		short += " …"
	}
	return short
}
