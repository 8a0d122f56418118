// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// WordsOf returns what a text was cut into; nil when it was not.
func (c *content) WordsOf(s string) []string {
	for i := range c.words {
		if c.words[i].text == s {
			return c.words[i].words
		}
	}
	return nil
}

// seeds are what the random numbers of label begin with.
func (m *Mock) seeds(label string) (uint64, uint64) {
	return uint64(m.opts.Seed) ^ m.program.hash, hashOf(label)
}

// hashOf is the FNV-1a hash of s, without the interface around it: each reply
// needs one.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// givenReply is a reply as it is given at one position: the tools have the names
// that the client offers, and all has ids.
type givenReply struct {
	content   *content
	fragments *dialect.Fragments // nil cuts as the profile does
	habits    *dialect.Habits    // nil spells as the profile does
	id        string
	created   int64
	calls     []givenCall
}

type givenCall struct {
	harness.ToolCall
	server, tool string
}

// newGiven returns a reply with room for so many calls. The journal keeps many
// thousands, mostly of one call: each is one object then.
func newGiven(calls int) *givenReply {
	if calls != 1 {
		return &givenReply{calls: make([]givenCall, 0, calls)}
	}
	one := new(struct {
		givenReply
		call [1]givenCall
	})
	one.calls = one.call[:0]
	return &one.givenReply
}

// epoch is when every mock began: ids and times are the same in every run.
const epoch = 1767225600 // 2026-01-01T00:00:00Z

// giveAt gives the reply of a position, which is computed once. An error
// other than a [scriptError] is a miss.
func (m *Mock) giveAt(s *served, x *exchange) (*givenReply, error) {
	s.say.Lock()
	defer s.say.Unlock()
	if s.given != nil {
		return s.given, nil
	}
	sp, err := m.giveReply(s.script, x, s.turn+1, s.reply+1, "turn "+strconv.Itoa(s.turn+1)+" reply "+strconv.Itoa(s.reply+1))
	if err != nil {
		return nil, err
	}
	sp.created = epoch + int64(60*s.turn+s.reply)
	m.mu.Lock()
	s.given = sp
	m.mu.Unlock()
	return sp, nil
}

// giveReply gives a reply. label tells its ids from those of others.
func (m *Mock) giveReply(r *reply, x *exchange, turn, n int, label string) (*givenReply, error) {
	c, content := x.chat, r.content
	if content == nil {
		ask, err := m.ask(c, turn, n)
		if err != nil {
			return nil, err
		}
		said, err := guard(func() (Reply, error) { return r.Func(ask) })
		if err != nil {
			return nil, &scriptError{err}
		}
		if content, err = compileContent(said); err != nil {
			return nil, &scriptError{err}
		}
	}
	var random rand.PCG
	random.Seed(m.seeds(label))
	ids, callIDs := x.ids()
	sp := newGiven(len(content.calls))
	if r.Habits != nil || m.program.Habits != nil || len(m.program.Echo) > 0 {
		sp.habits = m.spelling(r)
	}
	if sp.habits != nil && sp.habits.IDs == dialect.IDNumber {
		callIDs = dialect.IDs{Len: 9, Alphabet: "123456789"}
	}
	sp.content, sp.fragments, sp.id, sp.created = content, cmp.Or(r.Fragments, m.program.Fragments), makeID(&random, ids, 0), epoch
	for i, call := range content.calls {
		sc := givenCall{ToolCall: harness.ToolCall{ID: makeID(&random, callIDs, i), Name: call.tool, Arguments: call.args}}
		if err := m.resolve(&sc, call.unoffered, c.Tools()); err != nil {
			x.unoffered = call.tool
			return nil, err
		}
		sp.calls = append(sp.calls, sc)
	}
	return sp, nil
}

