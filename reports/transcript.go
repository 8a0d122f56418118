// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

type (
	transcriptView struct {
		System *textView
		Tools  []toolView
		Turns  []turnView
		Stray  []cardView // executions that no call of the model explains
		States []namedText
		Log    *textView
		Notes  []string
	}
	toolView struct {
		Name string
		Text textView
	}
	turnView struct {
		N      int
		User   *textView
		Steps  []stepView
		Answer *textView // where it is not what the model said last
		Same   bool      // the subject reports what the model said last
		Stop   string
		Error  *textView
		Notes  []textView
	}
	// stepView is one model request with its answer.
	stepView struct {
		Title     string
		Kind      string // what is unusual about it
		Bad       bool
		Facts     []string
		Sent      string // what the request held, in words
		New       []messageView
		Reasoning *textView
		Say       *textView
		Refusal   *textView
		Error     *textView
		Calls     []cardView
		Wire      []namedText // the request as it came
	}
	messageView struct {
		Role string
		Text textView
	}
	// cardView is a tool call.
	cardView struct {
		Name, Offered, ID string
		Args, Result      textView
		ResultName        string // Result, Error
		Class, Word       string
		Facts             []string
	}
	namedText struct {
		Name string
		Text textView
	}
)

// transcript puts the witnesses of a trial in the order of events: by the
// journal of the model's side where there is one, else by what the subject
// reports. It returns nil when nobody said anything.
func (b *pageBuilder) transcript(t *Trial) *transcriptView {
	d := t.Witness
	if d == nil {
		d = &trials.Detail{}
	}
	j := newJoiner(b, t.Trajectory, d.Tools)
	v := &transcriptView{System: b.maybe(d.System)}
	reports := turnReports(d.Transcript, t.Answers)
	if len(d.Exchanges) > 0 {
		v.Turns = b.journalTurns(j, d.Exchanges, reports)
		for _, tool := range offered(d.Exchanges) {
			v.Tools = append(v.Tools, toolView{oneLine(tool.Name, 120), b.text(tool.Description)})
		}
	} else {
		v.Turns = b.reportedTurns(j, reports)
	}
	v.Stray = j.strays()
	if d.Transcript == nil && t.Witness != nil {
		v.Notes = append(v.Notes, "The subject reported nothing; this is only the journal.")
	}
	if len(d.Exchanges) == 0 && len(v.Turns) > 0 {
		v.Notes = append(v.Notes, "No model request was recorded; this is what the subject reported.")
	}
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		v.States = append(v.States, namedText{oneLine(name, 80), b.text(prettyJSON(d.States[name]))})
	}
	v.Log = b.maybe(strings.Join(d.Log, "\n"))
	if len(v.Turns) == 0 && len(v.Stray) == 0 && v.Log == nil && len(v.States) == 0 {
		return nil
	}
	return v
}

// offered are the tools of the first request that has any.
func offered(xs []harness.Exchange) []harness.Tool {
	for _, x := range xs {
		if len(x.Request.Tools) > 0 {
			return x.Request.Tools
		}
	}
	return nil
}

// maybe is the text, or nil when there is none.
func (b *pageBuilder) maybe(s string) *textView {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	v := b.text(s)
	return &v
}

// turnReports is the subject's account; without a transcript its answers.
func turnReports(tr *harness.Transcript, answers []string) []harness.TurnReport {
	if tr != nil {
		return tr.Turns
	}
	var out []harness.TurnReport
	for _, a := range answers {
		out = append(out, harness.TurnReport{Answer: a})
	}
	return out
}

