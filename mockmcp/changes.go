// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/prose"
)

// changes are the changes of a script and how far they have come. The mutex of
// the server guards it.
type changes struct {
	s       *Server
	list    []Change
	made    []bool
	calls   int
	byTool  map[string]int
	lists   int
	started bool
	restart context.CancelFunc // of the timers
}

// loadChanges checks the changes of the script.
func (s *Server) loadChanges() []error {
	if len(s.script.Changes) == 0 {
		return nil
	}
	c := &changes{s: s, list: slices.Clone(s.script.Changes)}
	l := &loader{offer: s.offer.Load().clone()}
	for i := range c.list {
		ch := &c.list[i]
		name := fmt.Sprint(i + 1)
		cues := 0
		for _, set := range []bool{ch.Call != 0 || ch.Tool != "", ch.List != 0, ch.After != 0, ch.Cue != ""} {
			if set {
				cues++
			}
		}
		if cues != 1 {
			l.problem(ch.Pos, "change", name, "has %d of call, list, after and cue, and needs one", cues)
		}
		if ch.Call < 0 || ch.List < -1 || ch.After < 0 || ch.Delay < 0 {
			l.problem(ch.Pos, "change", name, "has a negative number")
		}
		for _, kind := range ch.Tell {
			if kinds := []string{"tools", "prompts", "resources"}; !slices.Contains(kinds, kind) {
				l.problem(ch.Pos, "change", name, "cannot announce %q, only %s%s", kind, strings.Join(kinds, ", "), prose.DidYouMean(kind, kinds))
			}
		}
		ch.AddTools = slices.Clone(ch.AddTools)
		for i, t := range ch.AddTools {
			ch.AddTools[i] = t.Shared()
		}
		ch.load(l)
	}
	s.changes = c
	c.reset()
	return l.errs
}

// load makes the change in an offer.
func (c *Change) load(l *loader) {
	for _, name := range c.RemoveTools {
		l.offer.tools.remove(name)
	}
	for _, name := range c.RemovePrompts {
		l.offer.prompts.remove(name)
	}
	for _, uri := range c.RemoveResources {
		l.offer.resources.remove(uri)
	}
	for i := range c.AddTools {
		l.tool(&c.AddTools[i])
	}
	for i := range c.AddPrompts {
		l.prompt(&c.AddPrompts[i])
	}
	for i := range c.AddResources {
		l.resource(&c.AddResources[i])
	}
}

// tells are the kinds of lists that clients are told have changed.
func (c *Change) tells() []string {
	if c.Tell != nil {
		return c.Tell
	}
	var kinds []string
	for _, k := range []struct {
		name    string
		changed int
	}{
		{"tools", len(c.AddTools) + len(c.RemoveTools)},
		{"prompts", len(c.AddPrompts) + len(c.RemovePrompts)},
		{"resources", len(c.AddResources) + len(c.RemoveResources)},
	} {
		if k.changed > 0 {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

// reset forgets what was changed, and has time begin again. The offer is
// another's business. The caller holds the mutex of the server.
func (c *changes) reset() {
	c.made = make([]bool, len(c.list))
	c.calls, c.lists, c.byTool = 0, 0, make(map[string]int)
	if c.restart != nil {
		c.restart()
	}
	again := c.started && !c.s.closed
	c.restart, c.started = nil, false
	if again {
		c.start()
	}
}

// start begins to count time. The caller holds the mutex of the server.
func (c *changes) start() {
	if c.started {
		return
	}
	c.started = true
	ctx, cancel := context.WithCancel(c.s.ctx)
	c.restart = cancel
	for i := range c.list {
		if ch := &c.list[i]; ch.After > 0 {
			c.s.sessions.Go(func() {
				if c.s.opts.Clock.Sleep(ctx, ch.After) == nil && ctx.Err() == nil {
					c.make(nil, []int{i})()
				}
			})
		}
	}
}

// called counts a call, which o answers, and makes the changes that are due.
// What it returns tells the clients that are to know after the answer; nil when
// nothing is to be told then.
func (c *changes) called(o *outlet, tool string) func() {
	c.s.mu.Lock()
	c.calls++
	c.byTool[tool]++
	all, one := c.calls, c.byTool[tool]
	c.s.mu.Unlock()
	return c.due(o, func(ch *Change) bool {
		switch {
		case ch.Tool == "":
			return ch.Call > 0 && ch.Call == all
		case ch.Tool == tool:
			return ch.Call == 0 || ch.Call == one
		}
		return false
	})
}

// listed is called for a tools/list.
func (c *changes) listed(o *outlet) func() {
	c.s.mu.Lock()
	c.lists++
	n := c.lists
	c.s.mu.Unlock()
	return c.due(o, func(ch *Change) bool { return ch.List == -1 || ch.List > 0 && ch.List == n })
}

// cued is called for a cue.
func (c *changes) cued(name string) {
	if tell := c.due(nil, func(ch *Change) bool { return ch.Cue == name }); tell != nil {
		tell()
	}
}

func (c *changes) due(o *outlet, is func(*Change) bool) func() {
	var due []int
	for i := range c.list {
		if is(&c.list[i]) {
			due = append(due, i)
		}
	}
	if due == nil {
		return nil
	}
	return c.make(o, due)
}

// make makes changes, those that are to be told early at once, before o answers
// the request that brought them about; nil when none did. What it returns
// announces the others.
func (c *changes) make(o *outlet, due []int) func() {
	var late []*Change
	for _, i := range due {
		ch := &c.list[i]
		c.s.mu.Lock()
		again := ch.Tool != "" && ch.Call == 0 || ch.List == -1
		if c.made[i] && !again {
			c.s.mu.Unlock()
			continue
		}
		c.made[i] = true
		l := &loader{offer: c.s.offer.Load().clone()}
		ch.load(l)
		c.s.offer.Store(l.seal())
		c.s.mu.Unlock()
		switch {
		case ch.Early && o != nil && ch.Delay == 0:
			o.tellsFirst(func() { c.tell(ch) })
		case ch.Early:
			c.tell(ch)
		default:
			late = append(late, ch)
		}
	}
	return func() {
		for _, ch := range late {
			c.tell(ch)
		}
	}
}

// tell tells clients of a change, after its delay.
func (c *changes) tell(ch *Change) {
	now := func() {
		for _, kind := range ch.tells() {
			c.s.broadcast("notifications/"+kind+"/list_changed", "", nil)
		}
		for _, uri := range ch.Updated {
			c.s.broadcast(resourceUpdated, uri, map[string]any{"uri": uri})
		}
	}
	if ch.Delay == 0 {
		now()
		return
	}
	if !c.s.begin() {
		return
	}
	go func() {
		defer c.s.sessions.Done()
		if c.s.opts.Clock.Sleep(c.s.ctx, ch.Delay) == nil {
			now()
		}
	}()
}
