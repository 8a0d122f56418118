// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"math/rand/v2"
	"strconv"

	"github.com/rehearse-dev/rehearse/harness"
)

// answerNothing answers a request that asks for no reply: one that is to warm
// the prompt's cache. It takes no position.
func (m *Mock) answerNothing(x *exchange) {
	x.preset, x.kind = m.presetOf(x), harness.KindProbe
	c, _ := compileContent(Reply{Finish: "length"}) // it has no arguments that could fail
	sp := newGiven(0)
	var random rand.PCG
	random.Seed(m.seeds("nothing " + strconv.Itoa(x.chat.Len())))
	ids, _ := x.ids()
	sp.content, sp.id, sp.created = c, makeID(&random, ids, 0), epoch
	m.prev.Store(x.chat)
	m.answerWith(x, sp, m.wireReply(x, sp))
}
