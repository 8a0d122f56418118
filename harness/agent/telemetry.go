// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/internal/telemetry"
)

// record makes the recorder of the configuration.
func (c *Config) record() {
	if c.Telemetry == nil {
		return
	}
	o := *c.Telemetry
	if p, ok := c.Model.(model.Provider); ok && o.Provider == "" {
		o.Provider = p.Provider()
	}
	c.recorder = telemetry.New(&o, c.Clock.Now)
}

// otherFailure is how the conventions name a failure that has no name.
const otherFailure = "_OTHER"

// failure is how spans name what ended a turn or a model call.
func failure(err error, broken bool) string {
	if err == nil && !broken {
		return "" // before anything is allocated
	}
	var stop *harness.StopError
	var e *model.Error
	switch {
	case broken, errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &stop):
		return string(stop.Reason)
	case errors.As(err, &e):
		return string(e.Kind)
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return otherFailure
}
