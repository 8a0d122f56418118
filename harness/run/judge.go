// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/conduct"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/toolname"
	"github.com/rehearse-dev/rehearse/harness/trajectory"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// evidence is everything that is known when a trial has ended.
type evidence struct {
	exchanges  []harness.Exchange
	tools      []harness.ToolExchange
	calls      []harness.Call
	transcript *harness.Transcript
	verdicts   []harness.Verdict // expectations, then conduct
	unreached  int               // turns that were not played
}

// judge makes the record of a trial that was played.
func (t *trial) judge() (trials.Record, trials.Detail) {
	t.hangUp()
	e := t.collect()
	rec := trials.Record{
		Key: t.key, Schema: trials.Schema, Tags: t.scenario.Tags, Critical: t.scenario.Critical,
		Pos: t.scenario.Pos, Hash: t.scenario.Hash, Seed: t.seed, Verdicts: e.verdicts, Trajectory: e.calls,
		Start: t.start.UTC(), Duration: time.Since(t.start), Counts: counts(e.exchanges),
	}
	if t.virtual != nil {
		rec.Skipped = t.virtual.total()
	}
	for _, v := range e.verdicts {
		if !v.Conduct && v.State != harness.Skipped {
			rec.Counts.Checks++
		}
	}
	rec.Counts.ToolCalls = len(e.tools)
	rec.Answered = answered(e.exchanges)
	if e.transcript != nil {
		for _, turn := range e.transcript.Turns {
			rec.Answers = append(rec.Answers, turn.Answer)
		}
	}
	rec.Outcome, rec.Cause = t.decide(e, rec.Counts.Checks)
	t.finishCassette(&rec)
	detail := trials.Detail{
		Key: t.key, Schema: trials.Schema, System: t.scenario.Settings.System,
		Transcript: e.transcript, Exchanges: e.exchanges, Tools: e.tools, States: t.stateOfServers(),
	}
	for i := range detail.Exchanges {
		detail.Exchanges[i].Body = nil // the request is there, decoded
	}
	t.mu.Lock()
	detail.Log = slices.Clone(t.log)
	t.mu.Unlock()
	return rec, detail
}

func answered(exchanges []harness.Exchange) []string {
	var out []string
	for _, x := range exchanges {
		if x.Model != "" && !slices.Contains(out, x.Model) {
			out = append(out, x.Model)
		}
	}
	slices.Sort(out)
	return out
}

// collect joins the witnesses and lets every check look at them.
func (t *trial) collect() *evidence {
	e := &evidence{tools: t.toolJournal()}
	if t.model != nil {
		t.model.settle()
		e.exchanges = t.model.journal()
	}
	if t.reported {
		e.transcript = &harness.Transcript{Turns: t.reports}
	}
	if t.startError == "" { // else it is what start_error judges, and nothing was to be played
		e.unreached = len(t.scenario.Turns) - len(t.reports)
	}
	listed, offered := t.listed()
	e.calls = trajectory.Join(e.exchanges, e.tools, offeredBy(e.exchanges, listed, t.scenario.Names))
	t.score(e, listed)
	t.conduct(e, offered)
	e.verdicts = append(e.verdicts, t.unstruck()...)
	return e
}

// offeredBy tells the tool behind an offered name, whichever request offered
// it.
func offeredBy(exchanges []harness.Exchange, listed map[string][]harness.Tool, names map[string]string) func(string) (string, string, bool) {
	resolver := toolname.NewResolver(listed, names)
	var offered []harness.Tool
	seen := map[string]bool{}
	for _, x := range exchanges {
		for _, tool := range x.Request.Tools {
			if !seen[tool.Name] {
				seen[tool.Name] = true
				offered = append(offered, tool)
			}
		}
	}
	return func(name string) (string, string, bool) { return resolver.Of(name, offered) }
}

