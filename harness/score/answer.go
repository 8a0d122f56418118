// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Answer judges the text of the subject's answer: that of the turn, or the last
// one. Comparison is case-sensitive.
type Answer struct {
	Contains    []*expr.Template
	NotContains []*expr.Template
	Regex       []*regexp.Regexp
	Equals      *expr.Template // the whole text, with the space at both ends
	// JSON is matched with the answer as JSON: the whole answer, or the content
	// of its only ``` block.
	JSON *match.Matcher
	Pos  harness.Position
}

// Score reads the transcript. When the subject reports nothing, it reads the
// journal: the last text of the model that reached the subject. In mock mode that
// is what the script said, and the verdict says so.
func (s Answer) Score(e *Evidence) trials.Verdict {
	v := e.verdict("answer", s.Pos)
	text := e.answer()
	s.judge(&v, e, text, "the answer", e.gotAnswer(text))
	v.Scripted = v.State == trials.Passed && e.scripted()
	return v
}

// judge judges a text; what it is and what was found are for messages.
func (s Answer) judge(v *trials.Verdict, e *Evidence, text, what, got string) {
	vars := e.vars(len(e.Trajectory))
	checks, problems := 0, []string(nil)
	check := func(good bool, format string, args ...any) {
		if checks++; !good {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	render := func(ts []*expr.Template, each func(want string)) error {
		for _, t := range ts {
			want, err := t.Render(vars)
			if err != nil {
				return err
			}
			each(want)
		}
		return nil
	}
	err := render(s.Contains, func(want string) {
		check(strings.Contains(text, want), "want it to contain %q", want)
	})
	if err == nil {
		err = render(s.NotContains, func(want string) {
			check(!strings.Contains(text, want), "want it not to contain %q", want)
		})
	}
	if err == nil && s.Equals != nil {
		err = render([]*expr.Template{s.Equals}, func(want string) {
			differ := ""
			if strings.TrimSpace(text) == strings.TrimSpace(want) {
				differ = " (only white space at the ends differs)"
			}
			check(text == want, "want it to be %q%s", want, differ)
		})
	}
	for _, re := range s.Regex {
		check(re.MatchString(text), "want it to match the regular expression %q", re)
	}
	if err == nil && s.JSON != nil {
		err = s.json(v, text, vars, check)
	}
	if checks == 0 {
		check(text != "", "want an answer")
	}
	if err != nil {
		broken(v, err)
		return
	}
	v.Score = share(checks-len(problems), checks)
	if len(problems) > 0 {
		if len(problems) == 1 && len(v.Mismatches) > 0 {
			v.Pos, v.MismatchesOnly = cmp.Or(firstPos(v.Mismatches), v.Pos), true
			fail(v, "%s; %s is %s", problems[0], what, got)
			return
		}
		fail(v, "%s, got %s", strings.Join(problems, "; "), got)
	}
}

func (s Answer) json(v *trials.Verdict, text string, vars *expr.Vars, check func(bool, string, ...any)) error {
	got, err := value.Parse([]byte(unfence(text)))
	if err != nil {
		check(false, "want JSON (%v)", err)
		return nil
	}
	diff, err := s.JSON.Match(got, vars)
	if err != nil {
		return err
	}
	texts := make([]string, len(diff))
	for i, m := range diff {
		texts[i] = m.String()
	}
	check(diff == nil, "%s", strings.Join(texts, "; "))
	v.Mismatches = append(v.Mismatches, diff...)
	return nil
}

// unfence returns what stands in the only ``` block of a text, or the text.
func unfence(s string) string {
	parts := strings.Split(s, "```")
	if len(parts) != 3 {
		return s
	}
	if _, body, ok := strings.Cut(parts[1], "\n"); ok {
		return body
	}
	return parts[1]
}

// scripted reports whether the only answers that are known are those of a script.
func (e *Evidence) scripted() bool {
	return e.Transcript == nil && (e.Mode == harness.ModeMock || e.Mode == "")
}

// answer returns the text to judge.
func (e *Evidence) answer() string {
	if e.Transcript != nil {
		if t := e.turn(); t != nil {
			return t.Answer
		}
		return ""
	}
	if answers := e.journal().Answers; len(answers) > 0 {
		return answers[len(answers)-1]
	}
	return ""
}

func (e *Evidence) gotAnswer(text string) string {
	if text != "" {
		return fmt.Sprintf("%q", prose.Shorten(text, 600))
	}
	if t := e.turn(); t != nil && t.Stop != "" {
		return fmt.Sprintf("no answer: the subject stopped (%s)", t.Stop)
	}
	if t := e.turn(); t != nil && t.Error != "" {
		return "no answer: " + t.Error
	}
	return "no answer"
}

// State expects the states of mock servers.
type State struct {
	// Servers maps a server's name to the expectation of its state. The paths
	// of mismatches begin with the Root of each matcher; make it the server's
	// name.
	Servers map[string]*match.Matcher
	Pos     harness.Position
}

// Score matches the state that each server is left in.
func (s State) Score(e *Evidence) trials.Verdict {
	v := e.verdict("state", s.Pos)
	vars := e.vars(len(e.Trajectory))
	good := 0
	for _, server := range slices.Sorted(maps.Keys(s.Servers)) {
		raw, ok := e.States[server]
		if !ok {
			v.State = trials.Undecided
			v.Message = fmt.Sprintf("the state of server %q is unknown", server)
			return v
		}
		got, err := value.Parse(raw)
		if err != nil {
			broken(&v, err)
			return v
		}
		diff, err := s.Servers[server].Match(got, vars)
		if err != nil {
			broken(&v, err)
			return v
		}
		if diff == nil {
			good++
		}
		v.Mismatches = append(v.Mismatches, diff...)
	}
	v.Score = share(good, len(s.Servers))
	if len(v.Mismatches) > 0 {
		v.Pos, v.MismatchesOnly = cmp.Or(firstPos(v.Mismatches), v.Pos), true
		texts := make([]string, len(v.Mismatches))
		for i, m := range v.Mismatches {
			texts[i] = m.String()
		}
		fail(&v, "%s", strings.Join(texts, "; "))
	}
	return v
}

// Retries expects a number of repeated model requests.
type Retries struct {
	Min, Max *int // nil is no bound
	// Honoured expects each repetition to wait as long as the previous answer
	// asked for.
	Honoured bool
	Pos      harness.Position
}

// Score counts the attempts after the first at each position.
func (s Retries) Score(e *Evidence) trials.Verdict {
	v := e.verdict("retries", s.Pos)
	retries, asked := 0, 0
	var early []string
	last := map[string]*harness.Exchange{} // of each lane
	for i := range e.Exchanges {
		x := &e.Exchanges[i]
		if !e.in(x.Turn) || x.Kind.Outside() || x.Stray {
			continue
		}
		before := last[x.Lane]
		if x.Attempt > 1 {
			retries++
			if before != nil && before.RetryAfter > 0 {
				asked++
				// From when the request arrived: the answer left a little
				// later, but nobody can say when the client read it.
				if waited := x.Start.Sub(before.Start); waited < before.RetryAfter {
					early = append(early, fmt.Sprintf("attempt %d came after %s, but was asked to wait %s", x.Attempt, waited.Round(time.Millisecond), before.RetryAfter))
				}
			}
		}
		last[x.Lane] = x
	}
	switch {
	case s.Min != nil && retries < *s.Min:
		fail(&v, "want at least %d repeated model requests, got %d", *s.Min, retries)
	case s.Max != nil && retries > *s.Max:
		fail(&v, "want at most %d repeated model requests, got %d", *s.Max, retries)
	case s.Honoured && e.Untimed:
		v.State = trials.Undecided
		v.Message = "whether waits were honoured cannot be judged without times, which this run left out (--unmeasured)"
	case s.Honoured && len(early) > 0:
		fail(&v, "want every requested wait honoured: %s", strings.Join(early, "; "))
	case s.Honoured && asked == 0:
		v.State = trials.Undecided
		v.Message = "no retried answer asked for a wait"
	}
	return v
}

// That judges a CEL condition.
type That struct {
	Program *expr.Program
	Pos     harness.Position
}

// Score evaluates the condition. The three witnesses are limited to the turn,
// when the expectation belongs to one.
func (s That) Score(e *Evidence) trials.Verdict {
	v := e.verdict("that", s.Pos)
	if e.Transcript == nil && s.Program.Reads("transcript") {
		v.State = trials.Skipped
		v.Message = "the subject reports no transcript"
		return v
	}
	vars := e.vars(len(e.Trajectory))
	vars.Trajectory, _ = e.calls()
	vars.Journal = e.journal()
	vars.Requests = e.requests()
	holds, err := s.Program.True(vars)
	if err != nil {
		broken(&v, err)
		if limit := (*expr.LimitError)(nil); !errors.As(err, &limit) { // which names it
			v.Message = fmt.Sprintf("%s: %s", s.Program, v.Message)
		}
		return v
	}
	if !holds {
		readings := s.readings(vars)
		fail(&v, "%s does not hold%s%s", s.Program, readings, s.figures(vars, readings != ""))
	}
	return v
}

// readings are the values that the condition reads, a line each. figures
// summarises calls and the like.
func (s That) readings(vars *expr.Vars) string {
	var b strings.Builder
	for _, m := range s.Program.Readings(vars) {
		if slices.Contains(witnesses[:], m.Key) {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s", prose.Shorten(m.Key, 100), prose.Shorten(m.Value.String(), 300))
	}
	return b.String()
}

// witnesses are the names that figures summarises.
var witnesses = [...]string{"result", "journal", "requests", "transcript", "trajectory"}

// figures summarises the witnesses that the condition reads, a line each; or
// the calls, when it reads none and nothing else was printed.
func (s That) figures(vars *expr.Vars, told bool) string {
	var b strings.Builder
	if s.Program.Reads("result") && vars.Result != nil {
		fmt.Fprintf(&b, "\nresult: %s", prose.Shorten(vars.Result.String(), 300))
	}
	if s.Program.Reads("journal") {
		j := vars.Journal
		fmt.Fprintf(&b, "\njournal: %s, %s, %s, %s, answers %s", prose.Count(j.ModelCalls, "model call"),
			prose.CountOf(j.Retries, "retry", "retries"), prose.Count(j.ToolCalls, "tool call"), prose.Count(j.Tokens, "token"), quoted(j.Answers))
	}
	if s.Program.Reads("requests") {
		fmt.Fprintf(&b, "\nrequests: %s%s", prose.Count(len(vars.Requests), "request"), requestTexts(vars.Requests))
	}
	if s.Program.Reads("transcript") {
		calls, toolCalls, stop := 0, 0, harness.StopReason("")
		var answers []string
		for _, t := range vars.Transcript.Turns {
			calls, toolCalls, stop = calls+t.ModelCalls, toolCalls+len(t.Calls), t.Stop
			answers = append(answers, t.Answer)
		}
		fmt.Fprintf(&b, "\ntranscript: %s, %s, answers %s, stop %q", prose.Count(calls, "model call"), prose.Count(toolCalls, "tool call"), quoted(answers), stop)
	}
	if b.Len() == 0 && !told || s.Program.Reads("trajectory") {
		return fmt.Sprintf("\ntrajectory: %s: %s%s", prose.Count(len(vars.Trajectory), "call"), callTexts(vars.Trajectory), &b)
	}
	return b.String()
}

// requestTexts summarises requests by path and content, a line each.
func requestTexts(list []harness.Exchange) string {
	const most = 10
	var b strings.Builder
	for i, x := range list {
		if i == most {
			fmt.Fprintf(&b, "\n  and %d more", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "\n  %d: POST %s, model %q, %s, %s", i+1, x.Path, x.Request.Model,
			prose.Count(len(x.Request.Messages), "message"), prose.Count(len(x.Request.Tools), "tool"))
	}
	return b.String()
}

// quoted lists texts for a reader.
func quoted(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = fmt.Sprintf("%q", prose.Shorten(t, 200))
	}
	return strings.Join(out, ", ")
}
