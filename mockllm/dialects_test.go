// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// twoPlaces is a conversation of two calls and two texts.
func twoPlaces() mockllm.Script {
	return mockllm.Script{
		Turns: []mockllm.Turn{
			{User: "How is the weather?", Replies: []mockllm.Reply{
				{
					Say: "Let me look.", Reasoning: "Two places.",
					Calls: []mockllm.Call{
						{Tool: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)},
						{Tool: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)},
					},
				},
				{Calls: []mockllm.Call{{Tool: "list_cities"}}},
				{Say: "Sunny in both."},
			}},
			{User: "Thanks!", Replies: []mockllm.Reply{{Say: "You are welcome."}}},
		},
		Asides: []mockllm.Rule{{
			When:  func(a *mockllm.Ask) (bool, error) { return strings.HasPrefix(a.User, "Title"), nil },
			Reply: mockllm.Reply{Say: "Weather"},
		}},
		Rules: []mockllm.Rule{{
			When:  func(a *mockllm.Ask) (bool, error) { return a.User == "Anything else?", nil },
			Reply: mockllm.Reply{Say: "No."},
		}},
	}
}

// speaker is a client in one dialect.
type speaker struct {
	path, streamPath string
	// body is a request with messages; user and result are messages.
	body   func(stream bool, messages []string) string
	user   func(text string) string
	result func(calls []harness.ToolCall, texts ...string) string
	// read reads a reply: what it says, and the message that goes back.
	read func(t *testing.T, stream bool, body string) (harness.Message, string)
	// forgets says that the client gives calls no ids.
	forgets bool
}

func speakers() map[string]speaker {
	gemini := speaker{
		path: "/v1beta/models/gemini-3-pro-preview:generateContent", streamPath: "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
		body: func(_ bool, contents []string) string {
			return `{"tools":[{"functionDeclarations":[{"name":"get_weather"},{"name":"list_cities"}]}],"contents":[` + strings.Join(contents, ",") + `]}`
		},
		user: func(text string) string { return fmt.Sprintf(`{"role":"user","parts":[{"text":%q}]}`, text) },
		result: func(calls []harness.ToolCall, texts ...string) string {
			var parts []string
			for i, c := range calls {
				parts = append(parts, fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":{"result":%q}}}`, c.ID, c.Name, texts[i]))
			}
			return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
		},
		read: readGemini,
	}
	bare := gemini
	bare.forgets = true
	bare.path, bare.streamPath = "/v1/models/gemini-2.5-flash:generateContent", "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
	bare.result = func(calls []harness.ToolCall, texts ...string) string {
		var parts []string
		for i, c := range calls {
			parts = append(parts, fmt.Sprintf(`{"functionResponse":{"name":%q,"response":{"result":%q}}}`, c.Name, texts[i]))
		}
		return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
	}
	list := gemini
	list.streamPath = strings.TrimSuffix(list.streamPath, "?alt=sse")
	return map[string]speaker{
		"anthropic": {
			path: "/v1/messages", streamPath: "/v1/messages?beta=true",
			body: func(stream bool, messages []string) string {
				return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":2048,"stream":%v,"thinking":{"type":"enabled","budget_tokens":1024},`+
					`"tools":[{"name":"get_weather","input_schema":{"type":"object"}},{"name":"list_cities","input_schema":{"type":"object"}}],"messages":[%s]}`,
					stream, strings.Join(messages, ","))
			},
			user: func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) },
			result: func(calls []harness.ToolCall, texts ...string) string {
				var blocks []string
				for i, c := range calls {
					blocks = append(blocks, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, c.ID, texts[i]))
				}
				return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
			},
			read: readMessages,
		},
		"gemini": gemini, "gemini without ids": bare, "gemini as a list": list,
	}
}