// score judges the expectations of each turn and of the whole conversation.
func (t *trial) score(e *evidence, listed map[string][]harness.Tool) {
	base := score.Evidence{
		Mode: t.opts.Mode, Trajectory: e.calls, Exchanges: e.exchanges, Tools: e.tools, Transcript: t.brokenOff(e.transcript),
		Vars: t.scenario.Vars, Schemas: schemas(listed), StartError: t.startError,
	}
	for i, turn := range t.scenario.Turns {
		ev := base
		ev.Turn, ev.User = i+1, turn.User
		reached := i < len(t.reports)
		if reached {
			ev.States = t.states[i]
		}
		for _, s := range turn.Expect {
			v := harness.Verdict{Turn: i + 1, Pos: turn.Pos, State: harness.Skipped, Message: "the turn was not reached"}
			if reached {
				v = s.Score(&ev)
				hintTools(&v, listed)
			} else {
				// Scored on nothing, for its name and place alone.
				named := s.Score(&score.Evidence{Mode: t.opts.Mode, Turn: i + 1, Vars: t.scenario.Vars})
				v.Check, v.Pos = named.Check, cmp.Or(named.Pos, v.Pos)
			}
			e.verdicts = append(e.verdicts, v)
		}
	}
	ev := base
	ev.States = t.stateOfServers()
	if n := len(t.scenario.Turns); n > 0 {
		ev.User = t.scenario.Turns[n-1].User
	}
	for _, s := range t.scenario.Expect {
		v := s.Score(&ev)
		hintTools(&v, listed)
		e.verdicts = append(e.verdicts, v)
	}
}

// brokenOff is a transcript in which the error that ended the conversation is
// named only: it is told whole as the cause of the trial, or follows from it.
func (t *trial) brokenOff(transcript *harness.Transcript) *harness.Transcript {
	if transcript == nil || t.broke == nil {
		return transcript
	}
	turns := slices.Clone(transcript.Turns)
	if last := len(turns) - 1; last >= 0 && turns[last].Stop == "" && turns[last].Error != "" && strings.Contains(t.broke.Error(), turns[last].Error) {
		turns[last].Error = "the turn broke off"
	}
	return &harness.Transcript{Turns: turns}
}

func schemas(listed map[string][]harness.Tool) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for server, tools := range listed {
		for _, tool := range tools {
			out[server+"."+tool.Name] = tool.Schema
		}
	}
	return out
}

func (t *trial) conduct(e *evidence, listed map[string][]harness.Tool) {
	config, err := conduct.Configure(t.scenario.Conduct)
	if err != nil {
		// Files are checked when they are loaded; a scenario made in Go is not.
		t.infra = &harness.Cause{Kind: harness.CauseScenario, Message: err.Error(), Pos: t.scenario.Pos}
	}
	in := &conduct.Input{
		Mode: t.opts.Mode, Exchanges: e.exchanges, Tools: e.tools, Trajectory: e.calls, Transcript: e.transcript,
		Listed: listed, Names: t.scenario.Names, Limits: t.passed(),
	}
	if t.model != nil {
		in.Remaining, in.Idle = t.unreached(e), t.model.idle()
	}
	t.wire(in)
	for _, v := range conduct.Check(config, in) {
		if v.Check == conduct.Limits && len(in.Limits) > 0 {
			v.Pos = t.limitPos(in.Limits[0])
		}
		e.verdicts = append(e.verdicts, v)
	}
}

// unreached lists the replies that were never asked for. Where a turn ended
// with the stop that is expected of it, or with a text that a fault has made of
// the model's calls, nothing more was to be asked there; and where the last one
// did, what lanes had yet to do may hang on it.
func (t *trial) unreached(e *evidence) []conduct.Unreached {
	if t.startError != "" {
		return nil
	}
	exchanges, verdicts := e.exchanges, e.verdicts
	stopped := map[int]bool{}
	for _, v := range verdicts {
		if v.Check == "stops" && v.State == harness.Passed {
			stopped[cmp.Or(v.Turn, len(t.reports))] = true
		}
	}
	for turn := range t.reports {
		if struckDumb(exchanges, turn+1) {
			stopped[turn+1] = true
		}
	}
	return slices.DeleteFunc(t.model.remaining(), func(u conduct.Unreached) bool {
		if u.Lane != "" {
			return stopped[len(t.reports)]
		}
		return stopped[u.Turn]
	})
}

