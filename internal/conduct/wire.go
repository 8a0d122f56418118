// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// This file checks how a client speaks MCP. The checks read the frame logs of
// the mock servers.

// wireCheck runs a check on each conversation with a server. none is the reason
// why it does not apply when its situation did not arise.
func (c *checker) wireCheck(none string, check func(*conversation, *finding) (applies bool)) func() finding {
	return func() (f finding) {
		if len(c.Frames) == 0 {
			return skip(noFrames)
		}
		applies := false
		for _, w := range c.wire {
			if gone := w.frames[0].Seq - 1; gone > 0 {
				none = fmt.Sprintf(framesGone, w.server, gone)
			} else if check(w, &f) {
				applies = true
			}
		}
		if !applies && len(f.problems) == 0 {
			return skip(none)
		}
		return f
	}
}

// cancelledSent: a request on which the client gave up is cancelled.
func (c *checker) cancelledSent(w *conversation, f *finding) bool {
	applies := false
	for i := range w.requests {
		a := &w.requests[i]
		switch a.frame.Method {
		case methodInitialize, methodDiscover, methodPing, "subscriptions/listen":
			continue // not to be cancelled, or it lasts
		}
		x := c.modelCall(a.frame.Time)
		if x == nil || !silent(a.frame.Fault) || a.answer > 0 && !w.frames[a.answer].Time.After(x.Start) {
			continue
		}
		if c.killedIn(a.frame.Time) {
			continue // nobody was left who could
		}
		if a.modern() && a.frame.Transport == "http" {
			continue // there it is the client's end of the stream that cancels
		}
		until := w.place(x.Start)
		if w.cutOff(a.frame.Session, a.at, until) || w.down(a) || w.disturbed(a, until) {
			continue // nothing was left that could be cancelled, or it was answered with something unusable
		}
		applies = true
		cancelled := w.after(a.at+1, func(g *jsonrpc.Frame) bool {
			return g.In && g.Method == "notifications/cancelled" && g.Session == a.frame.Session && cancels(g, a.frame.ID)
		})
		if !cancelled {
			f.add("%s got no answer, but the client continued without sending notifications/cancelled", a.text())
		}
	}
	return applies
}

// down reports whether a fault had ended the connection of a request when the
// server read that.
func (c *conversation) down(a *asked) bool {
	return a.frame.Transport != "http" && slices.ContainsFunc(c.frames[:a.at], func(f jsonrpc.Frame) bool {
		return f.Kind == jsonrpc.FrameEnd && !f.In && f.Session == a.frame.Session && f.Fault != "" && !silent(f.Fault) && kindOf(f.Fault) != "close_stdout"
	})
}

// killedIn reports whether a moment lies in a turn in which the subject was killed.
func (c *checker) killedIn(at time.Time) bool {
	killed := false
	for _, x := range c.requests {
		if !x.Start.After(at) {
			killed = slices.Contains(c.Killed, x.Turn)
		}
	}
	return killed
}

// disturbed reports whether a fault answered a request with something that is
// no answer to it, or struck the connection.
func (c *conversation) disturbed(a *asked, until int) bool {
	return slices.ContainsFunc(c.frames[min(a.at+1, until):until], func(g jsonrpc.Frame) bool {
		return !g.In && g.Session == a.frame.Session && (g.Kind == jsonrpc.FrameJunk || status(&g) >= 400 || g.Fault != "" && g.Kind == jsonrpc.FrameResponse)
	})
}

func cancels(f *jsonrpc.Frame, id json.RawMessage) bool {
	var body struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	return exactjson.Unmarshal([]byte(f.Body), &body) == nil && string(body.Params.RequestID) == string(id)
}

