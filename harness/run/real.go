// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/passthrough"
	"github.com/rehearse-dev/rehearse/internal/prose"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// openReal stands before a real server, or before its recording. That it lists
// tools is found out by a session of our own, which has ended before the
// subject opens its.
func (t *trial) openReal(ctx context.Context, s *scenarios.Server) (*toolServer, error) {
	reach := s.Real(t.workdir)
	reach.Name = s.Name
	where := cmp.Or(prose.Address(reach.URL), program(reach.Command))
	switch {
	case reach.Transport == "sse":
		return nil, fmt.Errorf("server %q (%s): a server over sse cannot be journaled; use its http transport", s.Name, where)
	case reach.URL == "" && t.byURL() && t.opts.Mode != harness.ModeReplay && len(t.opts.Child) == 0:
		return nil, fmt.Errorf("server %q (%s): a subject that starts servers itself is given a child program that leads to this one, and there is none: set Options.Child, or use the http transport of the server", s.Name, reach.Command[0])
	}
	tape, err := t.openTape(s)
	if err != nil {
		return nil, err
	}
	server := &toolServer{name: s.Name, pos: s.Pos, failed: s.FailedWhen}
	if t.opts.Mode == harness.ModeReplay {
		var end func() error
		if reach, end = tape.instead(t); end != nil {
			server.end = append(server.end, end)
		}
	}
	p := passthrough.New(reach, &passthrough.Options{Clock: t.clock, Called: func(tool string) {
		t.onToolCall()
		t.prompter.called(s.Name, tool)
		t.interruptible.executed(s.Name + "." + tool) // its answer cannot be kept back
	}, Abort: t.opts.Abort, Grace: t.opts.ServerGrace, Transport: tape.transport(), Seen: t.wires.seen(s.Name)})
	server.calls, server.trouble = p.Journal, p.Trouble
	server.end = append([]func() error{p.Close}, server.end...)
	if err := t.reachReal(ctx, server, s, p, reach, tape, where); err != nil {
		return nil, errors.Join(err, server.close())
	}
	return server, nil
}

// byURL reports whether the subject opens servers itself.
func (t *trial) byURL() bool { return t.subject.Foreign || t.scenario.MCPConfig != "" }

// reachReal says how the subject reaches a real server, and lists its tools.
func (t *trial) reachReal(ctx context.Context, server *toolServer, s *scenarios.Server, p *passthrough.Server, reach harness.Server, tape *taping, where string) error {
	if reach.URL != "" {
		h, err := p.Handler()
		if err != nil {
			return fmt.Errorf("server %q: %w", s.Name, err)
		}
		base, unmount := t.gateway.mount(h)
		server.end = append(server.end, func() error { unmount(); return nil })
		server.reach = harness.Server{Name: s.Name, URL: base + "/mcp", Transport: "http"}
	} else {
		server.reach = harness.Server{Name: s.Name, Dial: tape.dialer(p.Dial)}
	}
	through := reach
	if tape != nil { // the listing is recorded too
		through = server.reach
	}
	listed, warnings, err := t.list(ctx, s, through, where)
	if err != nil {
		return err
	}
	if server.reach.Dial != nil && t.byURL() {
		if err := t.lead(server); err != nil {
			return fmt.Errorf("server %q: %w", s.Name, err)
		}
	}
	for _, w := range warnings {
		server.absent = append(server.absent, absentTool{"", w})
	}
	for _, tool := range listed {
		server.tools = append(server.tools, tool.Tool)
		server.mayOffer(tool, t.logf)
	}
	return nil
}

// lead gives the subject a command in place of a pipe: a child program that leads
// to the server, which this process starts and keeps the journal of.
func (t *trial) lead(server *toolServer) error {
	p, err := startProcesses(server.name, through(server.reach.Dial), t.logf)
	if err != nil {
		return err
	}
	server.end = append([]func() error{p.close}, server.end...)
	server.reach = p.reach(t.opts.Child)
	return nil
}

// program is the first word of a command: an argument may be a secret.
func program(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return command[0]
}

// serverCause says which server a trial came to nothing for, if one did not
// do its part: it went away, or it was silent while the trial ran out of time.
// A trial in which nothing else is wrong has coped with that.
func (t *trial) serverCause() *trials.Cause {
	limit := t.passed()
	late := errors.Is(t.broke, errHang) || errors.Is(t.broke, errAbandoned) || limit != nil && limit.key == limitTime
	for _, s := range t.servers {
		if s.trouble == nil {
			continue
		}
		for _, trouble := range s.trouble() {
			message := fmt.Sprintf("server %q", s.name)
			switch {
			case trouble.Request == "":
				message += ": " + trouble.Why
			case trouble.Why != "":
				message += fmt.Sprintf(" did not answer %s: %s", trouble.Request, trouble.Why)
			case late:
				message += fmt.Sprintf(" did not answer %s in time", trouble.Request)
			default:
				continue
			}
			return &trials.Cause{Kind: trials.CauseEndpoint, Blame: trials.BlameTool, Pos: s.pos, Message: message}
		}
	}
	return nil
}
