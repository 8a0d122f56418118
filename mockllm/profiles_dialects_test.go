// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// TestProxyResponses checks what /v1/responses of each line of argo-proxy is
// known by.
func TestProxyResponses(t *testing.T) {
	call := Call{Tool: "search", Args: json.RawMessage(`{"q":"ATP"}`)}
	for _, tt := range []struct {
		profile     string
		has, hasNot []string
	}{
		{"argo-proxy-2.8.9", []string{`data: {"response":{"id":"resp_`, `"tools":[]`, `"delta":"I"`}, []string{"event:", "function_call", "[DONE]"}},
		{"argo-proxy-3.0", []string{
			`event: response.created`, `"id":"chatcmpl-`, `"item_id":"","output_index":0,"content_index":0,"delta":"I"`,
			`"output_index":0,"item":{"id":"call_`, `"user":"rehearse"`,
		}, []string{"response.in_progress", "[DONE]"}},
		{"argo-proxy-3.2", []string{`event: response.in_progress`, `"id":"resp_chatcmpl-`, `"output_index":1,"item":{"id":"call_`, `"completed_at":1`}, []string{"[DONE]", `"item_id":""`}},
		{"argo-proxy-3.3", []string{`"id":"resp_chatcmpl-`, `"output_index":1,"item":{"id":"call_`, "data: [DONE]"}, nil},
	} {
		t.Run(tt.profile, func(t *testing.T) {
			m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "I'll look.", Calls: []Call{call}}}}, nil)
			defer m.Close()
			status, _, text := askProfile(t, m, "/v1/responses", object{
				"model": "argo:gpt-4o", "stream": true, "input": []any{object{"role": "user", "content": "ATP?"}},
				"tools": []any{object{"type": "function", "name": "search", "parameters": object{"type": "object"}}},
			})
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, text)
			}
			contains(t, text, tt.has, tt.hasNot)
		})
	}
}

