// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

// TestRepliesHandedBack lists what a history may make of a reply, and what it
// may not. Nothing but history_grows sees the difference.
func TestRepliesHandedBack(t *testing.T) {
	tests := []struct {
		name string
		said string // beside the calls; "" for none
		do   func(in *conduct.Input, reply *harness.Message)
		want string // part of the finding; "" for none
	}{
		{name: "as it was given"},
		{name: "arguments written anew", do: func(_ *conduct.Input, m *harness.Message) { m.Calls[0].Arguments = "{ \"city\" :\n\"P\\u0061ris\" }" }},
		{
			name: "arguments replaced by none", do: func(_ *conduct.Input, m *harness.Message) { m.Calls[0].Arguments = "{}" },
			want: `request 2: the reply to request 1 was rewritten: the model called get with {"city": "Paris"}, but the history has {}`,
		},
		{name: "arguments of the second call", do: func(_ *conduct.Input, m *harness.Message) { m.Calls[1].Arguments = `{"city":"Rome"}` }, want: `the history has {"city":"Rome"}`},
		{name: "an argument added", do: func(_ *conduct.Input, m *harness.Message) { m.Calls[0].Arguments = `{"city":"Paris","units":"C"}` }, want: "was rewritten"},
		{name: "another tool", do: func(_ *conduct.Input, m *harness.Message) { m.Calls[0].Name = "add" }, want: "the model called get, but the history has a call of add"},
		{name: "arguments that no endpoint takes back", do: func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Answer.Calls[0].Arguments = `{"city": "Paris"}""`
			in.Tools[1].Text, in.Tools[1].Result = paris, json.RawMessage(paris)
			m.Calls[0].Arguments = "{}"
		}},
		{name: "text beside the calls", said: "I look it up."},
		{name: "text with other white space", said: "I look\nit up.\n", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "I look it  up." }},
		{name: "text without the model's thoughts", said: "<think>Paris first.</think>\nI look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "I look it up." }},
		{name: "thoughts whose beginning is not said", said: "Paris first.</think>I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "I look it up." }},
		{name: "nothing but thoughts", said: "<think>Paris first.</think>", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "" }},
		{
			name: "text replaced", said: "I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "(omitted)" },
			want: `the model said "I look it up.", but the history has "(omitted)"`,
		},
		{name: "text left out", said: "I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "" }, want: `the history has ""`},
		{name: "text cut", said: "I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "I look" }, want: "was rewritten"},
		{
			name: "text invented", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "I decided to look it up." },
			want: `the reply to request 1 was rewritten: the model said "", but the history has "I decided to look it up."`,
		},
		{
			name: "text added", said: "I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text += " And more." },
			want: `the model said "I look it up.", but the history has "I look it up. And more."`,
		},
		{name: "a text in brackets for none", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "(no content)" }},
		{name: "dots for no text", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "..." }},
		{name: "the calls in words too", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "Calling get with Paris." }},
		{name: "the calls by their ids", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "Running c1 and c2." }},
		{name: "text added to a reply that a fault spoiled", said: "I look it up.", do: func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Fault = "garbage"
			m.Text += " And more."
		}},
		{name: "a label of 32 characters", do: func(_ *conduct.Input, m *harness.Message) { m.Text = strings.Repeat("a", 31) + ":" }},
		{name: "a longer label", do: func(_ *conduct.Input, m *harness.Message) { m.Text = strings.Repeat("a", 32) + ":" }, want: "was rewritten"},
		{name: "a label in front", said: "I look it up.", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "Assistant: " + m.Text }},
		{name: "the model's thoughts in its text", said: "I look it up.", do: func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Answer.Reasoning = "Paris first."
			m.Text = "Paris first.\n\n" + m.Text
		}},
		{name: "thoughts in tags", do: func(_ *conduct.Input, m *harness.Message) { m.Text = "<think>Paris first.</think>" }},
		{name: "a message of the client's own behind the results", do: func(in *conduct.Input, _ *harness.Message) {
			*second(in) = append(*second(in), harness.Message{Role: harness.RoleAssistant, Text: "Now the answer is"})
		}},
		{name: "text and calls in messages of their own", said: "I look it up.", do: func(in *conduct.Input, m *harness.Message) {
			text := harness.Message{Role: harness.RoleAssistant, Text: m.Text}
			m.Text = ""
			*second(in) = slices.Insert(*second(in), 2, text)
		}},
		{name: "each call in a message of its own", do: func(in *conduct.Input, m *harness.Message) {
			all := *second(in)
			first, other := *m, *m
			first.Calls, other.Calls = m.Calls[:1], m.Calls[1:]
			*second(in) = []harness.Message{all[0], all[1], first, all[3], other, all[4]}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[0].Answer.Text = tt.said
			reply := &(*second(in))[2]
			reply.Text, reply.Calls = tt.said, slices.Clone(reply.Calls)
			if tt.do != nil {
				tt.do(in, reply)
			}
			found := check(conduct.Config{}, in)
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("found %q", found)
			case tt.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], "failed history_grows: ") || !strings.Contains(found[0], tt.want)):
				t.Errorf("found %q, want one of history_grows with %s", found, tt.want)
			}
		})
	}
}