// struckDumb reports whether the last reply of a turn is a text in place of
// which calls are scripted.
func struckDumb(exchanges []harness.Exchange, turn int) bool {
	for _, x := range slices.Backward(exchanges) {
		if x.Turn == turn && x.Lane == "" && !x.Kind.Outside() {
			return x.Fault != "" && x.Delivered && x.Answer.Text != "" && len(x.Answer.Calls) == 0
		}
	}
	return false
}

// decide finds the outcome and the primary cause.
func (t *trial) decide(e *evidence, checks int) (harness.Outcome, *harness.Cause) {
	causes := t.causes(e)
	if len(causes) == 0 {
		switch {
		case checks > 0 || t.scenario.ConductOnly && t.opts.Mode.Alone():
			return harness.OutcomePassed, nil
		case t.opts.Mode.Real() && !t.scenario.HasExpectations():
			return harness.OutcomeSkipped, &harness.Cause{
				Kind: harness.CauseScenario, Pos: t.scenario.Pos, Message: fmt.Sprintf("a trial in mode %s needs something to expect, and the scenario expects nothing", t.opts.Mode),
			}
		default:
			return harness.OutcomeError, &harness.Cause{
				Kind: harness.CauseScenario, Pos: t.scenario.Pos, Message: nothingChecked(e.verdicts),
			}
		}
	}
	primary := causes[0]
	primary.Folded = t.fold(e, causes)
	if primary.Kind == harness.CauseScenario || primary.Kind == harness.CauseEndpoint {
		return harness.OutcomeError, &primary
	}
	return harness.OutcomeFailed, &primary
}

// nothingChecked says why no expectation came to a verdict.
func nothingChecked(verdicts []harness.Verdict) string {
	var why []string
	for _, v := range verdicts {
		if !v.Conduct {
			why = append(why, fmt.Sprintf("%s: %s", v.Check, v.Message))
		}
	}
	if len(why) == 0 {
		return "nothing was checked: the scenario expects nothing and does not say conduct_only"
	}
	return "nothing was checked: every expectation was skipped (" + strings.Join(why, "; ") + ")"
}

// stopped reports whether the scenario expects that a turn stops as it did.
func (e *evidence) stopped(turn int) bool {
	return slices.ContainsFunc(e.verdicts, func(v harness.Verdict) bool {
		return v.Check == "stops" && !v.Conduct && v.Turn == turn && v.State == harness.Passed
	})
}

