// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
)

var started = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// fullRun has each outcome, each status of an alignment, two models, three
// attempts, and each kind of exchange.
func fullRun() *Run {
	run := &Run{
		Manifest: trials.Manifest{
			Schema: trials.Schema, Name: "gemflux nightly", Rehearse: "v0.1.0", Go: "go1.26.0", Mode: harness.ModeMock,
			Subject: "agent", Seed: 7, Started: started, Finished: started.Add(4 * time.Second), Planned: 36,
			Models: []trials.Model{{Label: "gpt-4o", Name: "gpt-4o", Answered: []string{"gpt-4o-2024-11-20"}}, {Label: "claudesonnet4", Name: "claudesonnet4"}},
			Scenarios: []trials.Source{
				{Suite: "gemflux", Scenario: "look up a compound", File: "gemflux/compound.yaml", Description: "One call, one answer.", Tags: []string{"lookup"}, Hashes: trials.Hashes{Scenario: "9f1c2ab0"}, Trials: 3},
				{Suite: "gemflux", Scenario: "build, gapfill, run FBA", File: "gemflux/pipeline.yaml", Description: "Three turns; the model built in the first is used in the others.", Tags: []string{"multi-turn", "state"}, Hashes: trials.Hashes{Scenario: "77aa01d4"}, Trials: 3},
				{Suite: "utilities", Scenario: "weather", Case: "unknown city", File: "utilities/weather.yaml", Hashes: trials.Hashes{Scenario: "5be1"}, Trials: 3},
				{Suite: "utilities", Scenario: "rate limited", File: "utilities/limits.yaml", Hashes: trials.Hashes{Scenario: "1204"}, Trials: 3},
				{Suite: "utilities", Scenario: "a provider that refuses", File: "utilities/limits.yaml", Hashes: trials.Hashes{Scenario: "1204"}, Trials: 3},
				{Suite: "utilities", Scenario: "needs a real server", File: "utilities/real.yaml", Tags: []string{"live"}, Trials: 3},
			},
			Warnings: []string{"claudesonnet4 answered under no name of its own"},
		},
	}
	for _, model := range []string{"gpt-4o", "claudesonnet4"} {
		for n := 1; n <= 3; n++ {
			run.Trials = append(run.Trials,
				lookup(model, n), pipeline(model, n), miss(model, n), limited(model, n), refused(model, n), skipped(model, n))
		}
	}
	return run
}

func trial(src, file string, line int, model string, n int) Trial {
	name, of, _ := strings.Cut(src, "/")
	return Trial{Record: trials.Record{
		Schema: trials.Schema,
		Key: trials.Key{
			Suite: path.Base(path.Dir(file)), Scenario: name, Case: of, Subject: "agent", Model: model, Mode: harness.ModeMock, Attempt: n,
		},
		File: file,
		Pos:  harness.Position{File: file, Line: line, Col: 1}, Seed: int64(100 + n), Outcome: harness.OutcomePassed,
		Start: started, Duration: time.Duration(n)*1700*time.Microsecond + time.Duration(len(model))*time.Millisecond,
		Counts: trials.Counts{ModelCalls: 2, ToolCalls: 1, Checks: 2},
		Tokens: trials.Tokens{Input: 1210, Output: 64},
		Detail: fmt.Sprintf("transcripts/%s-%d.json", strings.ReplaceAll(src, " ", "-"), n),
	}}
}

