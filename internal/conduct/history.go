// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// conversation are the requests that took a position in the conversation.
func (c *checker) conversation() []harness.Exchange {
	return slices.DeleteFunc(slices.Clone(c.requests), func(x harness.Exchange) bool {
		return x.Kind != harness.KindReply && x.Kind != harness.KindLive
	})
}

func (c *checker) toolsOffered() (f finding) {
	listed := 0
	for _, tools := range c.Listed {
		listed += len(tools)
	}
	if listed == 0 {
		return skip("no server lists tools")
	}
	// Rules and asides may be about anything; a miss or refusal may be the
	// very consequence of a tool not offered.
	i := slices.IndexFunc(c.requests, func(x harness.Exchange) bool { return x.Kind != harness.KindRule })
	if i < 0 {
		return skip("no request")
	}
	for _, server := range slices.Sorted(maps.Keys(c.Listed)) {
		if !c.granted(server) || c.Optional[server] && !c.offers(server, c.requests[i].Request.Tools) {
			continue // it must not be there, or it was not there yet
		}
		for _, t := range c.Listed[server] {
			x := &c.requests[i]
			name, err := c.resolver.Offered(server, t.Name, x.Request.Tools)
			if err != nil {
				f.add("request %d: %v", x.Seq, err)
				continue
			}
			c.asListed(x, server, t, name, &f)
		}
	}
	c.redescribed(&c.requests[i], &f)
	return f
}

// asListed compares the description and the parameters of a tool that is
// offered under a name with those that its server lists. Where names of the
// server are alike, another of the tools offered may be the one that is meant.
func (c *checker) asListed(x *harness.Exchange, server string, t harness.Tool, name string, f *finding) {
	own := server + "." + t.Name
	same := func(offered harness.Tool) bool {
		wrong, lost := parameters(t, offered)
		return len(wrong)+len(lost) == 0
	}
	described := func(offered harness.Tool) bool { return describes(offered.Description, t.Description) }
	told := !slices.ContainsFunc(x.Request.Tools, described)
	for _, offered := range x.Request.Tools {
		if offered.Name != name {
			continue
		}
		if told {
			f.add("request %d: tool %q is offered with the description %s, but the server lists it with %s", x.Seq, own, quote(offered.Description), quote(t.Description))
		}
		wrong, lost := parameters(t, offered)
		if len(wrong)+len(lost) == 0 || c.announced(server) ||
			slices.ContainsFunc(x.Request.Tools, func(o harness.Tool) bool { return o.Name != name && described(o) && same(o) }) {
			continue
		}
		what := fmt.Sprintf("request %d: tool %q is offered with other parameters than its server lists: %s", x.Seq, own, joined(slices.Concat(wrong, lost)))
		if len(wrong) > 0 {
			f.add("%s", what)
		} else {
			f.note("%s", what)
		}
	}
}

// announced reports whether a server said that its tools are others now.
func (c *checker) announced(server string) bool {
	return slices.ContainsFunc(c.Frames, func(f jsonrpc.Frame) bool {
		return !f.In && f.Server == server && f.Method == "notifications/tools/list_changed"
	})
}

// redescribed finds tools that a later request offers with another description
// than that of their server, which the first request had. A server may change
// what it lists.
func (c *checker) redescribed(first *harness.Exchange, f *finding) {
	said := map[string]bool{}
	for _, x := range c.conversation() {
		for _, now := range x.Request.Tools {
			i := slices.IndexFunc(first.Request.Tools, func(t harness.Tool) bool { return t.Name == now.Name })
			if i < 0 || said[now.Name] || c.listsAnew(now.Description) {
				continue
			}
			was := first.Request.Tools[i].Description
			for _, tools := range c.Listed {
				if !said[now.Name] && slices.ContainsFunc(tools, func(t harness.Tool) bool {
					return describes(was, t.Description) && !describes(now.Description, t.Description)
				}) &&
					!slices.ContainsFunc(tools, func(t harness.Tool) bool { return t.Description != "" && describes(now.Description, t.Description) }) {
					said[now.Name] = true
					f.add("request %d: tool %q is offered with the description %s, but request %d offers it with %s", x.Seq, now.Name, quote(now.Description), first.Seq, quote(was))
				}
			}
		}
	}
}

// listsAnew reports whether a server announced other tools, or listed one with
// a description.
func (c *checker) listsAnew(description string) bool {
	raw, _ := json.Marshal(description) // is a text
	return slices.ContainsFunc(c.Frames, func(f jsonrpc.Frame) bool {
		return !f.In && (f.Method == "notifications/tools/list_changed" || strings.TrimSpace(description) != "" && strings.Contains(f.Body, string(raw)))
	})
}

// describes reports whether a description holds the beginning of a tool's own:
// endpoints have limits, and clients add words and break lines.
func describes(got, own string) bool {
	const head = 64
	words := squeezed(own)
	return strings.Contains(squeezed(got), words[:min(len(words), head)])
}

