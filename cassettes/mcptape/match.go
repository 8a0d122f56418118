// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcptape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/key"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// request finds what was recorded of a request and marks it used. When there
// is nothing, it returns the text of the miss.
func (t *Tape) request(scripts []*script, m mcpwire.Message) (*group, string) {
	now := t.keyOf(&m)
	t.mu.Lock()
	t.noteFits(now)
	g, why := t.find(scripts, m, now)
	if g != nil {
		g.used = true
	}
	t.mu.Unlock()
	switch {
	case g == nil && m.Method == "ping":
		return nil, ""
	case g == nil:
		return nil, t.miss("%s: %s", nameOf(m), why)
	case g.key.ID != now.ID:
		t.opts.Logf("tape %q: the client differs from the recorded one: %s", t.name, strings.Join(differences(g.key, now), "; "))
	}
	return g, ""
}

// keyOf makes the key of a message that came now, without its secrets.
func (t *Tape) keyOf(m *mcpwire.Message) *key.Key {
	c := *m
	if len(c.Params) > 0 {
		c.Params = clean(t.secrets, c.Params, nil)
	}
	return keyOf(c, t.opts.Ignore)
}

// noteFits notes which of the paths that do not count a request has. The caller
// holds mu.
func (t *Tape) noteFits(k *key.Key) {
	for _, path := range t.opts.Ignore {
		if !t.fits[path] && k.Fits(path) {
			t.fits[path] = true
		}
	}
}

// unfitting are the paths that were not to count, and are in no request that
// was recorded or sent.
func (t *Tape) unfitting() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.scripts {
		for _, g := range s.requests {
			t.noteFits(g.key)
		}
	}
	var out []string
	for _, path := range t.opts.Ignore {
		if !t.fits[path] {
			out = append(out, strconv.Quote(path))
		}
	}
	return out
}

// find finds a request that was not used yet, in the first of scripts that has
// it, or says why there is none. The caller holds mu.
func (t *Tape) find(scripts []*script, m mcpwire.Message, now *key.Key) (*group, string) {
	var all []*group
	for _, s := range scripts {
		all = append(all, s.requests...)
	}
	if t.opts.Strict && m.Method != "ping" {
		i := slices.IndexFunc(all, func(g *group) bool { return !g.used && !g.silent })
		switch {
		case i < 0:
			return nil, "all requests of the tape were already sent"
		case !fits(all[i], m, now):
			return nil, all[i].against(m, now, "next on the tape")
		}
		return all[i], ""
	}
	times := 0
	for _, g := range all {
		switch {
		case !fits(g, m, now):
		case g.used:
			times++
		default:
			return g, ""
		}
	}
	if times > 0 {
		return nil, fmt.Sprintf("recorded %d times, but asked for once more", times)
	}
	return nil, nearest(all, m, now)
}

// fits reports whether a request is the recorded one. What a client says of
// itself does not matter.
func fits(g *group, m mcpwire.Message, now *key.Key) bool {
	return g.msg.Method == m.Method && (g.key.ID == now.ID || m.Method == "initialize")
}

// nearest says what on the tape comes nearest to a request that fits nothing.
func nearest(all []*group, m mcpwire.Message, now *key.Key) string {
	var best *group
	var least int
	var methods []string
	for _, g := range all {
		if !slices.Contains(methods, g.msg.Method) {
			methods = append(methods, g.msg.Method)
		}
		if g.msg.Method != m.Method {
			continue
		}
		far := 2 * len(differences(g.key, now))
		if g.name() != nameOf(m) {
			far += 1000
		}
		if g.used {
			far++
		}
		if best == nil || far < least {
			best, least = g, far
		}
	}
	if best == nil {
		return fmt.Sprintf("not on the tape, which has %s", strings.Join(methods, ", "))
	}
	return best.against(m, now, "nearest on the tape")
}

// against says how a request differs from the recorded one.
func (g *group) against(m mcpwire.Message, now *key.Key, what string) string {
	text := fmt.Sprintf("%s is %s of line %d", what, g.name(), g.line)
	if g.used {
		text += ", which was already used"
	}
	if g.msg.Method != m.Method {
		return text
	}
	const most = 4
	list := differences(g.key, now)
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("%d more differences", n))
	}
	return text + ": " + strings.Join(list, "; ")
}

// note finds what was recorded of a notification of the client: the same, else
// one of its method.
func (t *Tape) note(scripts []*script, m mcpwire.Message) *group {
	now := t.keyOf(&m)
	t.mu.Lock()
	defer t.mu.Unlock()
	var like *group
	for _, s := range scripts {
		for _, g := range s.notes {
			if g.used || g.msg.Method != m.Method {
				continue
			}
			if g.key.ID == now.ID {
				g.used = true
				return g
			}
			if like == nil {
				like = g
			}
		}
	}
	if like != nil {
		like.used = true
	}
	return like
}
