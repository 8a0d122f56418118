// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// TestWhatWasAnswered has clients that lose, mix up or make up results, and
// what the two checks say that tell them apart.
func TestWhatWasAnswered(t *testing.T) {
	const unanswered = `call weather.get {"city": "Paris"} (c1) was never answered: `
	answer := func(i int, text string) func(*conduct.Input) {
		return func(in *conduct.Input) { (*second(in))[3+i].Text = text }
	}
	result := func(i int, raw, text string) func(*conduct.Input) { // of call i; the executions are in another order
		return func(in *conduct.Input) {
			x := &in.Tools[1-i]
			x.Result, x.Text = json.RawMessage(raw), text
		}
	}
	again := func(do func(x *harness.ToolExchange)) func(*conduct.Input) { // of the second execution
		return func(in *conduct.Input) {
			x := in.Tools[1]
			x.Seq = 3
			do(&x)
			in.Tools = append(in.Tools, x)
		}
	}
	alone := func(in *conduct.Input) { in.Exchanges = in.Exchanges[:1] }
	report := func(r harness.TurnReport) func(*conduct.Input) {
		return func(in *conduct.Input) { in.Transcript.Turns[0] = r }
	}
	interrupted := func(in *conduct.Input) {
		in.Interrupted = []int{1}
		in.Transcript.Turns[0] = harness.TurnReport{Stop: harness.StopInterrupted}
	}
	miss := func(turn int) func(*conduct.Input) {
		return func(in *conduct.Input) {
			in.Exchanges = append(in.Exchanges, harness.Exchange{Seq: 3, Kind: harness.KindMiss, Turn: turn, Start: at(6), Request: harness.Request{Messages: []harness.Message{{Role: harness.RoleTool, CallID: "c9"}}}})
		}
	}
	for _, tt := range []struct {
		name             string
		do               []func(*conduct.Input)
		answered, result string // what answered_once and results say
	}{
		{"nothing, and says that it stopped", []func(*conduct.Input){alone, report(harness.TurnReport{Stop: harness.StopTime})}, "passed", "passed"},
		{"nothing, and says that it broke", []func(*conduct.Input){alone, report(harness.TurnReport{Error: "boom"})}, "passed", "passed"},
		{"nothing, and says nothing of it", []func(*conduct.Input){alone, report(harness.TurnReport{Answer: "hm"})}, "failed: " + unanswered + "the subject sent no further request; call weather.get {\"city\": \"Oslo\"} (c2) was never answered: the subject sent no further request", "passed"},
		{"nothing, says that it stopped, and asked on", []func(*conduct.Input){alone, report(harness.TurnReport{Stop: harness.StopTime}), miss(1)}, "failed: " + unanswered + "later requests contain neither", "passed"},
		{"nothing, says that it stopped, and asked what no script has", []func(*conduct.Input){alone, report(harness.TurnReport{Stop: harness.StopTime}), miss(0)}, "failed: " + unanswered + "later requests contain neither", "passed"},
		{"nothing, says that it stopped, and asked in the next turn", []func(*conduct.Input){alone, report(harness.TurnReport{Stop: harness.StopTime}), miss(2)}, "passed", "passed"},
		{"nothing in a turn of which it says nothing", []func(*conduct.Input){alone, func(in *conduct.Input) { in.Exchanges[0].Turn = 2 }}, "failed: " + unanswered, "passed"},
		{"nothing in a turn that the user interrupted", []func(*conduct.Input){alone, interrupted}, "passed", "passed"},
		{"nothing in a turn that the user interrupted, after which another came", []func(*conduct.Input){alone, interrupted, func(in *conduct.Input) { addTurn(in, rome) }}, "failed: " + unanswered + "later requests contain neither", "passed"},
		{"nothing in a turn that it stopped, after which another came", []func(*conduct.Input){alone, report(harness.TurnReport{Stop: harness.StopTime}), func(in *conduct.Input) { addTurn(in, rome) }}, "passed", "passed"},
		{"nothing outside of all turns", []func(*conduct.Input){alone, func(in *conduct.Input) { in.Exchanges[0].Turn = 0 }}, "failed: " + unanswered, "passed"},

		{"by ids that only results have", []func(*conduct.Input){func(in *conduct.Input) { (*second(in))[2].Calls = nil }}, "passed", "passed"},
		{"by an id that one result has, and the other has none", []func(*conduct.Input){func(in *conduct.Input) {
			(*second(in))[2].Calls, (*second(in))[3].CallID = nil, ""
		}}, `failed: call weather.get {"city": "Paris"} (c1) was never answered: request 2 contains no tool message for it`, "passed"},
		{"under another name, of a tool that is not offered", []func(*conduct.Input){func(in *conduct.Input) {
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Tools = tools[1:]
			}
			(*second(in))[3].Tool = "fetch"
		}}, "passed", "passed"},
		{"with the result of a call that was not made", []func(*conduct.Input){answer(0, oslo), func(in *conduct.Input) { in.Tools = in.Tools[:1] }}, "passed", `failed: call weather.get {"city": "Paris"} (c1) was answered with "{\"city\":\"Oslo\",\"temperature\":-3}", but the server was never called`},
		{"with another result, since its own was never sent", []func(*conduct.Input){answer(0, oslo), func(in *conduct.Input) { in.Tools[1].Unsent = true }}, "passed", "passed"},
		{"with another result, since a fault took its own", []func(*conduct.Input){answer(0, oslo), func(in *conduct.Input) { in.Tools[1].Fault = "hang" }}, "passed", "passed"},
		{"with a text of its own, since a fault took the result", []func(*conduct.Input){answer(0, "timed out"), func(in *conduct.Input) { in.Tools[1].Fault = "late_reply/after" }}, "passed", "passed"},
		{"with a text of its own, though a fault did no harm", []func(*conduct.Input){answer(0, "timed out"), func(in *conduct.Input) { in.Tools[1].Fault = "delay" }}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "{\"city\":\"Paris\",\"temperature\":21}", the model got "timed out"`},
		{"with the result of another call", []func(*conduct.Input){answer(0, oslo)}, `failed: call weather.get {"city": "Paris"} (c1) was answered with the result of call weather.get {"city": "Oslo"} (c2)`, "passed"},
		{"with the result of a call that was not executed", []func(*conduct.Input){answer(1, "21"), answer(0, "x"), func(in *conduct.Input) { in.Tools = in.Tools[1:] }}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "{\"city\":\"Paris\",\"temperature\":21}", the model got "x"; call weather.get {"city": "Oslo"} (c2) was answered with "21", but the server was never called`},
		{"with the result of the same tool of another server", []func(*conduct.Input){answer(0, "42"), func(in *conduct.Input) {
			in.Tools = append(in.Tools, harness.ToolExchange{Seq: 2, Server: "mail", Tool: "get", Args: json.RawMessage(`{}`), Result: json.RawMessage("42"), Text: "42", Start: at(3)})
		}}, `failed: mail.get {} was executed, but no reply of the model asks for it`, `failed: the result of call weather.get {"city": "Paris"} (c1) was changed`},
		{"wrongly, where the other result is empty", []func(*conduct.Input){answer(0, "x"), result(1, `""`, "")}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed`},
		{"wrongly, where the other result is null", []func(*conduct.Input){answer(0, "null"), answer(1, "null"), result(1, `null`, "")}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed`},
		{"wrongly, where the other result is blank", []func(*conduct.Input){answer(0, "x"), result(1, `""`, " ")}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed`},
		{"wrongly, where the result is structured alone", []func(*conduct.Input){answer(0, "x"), result(0, `{"n":1}`, "")}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "{\"n\":1}", the model got "x"`},
		{"wrongly, where the result is an error", []func(*conduct.Input){answer(0, "x"), func(in *conduct.Input) { in.Tools[1].RPCError = &jsonrpc.Error{Code: -1, Message: "no such city"} }}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "no such city", the model got "x"`},
		{"with a text as long as the result", []func(*conduct.Input){answer(0, strings.Replace(paris, "21", "12", 1))}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent`},
		{"with the beginning of the result", []func(*conduct.Input){answer(0, paris[:20])}, "passed", `failed: the result of call weather.get {"city": "Paris"} (c1) was shortened from 33 bytes to 20 (` + "`conduct: {results: capped}` allows that): " + fmt.Sprintf("%q", paris[:20])},
		{"with the first of two results of one call", []func(*conduct.Input){again(func(x *harness.ToolExchange) { x.Text, x.Result = "42", []byte("42") })}, `failed: call weather.get {"city": "Paris"} (c1) was executed again after it had succeeded`, "passed"},
		{"with the result of a call of other arguments, made again", []func(*conduct.Input){answer(0, oslo), again(func(*harness.ToolExchange) {}), func(in *conduct.Input) { in.Tools[1].Failed = true }}, `failed: call weather.get {"city": "Paris"} (c1) was answered with the result of call weather.get {"city": "Oslo"} (c2)`, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			for _, do := range tt.do {
				do(in)
			}
			if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); !strings.HasPrefix(got, tt.answered) || tt.answered == "passed" && got != "passed" {
				t.Errorf("answered_once is %s\nwant %s", got, tt.answered)
			}
			got := verdictOf(conduct.Config{}, in, conduct.Results)
			if !strings.HasPrefix(got, tt.result) || strings.Count(got, ") was ") != strings.Count(tt.result, ") was ") {
				t.Errorf("results is %s\nwant %s", got, tt.result)
			}
		})
	}
}

