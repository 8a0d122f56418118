// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
)

// heldThread is what an endpoint holds of one thread, changed as change says.
func heldThread(change func(t *dialect.Thread)) *dialect.Store {
	t := dialect.Thread{
		Messages: []json.RawMessage{json.RawMessage(claudeHi)},
		System:   json.RawMessage(`"Be brief."`), Tools: json.RawMessage(`[{"name":"f","input_schema":{"type":"object"}}]`),
	}
	message := json.RawMessage(claudeUse)
	if change != nil {
		change(&t)
	}
	if len(t.Messages) == 0 {
		message = json.RawMessage(claudeHi)
	}
	store := new(dialect.Store)
	store.KeepThread("msg_1", "", nil, t, message)
	return store
}

const claudeContinue = `"thread":{"type":"continue","previous_message_id":"msg_1"}`

// TestThread: a request that goes on with a thread is the whole conversation.
func TestThread(t *testing.T) {
	req, refusal := messages.Read([]byte(claude(claudeContinue+`,"tool_choice":{"type":"tool","name":"f"}`, claudeDone)), false, heldThread(nil))
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := []harness.Message{
		{Role: harness.RoleSystem, Text: "Be brief."},
		{Role: harness.RoleUser, Text: "hi"},
		{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "toolu_1", Name: "f", Arguments: `{"q":1}`}}},
		{Role: harness.RoleTool, CallID: "toolu_1", Text: "ok"},
	}
	if diff := cmp.Diff(want, req.Chat.Request().Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if tools := req.Chat.Tools(); len(tools) != 1 || tools[0].Name != "f" {
		t.Errorf("tools %v", tools)
	}
	if !req.Continues || req.Thread.Previous != "msg_1" || len(req.Thread.Held.Messages) != 3 {
		t.Errorf("continues %v, thread %+v", req.Continues, req.Thread)
	}
	begun, refusal := messages.Read([]byte(claude(`"thread":{"type":"create"}`, claudeHi)), false, nil)
	if refusal != nil || begun.Thread.Previous != "" || len(begun.Thread.Held.Messages) != 1 {
		t.Errorf("%v, thread %+v", refusal, begun.Thread)
	}
}

// TestThreadRefusals: clients go by the code.
func TestThreadRefusals(t *testing.T) {
	open := heldThread(func(t *dialect.Thread) { t.Messages = nil })
	used := heldThread(func(t *dialect.Thread) { t.Continued = []byte(`{}`) })
	for _, tc := range []struct {
		name, settings string
		threads        *dialect.Store
		message        string
		status         int
		details        string
	}{
		{"unknown", `"thread":{"type":"continue","previous_message_id":"msg_2"}`, heldThread(nil), claudeDone, http.StatusNotFound, `{"error_code":"thread_not_found"}`},
		{"nothing held", claudeContinue, nil, claudeDone, http.StatusNotFound, `{"error_code":"thread_not_found"}`},
		{"continued before", claudeContinue, used, claudeDone, http.StatusBadRequest, `{"error_code":"thread_already_continued"}`},
		{"tools anew", claudeContinue + "," + claudeTool, heldThread(nil), claudeDone, http.StatusBadRequest, `{"error_code":"thread_fingerprint_mismatch"}`},
		{"system anew", claudeContinue + `,"system":"x"`, heldThread(nil), claudeDone, http.StatusBadRequest, `{"error_code":"thread_fingerprint_mismatch"}`},
		{"a cache", claudeContinue + `,"cache_control":{"type":"ephemeral"}`, heldThread(nil), claudeDone, http.StatusBadRequest, `{"error_code":"thread_unsupported_request","unsupported":["cache_control"]}`},
		{"a result of no call", claudeContinue, open, claudeDone, http.StatusBadRequest, ""},
		{"no result of a call", claudeContinue, heldThread(nil), claudeHi, http.StatusBadRequest, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r := messages.Read([]byte(claude(tc.settings, tc.message)), false, tc.threads)
			if r == nil || r.Status != tc.status || string(r.Details) != tc.details {
				t.Fatalf("refused with %v, details %s", r, r.Details)
			}
			if body := string(messages.Error(r, "")); tc.details != "" && !strings.Contains(body, `"details":`+tc.details) {
				t.Errorf("error %s", body)
			}
		})
	}
	body := claude(claudeContinue, claudeDone)
	same := heldThread(func(t *dialect.Thread) { t.Continued = []byte(body) })
	if _, r := messages.Read([]byte(body), false, same); r != nil {
		t.Errorf("the same request again: %v", r)
	}
}