// TestCallsInText: of a reply that wrote its calls into its text, a client may make
// calls with words of its own.
func TestCallsInText(t *testing.T) {
	in := honest()
	in.Exchanges[0].Answer = harness.Message{Role: harness.RoleAssistant, Text: `get({"city": "Paris"}) get({"city": "Oslo"})`}
	(*second(in))[2].Text = "I look it up."
	if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != "passed" {
		t.Errorf("history_grows is %s", got)
	}
}

// TestOldMessagesHandedBack is about what was in the history before: all of
// each message must be there again, but for white space around a text and for
// how arguments are spelled.
func TestOldMessagesHandedBack(t *testing.T) {
	const user, calls, result = 1, 2, 3 // of the third request
	for _, tt := range []struct {
		name string
		do   func(old []harness.Message)
		want string // part of the finding; "" for none
	}{
		{name: "as they were", do: func([]harness.Message) {}},
		{name: "white space around a text", do: func(m []harness.Message) { m[user].Text = "\n" + m[user].Text + " " }},
		{name: "arguments written anew", do: func(m []harness.Message) { m[calls].Calls[0].Arguments = `{"city":"Paris"}` }},
		{name: "another role", do: func(m []harness.Message) { m[user].Role = harness.RoleAssistant }, want: "message 1 differs from request 2"},
		{name: "another text", do: func(m []harness.Message) { m[user].Text = "Weather?" }, want: "message 1 differs from request 2"},
		{name: "another id of a call", do: func(m []harness.Message) { m[calls].Calls[0].ID = "c9" }, want: "message 2 differs from request 2"},
		{name: "another tool", do: func(m []harness.Message) { m[calls].Calls[1].Name = "add" }, want: "message 2 differs from request 2"},
		{name: "other arguments", do: func(m []harness.Message) { m[calls].Calls[1].Arguments = `{"city":"Rome"}` }, want: "message 2 differs from request 2"},
		{name: "a call left out", do: func(m []harness.Message) { m[calls].Calls = m[calls].Calls[:1] }, want: "message 2 differs from request 2"},
		{name: "a result of another call", do: func(m []harness.Message) { m[result].CallID = "c9" }, want: "message 3 differs from request 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			next := in.Exchanges[1]
			next.Seq, next.Turn, next.Reply, next.Start = 3, 2, 1, at(8)
			old := slices.Clone(*second(in))
			old[calls].Calls = slices.Clone(old[calls].Calls)
			tt.do(old)
			next.Request.Messages = append(old, next.Answer, harness.Message{Role: harness.RoleUser, Text: "And Rome?"})
			in.Exchanges = append(in.Exchanges, next)
			var found []string
			for _, f := range check(conduct.Config{}, in) {
				if strings.HasPrefix(f, "failed history_grows: ") {
					found = append(found, f)
				}
			}
			if len(found) > 1 || (len(found) == 1) != (tt.want != "") || tt.want != "" && !strings.Contains(found[0], "request 3: "+tt.want) {
				t.Errorf("found %q, want one with %q", found, tt.want)
			}
		})
	}
}

