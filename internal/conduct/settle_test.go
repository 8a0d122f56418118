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
	lost := func(in *conduct.Input, seq int) *conduct.Input {
		in.Tools[seq-1].Unsent = true
		return in
	}
	unreadable := func(in *conduct.Input) *conduct.Input {
		for i := range in.Exchanges[0].Answer.Calls {
			in.Exchanges[0].Answer.Calls[i].Arguments = `{"city":`
		}
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
		{"the first was made again after its result was lost", failed(lost(equals([]string{"two", "three"}, []string{"one", "two", "three"}), 1), 1), nil},
		{"what was lost is told of, not what failed", failed(lost(equals([]string{"three", "timed out"}, []string{"one", "two", "three"}), 2), 1), nil},
		{"what a fault spoiled is told of, not what failed", func() *conduct.Input {
			in := failed(equals([]string{"three", "timed out"}, []string{"one", "two", "three"}), 1)
			in.Tools[1].Fault = "hang"
			return in
		}(), nil},
		{"one was denied, and not executed", func() *conduct.Input {
			in := equals([]string{"denied", "one"}, []string{"one"})
			in.Approvals = []conduct.Approval{
				{ID: "A", Server: "weather", Tool: "get", Args: in.Tools[0].Args, Decision: conduct.Denied},
				{ID: "B", Server: "weather", Tool: "get", Args: in.Tools[0].Args, Decision: conduct.Allowed},
			}
			return in
		}(), nil},
		{"one was not executed", equals([]string{"ready", "one"}, []string{"one"}), []string{
			`failed results: call weather.get {"city":"Paris"} (A) was answered with "ready", but the server was never called`,
		}},
		{"one result for two, where a third was made again", failed(equals([]string{"two", "two", "four"}, []string{"one", "two", "broke", "four"}), 3), []string{
			`failed answered_once: call weather.get {"city":"Paris"} (A) was answered with the result of call weather.get {"city":"Paris"} (B)`,
		}},
		{"arguments that cannot be read are equal to none", unreadable(equals([]string{"two", "one"}, []string{"one", "two"})), []string{
			`failed answered_once: call weather.get {"city": (A) was answered with the result of call weather.get {"city": (B); call weather.get {"city": (B) was answered with the result of call weather.get {"city": (A)`,
		}},
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

// TestEqualCallsLater: the calls of a reply are settled by themselves, whatever a
// later reply has.
func TestEqualCallsLater(t *testing.T) {
	for _, tt := range []struct {
		name string
		turn int
		city string // that the later call is about
	}{{"an equal call in the same turn", 1, "Paris"}, {"another in the same turn", 1, "Oslo"}, {"an equal one in the next turn", 2, "Paris"}, {"another in the next turn", 2, "Oslo"}} {
		t.Run(tt.name, func(t *testing.T) {
			in := equals([]string{"two", "one"}, []string{"one", "two"})
			args := `{"city":"` + tt.city + `"}`
			called := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "C", Name: "get", Arguments: args}}}
			history := (*second(in))[1:]
			asks := &in.Exchanges[1]
			if tt.turn == 2 {
				history = append(history[:len(history):len(history)], asks.Answer, rome)
				asks = addTurn(in, history...)
			}
			asks.Answer = called
			last := addTurn(in, append(history[:len(history):len(history)], called, harness.Message{Role: harness.RoleTool, CallID: "C", Text: "three"})...)
			last.Turn, last.Reply, last.Start = tt.turn, 3, at(12)
			in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "get", Args: json.RawMessage(args), Result: json.RawMessage(`"three"`), Text: "three", Start: at(10)})
			if found := check(conduct.Config{}, in); found != nil {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestEqualCallsOfLanes: conversations beside each other may make the same
// call at the same time. What was executed before a call came, or after it was
// answered, is not its own.
func TestEqualCallsOfLanes(t *testing.T) {
	changed := []string{
		`failed results: the result of call weather.get {"city":"Paris"} (c1) was changed: the server sent "{\"city\":\"Oslo\",\"temperature\":-3}", the model got "{\"city\":\"Paris\",\"temperature\":21}"; ` +
			`lane worker: the result of call weather.get {"city":"Paris"} (c1) was changed: the server sent "{\"city\":\"Paris\",\"temperature\":21}", the model got "{\"city\":\"Oslo\",\"temperature\":-3}"`,
	}
	for _, tt := range []struct {
		name     string
		executed [2]int // when, as the results that the worker and the lead are told
		asked    [2]int // when the worker and the lead go on
		want     []string
	}{
		{"executed at the same time", [2]int{4, 4}, [2]int{5, 8}, nil},
		{"the worker is told what was executed before it asked", [2]int{2, 4}, [2]int{5, 8}, changed},
		{"the lead is told what was executed after it went on", [2]int{4, 6}, [2]int{8, 5}, changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := team()
			for i := range in.Exchanges {
				x := &in.Exchanges[i]
				for k := range x.Answer.Calls {
					x.Answer.Calls[k].Arguments = `{"city":"Paris"}`
				}
				for k := range x.Request.Messages {
					for n := range x.Request.Messages[k].Calls {
						x.Request.Messages[k].Calls[n].Arguments = `{"city":"Paris"}`
					}
				}
			}
			for i := range in.Tools {
				in.Tools[i].Args, in.Tools[i].Start = json.RawMessage(`{"city":"Paris"}`), at(tt.executed[i])
				in.Exchanges[2+i].Start = at(tt.asked[i])
			}
			if d := cmp.Diff(tt.want, check(conduct.Config{}, in)); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}