// journalTurns groups the exchanges by turn. What has no turn (an aside, a
// miss) stays where it happened.
func (b *pageBuilder) journalTurns(j *joiner, xs []harness.Exchange, reports []harness.TurnReport) []turnView {
	var turns []turnView
	said := ""
	calls := 0
	var before []harness.Message
	for i := range xs {
		x := &xs[i]
		// A turn may pass without an exchange, but not more of them than there
		// are to show.
		n := min(x.Turn, len(reports)+len(xs))
		if n <= 0 {
			n = max(1, len(turns))
		}
		for len(turns) < n {
			turns = append(turns, turnView{N: len(turns) + 1})
			calls, said = 0, ""
		}
		turn := &turns[n-1]
		if turn.User == nil && !x.Kind.Outside() {
			turn.User = b.maybe(userText(n, reports, x.Request.Messages))
		}
		step := b.step(j, x, before)
		if !x.Kind.Outside() {
			calls++
			step.Title = fmt.Sprintf("Model call %d", calls)
			before = x.Request.Messages
			if x.Answer.Text != "" {
				said = x.Answer.Text
			}
		}
		turn.Steps = append(turn.Steps, step)
		b.account(turn, reports, said)
	}
	for n := len(turns); n < len(reports); n++ {
		turn := turnView{N: n + 1, User: b.maybe(reports[n].User)}
		b.account(&turn, reports, "")
		turns = append(turns, turn)
	}
	return turns
}

func userText(n int, reports []harness.TurnReport, sent []harness.Message) string {
	if n <= len(reports) && reports[n-1].User != "" {
		return reports[n-1].User
	}
	for _, m := range slices.Backward(sent) {
		if m.Role == harness.RoleUser {
			return m.Text
		}
	}
	return ""
}

// account adds what the subject says of a turn, given what the model said
// last.
func (b *pageBuilder) account(turn *turnView, reports []harness.TurnReport, said string) {
	if turn.N > len(reports) {
		return
	}
	r := reports[turn.N-1]
	turn.Same, turn.Answer = false, nil
	if said != "" && strings.TrimSpace(r.Answer) == strings.TrimSpace(said) {
		turn.Same = true
	} else {
		turn.Answer = b.maybe(r.Answer)
	}
	turn.Stop = oneLine(string(r.Stop), 60)
	turn.Error = b.maybe(r.Error)
	turn.Notes = b.texts(r.Notes)
}

// step shows one exchange; before are the messages of the request before it.
func (b *pageBuilder) step(j *joiner, x *harness.Exchange, before []harness.Message) stepView {
	s := stepView{
		Title: "Request", Facts: stepFacts(x), Reasoning: b.maybe(x.Answer.Reasoning), Say: b.maybe(x.Answer.Text),
		Refusal: b.maybe(x.Answer.Refusal), Error: b.maybe(x.Error),
	}
	switch x.Kind {
	case harness.KindReply, harness.KindLive:
	case harness.KindAside:
		s.Title, s.Kind = "Aside", "outside the conversation"
	case harness.KindProbe:
		s.Title, s.Kind = "Probe", "outside the conversation"
	case harness.KindRule:
		s.Kind = "answered by a rule"
	case harness.KindMiss:
		s.Kind, s.Bad = "not scripted", true
	case harness.KindRefusal:
		s.Kind, s.Bad = "refused", true
	case harness.KindScript:
		s.Kind, s.Bad = "script error", true
	default:
		s.Kind = oneLine(string(x.Kind), 40)
	}
	if x.Error != "" || x.Fault != "" || x.Status >= 400 || x.Repeated {
		s.Bad = true
	}
	for _, call := range x.Answer.Calls {
		s.Calls = append(s.Calls, j.card(call, x.Delivered))
	}
	sent := x.Request.Messages
	same := 0
	for same < len(sent) && same < len(before) && sameMessage(sent[same], before[same]) {
		same++
	}
	s.Sent = prose.Count(len(sent), "message")
	if same > 0 {
		s.Sent += fmt.Sprintf(", %d new", len(sent)-same)
	}
	if n := len(x.Request.Tools); n > 0 {
		s.Sent += ", " + prose.Count(n, "tool")
	}
	for _, m := range sent[same:] {
		s.New = append(s.New, b.message(m))
	}
	s.Wire = b.wire(x)
	return s
}

func sameMessage(a, b harness.Message) bool {
	calls := slices.Equal(a.Calls, b.Calls)
	a.Calls, b.Calls = nil, nil
	return calls && a.Role == b.Role && a.Text == b.Text && a.CallID == b.CallID && a.Refusal == b.Refusal
}

