// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
)

// TestCallsBeginInOrder: where order matters, a call begins when the server has
// taken the one before, or when that is over, and does not wait for its answer.
func TestCallsBeginInOrder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ordered bool
		want    []string
	}{
		{"in order", true, []string{"begin 1", "taken 1", "begin 2", "over 2", "begin 3", "taken 3", "over 1", "over 3"}},
		{"at once", false, []string{"begin 1", "begin 2", "begin 3", "taken 3", "over 2", "taken 1", "over 3", "over 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var got []string
				note := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, what)
				}
				// slow is a call that the server takes and answers after a while.
				slow := func(n string, taken, over time.Duration) func(context.Context, string) (tools.Result, error) {
					return func(ctx context.Context, _ string) (tools.Result, error) {
						note("begin " + n)
						if taken > 0 {
							time.Sleep(taken)
							note("taken " + n)
							mcpwire.Taken(ctx)
						}
						time.Sleep(over)
						note("over " + n)
						return tools.Result{}, nil
					}
				}
				c := New(Config{
					Model: &script{replies: [][]any{called(call("1", "a", ""), call("2", "b", ""), call("3", "c", "")), said("Done.")}},
					Tools: box{
						"a": slow("1", 4*time.Second, 20*time.Second), "b": slow("2", 0, 3*time.Second), "c": slow("3", time.Second, 18*time.Second),
					},
					ordered: tt.ordered,
				}).Conversation()
				if p := play(t.Context(), c, "Go."); p.err != nil {
					t.Fatal(p.err)
				}
				if !tt.ordered { // they begin in any order
					slices.Sort(got[:3])
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}
