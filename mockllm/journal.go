// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// entry is one exchange while it is short: the request is shared with others,
// and what can be computed is.
type entry struct {
	seq, turn, reply, attempt int

	kind       harness.ExchangeKind
	chat       *dialect.Chat     // nil when it could not be read
	given      *givenReply       // nil when there was no reply
	before     *dialect.Chat     // the request before, which the provider's cache has
	changed    *dialect.Reply    // when the request's settings or a fault changed the reply
	path       string            // of the request
	dialect    string            // its name; empty where no model answers
	headers    map[string]string // shared with other entries
	status     int
	fault      string
	lane       string
	pos        harness.Position // of the reply
	retryAfter time.Duration
	err        string
	unoffered  string // tool that err is about
	delivered  bool
	stray      bool
	compacted  bool
	repeated   bool
	start      time.Time
	duration   time.Duration
}

// entryBytes is about what an entry costs beside the bytes of its request.
const entryBytes = 1000

// exchange returns the entry as readers see it.
func (e *entry) exchange() harness.Exchange {
	x := e.outline()
	if e.chat != nil {
		x.Request, x.Body = e.chat.Request(), e.chat.Body()
	}
	if e.given != nil {
		x.Answer = e.given.message()
	}
	if e.changed != nil {
		c := e.changed.Choices[0]
		x.Answer.Text, x.Answer.Reasoning, x.Answer.Refusal, x.Answer.Calls = c.Text, c.Reasoning, c.Refusal, toolCalls(e.changed)
	}
	return x
}

// outline is an exchange without what was said.
func (e *entry) outline() harness.Exchange {
	x := harness.Exchange{
		Seq: e.seq, Kind: e.kind, Turn: e.turn, Reply: e.reply, Attempt: e.attempt,
		Path: e.path, Dialect: e.dialect, Headers: e.headers,
		Status: e.status, Lane: e.lane, Pos: e.pos, Fault: e.fault, RetryAfter: e.retryAfter, Error: e.err, Unoffered: e.unoffered,
		Delivered: e.delivered, Stray: e.stray, Compacted: e.compacted, Repeated: e.repeated,
		Start: e.start, Duration: e.duration,
	}
	if e.given != nil {
		x.FinishReason = e.given.content.finish
		x.Model, x.Usage = e.chat.Model(), e.usage(e.given.content)
	}
	if e.changed != nil {
		x.FinishReason, x.Usage = e.changed.Choices[0].Finish, e.changed.Usage
	}
	return x
}

// maxProblems bounds the errors that a mock remembers.
const maxProblems = 100

// journal holds the latest entries, so many and within a budget of bytes.
type journal struct {
	most     int
	limit    int
	size     int
	seq      int
	entries  []sized
	problems []error
}

// sized is an entry and its size, which is kept here since to look at an old
// entry is to fetch it from far away.
type sized struct {
	*entry
	size int
}

func (j *journal) copy() []entry {
	out := make([]entry, len(j.entries))
	for i, e := range j.entries {
		out[i] = *e.entry
	}
	return slices.Clip(out)
}

func (j *journal) problem(err error) {
	if len(j.problems) < maxProblems {
		j.problems = append(j.problems, err)
	}
}
