// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"slices"
	"time"
)

// Stats say how a session with one server has gone so far.
type Stats struct {
	Server      string
	Connections int // how often it was connected to, the first time too
	Requests    int // that were sent, lists and pings too
	Errors      int // requests without a result; a tool that reports failure has one
	Calls       int // of tools
	Slow        int // requests that took longer than [Options.Slow]
	// Circuit is what [Options.Breaker] makes of the server.
	Circuit Circuit
	// Mean and Max are of all requests, P50 and P95 of the latest 1000. All are
	// measured by [Options.Clock], and zero before the first request.
	Mean, P50, P95, Max time.Duration
}

// maxTook is of how many requests the times are kept.
const maxTook = 1000

// Stats returns the figures of the session so far.
func (s *Session) Stats() Stats {
	circuit := s.circuit.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Server, out.Circuit = s.server.Name, circuit
	if out.Requests > 0 {
		out.Mean = s.stats.Mean / time.Duration(out.Requests)
	}
	if took := slices.Sorted(slices.Values(s.took)); len(took) > 0 {
		out.P50, out.P95 = quantile(took, 50), quantile(took, 95)
	}
	return out
}

// quantile is the least of some sorted times that percent of them do not
// exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// measured counts a request that is over. Until it is asked for, the mean is
// the sum of all times.
func (s *Session) measured(op string, took time.Duration, err error) {
	s.mu.Lock()
	s.stats.Requests++
	if err != nil {
		s.stats.Errors++
	}
	slow := s.opts.Slow >= 0 && took > s.opts.Slow
	if slow {
		s.stats.Slow++
	}
	s.stats.Mean += took
	s.stats.Max = max(s.stats.Max, took)
	if len(s.took) < maxTook {
		s.took = append(s.took, took)
	} else {
		s.took[(s.stats.Requests-1)%maxTook] = took // in the place of the oldest
	}
	s.mu.Unlock()
	if slow {
		s.note("%s it took more than %v", op, s.opts.Slow)
	}
}

func (s *Session) connectedOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Connections++
}

func (s *Session) called() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Calls++
}
