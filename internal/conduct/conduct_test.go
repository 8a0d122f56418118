// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/trajectory"
)

func at(second int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)
}

var tools = []harness.Tool{
	{Name: "get", Description: "Get it.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
	{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{},"b":{}}}`)},
}

const (
	paris = `{"city":"Paris","temperature":21}`
	oslo  = `{"city":"Oslo","temperature":-3}`
)

// honest is a conversation of an honest client: one turn, two calls at once,
// an answer. Tests make it worse.
func honest() *conduct.Input {
	user := harness.Message{Role: harness.RoleUser, Text: "Weather in Paris and Oslo?"}
	system := harness.Message{Role: harness.RoleSystem, Text: "Be brief."}
	calls := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{
		{ID: "c1", Name: "get", Arguments: `{"city": "Paris"}`},
		{ID: "c2", Name: "get", Arguments: `{"city": "Oslo"}`},
	}}
	answer := harness.Message{Role: harness.RoleAssistant, Text: "21 and -3."}
	request := func(messages ...harness.Message) harness.Request {
		return harness.Request{Model: "m", Messages: append([]harness.Message{system, user}, messages...), Tools: slices.Clone(tools)}
	}
	exchange := func(n int, start int, r harness.Request, a harness.Message) harness.Exchange {
		return harness.Exchange{
			Seq: n, Kind: harness.KindReply, Turn: 1, Reply: n, Attempt: 1, Request: r, Answer: a, Status: 200, Delivered: true, Start: at(start),
		}
	}
	tool := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	exec := func(seq, second int, args, result string) harness.ToolExchange {
		return harness.ToolExchange{
			Seq: seq, Server: "weather", Tool: "get", Args: json.RawMessage(args), Result: json.RawMessage(result), Text: result, Start: at(second),
		}
	}
	return &conduct.Input{
		Mode: harness.ModeMock,
		Exchanges: []harness.Exchange{
			exchange(1, 1, request(), calls),
			exchange(2, 4, request(calls, tool("c1", paris), tool("c2", oslo)), answer),
		},
		Tools: []harness.ToolExchange{exec(1, 2, `{"city":"Oslo"}`, oslo), exec(2, 3, `{"city":"Paris"}`, paris)},
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{{
			Answer: answer.Text, ModelCalls: 2,
			Calls: []harness.ReportedCall{{ID: "c2", Tool: "get"}, {ID: "c1", Tool: "get"}},
		}}},
		Users: []string{user.Text}, Model: "m", Listed: map[string][]harness.Tool{"weather": tools},
	}
}

// check joins the trajectory and returns "check: message" of what was found.
func check(config conduct.Config, in *conduct.Input) []string {
	in.Trajectory = trajectory.Join(in.Exchanges, in.Tools, func(offered string) (string, string, bool) {
		return "weather", offered, offered == "get" || offered == "add"
	})
	var found []string
	for _, v := range conduct.Check(config, in) {
		if v.State == trials.Failed || v.State == trials.Warned {
			found = append(found, fmt.Sprintf("%s %s: %s", v.State, v.Check, v.Message))
		}
	}
	return found
}

// messages of the second request: system, user, assistant, tool, tool.
func second(in *conduct.Input) *[]harness.Message { return &in.Exchanges[1].Request.Messages }

func TestHonest(t *testing.T) {
	in := honest()
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
	var states []string
	for _, v := range conduct.Check(conduct.Config{}, in) {
		states = append(states, v.Check+" "+string(v.State))
		if !v.Conduct {
			t.Errorf("%s is not marked as conduct", v.Check)
		}
	}
	var want []string
	for _, name := range conduct.Names() {
		state := "passed"
		if name == conduct.Grants || name == conduct.Approved || slices.Index(conduct.Names(), name) >= slices.Index(conduct.Names(), conduct.InitializeFirst) {
			state = "skipped" // there are no frames
		}
		want = append(want, name+" "+state)
	}
	if d := cmp.Diff(want, states); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name string
		do   func(in *conduct.Input)
		// want are parts of the findings, in order; there are no others.
		want []string
	}{
		{
			name: "a prompt that the client ignores",
			do: func(in *conduct.Input) {
				for i := range in.Exchanges {
					in.Exchanges[i].Request.Messages[1].Text = "Delete everything."
				}
			},
			want: []string{`user_sent: no request of turn 1 contains what the user said: "Weather in Paris and Oslo?"; request 1 says "Delete everything."`},
		},
		{
			name: "a result dropped",
			do:   func(in *conduct.Input) { *second(in) = (*second(in))[:4] },
			want: []string{`answered_once: call weather.get {"city": "Oslo"} (c2) was never answered: request 2 contains no tool message for it`},
		},
		{
			name: "calls and results dropped",
			do: func(in *conduct.Input) {
				*second(in) = append((*second(in))[:2:2], harness.Message{Role: harness.RoleAssistant, Text: "hm"}, harness.Message{Role: harness.RoleTool, CallID: "c9"})
			},
			want: []string{"later requests contain neither the call nor its result"},
		},
		{
			name: "nothing asked after the calls",
			do:   func(in *conduct.Input) { in.Exchanges = in.Exchanges[:1]; in.Transcript = nil },
			want: []string{"was never answered: the subject sent no further request"},
		},
		{
			name: "a call answered twice",
			do:   func(in *conduct.Input) { *second(in) = append(*second(in), (*second(in))[4]) },
			want: []string{`answered_once: call weather.get {"city": "Oslo"} (c2) was answered 2 times in request 2`},
		},
		{
			name: "calls and results twice in one history",
			do:   func(in *conduct.Input) { *second(in) = append(*second(in), (*second(in))[2:]...) },
			want: []string{`answered_once: call weather.get {"city": "Paris"} (c1) was answered 2 times in request 2`, "result_order: request 2 has the results in the order"},
		},
		{
			name: "ids swapped",
			do: func(in *conduct.Input) {
				m := *second(in)
				m[3].Text, m[4].Text = m[4].Text, m[3].Text
			},
			want: []string{`answered_once: call weather.get {"city": "Paris"} (c1) was answered with the result of call weather.get {"city": "Oslo"} (c2); call weather.get {"city": "Oslo"} (c2) was answered with the result of`},
		},
		{
			name: "an id of its own",
			do:   func(in *conduct.Input) { (*second(in))[4].CallID = "x" },
			want: []string{`was never answered: request 2 contains no tool message for it; request 2 answers the call id "x", but no call has that id`},
		},
		{
			name: "results reordered",
			do: func(in *conduct.Input) {
				m := *second(in)
				m[3], m[4] = m[4], m[3]
			},
			want: []string{`result_order: request 2 has the results in the order weather.get (c2), weather.get (c1), but the calls came in the order weather.get (c1), weather.get (c2)`},
		},
		{
			name: "a result mangled",
			do:   func(in *conduct.Input) { (*second(in))[3].Text = `{"city":"Paris","temperature":12}` },
			want: []string{`results: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "{\"city\":\"Paris\",\"temperature\":21}", the model got`},
		},
		{
			name: "a result cut",
			do:   func(in *conduct.Input) { (*second(in))[3].Text = paris[:20] + "..." },
			want: []string{`results: the result of`},
		},
		{
			name: "answered without asking the server",
			do:   func(in *conduct.Input) { in.Tools = in.Tools[:1] },
			want: []string{`results: call weather.get {"city": "Paris"} (c1) was answered with "{\"city\":\"Paris\",\"temperature\":21}", but the server was never called`},
		},
		{
			name: "executed again after it had succeeded",
			do: func(in *conduct.Input) {
				again := in.Tools[1]
				again.Seq = 3
				in.Tools = append(in.Tools, again)
			},
			want: []string{`answered_once: call weather.get {"city": "Paris"} (c1) was executed again after it had succeeded`},
		},
		{
			name: "executed again after it had failed",
			do: func(in *conduct.Input) {
				again := in.Tools[1]
				again.Seq = 3
				in.Tools[1].Failed = true
				in.Tools = append(in.Tools, again)
			},
		},
		{
			name: "answered under the name of the call",
			do:   func(in *conduct.Input) { (*second(in))[3].Tool, (*second(in))[4].Tool = "get", "get" },
		},
		{
			name: "answered under a name that no call has",
			do:   func(in *conduct.Input) { (*second(in))[3].Tool, (*second(in))[4].Tool = "zzz", "get" },
			want: []string{`answered_once: call weather.get {"city": "Paris"} (c1) was answered under the name "zzz" in request 2`},
		},
		{
			name: "answered under another tool's name",
			do:   func(in *conduct.Input) { (*second(in))[3].Tool, (*second(in))[4].Tool = "get", "add" },
			want: []string{`answered_once: call weather.get {"city": "Oslo"} (c2) was answered under the name "add" in request 2`},
		},
		{
			name: "executed and not called",
			do: func(in *conduct.Input) {
				in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "add", Start: at(3)})
			},
			want: []string{"answered_once: weather.add was executed, but no reply of the model asks for it"},
		},
		{
			name: "called after the answer",
			do: func(in *conduct.Input) {
				in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "add", Args: json.RawMessage(`{"a":1}`), Start: at(9)})
			},
			want: []string{`no_call_after_answer: weather.add {"a":1} was called after the answer "21 and -3." of turn 1`},
		},
		{
			name: "called after a reply that says nothing",
			do: func(in *conduct.Input) {
				in.Exchanges[len(in.Exchanges)-1].Answer = harness.Message{Role: harness.RoleAssistant}
				in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "add", Args: json.RawMessage(`{"a":1}`), Start: at(9)})
			},
			want: []string{`answered_once: weather.add {"a":1} was executed, but no reply of the model asks for it`},
		},
		{
			name: "other arguments than the model wrote",
			do:   func(in *conduct.Input) { in.Tools[1].Args = json.RawMessage(`{"city":"Lyon"}`) },
			want: []string{`witnesses_agree: call weather.get {"city": "Paris"} (c1) reached the server with the arguments {"city":"Lyon"}`},
		},
		{
			name: "a tool not offered",
			do:   func(in *conduct.Input) { in.Exchanges[0].Request.Tools = tools[:1] },
			want: []string{`tools_offered: request 1: tool "weather.add" is not offered`, "warning stable_prefix: between request 1 and 2: tools[1] (add) is new"},
		},
		{
			name: "other arguments offered",
			do: func(in *conduct.Input) {
				for i := range in.Exchanges {
					in.Exchanges[i].Request.Tools[0].Schema = json.RawMessage(`{"properties":{"town":{}}}`)
				}
			},
			want: []string{`tools_offered: request 1: tool "weather.get" is not offered; "get" has other properties (town, not city)`},
		},
		{
			name: "an earlier message changed",
			do:   func(in *conduct.Input) { (*second(in))[1].Text = "Weather?" },
			want: []string{`history_grows: request 2: message 1 differs from request 1: was user "Weather in Paris and Oslo?", is user "Weather?"`},
		},
		{
			name: "history shortened",
			do:   func(in *conduct.Input) { in.Exchanges[1].Compacted = true },
			want: []string{`history_grows: request 2 has a shortened history`},
		},
		{
			name: "the reply missing from the history",
			do: func(in *conduct.Input) {
				next := in.Exchanges[1]
				next.Seq, next.Turn, next.Reply = 3, 2, 1
				next.Request.Messages = append(slices.Clone(*second(in)), harness.Message{Role: harness.RoleUser, Text: "And Rome?"})
				next.Start = at(8)
				in.Exchanges = append(in.Exchanges, next)
			},
			want: []string{`history_grows: request 3: the reply to request 2 is missing: assistant "21 and -3."`},
		},
		{
			name: "another system prompt",
			do:   func(in *conduct.Input) { (*second(in))[0].Text = "Be long." },
			want: []string{`warning stable_prefix: between request 1 and 2: system: at byte 3 was "Be brief.\n", is "Be long.\n"`},
		},
		{
			name: "another schema",
			do: func(in *conduct.Input) {
				in.Exchanges[1].Request.Tools[1].Schema = json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)
			},
			want: []string{`warning stable_prefix: between request 1 and 2: tools[1].schema: at byte`},
		},
		{
			name: "a call not reported",
			do:   func(in *conduct.Input) { in.Transcript.Turns[0].Calls = in.Transcript.Turns[0].Calls[:1] },
			want: []string{`witnesses_agree: turn 1: the subject does not report call weather.get {"city": "Paris"} (c1)`},
		},
		{
			name: "calls not reported that a stop has prevented",
			do: func(in *conduct.Input) {
				in.Exchanges, in.Tools = in.Exchanges[:1], nil
				in.Transcript.Turns[0] = harness.TurnReport{ModelCalls: 1, Stop: harness.StopRepeatedCall, Error: "stopped"}
			},
		},
		{
			name: "a stopped call not reported that was made",
			do: func(in *conduct.Input) {
				in.Exchanges, in.Tools = in.Exchanges[:1], in.Tools[:1]
				in.Transcript.Turns[0] = harness.TurnReport{ModelCalls: 1, Stop: harness.StopRepeatedCall, Error: "stopped"}
			},
			want: []string{`witnesses_agree: turn 1: the subject does not report call weather.get {"city": "Oslo"} (c2)`},
		},
		{
			name: "a call made up",
			do: func(in *conduct.Input) {
				in.Transcript.Turns[0].Calls = append(in.Transcript.Turns[0].Calls, harness.ReportedCall{Tool: "add", ID: "c7"})
			},
			want: []string{`witnesses_agree: turn 1: the subject reports a call of add (c7), which the model did not make`},
		},
		{
			name: "another answer reported",
			do:   func(in *conduct.Input) { in.Transcript.Turns[0].Answer = "Warm." },
			want: []string{`witnesses_agree: turn 1: the subject answers "Warm.", but the model said "21 and -3."`},
		},
		{
			name: "no answer reported",
			do:   func(in *conduct.Input) { in.Transcript.Turns[0].Answer = "" },
			want: []string{`the subject answers "", but the model said "21 and -3."`},
		},
		{
			name: "model calls miscounted",
			do:   func(in *conduct.Input) { in.Transcript.Turns[0].ModelCalls = 7 },
			want: []string{`witnesses_agree: turn 1: the subject reports 7 model calls, but the endpoint saw 2`},
		},
		{
			name: "refused by the provider",
			do: func(in *conduct.Input) {
				in.Exchanges[1].Kind, in.Exchanges[1].Status, in.Exchanges[1].Error = harness.KindRefusal, 400, "400 bad"
				in.Transcript = nil
			},
			want: []string{`provider_accepts: the provider would have refused request 2: 400 bad`},
		},
		{name: "limit passed", do: func(in *conduct.Input) { in.Limits = []string{"tool_calls: 3, the limit is 2"} }, want: []string{"limits: tool_calls: 3, the limit is 2"}},
		{name: "replies left", do: func(in *conduct.Input) { in.Remaining = make([]conduct.Unreached, 2) }, want: []string{"all_replies_reached: 2 scripted replies not reached"}},
		{name: "nothing asked", do: func(in *conduct.Input) {
			in.Exchanges, in.Transcript, in.Tools, in.Remaining = nil, nil, nil, make([]conduct.Unreached, 1)
		}, want: []string{"all_replies_reached: 1 scripted reply not reached; the model was asked nothing: does the agent use the base URL"}},
		{name: "nothing asked, and nothing scripted", do: func(in *conduct.Input) { in.Exchanges, in.Transcript, in.Tools = nil, nil, nil }},
		{name: "a fault that struck nothing", do: func(in *conduct.Input) {
			in.Idle = []conduct.IdleFault{{Fault: "gzip", Why: "there was no such request"}}
		}, want: []string{"warning faults_struck: the fault gzip"}},
		{name: "another model", do: func(in *conduct.Input) { in.Exchanges[1].Request.Model = "other" }, want: []string{`model_asked: request 2 asks for the model "other", but the subject was given "m"`}},
		{name: "repeated", do: func(in *conduct.Input) { in.Exchanges[1].Repeated = true }, want: []string{"repeated_request: request 2 repeats one that was already answered in full"}},
	}
	alone := map[string]bool{} // checks that found something which no other did
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in)
			found := check(conduct.Config{}, in)
			if len(found) == 1 {
				alone[strings.TrimSuffix(strings.Fields(found[0])[1], ":")] = true
			}
			if len(found) != len(tt.want) {
				t.Fatalf("found %d:\n%s\nwant %d", len(found), strings.Join(found, "\n"), len(tt.want))
			}
			for i := range found {
				if !strings.Contains(found[i], tt.want[i]) {
					t.Errorf("found %s\nwant one with %s", found[i], tt.want[i])
				}
			}
		})
	}
	for _, name := range conduct.Names()[:slices.Index(conduct.Names(), conduct.InitializeFirst)] { // the others have tests of their own
		if !alone[name] && name != conduct.Grants && name != conduct.Approved {
			t.Errorf("nothing is found by %s alone", name)
		}
	}
}

// imageBetween is a result of two texts with an image between them.
var imageBetween = harness.ToolExchange{
	Text: "before\nafter", Result: json.RawMessage(`"before\nafter"`),
	Content: json.RawMessage(`{"content":[{"type":"text","text":"before"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"after"}]}`),
}

// TestResultsAsToldToTheModel lists what counts as the same result.
func TestResultsAsToldToTheModel(t *testing.T) {
	long := strings.Repeat("abcdefghij", 100)
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	tests := []struct {
		name   string
		x      harness.ToolExchange
		told   string
		capped bool
		same   bool
	}{
		{name: "as it is", x: harness.ToolExchange{Text: "sunny", Result: json.RawMessage(`"sunny"`)}, told: "sunny", same: true},
		{name: "wrapped in text", x: harness.ToolExchange{Text: "sunny", Result: json.RawMessage(`"sunny"`)}, told: "Tool get said:\nsunny\n(end)", same: true},
		{name: "an image described between two texts", x: imageBetween, told: "before\n[image, image/png, 4 bytes]\nafter", same: true},
		{name: "one of two texts lost", x: imageBetween, told: "before\n[image, image/png, 4 bytes]", same: false},
		{name: "two texts swapped", x: imageBetween, told: "after\nbefore", same: false},
		{name: "wrapped in JSON", x: harness.ToolExchange{Text: "say \"hi\"\n", Result: json.RawMessage(`"say \"hi\"\n"`)}, told: `{"ok":true,"result":"say \"hi\"\n"}`, same: true},
		{name: "JSON written anew", x: harness.ToolExchange{Text: `{"a": 1, "b": [2]}`, Result: json.RawMessage(`{"a":1,"b":[2]}`)}, told: "{\"b\":[2.0],\n\"a\":1}", same: true},
		{name: "JSON inside JSON", x: harness.ToolExchange{Text: `{"a": 1}`, Result: json.RawMessage(`{"a":1}`)}, told: `{"content":[{"data":{"a":1}}]}`, same: true},
		{name: "structured content without text", x: harness.ToolExchange{Result: json.RawMessage(`{"a":1}`)}, told: `got {"a":1}`, same: true},
		{name: "structured content that is a text", x: harness.ToolExchange{Result: json.RawMessage(`"say \"hi\"\n"`)}, told: "get said: say \"hi\"", same: true},
		{name: "structured content that is another text", x: harness.ToolExchange{Result: json.RawMessage(`"say \"hi\""`)}, told: `say "ho"`, same: false},
		{name: "structured content that is a letter, beside a text", x: harness.ToolExchange{Text: "sunny", Result: json.RawMessage(`"r"`)}, told: "rainy", same: false},
		{name: "structured content that is a text, wrapped in JSON", x: harness.ToolExchange{Result: json.RawMessage(`"say \"hi\""`)}, told: `{"out":"say \"hi\""}`, same: true},
		{name: "structured content that nests too deep to be parsed", x: harness.ToolExchange{Result: json.RawMessage(deep)}, told: deep, same: true},
		{name: "a part of what nests too deep", x: harness.ToolExchange{Result: json.RawMessage(deep)}, told: deep[1:], same: false},
		{name: "JSON indented behind a line of text", x: harness.ToolExchange{Text: `{"a": 1, "b": ["x y"]}`, Result: json.RawMessage(`{"a":1,"b":["x y"]}`)}, told: "get answered:\n{\n  \"b\": [\n    \"x y\"\n  ],\n  \"a\": 1\n}\n(end)", same: true},
		{name: "text and JSON, that indented", x: harness.ToolExchange{Text: "Found [2]:\n{\"a\":1}", Result: json.RawMessage(`"Found [2]:\n{\"a\":1}"`)}, told: "Found [2]:\n{\n  \"a\": 1.0\n}", same: true},
		{name: "the same inside JSON", x: harness.ToolExchange{Text: "Found:\n{\"a\":1}", Result: json.RawMessage(`"Found:\n{\"a\":1}"`)}, told: `{"out":"Found:\n{ \"a\": 1 }"}`, same: true},
		{name: "JSON of structured content indented behind text", x: harness.ToolExchange{Result: json.RawMessage(`{"a":1}`)}, told: "got\n{\n \"a\": 1 }", same: true},
		{name: "a member changed behind a line of text", x: harness.ToolExchange{Text: `{"a": 1}`, Result: json.RawMessage(`{"a":1}`)}, told: "got\n{\n \"a\": 2 }", same: false},
		{name: "white space changed inside a text of JSON", x: harness.ToolExchange{Text: `{"a": "x y"}`, Result: json.RawMessage(`{"a":"x y"}`)}, told: "got\n{\"a\": \"x  y\"}", same: false},
		{name: "shortened below the minimum, shortening allowed", x: harness.ToolExchange{Text: long}, told: long[:63] + "…", capped: true, same: false},
		{name: "shortened to the minimum, shortening allowed", x: harness.ToolExchange{Text: long}, told: long[:64] + "…", capped: true, same: true},
		{name: "half of a short one, shortening allowed", x: harness.ToolExchange{Text: "0123456789"}, told: "01234…", capped: true, same: true},
		{name: "another number", x: harness.ToolExchange{Text: `{"a": 1}`, Result: json.RawMessage(`{"a":1}`)}, told: `{"a":1.5}`, same: false},
		{name: "a member lost", x: harness.ToolExchange{Text: `{"a": 1,"b":2}`, Result: json.RawMessage(`{"a":1,"b":2}`)}, told: `{"a":1}`, same: false},
		{name: "empty", x: harness.ToolExchange{Result: json.RawMessage(`""`)}, told: "(no output)", same: true},
		{name: "lost", x: harness.ToolExchange{Text: "sunny", Result: json.RawMessage(`"sunny"`)}, told: "", same: false},
		{name: "protocol error", x: harness.ToolExchange{RPCError: &jsonrpc.Error{Code: -1, Message: "no such thing"}}, told: "Error: no such thing (-1)", same: true},
		{name: "protocol error lost", x: harness.ToolExchange{RPCError: &jsonrpc.Error{Code: -1, Message: "no such thing"}}, told: "ok", same: false},
		{name: "shortened", x: harness.ToolExchange{Text: long}, told: long[:200] + "… (800 bytes left out)", same: false},
		{name: "shortened, allowed", x: harness.ToolExchange{Text: long}, told: long[:200] + "… (800 bytes left out)", capped: true, same: true},
		{name: "something else, shortening allowed", x: harness.ToolExchange{Text: long}, told: "too long", capped: true, same: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			x := &in.Tools[1]
			x.Text, x.Result, x.RPCError, x.Content = tt.x.Text, tt.x.Result, tt.x.RPCError, tt.x.Content
			(*second(in))[3].Text = tt.told
			found := check(conduct.Config{Capped: tt.capped}, in)
			if same := len(found) == 0; same != tt.same {
				t.Errorf("found %q, want the same result: %v", found, tt.same)
			}
			if tt.name == "shortened" && !strings.Contains(fmt.Sprint(found), "was shortened from 1000 bytes to ") {
				t.Errorf("found %q, want it to say that the result was shortened", found)
			}
			if tt.name == "shortened below the minimum, shortening allowed" && !strings.Contains(fmt.Sprint(found), "its first bytes, at least 64") {
				t.Errorf("found %q, want the minimum in it", found)
			}
		})
	}
}

func TestOffAndLive(t *testing.T) {
	in := honest()
	(*second(in))[3].Text = "mangled"
	config, err := conduct.Configure(map[string]string{"results": "off", "stable_prefix": "on", "compaction": "allowed"})
	if err != nil {
		t.Fatal(err)
	}
	if found := check(config, in); found != nil {
		t.Errorf("switched off, found %q", found)
	}
	in.Mode = harness.ModeLive
	in.Limits = []string{"too much"}
	found := check(conduct.Config{}, in)
	if len(found) != 2 || !strings.HasPrefix(found[0], "warning results") || !strings.HasPrefix(found[1], "failed limits") {
		t.Errorf("in live mode found %q", found)
	}
}

func TestCompactionRequired(t *testing.T) {
	in := honest()
	found := check(conduct.Config{Compaction: conduct.CompactionRequired}, in)
	if len(found) != 1 || !strings.Contains(found[0], "never shortened") {
		t.Errorf("found %q", found)
	}
}

// TestTextualClient is a client that sends results as observations in text.
func TestTextualClient(t *testing.T) {
	in := honest()
	in.Exchanges[1].Request.Messages = append((*second(in))[:2:2],
		harness.Message{Role: harness.RoleAssistant, Text: "Action: get, get"},
		harness.Message{Role: harness.RoleUser, Text: "Observation: " + paris + "\nObservation: " + oslo})
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
	(*second(in))[3].Text = "Observation: " + paris
	found := check(conduct.Config{}, in)
	if len(found) != 1 || !strings.Contains(found[0], "results: the result of call weather.get {\"city\": \"Oslo\"} (c2) was changed") {
		t.Errorf("found %q", found)
	}
}

// TestNoIDs is a client whose tool messages have no call ids.
func TestNoIDs(t *testing.T) {
	in := honest()
	m := *second(in)
	for i := range m {
		m[i].CallID = ""
	}
	m[2].Calls = nil
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
}

func TestConfigure(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		err      string
	}{
		{name: "nothing"},
		{name: "all kinds", settings: map[string]string{"results": "capped", "limits": "off", "grants": "on", "compaction": "required"}},
		{name: "unknown check", settings: map[string]string{"result": "off"}, err: `unknown conduct check "result"`},
		{name: "unknown setting", settings: map[string]string{"limits": "capped"}, err: "want on or off"},
		{name: "unknown compaction", settings: map[string]string{"compaction": "on"}, err: "want allowed or required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := conduct.Configure(tt.settings)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

// TestReusedIDs: some endpoints count ids from call_0 in every reply. A result
// belongs to the last call before it.
func TestReusedIDs(t *testing.T) {
	call := func(args string) harness.Message {
		return harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "call_0", Name: "get", Arguments: args}}}
	}
	result := func(text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: "call_0", Text: text}
	}
	for _, tt := range []struct {
		name string
		last []harness.Message // of the third request
		want string
	}{
		{"each answered", []harness.Message{call("{}"), result("one"), call("{}"), result("two")}, ""},
		{"the second answered twice", []harness.Message{call("{}"), result("one"), call("{}"), result("two"), result("two")}, "was answered 2 times in request 3"},
		{"the second unanswered", []harness.Message{call("{}"), result("one"), call("{}")}, "was never answered: request 3 contains no tool message for it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &conduct.Input{}
			for i, messages := range [][]harness.Message{nil, {call("{}"), result("one")}, tt.last} {
				x := harness.Exchange{Seq: i + 1, Kind: harness.KindReply, Turn: 1, Reply: i + 1, Status: 200, Delivered: true, Answer: call("{}")}
				x.Request.Messages = messages
				if i == 2 {
					x.Answer = harness.Message{Role: harness.RoleAssistant, Text: "Done."}
				}
				in.Exchanges = append(in.Exchanges, x)
			}
			in.Trajectory = trajectory.Join(in.Exchanges, nil, func(string) (string, string, bool) { return "weather", "get", true })
			for _, v := range conduct.Check(conduct.Config{}, in) {
				if v.Check == conduct.AnsweredOnce && (tt.want == "" && v.State == trials.Failed || !strings.Contains(v.Message, tt.want)) {
					t.Errorf("answered_once is %v: %q, want %q", v.State, v.Message, tt.want)
				}
			}
		})
	}
}

func ExampleCheck() {
	// The client asked the model again without the result of the call.
	in := &conduct.Input{Exchanges: []harness.Exchange{
		{Seq: 1, Kind: harness.KindReply, Turn: 1, Reply: 1, Status: 200, Delivered: true, Answer: harness.Message{
			Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "c1", Name: "get", Arguments: "{}"}},
		}},
		{Seq: 2, Kind: harness.KindReply, Turn: 1, Reply: 2, Status: 200, Delivered: true, Request: harness.Request{
			Messages: []harness.Message{{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "c1", Name: "get", Arguments: "{}"}}}},
		}},
	}}
	in.Trajectory = trajectory.Join(in.Exchanges, nil, func(string) (string, string, bool) { return "weather", "get", true })
	for _, v := range conduct.Check(conduct.Config{}, in) {
		if v.State == trials.Failed {
			fmt.Println(v.Check+":", v.Message)
		}
	}
	// Output:
	// answered_once: call weather.get {} (c1) was never answered: request 2 contains no tool message for it
}