func readMessages(t *testing.T, stream bool, body string) (harness.Message, string) {
	t.Helper()
	var blocks []map[string]any
	if !stream {
		var m struct{ Content []map[string]any }
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		blocks = m.Content
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if !stream {
			break
		}
		_, data, _ := strings.Cut(event, "\ndata: ")
		var e struct {
			Type         string
			Index        int
			ContentBlock map[string]any `json:"content_block"`
			Delta        map[string]string
		}
		_ = json.Unmarshal([]byte(data), &e) // message_delta has nulls
		switch e.Type {
		case "content_block_start":
			blocks = append(blocks, e.ContentBlock)
		case "content_block_delta":
			for _, key := range []string{"text", "thinking", "signature", "partial_json"} {
				if s, ok := e.Delta[key]; ok {
					had, _ := blocks[e.Index][key].(string)
					blocks[e.Index][key] = had + s
				}
			}
		case "content_block_stop":
			if s, ok := blocks[e.Index]["partial_json"].(string); ok {
				delete(blocks[e.Index], "partial_json")
				if s != "" {
					blocks[e.Index]["input"] = json.RawMessage(s)
				}
			}
		}
	}
	var m harness.Message
	for _, b := range blocks {
		switch b["type"] {
		case "text":
			m.Text += b["text"].(string)
		case "thinking":
			m.Reasoning += b["thinking"].(string)
		case "tool_use":
			input, _ := json.Marshal(b["input"])
			m.Calls = append(m.Calls, harness.ToolCall{ID: b["id"].(string), Name: b["name"].(string), Arguments: string(input)})
		}
	}
	content, _ := json.Marshal(blocks)
	return m, `{"role":"assistant","content":` + string(content) + `}`
}

func readGemini(t *testing.T, stream bool, body string) (harness.Message, string) {
	t.Helper()
	type response struct {
		Candidates []struct {
			Content struct{ Parts []map[string]any }
		}
	}
	var list []response
	switch {
	case strings.HasPrefix(body, "["):
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	case stream:
		for event := range strings.SplitSeq(strings.TrimSuffix(body, "\r\n\r\n"), "\r\n\r\n") {
			var r response
			if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &r); err != nil {
				t.Fatalf("%v in %q", err, event)
			}
			list = append(list, r)
		}
	default:
		list = make([]response, 1)
		if err := json.Unmarshal([]byte(body), &list[0]); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	var m harness.Message
	var contents []string
	for _, r := range list {
		parts, _ := json.Marshal(r.Candidates[0].Content.Parts)
		contents = append(contents, `{"role":"model","parts":`+string(parts)+`}`)
		for _, p := range r.Candidates[0].Content.Parts {
			switch call, ok := p["functionCall"].(map[string]any); {
			case ok:
				args, _ := json.Marshal(call["args"])
				id, _ := call["id"].(string)
				m.Calls = append(m.Calls, harness.ToolCall{ID: id, Name: call["name"].(string), Arguments: string(args)})
			case p["thought"] == true:
				m.Reasoning += p["text"].(string)
			default:
				m.Text += p["text"].(string)
			}
		}
	}
	if n := len(contents); n > 1 && strings.Contains(contents[n-1], `"text":""`) {
		contents = contents[:n-1] // clients leave out what is empty
	}
	return m, strings.Join(contents, ",")
}

