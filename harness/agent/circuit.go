// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/breaker"
)

// circuits keeps what has changed, for conversations that have yet to tell it.
type circuits struct {
	mu      sync.Mutex // guards changes
	changes []CircuitChanged
}

func (c *circuits) add(change CircuitChanged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, change)
}

func (c *circuits) ofServer(change mcppool.CircuitChange) {
	c.add(CircuitChanged{Server: change.Of, From: change.From, To: change.To, Err: change.Err})
}

// alsoTo is ofServer, and then whoever else is to be told.
func (c *circuits) alsoTo(next func(mcppool.CircuitChange)) func(mcppool.CircuitChange) {
	return func(change mcppool.CircuitChange) {
		c.ofServer(change)
		if next != nil {
			next(change)
		}
	}
}

func (c *circuits) ofEndpoint(change mcppool.CircuitChange) {
	c.add(CircuitChanged{From: change.From, To: change.To, Err: change.Err})
}

// count is how many changes there were.
func (c *circuits) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.changes)
}

// after are the changes that came after the first n.
func (c *circuits) after(n int) []CircuitChanged {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes[n:])
}

// guard puts the breaker of the configuration before the model.
func (a *Agent) guard() {
	if a.cfg.circuits == nil {
		a.cfg.circuits = new(circuits)
	}
	a.circuit = breaker.New("the model's endpoint", a.cfg.Breaker, a.cfg.Clock.Now, a.cfg.circuits.ofEndpoint)
	if a.circuit != nil {
		a.cfg.Model = guarded{a.cfg.Model, a.circuit}
	}
}

// Circuit says what [Config.Breaker] makes of the model's endpoint.
func (a *Agent) Circuit() mcppool.Circuit { return a.circuit.Stats() }

// tellCircuits yields what has changed since the last time.
func (t *turn) tellCircuits() {
	t.mu.Lock()
	changes := t.cfg.circuits.after(t.circuits)
	t.circuits += len(changes)
	t.mu.Unlock()
	for _, c := range changes {
		t.yield(c)
	}
}

// guarded is a model behind a breaker.
type guarded struct {
	model.Model
	circuit *breaker.Breaker
}

// Generate implements [model.Model].
func (g guarded) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		over, err := g.circuit.Allow()
		if err != nil {
			yield(nil, &model.Error{Kind: model.KindCircuitOpen, Message: "the endpoint was not asked", Err: err})
			return
		}
		ended, failure := breaker.Ignored, error(nil) // unless somebody breaks it off
		defer func() { over(ended, failure) }()
		for event, err := range g.Model.Generate(ctx, req) {
			if _, done := event.(model.Done); done {
				ended = breaker.Success
			}
			if err != nil {
				ended, failure = outcomeOf(ctx, err), err
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// outcomeOf is what the error of a model call says about the endpoint.
func outcomeOf(ctx context.Context, err error) breaker.Outcome {
	var e *model.Error
	if ctx.Err() != nil || !errors.As(err, &e) {
		return breaker.Ignored
	}
	switch {
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests:
		return breaker.Failure
	case e.Status/100 == 4:
		return breaker.Ignored
	}
	switch e.Kind { // of errors inside a stream, which have no status
	case model.KindBadRequest, model.KindInvalid, model.KindContextOverflow, model.KindContentFilter, model.KindAuth, model.KindNotFound, model.KindMiss, model.KindScript:
		return breaker.Ignored
	}
	return breaker.Failure
}
