// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// state is where the conversation stands.
type state struct {
	turn   int // set by the runner, from 1; 0 goes by the user texts
	served [][]*served
	last   *served // the position that was asked for last
	queue  int     // with Arrival: positions used up
	uses   []int   // of each aside, then of each rule
	// requests are those that the faults of the script can strike.
	requests int
	faults   *fault.Player
	players  map[*rule]*fault.Player // of asides and rules
	over     *dialect.Chat           // the last request beyond the context window
}

// served is a position that was asked for.
type served struct {
	turn, reply int // from 0
	script      *reply
	chat        *dialect.Chat // as first asked
	attempts    int
	faulted     int  // requests that met a fault
	taken       bool // a request met none
	delivered   int  // replies written to their end
	clean       int  // of those, without a fault
	compacted   bool
	player      *fault.Player  // of its faults
	altered     bool           // a fault changed what was said
	told        *dialect.Reply // as it was told last, where that is not as it was given
	mute        bool           // and left no calls of it

	say   sync.Mutex  // held while the reply is computed
	given *givenReply // nil until then; also guarded by Mock.mu
}

// reached returns the number of positions of turn t that were asked for.
func (m *Mock) reached(t int) int {
	if !m.program.Arrival {
		return len(m.state.served[t])
	}
	n := m.state.queue
	for i := range t {
		n -= m.program.turns[i].count
	}
	return n
}

// withdraw takes back a position that could not be answered. m.mu is held.
func (m *Mock) withdraw(s *served) {
	if m.program.Arrival {
		return
	}
	list := m.state.served[s.turn]
	if n := len(list); n == 0 || list[n-1] != s || s.attempts > 1 {
		return
	}
	m.state.served[s.turn] = list[:len(list)-1]
	m.state.last = nil
	for _, turn := range m.state.served {
		if len(turn) > 0 {
			m.state.last = turn[len(turn)-1]
		}
	}
}

// locate finds the position that a request takes and counts it there. When
// it has none, miss says why, and final that the rules are not to be asked
// either. m.mu is held.
func (m *Mock) locate(c *dialect.Chat) (s *served, miss string, final bool) {
	if m.program.Arrival {
		s, miss = m.locateArrival(c)
		return s, miss, false
	}
	if miss := m.outside(c); miss != "" {
		return nil, miss, false
	}
	t, miss := m.turnOf(c)
	if t < 0 {
		return nil, miss, false
	}
	if s := m.retryOf(t, c); s != nil {
		if s.clean >= 2 {
			return nil, fmt.Sprintf("the same request was answered twice already at %s", m.placeOf(s)), true
		}
		s.attempts++
		return s, "", false
	}
	i, miss := m.due(t, c)
	if i < len(m.state.served[t]) {
		if !m.shortened(c) {
			return nil, miss, false
		}
		// The history was shortened: what comes after the last reply is due.
		if t, i, miss = m.afterLast(t); miss != "" {
			return nil, miss, false
		}
	}
	if i >= m.program.turns[t].count {
		return nil, given(m.program.turns[t].count, fmt.Sprintf(" of turn %d", t+1)), false
	}
	s = &served{turn: t, reply: i, script: m.program.turns[t].at(i), chat: c, attempts: 1, compacted: m.compacted(c)}
	m.state.served[t] = append(m.state.served[t], s)
	m.state.last = s
	return s, "", false
}

func (m *Mock) placeOf(s *served) string { return place(s.turn+1, s.reply+1, s.script.Pos) }

// locateArrival takes the next of the queue.
func (m *Mock) locateArrival(c *dialect.Chat) (*served, string) {
	st := &m.state
	if s := st.last; s != nil && !s.taken {
		s.attempts++
		s.chat = c
		return s, ""
	}
	n := st.queue
	for t := range m.program.turns {
		if i := n; i < m.program.turns[t].count {
			st.queue++
			st.last = &served{turn: t, reply: i, script: m.program.turns[t].at(i), chat: c, attempts: 1}
			if m.program.asks { // else nobody looks back, and a queue may be endless
				st.served[t] = append(st.served[t], st.last)
			}
			return st.last, ""
		}
		n -= m.program.turns[t].count
	}
	return nil, given(st.queue, "")
}

// given says that all replies were given.
func given(n int, of string) string {
	switch n {
	case 0:
		return fmt.Sprintf("there is no reply%s", of)
	case 1:
		return fmt.Sprintf("the one reply%s was given", of)
	}
	return fmt.Sprintf("all %d replies%s were given", n, of)
}

