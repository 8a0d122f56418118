// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes/key"
	"github.com/rehearse-dev/rehearse/cassettes/redact"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// A script is a session of a tape as a server plays it: what each message of
// the client sets off.
type script struct {
	start    *group   // what the server says unasked
	requests []*group // in the order of the tape
	notes    []*group // notifications of the client
}

// group is a message of the client with all that follows from it.
type group struct {
	line   int // in the file
	msg    mcpwire.Message
	key    *key.Key
	steps  []step
	token  string // progress token, as JSON
	reply  int    // position of the reply in the session; -1 for none
	at     int64
	used   bool
	silent bool // nobody minds when it is not asked for
}

// name is the method and, of what has one, its object: "tools/call search".
func (g *group) name() string { return nameOf(g.msg) }

func nameOf(m mcpwire.Message) string {
	var p struct{ Name, URI string }
	if json.Unmarshal(m.Params, &p) == nil && p.Name+p.URI != "" {
		return m.Method + " " + p.Name + p.URI
	}
	return m.Method
}

// stepKind is what a step does.
type stepKind int

const (
	say      stepKind = iota // a message or a line of the server
	answer                   // the reply to the group's request
	await                    // wait for the client's answer to a request of the server
	complain                 // a line on stderr
	leave                    // the server ends
)

type step struct {
	kind stepKind
	at   int64
	msg  mcpwire.Message // of await: the recorded answer
	text string
	line int
}

// bytes is what of a step goes over the wire.
func (s *step) bytes() []byte {
	if s.msg.Frame == nil {
		return []byte(s.text)
	}
	return s.msg.Frame
}

// keyOf makes the key of a message of the client.
func keyOf(m mcpwire.Message, ignore []string) *key.Key {
	rules := &key.Rules{Ignore: []string{"_meta"}, Also: ignore}
	switch m.Method {
	case "initialize":
		rules.Ignore = append(rules.Ignore, "clientInfo")
	case "notifications/cancelled":
		rules.Ignore = append(rules.Ignore, "requestId", "reason")
	case "notifications/progress":
		rules.Ignore = append(rules.Ignore, "progressToken")
	}
	params := []byte(redact.Neutral(string(m.Params)))
	if len(params) == 0 || string(params) == "null" {
		params = []byte("{}")
	}
	return key.Of(http.MethodPost, "/"+m.Method, nil, params, rules)
}

// tokenOf is the progress token that a request brings, as JSON.
func tokenOf(m mcpwire.Message) string {
	start, end := member(m.Params, "_meta", "progressToken")
	return string(m.Params[start:end])
}

// subscription is the key in `_meta` under which a message names the request
// that asked for it.
const subscription = "io.modelcontextprotocol/subscriptionId"

// compiler makes a script of a session's frames.
type compiler struct {
	script *script
	ignore []string
	open   []*group          // requests without a reply so far
	asked  map[string]*group // by the id of a request of the server
	last   *group            // what the server reacted to last
}

// compile makes the scripts of all sessions.
func compile(frames []Frame, ignore []string) ([]*script, error) {
	var list []*compiler
	replies := map[string]int{} // by session and id, the last one
	for i := range frames {
		for _, m := range frames[i].messages() {
			if frames[i].Dir == Out && m.IsResponse() {
				replies[fmt.Sprint(frames[i].Session, m.Key())] = i
			}
		}
	}
	for i := range frames {
		f := &frames[i]
		if f.Session > len(list) {
			return nil, fmt.Errorf("line %d: session %d begins before session %d", f.line, f.Session, len(list))
		}
		if f.Session == len(list) {
			start := &group{line: f.line, at: f.At}
			list = append(list, &compiler{script: &script{start: start}, ignore: ignore, asked: map[string]*group{}, last: start})
		}
		c := list[f.Session]
		if f.Frame == nil {
			c.text(f)
			continue
		}
		for _, m := range f.messages() {
			if f.Dir == In {
				reply, ok := replies[fmt.Sprint(f.Session, m.Key())]
				if !ok || reply < i {
					reply = -1
				}
				c.in(f, m, reply)
			} else {
				c.out(f, m)
			}
		}
	}
	scripts := make([]*script, len(list))
	for i, c := range list {
		scripts[i] = c.script
	}
	return scripts, nil
}