// TestAnswersHandedBack is about a reply in text alone, which the request of
// the next turn has.
func TestAnswersHandedBack(t *testing.T) {
	for _, tt := range []struct{ name, told, want string }{
		{"as it was", "21 and -3.", ""},
		{"replaced", "(omitted)", `the reply to request 2 was rewritten: the model said "21 and -3.", but the history has "(omitted)"`},
		{"empty", "", `the history has ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			next := in.Exchanges[1]
			next.Seq, next.Turn, next.Reply, next.Start = 3, 2, 1, at(8)
			next.Request.Messages = append(slices.Clone(*second(in)),
				harness.Message{Role: harness.RoleAssistant, Text: tt.told}, harness.Message{Role: harness.RoleUser, Text: "And Rome?"})
			in.Exchanges = append(in.Exchanges, next)
			found := strings.Join(check(conduct.Config{}, in), "\n")
			if tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
				t.Errorf("found %s, want %s", found, tt.want)
			}
		})
	}
}

func TestModelAsked(t *testing.T) {
	tests := []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{name: "as Gemini's lists have it", do: func(in *conduct.Input) { in.Exchanges[0].Request.Model = "models/m" }},
		{name: "an aside with another", do: func(in *conduct.Input) {
			aside := in.Exchanges[0]
			aside.Kind, aside.Seq, aside.Request = harness.KindAside, 3, harness.Request{Model: "small"}
			in.Exchanges = append(in.Exchanges, aside)
		}},
		{
			name: "another in one request", do: func(in *conduct.Input) { in.Exchanges[1].Request.Model = "gpt-3.5" },
			want: `failed model_asked: request 2 asks for the model "gpt-3.5", but the subject was given "m"`,
		},
		{name: "none", do: func(in *conduct.Input) { in.Exchanges[1].Request.Model = "" }, want: `request 2 asks for the model ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in)
			found := check(conduct.Config{}, in)
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
				t.Errorf("found %q, want %s", found, tt.want)
			}
		})
	}
}

