// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
)

// Store is what an endpoint holds from one request to the next: responses and
// their items, conversations, and threads. Later requests refer to them and send
// only what is new. The mock model keeps what it said itself, and the journal of
// a real endpoint what goes by, so that both read a later request alike. The zero
// Store is ready for use, a nil one holds nothing, and methods may be called from
// several goroutines.
type Store struct {
	// Bytes is how much conversation is held, about: of responses and of
	// threads each. The oldest are forgotten first. 0 forgets nothing.
	Bytes int
	// Complete returns an item of a conversation as the endpoint lists it. The
	// label names its place: no two items have the same one. nil changes
	// nothing.
	Complete func(label string, item json.RawMessage) json.RawMessage

	mu        sync.Mutex // guards the rest
	responses map[string]*Response
	items     map[string]harness.Message
	order     []string // of responses
	size      int      // of responses

	conversations map[string]*conversation
	made          int // conversations

	threads     map[string]*Thread // by the id of the reply that they end in
	threadOrder []string
	threadSize  int
}

// Response is a response that the endpoint stores.
type Response struct {
	ID string
	// Messages are the conversation up to and with the response.
	Messages []harness.Message
	// Input are the items of the request.
	Input []json.RawMessage
	// Items are those of the response.
	Items []Item
	// Size is how many bytes it counts for.
	Size int
	// Render writes the response once more; nil where nobody asks.
	Render func() []byte
}

// Keep stores a response.
func (s *Store) Keep(r *Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(r.ID)
	if s.responses == nil {
		s.responses, s.items = make(map[string]*Response), make(map[string]harness.Message)
	}
	for _, item := range r.Items {
		if item.ID != "" {
			s.items[item.ID] = item.Message
		}
	}
	s.responses[r.ID] = r
	s.order = append(s.order, r.ID)
	s.size += r.Size
	for s.Bytes > 0 && s.size > s.Bytes && len(s.order) > 1 {
		s.forget(s.order[0])
	}
}

// Forget deletes a response and reports whether there was one.
func (s *Store) Forget(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forget(id)
}

// forget is Forget; s.mu is held.
func (s *Store) forget(id string) bool {
	r := s.responses[id]
	if r == nil {
		return false
	}
	for _, item := range r.Items {
		delete(s.items, item.ID)
	}
	delete(s.responses, id)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == id })
	s.size -= r.Size
	return true
}

// Stored returns a response; nil when there is none.
func (s *Store) Stored(id string) *Response {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.responses[id]
}

// Response returns the conversation up to and with a response.
func (s *Store) Response(id string) ([]harness.Message, bool) {
	if r := s.Stored(id); r != nil {
		return r.Messages, true
	}
	return nil, false
}

