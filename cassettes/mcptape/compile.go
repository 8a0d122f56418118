// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// compiler makes a script of a session's frames.
type compiler struct {
	script *script
	ignore []string
	open   []*group          // requests without a reply so far
	asked  map[string]*group // by the id of a request of the server
	last   *group            // what the server reacted to last

	// By stream: what it belongs to.
	groups  map[int]*group
	listens map[int]*listening
	deletes map[int]bool
}

func newCompiler(f *Frame, ignore []string) *compiler {
	start := &group{line: f.line, at: f.At, last: -1}
	return &compiler{
		script: &script{start: start, lines: [2]int{f.line, f.line}}, ignore: ignore, last: start, asked: map[string]*group{},
		groups: map[int]*group{}, listens: map[int]*listening{}, deletes: map[int]bool{},
	}
}

// replyKey is what a request is answered by: over HTTP on its own stream, or
// on one that the client listens to, which is stream -1.
type replyKey struct {
	session, stream int
	id              string
}

// replies finds where requests are answered.
func replies(frames []Frame) func(f *Frame, at int, id string) int {
	listens := map[int]bool{}
	found := map[replyKey]int{} // the last one
	for i := range frames {
		f := &frames[i]
		if f.Dir == In && f.HTTP != nil && f.HTTP.Method == http.MethodGet {
			listens[f.Stream] = true
		}
		if f.Dir != Out {
			continue
		}
		stream := f.Stream
		if listens[stream] {
			stream = -1
		}
		for _, m := range f.said() {
			if m.IsResponse() {
				found[replyKey{f.Session, stream, m.Key()}] = i
			}
		}
	}
	return func(f *Frame, at int, id string) int {
		for _, stream := range []int{f.Stream, -1} {
			if reply, ok := found[replyKey{f.Session, stream, id}]; ok && reply > at {
				return reply
			}
		}
		return -1
	}
}

// compile makes the scripts of all sessions.
func compile(frames []Frame, ignore []string) []*script {
	var list []*compiler
	sessions := map[int]*compiler{}
	replyTo := replies(frames)
	for i := range frames {
		f := &frames[i]
		c := sessions[f.Session]
		if c == nil {
			c = newCompiler(f, ignore)
			sessions[f.Session] = c
			list = append(list, c)
		}
		c.script.lines[1] = f.line
		switch {
		case f.Frame == nil:
			c.text(f)
			continue
		case f.Dir == Out && f.HTTP != nil && f.HTTP.Status != 0 && c.groups[f.Stream] == nil:
			c.heads(f) // to what has no message
			continue
		}
		for _, m := range f.said() {
			if f.Dir == In {
				c.in(f, m, replyTo(f, i, m.Key()))
			} else {
				c.out(f, m)
			}
		}
	}
	scripts := make([]*script, len(list))
	for i, c := range list {
		scripts[i] = c.script
		for _, g := range slices.Concat(c.script.requests, c.script.notes) {
			g.finish()
			c.script.named = c.script.named || g.named
		}
	}
	for _, s := range scripts {
		for _, o := range scripts {
			if s != o && s.lines[0] < o.lines[1] && o.lines[0] < s.lines[1] {
				s.others = append(s.others, o)
			}
		}
	}
	return scripts
}

// finish notes what is known of a group once all its steps are there.
func (g *group) finish() {
	g.last = -1
	for i := range g.steps {
		s := &g.steps[i]
		if s.sub != nil {
			continue
		}
		if s.stream == g.stream {
			s.stream = 0
		}
		g.resumed = g.resumed || s.kind == answer && s.stream != 0
		g.named = g.named || g.msg.Method == "initialize" && s.http != nil && s.http.Session
		if s.stream == 0 && s.kind != await && s.kind != withdrawn && s.kind != passed && s.kind != complain && (g.stream != 0 || !g.answered) {
			g.last = i
		}
		g.answered = g.answered || s.kind == answer
	}
	if g.stream == 0 && g.msg.Method == "initialize" {
		g.named = true // over HTTP it would have been
	}
}

// in takes a message of the client.
func (c *compiler) in(f *Frame, m mcpwire.Message, reply int) {
	if m.IsResponse() {
		if g := c.asked[m.Key()]; g != nil {
			g.steps = append(g.steps, step{kind: await, at: f.At, msg: m, line: f.line, stream: g.stream})
			c.last = g
		}
		return
	}
	g := &group{line: f.line, msg: m, key: keyOf(m, c.ignore), token: tokenOf(m), stream: f.Stream, reply: reply, at: f.At}
	g.listens = m.Method == "subscriptions/listen"
	c.last = g
	if f.Stream > 0 && c.groups[f.Stream] == nil { // else of a batch
		c.groups[f.Stream] = g
	}
	if !m.IsRequest() {
		c.script.notes = append(c.script.notes, g)
		if m.Method == "notifications/cancelled" {
			c.cancelled(f, m)
		}
		return
	}
	if m.Method == "initialize" && f.Stream == 0 {
		c.passed(f)
	}
	g.silent = m.Method == "ping"
	c.script.requests = append(c.script.requests, g)
	c.open = append(c.open, g)
}

