// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect/dialects"
)

// adoptIDs gives the calls whose ids are of no use (none, one that another call
// has, or one that the endpoint does not take back) the ids that the client made
// for them: those of its own message, where it hands the calls back. Other ids
// are the model's to choose.
func (c *checker) adoptIDs() {
	seen := map[string]bool{}
	for i := range c.replies {
		r := &c.replies[i]
		useless, back := false, dialects.Named(r.Dialect).BackID
		for _, call := range r.Answer.Calls {
			useless = useless || call.ID == "" || seen[call.ID] || back != nil && back(call.ID) != call.ID
			seen[call.ID] = true
		}
		if useless {
			c.adopt(r)
		}
	}
}

func (c *checker) adopt(r *harness.Exchange) {
	ids := c.idsOf(r)
	if ids == nil {
		return
	}
	for i := range c.Trajectory {
		call := &c.Trajectory[i]
		if call.Turn == r.Turn && call.Reply == r.Reply && call.Lane == r.Lane && call.Index < len(ids) {
			call.ID = ids[call.Index]
		}
	}
}

// idsOf returns the ids under which the next request hands back the calls of a
// reply; nil when it does not.
func (c *checker) idsOf(r *harness.Exchange) []string {
	at := len(r.Request.Messages)
	for x := range c.later(r) {
		if len(x.Request.Messages) <= at {
			continue
		}
		m := x.Request.Messages[at]
		if m.Role != harness.RoleAssistant || len(m.Calls) != len(r.Answer.Calls) {
			continue
		}
		var ids []string
		for i, call := range m.Calls {
			// Of a name that no tool has, a client may make one that is taken back.
			if name := r.Answer.Calls[i].Name; call.Name != name && offers(r.Request, name) {
				return nil
			}
			ids = append(ids, call.ID)
		}
		return ids
	}
	return nil
}
