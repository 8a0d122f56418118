// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

// Connect opens the sessions of a pool with some servers, side by side, and
// returns a router over them. Servers that the agent may not use are not opened.
// One that cannot be reached is an error, unless it is Optional: then that costs
// a warning, [Router.Tools] tries it again, and its tools come when it does. Two
// servers of one name are an error.
//
// [Router.Close] leaves the sessions to the pool.
func Connect(ctx context.Context, pool *mcppool.Pool, servers []harness.Server, opts *Options) (*Router, error) {
	names := map[string]bool{}
	for _, s := range servers {
		if names[s.Name] {
			return nil, fmt.Errorf("two servers are called %q: give each a name of its own", s.Name)
		}
		names[s.Name] = true
	}
	r := newRouter(opts)
	r.pool = pool
	var wanted []harness.Server
	for _, s := range servers {
		if r.grants(s.Name) {
			wanted = append(wanted, s)
		} else {
			r.deny(s.Name)
		}
	}
	sessions, errs := make([]*mcppool.Session, len(wanted)), make([]error, len(wanted))
	var wg sync.WaitGroup
	for i, s := range wanted {
		wg.Go(func() { sessions[i], errs[i] = pool.Open(ctx, s) })
	}
	wg.Wait()
	for i, s := range wanted {
		switch {
		case errs[i] == nil:
			r.members = append(r.members, &member{session: sessions[i]})
		case s.Optional && ctx.Err() == nil:
			r.await(s, errs[i])
		default:
			return nil, errs[i]
		}
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// arrival is a server that could not be reached.
type arrival struct {
	server harness.Server
	trying chan opened // an attempt that is under way; nil means none
	stop   context.CancelFunc
}

type opened struct {
	session *mcppool.Session
	err     error
}

func (r *Router) await(server harness.Server, err error) {
	r.tell("%v; its tools are offered once it can be reached", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = append(r.awaited, &arrival{server: server})
}

// arrivalPatience is how long a model call is held up by a server that was not
// there before. The attempt goes on meanwhile.
const arrivalPatience = time.Second

// arrivals tries the servers that could not be reached, and returns the members
// with those that have come; the holder of listing calls it.
func (r *Router) arrivals(ctx context.Context) (members []*member, changed bool) {
	r.mu.Lock()
	awaited, members := slices.Clone(r.awaited), slices.Clone(r.members)
	r.mu.Unlock()
	if len(awaited) == 0 {
		return members, false
	}
	for _, a := range awaited {
		if a.trying == nil {
			a.trying = make(chan opened, 1)
			life, stop := context.WithCancel(context.WithoutCancel(ctx))
			a.stop = stop
			go func() {
				s, err := r.pool.Open(life, a.server)
				a.trying <- opened{s, err}
			}()
		}
	}
	patience := time.NewTimer(arrivalPatience)
	defer patience.Stop()
	var came []*arrival
	for _, a := range awaited {
		select {
		case o := <-a.trying:
			a.stop()
			a.trying = nil
			if o.err == nil {
				came = append(came, a)
				members = append(members, &member{session: o.session, listed: -1})
				r.tell("server %q can be reached now", a.server.Name)
			}
		case <-patience.C:
			patience.Reset(0)
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited = slices.DeleteFunc(r.awaited, func(a *arrival) bool { return slices.Contains(came, a) })
	return members, len(came) > 0
}

// forget gives up on the servers that could not be reached.
func (r *Router) forget() {
	r.listing.Lock()
	defer r.listing.Unlock()
	r.mu.Lock()
	awaited := r.awaited
	r.awaited = nil
	r.mu.Unlock()
	for _, a := range awaited {
		if a.trying != nil {
			a.stop()
			<-a.trying
		}
	}
}

// Add registers another server: its tools are offered from the next model call
// on. The router takes the session over. A server whose name is in use,
// that the agent may not use, or that has a tool whose name is taken, is an error,
// and the session stays the caller's.
func (r *Router) Add(ctx context.Context, s *mcppool.Session) error {
	r.listing.Lock()
	defer r.listing.Unlock()
	r.mu.Lock()
	members := slices.Clone(r.members)
	r.mu.Unlock()
	if slices.ContainsFunc(members, func(m *member) bool { return m.session.Name() == s.Name() }) {
		return fmt.Errorf("registering server %q: there is one of that name; remove it first", s.Name())
	}
	if !r.grants(s.Name()) {
		return fmt.Errorf("registering server %q: %w", s.Name(), r.noGrant(s.Name()))
	}
	added := &member{session: s}
	if err := added.relist(ctx); err != nil {
		return err
	}
	if collision := r.offer(append(members, added)); collision != nil {
		_ = r.offer(members) // as it was
		return fmt.Errorf("registering server %q: %w", s.Name(), collision)
	}
	return nil
}

// Remove unregisters a server and closes its session: its tools are offered no
// more, and calls of them fail. A server that is not there is an error.
func (r *Router) Remove(name string) error {
	r.listing.Lock()
	defer r.listing.Unlock()
	r.mu.Lock()
	members := slices.Clone(r.members)
	r.mu.Unlock()
	i := slices.IndexFunc(members, func(m *member) bool { return m.session.Name() == name })
	if i < 0 {
		return fmt.Errorf("there is no server %q", name)
	}
	s := members[i].session
	_ = r.offer(slices.Delete(members, i, i+1)) // less cannot collide anew
	return s.Close()
}

// grants reports whether the agent may use a server.
func (r *Router) grants(server string) bool {
	return r.opts.Grants == nil || slices.Contains(r.opts.Grants[r.opts.As], server)
}

func (r *Router) deny(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = append(r.denied, server)
}

func (r *Router) noGrant(servers ...string) error {
	agent := "an agent without a name"
	if r.opts.As != "" {
		agent = fmt.Sprintf("agent %q", r.opts.As)
	}
	for i, s := range servers {
		servers[i] = fmt.Sprintf("%q", s)
	}
	return fmt.Errorf("%s has no permission for server %s", agent, strings.Join(servers, ", "))
}

// Denied says why the agent may not call a tool: its server is one that the
// agent may not use. It is nil for a tool that is offered, and where the agent
// may use every server. Tools of servers that were never opened are told by the
// prefix of their names; where names have none, any that is not offered may be
// one.
func (r *Router) Denied(name string) error {
	r.mu.Lock()
	denied := slices.Clone(r.denied)
	_, _, known := r.table.Lookup(name)
	r.mu.Unlock()
	if len(denied) == 0 || known {
		return nil
	}
	denied = slices.DeleteFunc(denied, func(server string) bool { return !r.opts.Prefix.Of(name, server) })
	if len(denied) == 0 {
		return nil
	}
	return fmt.Errorf("there is no tool %q: %w", name, r.noGrant(denied...))
}

// Prompt is a text about the tools that are offered, for the system message of a
// model that needs to be told of them there too: the name of each, its
// description, its server and its parameters.
func (r *Router) Prompt(ctx context.Context) (string, error) {
	offered, err := r.Tools(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, t := range offered {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Tool: %s\n", t.Name)
		if t.Description != "" {
			fmt.Fprintf(&b, "Description: %s\n", t.Description)
		}
		if session, _, _ := r.lookup(t.Name); session != nil {
			fmt.Fprintf(&b, "Provided by the MCP server %q.\n", session.Name())
		}
		var parameters bytes.Buffer
		if err := json.Indent(&parameters, t.Schema, "", "  "); err != nil {
			return "", errors.Join(fmt.Errorf("the schema of tool %q", t.Name), err)
		}
		fmt.Fprintf(&b, "Parameters: %s\n", parameters.String())
	}
	return b.String(), nil
}
