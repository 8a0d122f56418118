// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
)

// Bounds of the journal.
const (
	defaultJournalEntries = 1_000
	defaultJournalBytes   = 32 << 20
	exchangeBytes         = 350 // about what an entry costs beside its texts
	maxProblems           = 100 // that are remembered of entries that went
)

// journal holds the latest calls, so many and within a budget of bytes.
type journal struct {
	most     int
	limit    int
	size     int
	gone     int // entries that went
	entries  []harness.ToolExchange
	problems []error // misses and errors of the script in entries that went
}

// add enters a call and returns its number.
func (j *journal) add(x harness.ToolExchange) int {
	x.Seq = j.gone + len(j.entries) + 1
	j.entries = append(j.entries, x)
	j.grow(exchangeBytes + len(x.Args))
	return x.Seq
}

// at is the entry of a number; nil when it went.
func (j *journal) at(seq int) *harness.ToolExchange {
	if i := seq - 1 - j.gone; i >= 0 && i < len(j.entries) {
		return &j.entries[i]
	}
	return nil
}

// grow counts n more bytes, and forgets the oldest entries beyond the budget.
func (j *journal) grow(n int) {
	j.size += n
	for (j.size > j.limit || len(j.entries) > j.most) && len(j.entries) > 1 {
		x := &j.entries[0]
		j.size -= exchangeBytes + len(x.Args) + len(x.Text) + len(x.Result) + len(x.Content)
		j.problem(x)
		*x = harness.ToolExchange{}
		j.entries = j.entries[1:]
		j.gone++
	}
}

// problem remembers what went wrong with a call whose entry goes.
func (j *journal) problem(x *harness.ToolExchange) {
	for _, line := range []string{x.Miss, x.ScriptError} {
		if line != "" && len(j.problems) < maxProblems {
			j.problems = append(j.problems, errors.New(line))
		}
	}
}

func (j *journal) reset() {
	j.size, j.gone, j.entries, j.problems = 0, 0, nil, nil
}

// settle records what a call is answered with.
func (s *Server) settle(t *ticket, answer *Answer, err error) {
	call := t.call
	x := harness.ToolExchange{IsError: answer.IsError, RPCError: answer.RPCError}
	var v *verdict
	if errors.As(err, &v) {
		if v.miss {
			x.Miss = v.reason
		} else {
			x.ScriptError = v.reason
		}
	}
	x.Failed = x.IsError || x.RPCError != nil
	if answer.RPCError == nil {
		x.Text, x.Result = answer.text(), answer.value()
		if failed, err := s.failedWhen(t, x.Result); err != nil {
			x.ScriptError = fmt.Sprintf("failed_when of %s.%s: %v", s.script.Name, call.Tool, err)
		} else if failed {
			x.Failed = true
		}
	}
	for _, line := range []string{x.Miss, x.ScriptError} {
		if line != "" {
			s.opts.Logf("%s", line)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.entry(t)
	if entry == nil {
		if t.resets == s.resets {
			s.journal.problem(&x)
		}
		return
	}
	x.Seq, x.Server, x.Tool, x.Args, x.Start = entry.Seq, entry.Server, entry.Tool, entry.Args, entry.Start
	x.Fault = t.r.out.strike.name()
	t.r.out.strike.hits(t)
	grown := len(x.Text) + len(x.Result) - len(entry.Text) - len(entry.Result) - len(entry.Content)
	*entry = x
	s.journal.grow(grown)
}

// failedWhen says whether the result of a call that reached its tool means
// failure.
func (s *Server) failedWhen(t *ticket, result json.RawMessage) (bool, error) {
	if t.answer != nil {
		return false, nil
	}
	judge := s.script.FailedWhen
	if t.tool.FailedWhen != nil {
		judge = t.tool.FailedWhen
	}
	if judge == nil {
		return false, nil
	}
	return guard(func() (bool, error) { return judge(t.call, result) })
}

// unsent notes that nobody waits for a result any more.
func (s *Server) unsent(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(t); entry != nil {
		entry.Unsent = true
	}
}

// sent completes the journal entry when the answer goes out.
func (s *Server) sent(t *ticket, content json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(t); entry != nil {
		grown := len(content) - len(entry.Content)
		entry.Content = content
		entry.Duration = s.opts.Clock.Now().Sub(t.start)
		s.journal.grow(grown)
	}
}

// entry is the journal's entry of a call; nil when a reset or a newer call has
// dropped it. The caller holds mu.
func (s *Server) entry(t *ticket) *harness.ToolExchange {
	if t.resets != s.resets {
		return nil
	}
	return s.journal.at(t.seq)
}