// cancelled takes the cancellation of a request: what comes of the request
// from now on comes for that.
func (c *compiler) cancelled(f *Frame, m mcpwire.Message) {
	start, end := member(m.Params, "requestId")
	for _, g := range c.open {
		if g.msg.Key() == mcpwire.Key(m.Params[start:end]) {
			g.steps = append(g.steps, step{kind: withdrawn, at: f.At, line: f.line, stream: g.stream})
		}
	}
}

// passed takes the handshake of a client that asked for the new era before, and
// did not wait for the answer: a server that is slow to start answers late. At
// once, the answer would make it another conversation.
func (c *compiler) passed(f *Frame) {
	for _, g := range c.open {
		if g.msg.Method == mcpwire.MethodDiscover {
			g.steps = append(g.steps, step{kind: passed, at: f.At, line: f.line})
		}
	}
}

// out takes a message of the server.
func (c *compiler) out(f *Frame, m mcpwire.Message) {
	s := step{at: f.At, msg: m, line: f.line, stream: f.Stream, http: f.HTTP}
	if m.IsResponse() {
		if i := c.answers(f, m); i >= 0 {
			g := c.open[i]
			s.kind = answer
			c.open = slices.Delete(c.open, i, i+1)
			if !c.told(g, &s) {
				g.steps = append(g.steps, s)
				c.last = g
			}
			return
		}
	}
	g := c.groups[f.Stream]
	if g == nil {
		g = c.about(m)
	}
	if m.IsRequest() {
		c.asked[m.Key()] = g
	}
	if !c.told(g, &s) {
		g.steps = append(g.steps, s)
	}
}

// told takes what a request is told that listens, once it was told that it
// does: something else has set that off, and it comes when that comes.
func (c *compiler) told(g *group, s *step) bool {
	if !g.listens || !slices.ContainsFunc(g.steps, func(s step) bool { return s.kind == say }) {
		return false
	}
	cause := c.cause()
	if cause == g {
		return false
	}
	s.sub = g
	cause.steps = append(cause.steps, *s)
	return true
}

// answers finds the open request that a message answers; -1 for none. An
// answer over HTTP that is no stream belongs to its request, whatever its id.
func (c *compiler) answers(f *Frame, m mcpwire.Message) int {
	own := c.groups[f.Stream]
	alone := own != nil && f.HTTP != nil && f.HTTP.Status != 0
	other := -1
	for i, g := range c.open {
		switch same := g.msg.Key() == m.Key(); {
		case same && g.stream == f.Stream:
			return i
		case same && own == nil && other < 0, alone && g == own:
			other = i
		}
	}
	return other
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
	return c.cause()
}

// cause is the group of what is answered next, else of what came last.
func (c *compiler) cause() *group {
	var next *group
	for _, g := range c.open {
		if g.reply >= 0 && !g.listens && (next == nil || g.reply < next.reply) {
			next = g
		}
	}
	if next != nil {
		return next
	}
	return c.last
}

// text takes a frame that has no message.
func (c *compiler) text(f *Frame) {
	switch {
	case f.Dir == In:
		c.opens(f)
		return
	case f.Dir == Left:
		return
	case f.Stream > 0 && f.HTTP != nil && f.HTTP.Status != 0:
		c.heads(f)
		return
	}
	s := step{at: f.At, text: f.Text, line: f.line, stream: f.Stream, http: f.HTTP}
	g := c.about(mcpwire.Message{})
	switch f.Dir {
	case Err:
		s.kind = complain
	case End:
		s.kind = leave
		if n := len(c.open); n > 0 {
			g = c.open[n-1] // it did not survive that
		}
	}
	if f.Stream > 0 {
		if own := c.groups[f.Stream]; own != nil {
			g = own
		} else if c.listens[f.Stream] == nil {
			return // the answer to an answer
		} else if f.Dir == End {
			g = c.last
		}
		if f.Dir == End {
			s.kind = hangup
		}
	}
	if s.kind != hangup || !c.told(g, &s) {
		g.steps = append(g.steps, s)
	}
}

// opens takes a request over HTTP that has no message.
func (c *compiler) opens(f *Frame) {
	if f.HTTP == nil {
		return
	}
	switch f.HTTP.Method {
	case http.MethodGet:
		l := &listening{stream: f.Stream, after: f.HTTP.Event}
		c.listens[f.Stream] = l
		c.script.listens = append(c.script.listens, l)
	case http.MethodDelete:
		c.deletes[f.Stream] = true
	}
}

// heads takes the head of an answer over HTTP.
func (c *compiler) heads(f *Frame) {
	text := f.Text + string(f.Frame)
	switch g, l := c.groups[f.Stream], c.listens[f.Stream]; {
	case g != nil:
		g.steps = append(g.steps, step{kind: begin, at: f.At, text: text, line: f.line, stream: f.Stream, http: f.HTTP})
	case l != nil:
		l.head = head{f.HTTP, text}
	case c.deletes[f.Stream]:
		c.script.deleted = &head{f.HTTP, text}
	}
}
