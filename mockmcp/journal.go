// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/budget"
	"github.com/rehearse-dev/rehearse/internal/filepos"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Bounds of the journal.
const (
	defaultJournalEntries = 1_000
	defaultJournalBytes   = 32 << 20
	exchangeBytes         = 350 // about what an entry costs beside its texts
	maxProblems           = 100 // that are remembered of entries that went
)

// journal holds the latest calls, so many and within a budget of bytes.
type journal struct {
	most     int
	limit    int
	size     int
	dropped  int // entries that are kept no more
	entries  []harness.ToolExchange
	problems []error // misses and errors of the script in entries that went
}

// add enters a call and returns its number.
func (j *journal) add(x harness.ToolExchange) int {
	x.Seq = j.dropped + len(j.entries) + 1
	j.entries = append(j.entries, x)
	j.grow(exchangeBytes + len(x.Args))
	return x.Seq
}

// at is the entry of a number; nil when it went.
func (j *journal) at(seq int) *harness.ToolExchange {
	if i := seq - 1 - j.dropped; i >= 0 && i < len(j.entries) {
		return &j.entries[i]
	}
	return nil
}

// grow counts n more bytes, and forgets the oldest entries beyond the budget.
func (j *journal) grow(n int) {
	j.size += n
	for (j.size > j.limit || len(j.entries) > j.most) && len(j.entries) > 1 {
		j.pop()
	}
}

// pop forgets the oldest entry.
func (j *journal) pop() {
	x := &j.entries[0]
	j.size -= exchangeBytes + len(x.Args) + len(x.Text) + len(x.Result) + len(x.Content)
	j.problem(x)
	*x = harness.ToolExchange{}
	j.entries = j.entries[1:]
	j.dropped++
}

// problem remembers what went wrong with a call whose entry goes.
func (j *journal) problem(x *harness.ToolExchange) {
	j.problems = append(j.problems, problems(x)...)
	j.problems = j.problems[:min(len(j.problems), maxProblems)]
}

// problems are what nobody scripted of a call, and what the script has wrong.
func problems(x *harness.ToolExchange) (list []error) {
	if x.Miss != "" {
		list = append(list, errors.New(x.Miss))
	}
	if x.ScriptError != "" {
		list = append(list, errors.New(filepos.Told(x.ScriptPos, x.ScriptError)))
	}
	return list
}

func (j *journal) reset() {
	j.size, j.dropped, j.entries, j.problems = 0, 0, nil, nil
}

