// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Bounds of the frame log.
const (
	framesKept = 20_000
	perEntry   = 4        // frames for each call that the journal may hold
	bodyKept   = 64 << 10 // of one frame
	bodiesKept = 64 << 20 // of all frames
)

// frameLog has the last frames that went over the wire, in a ring.
type frameLog struct {
	most int // that are kept

	mu    sync.Mutex // guards what follows
	ring  []harness.Frame
	first int // the place of the oldest
	n     int // how many there are
	seq   int
	bytes int
}

// add numbers a frame and keeps it.
func (l *frameLog) add(f *harness.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	f.Seq = l.seq
	for l.n > 0 && (l.n == l.most || l.bytes+len(f.Body) > bodiesKept) {
		l.bytes -= len(l.ring[l.first].Body)
		l.ring[l.first] = harness.Frame{}
		l.first, l.n = (l.first+1)%len(l.ring), l.n-1
	}
	if l.n == len(l.ring) {
		grown := make([]harness.Frame, min(max(64, 2*l.n), l.most))
		copy(grown, l.all())
		l.ring, l.first = grown, 0
	}
	*l.at(l.n) = *f
	l.n++
	l.bytes += len(f.Body)
}

// at is the frame with that number from the oldest, which is 0.
func (l *frameLog) at(i int) *harness.Frame { return &l.ring[(l.first+i)%len(l.ring)] }

// all returns a copy of the frames in order. The caller holds mu.
func (l *frameLog) all() []harness.Frame {
	frames := make([]harness.Frame, 0, l.n)
	for i := range l.n {
		frames = append(frames, *l.at(i))
	}
	return frames
}

func (l *frameLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.first, l.n, l.seq, l.bytes = nil, 0, 0, 0, 0
}

// Frames returns a copy of what went over the wire so far, in order: the last
// frames, as [Options.JournalEntries] says, of each at most the first 64 KiB.
func (s *Server) Frames() []harness.Frame {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return s.frames.all()
}

// logFrame completes a frame and keeps it. body is not kept beyond the call.
func (c *client) logFrame(f harness.Frame, body []byte) {
	f.Server, f.Transport, f.Time = c.s.script.Name, c.transport, c.s.opts.Clock.Now()
	if f.Session == "" {
		f.Session = c.id
	}
	f.Size, f.Body = len(body), string(body[:min(len(body), bodyKept)])
	c.s.frames.add(&f)
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
	kept := make(map[string]string, 8)
	for name, values := range h {
		if len(values) == 0 {
			continue
		}
		switch name {
		case "Accept":
			kept["accept"] = strings.Join(values, ", ")
		case "Content-Type":
			kept["content-type"] = values[0]
		case "Mcp-Session-Id":
			kept["mcp-session-id"] = values[0]
		case "Mcp-Protocol-Version":
			kept["mcp-protocol-version"] = values[0]
		case "User-Agent":
			kept["user-agent"] = values[0]
		case "Authorization":
			scheme, _, _ := strings.Cut(values[0], " ")
			kept["authorization"] = scheme + " ..."
		case "Last-Event-Id", "Origin":
			kept[strings.ToLower(name)] = values[0]
		default:
			if strings.HasPrefix(name, "Mcp-") {
				kept[strings.ToLower(name)] = strings.Join(values, ", ")
			}
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