// TestInstructions: messages with the role system say what holds from there on.
func TestInstructions(t *testing.T) {
	change := `{"role":"system","clear_at":"never","content":[{"type":"text","text":"late"},` +
		`{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}},` +
		`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"g","input_schema":{"type":"object"}}}}]}`
	back := `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}]}`
	for _, tc := range []struct {
		name     string
		messages []string
		system   []string
		tools    string
	}{
		{"a text", []string{claudeHi, `{"role":"system","content":"late"}`}, []string{"late"}, "f"},
		{"a list", []string{claudeHi, `{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`}, []string{"a\nb"}, "f"},
		{"effort alone", []string{claudeHi, `{"role":"system","output_config":{"effort":"low"}}`}, nil, "f"},
		{"between call and answer", []string{claudeHi, claudeUse, claudeDone, `{"role":"system","content":"x"}`}, []string{"x"}, "f"},
		{"tools", []string{claudeHi, change}, []string{"late"}, "g"},
		{"tools that come back", []string{claudeHi, change, back}, []string{"late"}, "g f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, r := messages.Read([]byte(claude(claudeTool, tc.messages...)), false, nil)
			if r != nil {
				t.Fatal(r)
			}
			if r := req.Chat.Unsupported(); r != nil {
				t.Error(r)
			}
			var system, tools []string
			for _, m := range req.Chat.Request().Messages {
				if m.Role == harness.RoleSystem {
					system = append(system, m.Text)
				}
			}
			for _, tool := range req.Chat.Tools() {
				tools = append(tools, tool.Name)
			}
			if diff := cmp.Diff(tc.system, system); diff != "" || strings.Join(tools, " ") != tc.tools {
				t.Errorf("tools %v, system (-want +got):\n%s", tools, diff)
			}
		})
	}
}

// TestMessagesUnsupported: only the provider itself refuses keys that may be
// those of another endpoint of its dialect.
func TestMessagesUnsupported(t *testing.T) {
	for body, words := range map[string]string{
		claude(`"foo":1`, claudeHi):                                                        "foo: Extra inputs are not permitted",
		claude("", `{"role":"user","content":"hi","foo":1}`):                               "messages.0.foo: Extra inputs are not permitted",
		claude("", claudeHi, `{"role":"system","content":"hi","foo":1}`):                   "messages.1.foo: Extra inputs are not permitted",
		claude(`"betas":[],"speed":"fast","mcp_servers":[],"inference_geo":"x"`, claudeHi): "",
	} {
		req, r := messages.Read([]byte(body), false, nil)
		if r != nil {
			t.Errorf("%s: %v", body, r)
			continue
		}
		if r := req.Chat.Unsupported(); (r == nil) != (words == "") || r != nil && r.Message != words {
			t.Errorf("%s: %v, want %q", body, r, words)
		}
	}
}

// TestCountUnsupported: a request that is to be counted has no settings of a
// reply.
func TestCountUnsupported(t *testing.T) {
	for body, words := range map[string]string{
		`{"model":"claude-sonnet-4-6","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`:                              "max_tokens: Extra inputs are not permitted",
		`{"model":"claude-sonnet-4-6","stream":true,"messages":[{"role":"user","content":"x"}]}`:                               "stream: Extra inputs are not permitted",
		`{"model":"claude-sonnet-4-6","foo":5,"messages":[{"role":"user","content":"x"}]}`:                                     "foo: Extra inputs are not permitted",
		`{"model":"claude-sonnet-4-6","system":"s","thinking":{"type":"disabled"},"messages":[{"role":"user","content":"x"}]}`: "",
	} {
		req, r := messages.Read([]byte(body), true, nil)
		if r != nil {
			t.Errorf("%s: %v", body, r)
			continue
		}
		if r := req.Chat.Unsupported(); (r == nil) != (words == "") || r != nil && r.Message != words {
			t.Errorf("%s: %v, want %q", body, r, words)
		}
	}
}

func TestEmbeddingsUnsupported(t *testing.T) {
	for body, words := range map[string]string{
		`{"model":"text-embedding-3-small","input":"x","foo":1}`:                                             "Unrecognized request argument supplied: foo",
		`{"model":"text-embedding-3-small","input":"x","foo":1,"bar":2}`:                                     "Unrecognized request arguments supplied: bar, foo",
		`{"model":"text-embedding-3-small","input":"x","user":"u","dimensions":8,"encoding_format":"float"}`: "",
	} {
		e, r := chat.ReadEmbeddings([]byte(body))
		if r != nil {
			t.Errorf("%s: %v", body, r)
			continue
		}
		if r := e.Chat.Unsupported(); (r == nil) != (words == "") || r != nil && r.Message != words {
			t.Errorf("%s: %v, want %q", body, r, words)
		}
	}
}