// record writes down what a call is answered with.
func (s *Server) record(t *ticket, answer *Answer, err error) {
	call := t.call
	x := harness.ToolExchange{IsError: answer.IsError, RPCError: answer.RPCError, Unsent: true}
	var v *verdict
	if errors.As(err, &v) {
		if v.miss {
			x.Miss = v.reason
		} else {
			x.ScriptError, x.ScriptPos = v.reason, v.pos
		}
	}
	x.Failed = x.IsError || x.RPCError != nil
	if answer.RPCError == nil {
		x.Text, x.Result = answer.text(), answer.value()
		if failed, err := s.failedWhen(t, x.Result); err != nil {
			x.ScriptError, x.ScriptPos = fmt.Sprintf("failed_when of %s.%s: %s", s.script.Name, call.Tool, filepos.Bare(err)), filepos.Of(err)
		} else if failed {
			x.Failed = true
		}
	}
	for _, problem := range problems(&x) {
		s.opts.Logf("%v", problem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.entry(t)
	if entry == nil {
		if t.resets == s.resets {
			s.journal.problem(&x)
		}
		return
	}
	x.Seq, x.Server, x.Tool, x.Args, x.Start = entry.Seq, entry.Server, entry.Tool, entry.Args, entry.Start
	if st := t.r.out.strike; st != nil {
		x.Fault, st.call = st.f.String(), t
	}
	*entry = x
	s.journal.grow(len(x.Text) + len(x.Result))
}

// failedWhen says whether the result of a call that reached its tool means
// failure.
func (s *Server) failedWhen(t *ticket, result json.RawMessage) (bool, error) {
	if t.answer != nil {
		return false, nil
	}
	judge := s.script.FailedWhen
	if t.tool.FailedWhen != nil {
		judge = t.tool.FailedWhen
	}
	if judge == nil {
		return false, nil
	}
	return guard(func() (bool, error) { return judge(t.call, result) })
}

// sent completes the journal entry when the answer goes out. What a fault does
// with it is told by the strike.
func (s *Server) sent(t *ticket, content json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(t); entry != nil {
		entry.Content, entry.Unsent = content, t.r.out.strike != nil
		entry.Duration = s.now().Sub(t.start)
		s.journal.grow(len(content))
	}
}

// entry is the journal's entry of a call; nil when a reset or a newer call has
// dropped it. The caller holds mu.
func (s *Server) entry(t *ticket) *harness.ToolExchange {
	if t.resets != s.resets {
		return nil
	}
	return s.journal.at(t.seq)
}

// Bounds of the frame log.
const (
	framesKept = 20_000
	perEntry   = 4        // frames for each call that the journal may hold
	answerKept = 1 << 20  // of the answer to one call; the journal has its result
	bodiesKept = 64 << 20 // of all frames
	frameBytes = 500      // about what a frame costs beside its body
)

// frameLog has the last frames that went over the wire, in a ring.
type frameLog struct {
	most int // that are kept

	mu    sync.Mutex // guards what follows
	ring  []jsonrpc.Frame
	first int // the place of the oldest
	n     int // how many there are
	seq   int
	bytes int
}

// add numbers a frame and keeps it.
func (l *frameLog) add(f *jsonrpc.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	f.Seq = l.seq
	for l.n > 0 && (l.n == l.most || l.bytes+len(f.Body) > bodiesKept) {
		l.pop()
	}
	if l.n == len(l.ring) {
		grown := make([]jsonrpc.Frame, min(max(64, 2*l.n), l.most))
		copy(grown, l.all())
		l.ring, l.first = grown, 0
	}
	*l.at(l.n) = *f
	l.n++
	l.bytes += len(f.Body)
}

// pop forgets the oldest frame, and says what that was worth. The caller holds
// mu.
func (l *frameLog) pop() (bytes int) {
	body := len(l.ring[l.first].Body)
	l.bytes -= body
	l.ring[l.first] = jsonrpc.Frame{}
	l.first, l.n = (l.first+1)%len(l.ring), l.n-1
	return body + frameBytes
}

// at is the frame with that number from the oldest, which is 0.
func (l *frameLog) at(i int) *jsonrpc.Frame { return &l.ring[(l.first+i)%len(l.ring)] }

// all returns a copy of the frames in order. The caller holds mu.
func (l *frameLog) all() []jsonrpc.Frame {
	frames := make([]jsonrpc.Frame, 0, l.n)
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
// frames, as [Options.JournalEntries] says, and not more than 64 MiB of them.
// They are whole, but for answers to calls beyond their first MiB.
func (s *Server) Frames() []jsonrpc.Frame {
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return s.frames.all()
}

// logFrame completes a frame and keeps it. body is not kept beyond the call.
func (c *client) logFrame(f jsonrpc.Frame, body []byte) {
	f.Server, f.Transport, f.Time = c.s.script.Name, c.transport, c.s.now()
	if f.Session == "" {
		f.Session = c.id
	}
	f.Size = len(body)
	if !f.In && f.Kind == jsonrpc.FrameResponse && f.Method == mcpwire.MethodCall {
		body = body[:min(len(body), answerKept)]
	}
	f.Body = string(body)
	c.s.frames.add(&f)
}

// received logs a frame of the client. http is the request that carried it, or
// nil.
func (c *client) received(m mcpwire.Message, http *http.Request) {
	f := jsonrpc.Frame{In: true, Kind: kindOf(m), Method: m.Method, ID: m.ID}
	if http != nil {
		f.HTTP, f.Header = http.Method, headers(http.Header)
	}
	if f.Kind == jsonrpc.FrameResponse {
		f.Method = c.askedFor(m)
	}
	c.logFrame(f, m.Frame)
}

func kindOf(m mcpwire.Message) jsonrpc.FrameKind {
	switch {
	case m.IsRequest():
		return jsonrpc.FrameRequest
	case m.IsNotification():
		return jsonrpc.FrameNotification
	case m.Result != nil || m.Error != nil:
		return jsonrpc.FrameResponse
	case len(m.Frame) == 0:
		return jsonrpc.FrameHTTP
	}
	return jsonrpc.FrameJunk
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

// Memory bounds what the servers that share it keep of calls, frames and
// streams together. Those that were busy longest ago give up theirs first: the
// oldest calls go, their misses and errors are remembered. It must not be
// copied.
type Memory struct {
	// Bytes is how much they may keep. 0 is no bound.
	Bytes int

	budget budget.Budget
}

// join has a server share the memory.
func (m *Memory) join(s *Server) *budget.Share {
	if m == nil {
		return nil
	}
	return m.budget.Join(m.Bytes, s.shed)
}

// streamBytes bounds the events of one server that can be sent again.
const streamBytes = 32 << 20

// weigh says how much the server keeps, and has it kept in bounds. It may not
// be called with a lock held.
func (s *Server) weigh() {
	if over := int(s.streamed.Load()) - streamBytes; over > 0 {
		s.shedStreams(over)
	}
	if s.share != nil {
		s.share.Keep(s.kept())
	}
}

func (s *Server) kept() int {
	s.mu.Lock()
	n := s.journal.size
	s.mu.Unlock()
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return n + s.frames.bytes + s.frames.n*frameBytes + int(s.streamed.Load())
}

// shed gives up n bytes, or all that can be, and returns what is kept.
func (s *Server) shed(n int) (kept int) {
	n -= s.shedStreams(n)
	n -= s.frames.shed(n)
	s.mu.Lock()
	s.journal.shed(n)
	s.mu.Unlock()
	return s.kept()
}

// shedStreams forgets streams that are over, those of the oldest sessions
// first, until n bytes are gone. Clients cannot come back to them.
func (s *Server) shedStreams(n int) (gone int) {
	if n <= 0 || s.streamed.Load() == 0 {
		return 0
	}
	s.mu.Lock()
	clients := slices.Clone(s.clients)
	s.mu.Unlock()
	for _, c := range clients {
		if gone >= n {
			break
		}
		c.mu.Lock()
		for id, st := range c.streams {
			if freed, ok := st.forget(); ok {
				gone += freed
				delete(c.streams, id)
			}
		}
		c.mu.Unlock()
	}
	return gone
}

// shed gives up the oldest frames until n bytes are gone.
func (l *frameLog) shed(n int) (gone int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for gone < n && l.n > 0 {
		gone += l.pop()
	}
	if l.n == 0 {
		l.ring, l.first = nil, 0
	}
	return gone
}

// shed gives up the oldest entries until n bytes are gone.
func (j *journal) shed(n int) {
	for goal := j.size - n; j.size > goal && len(j.entries) > 0; {
		j.pop()
	}
}