// sessionRenewed: where the server has forgotten a session, the client opens a
// new one.
func (c *checker) sessionRenewed(w *conversation, f *finding) bool {
	applies := false
	for i := range w.requests {
		a := &w.requests[i]
		if a.frame.Header["mcp-session-id"] == "" || w.status(a) != 404 {
			continue
		}
		wanted := c.modelCall(a.frame.Time) != nil
		renewed := false
		for j := i + 1; j < len(w.requests); j++ {
			b := &w.requests[j]
			if b.frame.Method == methodInitialize {
				if b.frame.Header["mcp-session-id"] != "" {
					f.add("server %q answered 404 for its session, but the client sent initialize with the id of the lost session", w.server)
				}
				renewed = true
				break
			}
			renewed = renewed || b.modern() && b.frame.Method != methodDiscover
			wanted = true
		}
		if !wanted && !renewed {
			continue // it was the end
		}
		applies = true
		if !renewed {
			f.add("server %q answered 404 for its session (%s), but the client opened no new one", w.server, a.frame.Method)
		}
		break
	}
	return applies
}

// sessionsEnded: a client that opens another session with a server has ended the
// one before. Of the sessions of one turn one may last, since a client may keep
// it until its own end.
func (c *checker) sessionsEnded(w *conversation, f *finding) bool {
	opened, lasting := map[int]int{}, map[int]int{} // by turn
	for i := range w.requests {
		a := &w.requests[i]
		if a.frame.Method != methodInitialize || a.frame.Transport != "http" || a.answer == 0 || rpcOf(&w.frames[a.answer]) != 0 {
			continue
		}
		session, turn := w.frames[a.answer].Session, c.turnAt(a.frame.Time)
		if session == "" {
			continue
		}
		opened[turn]++
		over := w.after(a.at, func(g *jsonrpc.Frame) bool {
			return g.Session == session && (g.In && g.HTTP == http.MethodDelete || g.Fault != "" || status(g) == http.StatusNotFound)
		})
		if !over {
			lasting[turn]++
		}
	}
	applies := false
	for _, turn := range slices.Sorted(maps.Keys(opened)) {
		applies = applies || opened[turn] > 1
		if n := lasting[turn]; n > 1 {
			f.add("the client opened %s with server %q in turn %d and ended %d by DELETE", prose.CountOf(opened[turn], "session", "sessions"), w.server, turn, opened[turn]-n)
		}
	}
	return applies
}

// turnAt is the turn of the model request that follows a moment, or of the last: a
// command opens its sessions before it asks the model.
func (c *checker) turnAt(at time.Time) int {
	if x := c.modelCall(at); x != nil {
		return x.Turn
	}
	if n := len(c.requests); n > 0 {
		return c.requests[n-1].Turn
	}
	return 1
}

// toolsRelisted: a client that is told that the tools have changed lists them
// again.
func (c *checker) toolsRelisted(w *conversation, f *finding) bool {
	applies := false
	last := -1 // the last news
	for i, g := range w.frames {
		if !g.In && g.Kind == jsonrpc.FrameNotification && g.Method == "notifications/tools/list_changed" {
			last = i
		}
	}
	if last < 0 {
		return false
	}
	told := w.frames[last]
	// News that comes before an answer is known with it; other news may cross
	// a model request.
	spare := 1
	for i := range w.requests {
		a := &w.requests[i]
		if a.around(last) && a.frame.Session == told.Session {
			spare = 0
		}
	}
	for i := range c.requests {
		x := &c.requests[i]
		if !x.Start.After(told.Time) {
			continue
		}
		if spare > 0 {
			spare--
			continue
		}
		if told.Transport != "http" && !w.heard(last, x.Start) {
			continue // it may still lie on the way, where a machine is busy
		}
		applies = true
		until := w.place(x.Start)
		listed := slices.ContainsFunc(w.frames[min(last+1, until):until], func(g jsonrpc.Frame) bool { return g.In && g.Method == methodList })
		if !listed {
			f.add("server %q announced that its tools have changed, but the client sent request %d to the model without listing them again", w.server, x.Seq)
			break
		}
	}
	return applies
}

