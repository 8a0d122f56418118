// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"errors"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/breaker"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// Breaker says when calls of a server, or of a model's endpoint, are stopped: 3
// that failed in a row open its circuit for 60 s, and then two calls that succeed
// close it. The zero Breaker has these numbers.
type Breaker = breaker.Options

// Circuit says how a circuit has fared.
type Circuit = breaker.Stats

// CircuitChange is a change of the state of a server's circuit; Of is its name.
type CircuitChange = breaker.Change

// CircuitState is that of a circuit.
type CircuitState = breaker.State

// The states of a circuit.
const (
	CircuitClosed   = breaker.Closed
	CircuitOpen     = breaker.Open
	CircuitHalfOpen = breaker.HalfOpen
)

// outcome is what the end of a call says about the server.
func outcome(err error) breaker.Outcome {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return breaker.Success
	}
	var status *mcpwire.StatusError
	switch {
	case e.Kind == ErrRPC:
		return breaker.Success // it answers
	case errors.Is(err, errClosed), e.Kind != ErrTimeout && e.Kind != ErrClosed && e.Kind != ErrTransport:
		return breaker.Ignored
	case errors.As(err, &status) && status.Code/100 == 4 && status.Code != http.StatusRequestTimeout && status.Code != http.StatusTooManyRequests:
		return breaker.Ignored
	}
	return breaker.Failure
}