// causes lists what went wrong, the first being primary.
func (t *trial) causes(e *evidence) []harness.Cause {
	var out []harness.Cause
	add := func(kind harness.CauseKind, pos harness.Position, format string, args ...any) {
		out = append(out, harness.Cause{Kind: kind, Message: fmt.Sprintf(format, args...), Pos: cmp.Or(pos, t.scenario.Pos)})
	}
	if t.infra != nil {
		out = append(out, *t.infra)
	}
	script := t.scriptErrors(e)
	altered := alteration(e.verdicts)
	explained := altered != nil && len(script) > 0
	if !explained {
		out = append(out, script...)
	}
	if t.opts.Mode.Real() && len(t.passed()) == 0 {
		if c := endpointCause(e.exchanges, t.reports, t.broke, e.stopped); c != nil {
			out = append(out, *c)
		}
	}
	out = append(out, t.tapeMisses()...) // the model's may follow from them
	for _, x := range e.exchanges {
		switch x.Kind {
		case harness.KindRefusal:
			add(harness.CauseRefusal, t.turnPos(x.Turn), "the provider would refuse request %d: %s", x.Seq, x.Error)
		case harness.KindMiss:
			add(harness.CauseMiss, t.turnPos(x.Turn), "%s", x.Error)
		}
	}
	if m, ok := t.model.(*liveModel); ok {
		for _, text := range m.strays() {
			add(harness.CauseMiss, harness.Position{}, "%s", text)
		}
	}
	for _, x := range e.tools {
		if x.Miss != "" {
			add(harness.CauseMiss, harness.Position{}, "%s", x.Miss) // names the tool
		}
	}
	inVain := t.heldInVain()
	for _, h := range inVain {
		switch {
		case h.nobody || !t.waited():
		case t.broke != nil:
			add(harness.CauseSubject, h.pos, "%s; %s", h.msg, t.subjectFault(e))
		default:
			add(harness.CauseSubject, h.pos, "%s", h.msg)
		}
	}
	for _, msg := range t.passed() {
		add(harness.CauseLimits, t.limitPos(msg), "limit passed: %s", msg)
	}
	if explained {
		add(harness.CauseConduct, harness.Position{}, "%s: %s", altered.Check, altered.Message)
	}
	// An error of the subject after any of these is how it reports them. A
	// panic is never.
	if panicked := (*panicError)(nil); t.broke != nil && (len(out) == 0 || errors.As(t.broke, &panicked)) {
		add(harness.CauseSubject, t.turnPos(len(t.reports)), "%s", t.subjectFault(e))
	}
	for _, v := range primaryConduct(e.verdicts) {
		if !explained || v.Check != altered.Check {
			add(harness.CauseConduct, v.Pos, "%s: %s", v.Check, v.Message)
		}
	}
	for _, v := range e.verdicts {
		if !v.Conduct && v.State == harness.Failed {
			add(harness.CauseExpectation, v.Pos, "%s: %s", v.Check, v.Message)
		}
	}
	for _, v := range e.verdicts {
		if !v.Conduct && v.State == harness.Undecided {
			add(harness.CauseScenario, v.Pos, "%s: %s", v.Check, v.Message)
		}
	}
	for _, h := range inVain {
		if h.nobody && len(out) > 0 {
			out = slices.Insert(out, 0, harness.Cause{Kind: harness.CauseScenario, Message: h.msg, Pos: cmp.Or(h.pos, t.scenario.Pos)})
		}
	}
	if c := t.serverCause(); len(out) > 0 && c != nil {
		out = slices.Insert(out, 0, *c) // what else is wrong may follow from it
	}
	return out
}

// alteration is the conduct that explains an error of the script, if any: the
// subject dropped or changed a result that the script goes on from.
func alteration(verdicts []harness.Verdict) *harness.Verdict {
	for i, v := range verdicts {
		if v.Conduct && v.State == harness.Failed && slices.Contains([]string{conduct.AnsweredOnce, conduct.Results, conduct.WitnessesAgree}, v.Check) {
			return &verdicts[i]
		}
	}
	return nil
}

func (t *trial) scriptErrors(e *evidence) []harness.Cause {
	var out []harness.Cause
	for _, x := range e.exchanges {
		if x.Kind == harness.KindScript {
			pos := cmp.Or(x.Pos, t.turnPos(x.Turn), t.scenario.Pos)
			out = append(out, harness.Cause{Kind: harness.CauseScenario, Pos: pos, Message: withoutPos(x.Error, pos) + t.strangeArguments(e.tools)})
		}
	}
	for _, x := range e.tools {
		if x.ScriptError != "" {
			pos := t.resultPos(x)
			msg := withoutPos(x.ScriptError, pos)
			if name := x.Server + "." + x.Tool; !strings.Contains(msg, name) {
				msg = name + ": " + msg
			}
			out = append(out, harness.Cause{Kind: harness.CauseScenario, Pos: pos, Message: msg})
		}
	}
	return out
}

// withoutPos leaves out of a message the place that stands beside it.
func withoutPos(msg string, pos harness.Position) string {
	msg = strings.Replace(msg, " ("+pos.String()+")", "", 1)
	return strings.Replace(msg, pos.String()+": ", "", 1)
}