// Item returns what an item of a response said.
func (s *Store) Item(id string) (harness.Message, bool) {
	if s == nil {
		return harness.Message{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.items[id]
	return m, ok
}

// Reset forgets everything.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.responses, s.items, s.order, s.size = nil, nil, nil, 0
	s.conversations, s.made = nil, 0
	s.threads, s.threadOrder, s.threadSize = nil, nil, 0
}

// Thread returns what is held under the id of a reply.
func (s *Store) Thread(id string) (Thread, bool) {
	if s == nil {
		return Thread{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.threads[id]; t != nil {
		return *t, true
	}
	return Thread{}, false
}

// KeepThread holds a conversation under the id of the reply that it ends in.
// previous is the id that it went on from, if it did, body the request, and t
// what it held before message, which is that of the reply.
func (s *Store) KeepThread(id, previous string, body []byte, t Thread, message json.RawMessage) {
	t.Messages = append(slices.Clip(t.Messages), message)
	s.mu.Lock()
	defer s.mu.Unlock()
	if from := s.threads[previous]; from != nil {
		from.Continued = body
	}
	if s.threads == nil {
		s.threads = make(map[string]*Thread)
	}
	if s.threads[id] == nil {
		s.threadOrder = append(s.threadOrder, id)
		s.threadSize += len(body) + len(message)
	}
	s.threads[id] = &t
	for s.Bytes > 0 && s.threadSize > s.Bytes && len(s.threadOrder) > 1 {
		delete(s.threads, s.threadOrder[0])
		s.threadOrder = s.threadOrder[1:]
		s.threadSize = 0
		for _, id := range s.threadOrder {
			for _, m := range s.threads[id].Messages {
				s.threadSize += len(m)
			}
		}
	}
}

// Thread is a conversation that the endpoint holds.
type Thread struct {
	// Messages are those up to and with the response, as they were sent.
	Messages []json.RawMessage
	// System and Tools are those that the thread was begun with; nil when it
	// had none.
	System, Tools json.RawMessage
	// Continued is the body of the request that went on with it; nil when none
	// has. A response is continued once; the same request may come again.
	Continued []byte
}

// conversation is what the endpoint keeps of a conversation.
type conversation struct {
	meta  json.RawMessage
	items []json.RawMessage
	next  int // number of the next item, for its label
	// body is the request that the last items came with, and before how many
	// there were then.
	body   []byte
	before int
}

// Conversation returns the items of a conversation, without those that the
// request body itself has put there when it came before.
func (s *Store) Conversation(id string, body []byte) ([]json.RawMessage, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	switch {
	case c == nil:
		return nil, false
	case c.body != nil && bytes.Equal(c.body, body):
		return slices.Clone(c.items[:c.before]), true
	}
	return slices.Clone(c.items), true
}

// Create makes a conversation, in place of one with the same id. Name gives
// the nth one, counted from 1, its id.
func (s *Store) Create(name func(n int) string, meta json.RawMessage, items []json.RawMessage) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	id = name(s.made)
	c := &conversation{meta: meta}
	s.add(c, id, items)
	if s.conversations == nil {
		s.conversations = make(map[string]*conversation)
	}
	s.conversations[id] = c
	return id
}

// Meta returns the metadata of a conversation; ok is false where there is no
// such conversation.
func (s *Store) Meta(id string) (meta json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	if c == nil {
		return nil, false
	}
	return c.meta, true
}

// SetMeta gives a conversation other metadata.
func (s *Store) SetMeta(id string, meta json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conversations[id]; c != nil {
		c.meta, c.body = meta, nil
	}
}

// Add adds items to a conversation and returns them as they are listed.
func (s *Store) Add(id string, items []json.RawMessage) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	if c == nil {
		return nil
	}
	from := len(c.items)
	c.body = nil
	s.add(c, id, items)
	return slices.Clone(c.items[from:])
}

// add adds items; s.mu is held.
func (s *Store) add(c *conversation, id string, items []json.RawMessage) {
	for _, item := range items {
		c.next++
		if s.Complete != nil {
			item = s.Complete(id+" "+strconv.Itoa(c.next), item)
		}
		c.items = append(c.items, item)
	}
}

// Extend adds the items that a request brought, and those that were answered,
// to a conversation. The same request again takes the place of the first.
func (s *Store) Extend(id string, body []byte, input, output []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	if c == nil {
		return
	}
	if c.body != nil && bytes.Equal(c.body, body) {
		c.items = c.items[:c.before]
	}
	c.body, c.before = bytes.Clone(body), len(c.items)
	s.add(c, id, input)
	s.add(c, id, output)
}

// Known makes a conversation that the endpoint has from before, or from
// elsewhere, where there is none.
func (s *Store) Known(id string) {
	if _, known := s.Meta(id); !known {
		s.Create(func(int) string { return id }, nil, nil)
	}
}

// Listed takes all items of a conversation as the endpoint itself lists them.
func (s *Store) Listed(id string, items []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	if c == nil {
		c = &conversation{}
		if s.conversations == nil {
			s.conversations = make(map[string]*conversation)
		}
		s.conversations[id] = c
	}
	if len(items) != len(c.items) {
		c.body = nil
	}
	c.items = slices.Clone(items)
}

// DeleteItem takes an item out of a conversation and reports whether it was
// there.
func (s *Store) DeleteItem(id, item string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[id]
	if c == nil {
		return false
	}
	at := ItemAt(c.items, item)
	if at < 0 {
		return false
	}
	c.items, c.body = slices.Delete(slices.Clone(c.items), at, at+1), nil
	return true
}

// Delete deletes a conversation.
func (s *Store) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conversations, id)
}

// ItemAt is the place of an item; below 0 it is not there.
func ItemAt(items []json.RawMessage, id string) int {
	return slices.IndexFunc(items, func(item json.RawMessage) bool { return ItemID(item) == id })
}

// ItemID is the id of an item; empty when it has none.
func ItemID(item json.RawMessage) string {
	var o struct{ ID string }
	_ = json.Unmarshal(item, &o) // what cannot be read has none
	return o.ID
}
