// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// ask posts a request to a mock in memory.
func askProfile(t *testing.T, m *Mock, path string, body any) (int, http.Header, string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: m.Transport()}).Post(m.Root+path, "application/json", strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		text = append(text, " ("+err.Error()+")"...)
	}
	return res.StatusCode, res.Header, string(text)
}

type object = map[string]any

func chatRequest(model string, stream bool, messages ...any) object {
	tool := func(name string) object {
		return object{"type": "function", "function": object{"name": name, "description": "d", "parameters": object{"type": "object", "properties": object{}}}}
	}
	return object{"model": model, "stream": stream, "messages": messages, "tools": []any{tool("search"), tool("list")}}
}

// said reads a reply of chat completions, whole or streamed.
func said(t *testing.T, text string) (content string, calls []any) {
	t.Helper()
	type call struct {
		Index    int
		ID       string
		Function struct{ Name, Arguments string }
	}
	var list []call
	add := func(content *string, deltas []call) string {
		for i, d := range deltas {
			if d.Index == 0 && d.ID != "" {
				d.Index = i
			}
			for len(list) <= d.Index {
				list = append(list, call{})
			}
			c := &list[d.Index]
			c.ID, c.Function.Name, c.Function.Arguments = c.ID+d.ID, c.Function.Name+d.Function.Name, c.Function.Arguments+d.Function.Arguments
		}
		if content == nil {
			return ""
		}
		return *content
	}
	type message struct {
		Content *string
		Calls   []call `json:"tool_calls"`
	}
	var whole struct {
		Choices []struct{ Message, Delta message }
	}
	if !strings.HasPrefix(text, "data: ") {
		if err := json.Unmarshal([]byte(text), &whole); err != nil || len(whole.Choices) == 0 {
			t.Fatalf("reply %q: %v", text, err)
		}
		content = add(whole.Choices[0].Message.Content, whole.Choices[0].Message.Calls)
	} else {
		for line := range strings.Lines(text) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {")
			if !ok {
				continue
			}
			whole.Choices = nil
			if err := json.Unmarshal([]byte("{"+data), &whole); err != nil {
				t.Fatalf("chunk %q: %v", line, err)
			}
			for _, c := range whole.Choices {
				content += add(c.Delta.Content, c.Delta.Calls)
			}
		}
	}
	for _, c := range list {
		args := c.Function.Arguments
		if args == "" {
			args = "{}"
		}
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Function.Name, "arguments": args}})
	}
	return content, calls
}