// squeezed is a text without white space and without invalid characters.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// modelAsked looks at the main conversation: asides and lanes may be for other
// models.
func (c *checker) modelAsked() (f finding) {
	if c.Model == "" {
		return skip("the subject was given no model")
	}
	bare := func(name string) string { return strings.TrimPrefix(name, "models/") } // as Gemini's lists have it
	said := map[string]bool{}
	for _, x := range c.requests {
		if x.Kind != harness.KindRule && !x.Stray && bare(x.Request.Model) != bare(c.Model) && !said[x.Request.Model] {
			said[x.Request.Model] = true
			f.add("request %d asks for the model %q, but the subject was given %q", x.Seq, x.Request.Model, c.Model)
		}
	}
	return f
}

func (c *checker) historyGrows() (f finding) {
	conversation := c.conversation()
	compacted := false
	for i := 1; i < len(conversation); i++ {
		before, now := &conversation[i-1], &conversation[i]
		if now.Compacted {
			compacted = true
			if c.Compaction == CompactionForbidden {
				f.add("request %d has a shortened history (conduct: {compaction: allowed} permits it)", now.Seq)
			}
			continue
		}
		if problem := c.shrunk(before, now); problem != "" {
			f.add("request %d: %s", now.Seq, problem)
		}
	}
	if c.Compaction == CompactionRequired && !compacted {
		f.add("the history was never shortened, but compaction is required")
	}
	return f
}

// shrunk says what a request lacks of the previous request and its reply,
// unless the subject gave up on that. It is empty when nothing is missing.
func (c *checker) shrunk(before, now *harness.Exchange) string {
	gaveUp := c.gaveUp(*before) && !(c.interrupted(before.Turn) && len(before.Answer.Calls) > 0)
	old, messages := spoken(before.Request), spoken(now.Request)
	if gaveUp && !took(before) {
		old = withoutLast(old, messages)
	}
	for i, m := range old {
		if i >= len(messages) {
			return fmt.Sprintf("message %d of request %d is missing: %s", i+1, before.Seq, messageText(m))
		}
		if !sameMessage(m, messages[i]) {
			return fmt.Sprintf("message %d differs from request %d: was %s, is %s", i+1, before.Seq, messageText(m), messageText(messages[i]))
		}
	}
	answer := before.Answer
	if !before.Delivered || before.Status >= 300 || answer.Text == "" && len(answer.Calls) == 0 {
		return ""
	}
	if gaveUp || now.Turn == before.Turn && now.Reply == before.Reply {
		return "" // asked again, so the first answer was not taken
	}
	rest := messages[len(old):]
	if len(rest) == 0 || rest[0].Role != harness.RoleAssistant {
		return fmt.Sprintf("the reply to request %d is missing: %s", before.Seq, messageText(answer))
	}
	if problem := c.rewritten(before, rest); problem != "" {
		return fmt.Sprintf("the reply to request %d was rewritten: %s", before.Seq, problem)
	}
	return ""
}

// took reports whether the endpoint took a request.
func took(x *harness.Exchange) bool { return x.Delivered && x.Status < 300 && x.Fault == "" }

// withoutLast removes from old what a subject may leave out after it gave up:
// the user's last message, and the text of the last results. The results
// themselves must still be there.
func withoutLast(old, messages []harness.Message) []harness.Message {
	for i, m := range slices.Backward(old) {
		switch {
		case m.Role == harness.RoleUser && i == len(old)-1:
			return old[:i]
		case m.Role != harness.RoleTool:
			return old
		case i < len(messages) && messages[i].Role == harness.RoleTool && messages[i].CallID == m.CallID:
			old[i].Text = messages[i].Text
		}
	}
	return old
}

// spoken are the messages without the system's.
func spoken(r harness.Request) []harness.Message {
	return slices.DeleteFunc(slices.Clone(r.Messages), func(m harness.Message) bool { return m.Role == harness.RoleSystem })
}

func sameMessage(a, b harness.Message) bool {
	return a.Role == b.Role && a.CallID == b.CallID && strings.TrimSpace(a.Text) == strings.TrimSpace(b.Text) &&
		slices.EqualFunc(a.Calls, b.Calls, func(x, y harness.ToolCall) bool {
			return x.ID == y.ID && x.Name == y.Name && (x.Arguments == y.Arguments || sameArgs([]byte(x.Arguments), []byte(y.Arguments)))
		})
}