func (b *pageBuilder) message(m harness.Message) messageView {
	v := messageView{Role: oneLine(string(m.Role), 40)}
	if m.CallID != "" {
		v.Role += " for " + oneLine(m.CallID, 80)
	}
	text := cmp.Or(m.Text, m.Refusal)
	for _, c := range m.Calls {
		text += fmt.Sprintf("\n→ %s %s (%s)", c.Name, c.Arguments, c.ID)
	}
	v.Text = b.text(strings.TrimPrefix(text, "\n"))
	return v
}

// stepFacts are the numbers of an exchange, the unusual first.
func stepFacts(x *harness.Exchange) []string {
	var out []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(x.Fault != "", "fault: %s", oneLine(x.Fault, 60))
	add(x.Attempt > 1, "attempt %d", x.Attempt)
	add(x.Status != 0 && x.Status != 200, "HTTP %d", x.Status)
	add(x.RetryAfter > 0, "asks to wait %s", durationText(x.RetryAfter))
	add(x.Repeated, "repeats an answered request")
	add(x.Compacted, "history shortened by the client")
	add(!x.Delivered && x.Status < 400, "not delivered whole")
	add(x.FinishReason != "" && x.FinishReason != "stop" && x.FinishReason != "tool_calls", "finish: %s", oneLine(x.FinishReason, 40))
	add(x.Usage.PromptTokens+x.Usage.CompletionTokens > 0, "%s tokens in, %s out", thousands(x.Usage.PromptTokens), thousands(x.Usage.CompletionTokens))
	add(x.Request.Stream, "streamed")
	add(x.Duration > 0, "%s", durationText(x.Duration))
	return out
}

// reportedTurns is the transcript where no request was recorded.
func (b *pageBuilder) reportedTurns(j *joiner, reports []harness.TurnReport) []turnView {
	n := len(reports)
	for _, c := range j.calls {
		n = max(n, min(c.Turn, len(reports)+len(j.calls)))
	}
	var turns []turnView
	for i := range n {
		turn := turnView{N: i + 1}
		step := stepView{Title: "Calls"}
		for k := range j.calls {
			if j.calls[k].Turn == i+1 {
				step.Calls = append(step.Calls, j.take(k))
			}
		}
		if i < len(reports) {
			turn.User = b.maybe(reports[i].User)
			if len(step.Calls) == 0 {
				for _, c := range reports[i].Calls {
					step.Calls = append(step.Calls, b.reportedCard(c))
				}
			}
		}
		if len(step.Calls) > 0 {
			turn.Steps = append(turn.Steps, step)
		}
		b.account(&turn, reports, "")
		turns = append(turns, turn)
	}
	return turns
}

func (b *pageBuilder) reportedCard(c harness.ReportedCall) cardView {
	v := cardView{
		Name: oneLine(c.Tool, 120), ID: oneLine(c.ID, 80), Args: b.text(prettyJSON([]byte(c.Arguments))),
		Result: b.text(prettyJSON([]byte(c.Result))), ResultName: "Result", Class: "passed", Word: "done",
	}
	if c.Server != "" {
		v.Name = oneLine(c.Server+"."+c.Tool, 120)
	}
	if c.Error != "" {
		v.Result, v.ResultName, v.Class, v.Word = b.text(c.Error), "Error", "failed", "failed"
	}
	v.Facts = append(v.Facts, "as reported")
	if c.Duration > 0 {
		v.Facts = append(v.Facts, durationText(c.Duration))
	}
	return v
}

// joiner finds the execution of each call that an answer holds.
type joiner struct {
	b     *pageBuilder
	calls []harness.Call
	used  []bool
	tools map[execKey]*harness.ToolExchange
	order []execKey
}

type execKey struct {
	server string
	seq    int
}

func newJoiner(b *pageBuilder, calls []harness.Call, tools []harness.ToolExchange) *joiner {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c harness.Call) bool { return c.Unasked }) // they are strays
	j := &joiner{b: b, calls: calls, used: make([]bool, len(calls)), tools: map[execKey]*harness.ToolExchange{}}
	for i := range tools {
		k := execKey{tools[i].Server, tools[i].Seq}
		j.tools[k] = &tools[i]
		j.order = append(j.order, k)
	}
	return j
}

