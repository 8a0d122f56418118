// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

// What the sessions of the table of pools do.
const (
	poolServers = 5
	poolCalls   = 20 // of a session, over all servers in turn
)

// pool prints what many agents take that share one connection a server, beside
// agents that connect for each call.
func (b *bench) pool(out io.Writer) error {
	var took [2]time.Duration
	var started [2]int64
	for i, perCall := range []bool{false, true} {
		var err error
		if took[i], started[i], err = b.agents(perCall); err != nil {
			return fmt.Errorf("measuring agents that share servers: %w", err)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%d agents, %d calls each, %d stdio servers\tprocesses\ttime of a pool\t\n", b.agentsAtOnce, poolCalls, poolServers)
	fmt.Fprintf(w, "a pool\t%d\t1.00\t\n", started[0])
	fmt.Fprintf(w, "a connection per call\t%d\t%.2f\t\n", started[1], float64(took[1])/float64(took[0]))
	return w.Flush()
}

// agents has agents call servers, all at the same time, and counts the
// processes that were started.
func (b *bench) agents(perCall bool) (took time.Duration, started int64, err error) {
	dir, err := os.MkdirTemp("", "bench-pool")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	starts := filepath.Join(dir, "starts")
	var servers [poolServers]harness.Server
	for i := range servers {
		servers[i] = harness.Server{Name: fmt.Sprintf("s%d", i), Command: []string{self, "-serve", mock, "-stdio", "-starts", starts}}
	}
	p := mcppool.NewPool(&mcppool.Options{PerCall: perCall})
	defer func() { err = errors.Join(err, p.Close()) }()
	begin := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, b.agentsAtOnce)
	for i := range errs {
		wg.Go(func() { errs[i] = callAll(context.Background(), p, servers[:], i) })
	}
	wg.Wait()
	took = time.Since(begin)
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(starts)
	if err != nil {
		return 0, 0, err
	}
	return took, info.Size(), nil
}

// callAll is the work of one agent.
func callAll(ctx context.Context, p *mcppool.Pool, servers []harness.Server, first int) error {
	for i := range poolCalls {
		s, err := p.Open(ctx, servers[(first+i)%len(servers)])
		if err != nil {
			return err
		}
		result, err := s.Call(ctx, "get_weather", json.RawMessage(`{"city":"Paris"}`))
		if err != nil {
			return err
		}
		if !strings.Contains(tools.Text(result), answerPart) {
			return fmt.Errorf("the tool returned %q, without %q", tools.Text(result), answerPart)
		}
	}
	return nil
}

// note adds one byte to the file of starts.
func note(file string) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(".")
	return err
}
