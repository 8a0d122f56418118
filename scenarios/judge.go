// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/score"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func judgeKey(doc string) key {
	return key{name: "judge", typ: objectOf("judge settings"), doc: doc}
}

// odd is a whole number that has a half on neither side.
func odd() typ {
	t := count(1)
	t.words = "an odd whole number"
	least := t.scalar
	t.scalar = func(n *strictyaml.Node) string {
		if text := least(n); text != "" {
			return text
		}
		if intOf(n)%2 == 0 {
			return fmt.Sprintf("must be odd, so that more than half agree, not %s", n.Text)
		}
		return ""
	}
	return t
}

func judgeObject() *object {
	return &object{
		name: "judge", doc: "A language model judges by a rubric, at temperature 0. What it judges is quoted to it as JSON and said to be evidence, not instructions. More than half of its votes decide; where neither side has that many, because replies are missing, refused or no verdict, the judge is broken: an error of the trial with `decides`, else a note.",
		keys: []key{
			{name: "rubric", typ: template(), required: true, doc: "What to look at, and what passes; reads " + known(expr.User) + "."},
			{name: "sees", typ: enum("answer", "conversation"), def: "answer", doc: "What is judged: the user's text and the answer, or also the tool calls with their results; of the turn, or of the whole conversation."},
			{name: "choices", typ: list(filled()), def: "[pass, fail]", doc: "The verdicts that it may give, letter by letter."},
			{name: "pass", typ: either(filled(), list(filled())), def: "the first of choices", doc: "The choices that pass."},
			{name: "scale", typ: list(whole()), def: "none", doc: "Instead of choices, the lowest and the highest whole score: `[1, 5]`."},
			{name: "at_least", typ: whole(), def: "the highest", doc: "With `scale`, the lowest score that passes."},
			{name: "votes", typ: odd(), def: "that of judge settings, else 1", doc: "How often it is asked. The choices stand in another order each time."},
			{name: "decides", typ: boolean(), def: "that of judge settings, else false", doc: "Whether the verdict counts. Otherwise it is advisory: shown in reports, and without effect on the outcome."},
			{name: "model", typ: filled(), def: "that of judge settings", doc: "The label of the judge's model entry in rehearse.yaml; `--judge` replaces it."},
			{name: "replies", typ: list(either(template(), objectOf("reply"))), def: "none", doc: "In mode mock, the replies of the judge, one a vote: a text, or a reply. Without them the judge is broken there."},
		},
	}
}

func judgeSettingsObject() *object {
	return &object{
		name: "judge settings", doc: "Defaults for the judges of a scenario or a suite.",
		keys: []key{
			{name: "model", typ: filled(), def: "that of `judge` in rehearse.yaml", doc: "The label of the judge's model entry in rehearse.yaml; `--judge` replaces it."},
			{name: "votes", typ: odd(), def: "1", doc: "How often a judge is asked."},
			{name: "decides", typ: boolean(), def: "false", doc: "Whether verdicts of judges count."},
		},
	}
}

// judge compiles an expectation of a judge. Its settings are those of the
// scenario that is being compiled.
func (l *loader) judge(n *strictyaml.Node, pos harness.Position) score.Scorer {
	if !usable(n.Get("rubric")) {
		return nil
	}
	s := score.Judge{
		Rubric: l.template(n.Get("rubric"), expr.User), Conversation: textOf(n.Get("sees")) == "conversation",
		Votes: max(intOf(first(n, l.judging, "votes")), 1), Decides: boolOf(first(n, l.judging, "decides")), Model: textOf(first(n, l.judging, "model")), Pos: pos,
	}
	if s.Rubric == nil {
		return nil
	}
	if strings.TrimSpace(n.Get("rubric").Text) == "" {
		l.problems.add(n.Get("rubric").Pos, "a judge needs a rubric: what to look at, and what passes")
	}
	if usable(n.Get("scale")) {
		s.Scale = l.scale(n)
	} else {
		l.choices(n, &s)
	}
	var script []replyScript
	for _, item := range itemsOf(n.Get("replies")) {
		switch {
		case !usable(item):
		case item.Kind == strictyaml.String:
			script = append(script, replyScript{say: l.template(item, expr.Reply), pos: item.Pos})
		default:
			script = append(script, l.reply(item))
			if calls := item.Key("calls"); calls != nil {
				l.problems.add(calls.Pos, "a judge has no tools to call")
			}
			if hold := item.Key("hold"); hold != nil {
				l.problems.add(hold.Pos, "the reply of a judge cannot be held: nothing happens any more that could let it go")
			}
		}
	}
	if len(script) > s.Votes {
		l.problems.add(script[s.Votes].pos, "a judge with %s is never asked for this reply", prose.Count(s.Votes, "vote"))
	}
	if l.judges != nil {
		l.judges[pos] = script
	}
	return s
}

