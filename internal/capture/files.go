// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/internal/yamlnode"
)

// Setting is what a scenario says besides the conversation.
type Setting struct {
	// From is a comment about where it comes from.
	From    string
	Subject *Subject
	// System has the scenario name the system message, for a subject that takes
	// it from its settings.
	System   bool
	Cassette *Cassette // nil is all defaults
	// NoResults leaves out what results are expected to be.
	NoResults bool
	// OwnModel says that the subject asks for a model of its own, whatever it is
	// given.
	OwnModel bool
	// Reports says how the answer that the subject reports is that of the model:
	// equal to it, somewhere in it, or not at all.
	Reports Report
}

// Report is how a subject reports an answer.
type Report int

// The ways.
const (
	Equal Report = iota
	Contains
	Silent
)

// ScenarioFile is the name of the scenario's file.
func (c *Conversation) ScenarioFile() string { return fileName(c.Name) + ".yaml" }

// ModelFile is the name of the llm file.
const ModelFile = "model.yaml"

func fileName(name string) string { return strings.ToLower(trials.FileName(name, "scenario")) }

// Files are the scenario, its servers and the mock model alone, by their paths.
func (c *Conversation) Files(s *Setting) (map[string][]byte, error) {
	files := map[string][]byte{}
	scenario := &Scenario{Scenario: c.Name, Subject: s.Subject, Cassette: s.Cassette, Names: c.names, Asides: c.asides, Servers: map[string]*Server{}}
	if s.System && c.System != "" {
		scenario.Model = &Model{Literal(c.System)}
	}
	if s.OwnModel {
		scenario.Conduct = map[string]string{"model_asked": "off"}
	}
	model := &LLM{LLM: c.Name, Names: c.names, Asides: c.asides}
	for _, h := range c.Servers {
		at := "servers/" + fileName(h.Name)
		server, err := h.server(func(name, text string) string {
			file := fileName(h.Name) + "/" + fileName(name) + ".txt"
			files["servers/"+file] = []byte(text)
			return file
		})
		if err != nil {
			return nil, err
		}
		if len(server.Tools) == 0 {
			c.note("server %q listed no tool: it is left out", h.Name)
			continue
		}
		comment := fmt.Sprintf("The tools of %q as it listed them, and what it answered: %s.\nAny other call is a mistake.", h.Name, prose.Count(len(h.Calls), "call"))
		if files[at+".yaml"], err = Encode(comment, server); err != nil {
			return nil, fmt.Errorf("writing server %q: %w", h.Name, err)
		}
		scenario.Servers[h.Name] = &Server{Mock: at + ".yaml"}
	}
	counts := map[string]int{} // calls of a tool so far
	for _, said := range c.Turns {
		turn := &Turn{User: Literal(said.User)}
		for _, a := range said.Replies {
			if reply := c.reply(a); reply != nil {
				turn.Replies = append(turn.Replies, reply)
			}
		}
		if len(turn.Replies) == 0 {
			c.note("the turn %q is left out: it has no reply", prose.Shorten(said.User, 60))
			continue
		}
		model.Turns = append(model.Turns, &Turn{User: turn.User, Replies: turn.Replies})
		if err := c.expect(turn, said, s, counts); err != nil {
			return nil, err
		}
		scenario.Turns = append(scenario.Turns, turn)
	}
	var err error
	if files[c.ScenarioFile()], err = Encode(s.From, scenario); err != nil {
		return nil, fmt.Errorf("writing the scenario: %w", err)
	}
	alone := "The mock model alone: `rehearse serve llm " + ModelFile + "`. The scenario has its own copy of the replies."
	if files[ModelFile], err = Encode(alone, model); err != nil {
		return nil, fmt.Errorf("writing the mock model: %w", err)
	}
	return files, nil
}

