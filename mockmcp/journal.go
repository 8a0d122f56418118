// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
)

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
		return
	}
	x.Seq, x.Server, x.Tool, x.Args, x.Start = entry.Seq, entry.Server, entry.Tool, entry.Args, entry.Start
	x.Fault = t.r.out.strike.name()
	*entry = x
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

// sent completes the journal entry when the answer goes out.
func (s *Server) sent(t *ticket, content json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry := s.entry(t); entry != nil {
		entry.Content = content
		entry.Duration = s.opts.Clock.Now().Sub(t.start)
	}
}

// entry is the journal's entry of a call; nil when a reset has dropped it. The
// caller holds mu.
func (s *Server) entry(t *ticket) *harness.ToolExchange {
	if t.resets != s.resets {
		return nil
	}
	return &s.journal[t.seq-1]
}
