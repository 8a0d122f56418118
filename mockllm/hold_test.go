// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestHold lets a reply go by a Go call and by a request.
func TestHold(t *testing.T) {
	for _, by := range []string{"call", "request"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "At last.", Hold: "go on"}}}, nil)
				c := newClient(t, m)
				c.say("user", "Hi")
				got := make(chan answer)
				go func() {
					a, _ := c.send()
					got <- a
				}()
				if err := m.AwaitHeld(t.Context(), "go on"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case a := <-got:
					t.Fatalf("answered before the cue: %+v", a)
				default:
				}
				m.Cue("something else")
				if by == "call" {
					m.Cue("go on")
				} else {
					res, err := c.http.Post(m.Root+"/rehearse/cue/go%20on", "", http.NoBody)
					if err != nil || res.StatusCode != http.StatusNoContent {
						t.Fatalf("%v, %v", res, err)
					}
					res.Body.Close()
				}
				wantText(t, <-got, "At last.")
				if err := m.AwaitHeld(t.Context(), "go no"); err == nil || !strings.Contains(err.Error(), `the script does not wait for the cue "go no" (did you mean "go on"?)`) {
					t.Errorf("an unknown cue: %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := m.AwaitHeld(ctx, "go on"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("nothing is held, and waiting for it ends with %v", err)
				}
			})
		})
	}
}

// TestHoldEnds has the client go away, and the reply come with the next try.
func TestHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "At last.", Hold: "go"}}}, nil)
		c := newClient(t, m)
		c.say("user", "Hi")
		c.http.Timeout = time.Second
		res, err := c.http.Post(c.url+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
		if err == nil {
			res.Body.Close()
			t.Fatal("answered without a cue")
		}
		m.Cue("go")
		wantText(t, c.ask(), "At last.")
	})
}
