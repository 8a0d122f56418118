// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"time"
)

// WithTimeout is [context.WithTimeoutCause] by a clock. One that skips waits
// has the method
//
//	At(t time.Time, f func()) (stop func())
//
// which calls f once the clock shows t, in the midst of a wait too, unless it
// is stopped before. With any other, the machine's clock decides.
func WithTimeout(ctx context.Context, clock Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	c, ok := clock.(interface {
		At(t time.Time, f func()) (stop func())
	})
	if !ok {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := c.At(clock.Now().Add(d), func() { cancel(cause) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}
