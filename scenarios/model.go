// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// modelScript is what the mock model says, compiled once and bound to the
// vars of each case.
type modelScript struct {
	turns         []turnScript
	replies       []replyScript // in place of turns
	asides, rules []ruleScript
	faults        []faultScript
	lanes         []laneScript
	window        int      // tokens of a request; 0 is no limit
	echo          []string // fields that must come back
}

type turnScript struct {
	user *expr.Template
	// contains and pattern are what the user's text has, in place of user; part
	// is where they stand.
	contains []string
	pattern  *regexp.Regexp
	part     harness.Position

	replies []replyScript
	single  bool // the first reply ends it
	pos     harness.Position
}

type replyScript struct {
	say, reasoning, refusal *expr.Template
	calls                   []callScript
	finish                  string
	faults                  []faultScript
	repeat                  int
	unoffered               bool
	fragments               *dialect.Fragments
	habits                  *dialect.Habits
	logprobs                json.RawMessage
	hold                    string
	cue                     *Cue // what gives that; nil leaves it to others
	choices                 []string
	pos                     harness.Position
}

type callScript struct {
	tool string
	args *expr.Tree // nil without arguments
	pos  harness.Position
}

type ruleScript struct {
	when   *expr.Program
	chance float64 // 0 is always
	reply  replyScript
	pos    harness.Position
}

// modelScript compiles what the mock model says; settings is the map that has
// its faults.
func (l *loader) modelScript(root, settings *strictyaml.Node) modelScript {
	m := modelScript{
		replies: l.replies(root.Get("replies"), true),
		asides:  l.rules(root.Get("asides")),
		rules:   l.rules(root.Get("rules")),
		lanes:   l.lanes(root.Get("lanes")),
		turns:   l.turnScripts(root.Get("turns")),
		faults:  l.faults(settings.Get("faults")),
		window:  intOf(settings.Get("context_window")),
		echo:    textsOf(settings.Get("requires").Get("echo")),
	}
	return m
}

// replies compiles a list of replies. Those that stand in place of turns follow
// each other whatever they say.
func (l *loader) replies(list *strictyaml.Node, bare bool) []replyScript {
	var out []replyScript
	var before *strictyaml.Node
	for _, n := range itemsOf(list) {
		if usable(n) {
			if before != nil && !bare && l.textAlone(before) {
				l.problems.add(n.Pos, "the reply before this one (at %s) has only text and so ends the turn", before.Pos)
			}
			out = append(out, l.reply(n))
			if repeat := n.Get("repeat"); !bare && intOf(repeat) > 1 && l.textAlone(n) {
				l.problems.add(repeat.Pos, "a reply with only text ends its turn and cannot repeat")
			}
		}
		before = n
	}
	return out
}

// textAlone reports whether a reply ends its turn. One with a mistake in it
// may have been meant otherwise.
func (l *loader) textAlone(n *strictyaml.Node) bool {
	if !usable(n) || n.Kind != strictyaml.Map || l.shapes.hasUnknown(n, l.shapes.objects["reply"]) {
		return false
	}
	calls := n.Get("calls")
	return (usable(n.Get("say")) || usable(n.Get("refusal"))) && (calls == nil || usable(calls) && len(calls.Items) == 0)
}

func (l *loader) reply(n *strictyaml.Node) replyScript {
	r := replyScript{
		say:       l.template(n.Get("say"), expr.Reply),
		reasoning: l.template(n.Get("reasoning"), expr.Reply),
		refusal:   l.template(n.Get("refusal"), expr.Reply),
		finish:    textOf(n.Get("finish")),
		repeat:    intOf(n.Get("repeat")),
		unoffered: boolOf(n.Get("unoffered")),
		fragments: l.fragments(n.Get("fragments")),
		habits:    l.habits(n.Get("habits")),
		logprobs:  rawOf(n.Get("logprobs")),
		choices:   textsOf(n.Get("choices")),
		faults:    l.faults(n.Get("fault")),
		pos:       n.Pos,
	}
	r.hold, r.cue = l.hold(n.Get("hold"))
	for _, item := range itemsOf(n.Get("calls")) {
		if tool, args, ok := callParts(item); ok {
			r.calls = append(r.calls, callScript{tool: tool, args: l.tree(args, expr.Reply), pos: item.Pos})
		}
	}
	return r
}

// callParts takes an item of calls apart; args is nil for a bare name.
func callParts(item *strictyaml.Node) (tool string, args *strictyaml.Node, ok bool) {
	switch {
	case !usable(item):
		return "", nil, false
	case item.Kind == strictyaml.String:
		return item.Text, nil, true
	default:
		return item.Pairs[0].Key.Text, item.Pairs[0].Value, true
	}
}

func (l *loader) rules(list *strictyaml.Node) []ruleScript {
	var out []ruleScript
	for _, n := range itemsOf(list) {
		if usable(n) && usable(n.Get("reply")) {
			if repeat := n.Get("reply").Get("repeat"); usable(repeat) {
				l.problems.add(repeat.Pos, "the reply of a rule or an aside answers whenever it matches: repeat has no effect here")
			}
			r := ruleScript{when: l.condition(n.Get("when"), expr.Request), reply: l.reply(n.Get("reply")), pos: n.Pos}
			if p := floatOf(n.Get("chance")); p != nil {
				r.chance = *p
			}
			out = append(out, r)
		}
	}
	return out
}

