// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

// TestBrokenReplies says which answers count that did not arrive whole.
func TestBrokenReplies(t *testing.T) {
	broken := func(x harness.Exchange) harness.Exchange {
		x.Delivered = false
		return x
	}
	in := func(lane string, x harness.Exchange) harness.Exchange {
		x.Lane = lane
		return x
	}
	live := func(x harness.Exchange) harness.Exchange {
		x.Kind = harness.KindLive
		return x
	}
	tests := []struct {
		name      string
		exchanges []harness.Exchange
		execs     []harness.ToolExchange
		replies   int
		want      []string
	}{
		{
			"the turn went on from it",
			[]harness.Exchange{broken(reply(1, 1, 1, `a {}`)), reply(1, 2, 3)},
			nil, 2,
			[]string{`1.1.0 s.a {}`},
		},
		{
			"the turn of another lane went on",
			[]harness.Exchange{broken(reply(1, 1, 1, `a {}`)), in("worker", reply(1, 2, 3))},
			nil, 1, nil,
		},
		{
			"its calls ran before it came again",
			[]harness.Exchange{broken(reply(1, 1, 1, `a {}`)), reply(1, 1, 3, `a {}`), reply(1, 2, 5)},
			[]harness.ToolExchange{exec(1, 2, "a", `{}`, `1`)},
			2,
			[]string{`1.1.0 s.a {} -> 1 #1`},
		},
		{
			"it came again and broke off again",
			[]harness.Exchange{reply(1, 1, 1, `a {"x":1}`), broken(reply(1, 1, 3, `a {"x":2}`)), reply(1, 2, 5)},
			nil, 2,
			[]string{`1.1.0 s.a {"x":1}`},
		},
		{
			"an answer in text of a real endpoint, while a tool ran",
			[]harness.Exchange{live(broken(reply(1, 1, 1)))},
			[]harness.ToolExchange{exec(1, 2, "a", `{}`, `1`)},
			0, nil,
		},
		{
			"calls of a real endpoint, executed at the very time of the request",
			[]harness.Exchange{live(broken(reply(1, 1, 1, `a {}`)))},
			[]harness.ToolExchange{exec(1, 1, "a", `{}`, `1`)},
			1,
			[]string{`1.1.0 s.a {} -> 1 #1`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := len(trajectory.Replies(tt.exchanges, tt.execs)); got != tt.replies {
				t.Errorf("%d replies, want %d", got, tt.replies)
			}
			if d := cmp.Diff(tt.want, show(trajectory.Join(tt.exchanges, tt.execs, onServer))); d != "" {
				t.Errorf("trajectory (-want +got):\n%s", d)
			}
		})
	}
}
