// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

// TestHistoryAfterGivingUp: a subject that gave up on a turn need not say again
// what the endpoint did not take: the user's last message, or the text of the
// last results. All else it must.
func TestHistoryAfterGivingUp(t *testing.T) {
	type messages = []harness.Message
	failed := func(x *harness.Exchange) { x.Status, x.Fault = 500, "server_error" }
	stopped := harness.TurnReport{Stop: harness.StopServer, Error: "500"}
	// What the second request has: user, calls, result, result.
	all := func() messages { return slices.Clone((*second(honest()))[1:]) }
	changed := func(i int, m harness.Message) messages {
		list := all()
		list[i] = m
		return append(list, rome)
	}
	tool := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	for _, tt := range []struct {
		name     string
		requests int // in the first turn
		last     func(x *harness.Exchange)
		report   harness.TurnReport
		next     messages // of the second turn, behind the system prompt
		want     string
	}{
		{"the user's message left out", 1, failed, stopped, messages{rome}, "passed"},
		{"the user's message kept", 1, failed, stopped, append(all()[:1], rome), "passed"},
		{"an error without a stop", 1, failed, harness.TurnReport{Error: "500"}, messages{rome}, "passed"},
		{"a stop without an error", 1, failed, harness.TurnReport{Stop: harness.StopServer}, messages{rome}, "passed"},
		{"it did not give up", 1, failed, harness.TurnReport{Answer: "x"}, messages{rome}, `failed: request 2: message 1 differs from request 1: was user "Weather in Paris and Oslo?", is user "And Rome?"`},
		{"a reply that broke off", 1, func(x *harness.Exchange) { x.Delivered = false }, stopped, messages{rome}, "passed"},
		{"a redirect", 1, func(x *harness.Exchange) { x.Status = 300 }, stopped, messages{rome}, "passed"},
		{"a fault in a whole reply", 1, func(x *harness.Exchange) { x.Fault = "gzip" }, stopped, messages{rome}, "passed"},
		{"a whole reply, which it could read", 1, func(*harness.Exchange) {}, stopped, messages{rome}, `failed: request 2: message 1 differs from request 1: was user "Weather in Paris and Oslo?", is user "And Rome?"`},
		{"a whole reply, which it did not follow", 1, func(*harness.Exchange) {}, stopped, append(all()[:1], rome), "passed"},

		{"results kept", 2, failed, stopped, append(all(), rome), "passed"},
		{"the last result told otherwise", 2, failed, stopped, changed(3, tool("c2", "interrupted")), "passed"},
		{"the first result told otherwise", 2, failed, stopped, changed(2, tool("c1", "interrupted")), "passed"},
		{"a result of another call", 2, failed, stopped, changed(3, tool("c9", "interrupted")), `failed: request 3: message 4 differs from request 2: was tool "{\"city\":\"Oslo\",\"temperature\":-3}", is tool "interrupted"`},
		{"no result but a text", 2, failed, stopped, changed(3, harness.Message{Role: harness.RoleUser, CallID: "c2", Text: "interrupted"}), `failed: request 3: message 4 differs from request 2: was tool "{\"city\":\"Oslo\",\"temperature\":-3}", is user "interrupted"`},
		{"results left out", 2, failed, stopped, append(all()[:2], rome), `failed: request 3: message 3 differs from request 2: was tool "{\"city\":\"Paris\",\"temperature\":21}", is user "And Rome?"`},
		{"nothing behind a result", 2, failed, stopped, all()[:3], `failed: request 3: message 4 of request 2 is missing: tool "{\"city\":\"Oslo\",\"temperature\":-3}"`},
		{"the calls told otherwise", 2, failed, stopped, changed(1, harness.Message{Role: harness.RoleAssistant, Text: "interrupted"}), `failed: request 3: message 2 differs from request 2: was assistant with calls of get, get, is assistant "interrupted"`},
		{"the user's message told otherwise", 2, failed, stopped, changed(0, harness.Message{Role: harness.RoleUser, Text: "Weather?"}), `failed: request 3: message 1 differs from request 2: was user "Weather in Paris and Oslo?", is user "Weather?"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges = in.Exchanges[:tt.requests]
			tt.last(&in.Exchanges[tt.requests-1])
			addTurn(in, tt.next...)
			in.Transcript.Turns = []harness.TurnReport{tt.report, {Answer: "18."}}
			if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != tt.want {
				t.Errorf("history_grows is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestGivingUpLater: who gives up on a later turn still owes the turns before it.
func TestGivingUpLater(t *testing.T) {
	for name, tt := range map[string]struct {
		keep int // of the messages of the second turn's request
		want string
	}{
		"all but the user's last":     {6, "passed"},
		"all":                         {7, "passed"},
		"not the answer before it":    {5, `failed: request 4: message 5 differs from request 3: was assistant "21 and -3.", is user "And Oslo?"`},
		"nothing of what was before":  {1, `failed: request 4: message 1 differs from request 3: was user "Weather in Paris and Oslo?", is user "And Oslo?"`},
		"nothing, and not the system": {0, `failed: request 4: message 1 differs from request 3: was user "Weather in Paris and Oslo?", is user "And Oslo?"`},
	} {
		in := honest()
		failed := addTurn(in, append(slices.Clone((*second(in))[1:]), in.Exchanges[1].Answer, rome)...)
		failed.Status, failed.Fault = 500, "server_error"
		next := addTurn(in)
		next.Turn = 3
		next.Request.Messages = append(slices.Clone(in.Exchanges[2].Request.Messages[:tt.keep]), harness.Message{Role: harness.RoleUser, Text: "And Oslo?"})
		in.Transcript.Turns = append(in.Transcript.Turns, harness.TurnReport{Stop: harness.StopServer, Error: "500"}, harness.TurnReport{Answer: "18."})
		if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != tt.want {
			t.Errorf("%s: history_grows is %s\nwant %s", name, got, tt.want)
		}
	}
	// A request that says nothing has nothing to be said again.
	in := honest()
	in.Exchanges = in.Exchanges[:1]
	in.Exchanges[0].Status, in.Exchanges[0].Request.Messages = 500, in.Exchanges[0].Request.Messages[:1]
	addTurn(in, rome)
	in.Transcript.Turns = []harness.TurnReport{{Stop: harness.StopServer}, {}}
	if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != "passed" {
		t.Errorf("behind a request without messages history_grows is %s", got)
	}
}

// TestRepliesOwed says which replies a history must have.
func TestRepliesOwed(t *testing.T) {
	const missing = `failed: request 2: the reply to request 1 is missing: assistant with calls of get, get`
	for _, tt := range []struct {
		name string
		do   func(first, second *harness.Exchange)
		want string
	}{
		{"one that arrived", func(_, _ *harness.Exchange) {}, missing},
		{"one that broke off", func(x, _ *harness.Exchange) { x.Delivered = false }, "passed"},
		{"an error", func(x, _ *harness.Exchange) { x.Status = 500 }, "passed"},
		{"a redirect", func(x, _ *harness.Exchange) { x.Status = 300 }, "passed"},
		{"one that said nothing", func(x, _ *harness.Exchange) { x.Answer = harness.Message{} }, "passed"},
		{"one that was asked for again", func(_, y *harness.Exchange) { y.Reply, y.Attempt = 1, 2 }, "passed"},
		{"one of another turn", func(_, y *harness.Exchange) { y.Turn, y.Reply = 2, 1 }, missing},
		{"one of a real endpoint", func(x, y *harness.Exchange) { x.Kind, y.Kind = harness.KindLive, harness.KindLive }, missing},
		{"one of a rule", func(x, _ *harness.Exchange) { x.Kind = harness.KindRule }, "passed"},
		{"one that a rule knows not of", func(_, y *harness.Exchange) { y.Kind = harness.KindRule }, "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			*second(in) = (*second(in))[:2]
			tt.do(&in.Exchanges[0], &in.Exchanges[1])
			if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != tt.want {
				t.Errorf("history_grows is %s, want %s", got, tt.want)
			}
		})
	}
	in := honest()
	*second(in) = (*second(in))[:1]
	if got, want := verdictOf(conduct.Config{}, in, conduct.HistoryGrows), `failed: request 2: message 1 of request 1 is missing: user "Weather in Paris and Oslo?"`; got != want {
		t.Errorf("without the user's message history_grows is %s, want %s", got, want)
	}
}

// TestInterruptedReplies: of a turn that the user interrupted, the calls stay in the
// history, and a text need not.
func TestInterruptedReplies(t *testing.T) {
	calls := honest().Exchanges[0].Answer
	for name, tt := range map[string]struct {
		reply harness.Message
		want  string
	}{
		"a text": {harness.Message{Role: harness.RoleAssistant, Text: "21 and"}, "passed"},
		"calls":  {calls, "failed: request 2: the reply to request 1 is missing: assistant with calls of get, get"},
	} {
		in := honest()
		in.Interrupted, in.Tools = []int{1}, nil
		in.Transcript.Turns = []harness.TurnReport{{Stop: harness.StopInterrupted}, {Answer: "21 and -3."}}
		in.Exchanges[0].Answer, in.Exchanges[1].Turn, in.Exchanges[1].Reply = tt.reply, 2, 1
		*second(in) = append((*second(in))[:2:2], rome)
		if got := verdictOf(conduct.Config{}, in, conduct.HistoryGrows); got != tt.want {
			t.Errorf("%s: history_grows is %s, want %s", name, got, tt.want)
		}
	}
}

// TestCompaction: where it is allowed, a shortened history may be anything, and
// it is what was required.
func TestCompaction(t *testing.T) {
	for compaction, want := range map[conduct.Compaction]string{
		conduct.CompactionForbidden: "failed: request 2 has a shortened history (conduct: {compaction: allowed} permits it)",
		conduct.CompactionAllowed:   "passed",
		conduct.CompactionRequired:  "passed",
	} {
		in := honest()
		in.Exchanges[1].Compacted = true
		*second(in) = []harness.Message{{Role: harness.RoleUser, Text: "In short: weather."}}
		if got := verdictOf(conduct.Config{Compaction: compaction}, in, conduct.HistoryGrows); got != want {
			t.Errorf("compaction %q: history_grows is %s, want %s", compaction, got, want)
		}
	}
}

// TestPrefixInWords: where the prefix of two requests differs, and how.
func TestPrefixInWords(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *harness.Request)
		want string
	}{
		{"a tool gone", func(r *harness.Request) { r.Tools = r.Tools[:1] }, "tools[1] (add) is gone"},
		{"a tool added", func(r *harness.Request) { r.Tools = append(r.Tools, harness.Tool{Name: "new"}) }, "tools[2] (new) is new"},
		{"another name", func(r *harness.Request) { r.Tools[0].Name = "fetch" }, `tools[0].name: was "get", is "fetch"`},
		{"another description", func(r *harness.Request) {
			r.Tools[0].Description = "Get it all, and more than that, whatever it may cost."
		}, `tools[0].description: at byte 6 was "Get it.", is "Get it all, and more than that, what"`},
		{"the beginning of a description", func(r *harness.Request) { r.Tools[0].Description = "Get" }, `tools[0].description: at byte 3 was "Get it.", is "Get"`},
		{"more of a description", func(r *harness.Request) { r.Tools[0].Description = "Get it. Now" }, `tools[0].description: at byte 7 was "Get it.", is "Get it. Now"`},
		{"another place late in a text", func(r *harness.Request) { r.Messages[0].Text = "Be brief!" }, `system: at byte 8 was "Be brief.\n", is "Be brief!\n"`},
	} {
		in := honest()
		tt.do(&in.Exchanges[1].Request)
		if got, want := verdictOf(conduct.Config{}, in, conduct.StablePrefix), "warning: between request 1 and 2: "+tt.want; got != want {
			t.Errorf("%s: stable_prefix is %s\nwant %s", tt.name, got, want)
		}
	}
}

// TestToolsInWords: a description that is not the server's is shown, that of
// the tool and of no other.
func TestToolsInWords(t *testing.T) {
	in := honest()
	in.Exchanges[0].Request.Tools[0].Description = "A tool."
	if got, want := verdictOf(conduct.Config{}, in, conduct.ToolsOffered), `failed: request 1: tool "weather.get" is offered with the description "A tool.", but the server lists it with "Get it."`; got != want {
		t.Errorf("tools_offered is %s, want %s", got, want)
	}
}

// TestModelsInWords: each wrong model is told once, and what is asked aside may
// be for another.
func TestModelsInWords(t *testing.T) {
	in := honest()
	in.Exchanges[0].Request.Model, in.Exchanges[1].Request.Model = "x", "x"
	if got, want := verdictOf(conduct.Config{}, in, conduct.ModelAsked), `failed: request 1 asks for the model "x", but the subject was given "m"`; got != want {
		t.Errorf("model_asked is %s, want %s", got, want)
	}
	in.Exchanges[0].Kind, in.Exchanges[1].Stray = harness.KindRule, true
	if got := verdictOf(conduct.Config{}, in, conduct.ModelAsked); got != "passed" {
		t.Errorf("of a rule and a stray request model_asked is %s", got)
	}
}

// TestReports compares what the subject reports with what the mocks saw, where
// it reports less than all.
func TestReports(t *testing.T) {
	noIDs := func(in *conduct.Input) { // on the wire, and so in the trajectory
		m := *second(in)
		in.Exchanges[0].Answer.Calls = slices.Clone(in.Exchanges[0].Answer.Calls)
		for i := range in.Exchanges[0].Answer.Calls {
			in.Exchanges[0].Answer.Calls[i].ID = ""
		}
		m[2].Calls, m[3].CallID, m[4].CallID = in.Exchanges[0].Answer.Calls, "", ""
	}
	reported := func(tools ...string) []harness.ReportedCall {
		var out []harness.ReportedCall
		for _, tool := range tools {
			out = append(out, harness.ReportedCall{Tool: tool})
		}
		return out
	}
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input, r *harness.TurnReport)
		want string
	}{
		{"nothing but the answer", func(_ *conduct.Input, r *harness.TurnReport) { r.Calls, r.ModelCalls = nil, 0 }, "passed"},
		{"calls, and no model calls", func(_ *conduct.Input, r *harness.TurnReport) { r.ModelCalls = 0 }, "failed: turn 1: the subject reports 0 model calls, but the endpoint saw 2"},
		{"model calls, and no calls", func(_ *conduct.Input, r *harness.TurnReport) { r.Calls = nil }, `failed: turn 1: the subject does not report call weather.get {"city": "Paris"} (c1); turn 1: the subject does not report call weather.get {"city": "Oslo"} (c2)`},
		{"too few model calls", func(_ *conduct.Input, r *harness.TurnReport) { r.ModelCalls = 1 }, "failed: turn 1: the subject reports 1 model call, but the endpoint saw 2"},
		{"calls without ids, by the tool's name", func(_ *conduct.Input, r *harness.TurnReport) { r.Calls = reported("get", "get") }, "passed"},
		{"calls without ids, by the server's and the tool's name", func(_ *conduct.Input, r *harness.TurnReport) { r.Calls = reported("weather.get", "get") }, "passed"},
		{"calls without ids, of another tool", func(_ *conduct.Input, r *harness.TurnReport) { r.Calls = reported("get", "weather.add") }, `failed: turn 1: the subject does not report call weather.get {"city": "Oslo"} (c2); turn 1: the subject reports a call of weather.add (), which the model did not make`},
		{"ids of its own, where the model gave none", func(in *conduct.Input, r *harness.TurnReport) { noIDs(in); r.Calls[0].ID, r.Calls[1].ID = "x", "y" }, "passed"},
		{"a part of the answer", func(_ *conduct.Input, r *harness.TurnReport) { r.Answer = "21" }, `warning: turn 1: the subject answers "21", a part of what the model said: "21 and -3."`},
		{"more than the answer", func(_ *conduct.Input, r *harness.TurnReport) { r.Answer = "So: 21 and -3. Bye." }, "passed"},
		{"no answer, since it stopped", func(_ *conduct.Input, r *harness.TurnReport) { r.Answer, r.Stop = "", harness.StopLength }, "passed"},
		{"no answer, since it broke", func(_ *conduct.Input, r *harness.TurnReport) { *r = harness.TurnReport{Error: "boom"} }, "passed"},
		{"a model that ends with calls", func(in *conduct.Input, r *harness.TurnReport) {
			in.Exchanges[0].Answer, in.Exchanges[1].Answer = harness.Message{Role: harness.RoleAssistant, Text: "Let me see."}, in.Exchanges[0].Answer
			r.Answer = ""
		}, "passed"},
		{"a call of an earlier reply that it did not make", func(in *conduct.Input, r *harness.TurnReport) {
			in.Tools = nil
			*r = harness.TurnReport{ModelCalls: 2, Stop: harness.StopRepeatedCall, Error: "stopped", Calls: reported("get")}
		}, `failed: turn 1: the subject does not report call weather.get {"city": "Oslo"} (c2)`},
		{"another turn's replies", func(in *conduct.Input, r *harness.TurnReport) {
			addTurn(in, rome)
			in.Transcript.Turns = append(in.Transcript.Turns, harness.TurnReport{Answer: "18.", ModelCalls: 1})
		}, "passed"},
		{"another turn's replies counted too", func(in *conduct.Input, r *harness.TurnReport) {
			addTurn(in, rome)
			in.Transcript.Turns[0].ModelCalls = 3
			in.Transcript.Turns = append(in.Transcript.Turns, harness.TurnReport{Answer: "18.", ModelCalls: 1})
		}, "failed: turn 1: the subject reports 3 model calls, but the endpoint saw 2"},
		{"a rule's answer counted too", func(in *conduct.Input, r *harness.TurnReport) {
			rule := in.Exchanges[0]
			rule.Seq, rule.Kind, rule.Turn, rule.Reply, rule.Answer = 3, harness.KindRule, 0, 0, harness.Message{Text: "title"}
			in.Exchanges = append(in.Exchanges, rule)
			r.ModelCalls = 3
		}, "passed"},
		{"nothing, and other arguments arrived", func(in *conduct.Input, _ *harness.TurnReport) {
			in.Transcript = nil
			in.Tools[1].Args = []byte(`{"city":"Lyon"}`)
		}, `failed: call weather.get {"city": "Paris"} (c1) reached the server with the arguments {"city":"Lyon"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in, &in.Transcript.Turns[0])
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); got != tt.want {
				t.Errorf("witnesses_agree is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestReportsByOfferedName: a subject may know a tool by the name that it
// offered to the model.
func TestReportsByOfferedName(t *testing.T) {
	for tool, want := range map[string]string{
		"mcp__weather__get": "passed", "get": "passed", "weather.get": "passed",
		"weather": `failed: turn 1: the subject does not report`,
	} {
		in := honest()
		check(conduct.Config{}, in)
		for i := range in.Trajectory {
			in.Trajectory[i].Offered = "mcp__weather__get"
		}
		in.Transcript.Turns[0].Calls = []harness.ReportedCall{{Tool: tool}, {Tool: tool}}
		if got := verdictAsJoined(conduct.Config{}, in, conduct.WitnessesAgree); !strings.HasPrefix(got, want) {
			t.Errorf("reported as %s: %s, want %s", tool, got, want)
		}
	}
}