// send sends a request to the mock and returns the answer.
func send(m *mockllm.Mock, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

// TestDialects plays one script in every dialect, streamed and not.
func TestDialects(t *testing.T) {
	for name, s := range speakers() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, stream), func(t *testing.T) {
				m := scripted(t, twoPlaces(), nil)
				defer m.Close()
				path := s.path
				if stream {
					path = s.streamPath
				}
				var history []string
				ask := func(message string) harness.Message {
					t.Helper()
					history = append(history, message)
					w := send(m, path, s.body(stream, history))
					if w.Code != http.StatusOK {
						t.Fatalf("status %d: %s", w.Code, w.Body)
					}
					said, back := s.read(t, stream, w.Body.String())
					history = append(history, back)
					return said
				}
				said := ask(s.user("How is the weather?"))
				if len(said.Calls) != 2 || said.Text != "Let me look." || said.Reasoning != "Two places." || said.Calls[1].Arguments != `{"city":"Rome"}` {
					t.Fatalf("first reply %+v", said)
				}
				if ids := said.Calls[0].ID != "" && said.Calls[0].ID != said.Calls[1].ID; ids == s.forgets {
					t.Errorf("calls %+v", said.Calls)
				}
				said = ask(s.result(said.Calls, "sun", "rain"))
				if len(said.Calls) != 1 || said.Calls[0].Name != "list_cities" || said.Calls[0].Arguments != "{}" {
					t.Fatalf("second reply %+v", said)
				}
				if said = ask(s.result(said.Calls, "Paris, Rome")); said.Text != "Sunny in both." || said.Calls != nil {
					t.Fatalf("third reply %+v", said)
				}
				if said = ask(s.user("Thanks!")); said.Text != "You are welcome." {
					t.Fatalf("last reply %+v", said)
				}
				if err := m.Err(); err != nil {
					t.Error(err)
				}
				if left := m.Remaining(); left != nil {
					t.Errorf("never asked for: %v", left)
				}
				checkJournal(t, m)
			})
		}
	}
}