// heard reports whether a client has had an answer that came behind a frame on
// the same connection, before a moment: then it has had the frame, too.
func (c *conversation) heard(frame int, before time.Time) bool {
	return slices.ContainsFunc(c.requests, func(a asked) bool {
		return a.answer > frame && a.frame.Session == c.frames[frame].Session && c.frames[a.answer].Time.Before(before)
	})
}

// Bounds of lists: of one after the other with nothing else between them, and
// of the pages of one.
const (
	mostLists = 10
	mostPages = 1000
)

// listsBounded: lists that each bring the news of another change do not go on
// for ever.
func (c *checker) listsBounded(w *conversation, f *finding) bool {
	lists, pages := 0, 0
	applies := false
	for i := range w.requests {
		a := &w.requests[i]
		if a.frame.Method != methodList {
			if a.frame.Method == methodCall {
				lists = 0
			}
			continue
		}
		applies = true
		if a.params.Cursor != "" {
			if pages++; pages == mostPages+1 {
				f.add("the client requested more than %[2]d pages of tools from server %[1]q in a row", w.server, mostPages)
			}
			continue
		}
		pages = 0
		if lists++; lists == mostLists+1 {
			f.add("the client listed the tools of server %q more than %d times in a row, with nothing in between", w.server, mostLists)
		}
	}
	return applies
}

// progressToken: a call of a tool that reports progress has a token. Without
// one nothing keeps the client from giving up too early.
func (c *checker) progressToken(w *conversation, f *finding) bool {
	applies := false
	for i := range w.requests {
		a := &w.requests[i]
		if a.frame.Method != methodCall || !c.Progress[w.server+"."+a.params.Name] {
			continue
		}
		applies = true
		if len(a.params.Meta.Token) == 0 {
			f.add("%s has no progressToken, so the server could not report its progress", a.text())
		}
	}
	return applies
}

// noDoubleEffect: a call of the model is not sent twice when that could repeat
// an effect.
func (c *checker) noDoubleEffect(w *conversation, f *finding) bool {
	if len(c.requests) == 0 {
		return false
	}
	applies := false
	seen := make([]bool, len(w.requests))
	for i := range w.requests {
		a := &w.requests[i]
		if seen[i] || a.frame.Method != methodCall || c.Repeatable[w.server+"."+a.params.Name] {
			continue
		}
		sent := 0
		for j := i; j < len(w.requests); j++ {
			b := &w.requests[j]
			if b.frame.Method == methodCall && b.params.Name == a.params.Name && sameArgs(b.params.Args, a.params.Args) {
				seen[j] = true
				if w.mayHaveRun(b) {
					sent++
				}
			}
		}
		wanted, known := 0, false
		for _, call := range c.Trajectory {
			if call.Server == w.server && call.Tool == a.params.Name && sameArgs(call.Args, a.params.Args) {
				wanted++
				known = known || call.Retried && c.needless(call) // answered_once says so
			}
		}
		applies = true
		if wanted > 0 && sent > wanted && !known {
			f.add("the model made %s, but the client sent it %d times, although the tool is not marked idempotent or read-only",
				prose.CountOf(wanted, fmt.Sprintf("call of %s.%s %s", w.server, a.params.Name, shorten(string(a.params.Args))), "such calls"), sent)
		}
	}
	return applies
}

// mayHaveRun reports whether a call may have done its work. One that was
// refused before the tool saw it has not, nor has one that was answered with a
// question.
func (c *conversation) mayHaveRun(a *asked) bool {
	if kindOf(a.frame.Fault) == faultHTTPStatus || strings.HasSuffix(a.frame.Fault, "/before") {
		return false // the fault took the place of the tool
	}
	switch c.status(a) {
	case 400, 401, 403, 404, 405, 413, 415, 429, 503:
		return false
	}
	answer := c.answerOf(a)
	switch rpcOf(answer) {
	case -32700, -32600, -32601, -32602, -32020, -32021, -32022:
		return false
	}
	var result struct {
		Type string `json:"resultType"`
	}
	return !resultOf(answer, &result) || result.Type != "input_required"
}