// card shows a call of an answer. One that was not delivered is not joined:
// the answer that is tried again holds the same call.
func (j *joiner) card(call harness.ToolCall, delivered bool) cardView {
	fits := func(c *harness.Call) bool { return c.Offered == "" || c.Offered == call.Name }
	if delivered {
		for i := range j.calls {
			if c := &j.calls[i]; !j.used[i] && c.ID != "" && c.ID == call.ID && fits(c) {
				return j.take(i)
			}
		}
		for i := range j.calls {
			if c := &j.calls[i]; !j.used[i] && c.ID == "" && fits(c) {
				return j.take(i)
			}
		}
	}
	v := cardView{
		Name: oneLine(call.Name, 120), ID: oneLine(call.ID, 80), Args: j.b.text(prettyJSON([]byte(call.Arguments))),
		Class: "undecided", Word: "not executed",
	}
	if !delivered {
		v.Word = "not delivered"
	}
	return v
}

// take shows a call of the trajectory, once.
func (j *joiner) take(i int) cardView {
	j.used[i] = true
	c := j.calls[i]
	v := cardView{
		Name: oneLine(c.Name(), 120), ID: oneLine(c.ID, 80), Args: j.b.text(prettyJSON([]byte(callArgs(c)))),
		Class: "passed", Word: "done", ResultName: "Result",
	}
	if c.Offered != "" && c.Offered != c.Name() {
		v.Offered = oneLine(c.Offered, 120)
	}
	if c.Args == nil && c.ArgsText != "" {
		v.Facts = append(v.Facts, "arguments are not JSON")
	}
	k := execKey{c.Server, c.Exec}
	x := j.tools[k]
	delete(j.tools, k)
	if !c.Executed {
		v.Class, v.Word, v.ResultName = "undecided", "not executed", ""
		return v
	}
	if c.Failed {
		v.Class, v.Word, v.ResultName = "failed", "failed", "Error"
	}
	v.Result = j.b.text(resultText(c.Result))
	if x != nil {
		j.outcome(&v, x)
	}
	if c.Retried {
		v.Facts = append(v.Facts, "executed more than once")
	}
	if c.Duration > 0 {
		v.Facts = append(v.Facts, durationText(c.Duration))
	}
	return v
}

// outcome adds what only the tool side knows.
func (j *joiner) outcome(v *cardView, x *harness.ToolExchange) {
	switch {
	case x.ScriptError != "":
		v.Result, v.ResultName, v.Class, v.Word = j.b.text(x.ScriptError), "Script error", "failed", "script error"
	case x.Miss != "":
		v.Result, v.ResultName, v.Class, v.Word = j.b.text(x.Miss), "Not scripted", "failed", "not scripted"
	case x.RPCError != nil:
		v.Result = j.b.text(fmt.Sprintf("%s (protocol error %d)", x.RPCError.Message, x.RPCError.Code))
		v.ResultName, v.Class, v.Word = "Error", "failed", "failed"
	}
}

// strays are the calls and executions that are left when all answers are
// shown.
func (j *joiner) strays() []cardView {
	var out []cardView
	for i := range j.calls {
		if !j.used[i] {
			out = append(out, j.take(i))
		}
	}
	for _, k := range j.order {
		x := j.tools[k]
		if x == nil {
			continue
		}
		v := cardView{
			Name: oneLine(x.Server+"."+x.Tool, 120), Args: j.b.text(prettyJSON(x.Args)), Result: j.b.text(resultText(x.Result)),
			ResultName: "Result", Class: "passed", Word: "done",
		}
		if x.Failed {
			v.Class, v.Word, v.ResultName = "failed", "failed", "Error"
		}
		j.outcome(&v, x)
		if x.Duration > 0 {
			v.Facts = append(v.Facts, durationText(x.Duration))
		}
		out = append(out, v)
	}
	return out
}

// resultText shows a JSON string as its text, all else as JSON.
func resultText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return prettyJSON(raw)
}