// checkJournal looks at the journal of the conversation of twoPlaces.
func checkJournal(t *testing.T, m *mockllm.Mock) {
	t.Helper()
	journal := m.Journal()
	var got []string
	for _, x := range journal {
		got = append(got, fmt.Sprintf("%s %d.%d %d %s", x.Kind, x.Turn, x.Reply, x.Status, x.FinishReason))
		if !x.Delivered || x.Usage.CompletionTokens == 0 || len(x.Body) == 0 {
			t.Errorf("exchange %+v", x)
		}
	}
	want := []string{"reply 1.1 200 tool_calls", "reply 1.2 200 tool_calls", "reply 1.3 200 stop", "reply 2.1 200 stop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	var results []string
	for _, msg := range journal[3].Request.Messages {
		if msg.Role == harness.RoleTool {
			results = append(results, msg.Text)
		}
	}
	if diff := cmp.Diff([]string{"sun", "rain", "Paris, Rome"}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestDialectsStray has anything that is not a step of the conversation.
func TestDialectsStray(t *testing.T) {
	for name, s := range speakers() {
		t.Run(name, func(t *testing.T) {
			script := twoPlaces()
			script.Turns[0].Replies[0].Faults = []mockllm.Fault{{Kind: mockllm.RateLimit}}
			m := scripted(t, script, nil)
			defer m.Close()
			ask := func(text string) *httptest.ResponseRecorder {
				return send(m, s.path, s.body(false, []string{s.user(text)}))
			}
			said := func(w *httptest.ResponseRecorder) string {
				t.Helper()
				if w.Code != http.StatusOK {
					t.Fatalf("status %d: %s", w.Code, w.Body)
				}
				msg, _ := s.read(t, false, w.Body.String())
				return msg.Text
			}
			if got := said(ask("Title of the conversation?")); got != "Weather" {
				t.Errorf("aside said %q", got)
			}
			if w := ask("How is the weather?"); w.Code != http.StatusTooManyRequests || !strings.Contains(strings.ToLower(w.Body.String()), "rate_limit_error") && !strings.Contains(w.Body.String(), "RESOURCE_EXHAUSTED") {
				t.Errorf("fault answered %d: %s", w.Code, w.Body)
			}
			first := ask("How is the weather?")
			if got := said(first); got != "Let me look." {
				t.Errorf("retry said %q", got)
			}
			if again := ask("How is the weather?"); again.Body.String() != first.Body.String() {
				t.Errorf("the same request got\n%s\nand then\n%s", first.Body, again.Body)
			}
			if got := said(ask("Anything else?")); got != "No." {
				t.Errorf("rule said %q", got)
			}
			w := ask("What time is it?")
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(strings.ToLower(w.Body.String()), "rehearse_miss") || !strings.Contains(w.Body.String(), "What time is it?") {
				t.Errorf("miss answered %d: %s", w.Code, w.Body)
			}
			if j := m.Journal(); j[len(j)-1].Kind != harness.KindMiss {
				t.Errorf("miss is a %s", j[len(j)-1].Kind)
			}
			if w := send(m, s.path, `{`); w.Code != http.StatusBadRequest {
				t.Errorf("broken request answered %d: %s", w.Code, w.Body)
			}
		})
	}
}

// TestDialectsAcross changes the dialect in the middle of a conversation, as
// gateways in front of one endpoint do.
func TestDialectsAcross(t *testing.T) {
	m := scripted(t, twoPlaces(), nil)
	defer m.Close()
	s := speakers()["anthropic"]
	w := send(m, s.path, s.body(false, []string{s.user("How is the weather?")}))
	said, _ := readMessages(t, false, w.Body.String())
	calls := fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"get_weather","arguments":"{}"}},{"id":%q,"type":"function","function":{"name":"get_weather","arguments":"{}"}}]}`, said.Calls[0].ID, said.Calls[1].ID)
	w = send(m, "/v1/chat/completions", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"How is the weather?"},%s,{"role":"tool","tool_call_id":%q,"content":"sun"},{"role":"tool","tool_call_id":%q,"content":"rain"}]}`, calls, said.Calls[0].ID, said.Calls[1].ID))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"list_cities"`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestDialectsThoughts(t *testing.T) {
	anthropic := func(settings string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":2048,` + settings + `"messages":[{"role":"user","content":"hi"}]}`
	}
	gemini := func(config string) string {
		return `{"generationConfig":{` + config + `},"contents":[{"parts":[{"text":"hi"}]}]}`
	}
	const generate = "/v1beta/models/gemini-2.5-flash:generateContent"
	for _, tc := range []struct {
		name, path, body string
		reasoning        string
		want, not        string
	}{
		{"said", "/v1/messages", anthropic(``), "hm", `{"type":"thinking","thinking":"hm","signature":"`, ""},
		{"disabled", "/v1/messages", anthropic(`"thinking":{"type":"disabled"},`), "hm", `{"type":"text"`, "thinking\",\""},
		{"enabled without one", "/v1/messages", anthropic(`"thinking":{"type":"enabled","budget_tokens":1024},`), "", `{"type":"thinking","thinking":"","signature":"`, ""},
		{"adaptive without one", "/v1/messages", anthropic(`"thinking":{"type":"adaptive"},`), "", `{"type":"text"`, `"type":"thinking"`},
		{"said by Gemini", generate, gemini(``), "hm", `"thought": true`, ""},
		{"not included", generate, gemini(`"thinkingConfig":{"includeThoughts":false}`), "hm", `"thoughtsTokenCount"`, `"thought": true`},
		{"without budget", generate, gemini(`"thinkingConfig":{"thinkingBudget":0}`), "hm", `"text": "yes"`, `"thought": true`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "yes", Reasoning: tc.reasoning}}}, nil)
			defer m.Close()
			w := send(m, tc.path, tc.body)
			got := w.Body.String()
			if w.Code != http.StatusOK || !strings.Contains(got, tc.want) || tc.not != "" && strings.Contains(got, tc.not) {
				t.Errorf("status %d, want %q and not %q in\n%s", w.Code, tc.want, tc.not, got)
			}
		})
	}
}