// outside says why a request takes no position at all; "" when it may.
func (m *Mock) outside(c *dialect.Chat) string {
	if len(m.program.Servers) == 0 || len(c.Tools()) > 0 {
		return ""
	}
	for _, turn := range m.state.served {
		for _, s := range turn {
			if s.given == nil {
				continue
			}
			for _, call := range s.given.calls {
				if resultOf(c, call.ID) != nil {
					return ""
				}
			}
		}
	}
	return "a request without tools, before any scripted call, takes no position"
}

// turnOf finds the turn of a request, from 0; below 0 there is none.
func (m *Mock) turnOf(c *dialect.Chat) (int, string) {
	turns := m.program.turns
	if len(turns) == 0 {
		if m.program.asks {
			return -1, "no turns are scripted, and no rule fits"
		}
		return -1, "no turns are scripted: a mock that began without a script is to be given one first, by load of its fixture or of its admin API"
	}
	if m.program.bare {
		return 0, ""
	}
	if n := m.state.turn; n > 0 {
		if n > len(turns) {
			return -1, fmt.Sprintf("turn %d is not scripted: the script has %d", n, len(turns))
		}
		return n - 1, ""
	}
	t := -1
	for i := range c.Len() {
		if c.At(i).Role() == harness.RoleUser {
			t = m.nextTurn(t, c.At(i).Message())
		}
	}
	if t >= 0 {
		return t, ""
	}
	if m.state.last != nil && m.shortened(c) {
		return m.state.last.turn, ""
	}
	return -1, "no user message of the request is scripted" + m.nearUser(c)
}

// nearUser says of the turn that is next how it could be begun: its text stands
// within a user message. A message may also begin a turn behind that one.
func (m *Mock) nearUser(c *dialect.Chat) string {
	turns := m.program.turns
	next := slices.IndexFunc(m.state.served[:len(turns)], func(s []*served) bool { return len(s) == 0 })
	if next < 0 {
		return ""
	}
	text := strings.TrimSpace(turns[next].User)
	for i := range c.Len() {
		if c.At(i).Role() != harness.RoleUser || text == "" {
			continue
		}
		switch said := c.At(i).Message().Text; {
		case strings.Contains(said, text):
			return fmt.Sprintf("; one has the text of turn %d among other words: user: {contains: ...} finds it there", next+1)
		case strings.Contains(strings.ToLower(said), strings.ToLower(text)):
			return fmt.Sprintf("; one has the text of turn %d in other letter case", next+1)
		}
	}
	for k := next + 1; k < len(turns); k++ {
		for i := range c.Len() {
			if !turns[k].anyUser() && c.At(i).Role() == harness.RoleUser && turns[k].begins(c.At(i).Message()) {
				return fmt.Sprintf("; one begins turn %d, and turn %d comes before it", k+1, next+1)
			}
		}
	}
	return ""
}

// nextTurn returns the turn that a user text begins when turn t is being
// played: the next one, or one after turns that were played before, since a
// shortened history may lack those. It is t when the text begins none.
func (m *Mock) nextTurn(t int, said harness.Message) int {
	for k := t + 1; k < len(m.program.turns); k++ {
		if m.program.turns[k].begins(said) {
			return k
		}
		if len(m.state.served[k]) == 0 {
			break
		}
	}
	return t
}

// begins reports whether a user message begins the turn.
func (t *Turn) begins(said harness.Message) bool {
	for _, part := range t.Contains {
		if !strings.Contains(said.Text, part) {
			return false
		}
	}
	if t.Pattern != nil && !t.Pattern.MatchString(said.Text) {
		return false
	}
	user := strings.TrimSpace(t.User)
	is := func(text string) bool { return strings.TrimSpace(text) == user }
	return user == "" || is(said.Text) || slices.ContainsFunc(said.Parts, is)
}

// anyUser reports whether any user message begins the turn.
func (t *Turn) anyUser() bool { return t.User == "" && t.Contains == nil && t.Pattern == nil }

// retryOf returns the position of turn t that was asked for with the same
// messages.
func (m *Mock) retryOf(t int, c *dialect.Chat) *served {
	list := m.state.served[t]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].chat.SameMessages(c) {
			return list[i]
		}
	}
	return nil
}