func at(file string, line, col int) harness.Position {
	return harness.Position{File: file, Line: line, Col: col}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func conduct(except ...trials.Verdict) []trials.Verdict {
	var out []trials.Verdict
	for _, name := range []string{
		"answered_once", "result_order", "results", "tools_offered", "history_grows", "stable_prefix",
		"witnesses_agree", "no_call_after_answer", "provider_accepts", "limits", "all_replies_reached",
	} {
		v := trials.Verdict{Check: name, Conduct: true, State: trials.Passed}
		for _, e := range except {
			if e.Check == name {
				e.Conduct = true
				v = e
			}
		}
		out = append(out, v)
	}
	return out
}

func lookup(model string, n int) Trial {
	const file = "gemflux/compound.yaml"
	t := trial("look up a compound", file, 3, model, n)
	score := 1.0
	t.Tags, t.Critical = []string{"lookup"}, true
	var finding []trials.Verdict
	if n == 2 {
		finding = append(finding, trials.Verdict{
			Check: "stable_prefix", State: trials.Warned,
			Message: "the tools of request 2 are in another order than those of request 1: first difference at tools[3].name",
		})
	}
	t.Verdicts = append([]trials.Verdict{
		{Check: "calls", State: trials.Passed, Score: &score, Turn: 1, Pos: at(file, 14, 9), Alignment: &trials.Alignment{Rows: []trials.AlignmentRow{
			{Status: trials.AlignMatched, Expected: `gemflux.find_compound {"query":"glucose"}`, Actual: `gemflux.find_compound {"query":"glucose","limit":5}`},
		}}},
		{Check: "answer", State: trials.Passed, Turn: 1, Pos: at(file, 17, 9)},
		{Check: "that", State: trials.Undecided, Turn: 1, Pos: at(file, 19, 9), Message: "transcript.stop is not reported by this subject"},
	}, conduct(finding...)...)
	t.Trajectory = []harness.Call{{
		Server: "gemflux", Tool: "find_compound", Offered: "find_compound", ID: "call_9aQ1", Args: raw(`{"query":"glucose","limit":5}`),
		Result:   raw(`{"success":true,"compounds":[{"id":"cpd00027","name":"D-Glucose","formula":"C6H12O6","charge":0,"mass":180.0}],"count":1}`),
		Executed: true, Turn: 1, Reply: 1, Duration: 640 * time.Microsecond, Exec: 1,
	}}
	if n == 1 {
		t.Cassette, t.Recorded, t.Written = "gemflux/cassettes/compound/look-up-a-compound."+model+".yaml", 2, true
	}
	if n == 1 && model == "gpt-4o" {
		t.Warnings = []string{"the tools come in another order: recorded a, b, now b, a"}
		t.Drift = []string{
			"minor: interaction 1 (POST /v1/chat/completions): body.usage.details: was absent, is object",
			"breaking: interaction 2 (POST /v1/chat/completions): body.choices[].message.content: was string, is null",
			"risky: interaction 2 (POST /v1/chat/completions): finish_reason: was \"stop\", is \"length\"",
			"something that names no tier",
		}
	}
	t.Answers = []string{"D-Glucose is cpd00027 (C6H12O6)."}
	user := harness.Message{Role: harness.RoleUser, Text: "Which id does glucose have in ModelSEED?"}
	call := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "call_9aQ1", Name: "find_compound", Arguments: `{"query":"glucose","limit":5}`}}}
	result := harness.Message{Role: harness.RoleTool, CallID: "call_9aQ1", Text: string(t.Trajectory[0].Result)}
	tools := []harness.Tool{{Name: "find_compound", Description: "Finds compounds by name, id or formula."}, {Name: "build_media", Description: "Builds a growth medium."}}
	sys := harness.Message{Role: harness.RoleSystem, Text: "You are a metabolic modelling assistant. Use the tools."}
	t.Witness = &trials.Detail{
		Schema: trials.Schema, Key: t.Key, System: sys.Text,
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{{User: user.Text, Answer: t.Answers[0], ModelCalls: 2, Usage: harness.Usage{PromptTokens: 1210, CompletionTokens: 64, TotalTokens: 1274}}}},
		Exchanges: []harness.Exchange{
			{
				Seq: 1, Kind: harness.KindReply, Turn: 1, Reply: 1, Attempt: 1, Request: harness.Request{Model: model, Messages: []harness.Message{sys, user}, Tools: tools, Stream: true},
				Answer: call, FinishReason: "tool_calls", Usage: harness.Usage{PromptTokens: 590, CompletionTokens: 22, TotalTokens: 612}, Status: 200, Delivered: true, Duration: 1200 * time.Microsecond,
			},
			{
				Seq: 2, Kind: harness.KindReply, Turn: 1, Reply: 2, Attempt: 1, Request: harness.Request{Model: model, Messages: []harness.Message{sys, user, call, result}, Tools: tools, Stream: true},
				Answer: harness.Message{Role: harness.RoleAssistant, Text: t.Answers[0], Reasoning: "One hit, exact."}, FinishReason: "stop", Usage: harness.Usage{PromptTokens: 620, CompletionTokens: 42, TotalTokens: 662}, Status: 200, Delivered: true, Duration: 900 * time.Microsecond,
			},
		},
		Tools: []harness.ToolExchange{{Seq: 1, Server: "gemflux", Tool: "find_compound", Args: t.Trajectory[0].Args, Result: t.Trajectory[0].Result, Duration: 640 * time.Microsecond}},
	}
	return t
}

