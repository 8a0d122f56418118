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
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// noFrames is the reason why a check of the wire does not apply: no mock server
// keeps a log of frames.
const noFrames = "no server kept a log of its frames"

// framesGone is the reason where the log of a server lacks the oldest: what
// they said could excuse what follows.
const framesGone = "the log of server %q no longer has its first %d frames"

// conversation holds the frames between a client and one mock server.
type conversation struct {
	server   string
	frames   []jsonrpc.Frame
	requests []asked // of the client, in order
}

// asked is one request of a client with the answer that it got.
type asked struct {
	frame  jsonrpc.Frame
	at     int // in frames
	params params
	// answer is the place of the response in frames, behind that of the
	// request; 0 for none.
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

// modern reports whether the request belongs to the era without sessions.
func (a *asked) modern() bool { return mcpwire.IsModern(a.params.Meta.Version) }

// around reports whether a frame came between the request and its answer.
func (a *asked) around(frame int) bool { return a.at < frame && frame < a.answer }

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
func converse(frames []jsonrpc.Frame) []*conversation {
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
	open := map[key][]int{} // requests by what an answer has
	for i, f := range c.frames {
		switch {
		case f.In && f.Kind == jsonrpc.FrameRequest:
			a := asked{frame: f, at: i}
			var body struct {
				Params params `json:"params"`
			}
			_ = exactjson.Unmarshal([]byte(f.Body), &body) // what a fault spoiled has no params
			a.params = body.Params
			c.requests = append(c.requests, a)
			k := key{f.Session, string(f.ID)}
			open[k] = append(open[k], len(c.requests)-1)
		case !f.In && f.Kind == jsonrpc.FrameResponse:
			k := key{f.Session, string(f.ID)}
			if len(open[k]) == 0 && f.Method == methodInitialize {
				// Its answer names the session, the request did not. A client may open
				// several at once, each with the same id; which is whose does not matter.
				if k.session = ""; len(open[k]) > 0 {
					c.requests[open[k][0]].answer = i
					open[k] = open[k][1:]
				}
			} else if n := len(open[k]); n > 0 { // of an id that is used again, the last
				c.requests[open[k][n-1]].answer = i
				delete(open, k)
			}
		}
	}
}

// answerOf is the answer to a request; nil when there is none.
func (c *conversation) answerOf(a *asked) *jsonrpc.Frame {
	if a.answer == 0 {
		return nil
	}
	return &c.frames[a.answer]
}

// status is the HTTP status that a request was answered with; 0 when that is
// not known.
func (c *conversation) status(a *asked) int {
	if f := c.answerOf(a); f != nil {
		return status(f)
	}
	if kindOf(a.frame.Fault) == faultSession404 {
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
func status(f *jsonrpc.Frame) int {
	code, _ := strconv.Atoi(f.HTTP)
	return code
}

// after reports whether any frame from place i on fits.
func (c *conversation) after(i int, fits func(*jsonrpc.Frame) bool) bool {
	for j := min(i, len(c.frames)); j < len(c.frames); j++ {
		if fits(&c.frames[j]) {
			return true
		}
	}
	return false
}

// cutOff reports whether the server ended a session between two places.
func (c *conversation) cutOff(session string, from, to int) bool {
	return slices.ContainsFunc(c.frames[min(from, to):to], func(f jsonrpc.Frame) bool {
		return f.Kind == jsonrpc.FrameEnd && !f.In && f.Session == session && (f.Fault == "" || !silent(f.Fault))
	})
}

// Kinds of faults, as the journals of mock servers name them.
const (
	faultSession404 = "session_404"
	faultHTTPStatus = "http_status"
)

// spoilers are the kinds that keep a client from knowing what became of its
// request: there is no reply, or none that could be used.
var spoilers = [...]string{
	"hang", "late_reply", "exit", "close_stdout", "truncate_frame", "wrong_id", "string_id", "null_id", "missing_id", "batch_reply", "bad_utf8",
	"pretty_json", "no_final_newline", "content_length", faultHTTPStatus, "abort_connection", "sse_end_without_reply", "sse_retry",
	"wrong_content_type", "missing_content", "huge",
}

func spoils(fault string) bool { return slices.Contains(spoilers[:], kindOf(fault)) }

// silencers are the kinds that leave a request without a reply on a connection
// that stays.
var silencers = [...]string{"hang", "late_reply", "delay"}

func silent(fault string) bool {
	return fault == "" || slices.Contains(silencers[:], kindOf(fault))
}

// kindOf is the kind of a fault that is named with its form.
func kindOf(fault string) string {
	kind, _, _ := strings.Cut(fault, "/")
	return kind
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
func rpcOf(f *jsonrpc.Frame) int {
	if f == nil {
		return 0
	}
	m, err := mcpwire.Parse([]byte(f.Body))
	if err != nil || m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// resultOf decodes the result of a response as far as v asks for it.
func resultOf(f *jsonrpc.Frame, v any) bool {
	var body struct {
		Result json.RawMessage `json:"result"`
	}
	return f != nil && exactjson.Unmarshal([]byte(f.Body), &body) == nil && exactjson.Unmarshal(body.Result, v) == nil
}

// known reports whether MCP has a notification of servers by that name.
func known(method string) bool {
	name, ok := strings.CutPrefix(method, "notifications/")
	return ok && slices.Contains([]string{
		"progress", "message", "cancelled", "tools/list_changed", "prompts/list_changed", "resources/list_changed",
		"resources/updated", "elicitation/complete", "tasks/status", "subscriptions/acknowledged",
	}, name)
}