// ruleFor returns the first of rules that applies, and a label for this use
// of it; nil when none does. base is its place among the counters.
func (m *Mock) ruleFor(rules []rule, base int, x *exchange) (r *rule, label string, err error) {
	var ask *Ask
	for i := range rules {
		r := &rules[i]
		if r.When != nil {
			if ask == nil {
				if ask, err = m.ask(x.chat, 0, 0); err != nil {
					return nil, "", err
				}
			}
			ok, err := guard(func() (bool, error) { return r.When(ask) })
			if err != nil {
				return nil, "", &scriptError{located("condition of a rule", r.Pos, err)}
			}
			if !ok {
				continue
			}
		}
		if r.Chance > 0 && x.lots().draw("rule "+strconv.Itoa(base+i)) >= r.Chance {
			continue
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.state.uses[base+i]++
		return r, fmt.Sprintf("rule %d use %d", base+i, m.state.uses[base+i]), nil
	}
	return nil, "", nil
}

// ids returns how the ids of a reply and of its calls are made.
func (x *exchange) ids() (reply, call dialect.IDs) {
	reply, call = x.api.ReplyID, x.api.CallID
	if s := x.preset.style; s != nil {
		reply, call = cmp.Or(s.ID, reply), cmp.Or(s.CallID, call)
	}
	return reply, call
}

// letters are what ids are made of where nothing else is said.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// makeID returns the id of the n-th of a kind, from 0.
func makeID(r *rand.PCG, s dialect.IDs, n int) string {
	if s.Counted {
		return s.Prefix + strconv.Itoa(n)
	}
	alphabet := cmp.Or(s.Alphabet, letters)
	var space [64]byte
	b := append(space[:0], s.Prefix...)
	for range s.Len {
		b = append(b, alphabet[below(r, uint64(len(alphabet)))])
	}
	return string(b)
}

// below returns what [rand.Rand.Uint64N] does, without its interface to the
// source: an id takes dozens.
func below(r *rand.PCG, n uint64) uint64 {
	if n&(n-1) == 0 {
		return r.Uint64() & (n - 1)
	}
	for {
		if high, low := bits.Mul64(r.Uint64(), n); low >= n || low >= -n%n {
			return high
		}
	}
}

// answer gives a reply. After an error nothing has been sent.
func (m *Mock) answer(x *exchange, sp *givenReply) error {
	reply := m.wireReply(x, sp)
	var adjust func(*dialect.Reply) error
	if !x.api.Calls || x.chat.Asks() {
		adjust = m.adjust(x, sp)
	}
	if adjust != nil {
		reply.Usage = x.usage(sp.content)
		if err := adjust(reply); err != nil {
			return err
		}
		x.changed = reply.Clone()
	}
	m.answerWith(x, sp, reply)
	return nil
}

// answerWith gives a reply that is what the request asks for.
func (m *Mock) answerWith(x *exchange, sp *givenReply, reply *dialect.Reply) {
	if x.effects.reply != nil {
		x.effects.reply(x, reply)
	}
	x.style = m.styleOf(x, sp)
	if x.effects.style != nil {
		own := *x.style
		x.style = &own
		x.effects.style(x, x.style)
	}
	if x.style.Fragments.ID == dialect.PlaceNever {
		m.withoutIDs(x, reply)
	}
	odd := x.style.Habits != dialect.Habits{}
	if odd {
		reply = x.spell(reply)
	}
	x.wire = reply
	x.buffers = written.Get().(*dialect.Buffers)
	body := x.write(reply)
	if odd {
		x.spellIDs(sp, body)
	}
	if body.Stream {
		body.Writes = x.style.Fragments.Writes
	}
	if x.effects.body != nil {
		x.effects.body(x, body)
	}
	if x.struckBy != nil || x.api.Objects && x.rewrites(reply) {
		x.changed = asReceived(x, reply, body)
		unpad(x.style, x.changed)
	}
	m.noteTold(x)
	x.given, x.status = sp, body.Status
	m.record(x.entry, nil)
	m.send(x, body)
	if b := x.buffers; cap(b.Bytes) <= maxPooled {
		written.Put(b)
	}
	x.over = x.struckBy == nil && x.proxied == nil && x.changed == nil
}

// written are buffers of bodies that were sent.
var written = sync.Pool{New: func() any { return new(dialect.Buffers) }}

// usualStyle is how providers write.
var usualStyle = new(dialect.Style)

// styleOf is the style of the habits, with the fragments of the script. It may
// be shared.
func (m *Mock) styleOf(x *exchange, sp *givenReply) *dialect.Style {
	from := cmp.Or(x.preset.style, usualStyle)
	if sp.fragments == nil && sp.habits == nil {
		return from
	}
	own := *from
	style := &own
	if f := sp.fragments; f != nil {
		style.Fragments = *f
		style.Fragments.Seed ^= m.opts.Seed
	}
	if sp.habits != nil {
		style.Habits = *sp.habits
	}
	return style
}

// wireReply is a reply as the dialects take it.
func (m *Mock) wireReply(x *exchange, sp *givenReply) *dialect.Reply {
	c := sp.content
	one := &x.said
	one.choice[0] = dialect.Choice{Text: c.say, Reasoning: c.reasoning, Refusal: c.refusal, Finish: c.finish, Calls: one.call[:0]}
	for _, call := range sp.calls {
		one.choice[0].Calls = append(one.choice[0].Calls, dialect.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	one.Reply = dialect.Reply{
		ID: sp.id, Created: sp.created, Model: cmp.Or(x.preset.model, x.chat.Model()), Choices: one.choice[:],
		IncludeUsage: x.chat.IncludeUsage(), Fingerprint: m.program.fingerprint, Seed: hashOf(sp.id), Cut: c,
	}
	// A plain stream does not tell it, and counting takes longer than the rest.
	if !x.plainChat() || !x.stream() || x.chat.IncludeUsage() || x.struckBy != nil || sp.fragments != nil || sp.habits != nil {
		one.Usage = x.usage(c)
	}
	return &one.Reply
}

// send writes a body at the pace of the options, and records whether all of
// it was delivered.
func (m *Mock) send(x *exchange, b *dialect.Body) {
	s := &x.sender
	s.direct.w = x.w
	s.x, s.body, s.ctx, s.line, s.buf = x, b, x.r.Context(), &s.direct, buffers.Get().(*bytes.Buffer)
	defer putBuffer(s.buf)
	if x.mayWait(b) {
		var cancel context.CancelFunc
		s.ctx, cancel = context.WithCancel(s.ctx)
		defer cancel()
		defer context.AfterFunc(m.ctx, cancel)()
	}
	if m.opts.Jitter > 0 && m.paced() {
		s.jitter = m.source("jitter " + x.givenID() + strconv.Itoa(x.attempt))
	}
	if b.Writes > 0 {
		s.cuts = m.source("writes " + x.givenID() + strconv.Itoa(x.attempt))
	}
	if err := s.run(); err != nil {
		s.line.cut() // a reply cut short must not look whole
	}
}

// mayWait reports whether a body may take longer than it takes to write it.
func (x *exchange) mayWait(b *dialect.Body) bool {
	return x.m.paced() || b.HeadDelay > 0 ||
		slices.ContainsFunc(b.Frames, func(f dialect.Frame) bool { return f.Delay > 0 || f.Then != dialect.ThenNext })
}

// sender is one body on its way.
type sender struct {
	x      *exchange
	body   *dialect.Body
	ctx    context.Context
	buf    *bytes.Buffer // due, but not sent
	line   line
	begun  bool       // the head was sent
	jitter *rand.Rand // nil without
	pace   pace
	cuts   *rand.Rand // of writes; nil without
	direct responseLine
	whole  []byte // all of the body, where nothing is to be said on the way
}

func (s *sender) run() error {
	m, b := s.x.m, s.body
	s.header()
	if b.RawHead {
		raw, err := s.line.hijack(false)
		if err != nil {
			return err
		}
		s.line = raw
	}
	if err := s.wait(b.HeadDelay, 0); err != nil {
		return err
	}
	if b.EarlyHead {
		if err := s.head(); err != nil {
			return err
		}
		if err := s.line.flush(); err != nil {
			return err
		}
	}
	if err := s.wait(0, m.opts.TimeToFirstToken); err != nil {
		return err
	}
	if s.whole = s.x.untouched(b); s.whole != nil {
		return s.end()
	}
	for i := range b.Frames {
		f := &b.Frames[i]
		if err := s.wait(f.Delay, m.tokenTime()*time.Duration(f.Tokens)); err != nil {
			return err
		}
		if f.Raw {
			if err := s.raw(f.Data); err != nil {
				return err
			}
		} else {
			s.buf.Write(f.Data)
		}
		if f.Then != dialect.ThenNext {
			return s.then(f.Then)
		}
		if (m.opts.FlushEvents || f.Flush) && i < len(b.Frames)-1 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.end()
}

// untouched returns all of a body in one, where it is as the dialect wrote it and
// goes out at once; else nil.
func (x *exchange) untouched(b *dialect.Body) []byte {
	if x.buffers == nil || x.struckBy != nil || x.proxied != nil || x.m.paced() || x.m.opts.FlushEvents || b.Writes > 0 ||
		x.style.PiecePause > 0 || x.style.Habits.IDs != "" || len(b.Frames) == 0 {
		return nil
	}
	all, n := x.buffers.Bytes, 0
	for i := range b.Frames {
		n += len(b.Frames[i].Data)
	}
	if n == 0 || n != len(all) || &b.Frames[0].Data[0] != &all[0] { // it has moved while it grew
		return nil
	}
	return all
}

// header sets the headers that follow from the body.
func (s *sender) header() {
	h, b := s.x.w.Header(), s.body
	s.x.m.common(s.x)
	for k, v := range b.Header {
		if v == nil {
			delete(h, k)
		} else {
			h[k] = v
		}
	}
	if b.RawHead {
		return
	}
	if b.Stream {
		// Said here, since net/http would find out the length of a short one.
		h["Transfer-Encoding"] = s.x.m.headers.chunked
		return
	}
	n := 0
	for i, f := range b.Frames {
		if f.Raw || f.Then != dialect.ThenNext && i < len(b.Frames)-1 {
			return
		}
		n += len(f.Data)
	}
	h["Content-Length"] = []string{strconv.Itoa(n)}
}

func (s *sender) head() error {
	if s.begun {
		return nil
	}
	s.begun = true
	return s.line.head(cmp.Or(s.body.Status, http.StatusOK), s.body.Header)
}

// wait lets a fixed time pass, and one that the jitter changes. What is due
// is sent before.
func (s *sender) wait(fixed, paced time.Duration) error {
	if s.jitter != nil && paced > 0 {
		paced = time.Duration(float64(paced) * (1 + s.x.m.opts.Jitter*(2*s.jitter.Float64()-1)))
	}
	if fixed+paced <= 0 {
		return nil // the end asks whether the client is still there
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.pace.sleep(s.ctx, s.x.m.opts.Clock, fixed+paced)
}

// write hands what is due to the line, in pieces when the body says so. With
// push, the last piece is flushed by the caller.
func (s *sender) write(push bool) error {
	if err := s.head(); err != nil {
		return err
	}
	defer s.buf.Reset()
	p := s.buf.Bytes()
	if s.whole != nil {
		p = s.whole
	}
	for s.cuts != nil && len(p) > 1 {
		n := 1 + s.cuts.IntN(s.body.Writes)
		if n >= len(p) {
			break
		}
		if err := s.line.write(p[:n]); err != nil {
			return err
		}
		if err := s.line.flush(); err != nil {
			return err
		}
		p = p[n:]
	}
	if len(p) == 0 && !push {
		return nil
	}
	return s.line.write(p)
}

// end sends the rest and the proper end. The reply counts as delivered before
// that, since the client may ask again before this goroutine runs on.
func (s *sender) end() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if !s.body.Part {
		s.x.settle(true)
	}
	err := s.write(false)
	if err == nil {
		err = s.line.end(s.body.Stream)
	}
	if err != nil && !s.body.Part {
		s.x.settle(false)
	}
	return err
}

// settle records that the reply was delivered, or takes that back.
func (x *exchange) settle(delivered bool) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	x.settled(delivered)
}

// settled is settle while Mock.mu is held.
func (x *exchange) settled(delivered bool) {
	x.delivered = delivered
	x.duration = x.m.now().Sub(x.start)
	if x.served == nil {
		return
	}
	n := 1
	if !delivered {
		n = -1
	}
	x.served.delivered += n
	if x.struckBy == nil {
		x.served.clean += n
	}
}

func (m *Mock) paced() bool { return m.opts.TimeToFirstToken > 0 || m.opts.TokensPerSecond > 0 }

// tokenTime is how long one piece takes.
func (m *Mock) tokenTime() time.Duration {
	if m.opts.TokensPerSecond <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / m.opts.TokensPerSecond)
}

// line is what an answer goes out by: net/http's writer, or the connection
// beneath it once an answer needs to break its rules.
type line interface {
	head(status int, raw http.Header) error
	write(p []byte) error
	flush() error
	// raw writes past the framing of the body.
	raw(p []byte) error
	// end ends the body properly.
	end(stream bool) error
	// cut closes the connection without the end of the body.
	cut()
	// reset closes it as a machine does that has lost its memory.
	reset()
	// wait blocks until the client goes away or ctx ends.
	wait(ctx context.Context)
	// hijack returns the line beneath. begun says that the head was sent.
	hijack(begun bool) (line, error)
}

// responseLine writes by net/http.
type responseLine struct{ w http.ResponseWriter }

func (l responseLine) head(status int, _ http.Header) error {
	l.w.WriteHeader(status)
	return nil
}

func (l responseLine) write(p []byte) error {
	_, err := l.w.Write(p)
	return err
}

func (l responseLine) end(stream bool) error {
	if stream {
		return nil
	}
	return l.flush() // the length is known: nothing is left to write after this
}
