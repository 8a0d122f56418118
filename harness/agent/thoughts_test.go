// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestThoughts holds a conversation in which the model thinks before it calls
// and before it answers, over each provider. The mock refuses a history without
// the thoughts or their signatures where the provider does.
func TestThoughts(t *testing.T) {
	for _, p := range providers() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", p.name, stream), func(t *testing.T) {
				mock := newMock(t, mockllm.Script{Turns: []mockllm.Turn{
					{User: firstUser, Replies: []mockllm.Reply{
						{Reasoning: "Two cities.", Say: "I will look.", Calls: []mockllm.Call{cityCall("Zürich"), cityCall("Nice")}},
						{Reasoning: "Both are known.", Say: firstAnswer},
					}},
					{User: secondUser, Replies: []mockllm.Reply{{Reasoning: "One more.", Calls: []mockllm.Call{cityCall("Rome")}}, {Say: secondAnswer}}},
				}}, nil)
				defer mock.Close()
				c := agent.New(agent.Config{
					Model: p.open("http://mock.test/v1", mock.Transport(), harness.SystemClock()),
					Name:  p.model, Tools: &counting{runs: map[string]int{}}, Stream: stream, System: "Be brief.", Reasoning: "low",
				}).Conversation()
				for turn, user := range []string{firstUser, secondUser} {
					mock.BeginTurn(turn + 1)
					for event, err := range c.Send(context.Background(), user) {
						if err != nil {
							t.Fatal(err)
						}
						if n, ok := event.(agent.Notice); ok {
							t.Errorf("notice: %s", n.Text)
						}
					}
				}
				if err := mock.Err(); err != nil {
					t.Error(err)
				}
				journal := mock.Journal()
				last := journal[len(journal)-1].Request
				want := map[string]bool{"Two cities.": true, "One more.": true}
				for _, m := range last.Messages {
					if p.thoughts {
						delete(want, m.Reasoning)
					}
				}
				if p.thoughts && len(want) > 0 {
					t.Errorf("the last request has no thought %v: %+v", want, last.Messages)
				}
				for _, m := range c.Messages() {
					if m.Role == harness.RoleAssistant && len(m.Calls) > 0 && m.Reasoning == "" {
						t.Errorf("the reasoning is not kept: %+v", m)
					}
				}
			})
		}
	}
}