// first is a key of an expectation, or else that of the settings.
func first(n, settings *strictyaml.Node, name string) *strictyaml.Node {
	if own := n.Get(name); own != nil {
		return own
	}
	return settings.Get(name)
}

func (l *loader) scale(n *strictyaml.Node) *score.Scale {
	for _, other := range []string{"choices", "pass"} {
		if key := n.Key(other); key != nil {
			l.problems.add(key.Pos, "%q has no effect beside \"scale\"", other)
		}
	}
	list := itemsOf(n.Get("scale"))
	if len(list) != 2 || !usable(list[0]) || !usable(list[1]) || intOf(list[0]) >= intOf(list[1]) {
		l.problems.add(n.Get("scale").Pos, "scale wants the lowest and the highest score, such as [1, 5]")
		return &score.Scale{Max: 1, AtLeast: 1}
	}
	s := &score.Scale{Min: intOf(list[0]), Max: intOf(list[1]), AtLeast: intOf(list[1])}
	if least := n.Get("at_least"); usable(least) {
		if s.AtLeast = intOf(least); s.AtLeast <= s.Min || s.AtLeast > s.Max {
			l.problems.add(least.Pos, "at_least %d: with scores from %d to %d, want %d to %d, or every score or none passes", s.AtLeast, s.Min, s.Max, s.Min+1, s.Max)
		}
	}
	return s
}

func (l *loader) choices(n *strictyaml.Node, s *score.Judge) {
	if key := n.Key("at_least"); key != nil {
		l.problems.add(key.Pos, `"at_least" has no effect without "scale"`)
	}
	s.Choices = []string{"pass", "fail"}
	if given := n.Get("choices"); usable(given) {
		s.Choices = textsOf(given)
	}
	if len(s.Choices) < 2 {
		l.problems.add(n.Get("choices").Pos, "a judge with fewer than two choices can say nothing")
		return
	}
	for i, c := range s.Choices {
		if slices.ContainsFunc(s.Choices[:i], func(o string) bool { return strings.EqualFold(o, c) }) {
			l.problems.add(n.Get("choices").Pos, "the choice %q is duplicated, or differs from another in case alone, and a judge may write either", c)
		}
	}
	s.Passing = s.Choices[:1]
	passing := n.Get("pass")
	if !usable(passing) {
		return
	}
	s.Passing = textsOf(passing)
	for _, p := range s.Passing {
		if !slices.Contains(s.Choices, p) {
			l.problems.add(passing.Pos, "pass: %q is not among the choices%s", p, didYouMean(p, s.Choices))
		}
	}
	if len(s.Passing) == 0 || len(s.Passing) >= len(s.Choices) {
		l.problems.add(passing.Pos, "pass has to be some of the choices, and not all: such a judge cannot fail or cannot pass")
	}
}

// JudgeScript is what the judge says, in mode mock, of the expectation at a
// place: one reply a vote. It says nothing where nobody scripted it.
func (s *Scenario) JudgeScript(pos harness.Position) mockllm.Script {
	return mockllm.Script{Arrival: true, Replies: bindReplies(s.judges[pos], s.Vars)}
}