// TestCappedInWords: where shortening is allowed, what is too short is told
// with what would do, and what is no beginning as a change.
func TestCappedInWords(t *testing.T) {
	said := strings.Repeat("0123456789", 10)
	for told, want := range map[string]string{
		said[:49]:                  `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "` + said + `", the model got "` + said[:49] + "\" (`conduct: {results: capped}` allows its first bytes, at least 50)",
		said[:50]:                  "passed",
		strings.Repeat("x", 100):   `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "` + said + `", the model got "` + strings.Repeat("x", 100) + `"`,
		strings.Repeat("x", 10000): `failed: the result of call weather.get {"city": "Paris"} (c1) was changed: the server sent "` + said + `", the model got "xxx`,
	} {
		in := honest()
		in.Tools[1].Text, in.Tools[1].Result = said, json.RawMessage(`"`+said+`"`)
		(*second(in))[3].Text = told
		got := verdictOf(conduct.Config{Capped: true}, in, conduct.Results)
		if len(told) < 200 && got != want || !strings.HasPrefix(got, want) || strings.Count(got, "capped") != strings.Count(want, "capped") {
			t.Errorf("told %.60s: results is %s\nwant %s", told, got, want)
		}
	}
}

// TestFaultInPlaceOfACall: a call that came to its server is not said to be
// made up. It takes a frame of that call, from the client, with a fault.
func TestFaultInPlaceOfACall(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"}}}`
	for name, tt := range map[string]struct {
		do func(f *jsonrpc.Frame)
		ok bool
	}{
		"the call":          {func(*jsonrpc.Frame) {}, true},
		"a reply":           {func(f *jsonrpc.Frame) { f.In = false }, false},
		"of another server": {func(f *jsonrpc.Frame) { f.Server = "mail" }, false},
		"of another method": {func(f *jsonrpc.Frame) { f.Method = "tools/list" }, false},
		"without a fault":   {func(f *jsonrpc.Frame) { f.Fault = "" }, false},
	} {
		in := honest()
		in.Tools = in.Tools[:1]
		(*second(in))[3].Text = "Error: HTTP 503 Service Unavailable"
		f := jsonrpc.Frame{Seq: 1, Server: "weather", Transport: "http", In: true, Kind: jsonrpc.FrameRequest, Method: "tools/call", Body: body, Fault: "http_status", Time: at(2), ID: json.RawMessage("1")}
		tt.do(&f)
		in.Frames = []jsonrpc.Frame{f}
		if got := verdictOf(conduct.Config{}, in, conduct.Results); (got == "passed") != tt.ok {
			t.Errorf("%s: results is %s", name, got)
		}
	}
}

