// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// itemPage is a list of items.
type itemPage struct {
	Object string
	Data   []struct {
		ID, Type, Role, Status, Output string
		Content                        []struct{ Type, Text string }
	}
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
	HasMore bool   `json:"has_more"`
}

func (p itemPage) String() string {
	var out []string
	for _, item := range p.Data {
		s := item.Type + " " + item.Role
		if len(item.Content) > 0 {
			s += " " + item.Content[0].Text
		}
		out = append(out, strings.TrimSpace(s))
	}
	return strings.Join(out, "; ")
}

func decodeAs[T any](t *testing.T, status int, body string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(body), &v); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return v
}

// TestConversations: responses are added to a conversation, which is the history
// of the next.
func TestConversations(t *testing.T) {
	m := newMock(t, mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather"}}}, mockllm.Reply{Say: "sunny"})
	status, body := do(t, m, http.MethodPost, "/conversations", `{"metadata":{"topic":"w"},"items":[{"type":"message","role":"developer","content":"be brief"}]}`)
	made := decodeAs[struct {
		ID, Object string
		Metadata   map[string]string
	}](t, status, body)
	if !strings.HasPrefix(made.ID, "conv_") || made.Object != "conversation" || made.Metadata["topic"] != "w" {
		t.Fatalf("%s", body)
	}
	ask := func(input string) string {
		return fmt.Sprintf(`{"model":"m",%s,"conversation":%q,"input":%s}`, responsesTools, made.ID, input)
	}
	status, first := respond(t, m, ask(`"Weather?"`))
	if status != http.StatusOK || len(first.Output) != 1 || first.Output[0].Type != "function_call" {
		t.Fatalf("%d %+v", status, first)
	}
	if again, same := respond(t, m, ask(`"Weather?"`)); again != http.StatusOK || same.ID != first.ID {
		t.Errorf("the same request again: %d %+v", again, same)
	}
	status, raw := do(t, m, http.MethodPost, "/responses", ask(fmt.Sprintf(`[{"type":"function_call_output","call_id":%q,"output":"sun"}]`, first.Output[0].CallID)))
	if status != http.StatusOK || !strings.Contains(raw, `"conversation":{"id":"`+made.ID+`"}`) || !strings.Contains(raw, `"sunny"`) {
		t.Fatalf("%d %s", status, raw)
	}
	status, body = do(t, m, http.MethodGet, "/conversations/"+made.ID+"/items?order=asc", "")
	page := decodeAs[itemPage](t, status, body)
	if got, want := page.String(), "message developer be brief; message user Weather?; function_call; function_call_output; message assistant sunny"; got != want {
		t.Errorf("items %s\nwant  %s", got, want)
	}
	status, body = do(t, m, http.MethodGet, "/conversations/"+made.ID+"/items?limit=2&after="+page.Data[4].ID, "")
	if part := decodeAs[itemPage](t, status, body); len(part.Data) != 2 || part.Data[0].ID != page.Data[3].ID || !part.HasMore || part.LastID != page.Data[2].ID {
		t.Errorf("a page: %s", body)
	}
	status, body = do(t, m, http.MethodGet, "/conversations/"+made.ID+"/items/"+page.Data[1].ID, "")
	if status != http.StatusOK || !strings.Contains(body, "Weather?") {
		t.Errorf("an item: %d %s", status, body)
	}
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "", `{"metadata":{"topic":"x"}}`, 200, `"topic":"x"`},
		{"GET", "", "", 200, `"topic":"x"`},
		{"POST", "/items", `{"items":[{"role":"user","content":"more"}]}`, 200, `"last_id":"msg_`},
		{"POST", "/items", `{"items":[{"role":"nobody"}]}`, 400, "items[0]"},
		{"POST", "", `{"foo":1}`, 400, "Unknown parameter: 'foo'."},
		{"DELETE", "/items/" + page.Data[1].ID, "", 200, `"object":"conversation"`},
		{"GET", "/items/" + page.Data[1].ID, "", 404, "not found"},
		{"GET", "/items?after=msg_no", "", 404, "msg_no"},
		{"DELETE", "", "", 200, `"object":"conversation.deleted"`},
		{"GET", "", "", 404, "Conversation with id '" + made.ID + "' not found."},
	} {
		if status, body := do(t, m, tc.method, "/conversations/"+made.ID+tc.path, tc.body); status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", tc.method, tc.path, status, body, tc.status, tc.want)
		}
	}
	if status, gone := respond(t, m, ask(`"Again?"`)); status != http.StatusNotFound || !strings.Contains(gone.Error.Message, "not found") {
		t.Errorf("a conversation that is gone: %d %+v", status, gone)
	}
}

// TestInputItems: what a stored response was asked with can be listed.
func TestInputItems(t *testing.T) {
	m := newMock(t, mockllm.Reply{Say: "one"}, mockllm.Reply{Say: "two"})
	for i, tc := range []struct{ input, want string }{
		{`"hi"`, "message user hi"},
		{`[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"message","role":"developer","content":"b"}]`, "message developer b; message user a"},
	} {
		_, r := respond(t, m, fmt.Sprintf(`{"model":"m","input":%s}`, tc.input))
		status, body := do(t, m, http.MethodGet, "/responses/"+r.ID+"/input_items", "")
		page := decodeAs[itemPage](t, status, body)
		if page.String() != tc.want || page.Object != "list" || page.FirstID == "" || page.Data[0].Status != "completed" {
			t.Errorf("%d: %s, want %s", i, body, tc.want)
		}
	}
	if status, body := do(t, m, http.MethodGet, "/responses/resp_no/input_items", ""); status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
}
