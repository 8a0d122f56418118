// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

// team is a conversation of a lead, which calls a tool and then answers, and
// of a worker in a lane that does the same in between.
func team() *conduct.Input {
	ask := func(seq, second int, lane string, reply int, answer harness.Message, messages ...harness.Message) harness.Exchange {
		all := append([]harness.Message{{Role: harness.RoleSystem, Text: "You are " + lane}, {Role: harness.RoleUser, Text: "Go."}}, messages...)
		answer.Role = harness.RoleAssistant
		return harness.Exchange{
			Seq: seq, Kind: harness.KindReply, Lane: lane, Turn: 1, Reply: reply, Attempt: 1, Status: 200, Delivered: true, Start: at(second),
			Request: harness.Request{Messages: all, Tools: slices.Clone(tools)}, Answer: answer,
		}
	}
	call := func(id, city string) harness.Message {
		return harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: id, Name: "get", Arguments: `{"city":"` + city + `"}`}}}
	}
	result := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	exec := func(seq, second int, city, text string) harness.ToolExchange {
		return harness.ToolExchange{
			Seq: seq, Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"` + city + `"}`), Result: json.RawMessage(text), Text: text, Start: at(second),
		}
	}
	lead, worker := call("c1", "Paris"), call("c1", "Oslo") // ids are of one conversation only
	return &conduct.Input{
		Mode: harness.ModeMock,
		Exchanges: []harness.Exchange{
			ask(1, 1, "", 1, lead),
			ask(2, 3, "worker", 1, worker),
			ask(3, 5, "worker", 2, harness.Message{Text: "-3"}, worker, result("c1", oslo)),
			ask(4, 8, "", 2, harness.Message{Text: "21 and -3"}, lead, result("c1", paris)),
		},
		Tools: []harness.ToolExchange{exec(1, 4, "Oslo", oslo), exec(2, 6, "Paris", paris)},
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{{
			Answer: "21 and -3", ModelCalls: 2, Calls: []harness.ReportedCall{{ID: "c1", Tool: "get"}},
		}}},
		Listed: map[string][]harness.Tool{"weather": tools},
	}
}

func TestLanes(t *testing.T) {
	extra := func(second int) func(*conduct.Input) {
		return func(in *conduct.Input) {
			in.Tools = append(in.Tools, harness.ToolExchange{
				Seq: 3, Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"Rome"}`), Result: json.RawMessage(`1`), Text: "1", Start: at(second),
			})
		}
	}
	tests := []struct {
		name string
		do   func(in *conduct.Input)
		want []string // parts of the findings
	}{
		{name: "honest", do: func(*conduct.Input) {}},
		{
			name: "the worker's calls reported too",
			do: func(in *conduct.Input) {
				r := &in.Transcript.Turns[0]
				r.Calls, r.ModelCalls = append(r.Calls, r.Calls[0]), 4
			},
		},
		{
			name: "a call of the lead not reported",
			do:   func(in *conduct.Input) { in.Transcript.Turns[0].Calls[0].ID = "c9" },
			want: []string{`witnesses_agree: turn 1: the subject does not report call weather.get {"city":"Paris"} (c1)`},
		},
		{
			name: "the worker's result changed",
			do:   func(in *conduct.Input) { in.Exchanges[2].Request.Messages[3].Text = "warm" },
			want: []string{`results: lane worker: the result of call weather.get {"city":"Oslo"} (c1) was changed`},
		},
		{
			name: "the worker's call unanswered",
			do: func(in *conduct.Input) {
				in.Exchanges[2].Request.Messages = in.Exchanges[2].Request.Messages[:3]
			},
			want: []string{`answered_once: lane worker: call weather.get {"city":"Oslo"} (c1) was never answered`},
		},
		{
			name: "a call of nobody, after all answers", do: extra(9),
			want: []string{`no_call_after_answer: weather.get {"city":"Rome"} was called after the answer "21 and -3" of turn 1`},
		},
		{
			name: "a call of nobody, while the lead is waiting", do: extra(7),
			want: []string{`answered_once: weather.get {"city":"Rome"} was executed, but no reply of the model asks for it`},
		},
		{
			name: "the worker's call made when the worker has answered",
			do:   func(in *conduct.Input) { in.Tools[0].Start = at(7) },
			want: []string{`no_call_after_answer: weather.get {"city":"Oslo"} was called after the answer "-3" of lane worker`},
		},
		{
			name: "replies left",
			do: func(in *conduct.Input) {
				in.Remaining = []conduct.Unreached{{Turn: 1}, {Lane: "worker", Turn: 1}, {Lane: "worker", Turn: 2}}
			},
			want: []string{"all_replies_reached: 1 scripted reply not reached; 2 scripted replies of lane worker not reached"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := team()
			tt.do(in)
			found := check(conduct.Config{}, in)
			if len(found) != len(tt.want) {
				t.Fatalf("found %q, want %q", found, tt.want)
			}
			for i, part := range tt.want {
				if !strings.Contains(found[i], part) {
					t.Errorf("found %q, want %q", found[i], part)
				}
			}
		})
	}
}