// TestExecutionsKeptApart: executions belong to calls of their own server and
// tool, and to repetitions of their own arguments.
func TestExecutionsKeptApart(t *testing.T) {
	mail := func(in *conduct.Input, tool, args string) {
		in.Tools = append(in.Tools, harness.ToolExchange{Seq: 2, Server: "mail", Tool: tool, Args: json.RawMessage(args), Result: json.RawMessage(`1`), Text: "1", Failed: true, Start: at(3)})
	}
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{"the same tool of another server", func(in *conduct.Input) { mail(in, "get", `{"city":"Paris"}`) }, `failed: mail.get {"city":"Paris"} was executed, but no reply of the model asks for it`},
		{"another tool of the same server", func(in *conduct.Input) {
			mail(in, "add", `{}`)
			in.Tools[2].Server = "weather"
		}, `failed: weather.add {} was executed, but no reply of the model asks for it`},
		{"the same tool with other arguments, where the call was made again", func(in *conduct.Input) {
			in.Tools[1].Failed = true
			again := in.Tools[1]
			again.Seq, again.Failed = 3, false
			other := in.Tools[1]
			other.Seq, other.Args = 4, json.RawMessage(`{"city":"Rome"}`)
			in.Tools = append(in.Tools, again, other)
		}, `failed: weather.get {"city":"Rome"} was executed, but no reply of the model asks for it`},
		{"equal calls, of which one was made again", func(in *conduct.Input) {
			for i := range in.Exchanges[0].Answer.Calls {
				in.Exchanges[0].Answer.Calls[i].Arguments = `{"city":"Paris"}`
			}
			(*second(in))[4].Text = paris
			first, again := in.Tools[1], in.Tools[1]
			first.Seq, again.Seq, again.Start = 1, 3, at(3)
			in.Tools = []harness.ToolExchange{first, in.Tools[1], again}
			in.Tools[1].Failed = true
		}, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in)
			if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); got != tt.want {
				t.Errorf("answered_once is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestEarlierAnswers: what a history has of an earlier reply is no answer to
// the last one.
func TestEarlierAnswers(t *testing.T) {
	// Two rounds of one call each; the third request has both.
	rounds := func(ids [2]string, first, second []harness.Message) *conduct.Input {
		in := honest()
		call := func(id, city string) harness.Message {
			return harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: id, Name: "get", Arguments: `{"city":"` + city + `"}`}}}
		}
		head := (*second0(in))[:2:2]
		in.Exchanges[0].Answer = call(ids[0], "Paris")
		in.Exchanges[1].Answer = call(ids[1], "Oslo")
		third := in.Exchanges[1]
		third.Seq, third.Reply, third.Start, third.Answer = 3, 3, at(7), harness.Message{Role: harness.RoleAssistant, Text: "21 and -3."}
		in.Exchanges[1].Request.Messages = append(append(slices.Clone(head), in.Exchanges[0].Answer), first...)
		third.Request.Messages = append(append(slices.Clone(in.Exchanges[1].Request.Messages), in.Exchanges[1].Answer), second...)
		in.Exchanges = append(in.Exchanges, third)
		in.Tools[0].Seq, in.Tools[0].Start, in.Tools[1].Seq, in.Tools[1].Start = 2, at(5), 1, at(2)
		in.Transcript = nil
		return in
	}
	tool := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	ids := [2]string{"c1", "c2"}
	for _, tt := range []struct {
		name string
		in   *conduct.Input
		want string // of answered_once
	}{
		{"each answered", rounds(ids, []harness.Message{tool("c1", paris)}, []harness.Message{tool("c2", oslo)}), "passed"},
		{"a stranger in the first round is told once", rounds(ids, []harness.Message{tool("c1", paris), tool("x", "?")}, []harness.Message{tool("c2", oslo)}), `failed: request 2 answers the call id "x", but no call has that id`},
		{"the second round forgotten, and the first kept", func() *conduct.Input {
			in := rounds(ids, []harness.Message{tool("c1", paris)}, nil)
			in.Exchanges[2].Request.Messages = in.Exchanges[1].Request.Messages
			return in
		}(), `failed: call weather.get {"city":"Oslo"} (c2) was never answered: later requests contain neither the call nor its result`},
		{"answers to both rounds in the last", rounds(ids, []harness.Message{tool("c1", paris)}, []harness.Message{tool("c2", oslo), tool("c1", paris)}), "passed"},
		{"without ids, each answered", func() *conduct.Input {
			in := rounds([2]string{"c1", "c2"}, []harness.Message{tool("", paris)}, []harness.Message{tool("", oslo)})
			for i := range in.Exchanges {
				for k := range in.Exchanges[i].Request.Messages {
					in.Exchanges[i].Request.Messages[k].Calls = nil
				}
			}
			return in
		}(), "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := verdictOf(conduct.Config{}, tt.in, conduct.AnsweredOnce); got != tt.want {
				t.Errorf("answered_once is %s\nwant %s", got, tt.want)
			}
			if got := verdictOf(conduct.Config{}, tt.in, conduct.Results); got != "passed" {
				t.Errorf("results is %s", got)
			}
		})
	}
}

