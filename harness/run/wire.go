// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// childGrace is how long a child process may take to be gone once the subject
// has closed.
const childGrace = 2 * time.Second

// hangUp ends what the subject has left of its connections, so that the logs
// are complete, and notes which of its processes had ended by then.
func (t *trial) hangUp() {
	for _, s := range t.servers {
		if s.processes != nil {
			s.children = s.processes.ended(childGrace)
		}
		if s.mock != nil {
			_ = s.mock.Close() // closed again in the end, which says what is wrong
		}
	}
}

// wire adds what the mock servers saw on the wire to what conduct reads.
func (t *trial) wire(in *conduct.Input) {
	in.Progress, in.Repeatable = map[string]bool{}, map[string]bool{}
	for _, s := range t.servers {
		if s.mock == nil {
			continue
		}
		in.Frames = append(in.Frames, s.mock.Frames()...)
		for _, tool := range s.script.Mock.Tools {
			name := s.name + "." + tool.Name
			in.Progress[name] = s.script.TellsProgress(tool.Name)
			in.Repeatable[name] = repeatable(tool)
		}
		in.Children = append(in.Children, s.children...)
	}
}

// repeatable reports whether a tool says that calling it twice does no more
// than calling it once.
func repeatable(tool mockmcp.Tool) bool {
	var a struct {
		ReadOnly   bool `json:"readOnlyHint"`
		Idempotent bool `json:"idempotentHint"`
	}
	_ = json.Unmarshal(tool.Annotations, &a) // absent ones say nothing
	return a.ReadOnly || a.Idempotent
}

// struck lists the faults of the mocks that struck, in the order in which they
// first did, so that whoever reads of a failure knows what was done to the
// subject.
func (t *trial) struck(exchanges []harness.Exchange) []string {
	var order []string
	times := map[string]int{}
	add := func(format string, args ...any) {
		what := fmt.Sprintf(format, args...)
		if times[what]++; times[what] == 1 {
			order = append(order, what)
		}
	}
	for _, x := range exchanges {
		if x.Fault != "" {
			add("%s of the model, turn %d", x.Fault, x.Turn)
		}
	}
	for _, s := range t.servers {
		if s.mock == nil {
			continue
		}
		for _, f := range s.mock.Frames() {
			switch {
			case f.Fault == "" || !f.In && f.Method != "" && f.Kind != jsonrpc.FrameEnd:
			case f.Method == "":
				add("%s of server %q", f.Fault, s.name)
			default:
				add("%s of server %q at %s", f.Fault, s.name, f.Method)
			}
		}
	}
	for i, what := range order {
		if n := times[what]; n > 1 {
			order[i] = fmt.Sprintf("%s, %d times", what, n)
		}
	}
	return order
}

// unstruck warns of the faults of mock servers that nothing brought about: a
// trial that was to show how the subject takes them has shown nothing.
func (t *trial) unstruck() []trials.Verdict {
	var out []trials.Verdict
	for _, s := range t.servers {
		if s.mock == nil {
			continue
		}
		for _, idle := range s.mock.IdleFaults() {
			f := idle.Fault
			if f.Match.Method == fault.Start && f.Match.Nth > 1 {
				continue // a trap for clients that start the server again
			}
			out = append(out, trials.Verdict{
				Check: "faults", Conduct: true, State: trials.Warned, Pos: f.Pos,
				Message: fmt.Sprintf("fault %s of server %q never struck: %s", f.String(), s.name, idle.Why),
			})
		}
	}
	return out
}