// in takes a message of the client.
func (c *compiler) in(f *Frame, m mcpwire.Message, reply int) {
	if m.IsResponse() {
		if g := c.asked[m.Key()]; g != nil {
			g.steps = append(g.steps, step{kind: await, at: f.At, msg: m, line: f.line})
			c.last = g
		}
		return
	}
	g := &group{line: f.line, msg: m, key: keyOf(m, c.ignore), token: tokenOf(m), reply: reply, at: f.At}
	c.last = g
	if !m.IsRequest() {
		c.script.notes = append(c.script.notes, g)
		return
	}
	g.silent = m.Method == "ping"
	c.script.requests = append(c.script.requests, g)
	c.open = append(c.open, g)
}

// out takes a message of the server.
func (c *compiler) out(f *Frame, m mcpwire.Message) {
	s := step{at: f.At, msg: m, line: f.line}
	if m.IsResponse() {
		for i, g := range c.open {
			if g.msg.Key() == m.Key() {
				s.kind = answer
				g.steps = append(g.steps, s)
				c.open = slices.Delete(c.open, i, i+1)
				c.last = g
				return
			}
		}
	}
	g := c.about(m)
	g.steps = append(g.steps, s)
	if m.IsRequest() {
		c.asked[m.Key()] = g
	}
}

// about is the group in which the server says something of its own accord: of
// the request that it names, else of the one that is answered next, else of
// what came last.
func (c *compiler) about(m mcpwire.Message) *group {
	if m.Method == "notifications/progress" {
		start, end := member(m.Params, "progressToken")
		for _, g := range c.open {
			if g.token != "" && g.token == string(m.Params[start:end]) {
				return g
			}
		}
	}
	if start, end := member(m.Params, "_meta", subscription); end > 0 {
		for _, g := range c.open {
			if mcpwire.Key(m.Params[start:end]) == g.msg.Key() {
				return g
			}
		}
	}
	var next *group
	for _, g := range c.open {
		if g.reply >= 0 && (next == nil || g.reply < next.reply) {
			next = g
		}
	}
	if next != nil {
		return next
	}
	return c.last
}

// text takes a line that is no message.
func (c *compiler) text(f *Frame) {
	s := step{at: f.At, text: f.Text, line: f.line}
	g := c.about(mcpwire.Message{})
	switch f.Dir {
	case In:
		return
	case Err:
		s.kind = complain
	case End:
		s.kind = leave
		if n := len(c.open); n > 0 {
			g = c.open[n-1] // it did not survive that
		}
	}
	g.steps = append(g.steps, s)
}

// member finds a member of an object, or of objects within, and returns where
// its value stands. It returns 0, 0 when it is not there.
func member(object []byte, path ...string) (start, end int) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return 0, 0
	}
	for dec.More() {
		name, err := dec.Token()
		var v json.RawMessage
		if err != nil || dec.Decode(&v) != nil {
			return 0, 0
		}
		if name == path[0] {
			end = int(dec.InputOffset())
			start = end - len(v)
		}
	}
	if end == 0 || len(path) == 1 {
		return start, end
	}
	s, e := member(object[start:end], path[1:]...)
	if e == 0 {
		return 0, 0
	}
	return start + s, start + e
}

// replace puts another value in the place of a member, if it is there.
func replace(object []byte, v []byte, path ...string) []byte {
	start, end := member(object, path...)
	if end == 0 {
		return object
	}
	return slices.Concat(object[:start], v, object[end:])
}

// differences says where two messages differ.
func differences(recorded, now *key.Key) []string {
	var out []string
	for _, d := range key.Diff(recorded, now) {
		text := d.String()
		if rest, ok := strings.CutPrefix(text, "body"); ok {
			text = "params" + rest
		}
		out = append(out, text)
	}
	return out
}
