// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package capture makes a scenario of a conversation that was recorded: what the
// model said becomes the replies of the mock model, what servers listed and
// answered becomes mock servers, and what happened becomes the first expectations.
//
//	c, err := capture.Read("weather", cassette, []*capture.Heard{capture.Hear("weather", tapes)}, prompts)
//	if err != nil {
//		return err
//	}
//	files, err := c.Files()
//
// Recordings have no secrets in them, so that there are none in what it makes of
// them. A [Chat] is a conversation that was not recorded: its keys are taken out by
// the same rules.
package capture

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// Conversation is one that was recorded.
type Conversation struct {
	Name string
	// Model is the model that was asked for, and System the system message.
	Model, System string
	Servers       []*Heard
	Turns         []*Said
	// Notes say what of the recordings is not in it.
	Notes []string

	names  map[string]string // offered names that no style explains, by server.tool
	asides []*Rule
	mixed  bool // exchanges beside the conversation were recorded
}

// Said is a turn.
type Said struct {
	User    string
	Replies []*Answered
	// Answer is the text that ended the turn; empty where none did.
	Answer string

	users int // messages of the user up to here
}

// Answered is a reply of the model.
type Answered struct {
	harness.Message
	Finish string
	Number int // of the exchange in the cassette, from 1
	Calls  []*Called
}

// Called is a tool call of the model.
type Called struct {
	// Name is server.tool, or the offered name of a tool that no server has.
	Name, Arguments string
	// Heard is the call as its server answered it; nil where none did.
	Heard *HeardCall
	sent  string // the name that the model gave
	left  bool   // out of the scenario, which cannot have it
	// unoffered is set for a call of a tool that there is not.
	unoffered bool
	// Own is set for a call of a tool that was offered and that no server has: the
	// agent runs it by itself.
	Own bool
}

// exchange is a request with its reply.
type exchange struct {
	harness.Request
	system string
	reply  dialect.Received
	number int
}

// Read reads recordings. prompts are what the user is known to have said, which a
// client may have put among other texts.
func Read(name string, cassette *vcr.File, servers []*Heard, prompts []string) (*Conversation, error) {
	c := &Conversation{Name: name, Servers: servers, names: map[string]string{}}
	all := c.exchanges(cassette)
	if len(all) == 0 {
		return nil, errors.New("no exchange with a model was recorded")
	}
	main := mainOf(all)
	c.Model, c.System = main[0].Model, main[0].system
	c.besides(all, main)
	c.others(main)
	for _, x := range main {
		c.add(x, prompts)
	}
	if len(c.Turns) == 0 {
		return nil, errors.New("no exchange that was recorded has a message of the user")
	}
	for _, h := range servers {
		if len(h.Others) > 0 {
			c.note("server %q was also asked for %s: its mock has tools alone", h.Name, strings.Join(h.Others, ", "))
		}
		for _, call := range h.Calls {
			if !call.taken {
				c.note("call %d of server %q, %s, is not a call of the model: the mock answers it, and nothing expects it", call.Number, h.Name, call.Tool)
			}
		}
	}
	return c, nil
}

func (c *Conversation) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// exchanges reads those of a cassette that a model answered.
func (c *Conversation) exchanges(f *vcr.File) []*exchange {
	var out []*exchange
	var held dialect.Store
	for n, i := range f.Interactions {
		e := endpointOf(i)
		if e.Dialect == nil || !e.Dialect.Calls {
			continue // a list of models, or the like
		}
		if i.Response.Code >= 300 || i.Meta.Outcome != vcr.Complete {
			c.note("exchange %d of the cassette has no whole answer: the replies leave it out", n+1)
			continue
		}
		asked := e.Read(i.Request.Body, nil, &held)
		if asked == nil {
			c.note("exchange %d of the cassette is not a request that can be read", n+1)
			continue
		}
		reply, err := dialect.ReadChoice(e.Dialect, 0, i.Response.Header, i.Response.Body, dialect.Limits{})
		if err != nil {
			c.note("exchange %d of the cassette: reading the reply: %v", n+1, err)
			continue
		}
		asked.Passed(reply, &held)
		x := &exchange{Request: asked.AsChat().Request(), reply: reply, number: n + 1}
		for _, m := range x.Messages {
			if m.Role == harness.RoleSystem {
				x.system += m.Text
			}
		}
		out = append(out, x)
	}
	return out
}