// due returns the first position of turn t whose earlier calls have been
// answered and that was not passed. When it was asked for already, miss says
// what the request lacks.
func (m *Mock) due(t int, c *dialect.Chat) (i int, miss string) {
	for i, s := range m.state.served[t] {
		if s.given == nil {
			return i, fmt.Sprintf("the request differs from the one asked before at %s", m.placeOf(s))
		}
		if len(s.given.calls) == 0 || s.mute && len(m.open(s, c)) > 0 {
			// In a script of bare replies, the next request follows it.
			if m.program.bare && s.delivered > 0 {
				continue
			}
			if s.delivered == 0 {
				return i, fmt.Sprintf("the request differs from the one asked before at %s, whose reply was not delivered", m.placeOf(s))
			}
			return i, fmt.Sprintf("turn %d ended with the text of reply %d", t+1, i+1)
		}
		if open := m.open(s, c); len(open) > 0 {
			return i, fmt.Sprintf("%s of %s has no result in the request", strings.Join(open, " and "), m.placeOf(s))
		}
	}
	return len(m.state.served[t]), ""
}

// open returns the calls of s that have no result in the request. A user
// message after them that no turn scripts is their result: some agents send
// results as text.
func (m *Mock) open(s *served, c *dialect.Chat) []string {
	var open []string
	for i, call := range s.given.calls {
		if s.told != nil && i > 0 && i >= len(s.told.Choices[0].Calls) {
			break // nobody was told of it
		}
		if s.result(i, c) == nil {
			open = append(open, call.Name+" ("+call.ID+")")
		}
	}
	if open != nil && m.observation(s, c) != nil {
		return nil
	}
	return open
}

// result returns the tool message that answers call i of s. Where a fault
// changed the calls, it is told by what the client made of them: its message
// after those that it had asked with.
func (s *served) result(i int, c *dialect.Chat) *dialect.Message {
	id := s.given.calls[i].ID
	if at := s.chat.Len(); s.altered && at < c.Len() && c.At(at).Role() == harness.RoleAssistant {
		calls := c.At(at).Message().Calls
		if i >= len(calls) {
			return nil
		}
		nth := 0
		for _, other := range calls[:i] {
			if other.ID == calls[i].ID {
				nth++
			}
		}
		for at++; at < c.Len() && c.At(at).Role() == harness.RoleTool; at++ {
			if c.At(at).CallID() != calls[i].ID {
				continue
			}
			if nth--; nth < 0 {
				return c.At(at)
			}
		}
		return nil
	}
	return resultOf(c, id)
}

// resultOf returns the tool message that answers the call id. It looks from
// the end, where the results of the current turn are.
func resultOf(c *dialect.Chat, id string) *dialect.Message {
	for i := c.Len() - 1; i >= 0; i-- {
		if m := c.At(i); m.CallID() == id && m.Role() == harness.RoleTool {
			return m
		}
	}
	return nil
}

// observation returns the first user message after s that no turn scripts.
func (m *Mock) observation(s *served, c *dialect.Chat) *dialect.Message {
	for i := s.chat.Len(); i < c.Len(); i++ {
		if msg := c.At(i); msg.Role() == harness.RoleUser && !m.scripted(msg.Message()) {
			return msg
		}
	}
	return nil
}

// scripted reports whether a user message is that of a turn.
func (m *Mock) scripted(said harness.Message) bool {
	for i := range m.program.turns {
		if t := &m.program.turns[i]; !t.anyUser() && t.begins(said) {
			return true
		}
	}
	return false
}

// shortened reports whether the client has dropped messages that it had sent
// before.
func (m *Mock) shortened(c *dialect.Chat) bool {
	last := m.state.last
	return last != nil && conversationLen(c) < conversationLen(last.chat)
}

// compacted reports whether a request lacks messages of the one before: it
// does not start with them, and is shorter than one that went on.
func (m *Mock) compacted(c *dialect.Chat) bool {
	last := m.state.last
	if last == nil || last.delivered == 0 {
		return false
	}
	return conversationLen(c) < conversationLen(last.chat)+2 && c.Common(last.chat) < last.chat.Len()
}

// conversationLen counts the messages of the conversation proper.
func conversationLen(c *dialect.Chat) int {
	n := 0
	for i := range c.Len() {
		if c.At(i).Role() != harness.RoleSystem {
			n++
		}
	}
	return n
}

