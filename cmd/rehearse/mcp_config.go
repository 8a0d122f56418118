// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// configured finds the server of a configuration that the first word names, and
// returns the other words.
func (c *mcpClient) configured(args []string, dash int) (harness.Server, []string, error) {
	switch {
	case dash >= 0:
		return harness.Server{}, nil, errors.New("--config names the servers; remove the command after --")
	case c.transport != "" || len(c.headers) > 0 || len(c.env) > 0:
		return harness.Server{}, nil, errors.New("--transport, --header and --env have no effect beside --config; write them into the file")
	case len(args) == 0:
		return harness.Server{}, nil, errors.New("no server: --config needs the name of one of its servers")
	}
	config, err := mcpconfig.Read(c.config, c.p.getenv)
	if err != nil {
		return harness.Server{}, nil, err
	}
	c.p.warnOf(config)
	var names []string
	for _, s := range config.Servers {
		if s.Name == args[0] {
			return s, args[1:], nil
		}
		names = append(names, s.Name)
	}
	return harness.Server{}, nil, fmt.Errorf("%s has no server %q that is enabled%s", c.config, args[0],
		prose.MeantOr(args[0], names, "; it has "+strings.Join(names, ", ")))
}

// listAll lists the tools of all servers of a configuration. One that cannot be
// reached is a warning, unless all are like that.
func (c *mcpClient) listAll(ctx context.Context) error {
	config, err := mcpconfig.Read(c.config, c.p.getenv)
	if err != nil {
		return err
	}
	if len(config.Servers) == 0 {
		return fmt.Errorf("%s has no servers that are enabled", c.config)
	}
	c.p.warnOf(config)
	type answer struct {
		tools    []mcppool.Tool
		warnings []string
		err      error
	}
	answers := make([]answer, len(config.Servers))
	var wg sync.WaitGroup
	for i, s := range config.Servers {
		wg.Go(func() {
			a := &answers[i]
			var session *mcppool.Session
			if session, a.err = c.open(ctx, s); a.err == nil {
				defer session.Close()
				a.tools, a.warnings, a.err = session.Tools(ctx)
			}
		})
	}
	wg.Wait()
	reached := false
	var last error
	for i, s := range config.Servers {
		a := answers[i]
		for _, w := range a.warnings {
			c.p.logf("%s", w)
		}
		if a.err != nil {
			c.p.logf("%v", a.err)
			last = a.err
			continue
		}
		reached = true
		if !c.raw {
			if _, err := fmt.Fprintf(c.p.stdout, "%s:\n", s.Name); err != nil {
				return err
			}
		}
		if err := c.print(a.tools); err != nil {
			return err
		}
	}
	if !reached {
		return outOfReach(fmt.Errorf("no server of %s can be reached: %w", c.config, last))
	}
	return nil
}

// warnOf says what has no effect in a configuration.
func (p *process) warnOf(config *mcpconfig.Config) {
	for _, w := range config.Warnings {
		p.logf("rehearse: %v", w)
	}
}