// reply is what the mock model says; nil for a reply that a scenario cannot have:
// one that says nothing, or whose calls are all left out, so that it would end the
// turn.
func (c *Conversation) reply(a *Answered) *Reply {
	r := &Reply{From: fmt.Sprintf("exchange %d of the cassette", a.Number), Say: Literal(a.Text), Reasoning: Literal(a.Reasoning), Refusal: Literal(a.Message.Refusal)}
	if usual := map[bool]string{true: "tool_calls", false: "stop"}[len(a.Calls) > 0]; a.Finish != usual && slices.Contains([]string{"stop", "length", "tool_calls", "content_filter"}, a.Finish) {
		r.Finish = a.Finish
	}
	var can []*Called
	for _, call := range a.Calls {
		if why := call.hindrance(); why != "" {
			c.leave(a, call, why)
			continue
		}
		can = append(can, call)
	}
	r.add(can)
	if len(r.Calls) == 0 && (len(a.Calls) > 0 || r.Say == "" && r.Refusal == "") {
		c.note("exchange %d of the cassette has no reply that a scenario can have: the replies leave it out", a.Number)
		return nil
	}
	return r
}

// hindrance is why a scenario cannot have a call; empty where it can.
func (c *Called) hindrance() string {
	v, err := value.Parse([]byte(c.Arguments))
	switch {
	case err != nil || v.Kind() != value.Object:
		return "its arguments are not a JSON object"
	case c.unoffered && (c.Name == "" || strings.Contains(c.Name, ".")):
		return "there is no such tool"
	}
	return ""
}

// add adds calls that a scenario can have. Where one of them is of a tool that is
// not offered, all have the names that the model gave.
func (r *Reply) add(calls []*Called) {
	for _, call := range calls {
		r.Unoffered = r.Unoffered || call.unoffered
	}
	for _, call := range calls {
		name := call.Name
		if r.Unoffered {
			name = call.sent
		}
		args, _ := Arguments(call.Arguments) // they have been read
		r.Calls = append(r.Calls, map[string]any{name: args})
	}
}

// leave leaves a call out.
func (c *Conversation) leave(a *Answered, call *Called, why string) {
	call.left = true
	c.note("exchange %d of the cassette calls %s with %s: the call is left out, since %s", a.Number, call.Name, prose.Shorten(call.Arguments, 60), why)
}

// expect writes what happened in a turn as what is expected of it.
func (c *Conversation) expect(turn *Turn, t *Said, s *Setting, counts map[string]int) error {
	calls := []any{}
	var results []map[string]any
	for _, a := range t.Replies {
		for _, call := range a.Calls {
			if call.left {
				continue
			}
			args, err := expected(call.Arguments)
			if err != nil {
				return err
			}
			calls = append(calls, map[string]any{call.Name: args})
			if call.Heard == nil {
				continue
			}
			n := counts[call.Name]
			counts[call.Name]++
			that, why := resultIs(fmt.Sprintf("results(%s)[%d]", quoted(call.Name), n), call.Heard.Answer)
			if that != "" && !s.NoResults {
				results = append(results, map[string]any{"that": that})
			}
			if why != "" {
				c.note("result %d of %s %s", n+1, call.Name, why)
			}
		}
	}
	turn.Expect = append([]map[string]any{{"calls": calls}}, results...)
	if t.Answer == "" {
		return nil
	}
	turn.Expect = append(turn.Expect, map[string]any{"answer": answerIs(t.Answer, s.Reports)})
	return nil
}

// workMark stands for the folder in which the conversation was recorded, and in a
// replay for that of the trial.
func workMark() string { return redact.Mark("work") }

// answerIs is the answer that is expected.
func answerIs(text string, reports Report) map[string]any {
	switch {
	case strings.Contains(text, workMark()):
		return map[string]any{"regex": strings.ReplaceAll(regexp.QuoteMeta(text), regexp.QuoteMeta(workMark()), ".*")}
	case reports == Contains:
		return map[string]any{"contains": Literal(strings.TrimSpace(text))}
	}
	return map[string]any{"equals": Literal(text)}
}

// expected are the arguments of a call that is expected, or answered: paths of
// the working folder are those of any.
func expected(text string) (any, error) {
	args, err := Arguments(text)
	if n, ok := args.(*yaml.Node); ok && err == nil && strings.Contains(text, workMark()) {
		loosen(n)
	}
	return args, err
}

// loosen has texts with the working folder fit those with any other folder.
func loosen(n *yaml.Node) {
	for _, c := range n.Content {
		loosen(c)
	}
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, workMark()) {
		return
	}
	text := n.Value
	pattern := map[string]string{"$glob": strings.ReplaceAll(text, workMark(), "*")}
	if strings.ContainsAny(text, "*?") {
		pattern = map[string]string{"$regex": "^" + strings.ReplaceAll(regexp.QuoteMeta(text), regexp.QuoteMeta(workMark()), ".*") + "$"}
	}
	*n = *yamlnode.Of(pattern)
	n.Style = yaml.FlowStyle
}

