// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	oai "github.com/sashabaranov/go-openai"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// oracle is go-openai on an endpoint.
func oracle(url string) *oai.Client {
	config := oai.DefaultConfig("key")
	config.BaseURL, config.HTTPClient = url, &http.Client{Transport: noReuse()}
	return oai.NewClientWithConfig(config)
}

// TestRequestsAreGoOpenAIs sends a conversation that go-openai can say as it is
// meant, with it and with the client here, and compares what goes out.
func TestRequestsAreGoOpenAIs(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	ours := Request{
		Model: "test-model",
		Messages: []harness.Message{
			{Role: harness.RoleSystem, Text: "Be brief."},
			{Role: harness.RoleUser, Text: "Weather in <Paris>?"},
			{Role: harness.RoleAssistant, Text: "Looking.", Reasoning: "hm", Calls: []harness.ToolCall{
				{ID: "a", Name: "weather", Arguments: `{"city":"Paris"}`}, {ID: "b", Name: "time", Arguments: `{}`},
			}},
			{Role: harness.RoleTool, CallID: "a", Text: "sunny"},
			{Role: harness.RoleTool, CallID: "b", Text: "noon"},
			{Role: harness.RoleAssistant, Refusal: "no", Text: "-"},
			{Role: harness.RoleUser, Text: "why?"},
		},
		Tools:       []harness.Tool{{Name: "weather", Description: "The weather.", Schema: schema}, {Name: "time", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Temperature: ptr(0.5), TopP: ptr(0.25), MaxTokens: 100, Seed: ptr(int64(7)),
	}
	call := func(id, name, args string) oai.ToolCall {
		return oai.ToolCall{ID: id, Type: oai.ToolTypeFunction, Function: oai.FunctionCall{Name: name, Arguments: args}}
	}
	tool := func(f oai.FunctionDefinition) oai.Tool { return oai.Tool{Type: oai.ToolTypeFunction, Function: &f} }
	theirs := oai.ChatCompletionRequest{
		Model: "test-model",
		Messages: []oai.ChatCompletionMessage{
			{Role: "system", Content: "Be brief."},
			{Role: "user", Content: "Weather in <Paris>?"},
			{Role: "assistant", Content: "Looking.", ReasoningContent: "hm", ToolCalls: []oai.ToolCall{call("a", "weather", `{"city":"Paris"}`), call("b", "time", `{}`)}},
			{Role: "tool", ToolCallID: "a", Content: "sunny"},
			{Role: "tool", ToolCallID: "b", Content: "noon"},
			{Role: "assistant", Refusal: "no", Content: "-"},
			{Role: "user", Content: "why?"},
		},
		Tools: []oai.Tool{
			tool(oai.FunctionDefinition{Name: "weather", Description: "The weather.", Parameters: schema}),
			tool(oai.FunctionDefinition{Name: "time", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}),
		},
		Temperature: 0.5, TopP: 0.25, Seed: ptr(7),
	}
	//lint:ignore SA1019 it is what is sent to compatible endpoints
	theirs.MaxTokens = 100
	for _, choice := range []string{"", "auto", "none", "required", "weather"} {
		for _, streamed := range []bool{false, true} {
			reply := plain(200, ctJSON, whole)
			if streamed {
				reply = stream(events(say("Hello"), stop) + done)
			}
			s := serveRaw(t, reply, reply)
			ours.Stream, ours.ToolChoice, theirs.ToolChoice = streamed, choice, choice
			switch choice {
			case "":
				theirs.ToolChoice = nil
			case "weather":
				theirs.ToolChoice = oai.ToolChoice{Type: oai.ToolTypeFunction, Function: oai.ToolFunction{Name: choice}}
			}
			c := once(s.url)
			c.endpoint.SendReasoning = true
			if h := ask(t, c, &ours); h.err != nil {
				t.Fatal(h.err)
			}
			theirs.StreamOptions = nil
			var err error
			if streamed {
				theirs.StreamOptions = &oai.StreamOptions{IncludeUsage: true}
				var read *oai.ChatCompletionStream
				if read, err = oracle(s.url).CreateChatCompletionStream(t.Context(), theirs); err == nil {
					err = read.Close()
				}
			} else {
				_, err = oracle(s.url).CreateChatCompletion(t.Context(), theirs)
			}
			if err != nil {
				t.Fatal(err)
			}
			bodies := s.requests()
			for i := range bodies { // one order of keys
				bodies[i] = canonical(t, bodies[i])
			}
			if diff := cmp.Diff(bodies[1], bodies[0]); diff != "" {
				t.Errorf("tool choice %q, streamed %v (-go-openai +here):\n%s", choice, streamed, diff)
			}
			if s.heads[0].Method != s.heads[1].Method || s.heads[0].URL.String() != s.heads[1].URL.String() {
				t.Errorf("asked %s %s, go-openai asks %s %s", s.heads[0].Method, s.heads[0].URL, s.heads[1].Method, s.heads[1].URL)
			}
			for _, key := range []string{"Content-Type", "Accept", "Authorization", "Cache-Control"} {
				if diff := cmp.Diff(s.heads[1].Header.Get(key), s.heads[0].Header.Get(key)); diff != "" {
					t.Errorf("streamed %v, %s (-go-openai +here):\n%s", streamed, key, diff)
				}
			}
		}
	}
}

// canonical writes a JSON text with the keys in order.
func canonical(t *testing.T, text string) string {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v.Any(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRepliesAreGoOpenAIs reads replies in good order with go-openai and with
// the client here.
func TestRepliesAreGoOpenAIs(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`
	message := func(m, finish string) rawReply {
		return plain(200, ctJSON, `{"id":"c1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":`+m+`,"finish_reason":"`+finish+`"}],`+usage+`}`)
	}
	chunks := func(finish string, deltas ...string) rawReply {
		var docs []string
		for _, d := range deltas {
			docs = append(docs, delta(d, `,"finish_reason":null`))
		}
		docs = append(docs, delta(`{}`, `,"finish_reason":"`+finish+`"`), `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],`+usage+`}`)
		return stream(events(docs...) + done)
	}
	for _, tc := range []struct {
		name  string
		reply rawReply
	}{
		{"text", message(`{"role":"assistant","content":"Hello é😀"}`, "stop")},
		{"text at the length limit", message(`{"role":"assistant","content":"Hel"}`, "length")},
		{"refusal", message(`{"role":"assistant","content":null,"refusal":"I would rather not."}`, "stop")},
		{"reasoning", message(`{"role":"assistant","content":"Hello","reasoning_content":"because"}`, "stop")},
		{"calls", message(`{"role":"assistant","content":"Looking.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.10}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`, "tool_calls")},
		{"streamed text", chunks("stop", `{"role":"assistant","content":""}`, `{"content":"Hello "}`, `{"content":"é😀"}`)},
		{"streamed reasoning", chunks("stop", `{"reasoning_content":"be"}`, `{"reasoning_content":"cause"}`, `{"content":"Hello"}`)},
		{"streamed refusal", chunks("stop", `{"refusal":"I would "}`, `{"refusal":"rather not."}`)},
		{"streamed calls", chunks(
			"tool_calls", `{"content":"Looking."}`,
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":": 1.10}"}}]}`,
		)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serveRaw(t, tc.reply, tc.reply)
			streamed := tc.reply.header == ctStream
			h := ask(t, once(s.url), hello(streamed))
			if h.err != nil {
				t.Fatal(h.err)
			}
			got := *h.done
			want := Done{RequestID: got.RequestID, Message: harness.Message{Role: harness.RoleAssistant, Extra: got.Message.Extra}}
			client, req := oracle(s.url), oai.ChatCompletionRequest{Model: "test-model", Messages: []oai.ChatCompletionMessage{{Role: "user", Content: "hi"}}}
			var err error
			if streamed {
				err = readStream(t, client, req, &want)
			} else {
				err = readWhole(t, client, req, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-go-openai +here):\n%s", diff)
			}
		})
	}
}

