// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// missCode is the code of the error that a miss is answered with.
const missCode = -32000

// play is a session that is replayed.
type play struct {
	tape    *Tape
	scripts []*script // the session's own first
	out     outlet    // for what belongs to no request of its own over HTTP
	leave   context.CancelFunc
	groups  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	waiting  map[string]chan mcpwire.Message
	inFlight map[string]context.CancelFunc // by the client's id
	early    map[string]mcpwire.Message    // answers nobody waits for yet
	subs     map[*group]*sub
	over     bool          // no more groups begin
	silent   chan struct{} // closed when the client says no more
	greeted  func()        // closes greeting
	greeting chan struct{} // closed when the client initializes
}

// outlet is where goes what the server says.
type outlet interface {
	// put takes a step, with its bytes where it has some. m is the client's
	// message that set it off.
	put(g *group, m mcpwire.Message, n int, line []byte)
}

// newPlay begins a session, which leave ends.
func newPlay(t *Tape, scripts []*script, out outlet, leave context.CancelFunc) *play {
	greeting := make(chan struct{})
	return &play{
		greeting: greeting, greeted: sync.OnceFunc(func() { close(greeting) }),
		tape: t, scripts: scripts, out: out, leave: leave,
		waiting: map[string]chan mcpwire.Message{}, inFlight: map[string]context.CancelFunc{},
		early: map[string]mcpwire.Message{}, subs: map[*group]*sub{}, silent: make(chan struct{}),
	}
}

// sub is a request that listens, perhaps one that has yet to come.
type sub struct {
	mu    sync.Mutex // guards the rest
	id    json.RawMessage
	out   outlet // nil before it came
	queue []func()
}

func (p *play) sub(g *group) *sub {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subs[g] == nil {
		p.subs[g] = &sub{}
	}
	return p.subs[g]
}

// listen begins to tell the request m, which is recorded as g, what there is.
func (p *play) listen(g *group, m mcpwire.Message, out outlet) {
	s := p.sub(g)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.out = m.ID, out
	for _, f := range s.queue {
		f()
	}
	s.queue = nil
}

// tell tells a request that listens what another message has set off.
func (p *play) tell(g *group, m mcpwire.Message, n int) {
	st := &g.steps[n]
	s := p.sub(st.sub)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := func() {
		line := replace(st.bytes(), s.id, "params", "_meta", subscription)
		if st.kind == answer {
			line = replace(replace(line, s.id, "id"), s.id, "result", "_meta", subscription)
		}
		s.out.put(g, mcpwire.Message{ID: s.id, Method: m.Method}, n, line)
	}
	if s.out == nil {
		s.queue = append(s.queue, f)
		return
	}
	f()
}

// of are the scripts that a session of s is played from. A session that went on
// at the same time may answer for it, since clients that are at it in parallel
// come in any order.
func (t *Tape) of(s *script) []*script {
	if t.opts.Strict {
		return []*script{s}
	}
	return append([]*script{s}, s.others...)
}

// serve replays a session over a pair of streams.
func (t *Tape) serve(ctx context.Context, s *script, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &pipe{mcpwire.NewWriter(out)}
	p := newPlay(t, t.of(s), w, cancel)
	p.run(ctx, s.start, mcpwire.Message{})
	read := make(chan error, 1)
	go func() { read <- p.read(ctx, in, w) }()
	var err error
	select {
	case err = <-read:
		close(p.silent)
	case <-ctx.Done(): // the read ends with its stream
	}
	p.end()
	return err
}

// end waits for what is under way. Nothing begins any more.
func (p *play) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.groups.Wait()
}

// pipe is an outlet that is a stream of lines.
type pipe struct{ *mcpwire.Writer }

// put writes what is a message. Where the answer over HTTP had none, the
// client gets an error that says so. When the client is gone, so is the next
// read.
func (w *pipe) put(g *group, m mcpwire.Message, n int, line []byte) {
	s := &g.steps[n]
	switch {
	case s.sub != nil && s.kind == hangup:
	case s.kind == answer:
		_ = w.Write(replace(line, s.id(g, m), "id"))
	case s.kind == say && len(line) > 0:
		_ = w.Write(line)
	case g.answered || !m.IsRequest() || s.stream != 0:
	case s.kind == begin && (s.http.Status >= 300 || s.text != ""):
		_ = w.Write(failure(m.ID, fmt.Sprintf("the answer was HTTP %d: %s", s.http.Status, prose.Excerpt(s.text, 500))))
	case s.kind == hangup && (n == 0 || g.steps[n-1].text == ""):
		_ = w.Write(failure(m.ID, strings.TrimSuffix("the answer ended early: "+s.text, ": ")))
	}
}

