// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// ids returns how the ids of a reply and of its calls are made.
func (x *exchange) ids() (reply, call wire.IDs) {
	reply, call = x.speech.id, x.speech.callID
	if s := x.habits.style; s != nil {
		reply, call = cmp.Or(s.ID, reply), cmp.Or(s.CallID, call)
	}
	return reply, call
}

// letters are what ids are made of where nothing else is said.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// makeID returns the id of the n-th of a kind, from 0.
func makeID(r *rand.PCG, s wire.IDs, n int) string {
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

// answerRendered gives a reply by way of a renderer and the paced writer. An
// error is one of adjust; nothing was sent then.
func (m *Mock) answerRendered(x *exchange, sp *spoken, adjust func(*llmwire.Reply) error) error {
	reply := m.wireReply(x, sp)
	if adjust != nil {
		if err := adjust(reply); err != nil {
			return err
		}
		told := *reply
		told.Choices = slices.Clone(reply.Choices)
		x.told = &told
	}
	if x.effects.reply != nil {
		x.effects.reply(x, reply)
	}
	x.style = m.styleOf(x, sp)
	if x.effects.style != nil {
		x.effects.style(x, x.style)
	}
	x.wire = reply
	body := x.speech.render(x, reply)
	if body.Stream {
		body.Writes = x.style.Fragments.Writes
	}
	if x.effects.body != nil {
		x.effects.body(x, body)
	}
	if x.met != nil {
		x.told = heard(x, reply, body)
	}
	x.spoken, x.status = sp, body.Status
	m.record(x.entry, nil)
	m.send(x, body)
	return nil
}

// styleOf is the style of the habits, with the fragments of the script.
func (m *Mock) styleOf(x *exchange, sp *spoken) *wire.Style {
	style := &wire.Style{}
	if x.habits.style != nil {
		*style = *x.habits.style
	}
	if f := sp.fragments; f != nil {
		style.Fragments = *f
		style.Fragments.Seed ^= m.opts.Seed
	}
	return style
}

// wireReply is a reply as the renderers take it.
func (m *Mock) wireReply(x *exchange, sp *spoken) *llmwire.Reply {
	c := sp.content
	choice := llmwire.Choice{Text: c.say.plain, Reasoning: c.reasoning.plain, Refusal: c.refusal.plain, Finish: c.finish}
	for _, call := range sp.calls {
		choice.Calls = append(choice.Calls, llmwire.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return &llmwire.Reply{
		ID: sp.id, Created: sp.created, Model: cmp.Or(x.habits.model, x.chat.Model()), Choices: []llmwire.Choice{choice},
		Usage: x.usage(c), IncludeUsage: x.chat.IncludeUsage(), Fingerprint: m.fingerprint(), Seed: hashOf(sp.id),
	}
}

// fingerprint is the system_fingerprint.
func (m *Mock) fingerprint() string {
	const digits = "0123456789abcdef"
	b := []byte("fp_")
	for i, h := 0, m.program.hash; i < 10; i, h = i+1, h>>4 {
		b = append(b, digits[h&15])
	}
	return string(b)
}