func pipeline(model string, n int) Trial {
	const file = "gemflux/pipeline.yaml"
	t := trial("build, gapfill, run FBA", file, 2, model, n)
	t.Counts = trials.Counts{ModelCalls: 7, Retries: 1, ToolCalls: 5, Checks: 5}
	t.Tokens = trials.Tokens{Input: 4024, Cached: 4096, Output: 402}
	t.Trajectory = []harness.Call{
		{Server: "gemflux", Tool: "build_model", Offered: "mcp_gemflux_build_model", ID: "c1", Args: raw(`{"genome_id":"83333.1","template":"GramNegative"}`), Result: raw(`{"success":true,"model_id":"model_1","reactions":1742,"genes":1366,"gapfilled":false}`), Executed: true, Turn: 1, Reply: 1, Duration: 2400 * time.Microsecond, Exec: 1},
		{Server: "gemflux", Tool: "gapfill_model", Offered: "mcp_gemflux_gapfill_model", ID: "c2", Args: raw(`{"model_id":"model_1","media_id":"Complete"}`), Result: raw(`{"success":false,"error":"media \"Complete\" not found","known":["GMM","LB"]}`), Failed: true, Executed: true, Turn: 2, Reply: 1, Duration: 700 * time.Microsecond, Exec: 2},
		{Server: "gemflux", Tool: "gapfill_model", Offered: "mcp_gemflux_gapfill_model", ID: "c3", Args: raw(`{"model_id":"model_1","media_id":"GMM"}`), Result: raw(`{"success":true,"added":["rxn05561","rxn00541"]}`), Executed: true, Turn: 2, Reply: 2, Duration: 900 * time.Microsecond, Exec: 3, Retried: true},
		{Server: "gemflux", Tool: "delete_model", Offered: "mcp_gemflux_delete_model", ID: "c4", Args: raw(`{"model_id":"model_0"}`), Result: raw(`"deleted model_0"`), Executed: true, Turn: 3, Reply: 1, Duration: 300 * time.Microsecond, Exec: 5},
		{Offered: "run_fba", ID: "c5", ArgsText: `{"model_id": "model_1", "media`, Turn: 3, Reply: 1, Index: 1},
	}
	t.Answers = []string{"Built model_1 with 1742 reactions.", "Gapfilled model_1 on GMM: 2 reactions added.", "The growth rate is 0.87."}
	t.Verdicts = conduct()
	full, half := 1.0, 0.5
	if model != "gpt-4o" || n == 3 {
		t.Verdicts = append([]trials.Verdict{{Check: "calls", State: trials.Passed, Score: &full, Pos: at(file, 31, 7)}, {Check: "state", State: trials.Passed, Pos: at(file, 52, 7)}}, t.Verdicts...)
		t.Trajectory = t.Trajectory[:1]
		t.Answers = t.Answers[:1]
		return t
	}
	t.Struck = []string{"rate_limit of the model, turn 1, 2 times", `is_error/plausible of server "gemflux" at tools/call`}
	t.Outcome = harness.OutcomeFailed
	t.Cause = &trials.Cause{
		Kind: trials.CauseExpectation, Pos: at(file, 31, 7),
		Message: "calls: 1 of 5 matched, 1 mismatched, 1 missing, 1 extra, 1 out of order, 1 forbidden",
		Check:   "calls",
		Folded:  []trials.Consequence{{Text: file + ":52:7: state: gemflux.models[0].gapfilled differs", Check: "state", Pos: at(file, 52, 7)}, {Text: "2 replies not reached", Check: "all_replies_reached"}},
	}
	t.Verdicts = append([]trials.Verdict{
		{
			Check: "calls", State: trials.Failed, Score: &half, Pos: at(file, 31, 7), Message: "1 of 5 matched, 1 mismatched, 1 missing, 1 extra, 1 out of order, 1 forbidden",
			Alignment: &trials.Alignment{Rows: []trials.AlignmentRow{
				{Status: trials.AlignMatched, Expected: `gemflux.build_model {"genome_id":"83333.1"}`, Actual: `gemflux.build_model {"genome_id":"83333.1","template":"GramNegative"}`, Call: 0, Pos: at(file, 33, 11)},
				{
					Status: trials.AlignMismatched, Expected: `gemflux.gapfill_model {"media_id":"GMM","model_id":{"$regex":"^model_[0-9]+$"}}`, Actual: `gemflux.gapfill_model {"model_id":"model_1","media_id":"Complete"}`, Call: 1, Pos: at(file, 35, 11),
					Mismatches: []trials.Mismatch{
						{Path: "args.media_id", Rule: "equal", Want: `"GMM"`, Got: `"Complete"`, Pos: at(file, 36, 22)},
						{Path: "args.options.max_solutions", Rule: "$integer", Want: `5`, Got: ""},
					},
				},
				{Status: trials.AlignExtra, Actual: `gemflux.gapfill_model {"model_id":"model_1","media_id":"GMM"}`, Call: 2},
				{Status: trials.AlignOutOfOrder, Expected: "gemflux.export_model", Actual: "gemflux.export_model {}", Call: 3, Pos: at(file, 37, 11)},
				{Status: trials.AlignForbidden, Expected: "never gemflux.delete_*", Actual: `gemflux.delete_model {"model_id":"model_0"}`, Call: 3, Pos: at(file, 44, 11)},
				{Status: trials.AlignMissing, Expected: `gemflux.run_fba {"model_id":"model_1"}`, Call: -1, Pos: at(file, 39, 11)},
			}},
		},
		{Check: "never", State: trials.Failed, Pos: at(file, 44, 7), Message: "gemflux.delete_model was called, and matches gemflux.delete_*"},
		{Check: "answer", State: trials.Passed, Turn: 1, Pos: at(file, 12, 7)},
		{Check: "state", State: trials.Failed, Pos: at(file, 52, 7), Message: "gemflux.models[0].gapfilled: want true, got false", Mismatches: []trials.Mismatch{{Path: "gemflux.models[0].gapfilled", Rule: "equal", Want: "true", Got: "false"}}, MismatchesOnly: true},
		{Check: "retries", State: trials.Skipped, Pos: at(file, 60, 7), Message: "no fault was played"},
	}, conduct(
		trials.Verdict{Check: "results", State: trials.Failed, Message: "the result of c2 was changed on its way to the model", Mismatches: []trials.Mismatch{{Path: "messages[5].text", Rule: "contains", Want: `{"success":false,"error":"media \"Complete\" not found"`, Got: `Error`}}},
		trials.Verdict{Check: "all_replies_reached", State: trials.Failed, Message: "2 replies were not reached: gemflux/pipeline.yaml:26:9, gemflux/pipeline.yaml:28:9"},
	)...)
	t.Warnings = []string{"gapfill_model was called twice with the same arguments"}
	t.Skipped = 2 * time.Second
	pipelineWitness(&t)
	return t
}

