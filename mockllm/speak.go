// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/harness/toolname"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// spoken is a reply as it is given at one position: the tools have the names
// that the client offers, and all has ids.
type spoken struct {
	content   *content
	fragments *wire.Fragments // nil cuts as the profile does
	id        string
	created   int64
	calls     []spokenCall
}

type spokenCall struct {
	harness.ToolCall
	server, tool string
}

// newSpoken returns a reply with room for so many calls. The journal keeps many
// thousands, mostly of one call: each is one object then.
func newSpoken(calls int) *spoken {
	if calls != 1 {
		return &spoken{calls: make([]spokenCall, 0, calls)}
	}
	one := new(struct {
		spoken
		call [1]spokenCall
	})
	one.calls = one.call[:0]
	return &one.spoken
}

// scriptError is an error of the script and not of the client.
type scriptError struct{ err error }

func (e *scriptError) Error() string { return e.err.Error() }
func (e *scriptError) Unwrap() error { return e.err }

// epoch is when every mock began: ids and times are the same in every run.
const epoch = 1767225600 // 2026-01-01T00:00:00Z

// speakAt gives the reply of a position, which is computed once. An error
// other than a [scriptError] is a miss.
func (m *Mock) speakAt(s *served, x *exchange) (*spoken, error) {
	s.say.Lock()
	defer s.say.Unlock()
	if s.spoken != nil {
		return s.spoken, nil
	}
	sp, err := m.speak(s.script, x, s.turn+1, s.reply+1, "turn "+strconv.Itoa(s.turn+1)+" reply "+strconv.Itoa(s.reply+1))
	if err != nil {
		return nil, err
	}
	sp.created = epoch + int64(60*s.turn+s.reply)
	m.mu.Lock()
	s.spoken = sp
	m.mu.Unlock()
	return sp, nil
}

// speak gives a reply. label tells its ids from those of others.
func (m *Mock) speak(r *reply, x *exchange, turn, n int, label string) (*spoken, error) {
	c, content := x.chat, r.content
	if content == nil {
		ask, err := m.ask(c, turn, n)
		if err != nil {
			return nil, err
		}
		said, err := r.Func(ask)
		if err != nil {
			return nil, &scriptError{err}
		}
		if content, err = compileContent(said); err != nil {
			return nil, &scriptError{err}
		}
	}
	var random rand.PCG
	random.Seed(m.seeds(label))
	ids, callIDs := x.ids()
	sp := newSpoken(len(content.calls))
	sp.content, sp.fragments, sp.id, sp.created = content, cmp.Or(r.Fragments, m.program.Fragments), makeID(&random, ids, 0), epoch
	for i, call := range content.calls {
		sc := spokenCall{ToolCall: harness.ToolCall{ID: makeID(&random, callIDs, i), Name: call.tool, Arguments: call.args.plain}}
		if server, tool := toolname.Split(call.tool); server != "" {
			name, err := m.resolver.Name(call.tool, c.Tools())
			if err != nil {
				return nil, m.blame(server, tool, err)
			}
			sc.Name, sc.server, sc.tool = name, server, tool
		} else if len(m.program.Servers) > 0 {
			sc.server, sc.tool, _ = m.resolver.Of(call.tool, c.Tools())
		}
		sp.calls = append(sp.calls, sc)
	}
	return sp, nil
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
	hint := ""
	if near := harness.Suggest(tool, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return &scriptError{fmt.Errorf("server %q has no tool %q%s; it has %s", server, tool, hint, strings.Join(names, ", "))}
}

// ask returns what a rule or a Func sees of a request. Turn and reply are the
// position; 0 where it has none.
func (m *Mock) ask(c *dialect.Chat, turn, n int) (*Ask, error) {
	m.mu.Lock()
	issued := m.issued(c)
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
	if m.program.Results != nil {
		filled, err := m.program.Results(issued)
		if err != nil {
			return nil, &scriptError{err}
		}
		a.Calls = filled
	}
	return a, nil
}

// issued returns the calls of a reply, with the results that the request has
// for them.
func (sp *spoken) issued(turn, n int, result func(i int) *dialect.Message) []harness.Call {
	var out []harness.Call
	for i, c := range sp.calls {
		call := harness.Call{Server: c.server, Tool: c.tool, Offered: c.Name, ID: c.ID, Turn: turn, Reply: n, Index: i}
		if json.Valid([]byte(c.Arguments)) {
			call.Args = json.RawMessage(c.Arguments)
		} else {
			call.ArgsText = c.Arguments
		}
		if msg := result(i); msg != nil {
			call.Executed = true
			call.Result = asJSON(msg.Message().Text)
		}
		out = append(out, call)
	}
	return out
}

// asJSON returns text when it is JSON, else text as a JSON string.
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quote(text)
}

// message returns the reply in the common vocabulary.
func (sp *spoken) message() harness.Message {
	c := sp.content
	m := harness.Message{Role: harness.RoleAssistant, Text: c.say.plain, Reasoning: c.reasoning.plain, Refusal: c.refusal.plain}
	for _, call := range sp.calls {
		m.Calls = append(m.Calls, call.ToolCall)
	}
	return m
}

// ruleFor returns the first of rules that applies, and a label for this use
// of it; nil when none does. base is its place among the counters.
func (m *Mock) ruleFor(rules []rule, base int, c *dialect.Chat) (r *rule, label string, err error) {
	var ask *Ask
	for i := range rules {
		r := &rules[i]
		if r.When != nil {
			if ask == nil {
				if ask, err = m.ask(c, 0, 0); err != nil {
					return nil, "", err
				}
			}
			ok, err := r.When(ask)
			if err != nil {
				return nil, "", &scriptError{located("condition of a rule", r.Pos, err)}
			}
			if !ok {
				continue
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.state.uses[base+i]++
		return r, fmt.Sprintf("rule %d use %d", base+i, m.state.uses[base+i]), nil
	}
	return nil, "", nil
}