// endpointOf is what was asked, behind the path of the endpoint's address.
func endpointOf(i *vcr.Interaction) dialects.Endpoint {
	if u, err := url.Parse(i.Request.URL); err == nil {
		if path, ok := strings.CutPrefix(u.Path, i.Meta.Base); ok && i.Meta.Base != "" {
			if e := dialects.EndpointOf(path); e.Dialect != nil {
				return e
			}
		}
	}
	return dialects.EndpointAt(i.Request.URL)
}

// Base is the path of an endpoint's address as a replay of a scenario has it, which
// gives all clients a version in their paths: that of a request up to what stands
// behind the version.
func Base(i *vcr.Interaction) string {
	u, err := url.Parse(i.Request.URL)
	if err != nil {
		return i.Meta.Base
	}
	if base, ok := strings.CutSuffix(u.Path, endpointOf(i).Rest); ok {
		return base
	}
	return i.Meta.Base
}

// mainOf are the exchanges of the conversation: those of the system message and
// the model that were asked most often, with tools first.
func mainOf(all []*exchange) []*exchange {
	type group struct{ model, system string }
	weight, best := map[group]int{}, group{all[0].Model, all[0].system}
	for _, x := range all {
		g := group{x.Model, x.system}
		weight[g]++
		if len(x.Tools) > 0 {
			weight[g] += len(all)
		}
		if weight[g] > weight[best] {
			best = g
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(x *exchange) bool { return group{x.Model, x.system} != best })
}

// besides makes asides of the exchanges that are not part of the conversation.
func (c *Conversation) besides(all, main []*exchange) {
	c.mixed = len(all) > len(main)
	for _, x := range all {
		if slices.Contains(main, x) {
			continue
		}
		when := ""
		if begin, _ := prose.Head(x.system, 80); begin != "" && !strings.HasPrefix(c.System, begin) {
			when = "request.system.startsWith(" + quoted(begin) + ")"
		} else if len(x.Tools) == 0 && len(main[0].Tools) > 0 {
			when = "request.tools.size() == 0"
		} else {
			c.note("exchange %d of the cassette is beside the conversation, and nothing tells it apart: the mock model does not answer it", x.number)
			continue
		}
		if slices.ContainsFunc(c.asides, func(r *Rule) bool { return r.When == when }) {
			c.note("exchange %d of the cassette is answered as the one like it before it", x.number)
			continue
		}
		c.asides = append(c.asides, &Rule{when, &Reply{From: fmt.Sprintf("exchange %d of the cassette", x.number), Say: Literal(x.reply.Message.Text)}})
	}
}

// others notes exchanges that do not go on with the conversation of the first one:
// the user began with something else, or what was asked is asked again before it
// was answered. One conversation is what a scenario can have.
func (c *Conversation) others(main []*exchange) {
	begin := func(x *exchange) string {
		i := slices.IndexFunc(x.Messages, func(m harness.Message) bool { return m.Role == harness.RoleUser })
		if i < 0 {
			return ""
		}
		return x.Messages[i].Text
	}
	var other []string
	for i, x := range main[1:] {
		last := len(x.Messages) - 1
		again := func(y *exchange) bool {
			return len(y.reply.Message.Calls) > 0 && len(y.Messages) == last+1 && y.Messages[last].Text == x.Messages[last].Text
		}
		if begin(x) != begin(main[0]) || slices.ContainsFunc(main[:i+1], again) {
			other = append(other, strconv.Itoa(x.number))
		}
	}
	if len(other) > 0 {
		c.note("these exchanges of the cassette do not go on with what exchange %d begins, and yet stand among its turns: %s. A scenario has one conversation: if the agent holds several at a time, or begins anew with each message, capture each of them alone",
			main[0].number, strings.Join(other, ", "))
	}
}

// add takes the next exchange of the conversation.
func (c *Conversation) add(x *exchange, prompts []string) {
	var turn *Said
	if n := len(c.Turns); n > 0 {
		turn = c.Turns[n-1]
	}
	users := 0
	for _, m := range x.Messages {
		if m.Role == harness.RoleUser {
			users++
		}
	}
	text := said(x.Request, prompts)
	switch {
	case users == 0:
		c.note("exchange %d of the cassette has no message of the user: the replies leave it out", x.number)
		return
	case turn == nil || turn.Answer != "" && text != "" && (users > turn.users || text != turn.User):
		turn = &Said{User: text, users: users}
		c.Turns = append(c.Turns, turn)
	case turn.Answer != "":
		c.note("exchange %d of the cassette repeats a request: the replies leave it out", x.number)
		return
	}
	a := &Answered{Message: x.reply.Message, Finish: x.reply.Finish, Number: x.number}
	for _, call := range x.reply.Message.Calls {
		a.Calls = append(a.Calls, c.called(call, x.Tools))
	}
	turn.Replies = append(turn.Replies, a)
	if len(a.Calls) == 0 {
		turn.Answer = a.Text
	}
}

// said is what the user says behind the last message of the model; empty for
// nothing. It is one of the prompts where they are known, without what a client has
// put around it.
func said(r harness.Request, prompts []string) string {
	last := ""
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == harness.RoleAssistant || m.Role == harness.RoleTool {
			break
		}
		if m.Role != harness.RoleUser {
			continue
		}
		parts := append([]string{m.Text}, m.Parts...)
		for _, p := range parts {
			if slices.Contains(prompts, p) {
				return p
			}
		}
		if last == "" {
			last = parts[len(parts)-1]
		}
	}
	return last
}