// resultPos is where the result stands whose error x has: the mock server says
// so in its message. Else it is where the server does.
func (t *trial) resultPos(x harness.ToolExchange) harness.Position {
	for _, server := range t.scenario.Servers {
		if server.Name != x.Server {
			continue
		}
		if server.Mock == nil {
			return server.Pos
		}
		for _, tool := range server.Mock.Tools {
			for _, r := range tool.Results {
				if tool.Name == x.Tool && !r.Pos.IsZero() && strings.Contains(x.ScriptError, r.Pos.String()+":") {
					return r.Pos
				}
			}
		}
		return server.Pos
	}
	return t.scenario.Pos
}

// primaryConduct lists failed conduct checks. That replies were not reached
// comes last, since it follows from most of the others; limits have a cause
// of their own, and refusals too.
func primaryConduct(verdicts []harness.Verdict) []harness.Verdict {
	var out, last []harness.Verdict
	for _, v := range verdicts {
		switch {
		case !v.Conduct || v.State != harness.Failed, v.Check == conduct.Limits, v.Check == conduct.ProviderAccepts:
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
		c := counts(e.exchanges)
		return fmt.Sprintf("%sthe subject hangs: no answer within %s, after %d model calls and %d tool calls (%v)",
			where, t.opts.Timeout, c.ModelCalls, len(e.tools), t.broke)
	}
	if panicked := (*panicError)(nil); errors.As(t.broke, &panicked) {
		return where + t.broke.Error() + panicked.stack
	}
	hint := ""
	if n := len(t.reports); n > 0 && t.reports[n-1].Stop != "" {
		hint = fmt.Sprintf("; a turn that is to end so expects it with `stops: %s`", t.reports[n-1].Stop)
	}
	return where + t.broke.Error() + hint
}

// limitPos is where a limit that was passed stands in its file; what was said
// of it begins with its key.
func (t *trial) limitPos(passed string) harness.Position {
	key, _, _ := strings.Cut(passed, ":")
	return t.scenario.Limits.Pos[key]
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
func (t *trial) fold(e *evidence, causes []harness.Cause) []string {
	var out, unmet []string
	for _, c := range causes[1:] {
		switch {
		case c.Kind == harness.CauseExpectation:
			unmet = append(unmet, fmt.Sprintf("%s: %s", c.Pos, inShort(c.Message)))
		case c.Kind == harness.CauseSubject:
			out = append(out, fmt.Sprintf("%s: %s", c.Kind, c.Message)) // a panic, with its stack
		case c.Kind == harness.CauseConduct && strings.HasPrefix(c.Message, conduct.AllRepliesReached+":"):
			// counted below
		case c.Message != causes[0].Message:
			out = append(out, fmt.Sprintf("%s: %s", c.Kind, inShort(c.Message)))
		}
	}
	const most = 5
	if n := len(out); n > most {
		out = append(out[:most], fmt.Sprintf("%d more findings", n-most))
	}
	const mostUnmet = 20
	if n := len(unmet); n > mostUnmet {
		unmet = append(unmet[:mostUnmet], count(n-mostUnmet, "more expectation")+" not met")
	}
	out = append(out, unmet...)
	if t.model != nil && !strings.HasPrefix(causes[0].Message, conduct.AllRepliesReached+":") {
		if n := len(t.unreached(e)); n == 1 {
			out = append(out, "1 reply not reached")
		} else if n > 1 {
			out = append(out, fmt.Sprintf("%d replies not reached", n))
		}
	}
	if e.unreached > 0 {
		out = append(out, count(e.unreached, "later turn")+" not played")
	}
	return out
}

// inShort is the first line of a message, without its middle when it is long:
// what to do stands at the end.
func inShort(s string) string {
	const head, tail = 140, 100
	short, rest, _ := strings.Cut(s, "\n")
	if n := len(short); n > head+tail {
		short = strings.ToValidUTF8(short[:head], "") + " … " + strings.ToValidUTF8(short[n-tail:], "")
	}
	if rest != "" {
		short += " …"
	}
	return short
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
