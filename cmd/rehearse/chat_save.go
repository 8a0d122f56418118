// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/capture"
	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// saveChat writes a conversation as a scenario: the model says what it said, and
// mock servers return what the real ones did. notes say what a reader should
// know of what is not in it.
func saveChat(path, system string, messages []harness.Message, calls []harness.ReportedCall, offered []harness.Tool) (notes []string, err error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	s := capture.Scenario{Scenario: name, Servers: make(map[string]*capture.Server)}
	if system != "" {
		s.Model = &capture.Model{System: capture.Literal(system)}
	}
	w := chatWriter{s: &s, calls: make(map[string]harness.ReportedCall), offered: make(map[string]harness.Tool), tools: make(map[string]*capture.Tool)}
	for _, c := range calls {
		w.calls[c.ID] = c
	}
	for _, t := range offered {
		w.offered[t.Name] = t
	}
	for _, m := range messages {
		w.add(m)
	}
	w.whole()
	if len(s.Turns) == 0 {
		return nil, errors.New("there is no turn with an answer to save")
	}
	data, err := capture.Encode("", &s)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return w.notes, plainfile.ReplaceBytes(path, 0o600, data)
}

// chatWriter makes a scenario of messages.
type chatWriter struct {
	s       *capture.Scenario
	calls   map[string]harness.ReportedCall
	offered map[string]harness.Tool
	tools   map[string]*capture.Tool // by the offered name
	turn    *capture.Turn            // that is not whole yet
	notes   []string
}

func (w *chatWriter) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// add takes the next message.
func (w *chatWriter) add(m harness.Message) {
	switch m.Role {
	case harness.RoleUser:
		w.whole()
		w.turn = &capture.Turn{User: capture.Literal(m.Text)}
	case harness.RoleAssistant:
		if w.turn == nil {
			return
		}
		reply := &capture.Reply{Say: capture.Literal(m.Text)}
		for _, c := range m.Calls {
			if args := w.call(c); args != nil {
				reply.Calls = append(reply.Calls, map[string]any{w.called(c): args})
			}
		}
		w.turn.Replies = append(w.turn.Replies, reply)
	}
}

// called is how the scenario names a tool.
func (w *chatWriter) called(c harness.ToolCall) string {
	if server := w.calls[c.ID].Server; server != "" {
		return server + "." + c.Name
	}
	return c.Name
}

// call enters the result of a call at its server, and returns its arguments; nil
// for a call that a scenario cannot have.
func (w *chatWriter) call(c harness.ToolCall) any {
	made, ok := w.calls[c.ID]
	args, err := capture.Decoded(c.Arguments)
	if !ok || err != nil || made.Server == "" {
		w.note("the call of %s with %s is left out: it reached no server", c.Name, oneLineOf(c.Arguments, 60))
		return nil
	}
	tool := w.tools[c.Name]
	if tool == nil {
		tool = &capture.Tool{Name: c.Name, Description: w.offered[c.Name].Description}
		if schema, err := capture.Decoded(string(w.offered[c.Name].Schema)); err == nil {
			tool.Input = schema
		}
		w.tools[c.Name] = tool
		server := w.s.Servers[made.Server]
		if server == nil {
			server = new(capture.Server)
			w.s.Servers[made.Server] = server
		}
		server.Tools = append(server.Tools, tool)
	}
	text := capture.Literal(made.Result)
	result := &capture.Result{Args: map[string]any{"$literal": args}, Text: &text}
	if made.Error != "" {
		text = capture.Literal(strings.TrimPrefix(made.Result, "Error: "))
		result.Text, result.Error = nil, &text
	}
	for _, r := range tool.Results {
		if same(r.Args, result.Args) {
			if !same(r, result) {
				w.note("%s returned different results for %s: the first one is kept", c.Name, oneLineOf(c.Arguments, 60))
			}
			return args
		}
	}
	tool.Results = append(tool.Results, result)
	return args
}

// whole ends a turn. One without an answer is left out, and so are its calls.
func (w *chatWriter) whole() {
	t := w.turn
	w.turn = nil
	if t == nil {
		return
	}
	last := len(t.Replies) - 1
	if last < 0 || t.Replies[last].Say == "" || len(t.Replies[last].Calls) > 0 {
		w.note("the message %q is left out: it has no answer", oneLineOf(t.User, 60))
		return
	}
	var calls []any
	for _, r := range t.Replies {
		for _, c := range r.Calls {
			calls = append(calls, c)
		}
	}
	if calls == nil {
		calls = []any{}
	}
	t.Expect = []map[string]any{{"calls": calls}, {"answer": map[string]any{"equals": t.Replies[last].Say}}}
	w.s.Turns = append(w.s.Turns, t)
}

// same reports whether two values are written alike.
func same(a, b any) bool {
	x, err := yaml.Marshal(a)
	y, err2 := yaml.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
