// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/internal/toolname"
	"github.com/rehearse-dev/rehearse/internal/value"
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

// source returns the random numbers that belong to label.
func (m *Mock) source(label string) *rand.Rand {
	return rand.New(rand.NewPCG(m.seeds(label)))
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

// scriptError is an error of the script and not of the client.
type scriptError struct{ err error }

func (e *scriptError) Error() string { return e.err.Error() }

func (e *scriptError) Unwrap() error { return e.err }

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
		said, err := r.Func(ask)
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
			return nil, err
		}
		sp.calls = append(sp.calls, sc)
	}
	return sp, nil
}

// resolve gives a call the name that the client offers its tool under. A client
// that offers nothing gets the call as it is scripted, unless it names a server.
func (m *Mock) resolve(sc *givenCall, unoffered bool, offered []harness.Tool) error {
	server, tool := toolname.Split(sc.Name)
	if !unoffered && (server != "" || len(offered) > 0) {
		name, err := m.resolver.Name(sc.Name, offered)
		if err != nil {
			return m.blame(server, tool, err)
		}
		sc.Name = name
		if server != "" {
			sc.server, sc.tool = server, tool
			m.called.add(name, server+"."+tool)
			return nil
		}
	}
	if len(m.program.Servers) > 0 {
		sc.server, sc.tool, _ = m.resolver.Of(sc.Name, offered)
	}
	return nil
}

// calledTools are the server.tool names that a script called, by the names that
// the client offers them under.
type calledTools struct {
	mu     sync.Mutex // guards byName
	byName map[string]string
}

func (c *calledTools) add(offered, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]string)
	}
	c.byName[offered] = name
}

func (c *calledTools) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName = nil
}

// Called returns the tools that the script has called as server.tool, by the
// names that the client offers them under.
func (m *Mock) Called() map[string]string {
	m.called.mu.Lock()
	defer m.called.mu.Unlock()
	return maps.Clone(m.called.byName)
}

// blame says whose mistake it is that a call has no tool among those that the
// client offers: the script's, where the server itself lists none of that name.
func (m *Mock) blame(server, tool string, err error) error {
	listed, known := m.program.Servers[server]
	var names []string
	for _, t := range listed {
		if t.Name == tool {
			return err
		}
		names = append(names, t.Name)
	}
	if !known {
		return err
	}
	return &scriptError{fmt.Errorf("server %q has no tool %q%s; it has %s", server, tool, prose.DidYouMean(tool, names), strings.Join(names, ", "))}
}

// ask returns what a rule or a Func sees of a request. Turn and reply are the
// position; 0 where it has none.
func (m *Mock) ask(c *dialect.Chat, turn, n int) (*Ask, error) {
	m.mu.Lock()
	issued, texts := m.issued(c)
	if turn == 0 {
		turn = m.state.turn
	}
	m.mu.Unlock()
	a := &Ask{Request: c.Request(), Turn: turn, Reply: n, Calls: issued}
	if 0 < turn && turn <= len(m.program.turns) {
		a.User = m.program.turns[turn-1].User
	}
	for i := c.Len() - 1; a.User == "" && i >= 0; i-- {
		if c.At(i).Role() == harness.RoleUser {
			a.User = c.At(i).Message().Text
		}
	}
	readings := read(issued, texts)
	if m.program.Results == nil {
		a.readings = readings
		return a, nil
	}
	filled, err := m.program.Results(issued)
	if err != nil {
		return nil, &scriptError{err}
	}
	a.Calls = filled
	return a, nil
}

// issued returns the calls of a reply, and the text that the request has for
// each result.
func (sp *givenReply) issued(turn, n int, result func(i int) *dialect.Message) (out []harness.Call, texts []*string) {
	for i, c := range sp.calls {
		call := harness.Call{Server: c.server, Tool: c.tool, Offered: c.Name, ID: c.ID, Turn: turn, Reply: n, Index: i}
		if json.Valid([]byte(c.Arguments)) {
			call.Args = json.RawMessage(c.Arguments)
		} else {
			call.ArgsText = c.Arguments
		}
		var text *string
		if msg := result(i); msg != nil {
			call.Executed = true
			text = &[]string{msg.Message().Text}[0]
		}
		out, texts = append(out, call), append(texts, text)
	}
	return out, texts
}

// asJSON returns text when it is JSON, else text as a JSON string.
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quote(text)
}

// message returns the reply in the common vocabulary.
func (sp *givenReply) message() harness.Message {
	c := sp.content
	m := harness.Message{Role: harness.RoleAssistant, Text: c.say, Reasoning: c.reasoning, Refusal: c.refusal}
	for _, call := range sp.calls {
		m.Calls = append(m.Calls, call.ToolCall)
	}
	return m
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
			ok, err := r.When(ask)
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

// matches returns the ids of a reply's calls when they are calls: by id, or
// by name, and when exact is set by arguments too.
func (sp *givenReply) matches(calls []harness.ToolCall, exact bool) []string {
	if len(calls) != len(sp.calls) {
		return nil
	}
	var ids []string
	for i, c := range calls {
		own := sp.calls[i]
		if c.ID != own.ID && (c.Name != own.Name || exact && !sameJSON(c.Arguments, own.Arguments)) {
			return nil
		}
		ids = append(ids, own.ID)
	}
	return ids
}

// sameJSON reports whether two texts hold the same JSON value, as far as a
// number survives a client.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := value.Parse([]byte(a))
	y, errY := value.Parse([]byte(b))
	return errX == nil && errY == nil && value.EqualFunc(x, y, value.Floats)
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
	if x.struckBy != nil {
		x.changed = asReceived(x, reply, body)
		unpad(x.style, x.changed)
	}
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