func pipelineWitness(t *Trial) {
	msg := func(role harness.Role, text string) harness.Message { return harness.Message{Role: role, Text: text} }
	ask := func(calls ...harness.ToolCall) harness.Message {
		return harness.Message{Role: harness.RoleAssistant, Calls: calls}
	}
	answer := func(id, text string) harness.Message {
		return harness.Message{Role: harness.RoleTool, CallID: id, Text: text}
	}
	tc := func(i int) harness.ToolCall {
		c := t.Trajectory[i]
		return harness.ToolCall{ID: c.ID, Name: c.Offered, Arguments: callArgs(c)}
	}
	users := []string{"Build a model for E. coli K-12 (genome 83333.1).", "Now gapfill it on glucose minimal medium.", "How fast does it grow?"}
	var history []harness.Message
	var xs []harness.Exchange
	add := func(x harness.Exchange, sent ...harness.Message) {
		history = append(history, sent...)
		x.Seq = len(xs) + 1
		x.Request = harness.Request{Model: t.Model, Messages: append([]harness.Message(nil), history...)}
		x.Duration = time.Duration(800+137*len(xs)) * time.Microsecond
		if x.Status == 0 {
			x.Status, x.Delivered = 200, true
			x.Usage = harness.Usage{PromptTokens: 600 + 230*len(xs), CompletionTokens: 31}
		}
		xs = append(xs, x)
		if x.Delivered {
			history = append(history, x.Answer)
		}
	}
	add(harness.Exchange{Kind: harness.KindAside, Answer: msg(harness.RoleAssistant, "E. coli model building")}, msg(harness.RoleUser, "Title this chat in five words."))
	history = nil
	add(harness.Exchange{Kind: harness.KindReply, Turn: 1, Reply: 1, Attempt: 1, Answer: ask(tc(0)), FinishReason: "tool_calls"}, msg(harness.RoleUser, users[0]))
	add(harness.Exchange{Kind: harness.KindReply, Turn: 1, Reply: 2, Attempt: 1, Fault: "rate_limit", Status: 429, RetryAfter: 2 * time.Second, Error: "rate limit reached for requests"}, answer("c1", string(t.Trajectory[0].Result)))
	add(harness.Exchange{Kind: harness.KindReply, Turn: 1, Reply: 2, Attempt: 2, Answer: msg(harness.RoleAssistant, t.Answers[0]), FinishReason: "stop"})
	add(harness.Exchange{Kind: harness.KindReply, Turn: 2, Reply: 1, Attempt: 1, Answer: ask(tc(1)), FinishReason: "tool_calls"}, msg(harness.RoleUser, users[1]))
	add(harness.Exchange{Kind: harness.KindReply, Turn: 2, Reply: 2, Attempt: 1, Answer: ask(tc(2)), FinishReason: "tool_calls", Repeated: true}, answer("c2", "Error"))
	add(harness.Exchange{Kind: harness.KindRule, Turn: 2, Answer: msg(harness.RoleAssistant, t.Answers[1]), FinishReason: "stop"}, answer("c3", string(t.Trajectory[2].Result)))
	add(harness.Exchange{Kind: harness.KindReply, Turn: 3, Reply: 1, Attempt: 1, Fault: "cut_stream", Answer: ask(tc(3)), Status: 200}, msg(harness.RoleUser, users[2]))
	add(harness.Exchange{Kind: harness.KindReply, Turn: 3, Reply: 1, Attempt: 2, Answer: ask(tc(3), tc(4)), FinishReason: "length", Compacted: true})
	t.Witness = &trials.Detail{
		Schema: trials.Schema, Key: t.Key, System: "You are a metabolic modelling assistant.",
		Transcript: &harness.Transcript{Turns: []harness.TurnReport{
			{User: users[0], Answer: t.Answers[0], ModelCalls: 2},
			{User: users[1], Answer: t.Answers[1], ModelCalls: 3},
			{User: users[2], Answer: t.Answers[2], ModelCalls: 2, Stop: harness.StopLength, Error: "reply cut at the length limit", Notes: []string{"withdrew 41 bytes of text after a cut stream"}},
		}},
		Exchanges: xs,
		Tools: []harness.ToolExchange{
			{Seq: 1, Server: "gemflux", Tool: "build_model"},
			{Seq: 2, Server: "gemflux", Tool: "gapfill_model", Failed: true},
			{Seq: 3, Server: "gemflux", Tool: "gapfill_model"},
			{Seq: 4, Server: "gemflux", Tool: "gapfill_model", Args: t.Trajectory[2].Args, RPCError: &jsonrpc.Error{Code: -32602, Message: "model_1 is gapfilled already"}, Failed: true, Duration: 100 * time.Microsecond},
			{Seq: 5, Server: "gemflux", Tool: "delete_model"},
		},
		States: map[string]json.RawMessage{"gemflux": raw(`{"models":[{"id":"model_1","gapfilled":false,"reactions":1742}],"media":{"GMM":{},"LB":{}}}`)},
		Log:    []string{"gemflux: 11 tools", "retrying after 2s: 429 rate limit reached for requests"},
	}
}

