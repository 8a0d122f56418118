// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// lots are what is drawn for one request. They follow from the seeds of the
// mock and of its script, and from the request's model, seed and messages. They
// do not follow from the order in which requests arrive, so that a run that was
// killed and resumed, or that plays its trials in another order, meets the same
// endpoint.
type lots struct{ digest [sha256.Size]byte }

// newLots makes the lots of a request.
func (m *Mock) newLots(c *dialect.Chat) *lots {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %q %q\n", m.opts.Seed, m.program.Seed, c.Model(), c.Env.Seed)
	for i := range c.Len() {
		msg := c.At(i).Message()
		// Clients and mocks make ids up, some by the order in which requests
		// arrive: which call a result answers is left to its place.
		msg.CallID, msg.Extra = "", ""
		calls := msg.Calls
		msg.Calls = nil
		for _, call := range calls {
			call.ID, call.Extra, call.Arguments = "", "", canonical(call.Arguments)
			msg.Calls = append(msg.Calls, call)
		}
		data, _ := json.Marshal(msg) // of texts alone
		fmt.Fprintf(h, "%s\n", data)
	}
	l := new(lots)
	h.Sum(l.digest[:0])
	return l
}

// canonical spells JSON in one way; other text stays as it is.
func canonical(text string) string {
	v, err := value.Parse([]byte(text))
	if err != nil {
		return text
	}
	return string(v.AppendCanonical(nil))
}

// draw returns the number from 0 to below 1 that belongs to label.
func (l *lots) draw(label string) float64 {
	sum := sha256.Sum256(append(l.digest[:], label...))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// lots are drawn when the first rule or fault asks for them.
func (x *exchange) lots() *lots {
	if x.drawn == nil {
		x.drawn = x.m.newLots(x.chat)
	}
	return x.drawn
}

// checkChance refuses a number that is not a probability.
func checkChance(r *Rule) error {
	if !(r.Chance >= 0 && r.Chance <= 1) { // not a number neither
		return fmt.Errorf("%schance %v of a rule is not between 0 and 1", at(r.Pos), r.Chance)
	}
	return nil
}
