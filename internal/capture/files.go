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

	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/value"
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
			reply, err := a.reply()
			if err != nil {
				return nil, err
			}
			turn.Replies = append(turn.Replies, reply)
		}
		model.Turns = append(model.Turns, &Turn{User: turn.User, Replies: turn.Replies})
		if err := said.expect(turn, s.Reports, counts); err != nil {
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

// reply is what the mock model says.
func (a *Answered) reply() (*Reply, error) {
	r := &Reply{From: fmt.Sprintf("exchange %d of the cassette", a.Number), Say: Literal(a.Text), Reasoning: Literal(a.Reasoning), Refusal: Literal(a.Message.Refusal)}
	if usual := map[bool]string{true: "tool_calls", false: "stop"}[len(a.Calls) > 0]; a.Finish != usual && slices.Contains([]string{"stop", "length", "tool_calls", "content_filter"}, a.Finish) {
		r.Finish = a.Finish
	}
	for _, call := range a.Calls {
		args, err := Arguments(call.Arguments)
		if err != nil {
			return nil, fmt.Errorf("exchange %d of the cassette calls %s with %s, which is no JSON", a.Number, call.Name, prose.Shorten(call.Arguments, 60))
		}
		r.Calls = append(r.Calls, map[string]any{call.Name: args})
	}
	return r, nil
}

// expect writes what happened in a turn as what is expected of it.
func (t *Said) expect(turn *Turn, reports Report, counts map[string]int) error {
	calls := []any{}
	var results []map[string]any
	for _, a := range t.Replies {
		for _, call := range a.Calls {
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
			if that := resultIs(fmt.Sprintf("results(%q)[%d]", call.Name, n), call.Heard.Answer); that != "" {
				results = append(results, map[string]any{"that": that})
			}
		}
	}
	turn.Expect = append([]map[string]any{{"calls": calls}}, results...)
	if t.Answer == "" {
		return nil
	}
	turn.Expect = append(turn.Expect, map[string]any{"answer": answerIs(t.Answer, reports)})
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
	_ = n.Encode(pattern) // a map of texts
	n.Style = yaml.FlowStyle
}

// longest is the longest result that an expectation repeats, and begins how much
// of a longer one.
const (
	longest = 300
	begins  = 80
)

// resultIs is the condition that a result is what it was; empty for one that
// there is no telling of.
func resultIs(name string, m mcpwire.Message) string {
	if m.Error != nil {
		return ""
	}
	r, err := mcpwire.ParseResult(m.Result)
	if err != nil {
		return ""
	}
	return conditionOf(name, r.Value())
}

// conditionOf is the condition that what has a name is a value.
func conditionOf(name string, raw json.RawMessage) string {
	var text string
	switch isText := json.Unmarshal(raw, &text) == nil; {
	case strings.Contains(string(raw), workMark()):
		return ""
	case isText && len(text) > longest:
		return fmt.Sprintf("%s.startsWith(%s) && %s.size() == %d", name, quoted(head(text, begins)), name, utf8.RuneCountInString(text))
	case isText:
		return name + " == " + quoted(text)
	case len(raw) > longest:
		return longValue(name, raw)
	}
	return name + " == " + literal(raw)
}

// longValue is the condition for a long JSON value: each of its parts that is
// short, and how many there are of the others.
func longValue(name string, raw json.RawMessage) string {
	v, err := value.Parse(raw)
	if err != nil {
		return ""
	}
	out := []string{fmt.Sprintf("%s.size() == %d", name, v.Len())}
	part := func(at string, v value.Value) {
		switch text := v.String(); {
		case v.Kind() == value.String && len(text) > begins:
			out = append(out, fmt.Sprintf("%s.startsWith(%s) && %s.size() == %d", at, quoted(head(v.Str(), begins)), at, utf8.RuneCountInString(v.Str())))
		case len(text) > longest && v.Len() > 0:
			out = append(out, fmt.Sprintf("%s.size() == %d", at, v.Len()))
		default:
			out = append(out, at+" == "+literal([]byte(text)))
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
	return strings.Join(out, " && ")
}

// literal is JSON as an expression has it, which is almost JSON.
func literal(raw json.RawMessage) string {
	v, err := value.Parse(raw)
	if err != nil {
		return "null"
	}
	switch v.Kind() {
	case value.Object:
		var parts []string
		for _, m := range v.Members() {
			parts = append(parts, quoted(m.Key)+": "+literal([]byte(m.Value.String())))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case value.Array:
		var parts []string
		for _, item := range v.Items() {
			parts = append(parts, literal([]byte(item.String())))
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

// head is the beginning of a text, in whole characters.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// equal reports whether two texts are the same JSON.
func equal(a, b json.RawMessage) bool {
	v, err := value.Parse(a)
	w, err2 := value.Parse(b)
	return err == nil && err2 == nil && value.Equal(v, w)
}