func messageText(m harness.Message) string {
	if len(m.Calls) > 0 {
		names := make([]string, len(m.Calls))
		for i, tc := range m.Calls {
			names[i] = tc.Name
		}
		return fmt.Sprintf("%s with calls of %s", m.Role, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s %s", m.Role, quote(m.Text))
}

func (c *checker) stablePrefix() (f finding) {
	conversation := c.conversation()
	for i := 1; i < len(conversation); i++ {
		if diff := prefixDiff(conversation[i-1].Request, conversation[i].Request); diff != "" {
			f.add("between request %d and %d: %s", conversation[i-1].Seq, conversation[i].Seq, diff)
		}
	}
	return f
}

// prefixDiff says where two requests differ in the prefix that an endpoint
// could cache.
func prefixDiff(a, b harness.Request) string {
	if x, y := systemText(a), systemText(b); x != y {
		return "system: " + textDiff(x, y)
	}
	for i := range max(len(a.Tools), len(b.Tools)) {
		switch {
		case i >= len(a.Tools):
			return fmt.Sprintf("tools[%d] (%s) is new", i, b.Tools[i].Name)
		case i >= len(b.Tools):
			return fmt.Sprintf("tools[%d] (%s) is gone", i, a.Tools[i].Name)
		}
		x, y := a.Tools[i], b.Tools[i]
		switch {
		case x.Name != y.Name:
			return fmt.Sprintf("tools[%d].name: was %q, is %q", i, x.Name, y.Name)
		case x.Description != y.Description:
			return fmt.Sprintf("tools[%d].description: %s", i, textDiff(x.Description, y.Description))
		case string(x.Schema) != string(y.Schema):
			return fmt.Sprintf("tools[%d].schema: %s", i, textDiff(string(x.Schema), string(y.Schema)))
		}
	}
	return ""
}

func systemText(r harness.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == harness.RoleSystem {
			b.WriteString(m.Text + "\n")
		}
	}
	return b.String()
}

// textDiff shows the first place where two texts differ.
func textDiff(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("at byte %d was %q, is %q", i, around(a, i), around(b, i))
}

func around(s string, i int) string {
	return strings.ToValidUTF8(s[max(0, min(i, len(s))-10):min(len(s), i+30)], "")
}

// witnessesAgree compares what the subject reports with what the mocks saw.
// Its reports are of the main conversation; calls of lanes may be among them.
func (c conversations) witnessesAgree() (f finding) {
	main := c[0]
	for _, lane := range c {
		lane.argumentsArrive(&f)
	}
	if main.Transcript == nil {
		if len(f.problems) == 0 {
			return skip("the subject reports nothing")
		}
		return f
	}
	reportsCalls := slices.ContainsFunc(main.Transcript.Turns, func(t harness.TurnReport) bool {
		return len(t.Calls) > 0 || t.ModelCalls > 0
	})
	for i := range main.Transcript.Turns {
		t := &main.Transcript.Turns[i]
		if t.Error != "" && (t.Stop == "" || t.Stop.OfEndpoint() || t.Stop == harness.StopInterrupted) {
			continue // it broke in the middle of the turn
		}
		if reportsCalls {
			c.compareCalls(i+1, t, &f)
			c.compareModelCalls(i+1, t, &f)
		}
		main.compareAnswer(i+1, t, &f)
	}
	return f
}

// argumentsArrive compares the arguments that the model wrote with those that
// the server received.
func (c *checker) argumentsArrive(f *finding) {
	for _, call := range c.Trajectory {
		if !call.Executed || call.Args == nil {
			continue
		}
		for _, x := range c.executions(call) {
			if x.Seq == call.Exec && !sameArgs(call.Args, x.Args) {
				f.add("%s reached the server with the arguments %s", callText(call), shorten(string(x.Args)))
			}
		}
	}
}

// compareCalls compares the calls of a turn as two bags, since a subject may
// report concurrent calls in the order in which they ended.
func (c conversations) compareCalls(turn int, t *harness.TurnReport, f *finding) {
	reported := slices.Clone(t.Calls)
	for _, lane := range c {
		for _, call := range lane.Trajectory {
			if call.Turn != turn {
				continue
			}
			i := slices.IndexFunc(reported, func(r harness.ReportedCall) bool { return sameCall(r, call) })
			switch {
			case i >= 0:
				reported = slices.Delete(reported, i, i+1)
			case lane.lane == "" && !(call.Exec == 0 && t.Stop != "" && lane.last(call)):
				f.add("turn %d: the subject does not report %s", turn, callText(call))
			}
		}
	}
	for _, r := range reported {
		f.add("turn %d: the subject reports a call of %s (%s), which the model did not make", turn, r.Tool, r.ID)
	}
}

// last reports whether a call is of the last reply of its turn: a subject that
// stops there need not say what it did not do.
func (c *checker) last(call harness.Call) bool {
	return !slices.ContainsFunc(c.replies, func(r harness.Exchange) bool { return r.Turn == call.Turn && r.Reply > call.Reply })
}

func sameCall(r harness.ReportedCall, call harness.Call) bool {
	if r.ID != "" && call.ID != "" {
		return r.ID == call.ID
	}
	return r.Tool == call.Offered || r.Tool == call.Tool || r.Tool == call.Name()
}

// compareModelCalls takes any number between the replies and the attempts: a
// subject may count a request that it repeats once or each time.
func (c conversations) compareModelCalls(turn int, t *harness.TurnReport, f *finding) {
	replies, attempts := 0, 0
	for _, r := range c[0].replies {
		if r.Turn == turn {
			replies++
		}
	}
	for _, lane := range c {
		for _, x := range lane.Exchanges {
			// What a rule answered has no position; it may be of any turn.
			if x.Turn == turn || x.Kind == harness.KindRule {
				attempts++
			}
		}
	}
	if t.ModelCalls < replies || t.ModelCalls > attempts {
		f.add("turn %d: the subject reports %s, but the endpoint saw %d", turn, prose.CountOf(t.ModelCalls, "model call", "model calls"), attempts)
	}
}