func contains(t *testing.T, text string, has, hasNot []string) {
	t.Helper()
	for _, s := range has {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
	for _, s := range hasNot {
		if strings.Contains(text, s) {
			t.Errorf("%q in\n%s", s, text)
		}
	}
}

// TestProxyGemini plays a call, its result and an answer by Gemini's routes,
// with ids of calls and without.
func TestProxyGemini(t *testing.T) {
	for profile, ids := range map[string]bool{"argo-proxy-3.0": false, "argo-proxy-3.1.0": false, "argo-proxy-3.2": true, "argo-proxy-3.3": true} {
		t.Run(profile, func(t *testing.T) {
			m := newMock(t, Script{Profile: profile, Replies: []Reply{{Calls: []Call{{Tool: "search", Args: json.RawMessage(`{"q":"ATP"}`)}}}, {Say: "It is ATP."}}}, nil)
			defer m.Close()
			const path = "/v1beta/models/argo:claude-opus-4.5"
			contents := []any{object{"role": "user", "parts": []any{object{"text": "ATP?"}}}}
			ask := func(method string) string {
				status, _, text := askProfile(t, m, path+method, object{
					"contents": contents, "tools": []any{object{"functionDeclarations": []any{object{"name": "search", "parameters": object{"type": "object"}}}}},
				})
				if status != http.StatusOK {
					t.Fatalf("status %d: %s", status, text)
				}
				return text
			}
			var reply struct {
				Candidates []struct{ Content any }
			}
			first := ask(":generateContent")
			if err := json.Unmarshal([]byte(first), &reply); err != nil || len(reply.Candidates) != 1 {
				t.Fatalf("%v: %s", err, first)
			}
			if got := strings.Contains(first, `"id":"toolu_vrtx_`); got != ids {
				t.Errorf("ids of calls: %t in %s", got, first)
			}
			if calls := m.Journal()[0].Answer.Calls; len(calls) != 1 || (calls[0].ID != "") != ids {
				t.Errorf("the journal has calls %+v", calls)
			}
			contents = append(contents, reply.Candidates[0].Content,
				object{"role": "user", "parts": []any{object{"functionResponse": object{"name": "search", "response": object{"result": "C10"}}}}})
			second := ask(":streamGenerateContent?alt=sse")
			contains(t, second, []string{`data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"It`, `"finishReason":"STOP"`}, []string{"[DONE]"})
			if err := m.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	m := newMock(t, Script{Profile: "argo-proxy-3.3", Replies: []Reply{{Say: "x"}}}, nil)
	defer m.Close()
	if status, _, text := askProfile(t, m, "/v1beta/models/argo:gpt-4o:countTokens", object{}); status != http.StatusBadRequest || !strings.Contains(text, `"code": 400`) {
		t.Errorf("countTokens: status %d: %s", status, text)
	}
}

// TestProxyErrorsOfPlainCalls checks that an error inside the stream that a
// proxy asks the gateway for strikes calls that are not streamed themselves, in
// every spelling.
func TestProxyErrorsOfPlainCalls(t *testing.T) {
	for _, profile := range []string{"argo-proxy-3.0", "argo-proxy-3.1", "argo-proxy-3.2"} {
		for _, form := range []string{"object", "anthropic", "spaced", "not_first", "event", "string", "no_message"} {
			f := Fault{Kind: fault.InStreamError, Form: form}
			m := newMock(t, Script{Profile: profile, Replies: []Reply{{Say: "It is ATP.", Faults: []Fault{f}}}}, nil)
			status, _, text := askProfile(t, m, "/v1/chat/completions", chatRequest("argo:claude-opus-4.5", false, object{"role": "user", "content": "ATP?"}))
			if status != http.StatusBadGateway {
				t.Errorf("%s, %s: status %d: %s", profile, form, status, text)
			}
			m.Close()
			f.At = fault.At{Token: 4}
			m = newMock(t, Script{Profile: profile, Replies: []Reply{{Say: "It is ATP, and that is that.", Faults: []Fault{f}}}}, nil)
			status, _, text = askProfile(t, m, "/v1/responses", object{"model": "argo:claude-opus-4.5", "input": "ATP?"})
			if status != http.StatusOK || !strings.Contains(text, `"text":"It is`) || strings.Contains(text, "that.") {
				t.Errorf("%s, %s, after half of the text: status %d: %s", profile, form, status, text)
			}
			m.Close()
		}
	}
}

// TestProxyErrorDocuments checks that where a proxy asks for a document, an
// error in its place is no reply either.
func TestProxyErrorDocuments(t *testing.T) {
	for _, tt := range []struct {
		profile, model string
		status         int
		text           string
	}{
		{"argo-proxy-3.3", "argo:claude-opus-4.5", 502, "Failed to parse upstream response"},
		{"argo-proxy-3.3", "argo:gpt-4o", 200, `"choices": []`},
		{"argo-proxy-3.1", "argo:gpt-4o", 200, `"choices": []`},
		{"argo-proxy-3.0", "argo:gpt-4o", 200, `"message":"Internal server error"`},
		{"argo-proxy-2.8.9", "argo:gpt-4o", 502, "upstream_no_response"},
	} {
		for _, form := range []string{"", "anthropic"} {
			m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "It is ATP.", Faults: []Fault{{Kind: fault.InStreamError, Form: form}}}}}, nil)
			status, _, text := askProfile(t, m, "/v1/chat/completions", chatRequest(tt.model, false, object{"role": "user", "content": "ATP?"}))
			if status != tt.status || !strings.Contains(text, tt.text) {
				t.Errorf("%s, %s, form %q: status %d: %s", tt.profile, tt.model, form, status, text)
			}
			m.Close()
		}
	}
}

