// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/exactjson"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// adrift reports whether a call was under way when its turn was interrupted, when
// the subject was killed, or when its server ended the connection. It may have
// either outcome then: its answer may have come too late for the client, and the
// server may look at the call when the client has long gone on.
func (c *checker) adrift(call harness.Call) bool {
	if c.interrupted(call.Turn) && c.last(call) && (slices.Contains(c.Killed, call.Turn) || c.brokenOff(call)) {
		return true
	}
	return c.wentDown(call)
}

// brokenOff reports whether the client cancelled a call, or the server answered it
// after the call had come whose answer was kept back, at which the turn was
// interrupted. A client that makes one call after the other had the answer before.
func (c *checker) brokenOff(call harness.Call) bool {
	for _, other := range c.Trajectory {
		if !sameReply(call, other) {
			continue
		}
		for _, kept := range c.executions(other) {
			if kept.Unsent && c.endsAfter(call, kept.Start) {
				return true
			}
		}
	}
	for i, f := range c.Frames {
		if !asksCall(&f, call) {
			continue
		}
		if f.Transport == "http" && f.Session == "" {
			return true // of a request that stands alone, nobody hears that it was cancelled
		}
		if slices.ContainsFunc(c.Frames[i:], func(g jsonrpc.Frame) bool {
			return g.In && g.Server == f.Server && g.Method == "notifications/cancelled" && g.Session == f.Session && cancels(&g, f.ID)
		}) {
			return true
		}
	}
	return false
}

// wentDown reports whether a fault ended the connection of a call that had come
// there beside another one of its reply, which the fault struck. A call that the
// server did not get to see may have been on its way there.
func (c *checker) wentDown(call harness.Call) bool {
	for _, struck := range c.Frames {
		if struck.Fault == "" || struck.Transport == "http" || struck.Server != call.Server || !c.ends(&struck) {
			continue
		}
		if !slices.ContainsFunc(c.Trajectory, func(other harness.Call) bool {
			return sameReply(call, other) && other.ID != call.ID && asksCall(&struck, other)
		}) {
			continue
		}
		if !call.Executed {
			return true
		}
		came := slices.ContainsFunc(c.Frames, func(f jsonrpc.Frame) bool { return f.Session == struck.Session && asksCall(&f, call) })
		if came && c.endsAfter(call, struck.Time) {
			return true
		}
	}
	return false
}

// ends reports whether the fault that struck a request ended its connection.
func (c *checker) ends(struck *jsonrpc.Frame) bool {
	return struck.In && !silent(struck.Fault) && slices.ContainsFunc(c.Frames, func(f jsonrpc.Frame) bool {
		return f.Kind == jsonrpc.FrameEnd && !f.In && f.Server == struck.Server && f.Session == struck.Session && f.Fault == struck.Fault
	})
}

// endsAfter reports whether a call was executed, and answered after a moment.
func (c *checker) endsAfter(call harness.Call, moment time.Time) bool {
	return slices.ContainsFunc(c.executions(call), func(x harness.ToolExchange) bool {
		return !x.Start.Add(x.Duration).Before(moment)
	})
}

// asksCall reports whether a frame is the request that a call leads to.
func asksCall(f *jsonrpc.Frame, call harness.Call) bool {
	if !f.In || f.Method != methodCall || f.Server != call.Server {
		return false
	}
	var body struct {
		Params params `json:"params"`
	}
	return exactjson.Unmarshal([]byte(f.Body), &body) == nil && body.Params.Name == call.Tool && sameArgs(body.Params.Args, call.Args)
}

func sameReply(a, b harness.Call) bool {
	return a.Lane == b.Lane && a.Turn == b.Turn && a.Reply == b.Reply
}
