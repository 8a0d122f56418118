// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// Pairing finds the requests that the answers of a server belong to. The client
// and whoever looks on share it, so that an answer means the same to both. It is
// not safe for concurrent use. The zero value is ready to use.
type Pairing struct {
	open map[string]bool // requests without an answer, by key; true for those that wait for ever
	// used are the ids of all requests. An answer with another is none that
	// comes late: it was meant for one of the requests that are open.
	used map[string]bool
	// left are the ids of requests that nobody waits for any more: an answer to one
	// of them is late, and no news.
	left     map[string]bool
	suspects map[string]bool // that were open when answers with strange ids came
	strange  []string        // their ids
}

// Match says what an answer is.
type Match int

// The kinds of answers.
const (
	MatchNone Match = iota // nobody has asked
	MatchOpen              // somebody waits for it
	MatchLate              // somebody has waited for it
)

// Ask announces a request.
func (p *Pairing) Ask(m Message) {
	if p.open == nil {
		p.open, p.used, p.left, p.suspects = make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	}
	p.open[m.Key()], p.used[m.Key()] = m.Method == MethodListen, true
}

// Leave says that nobody waits for the answer to a request any more.
func (p *Pairing) Leave(key string) {
	if _, ok := p.open[key]; ok {
		delete(p.open, key)
		p.left[key] = true
	}
}

// Drop says that a request has had something in place of an answer.
func (p *Pairing) Drop(key string) { delete(p.open, key) }

// Answer takes a response, and returns the key of its request. An error without
// an id belongs to the only request under way, if there is only one.
func (p *Pairing) Answer(m Message) (key string, match Match) {
	key = m.Key()
	if key == "" && m.Error != nil {
		if only := p.underWay(); len(only) == 1 {
			key = only[0]
		}
	}
	switch _, ok := p.open[key]; {
	case ok:
		delete(p.open, key)
		return key, MatchOpen
	case p.left[key]:
		delete(p.left, key)
		return key, MatchLate
	case !p.used[key]:
		for _, open := range p.underWay() {
			p.suspects[open] = true
		}
		p.strange = append(p.strange, cmp.Or(string(m.ID), "null"))
	}
	return key, MatchNone
}

// underWay are the requests without an answer that wait for one.
func (p *Pairing) underWay() (keys []string) {
	for key, lasting := range p.open {
		if !lasting {
			keys = append(keys, key)
		}
	}
	return keys
}

// Accused returns the requests that no answer will come for any more, with the
// reason: as many answers had strange ids as there are requests left that were
// open then. They are no longer open.
func (p *Pairing) Accused() map[string]error {
	for key := range p.suspects {
		if _, ok := p.open[key]; !ok {
			delete(p.suspects, key)
		}
	}
	if len(p.suspects) == 0 {
		p.strange = nil
	}
	if len(p.strange) == 0 || len(p.suspects) > len(p.strange) {
		return nil
	}
	accused := make(map[string]error)
	for key := range p.suspects {
		accused[key] = wrongID(key, strings.Join(p.strange, ", "))
		delete(p.open, key)
	}
	clear(p.suspects)
	p.strange = nil
	return accused
}

func wrongID(asked, answered string) error {
	return fmt.Errorf("%w: request %s was answered with the id %s", ErrUnusable, asked, answered)
}

// ParseBody reads the body of an HTTP answer to the request with an id: a
// message or a batch. A single error belongs to the request, whatever its id.
func ParseBody(body []byte, id json.RawMessage) ([]Message, error) {
	body = bytes.TrimPrefix(body, bom)
	messages, junk := ParseAll(body)
	if junk != nil {
		return nil, fmt.Errorf("%w: %s: %q", ErrUnusable, junk.Why, prose.Excerpt(body, 200))
	}
	if m := messages[0]; len(messages) == 1 && m.IsResponse() {
		if m.Key() != Key(id) && m.Error == nil {
			return nil, wrongID(string(id), cmp.Or(string(m.ID), "null"))
		}
		messages[0].ID = id // errors come without it
	}
	return messages, nil
}

// bom is a byte order mark, which some servers put before their answers.
var bom = []byte("\ufeff")

// Salvage takes the whole messages out of a line that is none: after half a
// message that went before, after a word of somebody else's, before one. The
// line is no longer one for the request that they answer. What begins a message
// cannot stand in a string, where its quotes are escaped.
func (e *JunkError) Salvage() (found []Message) {
	begin := []byte(`{"jsonrpc"`)
	for line := e.Line; ; {
		i := bytes.Index(line, begin)
		if i < 0 {
			return found
		}
		line = line[i:]
		dec := json.NewDecoder(bytes.NewReader(line))
		var frame json.RawMessage
		if dec.Decode(&frame) != nil {
			line = line[len(begin):]
			continue
		}
		if m, err := Parse(frame); err == nil {
			found = append(found, m)
			if m.IsResponse() && m.Key() == Key(e.ID) {
				e.ID = nil // it is answered
			}
		}
		line = line[dec.InputOffset():]
	}
}