func TestDescriptionsOffered(t *testing.T) {
	long := "Gets it.\n\n  " + strings.Repeat("More of it. ", 200)
	for _, tt := range []struct {
		name, own, offered string
		ok                 bool
	}{
		{"as it is", "Get it.", "Get it.", true},
		{"with the server's name", "Get it.", "[weather] Get it. Use it well.", true},
		{"lines joined and the end cut", long, strings.Join(strings.Fields(long), " ")[:1000], true},
		{"the server says nothing", "", "get", true},
		{"left out", "Get it.", "", false},
		{"another", "Get it.", "A tool.", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Listed = map[string][]harness.Tool{"weather": slices.Clone(tools)}
			in.Listed["weather"][0].Description = tt.own
			for i := range in.Exchanges {
				in.Exchanges[i].Request.Tools = slices.Clone(tools)
				in.Exchanges[i].Request.Tools[0].Description = tt.offered
			}
			found := check(conduct.Config{}, in)
			if tt.ok && len(found) > 0 || !tt.ok && (len(found) != 1 || !strings.HasPrefix(found[0], `failed tools_offered: request 1: tool "weather.get" is offered with the description`)) {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestDescriptionsLater: a later request may leave tools out, but not describe
// them otherwise, unless the server does.
func TestDescriptionsLater(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input, tools *[]harness.Tool)
		want string
	}{
		{"as they were", func(*conduct.Input, *[]harness.Tool) {}, "passed"},
		{"left out", func(_ *conduct.Input, tools *[]harness.Tool) { *tools = nil }, "passed"},
		{"more said", func(_ *conduct.Input, tools *[]harness.Tool) { (*tools)[0].Description += " Use it well." }, "passed"},
		{
			"changed", func(_ *conduct.Input, tools *[]harness.Tool) { (*tools)[0].Description = "changed" },
			`failed: request 2: tool "get" is offered with the description "changed", but request 1 offers it with "Get it."`,
		},
		{
			"emptied", func(_ *conduct.Input, tools *[]harness.Tool) { (*tools)[0].Description = "" },
			`failed: request 2: tool "get" is offered with the description "", but request 1 offers it with "Get it."`,
		},
		{"changed, and so in the next turn", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = "changed"
			addTurn(in, rome)
		}, `failed: request 2: tool "get" is offered with the description "changed", but request 1 offers it with "Get it."`},
		{"changed, and the server listed something else", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = "changed"
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", Kind: jsonrpc.FrameResponse, Body: `{"result":{"tools":[{"name":"get","description":"Get it."}]}}`}}
		}, `failed: request 2: tool "get" is offered with the description "changed", but request 1 offers it with "Get it."`},
		{"changed, and the client told the server so", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = "changed"
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", In: true, Kind: jsonrpc.FrameRequest, Body: `{"params":{"description":"changed"}}`}}
		}, `failed: request 2: tool "get" is offered with the description "changed", but request 1 offers it with "Get it."`},
		{"emptied, and the server listed an empty text", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = ""
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", Kind: jsonrpc.FrameResponse, Body: `{"result":{"tools":[{"name":"add","description":""}]}}`}}
		}, `failed: request 2: tool "get" is offered with the description "", but request 1 offers it with "Get it."`},
		{"as another tool of the server is described", func(in *conduct.Input, tools *[]harness.Tool) {
			in.Listed["weather"] = slices.Clone(in.Listed["weather"])
			in.Listed["weather"][1].Description, in.Exchanges[0].Request.Tools[1].Description = "Add it.", "Add it."
			(*tools)[0].Description, (*tools)[1].Description = "Add it.", "Add it."
		}, "passed"},
		{"as the server lists it now", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = "Get it now."
			in.Listed["weather"] = slices.Clone(in.Listed["weather"])
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", Kind: jsonrpc.FrameResponse, Body: `{"result":{"tools":[{"name":"get","description":"Get it now."}]}}`}}
		}, "passed"},
		{"after the server announced others", func(in *conduct.Input, tools *[]harness.Tool) {
			(*tools)[0].Description = "New."
			in.Frames = []jsonrpc.Frame{{Seq: 1, Server: "weather", Kind: jsonrpc.FrameNotification, Method: "notifications/tools/list_changed"}}
		}, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in, &in.Exchanges[1].Request.Tools)
			if got := verdictOf(conduct.Config{}, in, conduct.ToolsOffered); got != tt.want {
				t.Errorf("tools_offered is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestResultsMixed: a message that answers one call and has the results of
// others too.
func TestResultsMixed(t *testing.T) {
	short := func(in *conduct.Input, text string) { // that of the other
		in.Tools[0].Text, in.Tools[0].Result = text, json.RawMessage(`"`+text+`"`)
		(*second(in))[3].Text, (*second(in))[4].Text = text+" "+paris, text
	}
	const mixed = `failed: call weather.get {"city": "Paris"} (c1) was answered with the result of call weather.get {"city": "Oslo"} (c2) too`
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{"both", func(in *conduct.Input) { (*second(in))[3].Text = paris + "\n" + oslo }, mixed},
		{"both, in the message of the second", func(in *conduct.Input) { (*second(in))[4].Text = oslo + "\n" + paris }, `failed: call weather.get {"city": "Oslo"} (c2) was answered with the result of call weather.get {"city": "Paris"} (c1) too`},
		{"both, written anew", func(in *conduct.Input) {
			(*second(in))[3].Text = "1. " + paris + "\n2. " + `{"temperature": -3, "city": "Oslo"}`
		}, mixed},
		{"its own twice", func(in *conduct.Input) { (*second(in))[3].Text = paris + "\n" + paris }, "passed"},
		{"a result that has that of the other", func(in *conduct.Input) {
			in.Tools[1].Text, in.Tools[1].Result = "["+paris+","+oslo+"]", json.RawMessage("["+paris+","+oslo+"]")
			(*second(in))[3].Text = in.Tools[1].Text
		}, "passed"},
		{"a short result of the other in the words around", func(in *conduct.Input) {
			in.Tools[0].Text, in.Tools[0].Result = "ok", json.RawMessage(`"ok"`)
			(*second(in))[3].Text, (*second(in))[4].Text = "ok: "+paris, "ok"
		}, "passed"},
		{"a result of sixteen characters of the other", func(in *conduct.Input) { short(in, "sunny and very hot.") }, mixed},
		{"a result of fifteen characters of the other", func(in *conduct.Input) { short(in, "sunny and very hot") }, "passed"},
		{"equal results", func(in *conduct.Input) {
			in.Tools[0].Text, in.Tools[0].Result = paris, json.RawMessage(paris)
			(*second(in))[3].Text, (*second(in))[4].Text = paris+paris, paris
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

// TestCallThatAFaultAnswered is a call that came to its server, and that a
// fault answered before it was journaled as one.
func TestCallThatAFaultAnswered(t *testing.T) {
	for _, tt := range []struct {
		name string
		body string
		ok   bool
	}{
		{"the call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"city":"Paris"}}}`, true},
		{"one whose body is shortened", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"na`, true},
		{"a call of another tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"city":"Paris"}}}`, false},
		{"with other arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{}}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Tools = in.Tools[:1]
			(*second(in))[3].Text = "Error: HTTP 503 Service Unavailable"
			in.Frames = []jsonrpc.Frame{{
				Seq: 1, Server: "weather", Transport: "http", In: true, Kind: jsonrpc.FrameRequest, Method: "tools/call",
				Body: tt.body, Fault: "http_status", Time: at(2), ID: json.RawMessage("1"),
			}}
			found := slices.DeleteFunc(check(conduct.Config{}, in), func(s string) bool { return !strings.Contains(s, " results: ") })
			if tt.ok != (len(found) == 0) {
				t.Errorf("found %q", found)
			}
		})
	}
}
