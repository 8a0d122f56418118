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

// TestTold is about what comes near to a result, and is it or is not.
func TestTold(t *testing.T) {
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	text := func(s string) harness.ToolExchange {
		raw, _ := json.Marshal(s)
		return harness.ToolExchange{Text: s, Result: raw}
	}
	structured := func(s string) harness.ToolExchange { return harness.ToolExchange{Result: json.RawMessage(s)} }
	blocks := func(x harness.ToolExchange, content string) harness.ToolExchange {
		x.Content = json.RawMessage(`{"content":` + content + `}`)
		return x
	}
	accents := "a" + strings.Repeat("é", 50)
	for _, tt := range []struct {
		name   string
		x      harness.ToolExchange
		told   string
		capped bool
		same   bool
	}{
		{name: "white space at the ends lost", x: text("\nsunny\n"), told: "sunny", same: true},
		{name: "white space alone lost", x: text(" \n\t\u00a0"), told: "", same: true},
		{name: "white space alone told in words", x: text(" "), told: "(no output)", same: true},
		{name: "null told in words", x: structured(`null`), told: "(no output)", same: true},
		{name: "nothing at all told in words", x: harness.ToolExchange{}, told: "(no output)", same: true},
		{name: "an empty list told in words", x: structured(`[]`), told: "(no output)"},
		{name: "null for a protocol error", x: harness.ToolExchange{Result: json.RawMessage("null"), RPCError: &jsonrpc.Error{Code: -1, Message: "no such thing"}}, told: "null"},
		{name: "null for a text beside what nests too deep", x: harness.ToolExchange{Text: "sunny", Result: json.RawMessage(deep)}, told: "null"},
		{name: "a protocol error quoted in JSON", x: harness.ToolExchange{RPCError: &jsonrpc.Error{Code: -1, Message: `no "x"`}}, told: `{"error":"no \"x\""}`, same: true},
		{name: "two texts further apart", x: blocks(text("before\nafter"), `[{"type":"text","text":"before"},{"type":"text","text":"after"}]`), told: "1. before\n2. after", same: true},
		{name: "an empty text beside structured content", x: blocks(structured(`{"a":1}`), `[{"type":"text","text":""}]`), told: "x"},
		{name: "two images beside structured content", x: blocks(structured(`{"a":1}`), `[{"type":"image","data":"AA=="},{"type":"image","data":"AA=="}]`), told: "x"},
		{name: "content that is none", x: blocks(text("sunny"), `5`), told: "x"},
		{name: "a string for structured content", x: structured(`{"a":1}`), told: `"x"`},
		{name: "another list for structured content", x: structured(`{"a":1}`), told: `[[],["x"]]`},
		{name: "in a list of strings", x: text(`say "hi"`), told: `["Result:","say \"hi\""]`, same: true},
		{name: "members in a text that is no JSON", x: text(`"a":1,"b":2`), told: `{"b":2,"a":1}`},
		{name: "the end of a longer list", x: text(`[1,2]`), told: `[0,1,2]`},
		{name: "two items become one", x: text(`[1,2]`), told: `[12]`},
		{name: "another item", x: text(`[1]`), told: `[2]`},
		{name: "a list in a list", x: text(`[[1],2]`), told: `[[1,2]]`},
		{name: "a member more", x: text(`{"b":1}`), told: `{"a":0,"b":1}`},
		{name: "another key", x: text(`{"a":1}`), told: `{"b":1}`},
		{name: "the same list, written anew", x: text(`[1, 2.0, "x"]`), told: `["x", [1,2,"x"]]`, same: true},
		{name: "half, but for half a character", x: text(accents), told: accents[:49], capped: true, same: true},
		{name: "a character less", x: text(accents), told: accents[:47], capped: true},
		{name: "one character is its own beginning", x: text("5"), told: "x", capped: true},
		{name: "structured content has no beginning", x: structured(`{"a":1}`), told: "x", capped: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			x := &in.Tools[1]
			x.Text, x.Result, x.RPCError, x.Content = tt.x.Text, tt.x.Result, tt.x.RPCError, tt.x.Content
			(*second(in))[3].Text = tt.told
			if got := verdictOf(conduct.Config{Capped: tt.capped}, in, conduct.Results); (got == "passed") != tt.same {
				t.Errorf("results is %s, want the same result: %v", got, tt.same)
			}
		})
	}
}