func TestCountTokens(t *testing.T) {
	m := scripted(t, mockllm.Script{Models: []string{"claude-sonnet-4-5", "gemini-2.5-flash"}}, nil)
	defer m.Close()
	for _, tc := range []struct{ name, path, body, want string }{
		{"anthropic", "/v1/messages/count_tokens", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hello, Claude"}]}`, `{"input_tokens":10}` + "\n"},
		{"gemini", "/v1beta/models/gemini-2.5-flash:countTokens", `{"contents":[{"parts":[{"text":"The quick brown fox jumps over the lazy dog."}]}]}`, "{\n  \"totalTokens\": 17,\n  \"promptTokensDetails\": [\n    {\n      \"modality\": \"TEXT\",\n      \"tokenCount\": 17\n    }\n  ]\n}\n"},
		{"gemini, nested", "/v1/models/gemini-2.5-flash:countTokens", `{"generateContentRequest":{"model":"models/gemini-2.5-flash","contents":[{"parts":[{"text":"The quick brown fox jumps over the lazy dog."}]}]}}`, "{\n  \"totalTokens\": 17,\n  \"promptTokensDetails\": [\n    {\n      \"modality\": \"TEXT\",\n      \"tokenCount\": 17\n    }\n  ]\n}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := send(m, tc.path, tc.body)
			if diff := cmp.Diff(tc.want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
				t.Errorf("status %d (-want +got):\n%s", w.Code, diff)
			}
		})
	}
	if len(m.Journal()) != 0 {
		t.Error("counting is in the journal")
	}
	w := send(m, "/v1/messages/count_tokens", `{"model":"claude-does-not-exist","messages":[{"role":"user","content":"hello"}]}`)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"error":{"type":"not_found_error","message":"model: claude-does-not-exist"},"request_id":"req_`) {
		t.Errorf("unknown model answered %d: %s", w.Code, w.Body)
	}
	w = send(m, "/v1beta/models/none:streamGenerateContent", `{"contents":[{"parts":[{"text":"hi"}]}]}`)
	if w.Code != http.StatusNotFound || !strings.HasPrefix(w.Body.String(), "[\n") || !strings.Contains(w.Body.String(), `"status": "NOT_FOUND"`) || !strings.Contains(w.Body.String(), "models/none is not found for API version v1beta") {
		t.Errorf("unknown model answered %d: %s", w.Code, w.Body)
	}
}

func TestModelsByDialect(t *testing.T) {
	m := scripted(t, mockllm.Script{Models: []string{"a", "b"}}, nil)
	defer m.Close()
	for _, tc := range []struct {
		name, path, header string
		status             int
		want               string
	}{
		{"openai", "/v1/models", "", 200, `"object":"list"`},
		{"anthropic", "/v1/models", "Anthropic-Version", 200, `{"data":[{"created_at":"2026-01-01T00:00:00Z","display_name":"a","id":"a","type":"model"},`},
		{"anthropic, one", "/v1/models/b", "Anthropic-Version", 200, `"id":"b"`},
		{"anthropic, unknown", "/v1/models/c", "Anthropic-Version", 404, `"message":"model: c"`},
		{"gemini", "/v1beta/models", "", 200, `"name": "models/a"`},
		{"gemini by the key", "/v1/models", "X-Goog-Api-Key", 200, `"name": "models/b"`},
		{"gemini, one", "/v1beta/models/b", "", 200, `"supportedGenerationMethods"`},
		{"gemini, unknown", "/v1beta/models/c", "", 404, `"status": "NOT_FOUND"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, tc.path, nil)
			if tc.header != "" {
				r.Header.Set(tc.header, "x")
			}
			m.ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, want %d with %s in\n%s", w.Code, tc.status, tc.want, w.Body)
			}
		})
	}
	if w := send(m, "/v1beta/models/a:predict", `{}`); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `no method \"predict\"`) {
		t.Errorf("unknown method answered %d: %s", w.Code, w.Body)
	}
}

// TestDialectsHeaders has what tells the providers apart beside the bodies.
func TestDialectsHeaders(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "a", Repeat: 9}}}, nil)
	defer m.Close()
	for _, tc := range []struct {
		path, body string
		want       map[string]string
	}{
		{"/v1/messages", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"1"}]}`, map[string]string{"Content-Type": "application/json", "Request-Id": "req_", "Openai-Version": "", "X-Request-Id": ""}},
		{"/v1/messages", `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"2"}]}`, map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Request-Id": "req_", "Cache-Control": "no-cache"}},
		{"/v1beta/models/m:generateContent", `{"contents":{"parts":{"text":"3"}}}`, map[string]string{"Content-Type": "application/json; charset=UTF-8", "Openai-Version": "", "X-Request-Id": "", "Content-Disposition": ""}},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":{"parts":{"text":"4"}}}`, map[string]string{"Content-Type": "text/event-stream", "Content-Disposition": "attachment"}},
		{"/v1beta/models/m:streamGenerateContent", `{"contents":{"parts":{"text":"5"}}}`, map[string]string{"Content-Type": "application/json; charset=UTF-8"}},
	} {
		w := send(m, tc.path, tc.body)
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", tc.path, w.Code, w.Body)
		}
		for name, want := range tc.want {
			got := w.Header().Get(name)
			if want == "" && got != "" || !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q, want %q", tc.path, name, got, want)
			}
		}
	}
}