// longest is the longest result that an expectation repeats, and begins how much
// of a longer one.
const (
	longest = 300
	begins  = 80
)

// resultIs is the condition that a result is what it was, and what of the result
// no condition can say; both may be empty.
func resultIs(name string, m mcpwire.Message) (that, why string) {
	if m.Error != nil {
		return "", ""
	}
	r, err := mcpwire.ParseResult(m.Result)
	if err != nil {
		return "", ""
	}
	that = conditionOf(name, r.Value())
	switch v, err := value.Parse(r.Value()); {
	case err != nil:
		return "", fmt.Sprintf("is not expected: %v", err)
	case !writable(v) && that == "":
		return "", "is not expected: no expression holds a number beyond 64 bits"
	case !writable(v):
		return that, "is expected in part: no expression holds its numbers beyond 64 bits"
	}
	return that, ""
}

// conditionOf is the condition that what has a name is a value; empty where none
// can be written.
func conditionOf(name string, raw json.RawMessage) string {
	v, err := value.Parse(raw)
	if err != nil || strings.Contains(string(raw), workMark()) {
		return ""
	}
	switch {
	case v.Kind() == value.String && len(v.Str()) > longest:
		return aText(name, v.Str())
	case v.Kind() == value.Object || v.Kind() == value.Array:
		if len(raw) > longest || !writable(v) {
			return strings.Join(parts(name, v), " && ")
		}
	case !writable(v):
		return ""
	}
	return name + " == " + literal(v)
}

// aText is the condition for a long text: how it begins, and how long it is.
func aText(name, text string) string {
	begin, _ := prose.Head(text, begins)
	return fmt.Sprintf("%s.startsWith(%s) && %s.size() == %d", name, quoted(begin), name, utf8.RuneCountInString(text))
}

// writable reports whether an expression can hold a value: it has no numbers
// outside of 64 bits.
func writable(v value.Value) bool {
	can := true
	value.Walk(v, func(_ value.Path, v value.Value) bool {
		if v.Kind() == value.Number {
			_, whole := v.Int()
			_, float := v.Float()
			can = can && (whole || float && !v.IsInteger())
		}
		return can
	})
	return can
}

// parts are the conditions for a value that is long, or that no expression can
// hold: its size, each of its first parts that is short, and how many there are of
// the others. What cannot be written is left out.
func parts(name string, v value.Value) []string {
	out := []string{fmt.Sprintf("%s.size() == %d", name, v.Len())}
	part := func(at string, v value.Value) {
		switch text := v.String(); {
		case v.Kind() == value.String && len(text) > begins:
			out = append(out, aText(at, v.Str()))
		case len(text) > longest && v.Len() > 0:
			out = append(out, fmt.Sprintf("%s.size() == %d", at, v.Len()))
		case writable(v):
			out = append(out, at+" == "+literal(v))
		case v.Len() > 0:
			out = append(out, parts(at, v)...)
		}
	}
	const most = 5
	for n, m := range v.Members() {
		if n < most {
			part(fmt.Sprintf("%s[%s]", name, quoted(m.Key)), m.Value)
		}
	}
	for n, item := range v.Items() {
		if n < most {
			part(fmt.Sprintf("%s[%d]", name, n), item)
		}
	}
	return out
}

// literal is JSON as an expression has it, which is almost JSON.
func literal(v value.Value) string {
	switch v.Kind() {
	case value.Object:
		var parts []string
		for _, m := range v.Members() {
			parts = append(parts, quoted(m.Key)+": "+literal(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case value.Array:
		var parts []string
		for _, item := range v.Items() {
			parts = append(parts, literal(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case value.String:
		return quoted(v.Str())
	default:
		return v.String()
	}
}

// quoted is a text as an expression has it.
func quoted(text string) string {
	return string(mcpwire.Marshal(text))
}

// equal reports whether two texts are the same JSON.
func equal(a, b json.RawMessage) bool {
	v, err := value.Parse(a)
	w, err2 := value.Parse(b)
	return err == nil && err2 == nil && value.Equal(v, w)
}
