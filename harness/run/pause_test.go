// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

const pausing = `
scenario: pausing
limits: {time: LIMIT}
turns:
  - user: Hello.
    replies: [{say: Hello.}]
  - user: Still there?
    pause: 1h
    replies: [{say: I am.}]
    expect: [{answer: {equals: I am.}}]
`

// TestPause: a user who waits costs no time, but passes a limit.
func TestPause(t *testing.T) {
	play := func(limit string) trials.Record {
		return one(t, write(t, strings.Replace(pausing, "LIMIT", limit, 1)), run.Options{Subject: agent.Subject(nil)})
	}
	wants(t, play("61m"), harness.OutcomePassed, "")
	wants(t, play("59m"), harness.OutcomeFailed, trials.CauseLimits, "limit exceeded: time: the trial takes longer than 59m0s")
}