func readWhole(t *testing.T, c *oai.Client, req oai.ChatCompletionRequest, into *Done) error {
	r, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		return err
	}
	m := r.Choices[0].Message
	into.ID, into.Model, into.FinishReason, into.Usage = r.ID, r.Model, string(r.Choices[0].FinishReason), usageOf(&r.Usage)
	into.Message.Text, into.Message.Refusal, into.Message.Reasoning = m.Content, m.Refusal, m.ReasoningContent
	for _, call := range m.ToolCalls {
		into.Message.Calls = append(into.Message.Calls, harness.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return nil
}

func readStream(t *testing.T, c *oai.Client, req oai.ChatCompletionRequest, into *Done) error {
	read, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		return err
	}
	defer read.Close()
	for {
		r, err := read.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		into.ID, into.Model = r.ID, r.Model
		if r.Usage != nil {
			into.Usage = usageOf(r.Usage)
		}
		for _, choice := range r.Choices {
			if choice.FinishReason != "" {
				into.FinishReason = string(choice.FinishReason)
			}
			m := &into.Message
			m.Text, m.Refusal, m.Reasoning = m.Text+choice.Delta.Content, m.Refusal+choice.Delta.Refusal, m.Reasoning+choice.Delta.ReasoningContent
			for _, call := range choice.Delta.ToolCalls {
				if *call.Index == len(m.Calls) {
					m.Calls = slices.Concat(m.Calls, []harness.ToolCall{{ID: call.ID, Name: call.Function.Name}})
				}
				m.Calls[*call.Index].Arguments += call.Function.Arguments
			}
		}
	}
}

func usageOf(u *oai.Usage) harness.Usage {
	return harness.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
		CachedTokens: u.PromptTokensDetails.CachedTokens, ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
	}
}