// called finds the server of a call, and how it was answered there.
func (c *Conversation) called(call harness.ToolCall, offered []harness.Tool) *Called {
	out := &Called{Name: call.Name, Arguments: call.Arguments, sent: call.Name}
	if strings.TrimSpace(out.Arguments) == "" {
		out.Arguments = "{}"
	}
	listed := map[string][]harness.Tool{}
	for _, h := range c.Servers {
		listed[h.Name] = h.listed()
	}
	server, tool, ok := toolname.NewResolver(listed, nil).Of(call.Name, offered)
	if !ok {
		if server, tool, ok = c.odd(call.Name); ok {
			c.names[server+"."+tool] = call.Name
		}
	}
	if !ok {
		out.Own = slices.ContainsFunc(offered, func(t harness.Tool) bool { return t.Name == call.Name })
		out.unoffered = !out.Own
		return out
	}
	out.Name = server + "." + tool
	for _, h := range c.Servers {
		if h.Name != server {
			continue
		}
		fits := func(h *HeardCall) bool { return !h.taken && h.Tool == tool && equal(h.Args, []byte(out.Arguments)) }
		i := slices.IndexFunc(h.Calls, fits)
		if i < 0 {
			i = slices.IndexFunc(h.Calls, func(h *HeardCall) bool { return !h.taken && h.Tool == tool })
		}
		if i >= 0 {
			out.Heard = h.Calls[i]
			out.Heard.taken = true
		}
	}
	return out
}

// odd finds the one tool whose name ends an offered name in a style of its own.
func (c *Conversation) odd(name string) (server, tool string, ok bool) {
	n := 0
	for _, h := range c.Servers {
		for _, t := range h.listed() {
			if strings.HasSuffix(name, toolname.Fit(t.Name)) && len(t.Name) >= len(tool) {
				if len(t.Name) > len(tool) {
					n = 0
				}
				server, tool = h.Name, t.Name
				n++
			}
		}
	}
	return server, tool, n == 1
}

// Own are the tools that the agent ran by itself, by the names that it offers.
func (c *Conversation) Own() []string {
	var out []string
	for _, t := range c.Turns {
		for _, r := range t.Replies {
			for _, call := range r.Calls {
				if call.Own && !slices.Contains(out, call.Name) {
					out = append(out, call.Name)
				}
			}
		}
	}
	return out
}

// Mixed reports whether exchanges beside the conversation were recorded.
func (c *Conversation) Mixed() bool { return c.mixed }
