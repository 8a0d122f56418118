// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Bounds of the frame log.
const (
	framesKept = 20_000
	bodyKept   = 64 << 10 // of one frame
	bodiesKept = 64 << 20 // of all frames
)

// frameLog has the last frames that went over the wire.
type frameLog struct {
	mu     sync.Mutex // guards what follows
	frames []harness.Frame
	seq    int
	bytes  int
}

// add numbers a frame and keeps it.
func (l *frameLog) add(f harness.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	f.Seq = l.seq
	l.frames = append(l.frames, f)
	l.bytes += len(f.Body)
	for len(l.frames) > framesKept || l.bytes > bodiesKept && len(l.frames) > 1 {
		l.bytes -= len(l.frames[0].Body)
		l.frames[0] = harness.Frame{}
		l.frames = l.frames[1:]
	}
}

func (l *frameLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames, l.seq, l.bytes = nil, 0, 0
}

// Frames returns a copy of what went over the wire so far, in order: the last
// 20,000 frames, of each at most the first 64 KiB.
func (s *Server) Frames() []harness.Frame {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return slices.Clone(s.frames.frames)
}

// logFrame completes a frame and keeps it. body is not kept beyond the call.
func (c *client) logFrame(f harness.Frame, body []byte) {
	f.Server, f.Transport, f.Time = c.s.script.Name, c.transport, c.s.opts.Clock.Now()
	if f.Session == "" {
		f.Session = c.id
	}
	f.Size, f.Body = len(body), string(body[:min(len(body), bodyKept)])
	c.s.frames.add(f)
}

// received logs a frame of the client. http is the request that carried it, or
// nil.
func (c *client) received(m mcpwire.Message, http *http.Request) {
	f := harness.Frame{In: true, Kind: kindOf(m), Method: m.Method, ID: m.ID}
	if http != nil {
		f.HTTP, f.Header = http.Method, headers(http.Header)
	}
	if f.Kind == harness.FrameResponse {
		f.Method = c.askedFor(m)
	}
	c.logFrame(f, m.Frame)
}

func kindOf(m mcpwire.Message) harness.FrameKind {
	switch {
	case m.IsRequest():
		return harness.FrameRequest
	case m.IsNotification():
		return harness.FrameNotification
	case m.Result != nil || m.Error != nil:
		return harness.FrameResponse
	case len(m.Frame) == 0:
		return harness.FrameHTTP
	}
	return harness.FrameJunk
}

// headers picks the headers that a frame keeps.
func headers(h http.Header) map[string]string {
	kept := make(map[string]string, 6)
	for name, values := range h {
		switch name = strings.ToLower(name); {
		case strings.HasPrefix(name, "mcp-"), name == "accept", name == "content-type", name == "last-event-id", name == "origin", name == "user-agent":
			kept[name] = strings.Join(values, ", ")
		case name == "authorization":
			scheme, _, _ := strings.Cut(values[0], " ")
			kept[name] = scheme + " ..."
		}
	}
	return kept
}

// idOf is a client's id as it is sent back: on one line.
func idOf(id json.RawMessage) json.RawMessage {
	if bytes.ContainsAny(id, "\r\n") {
		return mcpwire.Marshal(id)
	}
	return id
}
