// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/profile"
)

// TestContextWindow sends what does not fit to each dialect.
func TestContextWindow(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 100))
	chat := func(rest string) string {
		return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]%s}`, long, rest)
	}
	messages := func(text string, room int) string {
		return fmt.Sprintf(`{"model":"m","max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, room, text)
	}
	tests := []struct{ name, path, body, want string }{
		{"chat", "/v1/chat/completions", chat(""), `"message":"This model's maximum context length is 100 tokens. However, your messages resulted in N tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"`},
		{"streamed", "/v1/chat/completions", chat(`,"stream":true`), `"code":"context_length_exceeded"`},
		{"chat with room", "/v1/chat/completions", chat(`,"max_tokens":20`), `However, you requested N tokens (N in the messages, 20 in the completion). Please reduce the length of the messages or completion.`},
		{"chat with tools", "/v1/chat/completions", chat(`,"tools":[{"type":"function","function":{"name":"f"}}]`), `your messages resulted in N tokens (N in the messages, N in the functions). Please reduce the length of the messages or functions.`},
		{"messages", "/v1/messages", messages(long, 10), `"type":"invalid_request_error","message":"prompt is too long: N tokens > 100 maximum"`},
		{"messages with room", "/v1/messages", messages("Hi", 99), "input length and `max_tokens` exceed context limit: 8 + 99 > 100, decrease input length or `max_tokens` and try again"},
		{"gemini", "/v1beta/models/m:generateContent", fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, long), `"message":"The input token count (N) exceeds the maximum number of tokens allowed (100).","status":"INVALID_ARGUMENT"`},
		{"responses", "/v1/responses", fmt.Sprintf(`{"model":"m","input":%q}`, long), `"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"`},
		{"completions", "/v1/completions", fmt.Sprintf(`{"model":"m","prompt":%q,"max_tokens":5}`, long), `This model's maximum context length is 100 tokens, however you requested N tokens (N in your prompt; 5 for the completion).`},
	}
	digits := regexp.MustCompile(`\b1\d\d\b`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMock(t, Script{ContextWindow: 100, Replies: []Reply{{Say: "ok"}}}, nil)
			defer m.Close()
			status, _, text := askProfile(t, m, tt.path, json.RawMessage(tt.body))
			plain := strings.NewReplacer(`": "`, `":"`, `", "`, `","`, `\u003e`, ">").Replace(strings.Join(strings.Fields(text), " "))
			got := digits.ReplaceAllStringFunc(plain, func(s string) string {
				if s == "100" {
					return s
				}
				return "N"
			})
			got = regexp.MustCompile(`\d+ in the functions`).ReplaceAllString(got, "N in the functions")
			if status != http.StatusBadRequest || !strings.Contains(got, tt.want) {
				t.Errorf("status %d\n got %s\nwant %s", status, got, tt.want)
			}
			if x := m.Journal()[0]; x.Kind != harness.KindReply || x.Fault != windowPassed || m.Err() != nil {
				t.Errorf("journaled as %s %s, error %v", x.Kind, x.Fault, m.Err())
			}
			askProfile(t, m, tt.path, json.RawMessage(tt.body))
			if x := m.Journal()[1]; x.Kind != harness.KindRefusal {
				t.Errorf("the same again is journaled as %s", x.Kind)
			}
			if n := len(m.Remaining()); n != 1 {
				t.Errorf("%d replies are left", n)
			}
		})
	}
}

// TestContextWindowHoldsWhatFits sends a request that fits.
func TestContextWindowHoldsWhatFits(t *testing.T) {
	m := newMock(t, Script{ContextWindow: 100, Replies: []Reply{{Say: "ok"}}}, nil)
	defer m.Close()
	status, _, text := askProfile(t, m, "/v1/chat/completions", json.RawMessage(`{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`))
	if status != http.StatusOK || m.Err() != nil {
		t.Errorf("status %d, %s, %v", status, text, m.Err())
	}
}

// TestEcho leaves out reasoning_content, where it is wanted and where not.
func TestEcho(t *testing.T) {
	type body = map[string]any
	user := body{"role": "user", "content": "Go."}
	tests := []struct {
		name, profile string
		echo          []string
		drop          string // what comes back without: call, text, nothing
		want          string
	}{
		{"deepseek within the turn", "deepseek", nil, "call", "{\"error\":{\"message\":\"Missing `reasoning_content` field in the assistant message at message index 1. "},
		{"deepseek in a later turn", "deepseek", nil, "earlier call", ""},
		{"kimi within the turn", "kimi", nil, "call", `"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"`},
		{"kimi in a later turn", "kimi", nil, "earlier call", `"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"`},
		{"kimi without a text's", "kimi", nil, "text", ""},
		{"kimi with all", "kimi", nil, "nothing", ""},
		{"openai", "openai", nil, "call", ""},
		{"asked for, a call", "openai", []string{"reasoning_content"}, "call", `"param":"messages[1].reasoning_content"`},
		{"asked for, a text", "openai", []string{"reasoning_content"}, "text", `"param":"messages[3].reasoning_content"`},
		{"asked for, with all", "openai", []string{"reasoning_content"}, "nothing", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMock(t, Script{Profile: tt.profile, Echo: tt.echo, Turns: []Turn{
				{User: "Go.", Replies: []Reply{{Reasoning: "Hm.", Calls: []Call{{Tool: "search"}}}, {Reasoning: "So.", Say: "Done."}}},
				{User: "On.", Replies: []Reply{{Say: "Over."}}},
			}}, nil)
			defer m.Close()
			history := []any{user}
			ask := func() (int, string, body) {
				status, _, text := askProfile(t, m, "/v1/chat/completions", chatRequest("m", false, history...))
				var r struct{ Choices []struct{ Message body } }
				if json.Unmarshal([]byte(text), &r) == nil && len(r.Choices) > 0 {
					return status, text, r.Choices[0].Message
				}
				return status, text, nil
			}
			without := func(msg body, name string) body {
				if tt.drop == name {
					delete(msg, "reasoning_content")
				}
				return msg
			}
			_, _, call := ask()
			id := call["tool_calls"].([]any)[0].(map[string]any)["id"]
			history = append(history, without(call, "call"), body{"role": "tool", "tool_call_id": id, "content": "1"})
			status, text, said := ask()
			if said != nil {
				without(call, "earlier call")
				history = append(history, without(said, "text"), body{"role": "user", "content": "On."})
				status, text, _ = ask()
			}
			if tt.want == "" {
				if status != http.StatusOK || m.Err() != nil {
					t.Fatalf("status %d, %s, %v", status, text, m.Err())
				}
				return
			}
			flat := strings.NewReplacer(`": "`, `":"`, `": {`, `":{`).Replace(strings.Join(strings.Fields(text), " "))
			flat = strings.ReplaceAll(flat, `{ "`, `{"`)
			if status != http.StatusBadRequest || !strings.Contains(flat, tt.want) {
				t.Errorf("status %d\n got %s\nwant %s", status, flat, tt.want)
			}
		})
	}
}

// TestEchoOfWhat checks that only known fields can be asked for.
func TestEchoOfWhat(t *testing.T) {
	if _, err := compile(Script{Echo: []string{"content"}}); err == nil || !strings.Contains(err.Error(), `"content"`) {
		t.Errorf("error %v", err)
	}
	if calls, turn := (&profile.Profile{}).Echoes(); calls || turn {
		t.Error("an empty profile wants thoughts back")
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script Script, opts *Options) *Mock {
	t.Helper()
	m, err := New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