// unknownTolerated: a notification that the client does not know does it no
// harm.
func (c *checker) unknownTolerated(w *conversation, f *finding) bool {
	applies := false
	for i, g := range w.frames {
		if g.In || g.Kind != jsonrpc.FrameNotification || known(g.Method) {
			continue
		}
		again := func(session bool) bool {
			return w.after(i+1, func(h *jsonrpc.Frame) bool {
				return h.In && (h.Session == g.Session) == session && h.Kind == jsonrpc.FrameRequest
			})
		}
		lost := ""
		for j := range w.requests {
			a := &w.requests[j]
			if a.around(i) && a.frame.Session == g.Session && a.frame.Method == methodCall {
				lost = c.ignored(w, a)
			}
		}
		applies = true
		switch {
		case lost != "":
			f.add("server %q sent the unknown notification %s, and %s", w.server, g.Method, lost)
		case !w.cutOff(g.Session, i, c.lastAsked(w)) && again(false) && !again(true) && g.Session != "":
			f.add("server %q sent the unknown notification %s, and the client then opened another session", w.server, g.Method)
		}
		break
	}
	return applies
}

// ignored reports that the subject took no notice of the answer to a call.
func (c *checker) ignored(w *conversation, a *asked) string {
	answer := w.answerOf(a)
	for _, an := range c.answers {
		for i, call := range an.calls {
			if call.Server != w.server || call.Tool != a.params.Name || !call.Executed || len(an.texts[i]) == 0 || answer.Fault != "" {
				continue
			}
			if !slices.ContainsFunc(an.texts[i], func(s string) bool { return c.faithful(call, s) }) {
				return fmt.Sprintf("the result of %s that followed was lost", callText(call))
			}
		}
	}
	return ""
}

// versionHeaders: requests over HTTP state their version, session and method.
func (c *checker) versionHeaders(w *conversation, f *finding) bool {
	applies := false
	versions := map[string]string{} // by session, as negotiated
	told := map[string]bool{}
	add := func(g *jsonrpc.Frame, format string, args ...any) {
		what := fmt.Sprintf(format, args...)
		if key := g.Session + what; !told[key] {
			told[key] = true
			what := strings.TrimSpace(g.HTTP + " " + g.Method)
			f.add("%s to server %q: "+format, append([]any{what, w.server}, args...)...)
		}
	}
	next := 0
	for i := range w.frames {
		g := &w.frames[i]
		if !g.In && g.Method == methodInitialize && g.Kind == jsonrpc.FrameResponse {
			var result struct {
				Version string `json:"protocolVersion"`
			}
			if resultOf(g, &result) {
				versions[g.Session] = result.Version
			}
		}
		var a *asked
		if next < len(w.requests) && w.requests[next].at == i {
			a = &w.requests[next]
			next++
		}
		if !g.In || g.Transport != "http" || g.HTTP == "" {
			continue
		}
		accept := g.Header["accept"]
		switch {
		case strings.HasPrefix(g.HTTP, "POST") && g.Kind != jsonrpc.FrameHTTP && accept != "" && !(accepts(accept, "application/json") && accepts(accept, "text/event-stream")):
			add(g, "the header accept is %q, but must name application/json and text/event-stream", accept)
		case strings.HasPrefix(g.HTTP, "GET") && accept != "" && !accepts(accept, "text/event-stream"):
			add(g, "the header accept is %q, but must name text/event-stream", accept)
		}
		header := g.Header["mcp-protocol-version"]
		switch {
		case a != nil && a.modern():
			applies = true
			if header != a.params.Meta.Version {
				add(g, "the header mcp-protocol-version is %q, but _meta says %s", header, a.params.Meta.Version)
			}
			if got := g.Header["mcp-method"]; got != g.Method {
				add(g, "the header mcp-method is %q", got)
			}
			if want := cmpName(a); want != "" && g.Header["mcp-name"] == "" {
				add(g, "the header mcp-name is missing, want %q", want)
			}
		case a != nil && a.frame.Method == methodInitialize:
			applies = true
		case g.Method == "notifications/initialized" && header == "": // some clients know the version only after it
		case versions[g.Session] >= "2025-06-18":
			applies = true
			if want := versions[g.Session]; header != want {
				add(g, "the header mcp-protocol-version is %q, but the session has version %s", header, want)
			}
		}
	}
	return applies
}