func second0(in *conduct.Input) *[]harness.Message { return &in.Exchanges[0].Request.Messages }

// TestSingleCalls: in a turn that ends with one model call, its calls are neither
// executed nor answered. In another turn they are.
func TestSingleCalls(t *testing.T) {
	const (
		executed = `call weather.get {"city": "Paris"} (c1) was executed, but its turn ends with the reply (single_call); call weather.get {"city": "Oslo"} (c2) was executed, but its turn ends with the reply (single_call)`
		answered = `request 2 answers the calls of a turn that ends with the reply (single_call)`
	)
	for _, tt := range []struct {
		name               string
		executed, answered bool
		turn               int // of the request that answers
		want               string
	}{
		{"executed and answered", true, true, 1, "failed: " + executed + "; " + answered},
		{"executed", true, false, 1, "failed: " + executed},
		{"answered", false, true, 1, "failed: " + answered},
		{"neither", false, false, 1, "passed"},
		{"answered in the next turn", false, true, 2, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Single = []int{1}
			in.Exchanges[1].Turn = tt.turn
			if !tt.executed {
				in.Tools = nil
			}
			if !tt.answered {
				in.Exchanges = in.Exchanges[:1]
			}
			if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); got != tt.want {
				t.Errorf("answered_once is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestUnreadableCallsInWords: arguments that are no JSON are shown as they
// came.
func TestUnreadableCallsInWords(t *testing.T) {
	in := honest()
	in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
	in.Exchanges[0].Answer.Calls[0].Arguments = `{"city":`
	*second(in) = append((*second(in))[:3:3], (*second(in))[4])
	if got, want := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce), `failed: call weather.get {"city": (c1) was never answered: request 2 contains no tool message for it`; got != want {
		t.Errorf("answered_once is %s, want %s", got, want)
	}
}

// TestIDsOfTheRightReply: a client that makes up ids is held to those of its
// own message, reply by reply and lane by lane.
func TestIDsOfTheRightReply(t *testing.T) {
	in := team()
	for i, own := range map[int]string{0: "lead-1", 1: "worker-1"} {
		in.Exchanges[i].Answer.Calls = slices.Clone(in.Exchanges[i].Answer.Calls)
		in.Exchanges[i].Answer.Calls[0].ID = ""
		answered := in.Exchanges[3-i].Request.Messages
		answered[2].Calls = slices.Clone(answered[2].Calls)
		answered[2].Calls[0].ID, answered[3].CallID = own, own
	}
	in.Transcript.Turns[0].Calls[0].ID = "lead-1"
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("found %q", found)
	}
	// A second turn whose call has no id either, and is answered under its own.
	next := addTurn(in, append(slices.Clone(in.Exchanges[3].Request.Messages[1:]), harness.Message{Role: harness.RoleAssistant, Text: "21 and -3"}, rome)...)
	next.Answer = harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{Name: "get", Arguments: `{"city":"Rome"}`}}}
	called := next.Answer
	called.Calls = []harness.ToolCall{{ID: "lead-2", Name: "get", Arguments: `{"city":"Rome"}`}}
	last := addTurn(in, append(slices.Clone(next.Request.Messages[1:]), called, harness.Message{Role: harness.RoleTool, CallID: "lead-2", Text: "18"})...)
	last.Reply, last.Start = 2, at(12)
	in.Tools = append(in.Tools, harness.ToolExchange{Seq: 3, Server: "weather", Tool: "get", Args: json.RawMessage(`{"city":"Rome"}`), Result: json.RawMessage("18"), Text: "18", Start: at(10)})
	in.Transcript.Turns = append(in.Transcript.Turns, harness.TurnReport{Answer: "18.", ModelCalls: 2, Calls: []harness.ReportedCall{{ID: "lead-2", Tool: "get"}}})
	if found := check(conduct.Config{}, in); found != nil {
		t.Errorf("with a second turn: found %q", found)
	}
	in.Transcript.Turns[1].Calls[0].ID = "lead-1"
	if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); !strings.Contains(got, `does not report call weather.get {"city":"Rome"} (lead-2)`) {
		t.Errorf("with the id of the first turn witnesses_agree is %s", got)
	}
}