// TestArgumentsThatArrive: none are an empty object, and what nests too deep to
// be read is compared as text, but for white space.
func TestArgumentsThatArrive(t *testing.T) {
	deep := func(open string) string {
		return `{"a":` + strings.Repeat(open, 2000) + strings.Repeat("]", 2000) + `}`
	}
	for _, tt := range []struct {
		name, model, server string
		same                bool
	}{
		{"none", "", "{}", true},
		{"null", "null", "{}", true},
		{"none at the server", "{}", "", true},
		{"null at the server", "{}", "null", true},
		{"some for none", "", `{"a":1}`, false},
		{"too deep", deep("["), deep("[ "), true},
		{"too deep, another", deep("["), strings.Replace(deep("["), "a", "b", 1), false},
		{"too deep at the server alone", `{"a":[]}`, deep("["), false},
		{"too deep at the model alone", deep("["), `{"a":[]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
			in.Exchanges[0].Answer.Calls[0].Arguments = tt.model
			in.Tools[1].Args = json.RawMessage(tt.server)
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); (got == "passed") != tt.same {
				t.Errorf("witnesses_agree is %.200s, want the same arguments: %v", got, tt.same)
			}
		})
	}
}

// TestCallsHandedBack has what a history may make of the calls of a reply,
// beside TestRepliesHandedBack: by their ids, and by their places where those
// are of no use.
func TestCallsHandedBack(t *testing.T) {
	noIDs := func(in *conduct.Input, m *harness.Message) {
		for i := range m.Calls {
			in.Exchanges[0].Answer.Calls[i].ID, m.Calls[i].ID = "", ""
		}
	}
	const rewritten = "failed: request 2: the reply to request 1 was rewritten: "
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input, m *harness.Message)
		want string
	}{
		{"in another order, with ids", func(_ *conduct.Input, m *harness.Message) { slices.Reverse(m.Calls) }, "passed"},
		{"in another order, without ids", func(in *conduct.Input, m *harness.Message) { noIDs(in, m); slices.Reverse(m.Calls) }, rewritten + `the model called get with {"city": "Paris"}, but the history has {"city": "Oslo"}`},
		{"without ids, changed", func(in *conduct.Input, m *harness.Message) { noIDs(in, m); m.Calls[1].Arguments = "{}" }, rewritten + `the model called get with {"city": "Oslo"}, but the history has {}`},
		{"without ids, one left out", func(in *conduct.Input, m *harness.Message) { noIDs(in, m); m.Calls = m.Calls[1:] }, "passed"},
		{"the first left out", func(_ *conduct.Input, m *harness.Message) { m.Calls = m.Calls[1:] }, "passed"},
		{"arguments that are a list become an object", func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Answer.Calls[0].Arguments, m.Calls[0].Arguments = `["Paris"]`, "{}"
		}, "passed"},
		{"a text in thoughts replaced", func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Answer.Text, m.Text = "<think>Paris.</think>I look it up.", "(omitted)"
		}, rewritten + `the model said "<think>Paris.</think>I look it up.", but the history has "(omitted)"`},
		{"the text only behind the next message of the user", func(in *conduct.Input, m *harness.Message) {
			in.Exchanges[0].Answer.Text, m.Text = "I look it up.", ""
			*second(in) = append(*second(in), harness.Message{Role: harness.RoleUser, Text: "Well?"}, harness.Message{Role: harness.RoleAssistant, Text: "I look it up."})
		}, rewritten + `the model said "I look it up.", but the history has ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
			m := &(*second(in))[2]
			m.Calls = slices.Clone(m.Calls)
			tt.do(in, m)
			if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != tt.want {
				t.Errorf("history_grows is %s\nwant %s", got, tt.want)
			}
		})
	}
	// Arguments that are no JSON are the same only as they stand.
	for args, want := range map[string]string{`{"city":`: "passed", `{"town":`: "failed: request 3: message 2 differs from request 2: was assistant with calls of get, get, is assistant with calls of get, get"} {
		in := honest()
		in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
		in.Exchanges[0].Answer.Calls[0].Arguments = `{"city":`
		m := *second(in)
		m[2].Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
		old := slices.Clone(m[1:])
		old[1].Calls = slices.Clone(old[1].Calls)
		old[1].Calls[0].Arguments = args
		addTurn(in, append(old, in.Exchanges[1].Answer, rome)...)
		if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != want {
			t.Errorf("arguments handed back as %s: history_grows is %s\nwant %s", args, got, want)
		}
	}
}

// TestNoModelJournal: where nobody knows what the model asked for, nothing that
// was executed is unasked for.
func TestNoModelJournal(t *testing.T) {
	in := honest()
	in.Exchanges, in.Transcript = nil, nil
	if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); got != "passed" {
		t.Errorf("answered_once is %s", got)
	}
	in.Trajectory = nil
	if got := verdictAsJoined(conduct.Config{}, in, conduct.AnsweredOnce); got != "passed" {
		t.Errorf("without a trajectory answered_once is %s", got)
	}
}