// TestProfileConversation plays two calls and an answer under each profile, to
// each family of models.
func TestProfileConversation(t *testing.T) {
	for _, name := range profile.Names() {
		if name == "anthropic" || name == "gemini" {
			continue // which have no chat completions
		}
		for _, model := range []string{"gpt4o", "claudeopus45", "gemini25pro"} {
			for _, stream := range []bool{false, true} {
				mode := map[bool]string{true: "stream", false: "plain"}[stream]
				t.Run(name+"/"+model+"/"+mode, func(t *testing.T) {
					m := newMock(t, Script{Profile: name, Turns: []Turn{{User: "ATP?", Replies: []Reply{
						{Say: "Looking.", Calls: []Call{{Tool: "search", Args: map[string]any{"q": "ATP"}}, {Tool: "list"}}},
						{Say: "It is cpd00002, says the data base."},
					}}}}, nil)
					defer m.Close()
					user := object{"role": "user", "content": "ATP?"}
					status, _, text := askProfile(t, m, "/v1/chat/completions", chatRequest(model, stream, user))
					if status != http.StatusOK {
						t.Fatalf("status %d: %s", status, text)
					}
					content, calls := said(t, text)
					if content != "Looking." || len(calls) != 2 {
						t.Fatalf("said %q with %d calls:\n%s", content, len(calls), text)
					}
					messages := []any{user, object{"role": "assistant", "content": content, "tool_calls": calls}}
					for _, c := range calls {
						messages = append(messages, object{"role": "tool", "tool_call_id": c.(object)["id"], "content": "found"})
					}
					_, _, text = askProfile(t, m, "/v1/chat/completions", chatRequest(model, stream, messages...))
					if content, calls = said(t, text); content != "It is cpd00002, says the data base." || calls != nil {
						t.Errorf("said %q with %d calls:\n%s", content, len(calls), text)
					}
					if err := m.Err(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestProfileFaults checks that faults happen behind a proxy.
func TestProfileFaults(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		fault         Fault
		stream        bool
		status        int
		want          string // in the answer
	}{
		{"rate limit on a stream", "argo-proxy-3.2", Fault{Kind: fault.RateLimit}, true, 429, `{"error": "Upstream API error: 429 {`},
		{"rate limit", "argo-proxy-3.2", Fault{Kind: fault.RateLimit}, false, 429, `"rate_limit_exceeded"`},
		{"page", "argo-proxy-2.8.9", Fault{Kind: fault.HTMLPage}, false, 502, `"type": "upstream_error"`},
		{"status bug", "argo-proxy-2.8.1", Fault{Kind: fault.BadRequest}, false, 400, `"content": ""`},
		{"closed", "argo-proxy-3.3", Fault{Kind: fault.Reset, Form: "before"}, false, 502, "Malformed status line"},
		{"cut looks whole", "argo-proxy-3.3", Fault{Kind: fault.Cut}, true, 200, "data: [DONE]"},
		{"raw status", "argo-proxy-3.1", Fault{Kind: fault.Cut}, true, 200, "invalid byte in chunk length"},
		{"cut with an error", "argo-proxy-3.3", Fault{Kind: fault.Reset, Form: "during"}, true, 200, "Upstream stream ended before completion"},
		{"swallowed", "argo-proxy-3.1", Fault{Kind: fault.InStreamError, At: fault.At{Chunk: 1}}, true, 200, "data: [DONE]"},
		{"forwarded", "argo-proxy-3.0", Fault{Kind: fault.InStreamError, At: fault.At{Chunk: 1}}, true, 200, `data: {"error":`},
		{"text in v2", "argo-proxy-2.8.9", Fault{Kind: fault.HTMLPage, Status: 200, Body: "<html>hello</html>"}, true, 200, "<html>hello</html>"},
		{"not the proxy's", "argo-proxy-3.2", Fault{Kind: fault.Comments, Size: 1}, true, 200, ": OPENROUTER PROCESSING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "Sunny all over the place today.", Faults: []Fault{tt.fault}}}}, nil)
			defer m.Close()
			req := chatRequest("gpt4o", tt.stream, object{"role": "user", "content": "hi"})
			status, h, text := askProfile(t, m, "/v1/chat/completions", req)
			if status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("status %d, %q; want %d and %q", status, text, tt.status, tt.want)
			}
			if h.Get("Retry-After") != "" || h.Get("Openai-Version") != "" {
				t.Errorf("headers that the proxy has not: %v", h)
			}
			status, _, text = askProfile(t, m, "/v1/chat/completions", req)
			if content, _ := said(t, text); status != http.StatusOK || content != "Sunny all over the place today." {
				t.Errorf("tried again: status %d, said %q", status, content)
			}
		})
	}
}

// TestParallelBlocks: the calls of a model that is not Claude share one block
// of a stream of messages.
func TestParallelBlocks(t *testing.T) {
	m := newMock(t, Script{Profile: "argo-proxy-3.3", Replies: []Reply{{Calls: []Call{{Tool: "a"}, {Tool: "b"}}}}}, nil)
	defer m.Close()
	_, _, text := askProfile(t, m, "/v1/messages", object{
		"model": "gpt4o", "max_tokens": 99, "stream": true, "messages": []any{object{"role": "user", "content": "hi"}},
		"tools": []any{object{"name": "a", "input_schema": object{"type": "object"}}, object{"name": "b", "input_schema": object{"type": "object"}}},
	})
	var events []string
	for line := range strings.Lines(text) {
		if e, ok := strings.CutPrefix(strings.TrimSpace(line), "event: content_block_"); ok && e != "delta" {
			events = append(events, e)
		}
	}
	if diff := cmp.Diff([]string{"start", "start", "stop"}, events); diff != "" || strings.Contains(text, `"index":1`) {
		t.Errorf("blocks (-want +got):\n%s\n%s", diff, text)
	}
}

func TestProfileRefusals(t *testing.T) {
	m := newMock(t, Script{Profile: "argo-proxy-3.3", Replies: []Reply{{Say: "hi"}}}, nil)
	defer m.Close()
	if status, _, text := askProfile(t, m, "/v1/messages", object{"model": "nobody"}); status != http.StatusNotFound || !strings.Contains(text, "Configured models: argo:claude-4.1-opus") {
		t.Errorf("unknown model: %d %s", status, text)
	}
	if status, _, text := askProfile(t, m, "/v1/nothing", object{}); status != http.StatusMethodNotAllowed || text != `{"error": "Method Not Allowed"}` {
		t.Errorf("unknown path: %d %s", status, text)
	}
	if m.Err() == nil {
		t.Error("refusals are not told")
	}
	if err := checkProfile("argo-proxy-3.33"); err == nil || !strings.Contains(err.Error(), `did you mean "argo-proxy-3.3"?`) {
		t.Errorf("misspelled profile: %v", err)
	}
}

func TestProfileTooLarge(t *testing.T) {
	for _, tt := range []struct {
		profile string
		status  int
		want    string
	}{
		{"argo-proxy-2.8.9", 500, `{"error": "An unexpected error occurred: Request Entity Too Large"}`},
		{"argo-proxy-3.2", 400, `{"error": {"message": "Invalid JSON body", "type": "invalid_request_error", "code": null}}`},
		{"argo-proxy-3.3", 413, `{"error": "Request body too large (22 bytes)"}`},
	} {
		m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "hi"}}}, &Options{MaxBodyBytes: 10})
		if status, _, text := askProfile(t, m, "/v1/chat/completions", object{"model": "0123456789"}); status != tt.status || text != tt.want {
			t.Errorf("%s: %d %s", tt.profile, status, text)
		}
		m.Close()
	}
}

func FuzzOldRequest(f *testing.F) {
	f.Add([]byte(`{"user":"jdoe","model":"gpt4o","messages":[{"role":"user","content":"hi"}],"tools":[{"function":{"name":"a","parameters":{}}}]}`))
	f.Add([]byte(`{"model":"claudeopus45","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]}]}]}`))
	f.Add([]byte(`{"model":"gemini25pro","system":"s","prompt":["p"],"messages":[{"role":"assistant","tool_calls":[{"id":"call_0","name":"a","args":{"q":1}}]}]}`))
	f.Add([]byte(`{"messages":7}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		chat, refusal := readOld(false, body)
		if (chat == nil) != (refusal != nil) {
			t.Errorf("chat %v beside refusal %v", chat, refusal)
		}
		if chat != nil {
			chat.Request()
		}
	})
}
