// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// scriptError is an error of the script and not of the client.
type scriptError struct{ err error }

func (e *scriptError) Error() string { return e.err.Error() }

func (e *scriptError) Unwrap() error { return e.err }

// resolve gives a call the name that the client offers its tool under. A client
// that offers nothing gets the call as it is scripted, unless it names a server.
func (m *Mock) resolve(sc *givenCall, unoffered bool, offered []harness.Tool) error {
	server, tool := toolname.Split(sc.Name)
	if !unoffered && (server != "" || len(offered) > 0) {
		name, err := m.resolver.Name(sc.Name, offered)
		if err != nil {
			return m.blame(server, tool, err)
		}
		sc.Name = name
		if server != "" {
			sc.server, sc.tool = server, tool
			m.called.add(name, server+"."+tool)
			return nil
		}
	}
	if len(m.program.Servers) > 0 {
		sc.server, sc.tool, _ = m.resolver.Of(sc.Name, offered)
	}
	return nil
}

// calledTools are the server.tool names that a script called, by the names that
// the client offers them under.
type calledTools struct {
	mu     sync.Mutex // guards byName
	byName map[string]string
}

func (c *calledTools) add(offered, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]string)
	}
	c.byName[offered] = name
}

func (c *calledTools) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName = nil
}

// Called returns the tools that the script has called as server.tool, by the
// names that the client offers them under.
func (m *Mock) Called() map[string]string {
	m.called.mu.Lock()
	defer m.called.mu.Unlock()
	return maps.Clone(m.called.byName)
}

// blame says whose mistake it is that a call has no tool among those that the
// client offers: the script's, where the server itself lists none of that name.
func (m *Mock) blame(server, tool string, err error) error {
	listed, known := m.program.Servers[server]
	var names []string
	for _, t := range listed {
		if t.Name == tool {
			return err
		}
		names = append(names, t.Name)
	}
	if !known {
		return err
	}
	return &scriptError{fmt.Errorf("server %q has no tool %q%s; it has %s", server, tool, prose.DidYouMean(tool, names), strings.Join(names, ", "))}
}

// ask returns what a rule or a Func sees of a request. Turn and reply are the
// position; 0 where it has none.
func (m *Mock) ask(c *dialect.Chat, turn, n int) (*Ask, error) {
	m.mu.Lock()
	issued, texts := m.issued(c)
	if turn == 0 {
		turn = m.state.turn
	}
	m.mu.Unlock()
	a := &Ask{Request: c.Request(), Turn: turn, Reply: n, Calls: issued}
	if 0 < turn && turn <= len(m.program.turns) {
		a.User = m.program.turns[turn-1].User
	}
	for i := c.Len() - 1; a.User == "" && i >= 0; i-- {
		if c.At(i).Role() == harness.RoleUser {
			a.User = c.At(i).Message().Text
		}
	}
	readings := read(issued, texts)
	if m.program.Results == nil {
		a.readings = readings
		return a, nil
	}
	filled, err := m.program.Results(issued)
	if err != nil {
		return nil, &scriptError{err}
	}
	a.Calls = filled
	return a, nil
}

// issued returns the calls of a reply, and the text that the request has for
// each result.
func (sp *givenReply) issued(turn, n int, result func(i int) *dialect.Message) (out []harness.Call, texts []*string) {
	for i, c := range sp.calls {
		call := harness.Call{Server: c.server, Tool: c.tool, Offered: c.Name, ID: c.ID, Turn: turn, Reply: n, Index: i}
		if json.Valid([]byte(c.Arguments)) {
			call.Args = json.RawMessage(c.Arguments)
		} else {
			call.ArgsText = c.Arguments
		}
		var text *string
		if msg := result(i); msg != nil {
			call.Executed = true
			text = &[]string{msg.Message().Text}[0]
		}
		out, texts = append(out, call), append(texts, text)
	}
	return out, texts
}

// asJSON returns text when it is JSON, else text as a JSON string.
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quote(text)
}

// message returns the reply in the common vocabulary.
func (sp *givenReply) message() harness.Message {
	c := sp.content
	m := harness.Message{Role: harness.RoleAssistant, Text: c.say, Reasoning: c.reasoning, Refusal: c.refusal}
	for _, call := range sp.calls {
		m.Calls = append(m.Calls, call.ToolCall)
	}
	return m
}

// toldCalls are the calls of a reply as the client was told of them.
type toldCalls struct {
	calls []harness.ToolCall
	// useless says that a call has no id, or one that another had before: then
	// a client makes up its own.
	useless bool
}

// toldCalls are those of a position; seen are the ids before it.
func (s *served) toldCalls(seen map[string]bool) (out toldCalls) {
	switch {
	case s.told != nil:
		out.calls = toolCalls(s.told)
	case s.given != nil:
		for _, call := range s.given.calls {
			out.calls = append(out.calls, call.ToolCall)
		}
	}
	for _, call := range out.calls {
		out.useless = out.useless || call.ID == "" || seen[call.ID]
		seen[call.ID] = true
	}
	return out
}

// matches returns the ids of a reply's calls when they are calls: by id, or
// by name, and when exact is set by arguments too. Where the reply has none that
// are of use, they are the client's.
func (t *toldCalls) matches(calls []harness.ToolCall, exact bool) []string {
	if len(calls) != len(t.calls) {
		return nil
	}
	var ids []string
	for i, c := range calls {
		own := t.calls[i]
		if (c.ID != own.ID || own.ID == "") && (c.Name != own.Name || exact && !sameJSON(c.Arguments, own.Arguments)) {
			return nil
		}
		if t.useless {
			own.ID = c.ID
		}
		ids = append(ids, own.ID)
	}
	return ids
}

// sameJSON reports whether two texts hold the same JSON value, as far as a
// number survives a client.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := value.Parse([]byte(a))
	y, errY := value.Parse([]byte(b))
	return errX == nil && errY == nil && value.EqualFunc(x, y, value.Floats)
}

func (x *exchange) givenID() string {
	if x.given == nil {
		return strconv.Itoa(x.seq)
	}
	return x.given.id
}

// source returns the random numbers that belong to label.
func (m *Mock) source(label string) *rand.Rand {
	return rand.New(rand.NewPCG(m.seeds(label)))
}