// bind returns the script with the vars of a case.
func (m modelScript) bind(vars value.Value) mockllm.Script {
	script := mockllm.Script{
		Asides: bindRules(m.asides, vars), Rules: bindRules(m.rules, vars), Replies: bindReplies(m.replies, vars),
		Faults: bindFaults(m.faults, vars), Lanes: bindLanes(m.lanes, vars), Turns: bindTurns(m.turns, vars), ContextWindow: m.window, Echo: m.echo,
	}
	return script
}

// userText renders what was rendered once already, when the file was loaded.
func (t turnScript) userText(turn int, vars value.Value) string {
	if t.user == nil {
		return ""
	}
	text, _ := t.user.Render(&expr.Vars{Turn: turn, Vars: vars})
	return text
}

func bindRules(rules []ruleScript, vars value.Value) []mockllm.Rule {
	var out []mockllm.Rule
	for _, r := range rules {
		rule := mockllm.Rule{Chance: r.chance, Reply: r.reply.bind(vars), Pos: r.pos}
		if r.when != nil {
			rule.When = func(ask *mockllm.Ask) (bool, error) {
				ok, err := r.when.Holds(&expr.Vars{Request: &ask.Request, User: ask.User, Turn: ask.Turn, Vars: vars})
				return ok, at(r.pos, err)
			}
		}
		out = append(out, rule)
	}
	return out
}

func bindReplies(replies []replyScript, vars value.Value) []mockllm.Reply {
	var out []mockllm.Reply
	for _, r := range replies {
		out = append(out, r.bind(vars))
	}
	return out
}

// bind returns the reply; one in which nothing is computed has no Func.
func (r replyScript) bind(vars value.Value) mockllm.Reply {
	reply := mockllm.Reply{Finish: r.finish, Faults: bindFaults(r.faults, vars), Repeat: r.repeat, Fragments: r.fragments, Habits: r.habits, Logprobs: r.logprobs, Choices: r.choices, Hold: r.hold, Pos: r.pos}
	if said, ok := r.literal(); ok {
		reply.Say, reply.Reasoning, reply.Refusal, reply.Calls = said.Say, said.Reasoning, said.Refusal, said.Calls
		return reply
	}
	reply.NoCalls = len(r.calls) == 0
	reply.Func = func(ask *mockllm.Ask) (mockllm.Reply, error) {
		said, err := r.render(askVars(ask, vars))
		for n, more := 1, err != nil; more; n++ {
			var other *mockllm.Ask
			if other, more = ask.Reading(n); !more {
				break
			}
			if again, failed := r.render(askVars(other, vars)); failed == nil {
				return again, nil
			}
		}
		return said, at(r.pos, err)
	}
	return reply
}

func (r replyScript) literal() (mockllm.Reply, bool) {
	for _, t := range []*expr.Template{r.say, r.reasoning, r.refusal} {
		if t != nil {
			if _, ok := t.Literal(); !ok {
				return mockllm.Reply{}, false
			}
		}
	}
	for _, c := range r.calls {
		if c.args != nil {
			if _, ok := c.args.Literal(); !ok {
				return mockllm.Reply{}, false
			}
		}
	}
	said, err := r.render(&expr.Vars{})
	return said, err == nil
}

func (r replyScript) render(vars *expr.Vars) (mockllm.Reply, error) {
	reply := mockllm.Reply{Finish: r.finish, Logprobs: r.logprobs, Choices: r.choices}
	for _, part := range []struct {
		name string
		from *expr.Template
		to   *string
	}{{"say", r.say, &reply.Say}, {"reasoning", r.reasoning, &reply.Reasoning}, {"refusal", r.refusal, &reply.Refusal}} {
		if part.from == nil {
			continue
		}
		text, err := part.from.Render(vars)
		if err != nil {
			return reply, fmt.Errorf("%s: %w", part.name, err)
		}
		*part.to = text
	}
	for _, c := range r.calls {
		call := mockllm.Call{Tool: c.tool, Unoffered: r.unoffered}
		if c.args != nil {
			args, err := c.args.Expand(vars)
			if err != nil {
				return reply, fmt.Errorf("arguments of %s: %w", c.tool, err)
			}
			call.Args = json.RawMessage(args.String())
		}
		reply.Calls = append(reply.Calls, call)
	}
	return reply, nil
}

// askVars gives a reply the results of the calls issued so far.
func askVars(ask *mockllm.Ask, vars value.Value) *expr.Vars {
	v := &expr.Vars{Request: &ask.Request, User: ask.User, Turn: ask.Turn, Vars: vars}
	if n := len(ask.Calls); n > 0 && ask.Calls[n-1].Result != nil {
		if last, err := value.Parse(ask.Calls[n-1].Result); err == nil {
			v.Result = &last
		}
	}
	v.Results = func(tool string) ([]value.Value, error) {
		var out []value.Value
		for _, c := range ask.Calls {
			if c.Result == nil || !c.Is(tool) {
				continue
			}
			result, err := value.Parse(c.Result)
			if err != nil {
				return nil, fmt.Errorf("result of %s: %w", tool, err)
			}
			out = append(out, result)
		}
		return out, nil
	}
	return v
}

// at puts the place in the file before an error.
func at(pos harness.Position, err error) error {
	if err == nil {
		return nil
	}
	return &filepos.Error{Pos: pos, Err: err}
}
