// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// approvals are the calls of a trial that the subject asked about.
type approvals struct {
	mu     sync.Mutex // guards what follows
	asked  []conduct.Approval
	missed []string // calls that the scenario does not decide about
}

// all are the calls, in order; never nil.
func (a *approvals) all() []conduct.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]conduct.Approval{}, a.asked...)
}

// undecided says about which calls the scenario does not decide.
func (a *approvals) undecided() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.missed)
}

func (a *approvals) add(call conduct.Approval, missed string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, call)
	if missed != "" {
		a.missed = append(a.missed, missed)
	}
}

// errUndecided is what a subject is told of a call that the scenario does not
// decide about.
var errUndecided = errors.New("nobody approved it")

// approve decides for a subject whether a call may run.
func (t *trial) approve(ctx context.Context, call harness.ToolCall) error {
	listed, _ := t.listed()
	server, tool, known := offeredBy(t.model.journal(), listed, t.names(listed))(call.Name)
	name := server + "." + tool
	if !known {
		server, tool, name = "", call.Name, call.Name
	}
	asked := conduct.Approval{ID: call.ID, Server: server, Tool: tool, Args: json.RawMessage(call.Arguments), Decision: conduct.Denied}
	var found *scenarios.Approval
	var err error
	turn := int(t.turn.Load())
	if known {
		found, err = t.scenario.Decides(turn, server, tool, asked.Args)
	}
	switch {
	case found == nil:
		what := prose.Shorten(fmt.Sprintf("%s %s", call.Name, call.Arguments), 200)
		if err != nil {
			what += fmt.Sprintf(" (%v)", err)
		}
		t.approvals.add(asked, fmt.Sprintf("turn %d: no entry of approvals decides about the call %s, so it was denied; add one, such as {tool: %s, decide: allow}", turn, what, name))
		return errUndecided
	case found.Decide == scenarios.Deny:
		t.approvals.add(asked, "")
		return errors.New(found.Reason)
	case found.Decide == scenarios.NeverAnswers:
		asked.Decision = conduct.Unanswered
		t.approvals.add(asked, "")
		mcpwire.Taken(ctx) // other calls do not wait for this one
		return cmp.Or(t.clock.Sleep(ctx, harness.Forever), errUndecided)
	}
	asked.Decision = conduct.Allowed
	t.approvals.add(asked, "")
	return nil
}
