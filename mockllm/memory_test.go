// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestMemory plays one conversation after another with a shared memory, and
// shorter ones and other ones between: each journal is as without it.
func TestMemory(t *testing.T) {
	play := func(t *testing.T, memory *mockllm.Memory, user, tool string, turns int) []harness.Exchange {
		m := scripted(t, mockllm.Script{Rules: []mockllm.Rule{{Reply: mockllm.Reply{Say: "It is sunny."}}}}, &mockllm.Options{Seed: 7, Memory: memory})
		c := newClient(t, m, tool)
		for range turns {
			c.say("user", user)
			c.ask()
		}
		exchanges := m.Journal()
		for i, x := range m.Outline() {
			x.Request, x.Body, x.Answer = exchanges[i].Request, exchanges[i].Body, exchanges[i].Answer
			if diff := cmp.Diff(exchanges[i], x); diff != "" {
				t.Errorf("outline of exchange %d (-want +got):\n%s", i+1, diff)
			}
		}
		return exchanges
	}
	synctest.Test(t, func(t *testing.T) { // for the times in the journals
		var memory mockllm.Memory
		for _, tt := range []struct {
			name, user, tool string
			turns            int
		}{
			{"first", "Paris?", "get_weather", 3},
			{"again", "Paris?", "get_weather", 3},
			{"shorter", "Paris?", "get_weather", 1},
			{"other words", "And in Rome?", "get_weather", 2},
			{"another tool", "Paris?", "get_forecast_of_many_days", 2},
			{"as at first", "Paris?", "get_weather", 4},
		} {
			want := play(t, nil, tt.user, tt.tool, tt.turns)
			if diff := cmp.Diff(want, play(t, &memory, tt.user, tt.tool, tt.turns)); diff != "" {
				t.Errorf("%s (-without +with memory):\n%s", tt.name, diff)
			}
		}
	})
}
