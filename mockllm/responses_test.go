// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// do sends one request to a mock and returns the answer.
func do(t *testing.T, m *mockllm.Mock, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, m.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: m.Transport()}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// responsesAnswer is what a test looks at in a response.
type responsesAnswer struct {
	ID, Status string
	Output     []struct {
		ID, Type, Name, Namespace, Arguments string
		CallID                               string `json:"call_id"`
		Content                              []struct{ Type, Text string }
	}
	Error *struct{ Type, Code, Message string }
}

func respond(t *testing.T, m *mockllm.Mock, body string) (int, responsesAnswer) {
	t.Helper()
	status, raw := do(t, m, http.MethodPost, "/responses", body)
	var r responsesAnswer
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return status, r
}

const responsesTools = `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"location":{"type":"string"}}}}]`

func newMock(t *testing.T, replies ...mockllm.Reply) *mockllm.Mock {
	t.Helper()
	m := scripted(t, mockllm.Script{Replies: replies}, nil)
	t.Cleanup(m.Close)
	return m
}

// TestResponsesConversation gives the history back by its id.
func TestResponsesConversation(t *testing.T) {
	reply := weather()
	reply.Reasoning = "A call."
	m := newMock(t, reply, say("Sunny."), say("Rain."))
	status, first := respond(t, m, `{"model":"gpt-4o","input":"Weather?",`+responsesTools+`}`)
	if status != 200 || len(first.Output) != 2 || first.Output[0].Type != "reasoning" || first.Output[1].Arguments != `{"location":"Paris"}` {
		t.Fatalf("%d %+v", status, first)
	}
	call := first.Output[1]
	_, second := respond(t, m, `{"model":"gpt-4o","previous_response_id":"`+first.ID+`","input":[{"type":"function_call_output","call_id":"`+call.CallID+`","output":"21C"}],`+responsesTools+`}`)
	if second.Output[0].Content[0].Text != "Sunny." {
		t.Fatalf("%+v", second)
	}
	// And once more by references to the items.
	_, third := respond(t, m, `{"model":"gpt-4o","input":[{"role":"user","content":"Weather?"},{"type":"item_reference","id":"`+first.Output[0].ID+`"},{"type":"item_reference","id":"`+call.ID+`"},`+
		`{"type":"function_call_output","call_id":"`+call.CallID+`","output":[{"type":"input_text","text":"21C"}]},{"type":"item_reference","id":"`+second.Output[0].ID+`"},{"role":"user","content":"Tomorrow?"}],`+responsesTools+`}`)
	if third.Output[0].Content[0].Text != "Rain." {
		t.Fatalf("%+v", third)
	}
	if err := m.Err(); err != nil {
		t.Error(err)
	}
	wantJournal(t, m, "reply 200 1.1/1 delivered", "reply 200 1.2/1 delivered", "reply 200 1.3/1 delivered")
	if n := len(m.Journal()[1].Request.Messages); n != 3 {
		t.Errorf("the second request has %d messages", n)
	}

	if status, raw := do(t, m, http.MethodGet, "/responses/"+first.ID, ""); status != 200 || !strings.Contains(raw, call.CallID) {
		t.Errorf("retrieved %d %s", status, raw)
	}
	if status, raw := do(t, m, http.MethodDelete, "/responses/"+first.ID, ""); status != 200 || raw != `{"id":"`+first.ID+`","object":"response","deleted":true}`+"\n" {
		t.Errorf("deleted %d %s", status, raw)
	}
	status, fourth := respond(t, m, `{"model":"gpt-4o","previous_response_id":"`+first.ID+`","input":"x"}`)
	if status != 400 || fourth.Error == nil || fourth.Error.Code != "previous_response_not_found" {
		t.Errorf("after the deletion %d %+v", status, fourth)
	}
}

// TestResponsesNotStored refers to a response that was not to be stored.
func TestResponsesNotStored(t *testing.T) {
	m := newMock(t, say("Hi."), say("Ho."))
	_, first := respond(t, m, `{"model":"m","input":"a","store":false}`)
	status, r := respond(t, m, `{"model":"m","previous_response_id":"`+first.ID+`","input":"b"}`)
	if status != 400 || r.Error == nil || r.Error.Code != "previous_response_not_found" {
		t.Errorf("%d %+v", status, r)
	}
}

// TestResponsesNamespace calls a tool of a namespace, as codex wants it.
func TestResponsesNamespace(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "weather.get_weather"}}}}}, nil)
	t.Cleanup(m.Close)
	_, r := respond(t, m, `{"model":"m","input":"a","tools":[{"type":"namespace","name":"mcp__weather","tools":[{"type":"function","name":"get_weather"}]}]}`)
	if c := r.Output[0]; c.Name != "get_weather" || c.Namespace != "mcp__weather" {
		t.Errorf("%+v %v", r, m.Err())
	}
}

// TestResponsesEcho compares the settings that a response repeats.
func TestResponsesEcho(t *testing.T) {
	m := newMock(t, say("Hi."))
	_, raw := do(t, m, http.MethodPost, "/responses", `{"model":"m","input":"a","instructions":"Be <short>.","temperature":0.5,"metadata":{"k":"v"},"store":false,"reasoning":{"effort":"low"},"text":{"verbosity":"low"},`+responsesTools+`,"tool_choice":"auto"}`)
	var got map[string]any
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"instructions":"Be <short>.","temperature":0.5,"metadata":{"k":"v"},"store":false,"reasoning":{"effort":"low","summary":null},"text":{"format":{"type":"text"},"verbosity":"low"},"tool_choice":"auto","tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"location":{"type":"string"}}},"strict":true}]}`), &want); err != nil {
		t.Fatal(err)
	}
	for key, w := range want {
		if d := cmp.Diff(w, got[key]); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
	}
}

// TestUpgrade answers a client that tries a WebSocket first.
func TestUpgrade(t *testing.T) {
	h, err := mockllm.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := newMock(t, say("Hi."))
	base, _ := h.Mount(m)
	path := strings.TrimPrefix(base, "http://"+h.Addr()) + "/responses"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		req.Header.Set(k, v)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired || !resp.Close {
		t.Errorf("%d, close %v", resp.StatusCode, resp.Close)
	}
	wantJournal(t, m, "probe 426 0.0/0")
	if err := m.Err(); err != nil {
		t.Error(err)
	}
	if n := len(m.Remaining()); n != 1 {
		t.Errorf("%d replies remain", n)
	}
}

// TestResponsesFailure breaks a response in the middle of its stream.
func TestResponsesFailure(t *testing.T) {
	reply := say("Sunny and warm.")
	reply.Faults = []mockllm.Fault{{Kind: fault.InStreamError}}
	m := newMock(t, reply)
	_, raw := do(t, m, http.MethodPost, "/responses", `{"model":"m","input":"a","stream":true}`)
	events := strings.Split(strings.TrimSpace(raw), "\n\n")
	last := events[len(events)-1]
	for _, part := range []string{"event: response.failed\n", `"status":"failed"`, `"error":{"code":"server_error","message":"The server had an error`} {
		if !strings.Contains(last, part) {
			t.Errorf("no %s in %s", part, last)
		}
	}
	if _, again := respond(t, m, `{"model":"m","input":"a"}`); again.Output[0].Content[0].Text != "Sunny and warm." {
		t.Errorf("then %+v", again)
	}
}
