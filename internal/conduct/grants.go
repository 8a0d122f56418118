// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/harness"
)

// granted reports whether the agent may use a server.
func (in *Input) granted(server string) bool {
	return in.Grants == nil || slices.Contains(in.Grants[in.As], server)
}

// offers reports whether some tool of a server is offered.
func (c *checker) offers(server string, offered []harness.Tool) bool {
	return slices.ContainsFunc(c.Listed[server], func(t harness.Tool) bool {
		_, err := c.resolver.Offered(server, t.Name, offered)
		return err == nil
	})
}

// grants finds the tools that the agent may not use, where they are offered,
// executed, or asked for and refused. Only the last is no fault of the agent.
func (c *checker) grants() (f finding) {
	if c.Grants == nil {
		return skip("the scenario has no grants")
	}
	agent := "an agent without a name"
	if c.As != "" {
		agent = fmt.Sprintf("agent %q", c.As)
	}
	told := map[string]bool{}
	once := func(format string, args ...any) {
		if problem := fmt.Sprintf(format, args...); !told[problem] {
			told[problem] = true
			f.problems = append(f.problems, problem)
		}
	}
	for _, x := range c.requests {
		for _, t := range x.Request.Tools {
			if name := c.forbidden(t.Name, x.Request.Tools); name != "" {
				once("request %d offers %s, which %s may not use", x.Seq, name, agent)
			}
		}
	}
	for _, x := range c.Tools {
		if !c.granted(x.Server) {
			once("%s.%s was called, which %s may not use", x.Server, x.Tool, agent)
		}
	}
	if len(f.problems) > 0 {
		return f
	}
	f.mild = true
	for _, call := range c.Trajectory {
		if call.Server != "" {
			continue
		}
		if name := c.meant(call.Tool); name != "" {
			once("the model asked for %s, which %s may not use; it was refused", name, agent)
		}
	}
	return f
}

// forbidden returns the tool of a server that the agent may not use which is
// offered under a name, as server.tool; "" for none, and where a tool of a server
// that it may use has the same name.
func (c *checker) forbidden(name string, offered []harness.Tool) string {
	found := ""
	for _, server := range slices.Sorted(maps.Keys(c.Listed)) {
		for _, t := range c.Listed[server] {
			if got, err := c.resolver.Offered(server, t.Name, offered); err != nil || got != name {
				continue
			}
			if c.granted(server) {
				return ""
			}
			found = server + "." + t.Name
		}
	}
	return found
}

// meant is [checker.forbidden] of a name that was not offered.
func (c *checker) meant(name string) string {
	found := ""
	for _, server := range slices.Sorted(maps.Keys(c.Listed)) {
		for _, t := range c.Listed[server] {
			if _, err := c.resolver.Offered(server, t.Name, []harness.Tool{{Name: name, Schema: t.Schema}}); err != nil {
				continue
			}
			if c.granted(server) {
				return ""
			}
			found = server + "." + t.Name
		}
	}
	return found
}
