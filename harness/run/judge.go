// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// judgeSteps is what the expectations of a trial may take together: two of
// the most costly ones.
const judgeSteps = 20_000_000

// evidence is everything that is known when a trial has ended: in the run that
// played it, and when it is judged again.
type evidence struct {
	scenario   *scenarios.Scenario
	mode       harness.Mode
	exchanges  []harness.Exchange
	tools      []harness.ToolExchange
	calls      []harness.Call
	transcript *harness.Transcript
	states     map[string]json.RawMessage // of the mock servers at the end
	played     trials.Played
	ask        func(*score.Question) score.Asked // has LLM judges asked
	verdicts   []trials.Verdict                  // expectations, then conduct
}

// unplayed is the number of turns that were not sent. After an error at the
// start that is judged there was nothing to send.
func (e *evidence) unplayed() int {
	if e.played.StartError != "" {
		return 0
	}
	return len(e.scenario.Turns) - e.played.Turns
}

// judge makes the record of a trial that was played.
func (t *trial) judge(ctx context.Context) (trials.Record, trials.Detail) {
	t.hangUp()
	took := time.Since(t.start) // what judges take is theirs
	jury := t.newJury(ctx)
	e := t.collect(jury)
	rec := trials.Record{
		Key: t.key, Schema: trials.Schema, Tags: t.scenario.Tags, Critical: t.scenario.Critical,
		File: t.scenario.Pos.File, Pos: t.scenario.Pos, Hashes: t.hashes(), Seed: t.seed, Verdicts: e.verdicts, Trajectory: e.calls,
		Start: t.start.UTC(), Duration: took, Judges: jury.used(),
	}
	var used harness.Usage
	rec.Counts, used = counts(e.exchanges, e.mode)
	rec.Tokens = trials.TokensOf(used)
	if t.opts.Mode != harness.ModeMock && !rec.Uncounted() { // nobody is billed for the tokens of a mock
		rec.Cost = t.entry.Price.Cost(rec.Tokens)
	}
	if t.virtual != nil {
		rec.Skipped = t.virtual.total()
	}
	rec.Counts.ToolCalls = len(e.tools)
	rec.Answered = answered(e.exchanges)
	if e.transcript != nil {
		for _, turn := range e.transcript.Turns {
			rec.Answers = append(rec.Answers, turn.Answer)
		}
	}
	rec.Struck = t.struck(e.exchanges)
	e.settle(&rec, func(causes []trials.Cause) {
		t.explainAbsent(causes)
		t.explainAhead(causes, e.exchanges)
	})
	t.finishCassette(&rec, e)
	if err := jury.close(rec.Cassette != ""); err != nil {
		rec.Warnings = append(rec.Warnings, fmt.Sprintf("what the judges said was not recorded: %v", err))
	}
	detail := trials.Detail{
		Key: t.key, Schema: trials.Schema, System: t.scenario.Settings.System,
		Transcript: e.transcript, Exchanges: e.exchanges, Tools: e.tools, States: e.states, Judges: jury.exchanges, Played: &e.played,
		Wire: t.wires.exchanges(), Frames: t.keptFrames(),
	}
	for i := range detail.Exchanges {
		detail.Exchanges[i].Body = nil // the request is there, decoded
	}
	t.mu.Lock()
	detail.Log = slices.Clone(t.log)
	t.mu.Unlock()
	return rec, detail
}

// settle says in a record what the verdicts come to. explain adds what it knows
// to causes.
func (e *evidence) settle(rec *trials.Record, explain func([]trials.Cause)) {
	rec.Verdicts, rec.Counts.Checks = e.verdicts, 0
	for _, v := range e.verdicts {
		if !v.Conduct && !v.Advisory && !v.Scripted && v.State != trials.Skipped {
			rec.Counts.Checks++
		}
	}
	rec.Outcome, rec.Cause = e.decide(rec.Counts.Checks, explain)
	rec.Attribute()
	if rec.Cause != nil { // an endpoint that fails is nowhere in the file
		rec.Cause.Pos = cmp.Or(rec.Cause.Pos, e.scenario.Pos)
	}
	rec.Warnings = append(rec.Warnings, notJudged(rec)...)
}

