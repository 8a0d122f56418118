// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package goopenai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/goopenai"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTools plays a conversation with two calls at once, plain and streamed,
// over a socket and in memory.
func TestTools(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		for _, memory := range []bool{false, true} {
			script := mockllm.Script{Replies: []mockllm.Reply{
				{Say: "Looking.", Calls: []mockllm.Call{
					{Tool: "get_weather", Args: map[string]any{"city": "Paris"}},
					{Tool: "get_time", Args: map[string]any{}},
				}},
				{Say: "Sunny at noon."},
			}}
			mock, err := mockllm.New(script, nil)
			if err != nil {
				t.Fatal(err)
			}
			below := mock.Transport()
			if !memory {
				mock.Close()
				sockets := &http.Transport{}
				defer sockets.CloseIdleConnections()
				mock, below = mockllm.NewServer(t, script), sockets
			}
			transport := roundTrip(func(r *http.Request) (*http.Response, error) {
				if got := r.Header.Get("Authorization"); got != "Bearer key" {
					t.Errorf("asked with %q", got)
				}
				return below.RoundTrip(r)
			})
			env := &harness.Env{
				Endpoint: harness.Endpoint{BaseURL: mock.URL, Model: "m", APIKey: "key", Transport: transport},
				Settings: harness.Settings{Stream: streamed},
			}
			client, request := openai.NewClientWithConfig(goopenai.Config(env)), goopenai.Request(env)
			for _, name := range []string{"get_weather", "get_time"} {
				request.Tools = append(request.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
					Name: name, Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
				}})
			}
			request.Messages = []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "hi"}}
			first, err := goopenai.Complete(t.Context(), client, request)
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			request.Messages = append(request.Messages, first)
			for _, c := range first.ToolCalls {
				calls = append(calls, c.Function.Name+" "+c.Function.Arguments)
				request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: "ok"})
			}
			if diff := cmp.Diff([]string{`get_weather {"city":"Paris"}`, `get_time {}`}, calls); diff != "" || first.Content != "Looking." {
				t.Errorf("streamed %v, memory %v: text %q, calls (-want +got):\n%s", streamed, memory, first.Content, diff)
			}
			last, err := goopenai.Complete(t.Context(), client, request)
			if err != nil || last.Content != "Sunny at noon." || len(last.ToolCalls) != 0 {
				t.Errorf("streamed %v, memory %v: got %+v, %v", streamed, memory, last, err)
			}
			if n := len(mock.Remaining()); n > 0 {
				t.Errorf("streamed %v, memory %v: %d replies were not asked for", streamed, memory, n)
			}
			for _, x := range mock.Journal() {
				if x.Request.Stream != streamed {
					t.Errorf("asked with stream %v, want %v", x.Request.Stream, streamed)
				}
			}
		}
	}
}

// TestRequest holds what of the settings of a scenario goes out.
func TestRequest(t *testing.T) {
	zero, half := 0.0, 0.5
	for _, tc := range []struct {
		name string
		set  harness.Settings
		want string // of the body
	}{
		{"nothing", harness.Settings{}, `{"model":"m","messages":null,"stream":false}`},
		{"all", harness.Settings{System: "Be brief.", Temperature: &half, TopP: &half, MaxTokens: 9, Stream: true}, `{"model":"m","messages":[{"role":"system","content":"Be brief."}],"max_tokens":9,"temperature":0.5,"top_p":0.5,"stream":true}`},
		{"zero", harness.Settings{Temperature: &zero, TopP: &zero}, `{"model":"m","messages":null,"temperature":1e-45,"top_p":1e-45,"stream":false}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var body string
			endpoint := roundTrip(func(r *http.Request) (*http.Response, error) {
				raw, err := io.ReadAll(r.Body)
				body = string(raw)
				return nil, errors.Join(err, errors.New("heard"))
			})
			env := &harness.Env{Endpoint: harness.Endpoint{BaseURL: "http://model.test/v1", Model: "m", Transport: endpoint}, Settings: tc.set}
			_, err := goopenai.Complete(t.Context(), openai.NewClientWithConfig(goopenai.Config(env)), goopenai.Request(env))
			if err == nil || !strings.Contains(err.Error(), "heard") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(tc.want, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReplies has replies that are no message, and streams with odd indexes.
func TestReplies(t *testing.T) {
	const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	call := func(delta string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + delta + `]}}]}` + "\n\n"
	}
	for _, tc := range []struct {
		name     string
		stream   bool
		body     string
		text     string
		calls    []string // name and arguments
		endpoint bool     // the error is the endpoint's
		err      string
	}{
		{name: "no choices", body: `{"choices":[]}`, endpoint: true, err: "no choices"},
		{name: "an error", body: `<html>`, err: "invalid character"},
		{name: "cut stream", stream: true, body: `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}` + "\n\n", endpoint: true, err: "without a finish_reason"},
		{name: "empty stream", stream: true, body: "data: [DONE]\n\n", endpoint: true, err: "without a finish_reason"},
		{name: "stream of bad JSON", stream: true, body: "data: {\n\n", err: "unexpected end of JSON input"},
		{name: "no indexes", stream: true, body: call(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}`) + finish, calls: []string{"f {}", "g {}"}},
		{name: "indexes with a gap, interleaved", stream: true, body: call(`{"index":3,"function":{"name":"f","arguments":"{"}},{"index":7,"function":{"name":"g","arguments":"{}"}}`) + call(`{"index":3,"function":{"arguments":"}"}}`) + finish, calls: []string{"f {}", "g {}"}},
		{name: "a second choice", stream: true, body: `data: {"choices":[{"index":0,"delta":{"content":"yes"}},{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + finish, text: "yes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			endpoint := roundTrip(func(r *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				_, _ = io.WriteString(w, tc.body)
				return w.Result(), nil
			})
			env := &harness.Env{Endpoint: harness.Endpoint{BaseURL: "http://model.test/v1", Transport: endpoint}, Settings: harness.Settings{Stream: tc.stream}}
			m, err := goopenai.Complete(t.Context(), openai.NewClientWithConfig(goopenai.Config(env)), goopenai.Request(env))
			var blamed *harness.EndpointError
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || errors.As(err, &blamed) != tc.endpoint {
					t.Errorf("got %v, want %q, the endpoint's %v", err, tc.err, tc.endpoint)
				}
				return
			}
			var calls []string
			for _, c := range m.ToolCalls {
				calls = append(calls, c.Function.Name+" "+c.Function.Arguments)
			}
			if err != nil || m.Content != tc.text || cmp.Diff(tc.calls, calls) != "" {
				t.Errorf("got text %q, calls %q, error %v", m.Content, calls, err)
			}
		})
	}
}