// TestOwnProfiles has what the profiles of the two providers lack and want.
func TestOwnProfiles(t *testing.T) {
	const (
		messages = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
		generate = `{"contents":[{"parts":[{"text":"hi"}]}]}`
		chat     = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	)
	for _, tc := range []struct {
		name, profile, method, path, body string
		header                            []string
		status                            int
		want                              string
	}{
		{"key and version", "anthropic", "POST", "/v1/messages", messages, []string{"X-Api-Key", "Anthropic-Version"}, 200, `"type":"message"`},
		{"key as a bearer", "anthropic", "POST", "/v1/messages", messages, []string{"Authorization", "Anthropic-Version"}, 200, `"type":"message"`},
		{"no key", "anthropic", "POST", "/v1/messages", messages, []string{"Anthropic-Version"}, 401, `"type":"authentication_error"`},
		{"no version", "anthropic", "POST", "/v1/messages", messages, []string{"X-Api-Key"}, 400, `anthropic-version: header is required`},
		{"no key to count", "anthropic", "POST", "/v1/messages/count_tokens", messages, nil, 401, `"type":"authentication_error"`},
		{"chat at Anthropic", "anthropic", "POST", "/v1/chat/completions", chat, nil, 422, `"type":"rehearse_miss"`},
		{"models at Anthropic", "anthropic", "GET", "/v1/models", "", nil, 200, `"display_name"`},
		{"another page of Anthropic", "anthropic", "GET", "/v1/files", "", nil, 404, `{"type":"error","error":{"type":"not_found_error"`},
		{"key", "gemini", "POST", "/v1/models/m:generateContent", generate, []string{"X-Goog-Api-Key"}, 200, `"candidates"`},
		{"key in the query", "gemini", "POST", "/v1beta/models/m:generateContent?key=x", generate, nil, 200, `"candidates"`},
		{"no key at Google", "gemini", "POST", "/v1beta/models/m:generateContent", generate, nil, 403, `"PERMISSION_DENIED"`},
		{"chat at Google", "gemini", "POST", "/v1/chat/completions", chat, nil, 422, `"REHEARSE_MISS"`},
		{"models at Google", "gemini", "GET", "/v1/models", "", nil, 200, `"displayName"`},
		{"messages at OpenAI, by GET", "", "GET", "/v1/messages", "", nil, 405, `{"type":"error"`},
		{"no endpoint of Google", "", "GET", "/v1beta/files", "", nil, 404, `"NOT_FOUND"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Profile: tc.profile, Replies: []mockllm.Reply{{Say: "yes"}}}, nil)
			defer m.Close()
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			for _, name := range tc.header {
				r.Header.Set(name, "x")
			}
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d, want %d with %s in\n%s", w.Code, tc.status, tc.want, w.Body)
			}
		})
	}
}

func TestDialectsStop(t *testing.T) {
	script := mockllm.Script{Replies: []mockllm.Reply{{Say: "one END two"}}, Asides: []mockllm.Rule{{
		When: func(a *mockllm.Ask) (bool, error) { return a.User == "list", nil }, Reply: mockllm.Reply{Say: `["a"]`},
	}}}
	for _, tc := range []struct{ name, path, body, want string }{
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":50,"stop_sequences":["END"],"messages":[{"role":"user","content":"hi"}]}`, `"content":[{"type":"text","text":"one "}],"stop_reason":"stop_sequence","stop_sequence":"END"`},
		{"anthropic, the second of three", "/v1/messages", `{"model":"m","max_tokens":50,"stop_sequences":["two","END","EN"],"messages":[{"role":"user","content":"hi"}]}`, `"text":"one "}],"stop_reason":"stop_sequence","stop_sequence":"END"`},
		{"anthropic, streamed", "/v1/messages", `{"model":"m","max_tokens":50,"stream":true,"stop_sequences":["END"],"messages":[{"role":"user","content":"hi"}]}`, `"delta":{"stop_reason":"stop_sequence","stop_sequence":"END"`},
		{"anthropic, cut", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`, `"text":"one"}],"stop_reason":"max_tokens"`},
		{"gemini, cut", "/v1beta/models/m:generateContent", `{"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"text":"hi"}]}]}`, `"finishReason": "MAX_TOKENS"`},
		{"gemini, two", "/v1beta/models/m:generateContent", `{"generationConfig":{"candidateCount":2},"contents":[{"parts":[{"text":"hi"}]}]}`, `"index": 1`},
		{"gemini, no JSON", "/v1beta/models/m:generateContent", `{"generationConfig":{"responseMimeType":"application/json"},"contents":[{"parts":[{"text":"hi"}]}]}`, `"REHEARSE_SCRIPT"`},
		{"gemini, own schema", "/v1beta/models/m:generateContent", `{"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"ARRAY","nullable":true,"items":{"type":"STRING"}}},"contents":[{"parts":[{"text":"list"}]}]}`, `[\"a\"]`},
		{"gemini, not by its own schema", "/v1beta/models/m:generateContent", `{"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}},"contents":[{"parts":[{"text":"list"}]}]}`, `"REHEARSE_SCRIPT"`},
		{"anthropic, no JSON", "/v1/messages", `{"model":"m","max_tokens":50,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[{"role":"user","content":"hi"}]}`, `"rehearse_script"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scripted(t, script, nil)
			defer m.Close()
			if got := send(m, tc.path, tc.body).Body.String(); !strings.Contains(got, tc.want) {
				t.Errorf("want %s in\n%s", tc.want, got)
			}
		})
	}
}

// TestDialectsWords has refusals that a fault makes, as each provider says
// them.
func TestDialectsWords(t *testing.T) {
	const (
		messages = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
		generate = `{"contents":[{"parts":[{"text":"hi"}]}]}`
		stream   = "/v1beta/models/m:streamGenerateContent"
	)
	for _, tc := range []struct {
		kind       fault.Kind
		path, body string
		want       string
	}{
		{fault.ContextOverflow, "/v1/messages", messages, `"message":"prompt is too long: 10061 tokens \u003e 8192 maximum"`},
		{fault.ContextOverflow, "/v1beta/models/m:generateContent", generate, `The input token count (10061) exceeds the maximum number of tokens allowed (8192).`},
		{fault.Forbidden, "/v1/messages", messages, `"type":"permission_error"`},
		{fault.Forbidden, stream, generate, "[\n  {\n    \"error\": {\n      \"code\": 403"},
		{fault.JSONForStream, stream, generate, "{\n  \"candidates\""},
		{fault.SSEForPlain, "/v1beta/models/m:generateContent?alt=sse", generate, "data: {"},
	} {
		t.Run(string(tc.kind)+tc.path, func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "yes", Faults: []mockllm.Fault{{Kind: tc.kind}}}}}, nil)
			defer m.Close()
			if got := send(m, tc.path, tc.body).Body.String(); !strings.Contains(got, tc.want) {
				t.Errorf("want %s in\n%s", tc.want, got)
			}
		})
	}
}
