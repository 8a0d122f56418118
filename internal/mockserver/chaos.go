// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver

import (
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// Chaos adds faults to a script that strike about rate of the requests, from
// 0 to 1, by the mock's seed. They are such as a client should survive by
// asking again: limits, errors of a server or of what stands before it, and
// connections that end early.
func Chaos(script *mockllm.Script, rate float64) {
	kinds := []fault.Fault{
		{Kind: fault.RateLimit},
		{Kind: fault.ServerError},
		{Kind: fault.ServerError, Status: http.StatusServiceUnavailable},
		{Kind: fault.RequestTimeout},
		{Kind: fault.HTMLPage},
		{Kind: fault.Reset, Form: "before"},
		{Kind: fault.Reset, Form: "during"},
		{Kind: fault.Cut},
	}
	// Each is asked when those before it did not strike, and all are to be
	// equally frequent.
	share, left := rate/float64(len(kinds)), 1.0
	faults := slices.Clone(script.Faults)
	for _, f := range kinds {
		if share <= 0 {
			break
		}
		f.Probability = min(share/left, 1)
		left -= share
		faults = append(faults, f)
	}
	script.Faults = faults
}
