// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
	"github.com/rehearse-dev/rehearse/mockmcp/protocol"
)

// noFrames is why a check of the wire does not apply where no mock server
// keeps a log of frames.
const noFrames = "no server kept a log of its frames"

// conversation is what was said between a client and one mock server.
type conversation struct {
	server   string
	frames   []harness.Frame
	requests []asked // of the client, in order
}

// asked is one request of a client with the answer that it got.
type asked struct {
	frame  harness.Frame
	at     int // in frames
	params params
	// answer is the place of the response in frames, -1 for none.
	answer int
}

// params are the parts of a request's params that checks look at.
type params struct {
	Name   string          `json:"name"`
	URI    string          `json:"uri"`
	Cursor string          `json:"cursor"`
	Args   json.RawMessage `json:"arguments"`
	Meta   struct {
		Version string          `json:"io.modelcontextprotocol/protocolVersion"`
		Token   json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// modern reports whether the request is one of the era without sessions.
func (a *asked) modern() bool { return protocol.IsModern(a.params.Meta.Version) }

// text names the request in messages.
func (a *asked) text() string {
	if a.frame.Method == methodCall {
		return fmt.Sprintf("%s of %s.%s", methodCall, a.frame.Server, a.params.Name)
	}
	return fmt.Sprintf("%s to server %q", a.frame.Method, a.frame.Server)
}

const (
	methodCall       = "tools/call"
	methodList       = "tools/list"
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
)

// converse sorts frames by server, and joins requests with their answers.
func converse(frames []harness.Frame) []*conversation {
	var out []*conversation
	by := map[string]*conversation{}
	for _, f := range frames {
		c := by[f.Server]
		if c == nil {
			c = &conversation{server: f.Server}
			by[f.Server] = c
			out = append(out, c)
		}
		c.frames = append(c.frames, f)
	}
	for _, c := range out {
		c.join()
	}
	return out
}

func (c *conversation) join() {
	type key struct{ session, id string }
	open := map[key]int{} // requests by what an answer has, the last first
	for i, f := range c.frames {
		switch {
		case f.In && f.Kind == harness.FrameRequest:
			a := asked{frame: f, at: i, answer: -1}
			var body struct {
				Params params `json:"params"`
			}
			_ = json.Unmarshal([]byte(f.Body), &body) // a shortened body has no params that could be read
			a.params = body.Params
			c.requests = append(c.requests, a)
			open[key{f.Session, string(f.ID)}] = len(c.requests) - 1
		case !f.In && f.Kind == harness.FrameResponse:
			k := key{f.Session, string(f.ID)}
			n, ok := open[k]
			if !ok && f.Method == methodInitialize { // its answer names the session, the request did not
				k.session = ""
				n, ok = open[k]
			}
			if ok && c.requests[n].answer < 0 {
				c.requests[n].answer = i
				delete(open, k)
			}
		}
	}
}

// answerOf is the answer to a request; nil when there is none.
func (c *conversation) answerOf(a *asked) *harness.Frame {
	if a.answer < 0 {
		return nil
	}
	return &c.frames[a.answer]
}

// status is the HTTP status that a request was answered with; 0 when that is
// not known.
func (c *conversation) status(a *asked) int {
	if f := c.answerOf(a); f != nil && status(f) != 0 {
		return status(f)
	}
	if kindOf(a.frame.Fault) == fault.Session404 {
		return 404
	}
	for i := a.at + 1; i < len(c.frames); i++ {
		f := &c.frames[i]
		if !f.In && status(f) >= 400 && f.Session == a.frame.Session && (len(f.ID) == 0 || string(f.ID) == string(a.frame.ID)) {
			return status(f)
		}
		if f.In && f.Session == a.frame.Session {
			break
		}
	}
	return 0
}

// status is the HTTP status of a frame to the client; 0 when it has none.
func status(f *harness.Frame) int {
	code, _ := strconv.Atoi(f.HTTP)
	return code
}

// after reports whether any frame from place i on fits.
func (c *conversation) after(i int, fits func(*harness.Frame) bool) bool {
	for j := min(i, len(c.frames)); j < len(c.frames); j++ {
		if fits(&c.frames[j]) {
			return true
		}
	}
	return false
}

// cutOff reports whether the server ended a session between two places.
func (c *conversation) cutOff(session string, from, to int) bool {
	return from < to && slices.ContainsFunc(c.frames[from:to], func(f harness.Frame) bool {
		return f.Kind == harness.FrameEnd && !f.In && f.Session == session && (f.Fault == "" || !silent(f.Fault))
	})
}

// spoils reports whether a fault keeps a client from knowing what became of
// its request: there is no reply, or none that could be used.
func spoils(kind string) bool {
	switch kindOf(kind) {
	case fault.Hang, fault.LateReply, fault.Exit, fault.CloseStdout, fault.TruncateFrame, fault.WrongID, fault.StringID, fault.NullID,
		fault.MissingID, fault.BatchReply, fault.BadUTF8, fault.PrettyJSON, fault.NoFinalNewline, fault.ContentLength, fault.HTTPStatus,
		fault.AbortConnection, fault.SSEEndWithoutReply, fault.SSERetry, fault.WrongContentType, fault.MissingContent, fault.Huge:
		return true
	}
	return false
}

// silent reports whether a fault leaves a request without a reply on a
// connection that stays.
func silent(kind string) bool {
	return slices.Contains([]fault.Kind{"", fault.Hang, fault.LateReply, fault.Delay}, kindOf(kind))
}

// kindOf is the kind of a fault that is named with its form.
func kindOf(name string) fault.Kind {
	kind, _, _ := strings.Cut(name, "/")
	return fault.Kind(kind)
}

// lastAsked is the place of the last model request in the frames.
func (c *checker) lastAsked(w *conversation) int {
	if len(c.requests) == 0 {
		return 0
	}
	return w.place(c.requests[len(c.requests)-1].Start)
}

// place is the place of the first frame after a moment.
func (c *conversation) place(t time.Time) int {
	for i, f := range c.frames {
		if f.Time.After(t) {
			return i
		}
	}
	return len(c.frames)
}

// modelCall is the first model request after a moment; nil when there is none.
func (c *checker) modelCall(t time.Time) *harness.Exchange {
	for i := range c.requests {
		if c.requests[i].Start.After(t) {
			return &c.requests[i]
		}
	}
	return nil
}

// rpcOf is the error that a response carries; 0 when it carries none.
func rpcOf(f *harness.Frame) int {
	var body struct {
		Error *harness.RPCError `json:"error"`
	}
	if f == nil || json.Unmarshal([]byte(f.Body), &body) != nil || body.Error == nil {
		return 0
	}
	return body.Error.Code
}

// resultOf decodes the result of a response as far as v asks for it.
func resultOf(f *harness.Frame, v any) bool {
	var body struct {
		Result json.RawMessage `json:"result"`
	}
	return f != nil && json.Unmarshal([]byte(f.Body), &body) == nil && json.Unmarshal(body.Result, v) == nil
}

// known reports whether MCP has a notification of servers by that name.
func known(method string) bool {
	name, ok := strings.CutPrefix(method, "notifications/")
	return ok && slices.Contains([]string{
		"progress", "message", "cancelled", "tools/list_changed", "prompts/list_changed", "resources/list_changed",
		"resources/updated", "elicitation/complete", "tasks/status", "subscriptions/acknowledged",
	}, name)
}
