// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSending: a request that was answered is let go on for a moment, so that its
// connection is not cut while the next one takes it; any other ends at once.
func TestSending(t *testing.T) {
	for answered, want := range map[bool]time.Duration{true: time.Second, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			life, end := context.WithCancel(t.Context())
			c := &conn{replies: &replies{life: life, end: end}}
			over, leave := c.sending(t.Context(), func(life context.Context) error {
				<-life.Done()
				return life.Err()
			})
			begin := time.Now()
			leave(answered)
			if err := <-over; err == nil || time.Since(begin) != want {
				t.Errorf("answered %t: ended after %v with %v, want after %v", answered, time.Since(begin), err, want)
			}
			c.shut()
			c.running.Wait()
		})
	}
}