// cmpName is what the header mcp-name repeats of a request.
func cmpName(a *asked) string {
	switch a.frame.Method {
	case methodCall, "prompts/get":
		return a.params.Name
	case "resources/read":
		return a.params.URI
	}
	return ""
}

func accepts(accept, typ string) bool {
	return strings.Contains(accept, typ) || strings.Contains(accept, "*/*") || strings.Contains(accept, typ[:strings.Index(typ, "/")]+"/*")
}

// serverAnswered: every request of the server is answered, a ping with a
// result.
func (c *checker) serverAnswered(w *conversation, f *finding) bool {
	applies := false
	for i, g := range w.frames {
		if g.In || g.Kind != jsonrpc.FrameRequest {
			continue
		}
		var answer *jsonrpc.Frame
		went := c.modelCall(g.Time) != nil && !w.cutOff(g.Session, i, c.lastAsked(w))
		for j := i + 1; j < len(w.frames); j++ {
			h := &w.frames[j]
			if !h.In || h.Session != g.Session {
				continue
			}
			if h.Kind == jsonrpc.FrameResponse && string(h.ID) == string(g.ID) {
				answer = h
				break
			}
			went = went || h.Kind == jsonrpc.FrameRequest
		}
		switch {
		case answer == nil && !went:
			continue // the client was about to leave
		case answer == nil:
			f.add("server %q sent %s, but the client never answered", w.server, g.Method)
		case g.Method == methodPing && rpcOf(answer) != 0:
			f.add("server %q sent a ping, but the client answered with error %d", w.server, rpcOf(answer))
		}
		applies = true
	}
	return applies
}

// initializeFirst: a legacy session begins with initialize, and nothing comes
// before its answer.
func (c *checker) initializeFirst(w *conversation, f *finding) bool {
	applies := false
	told := map[string]bool{}
	begun := map[string]*asked{} // initialize, by session
	for i := range w.requests {
		a := &w.requests[i]
		session := a.frame.Session
		switch {
		case a.modern(), a.frame.Method == methodPing, a.frame.Method == methodDiscover:
			continue
		case a.frame.Method == methodInitialize:
			applies = true
			begun[session] = a
			if a.answer > 0 {
				begun[w.frames[a.answer].Session] = a
			}
			continue
		case told[session]:
			continue
		}
		first := begun[session]
		switch {
		case first == nil:
			f.add("%s came before initialize", a.text())
		case first.answer == 0 || first.answer > a.at:
			f.add("%s came before initialize was answered", a.text())
		case !slices.ContainsFunc(w.frames[first.at:a.at], func(g jsonrpc.Frame) bool { return g.In && g.Method == "notifications/initialized" }):
			f.add("%s came before notifications/initialized", a.text())
		default:
			continue
		}
		applies, told[session] = true, true
	}
	return applies
}

// childrenEnded: a process that the client started ends with the client.
func (c *checker) childrenEnded() (f finding) {
	if len(c.Children) == 0 {
		return skip("the client started no server as a process")
	}
	for _, child := range c.Children {
		if !child.Ended {
			f.add("the process of server %q (pid %d) outlived the client", child.Server, child.PID)
		}
	}
	return f
}