// TestWhereOwnIDsCount: ids of a client count where it hands back all calls of
// a reply in one message, in whichever request that comes.
func TestWhereOwnIDsCount(t *testing.T) {
	input := func() *conduct.Input {
		in := honest()
		in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
		m := *second(in)
		m[2].Calls = slices.Clone(m[2].Calls)
		for i, own := range []string{"a", "b"} {
			in.Exchanges[0].Answer.Calls[i].ID = ""
			m[2].Calls[i].ID, m[3+i].CallID = own, own
		}
		in.Transcript = nil
		return in
	}
	const lost = `failed: call weather.get {"city": "Paris"} was never answered: `
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{"in the next request", func(*conduct.Input) {}, "passed"},
		{"in a later one", func(in *conduct.Input) {
			first, last := in.Exchanges[0], in.Exchanges[1]
			between := last
			between.Kind, between.Request.Messages = harness.KindRefusal, append(slices.Clone(first.Request.Messages), harness.Message{Role: harness.RoleUser, Text: "Go on."})
			last.Seq = 3
			in.Exchanges = []harness.Exchange{first, between, last}
		}, "passed"},
		{"in a message for each call", func(in *conduct.Input) {
			m := *second(in)
			one, other := m[2], m[2]
			one.Calls, other.Calls = m[2].Calls[:1], m[2].Calls[1:]
			*second(in) = []harness.Message{m[0], m[1], one, m[3], other, m[4]}
		}, lost},
		{"of another tool", func(in *conduct.Input) { (*second(in))[2].Calls[0].Name = "add" }, lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input()
			tt.do(in)
			if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); !strings.HasPrefix(got, tt.want) {
				t.Errorf("answered_once is %s\nwant %s", got, tt.want)
			}
		})
	}
}
