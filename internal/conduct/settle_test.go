// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

// equals is a conversation in which the model makes equal calls: their ids, and
// in which texts the client answers them. They were executed in the order of
// results, a second apart.
func equals(texts, results []string) *conduct.Input {
	in := honest()
	var calls, told []harness.Message
	in.Exchanges[0].Answer.Calls = nil
	in.Transcript = nil
	for i, text := range texts {
		call := harness.ToolCall{ID: string(rune('A' + i)), Name: "get", Arguments: `{"city":"Paris"}`}
		in.Exchanges[0].Answer.Calls = append(in.Exchanges[0].Answer.Calls, call)
		told = append(told, harness.Message{Role: harness.RoleTool, CallID: call.ID, Text: text})
	}
	calls = append(calls, in.Exchanges[0].Answer)
	*second(in) = append(append((*second(in))[:2:2], calls...), told...)
	in.Tools = nil
	for i, text := range results {
		raw, _ := json.Marshal(text)
		in.Tools = append(in.Tools, harness.ToolExchange{
			Seq: i + 1, Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"Paris"}`), Result: raw, Text: text, Start: at(2),
		})
	}
	return in
}

// TestEqualCalls: results may go to equal calls in any order, each once.
func TestEqualCalls(t *testing.T) {
	failed := func(in *conduct.Input, seq int) *conduct.Input {
		in.Tools[seq-1].Failed = true
		return in
	}
	const swapped = `failed answered_once: call weather.get {"city":"Paris"} (B) was answered with the result of call weather.get {"city":"Paris"} (A)`
	tests := []struct {
		name string
		in   *conduct.Input
		want []string
	}{
		{"in order of arrival", equals([]string{"one", "two", "three"}, []string{"one", "two", "three"}), nil},
		{"in another order", equals([]string{"three", "one", "two"}, []string{"one", "two", "three"}), nil},
		{"an empty result, which every text contains", equals([]string{"two", ""}, []string{"", "two"}), nil},
		{"an answer in the name of another fault", func() *conduct.Input {
			in := equals([]string{"two", "timed out"}, []string{"one", "two"})
			in.Tools[0].Unsent = true
			return in
		}(), nil},
		{"the first was made again after it had failed", failed(equals([]string{"three", "two"}, []string{"broke", "two", "three"}), 1), nil},
		{"the failure is told of what was made again", failed(equals([]string{"one", "broke"}, []string{"one", "broke", "three"}), 2), nil},
		{"one result for both", equals([]string{"one", "one"}, []string{"one", "two"}), []string{swapped}},
		{"another text", equals([]string{"two", "four"}, []string{"one", "two"}), []string{
			`failed results: the result of call weather.get {"city":"Paris"} (B) was changed: the server sent "one", the model got "four"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, check(conduct.Config{}, tt.in)); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

// TestEqualCallsOfLanes: conversations beside each other may make the same
// call at the same time.
func TestEqualCallsOfLanes(t *testing.T) {
	in := team()
	rename := func(call *harness.ToolCall) { call.Arguments = `{"city":"Paris"}` }
	for i := range in.Exchanges {
		x := &in.Exchanges[i]
		for k := range x.Answer.Calls {
			rename(&x.Answer.Calls[k])
		}
		for k := range x.Request.Messages {
			for n := range x.Request.Messages[k].Calls {
				rename(&x.Request.Messages[k].Calls[n])
			}
		}
	}
	for i := range in.Tools {
		in.Tools[i].Args, in.Tools[i].Start = json.RawMessage(`{"city":"Paris"}`), at(4)
	}
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
}