// silent says why the journal alone is a witness.
const silent = "the subject reports no answers"

// notJudged warns of the checks of a trial that passed that nobody made: they
// must not look like ones that held.
func notJudged(rec *trials.Record) []string {
	if rec.Outcome != harness.OutcomePassed {
		return nil
	}
	var out []string
	for _, v := range rec.Verdicts {
		if v.Scripted {
			out = append(out, filepos.Told(v.Pos, v.Check+" was judged by what the script says: "+silent))
		}
		if !v.Conduct && v.State == trials.Skipped {
			out = append(out, filepos.Told(v.Pos, fmt.Sprintf("%s was not judged: %s", v.Check, v.Message)))
		}
	}
	return out
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
func (t *trial) collect(jury *jury) *evidence {
	e := &evidence{scenario: t.scenario, mode: t.opts.Mode, ask: jury.ask, tools: t.toolJournal(), states: t.stateOfServers()}
	if t.model != nil {
		t.model.settle()
		e.exchanges = t.model.journal()
	}
	if t.reported {
		e.transcript = &harness.Transcript{Turns: t.reports}
	}
	t.keepFiles()
	listed, offered := t.listed()
	e.calls = trajectory.Whole(e.exchanges, e.tools, offeredBy(e.exchanges, listed, t.names(listed)), t.turnOf)
	e.played = trials.Played{
		Turns: len(t.reports), Listed: undescribed(listed), States: t.states, Files: t.files, Conduct: t.scenario.Conduct, StartError: t.startError,
		Unable: t.unable, Interrupted: t.interrupted,
	}
	if t.broke != nil {
		e.played.Ended = &trials.Ended{Turn: t.brokeIn, Fatal: t.fatal}
	}
	e.score()
	t.conduct(e, offered)
	e.verdicts = append(e.verdicts, t.unstruck()...)
	e.played.Faults = t.faults(e)
	if t.model != nil {
		e.played.Unreached = len(t.unreached(e))
	}
	return e
}

// undescribed are tools without what only a model reads.
func undescribed(listed map[string][]harness.Tool) map[string][]harness.Tool {
	out := map[string][]harness.Tool{}
	for server, tools := range listed {
		for _, tool := range tools {
			out[server] = append(out[server], harness.Tool{Name: tool.Name, Schema: tool.Schema})
		}
	}
	return out
}

// turnOf tells the turn in which a tool was executed.
func (t *trial) turnOf(x harness.ToolExchange) int {
	for i, seqs := range t.executed {
		if x.Seq <= seqs[x.Server] {
			return i + 1
		}
	}
	return max(1, len(t.executed))
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
func (e *evidence) score() {
	s := e.scenario
	base := score.Evidence{
		Budget: expr.NewBudget(judgeSteps),
		Mode:   e.mode, Trajectory: e.calls, Exchanges: e.exchanges, Tools: e.tools, Transcript: e.brokenOff(),
		Vars: s.Vars, Schemas: schemas(e.played.Listed), StartError: e.played.StartError, Untimed: e.played.Untimed, Ask: e.ask,
	}
	for i, turn := range s.Turns {
		ev := base
		ev.Turn, ev.User = i+1, turn.User
		reached := i < e.played.Turns
		if reached {
			ev.States = e.played.States[i]
			ev.Files = e.filesAt(i)
		}
		for _, scorer := range turn.Expect {
			v := trials.Verdict{Turn: i + 1, Pos: turn.Pos, State: trials.Skipped, Message: "the turn was not reached"}
			if reached {
				v = scorer.Score(&ev)
				hintTools(&v, e.played.Listed)
			} else {
				// Scored on nothing, for its name and place alone.
				named := scorer.Score(&score.Evidence{Budget: base.Budget, Mode: e.mode, Turn: i + 1, Vars: s.Vars})
				v.Check, v.Pos, v.Advisory = named.Check, cmp.Or(named.Pos, v.Pos), named.Advisory
			}
			e.verdicts = append(e.verdicts, v)
		}
	}
	ev := base
	ev.States = e.states
	ev.Files = e.filesAt(e.played.Turns)
	if n := len(s.Turns); n > 0 {
		ev.User = s.Turns[n-1].User
	}
	for _, scorer := range s.Expect {
		v := scorer.Score(&ev)
		hintTools(&v, e.played.Listed)
		e.verdicts = append(e.verdicts, v)
	}
	e.uninterrupted()
}

// filesAt are the files after a turn, from 0, or, behind the last one, at the end.
func (e *evidence) filesAt(turn int) map[string]trials.File {
	if turn >= len(e.played.Files) {
		return nil
	}
	return e.played.Files[turn]
}

// brokenOff is the transcript in which the error that ended the conversation is
// named only: it is told whole as the cause of the trial, or follows from it.
func (e *evidence) brokenOff() *harness.Transcript {
	if e.transcript == nil || e.played.Ended == nil {
		return e.transcript
	}
	turns := slices.Clone(e.transcript.Turns)
	if last := len(turns) - 1; last >= 0 && turns[last].Stop == "" && e.played.Ended.Turn == last+1 {
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
		t.infra = &trials.Cause{Kind: trials.CauseScenario, Message: err.Error(), Pos: t.scenario.Pos}
	}
	in := &conduct.Input{
		Mode: t.opts.Mode, Exchanges: e.exchanges, Tools: e.tools, Trajectory: e.calls, Transcript: e.transcript,
		Model: t.entry.Name, Listed: listed, Names: t.names(listed), Grants: t.scenario.Grants, As: t.as(), Optional: map[string]bool{},
	}
	for _, s := range t.scenario.Servers {
		in.Optional[s.Name] = !s.Required
	}
	if t.model != nil {
		in.Remaining = t.unreached(e)
		in.Idle = append(t.model.idle(), t.idleInReplies(e, in.Remaining)...)
	}
	for i, turn := range t.scenario.Turns {
		in.Users = append(in.Users, turn.User)
		if turn.SingleCall {
			in.Single = append(in.Single, i+1)
		}
	}
	if t.scenario.AsksApproval() {
		in.Approvals = t.approvals.all()
	}
	for _, turn := range t.interrupted {
		in.Interrupted = append(in.Interrupted, turn)
		if t.scenario.Turns[turn-1].Interruption.Kill {
			in.Killed = append(in.Killed, turn)
		}
	}
	t.wire(in)
	limit := t.passed()
	if limit != nil {
		in.Limits = []string{limit.String()}
	}
	for _, v := range conduct.Check(config, in) {
		if v.Check == conduct.Limits && limit != nil {
			v.Pos = t.scenario.Limits.Pos[limit.key]
		}
		if why := t.subject.Excuses[v.Check]; why != "" && v.State == trials.Failed {
			v.State, v.Message = trials.Warned, fmt.Sprintf("excused, since %s: %s", why, v.Message)
		}
		e.verdicts = append(e.verdicts, v)
	}
}

// unreached lists the replies that were never asked for. Where a turn ended
// with the stop that is expected of it, or with a text that a fault has made of
// the model's calls, nothing more was to be asked there; and where the last one
// did, what lanes had yet to do may hang on it.
func (t *trial) unreached(e *evidence) []conduct.Unreached {
	if t.startError != "" || t.unable != nil {
		return nil
	}
	exchanges, verdicts := e.exchanges, e.verdicts
	stopped := map[int]bool{}
	for _, v := range verdicts {
		if v.Check == "stops" && v.State == trials.Passed {
			stopped[cmp.Or(v.Turn, len(t.reports))] = true
		}
	}
	for turn := range t.reports {
		if struckDumb(exchanges, turn+1) {
			stopped[turn+1] = true
		}
	}
	return slices.DeleteFunc(t.model.remaining(), func(u conduct.Unreached) bool {
		if slices.ContainsFunc(exchanges, func(x harness.Exchange) bool {
			return x.Kind == harness.KindScript && !x.Pos.IsZero() && x.Pos == u.Pos
		}) {
			return true // it was asked for, and is what failed
		}
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
