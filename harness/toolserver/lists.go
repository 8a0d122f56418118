// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/harness/tools"
)

// remotes lists the tools of a set's MCP server. One that cannot be offered to a
// model is left out, and costs no other tool.
func (s *Toolserver) remotes(ctx context.Context, of *set) ([]tool, error) {
	listed, warnings, err := of.session.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.logf("toolset %q: %s", of.ID, w)
	}
	var out []tool
	for _, t := range listed {
		if len(of.Only) > 0 && !slices.Contains(of.Only, t.Name) {
			continue
		}
		offer, err := tools.Offerable(t)
		if err != nil {
			s.logf("toolset %q: tool %q is left out, as it cannot be offered to a model: %v", of.ID, t.Name, err)
			continue
		}
		// Its server checks the arguments, and has the call in its journal.
		out = append(out, tool{Tool: offer, run: remote(of.session, t.Name)})
	}
	return out, nil
}

// refresh lists anew the tools of servers that have said that they changed. Of a
// server that does not answer then, the tools listed before stay.
func (s *Toolserver) refresh(ctx context.Context) {
	s.listing.Lock()
	defer s.listing.Unlock()
	for i := range s.sets {
		of := &s.sets[i]
		if of.session == nil || of.session.ListChanges() == of.listed {
			continue
		}
		now := of.session.ListChanges()
		listed, err := s.remotes(ctx, of)
		if err != nil {
			s.logf("toolset %q: %v; the tools listed before stay", of.ID, err)
			continue
		}
		gone, come := s.replace(i, listed, now)
		s.mcp.RemoveTools(gone...)
		s.register(come)
	}
}

// replace puts the tools that a set's server has now in the place of those that it
// had, of which it returns the names. A name that another set has is left to that one.
func (s *Toolserver) replace(i int, listed []tool, list int64) (gone []string, come []tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := &s.sets[i]
	next := slices.Clone(of.tools[:len(of.Tools)]) // those of the registry come first
	for _, t := range of.tools[len(of.Tools):] {
		delete(s.byTool, t.Name)
		gone = append(gone, t.Name)
	}
	for _, t := range listed {
		if other, taken := s.byTool[t.Name]; taken {
			s.logf("toolset %q: tool %q is left out, as toolset %q has one of that name", of.ID, t.Name, s.sets[other].ID)
			continue
		}
		s.byTool[t.Name] = i
		next = append(next, t)
	}
	of.tools, of.listed = next, list
	return gone, next[len(of.Tools):]
}

// find is a tool, with the number of its set.
func (s *Toolserver) find(name string) (i int, t tool, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok = s.byTool[name]; !ok {
		return 0, t, false
	}
	list := s.sets[i].tools
	return i, list[slices.IndexFunc(list, func(t tool) bool { return t.Name == name })], true
}

func (s *Toolserver) logf(format string, args ...any) {
	if s.opts.Logf != nil {
		s.opts.Logf(format, args...)
	}
}