// failure is an answer that is an error of ours.
func failure(id json.RawMessage, text string) []byte {
	return mcpwire.EncodeReply(id, nil, &jsonrpc.Error{Code: missCode, Message: text})
}

// read takes what the client says.
func (p *play) read(ctx context.Context, in io.Reader, w *pipe) error {
	r := mcpwire.NewReader(in, nil)
	for ctx.Err() == nil {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		switch {
		case errors.As(err, &junk):
			p.tape.miss("%v", err)
			_ = w.Write(junkAnswer(junk.ID, junk.Why))
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil:
			return fmt.Errorf("replaying tape %q: %w", p.tape.name, err)
		default:
			p.take(ctx, m, w)
		}
	}
	return nil
}

// junkAnswer answers anything that is not a message.
func junkAnswer(id json.RawMessage, why string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return mcpwire.Message{ID: id, Error: &jsonrpc.Error{Code: -32700, Message: why}}.Encode()
}

// take reacts to a message. What the server would say to it and the tape does
// not is written to w.
func (p *play) take(ctx context.Context, m mcpwire.Message, w *pipe) {
	switch {
	case m.IsResponse():
		p.answered(m)
	case m.IsRequest():
		g, refusal := p.find(m)
		if g == nil {
			_ = w.Write(refusal)
			return
		}
		if m.Method == "initialize" {
			p.greeted()
		}
		p.run(ctx, g, m)
	default:
		if g := p.noted(m); g != nil {
			p.run(ctx, g, m)
		}
	}
}

// find finds what was recorded of a request, or what to say instead.
func (p *play) find(m mcpwire.Message) (*group, []byte) {
	g, miss := p.tape.request(p.scripts, m)
	switch {
	case g != nil:
		return g, nil
	case miss != "":
		return nil, failure(m.ID, miss)
	}
	return nil, mcpwire.Message{ID: m.ID, Result: json.RawMessage("{}")}.Encode() // a ping more or less
}

// noted takes a notification of the client.
func (p *play) noted(m mcpwire.Message) *group {
	if m.Method == "notifications/cancelled" {
		start, end := member(m.Params, "requestId")
		p.mu.Lock()
		if cancel := p.inFlight[mcpwire.Key(m.Params[start:end])]; cancel != nil {
			cancel()
		}
		p.mu.Unlock()
	}
	return p.tape.note(p.scripts, m)
}

// answered takes the client's answer to a request of the server.
func (p *play) answered(m mcpwire.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.waiting[m.Key()]; c != nil {
		delete(p.waiting, m.Key())
		c <- m // has room
		return
	}
	p.early[m.Key()] = m
}

// run plays a group: at once when nothing in it takes time, so that the order
// of answers is that of requests.
func (p *play) run(ctx context.Context, g *group, m mcpwire.Message) {
	at := g.at
	quick := p.tape.opts.Speed == 0
	for _, s := range g.steps {
		quick = quick && s.kind != await && s.kind != withdrawn && s.kind != passed
	}
	if quick {
		p.steps(ctx, g, m, at, p.out)
		return
	}
	p.begin(ctx, m, func(ctx context.Context) { p.steps(ctx, g, m, at, p.out) })
}

// begin runs f, which a cancellation of m ends, or who calls what it returns.
// That is nil when the session is over.
func (p *play) begin(ctx context.Context, m mcpwire.Message, f func(context.Context)) context.CancelFunc {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	id := m.Key()
	if id != "" {
		p.inFlight[id] = cancel
	}
	p.groups.Go(func() {
		defer cancel()
		f(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.inFlight, id)
	})
	return cancel
}