// afterLast returns the position after the last one that was delivered. When
// the runner says the turn, it is in that turn.
func (m *Mock) afterLast(t int) (turn, reply int, miss string) {
	if m.state.turn == 0 && m.state.last != nil {
		t = m.state.last.turn
	}
	list := m.state.served[t]
	if n := len(list); n > 0 && list[n-1].delivered == 0 {
		return t, n, fmt.Sprintf("the history was shortened, and the reply at %s was not delivered", m.placeOf(list[n-1]))
	}
	n := len(list)
	over := n >= m.program.turns[t].count || n > 0 && list[n-1].given != nil && len(list[n-1].given.calls) == 0
	if over && !m.program.bare {
		if m.state.turn > 0 {
			return t, n, fmt.Sprintf("turn %d is over", t+1)
		}
		if t+1 >= len(m.program.turns) {
			return t, n, "the script is used up"
		}
		return t + 1, len(m.state.served[t+1]), ""
	}
	return t, n, ""
}

// issued returns the calls issued so far, in script order, and the text that
// the request has for the result of each. m.mu is held.
func (m *Mock) issued(c *dialect.Chat) (calls []harness.Call, texts []*string) {
	for _, turn := range m.state.served {
		for _, s := range turn {
			if s.given == nil {
				continue
			}
			made, given := s.given.issued(s.turn+1, s.reply+1, func(i int) *dialect.Message {
				if msg := s.result(i, c); msg != nil {
					return msg
				}
				return m.observation(s, c)
			})
			calls, texts = append(calls, made...), append(texts, given...)
		}
	}
	return calls, texts
}

// at returns the reply at position i, from 0, which is below t.count.
func (t *turn) at(i int) *reply {
	for _, r := range t.replies {
		if i -= max(r.Repeat, 1); i < 0 {
			return r
		}
	}
	panic("mockllm: position beyond the turn")
}

// pickFault returns the fault that a request meets, nil for none, and counts
// it. s is its position, rule that of an aside or a rule; both may be nil.
// m.mu is held.
func (m *Mock) pickFault(x *exchange, s *served, r *rule) *Fault {
	var player *fault.Player
	var label string
	switch {
	case s != nil:
		if s.player == nil && len(s.script.Faults) > 0 {
			label = fmt.Sprintf("turn %d reply %d", s.turn+1, s.reply+1)
			s.player = fault.NewPlayer(s.script.Faults, m.opts.Seed, label)
		}
		player = s.player
	case r != nil && len(r.reply.Faults) > 0:
		if player = m.state.players[r]; player == nil {
			player = fault.NewPlayer(r.reply.Faults, m.opts.Seed, fmt.Sprintf("rule %v", r.Pos))
			m.state.players[r] = player
		}
	}
	var anywhere *fault.Player
	if len(m.program.Faults) > 0 && x.kind != harness.KindAside {
		m.state.requests++
		if m.state.faults == nil {
			m.state.faults = fault.NewPlayer(m.program.Faults, m.opts.Seed, "everywhere")
		}
		anywhere = m.state.faults
	}
	if player == nil && anywhere == nil {
		return nil
	}
	q := m.faultRequest(x)
	switch {
	case s != nil:
		q.NoCalls = s.script.noCalls()
	case r != nil:
		q.NoCalls = r.reply.noCalls()
	}
	q.Draw = func(label string) (float64, string) {
		l := x.lots()
		return l.draw(label), string(l.digest[:])
	}
	for _, p := range []*fault.Player{player, anywhere} {
		if p == nil {
			continue
		}
		q.Apart = p == player && r != nil && r.Chance > 0
		f, err := p.Next(q)
		if err != nil {
			x.scriptErr = err
			return &Fault{Pos: f.Pos}
		}
		if f != nil {
			if s != nil {
				s.faulted++
			}
			return f
		}
	}
	return nil
}

// faultRequest is a request as placements see it.
func (m *Mock) faultRequest(x *exchange) *fault.Request {
	q := &fault.Request{
		Number: m.state.requests, Turn: x.turn, Reply: x.reply, Model: x.chat.Model(), Stream: x.chat.Stream(), Full: x.chat.Request,
		Behind: x.proxied != nil && m.profile.Forces(x.proxied.ask),
	}
	for i := x.chat.Len() - 1; i >= 0; i-- {
		if msg := x.chat.At(i); msg.Role() == harness.RoleUser {
			q.User = msg.Message().Text
			break
		}
	}
	return q
}

// noteTold has the position remember the calls as its client was told of them,
// which it answers.
func (m *Mock) noteTold(x *exchange) {
	s := x.served
	if s == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.told = x.changed; s.told != nil {
		s.altered = s.altered || slices.ContainsFunc(s.told.Choices[0].Calls, func(c dialect.Call) bool { return c.ID == "" })
	}
}
