// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/mockllm"
	faults "github.com/rehearse-dev/rehearse/mockllm/fault"
)

// thinking is a conversation in which the model thinks before it calls, calls
// twice at once, and meets a rate limit.
const thinking = `
scenario: thinking
servers: {WEATHER}
model: {stream: STREAM}
turns:
  - user: Paris and Lyon?
    replies:
      - {reasoning: Two cities., say: I will look., calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Lyon}}]}
      - {reasoning: Both are known., say: "Paris is warmer.", fault: {kind: rate_limit, retry_after: 1s}}
    expect:
      - calls: [{weather.get_weather: {location: Paris}}, {weather.get_weather: {location: Lyon}}]
      - answer: {equals: Paris is warmer.}
  - user: Sure?
    replies: [{say: Sure.}]
    expect: [{answer: {equals: Sure.}}]
`

// thinkingEndpoint says the same as a real endpoint.
func thinkingEndpoint() http.Handler {
	city := func(name string) mockllm.Call {
		return mockllm.Call{Tool: "get_weather", Args: map[string]string{"location": name}}
	}
	return newMock(mockllm.Script{Turns: []mockllm.Turn{
		{User: "Paris and Lyon?", Replies: []mockllm.Reply{
			{Reasoning: "Two cities.", Say: "I will look.", Calls: []mockllm.Call{city("Paris"), city("Lyon")}},
			{Reasoning: "Both are known.", Say: "Paris is warmer.", Faults: []mockllm.Fault{{Kind: faults.RateLimit, RetryAfter: time.Millisecond}}},
		}},
		{User: "Sure?", Replies: []mockllm.Reply{{Say: "Sure."}}},
	}}, nil)
}

// TestProviderModes plays one conversation over each provider, plain and
// streamed, in all modes. What a verdict rests on is the same in all of them, and
// what signs thoughts comes back in a replay.
func TestProviderModes(t *testing.T) {
	for _, p := range []struct{ dialect, model, path, kept string }{
		{"chat", "gpt-4o", "/v1/chat/completions", ""},
		{"responses", "gpt-5", "/v1/responses", `"encrypted_content`},
		{"messages", "claude-sonnet-4-5", "/v1/messages", `"signature`},
		{"gemini", "gemini-3-pro", "/v1beta/models/gemini-3-pro:", `"thoughtSignature`},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", p.dialect, stream), func(t *testing.T) {
				entry := trials.Model{Label: "thinker", Name: p.model}
				if p.dialect == "messages" {
					entry.Settings.Reasoning = "low" // with which the provider refuses a history without thoughts
				}
				list := write(t, strings.ReplaceAll(thinking, "STREAM", fmt.Sprint(stream)))
				r := recording{list: list, endpoint: thinkingEndpoint, opts: run.Options{
					Subject: agent.Subject(nil), Entries: []trials.Model{entry}, Dialect: p.dialect, APIKey: "secret",
				}}
				mock := r.opts
				mock.APIKey = ""
				inMock := only(t, play(t, list, mock))
				wants(t, inMock, harness.OutcomePassed, "")
				recorded := only(t, r.record(t))
				for _, rec := range []trials.Record{only(t, r.live(t)), recorded, only(t, r.replay(t, list))} {
					wants(t, rec, harness.OutcomePassed, "")
					if diff := cmp.Diff(outline(inMock), outline(rec)); diff != "" {
						t.Errorf("mode %s (-mock +%s):\n%s", rec.Mode, rec.Mode, diff)
					}
				}
				raw, err := os.ReadFile(recorded.Cassette)
				if err != nil {
					t.Fatal(err)
				}
				text := string(raw)
				file, err := vcr.Read(recorded.Cassette)
				if err != nil {
					t.Fatal(err)
				}
				last := file.Interactions[len(file.Interactions)-1].Request.Body
				if !strings.Contains(text, p.path) || strings.Contains(text, "secret") || !bytes.Contains(last, []byte(p.kept)) {
					t.Errorf("the recording lacks %q, or %q in its last request, or has the key:\n%s", p.path, p.kept, text)
				}
				if entry.Settings.Reasoning != "" {
					return
				}
				// Without entries, a replay asks as the recording did.
				alone := r
				alone.opts.Entries, alone.opts.Dialect = nil, ""
				wants(t, only(t, alone.replay(t, list)), harness.OutcomePassed, "")
			})
		}
	}
}

// live plays the scenarios against an endpoint, and records nothing.
func (r *recording) live(t *testing.T) *run.Result {
	t.Helper()
	return r.against(t, harness.ModeLive)
}

// outline is what a verdict may rest on.
func outline(r trials.Record) map[string]any {
	var calls []string
	for _, c := range r.Trajectory {
		calls = append(calls, fmt.Sprintf("turn %d, reply %d: %s(%s) executed %v", c.Turn, c.Reply, c.Name(), c.Args, c.Executed))
	}
	var verdicts []string
	for _, v := range r.Verdicts {
		if !v.Conduct {
			verdicts = append(verdicts, fmt.Sprintf("%s %s", v.Check, v.State))
		}
	}
	return map[string]any{"answers": r.Answers, "calls": calls, "verdicts": verdicts, "tool calls": r.Counts.ToolCalls}
}
