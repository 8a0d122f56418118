// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// SingleCaller is a session that can end a turn after one model call, for turns
// with single_call. A subject with other sessions is skipped there.
type SingleCaller interface {
	harness.Session
	// SendOnce is Send with one model call. The tools that the reply calls are
	// not run: they are reported with an Error that says so, and Answer is the
	// text beside them. A request that is repeated after a fault is one call.
	SendOnce(ctx context.Context, text string) (*harness.TurnReport, error)
}

// lacks says what a turn needs that the subject cannot do.
func (t *trial) lacks(session harness.Session) *trials.Cause {
	_, single := session.(SingleCaller)
	_, resumes := session.(Resumer)
	for _, turn := range t.scenario.Turns {
		need := ""
		switch {
		case turn.SingleCall && !single:
			need = "single_call needs a subject that can end a turn after one model call, and %s cannot: play it with the agent of rehearse, or make the session of the subject a run.SingleCaller"
		case turn.Interruption != nil && turn.Interruption.Kill && !resumes:
			need = "kill needs a subject that can resume a conversation, and %s cannot: play it with the agent of rehearse, or make the session of the subject a run.Resumer"
		default:
			continue
		}
		return &trials.Cause{Kind: trials.CauseScenario, Pos: turn.Pos, Message: fmt.Sprintf(need, t.key.Subject)}
	}
	return nil
}