// TestProxyRefusals checks what the releases themselves refuse.
func TestProxyRefusals(t *testing.T) {
	hello := []any{object{"role": "user", "content": "hello"}}
	for _, tt := range []struct {
		profile, path string
		body          object
		status        int
		text          string
	}{
		{"argo-proxy-2.8.9", "/v1/chat/completions", object{"model": "argo:gpt-4o", "messages": hello, "tools": object{}}, 200, ""},
		{"argo-proxy-3.0", "/v1/chat/completions", object{"model": "argo:gpt-4o", "messages": hello, "tools": "x"}, 200, ""},
		{"argo-proxy-3.0", "/v1/chat/completions", object{"model": "argo:claude-opus-4.5", "messages": hello, "tools": "x"}, 400, "Failed to parse request"},
		{"argo-proxy-3.1", "/v1/chat/completions", object{"model": "argo:gpt-4o", "messages": hello, "tools": "x"}, 400, "Failed to parse request"},
		{"argo-proxy-3.3", "/v1/messages", object{"model": "argo:gpt-4o", "messages": hello, "tools": object{"a": 1}}, 400, `{"type": "error", "error": {"type": "invalid_request_error"`},
		{"argo-proxy-3.3", "/v1beta/models/argo:gpt-4o:generateContent", object{"contents": nil}, 400, `"status": "INVALID_ARGUMENT"`},
		{"argo-proxy-3.2", "/v1/chat/completions", object{"model": "argo:gpt-4o", "messages": hello, "temperature": "hot"}, 400, "Expected float at 'generation.temperature', got str"},
		{"argo-proxy-3.2", "/v1/chat/completions", object{"model": 7, "messages": hello}, 500, "'int' object has no attribute 'strip'"},
		{"argo-proxy-3.2", "/v1/responses", object{"model": "argo:gpt-4o", "input": "hello", "tools": nil}, 502, "Failed to convert response"},
		{"argo-proxy-3.2", "/v1/embeddings", object{"input": "x"}, 200, `"embedding"`},
		{"argo-proxy-3.3", "/v1/embeddings", object{"input": "x"}, 400, "Missing 'model' in request body"},
		{"argo-proxy-3.3", "/v1/embeddings", object{"model": "v3small", "input": "x"}, 404, "model_not_found"},
		{"argo-proxy-2.8.9", "/v1/embeddings", object{"model": "argo:text-embedding-3-large", "input": "x", "encoding_format": "base64"}, 200, `"embedding":[`},
		{"argo-proxy-2.8.9", "/v1/embeddings", object{"model": "v3small"}, 400, "Expected 'input'"},
		{"argo-proxy-2.8.9", "/v1/completions", object{"model": "argo:gpt-4o", "prompt": []any{"a", "b"}}, 200, `"object":"text_completion"`},
		{"argo-proxy-3.0", "/v1/completions", object{"model": "argo:gpt-4o", "prompt": "a"}, 404, "404: Not Found"},
		{"argo-proxy-2.8.9", "/v1/messages", object{"model": "argo:gpt-4o", "messages": hello}, 404, "404: Not Found"},
	} {
		m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "Hello."}}}, nil)
		status, _, text := askProfile(t, m, tt.path, tt.body)
		if status != tt.status || !strings.Contains(text, tt.text) {
			t.Errorf("%s, %s with %v: status %d, want %d and %q: %s", tt.profile, tt.path, tt.body, status, tt.status, tt.text, text)
		}
		m.Close()
	}
}

// TestProxyCompletions checks that a stream of completions says in each chunk
// why it ended, under an id of its own, and has no end.
func TestProxyCompletions(t *testing.T) {
	m := newMock(t, Script{Profile: "argo-proxy-2.8.9", Replies: []Reply{{Say: "It is ATP."}}}, nil)
	defer m.Close()
	_, _, text := askProfile(t, m, "/v1/completions", object{"model": "argo:gpt-4o", "prompt": "x", "stream": true})
	chunks := strings.Split(strings.TrimSpace(text), "\n\n")
	ids := map[string]bool{}
	for i, c := range chunks {
		var chunk struct {
			ID, Object string
			Choices    []struct {
				Finish string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(c, "data: ")), &chunk); err != nil {
			t.Fatalf("%v: %s", err, c)
		}
		ids[chunk.ID] = true
		last := i == len(chunks)-1
		if (chunk.Object == "completion") != last || len(chunk.Choices) != 0 == last || !last && chunk.Choices[0].Finish != "stop" {
			t.Errorf("chunk %d of %d: %s", i, len(chunks), c)
		}
	}
	if len(ids) != len(chunks) {
		t.Errorf("%d chunks have %d ids", len(chunks), len(ids))
	}
}