// TestUselessIDs has calls whose ids the model made of no use: the client
// gives them ids of its own, and is held to those.
func TestUselessIDs(t *testing.T) {
	for _, wire := range [][2]string{{"", ""}, {"c1", "c1"}, {"c1", ""}} {
		for _, own := range [][2]string{{"a", "b"}, {"c1", "call_1"}, wire} { // the last is sent back as it came
			t.Run(fmt.Sprintf("%q as %q", wire, own), func(t *testing.T) {
				in := honest()
				for i := range wire {
					in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
					in.Exchanges[0].Answer.Calls[i].ID = wire[i]
				}
				m := *second(in)
				m[2].Calls = []harness.ToolCall{
					{ID: own[0], Name: "get", Arguments: `{"city": "Paris"}`}, {ID: own[1], Name: "get", Arguments: `{"city": "Oslo"}`},
				}
				m[3].CallID, m[4].CallID = own[0], own[1]
				in.Transcript.Turns[0].Calls = []harness.ReportedCall{{ID: own[0], Tool: "get"}, {ID: own[1], Tool: "get"}}
				if found := check(conduct.Config{}, in); found != nil {
					t.Errorf("found %q", found)
				}
				calls := trajectory.Join(in.Exchanges, in.Tools, func(offered string) (string, string, bool) { return "weather", offered, true })
				in.Trajectory = calls
				conduct.Check(conduct.Config{}, in)
				for i, id := range wire { // journals and trajectory are the caller's
					if calls[i].ID != id || in.Exchanges[0].Answer.Calls[i].ID != id {
						t.Errorf("call %d has got the id %q in the trajectory and %q in the journal", i, calls[i].ID, in.Exchanges[0].Answer.Calls[i].ID)
					}
				}
				m[3].Text, m[4].Text = m[4].Text, m[3].Text
				if found := check(conduct.Config{}, in); len(found) != 1 || !strings.Contains(found[0], "was answered with the result of") {
					t.Errorf("swapped: found %q", found)
				}
			})
		}
	}
}

// TestIDsThatDoNotComeBack has calls whose ids or names the endpoint does not take
// back: the client sends others, and is held to those.
func TestIDsThatDoNotComeBack(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, id, called, own, sent, want string
	}{
		{"id", "messages", "functions.get:0", "get", "toolu_66", "get", ""},
		{"id that was good", "messages", "toolu_1", "get", "toolu_66", "get", "was never answered"},
		{"id that is good elsewhere", "chat", "functions.get:0", "get", "toolu_66", "get", "was never answered"},
		{"name that no tool has", "gemini", "", "default_api.get", "call_0", "default_api_get", ""},
		{"name of a tool", "gemini", "", "get", "call_0", "got", "was never answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			x, m := &in.Exchanges[0], *second(in)
			x.Dialect, x.Request.Tools = tt.dialect, []harness.Tool{{Name: "get"}}
			x.Answer.Calls = slices.Clone(x.Answer.Calls)
			m[2].Calls = slices.Clone(m[2].Calls)
			x.Answer.Calls[0].ID, x.Answer.Calls[0].Name = tt.id, tt.called
			m[2].Calls[0].ID, m[2].Calls[0].Name, m[3].CallID = tt.own, tt.sent, tt.own
			in.Transcript.Turns[0].Calls[0].ID = tt.own
			found := strings.Join(check(conduct.Config{}, in), "\n")
			if tt.want == "" && strings.Contains(found, "was never answered") || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}

// TestOwnIDs has that a client must not change ids that are of use.
func TestOwnIDs(t *testing.T) {
	in := honest()
	m := *second(in)
	m[2].Calls = slices.Clone(m[2].Calls)
	m[2].Calls[0].ID, m[3].CallID = "mine", "mine"
	found := check(conduct.Config{}, in)
	if len(found) == 0 || !strings.Contains(found[0], `answers the call id "mine", but no call has that id`) {
		t.Errorf("found %q", found)
	}
}

// TestCallsThatCannotBeMade has what a client may answer by itself.
func TestCallsThatCannotBeMade(t *testing.T) {
	for _, tt := range []struct {
		name, tool, args string
		want             []string
	}{
		{name: "no JSON", tool: "get", args: `{"city":`},
		{name: "a text", tool: "get", args: `"{\"city\":\"Paris\"}"`},
		{name: "a list", tool: "get", args: `["Paris"]`},
		{name: "an unknown tool", tool: "no_such_tool", args: `{"city":"Paris"}`},
		{name: "nothing wrong", tool: "get", args: `{"city":"Paris"}`, want: []string{"failed results: call weather.get {\"city\":\"Paris\"} (c1) was answered with \"Error: no.\", but the server was never called"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
			call := &in.Exchanges[0].Answer.Calls[0]
			call.Name, call.Arguments = tt.tool, tt.args
			m := *second(in)
			m[2].Calls, m[3].Text = slices.Clone(in.Exchanges[0].Answer.Calls), "Error: no."
			in.Tools = in.Tools[:1]
			in.Transcript.Turns[0].Calls[1].Tool = tt.tool
			if d := cmp.Diff(tt.want, check(conduct.Config{}, in)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestStopOfEndpoint has a turn that ends in the middle, since the endpoint
// gave no whole answer: nothing is owed to what it began to say.
func TestStopOfEndpoint(t *testing.T) {
	in := honest()
	next := harness.Exchange{
		Seq: 2, Kind: harness.KindReply, Turn: 2, Reply: 1, Attempt: 1, Status: 200, Delivered: true, Start: at(4), Answer: harness.Message{Text: "ok"},
		Request: in.Exchanges[0].Request,
	}
	next.Request.Messages = append(slices.Clone(next.Request.Messages), harness.Message{Role: harness.RoleUser, Text: "And now?"})
	in.Exchanges = []harness.Exchange{in.Exchanges[0], next}
	in.Tools = nil
	in.Transcript.Turns = []harness.TurnReport{{Stop: harness.StopMalformed, Error: "no JSON"}, {Answer: "ok", ModelCalls: 1}}
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
	in.Transcript.Turns[0] = harness.TurnReport{Answer: "I do not know."}
	if found := check(conduct.Config{}, in); len(found) < 2 {
		t.Errorf("a turn that did not stop: found %q", found)
	}
}