// steps plays the steps of a group, the first of which comes after at.
func (p *play) steps(ctx context.Context, g *group, m mcpwire.Message, at float64, out outlet) {
	speed, clock := p.tape.opts.Speed, p.tape.opts.Clock
	listening := false
	begun := clock.Now() // at is then: what a wait takes too long, the next makes good
	for i := range g.steps {
		s := &g.steps[i]
		if s.kind == await {
			if !p.await(ctx, s) {
				return
			}
			begun, at = clock.Now(), s.at
		} else if s.kind == withdrawn {
			<-ctx.Done()
		} else if s.kind == passed {
			if !p.pass(ctx) {
				return
			}
			begun, at = clock.Now(), s.at
		} else if speed > 0 {
			due := begun.Add(time.Duration((s.at - at) / speed * float64(time.Millisecond)))
			if wait := due.Sub(clock.Now()); wait > 0 && clock.Sleep(ctx, wait) != nil {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if s.sub != nil {
			p.tell(g, m, i)
			continue
		}
		switch s.kind {
		case say:
			if line := s.now(g, m); line != nil {
				out.put(g, m, i, line)
			}
			listening = listening || p.listens(g, m, out)
		case answer, begin, hangup:
			out.put(g, m, i, s.bytes())
		case complain:
			fmt.Fprintln(p.tape.opts.Stderr, s.text)
		case leave:
			out.put(g, m, i, nil)
			p.leave()
			return
		case await, withdrawn, passed:
		}
	}
	if !listening {
		p.listens(g, m, out)
	}
}

// listens has a request that listens told what there is, if it is one.
func (p *play) listens(g *group, m mcpwire.Message, out outlet) bool {
	if g.listens {
		p.listen(g, m, out)
	}
	return g.listens
}

// now is what the server says, about the ids of this client. It is nil when
// the client asked for no progress.
func (s *step) now(g *group, m mcpwire.Message) []byte {
	line := s.bytes()
	if s.msg.Frame == nil {
		return line
	}
	if s.msg.Method == "notifications/progress" && g.token != "" {
		if start, end := member(line, "params", "progressToken"); string(line[start:end]) == g.token {
			token := tokenOf(m)
			if token == "" {
				return nil
			}
			return replace(line, []byte(token), "params", "progressToken")
		}
	}
	if start, end := member(line, "params", "_meta", subscription); end > 0 && mcpwire.Key(line[start:end]) == g.msg.Key() {
		line = replace(line, m.ID, "params", "_meta", subscription)
	}
	return line
}

// await waits for the client's answer, and reports whether it came.
func (p *play) await(ctx context.Context, s *step) bool {
	id := s.msg.Key()
	p.mu.Lock()
	got, ok := p.early[id]
	delete(p.early, id)
	answer := make(chan mcpwire.Message, 1)
	if !ok {
		p.waiting[id] = answer
	}
	p.mu.Unlock()
	if !ok {
		select {
		case got = <-answer:
		case <-ctx.Done():
			return false
		case <-p.silent:
			return false
		}
	}
	if (got.Error == nil) != (s.msg.Error == nil) {
		p.tape.miss("the answer to the server's request %s differs from line %d: recorded %s, now %s", s.msg.ID, s.line, outcome(s.msg), outcome(got))
	} else if a, b := string(clean(p.tape.secrets, got.Result, nil)), string(s.msg.Result); a != b {
		p.tape.opts.Logf("tape %q: the answer to the server's request %s differs from line %d: recorded %s, now %s",
			p.tape.name, s.msg.ID, s.line, prose.Excerpt(b, 80), prose.Excerpt(a, 80))
	}
	return true
}

// longestPass is how long the answer is held that a client did not wait for when
// it was recorded: another one, which waits longer, gets it then.
const longestPass = 10 * time.Second

// pass waits until the client initializes, and reports whether it may still hear
// the answer to what it asked before.
func (p *play) pass(ctx context.Context) bool {
	wait, stop := context.WithTimeout(ctx, longestPass)
	defer stop()
	select {
	case <-p.greeting:
	case <-wait.Done():
	case <-p.silent:
		return false
	}
	return ctx.Err() == nil
}

func outcome(m mcpwire.Message) string {
	if m.Error != nil {
		return fmt.Sprintf("error %d", m.Error.Code)
	}
	return "a result"
}