// TestProxyOptions checks the answers to OPTIONS, which a browser asks first.
func TestProxyOptions(t *testing.T) {
	for profile, want := range map[string]int{"argo-proxy-3.3": http.StatusNoContent, "argo-proxy-3.2": http.StatusMethodNotAllowed} {
		m := newMock(t, Script{Profile: profile, Replies: []Reply{{Say: "x"}}}, nil)
		req, err := http.NewRequest(http.MethodOptions, m.Root+"/v1/chat/completions", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: m.Transport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if cors := res.Header.Get("Access-Control-Allow-Methods") == "*"; res.StatusCode != want || cors != (want == http.StatusNoContent) {
			t.Errorf("%s: status %d, header %v", profile, res.StatusCode, res.Header)
		}
		m.Close()
	}
}

// TestOldEmbeddings: the old endpoint answers several texts with a vector each.
func TestOldEmbeddings(t *testing.T) {
	m := newMock(t, Script{Profile: "argo-proxy-2.8.9"}, nil)
	defer m.Close()
	status, _, text := askProfile(t, m, "/v1/embed", object{"model": "argo:text-embedding-3-small", "prompt": []any{"a", "b", "a"}})
	var got struct{ Embedding [][]float64 }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, text)
	}
	if v := got.Embedding; len(v) != 3 || len(v[0]) == 0 || !slices.Equal(v[0], v[2]) || slices.Equal(v[0], v[1]) {
		t.Errorf("%d vectors: %s", len(v), text)
	}
}

// TestProxyEmbeddingsFault: a fault that strikes anywhere strikes vectors too.
func TestProxyEmbeddingsFault(t *testing.T) {
	for _, tt := range []struct{ profile, path, model, key string }{
		{"argo-proxy-3.3", "/v1/embeddings", "argo:text-embedding-3-small", "input"}, {"argo-proxy-2.8.9", "/v1/embed", "argo:text-embedding-3-small", "prompt"},
	} {
		m := newMock(t, Script{Profile: tt.profile, Replies: []Reply{{Say: "Hello."}}, Faults: []Fault{{Kind: fault.ServerError}}}, nil)
		for i, failed := range []bool{true, false} {
			status, _, text := askProfile(t, m, tt.path, object{"model": tt.model, tt.key: []any{"x"}})
			if (status != http.StatusOK) != failed || strings.Contains(text, `"embedding`) == failed {
				t.Errorf("%s, request %d: status %d: %s", tt.profile, i+1, status, text)
			}
		}
		m.Close()
	}
}

// TestProxyRole: what argo-proxy 3.0 hands on says the role in a chunk of its
// own, unless the reply is nothing but calls.
func TestProxyRole(t *testing.T) {
	for name, tt := range map[string]struct {
		reply Reply
		says  string // in the first chunk with the role
	}{
		"text":    {Reply{Say: "Hi."}, ""},
		"refusal": {Reply{Refusal: "Hi."}, ""},
		"call":    {Reply{Calls: []Call{{Tool: "search"}}}, "search"},
	} {
		m := newMock(t, Script{Profile: "argo-proxy-3.0", Replies: []Reply{tt.reply}}, nil)
		status, _, text := askProfile(t, m, "/v1/chat/completions", chatRequest("argo:gpt-4o", true, object{"role": "user", "content": "hi"}))
		first := ""
		for line := range strings.Lines(text) {
			if strings.Contains(line, `"role":"assistant"`) {
				first = line
				break
			}
		}
		if own := !strings.Contains(first, "Hi") && !strings.Contains(first, "search"); status != http.StatusOK || first == "" || own != (tt.says == "") {
			t.Errorf("%s: status %d, the role is in %q of\n%s", name, status, first, text)
		}
		m.Close()
	}
}

// TestToldArguments: a call whose id a client does not keep is known by its
// arguments, however they are spelled.
func TestToldArguments(t *testing.T) {
	told := toldCalls{calls: []harness.ToolCall{{ID: "a", Name: "f", Arguments: `{"n":1.0,"s":"x"}`}}}
	for args, want := range map[string]bool{
		`{"n":1.0,"s":"x"}`: true, `{ "s": "x", "n": 1 }`: true, `{"n":2,"s":"x"}`: false, `{"n":1.0}`: false, `{"n":`: false, "": false,
	} {
		if got := told.matches([]harness.ToolCall{{Name: "f", Arguments: args}}, true); (got != nil) != want {
			t.Errorf("%s matches as %v, want %v", args, got, want)
		}
	}
}
