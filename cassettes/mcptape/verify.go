// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/shape"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// VerifyOptions are settings of [Verify]. Nil means all defaults.
type VerifyOptions struct {
	// Timeout is how long one answer may take. Default 30 s.
	Timeout time.Duration
	// Stderr gets what the server writes to its stderr, where it is a
	// command. Nil drops it.
	Stderr io.Writer
	// Abort, once closed, has the server killed at once. Nil never does.
	Abort <-chan struct{}
}

// Verify sends the client's side of a recording to a server, which is a
// command, a pipe or a URL, and compares what comes back with the recording by its
// shape: texts may differ, what clients depend on may not. Lists, of tools
// above all, are compared entry by entry. What has the placeholder of a secret,
// a person or a place in it is not sent, since it is not what was recorded: the
// error is then an [UnaskedError], beside what was found. A recording in which no
// request has an answer is an error: there is nothing to compare.
func Verify(ctx context.Context, rec *Recording, server harness.Server, opts *VerifyOptions) ([]shape.Difference, error) {
	var o VerifyOptions
	if opts != nil {
		o = *opts
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if rec.Answered() == 0 {
		return nil, errors.New("no request of the recording has an answer, so there is nothing to compare: record it again")
	}
	v := &verifier{opts: o}
	var sessions []int // in the order of the tape
	of := map[int][]Frame{}
	for _, f := range rec.Frames {
		if of[f.Session] == nil {
			sessions = append(sessions, f.Session)
		}
		of[f.Session] = append(of[f.Session], f)
	}
	for n, id := range sessions {
		frames := of[id]
		if err := v.session(ctx, frames, server); err != nil {
			return v.found, fmt.Errorf("verifying session %d: %w", n+1, err)
		}
	}
	order := []shape.Tier{shape.Breaking, shape.Risky, shape.Minor}
	slices.SortStableFunc(v.found, func(a, b shape.Difference) int {
		return slices.Index(order, a.Tier) - slices.Index(order, b.Tier)
	})
	if len(v.unasked) > 0 {
		return v.found, &UnaskedError{v.unasked}
	}
	return v.found, nil
}

// UnaskedError says which requests of a recording were not sent.
type UnaskedError struct{ Requests []string }

func (e *UnaskedError) Error() string {
	return fmt.Sprintf("requests that were not sent, because they contain placeholders for secrets: %d (%s)", len(e.Requests), strings.Join(e.Requests, "; "))
}

type verifier struct {
	opts    VerifyOptions
	found   []shape.Difference
	unasked []string // requests with placeholders
}

func (v *verifier) tell(tier shape.Tier, path, format string, args ...any) {
	d := shape.Difference{Tier: tier, Path: path, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(v.found, d) { // lists are asked for again and again
		v.found = append(v.found, d)
	}
}

// peer is the server that is asked.
type peer struct {
	conn io.ReadWriteCloser
	out  *mcpwire.Writer

	mu      sync.Mutex // guards what follows
	waiting map[string]chan mcpwire.Message
	methods map[string]bool              // what it said unasked
	answers map[string][]mcpwire.Message // recorded ones, by method of the server's request
	ended   chan struct{}
	heard   chan struct{} // has room for one; reports a new method
}

func (v *verifier) dial(ctx context.Context, server harness.Server) (*peer, error) {
	var conn io.ReadWriteCloser
	var err error
	switch {
	case server.Dial == nil && server.URL != "" && !mcpwire.IsSocket(server):
		conn, err = dialHTTP(server)
	case server.Dial == nil && server.URL == "" && len(server.Command) == 0:
		err = errors.New("the server has neither command, pipe nor URL")
	default:
		conn, err = mcpwire.Dial(ctx, server, mcpwire.DialOptions{AllEnv: true, Stderr: v.opts.Stderr, Abort: v.opts.Abort})
	}
	if err != nil {
		return nil, err
	}
	return &peer{
		conn: conn, out: mcpwire.NewWriter(conn), waiting: map[string]chan mcpwire.Message{}, methods: map[string]bool{},
		answers: map[string][]mcpwire.Message{}, ended: make(chan struct{}), heard: make(chan struct{}, 1),
	}, nil
}

// read takes what the server says, and answers its requests as recorded.
func (p *peer) read() {
	defer close(p.ended)
	r := mcpwire.NewReader(p.conn, nil)
	for {
		m, err := r.Next()
		var junk *mcpwire.JunkError
		if errors.As(err, &junk) {
			continue
		}
		if err != nil {
			return
		}
		p.mu.Lock()
		if m.IsResponse() {
			if c := p.waiting[m.Key()]; c != nil {
				delete(p.waiting, m.Key())
				c <- m // has room
			}
			p.mu.Unlock()
			continue
		}
		p.methods[m.Method] = true
		select {
		case p.heard <- struct{}{}:
		default:
		}
		reply := mcpwire.Message{ID: m.ID, Error: &jsonrpc.Error{Code: -32601, Message: "the recording has no answer to " + m.Method}}
		if list := p.answers[m.Method]; len(list) > 0 && !redact.Marked(list[0].Frame) {
			reply.Result, reply.Error = list[0].Result, list[0].Error
			p.answers[m.Method] = list[1:]
		} else if m.Method == "ping" {
			reply.Result, reply.Error = json.RawMessage("{}"), nil
		}
		p.mu.Unlock()
		if m.IsRequest() {
			_ = p.out.Write(reply.Encode()) // as for any write here, the end of the reads tells
		}
	}
}

// session replays one session's client.
func (v *verifier) session(ctx context.Context, frames []Frame, server harness.Server) error {
	p, err := v.dial(ctx, server)
	if err != nil {
		return err
	}
	replies, said := p.recorded(frames)
	unasked := len(v.unasked)
	stop := context.AfterFunc(ctx, func() { p.conn.Close() })
	go p.read()
	defer func() {
		stop()
		p.conn.Close()
		<-p.ended
	}()
	sent := map[string]chan mcpwire.Message{} // requests under way
	asked := map[string]mcpwire.Message{}
	lines := map[string]int{}
	for i := range frames {
		f := &frames[i]
		for _, m := range f.messages() {
			id := m.Key()
			switch {
			case f.Dir == In && redact.Marked(m.Frame):
				if m.IsRequest() {
					v.unasked = append(v.unasked, fmt.Sprintf("line %d %s", f.line, nameOf(m)))
				}
			case f.Dir == In && m.IsRequest():
				lines[id], asked[id] = f.line, m
				if listOf(m.Method) != nil {
					continue // when its answer is due
				}
				answer := make(chan mcpwire.Message, 1)
				p.mu.Lock()
				p.waiting[id] = answer
				p.mu.Unlock()
				if replies[id] {
					sent[id] = answer
				}
				_ = p.out.Write(m.Frame)
			case f.Dir == In && m.IsNotification():
				_ = p.out.Write(m.Frame)
			case f.Dir == Out && m.IsResponse():
				request, ok := asked[id]
				if !ok {
					continue
				}
				delete(asked, id)
				path := fmt.Sprintf("line %d %s", lines[id], nameOf(request))
				if err := v.reply(ctx, p, frames, i, request, m, sent[id], path); err != nil {
					return err
				}
			}
		}
	}
	if server.URL != "" {
		v.hear(ctx, p, said)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, method := range shape.KeysOf(p.methods, said) {
		switch {
		case !p.methods[method] && unasked < len(v.unasked): // what was not sent may set it off
		case !p.methods[method]:
			v.tell(shape.Risky, method, "the server no longer sends it")
		case !said[method] && !strings.HasPrefix(method, "notifications/"):
			v.tell(shape.Risky, method, "the server now asks for it")
		case !said[method]:
			v.tell(shape.Minor, method, "the server now sends it")
		}
	}
	return nil
}

// hear waits a little for what a server over HTTP says of its own accord, which
// may come after the last answer.
func (v *verifier) hear(ctx context.Context, p *peer, said map[string]bool) {
	patience := time.NewTimer(min(time.Second, v.opts.Timeout))
	defer patience.Stop()
	for {
		missing := false
		p.mu.Lock()
		for method := range said {
			missing = missing || !p.methods[method]
		}
		p.mu.Unlock()
		if !missing {
			return
		}
		select {
		case <-p.heard:
		case <-p.ended:
			return
		case <-ctx.Done():
			return
		case <-patience.C:
			return
		}
	}
}

// recorded goes over a session: which requests were answered, what the server
// said unasked, and what the client answered to that.
func (p *peer) recorded(frames []Frame) (replies, said map[string]bool) {
	replies, said = map[string]bool{}, map[string]bool{}
	requests := map[string]string{}
	for i := range frames {
		for _, m := range frames[i].messages() {
			switch {
			case m.IsResponse() && frames[i].Dir == Out:
				replies[m.Key()] = true
			case m.IsResponse():
				if method := requests[m.Key()]; method != "" {
					p.answers[method] = append(p.answers[method], m)
				}
			case frames[i].Dir == Out:
				said[m.Method] = true
				requests[m.Key()] = m.Method
			}
		}
	}
	return replies, said
}

// reply waits for the answer to a request and compares it.
func (v *verifier) reply(ctx context.Context, p *peer, frames []Frame, at int, request, was mcpwire.Message, answer chan mcpwire.Message, path string) error {
	l := listOf(request.Method)
	if l == nil {
		is, err := v.wait(ctx, p, answer)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		v.compare(path, request.Method, was, is)
		return nil
	}
	if start, _ := member(request.Params, "cursor"); start > 0 {
		return nil // a page: it was compared with the first
	}
	if was.Error != nil {
		is, err := v.ask(ctx, p, request.Method, request.Params, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		v.compare(path, request.Method, was, is)
		return nil
	}
	old := l.pages(was, frames[at+1:], request.Method)
	var now []json.RawMessage
	params := request.Params
	for page := 0; ; page++ {
		is, err := v.ask(ctx, p, request.Method, params, page)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if is.Error != nil {
			v.compare(path, request.Method, was, is)
			return nil
		}
		items, cursor := l.items(is.Result)
		now = append(now, items...)
		if cursor == nil || page == 1000 {
			break
		}
		if len(params) == 0 {
			params = json.RawMessage("{}")
		}
		params = withCursor(params, cursor)
	}
	v.list(l, old, now)
	return nil
}

// ask sends a request of our own and waits for its answer.
func (v *verifier) ask(ctx context.Context, p *peer, method string, params json.RawMessage, page int) (mcpwire.Message, error) {
	p.mu.Lock()
	id := json.RawMessage(fmt.Sprintf(`"verify-%s-%d"`, method, page))
	answer := make(chan mcpwire.Message, 1)
	p.waiting[mcpwire.Key(id)] = answer
	p.mu.Unlock()
	_ = p.out.Write(mcpwire.Message{ID: id, Method: method, Params: params}.Encode())
	return v.wait(ctx, p, answer)
}

func (v *verifier) wait(ctx context.Context, p *peer, answer chan mcpwire.Message) (mcpwire.Message, error) {
	timeout := time.NewTimer(v.opts.Timeout)
	defer timeout.Stop()
	select {
	case m := <-answer:
		return m, nil
	case <-ctx.Done():
		return mcpwire.Message{}, ctx.Err()
	case <-timeout.C:
		return mcpwire.Message{}, fmt.Errorf("no answer after %s", v.opts.Timeout)
	case <-p.ended:
	}
	select {
	case m := <-answer: // the last that it said
		return m, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return mcpwire.Message{}, err // that is what ended it
	}
	how := "the server ended"
	if e, ok := p.conn.(*mcpwire.Process); ok {
		select {
		case <-e.Exited(): // its output may end a moment before
		case <-timeout.C:
		}
	}
	if e, ok := p.conn.(mcpwire.ProcessConn); ok {
		how = strings.TrimSuffix(how+": "+e.Ending(), ": ")
	}
	return mcpwire.Message{}, errors.New(how)
}

// compare compares two answers.
func (v *verifier) compare(path, method string, was, is mcpwire.Message) {
	switch {
	case was.Error == nil && is.Error != nil:
		v.tell(shape.Breaking, path, "was a result, is error %d: %s", is.Error.Code, is.Error.Message)
		return
	case was.Error != nil && is.Error == nil:
		v.tell(shape.Risky, path, "was error %d, is a result", was.Error.Code)
		return
	case was.Error != nil:
		if was.Error.Code != is.Error.Code {
			v.tell(shape.Risky, path, "was error %d, is error %d", was.Error.Code, is.Error.Code)
		}
		return
	}
	v.shapes(path+": result", was.Result, is.Result, nil)
	switch method {
	case "initialize":
		for _, k := range []string{"protocolVersion", "instructions"} {
			if a, b := textAt(was.Result, k), textAt(is.Result, k); a != b && a != "" && b != "" {
				v.tell(shape.Risky, path+": result."+k, "was %q, is %q", prose.Excerpt(a, 60), prose.Excerpt(b, 60))
			}
		}
	case "tools/call":
		v.call(path, was, is)
	}
}

// call compares what results of tools have beside their keys.
func (v *verifier) call(path string, was, is mcpwire.Message) {
	a, err1 := mcpwire.ParseResult(was.Result)
	b, err2 := mcpwire.ParseResult(is.Result)
	if err1 != nil || err2 != nil {
		return // their shapes differ
	}
	switch {
	case !a.IsError && b.IsError:
		v.tell(shape.Breaking, path, "succeeded, now fails: %s", prose.Excerpt(b.Text(), 120))
		return
	case a.IsError && !b.IsError:
		v.tell(shape.Risky, path, "failed, now succeeds")
		return
	}
	if x, y := kinds(a.Content), kinds(b.Content); x != y {
		v.tell(shape.Risky, path+": result.content", "was %s, is %s", orNothing(x), orNothing(y))
	}
	if x, y := []byte(a.Text()), []byte(b.Text()); json.Valid(x) && json.Valid(y) {
		risky := shape.Risky // nobody promised that a text is JSON
		v.shapes(path+": text", x, y, &risky)
	}
}

// shapes compares two values. What breaks is of tier worst, unless that is
// nil.
func (v *verifier) shapes(path string, was, is []byte, worst *shape.Tier) {
	of := func(body []byte) *shape.Shape {
		return shape.Of(&vcr.Interaction{Response: vcr.Response{Code: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}})
	}
	for _, d := range shape.Diff(of(was), of(is)) {
		if rest, ok := strings.CutPrefix(d.Path, "body"); ok {
			d.Path = path + rest
		} else {
			d.Path = path + " " + d.Path
		}
		if worst != nil && d.Tier == shape.Breaking {
			d.Tier = *worst
		}
		v.tell(d.Tier, d.Path, "%s", d.Text)
	}
}

// kinds are the types of content blocks, runs of the same as one.
func kinds(content []json.RawMessage) string {
	var list []string
	for _, c := range content {
		list = append(list, textAt(c, "type"))
	}
	return strings.Join(slices.Compact(list), ", ")
}

func orNothing(s string) string { return cmp.Or(s, "nothing") }

// textAt is the text of a member of an object.
func textAt(object []byte, path ...string) string {
	var s string
	start, end := member(object, path...)
	_ = json.Unmarshal(object[start:end], &s) // else it is none
	return s
}
