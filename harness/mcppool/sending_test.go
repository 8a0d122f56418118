// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcppool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/mcpwire"
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

// TestSendingTellsThatItIsTaken: a caller who wants to know when a server has taken a
// request is told so before there is an answer, and nobody else is asked about.
func TestSendingTellsThatItIsTaken(t *testing.T) {
	for name, wants := range map[string]bool{"who wants to know": true, "who does not": false} {
		life, end := context.WithCancel(t.Context())
		c := &conn{replies: &replies{life: life, end: end}}
		taken := false
		ctx := t.Context()
		if wants {
			ctx = mcpwire.OnTaken(ctx, func() { taken = true })
		}
		over, leave := c.sending(ctx, func(life context.Context) error {
			if mcpwire.AwaitsTaken(life) != wants {
				t.Errorf("%s: awaited %t", name, !wants)
			}
			mcpwire.Taken(life)
			return nil
		})
		if err := <-over; err != nil || taken != wants {
			t.Errorf("%s: told %t, %v", name, taken, err)
		}
		leave(false)
		c.shut()
		c.running.Wait()
	}
}

// TestConnectionThatEndsInASending: what the sender says beside the end is told where
// it says more, above all that nothing was sent.
func TestConnectionThatEndsInASending(t *testing.T) {
	boom := errors.New("HTTP 500")
	for _, tt := range []struct {
		name string
		sent error
		in   time.Duration // after the end
		want []error
	}{
		{"it was sent", nil, 0, []error{mcpwire.ErrClosed}},
		{"it was stopped", context.Canceled, 0, []error{mcpwire.ErrClosed}},
		{"it learned of the end", fmt.Errorf("writing: %w", mcpwire.ErrClosed), 0, []error{mcpwire.ErrClosed}},
		{"nothing was sent", errUnsent, 0, []error{mcpwire.ErrClosed, errUnsent}},
		{"it was refused", boom, 99 * time.Millisecond, []error{mcpwire.ErrClosed, boom}},
		{"it says nothing in time", boom, 101 * time.Millisecond, []error{mcpwire.ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				out := make(chan error, 1)
				var sender sync.WaitGroup
				sender.Go(func() {
					close(end)
					time.Sleep(tt.in + 1)
					out <- tt.sent
				})
				c := &conn{replies: newReplies(new(Session)), transport: &ending{end: end, out: out}}
				_, err := c.exchange(t.Context(), "1", mcpwire.MethodCall, nil, nil)
				var words []string
				for _, want := range tt.want {
					if words = append(words, want.Error()); !errors.Is(err, want) {
						t.Errorf("%v is not %v", err, want)
					}
				}
				if err.Error() != strings.Join(words, "\n") {
					t.Errorf("got %q, want %q", err, words)
				}
				sender.Wait()
				c.shut()
			})
		})
	}
}

// ending is a transport that ends while a request is sent.
type ending struct {
	transport
	end chan struct{}
	out chan error
}

func (e *ending) send(context.Context, mcpwire.Message, http.Header) (<-chan error, func(bool)) {
	return e.out, func(bool) {}
}
func (e *ending) done() <-chan struct{} { return e.end }
func (e *ending) lost() error           { return mcpwire.ErrClosed }
func (e *ending) gone() bool            { return false }

func (e *ending) posts() bool { return false }