func miss(model string, n int) Trial {
	const file = "utilities/weather.yaml"
	t := trial("weather/unknown city", file, 22, model, n)
	if model != "gpt-4o" {
		return t
	}
	t.Outcome = harness.OutcomeFailed
	t.Cause = &trials.Cause{Kind: trials.CauseMiss, Pos: at(file, 29, 9), Message: `no reply is scripted for this request of turn 1
expected next: reply 2, after the result of weather.get_weather
  messages[3].tool_call_id:
-   "call_1"
+   "call_2"`}
	t.Trajectory = []harness.Call{{Server: "weather", Tool: "get_weather", Offered: "get_weather", ID: "call_1", Args: raw(`{"city":"Atlantis"}`), Result: raw(`"unknown city: Atlantis"`), Failed: true, Executed: true, Turn: 1, Reply: 1, Exec: 1}}
	t.Verdicts = append([]trials.Verdict{{Check: "answer", State: trials.Skipped, Turn: 1, Pos: at(file, 33, 9), Message: "not reached"}}, conduct()...)
	user := harness.Message{Role: harness.RoleUser, Text: "Weather in Atlantis?"}
	t.Witness = &trials.Detail{Schema: trials.Schema, Key: t.Key, Exchanges: []harness.Exchange{
		{Seq: 1, Kind: harness.KindReply, Turn: 1, Reply: 1, Attempt: 1, Status: 200, Delivered: true, Request: harness.Request{Messages: []harness.Message{user}}, Answer: harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Atlantis"}`}}}},
		{Seq: 2, Kind: harness.KindMiss, Turn: 1, Status: 422, Error: t.Cause.Message, Request: harness.Request{Messages: []harness.Message{user, {Role: harness.RoleTool, CallID: "call_2", Text: "unknown city: Atlantis"}}}},
	}, Tools: []harness.ToolExchange{{Seq: 1, Server: "weather", Tool: "get_weather", Failed: true, Miss: "no result of get_weather matches city \"Atlantis\""}}}
	return t
}

func limited(model string, n int) Trial {
	t := trial("rate limited", "utilities/limits.yaml", 4, model, n)
	if n == 3 {
		t.Outcome = harness.OutcomeError
		t.Cause = &trials.Cause{Kind: trials.CauseEndpoint, Message: "the endpoint answered 429 after 5 attempts"}
	}
	return t
}

func refused(model string, n int) Trial {
	t := trial("a provider that refuses", "utilities/limits.yaml", 40, model, n)
	t.Witness = &trials.Detail{Schema: trials.Schema, Key: t.Key, Transcript: &harness.Transcript{Turns: []harness.TurnReport{{
		User: "Do it.", Answer: "I did it.",
		Calls: []harness.ReportedCall{{ID: "x", Server: "s", Tool: "do", Arguments: `{"it":true}`, Result: "done", Duration: time.Millisecond}, {Tool: "undo", Error: "timed out"}},
	}}}}
	return t
}

func skipped(model string, n int) Trial {
	t := trial("needs a real server", "utilities/real.yaml", 1, model, n)
	t.Outcome, t.Duration, t.Detail = harness.OutcomeSkipped, 0, ""
	t.Counts, t.Tokens = trials.Counts{}, trials.Tokens{}
	t.Cause = &trials.Cause{Message: "runs in live mode only"}
	return t
}

// hostile is what a model may write.
const hostile = "<script>alert(1)</script></script><!--]]><img src=x onerror=alert(1)> \u202Egnp.exe\u2066 \x1b[31mred\x1b[0m \x00 " +
	"`code` ``` *b* [x](http://evil.example) @team #1 | {{.}} ${x} \xff \U000E0041 \u200b'\"\r\n\tend"

// hostileRun has it in every field that holds text.
func hostileRun() *Run {
	h := hostile
	huge := strings.Repeat("A", 50_000)
	deep := raw(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	text, _ := json.Marshal(h)
	pos := harness.Position{File: h, Line: 1, Col: 2}
	mm := []trials.Mismatch{{Path: h, Rule: h, Want: h, Got: h}}
	key := trials.Key{Suite: h, Scenario: h, Case: h, Subject: h, Model: h, Variant: h, Mode: harness.Mode(h), Attempt: 1}
	call := harness.ToolCall{ID: h, Name: h, Arguments: h}
	msgs := []harness.Message{{Role: harness.Role(h), Text: h, CallID: h, Calls: []harness.ToolCall{call}}, {Role: harness.RoleUser, Text: huge}}
	answer := harness.Message{Text: h, Reasoning: h, Refusal: h, Calls: []harness.ToolCall{call, {ID: "deep", Name: "n", Arguments: string(deep)}}}
	verdict := trials.Verdict{
		Check: h, State: trials.Failed, Pos: pos, Message: h, Mismatches: mm,
		Alignment: &trials.Alignment{Rows: []trials.AlignmentRow{{Status: trials.AlignmentStatus(h), Expected: h, Actual: h, Pos: pos, Mismatches: mm}, {Status: trials.AlignExtra, Actual: huge}}},
	}
	odd := verdict
	odd.State, odd.Conduct = trials.State(h), true
	other := trial("plain", "plain.yaml", 1, "m", 1)
	other.Outcome = harness.Outcome(h)
	return &Run{
		Manifest: trials.Manifest{
			Name: h, Rehearse: h, Go: h, Mode: harness.Mode(h), Subject: h, Interrupted: true, Planned: 3, Warnings: []string{h},
			Models:    []trials.Model{{Label: h, Name: h, Answered: []string{h}, Dialect: h, Key: h, Settings: trials.Settings{Reasoning: h}, Price: &trials.Price{Date: h}, BaseURL: "http://user@evil.example/" + h}},
			Scenarios: []trials.Source{{Suite: h, Scenario: h, Case: h, File: h, Description: h, Tags: []string{h}, Hashes: trials.Hashes{Scenario: h, Scorers: h}}},
		},
		Warnings: []string{h},
		Trials: []Trial{other, {
			Record: trials.Record{
				Key: key, File: h, Tags: []string{h}, Pos: pos, Hashes: trials.Hashes{Scenario: h, Scorers: h, Tools: h, Entry: h}, Cassette: h, Recorded: 1, Drift: []string{h, "breaking: " + h}, Answered: []string{h}, Outcome: harness.OutcomeFailed,
				Cause:    &trials.Cause{Kind: trials.CauseKind(h), Message: h, Pos: pos, Folded: []trials.Consequence{{Text: h}, {Text: huge}}},
				Verdicts: []trials.Verdict{verdict, odd},
				Trajectory: []harness.Call{
					{Server: h, Tool: h, Offered: h, ID: h, ArgsText: h, Result: text, Executed: true, Failed: true, Turn: 1 << 40, Exec: 1},
					{Offered: "n", ID: "deep", Args: deep, Result: deep, Executed: true},
				},
				Answers: []string{h}, Detail: h, Warnings: []string{h}, Struck: []string{h, huge},
			},
			Witness: &trials.Detail{
				Key: key, System: h, Log: []string{h}, States: map[string]json.RawMessage{h: text},
				Transcript: &harness.Transcript{Turns: []harness.TurnReport{{User: h, Answer: huge, Stop: harness.StopReason(h), Error: h, Notes: []string{h}}}},
				Exchanges: []harness.Exchange{{
					Seq: 1, Kind: harness.ExchangeKind(h), Turn: 1, Request: harness.Request{Messages: msgs, Tools: []harness.Tool{{Name: h, Description: h}}},
					Answer: answer, FinishReason: h, Fault: h, Error: h, Status: 500, Delivered: true,
				}},
				Tools: []harness.ToolExchange{{Seq: 1, Server: h, Tool: h, Args: text, RPCError: &jsonrpc.Error{Code: -1, Message: h}}, {Seq: 2, Server: h, Tool: h, Args: text, Result: text, ScriptError: h}},
			},
		}},
	}
}
