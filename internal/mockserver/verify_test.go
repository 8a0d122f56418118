// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// TestVerify asserts over a conversation of one tool call.
func TestVerify(t *testing.T) {
	c := open(t, mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]string{"city": "Paris"}}}},
		{Say: "Sunny."},
	}}, nil)
	tools := `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{}}}}]`
	_, first := c.ask("POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"}]}`)
	_, id, _ := strings.Cut(first, `"id":"call_`)
	id, _, _ = strings.Cut(id, `"`)
	c.want(200, "Sunny.", "POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_`+id+`","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},
		{"role":"tool","tool_call_id":"call_`+id+`","content":"{\"sky\":\"clear\"}"}]}`)
	for _, tc := range []struct {
		name, body string
		status     int
		part       string
	}{
		{"that", `{"that": "journal.model_calls == 2 && trajectory[0].args.city == 'Paris'"}`, 200, `{"passed":true,"checks":[{"check":"that","passed":true}]}`},
		{"results", `{"that": "results('get_weather')[0].sky == 'clear' && journal.tool_calls == 1"}`, 200, `"passed":true`},
		{"that fails", `{"that": "journal.model_calls == 3"}`, 200, `{"passed":false,"checks":[{"check":"that","passed":false,"message":"journal.model_calls == 3 does not hold`},
		{"calls", `{"calls": [{"get_weather": {"city": {"$regex": "^P"}}}]}`, 200, `"passed":true`},
		{"name alone", `{"calls": ["get_weather"]}`, 200, `"passed":true`},
		{"wrong argument", `{"calls": [{"get_weather": {"city": "Rome"}}]}`, 200, `"passed":false`},
		{"call too many", `{"calls": []}`, 200, `"passed":false`},
		{"extra", `{"calls": [], "extra": true}`, 200, `"passed":true`},
		{"requests", `{"requests": [{"kind": "reply"}, {"status": 200, "answer": {"text": "Sunny."}}]}`, 200, `"passed":true`},
		{"request of its own", `{"requests": [{"answer": {"text": "Sunny."}}], "extra": true}`, 200, `"passed":true`},
		{"requests differ", `{"requests": [{}, {"status": 429}]}`, 200, `request 2 is not as expected: requests[1].status: want 429, got 200`},
		{"none fits", `{"requests": [{"status": 429}], "extra": true}`, 200, `no request fits requests[0]`},
		{"number of requests", `{"requests": []}`, 200, `want 0 requests, got 2`},
		{"done", `{"done": true, "order": "any"}`, 200, `"passed":true`},
		{"not done", `{"done": false}`, 200, `"passed":false`},
		{"order of scenarios", `{"calls": ["get_weather"], "order": "any_order"}`, 200, `"passed":true`},
		{"all of them", `{"done": true, "calls": []}`, 200, `{"passed":false`},
		{"no JSON", `{`, 400, "not JSON"},
		{"no object", `[]`, 400, "is an object"},
		{"nothing", `{}`, 400, "claims nothing"},
		{"unknown key", `{"thatt": "true"}`, 400, "thatt: no such key"},
		{"bad expression", `{"that": "journal.model_calls ="}`, 400, "that: "},
		{"unknown name", `{"that": "jurnal.model_calls == 1"}`, 400, "that: "},
		{"bad call", `{"calls": [{"a": {}, "b": {}}]}`, 400, "calls: [0]"},
		{"bad operator", `{"calls": [{"a": {"$regexx": "x"}}]}`, 400, "calls: [0]"},
		{"unknown key of a request", `{"requests": [{"staus": 200}]}`, 400, `requests: [0]: an exchange of the journal has no key \"staus\" (did you mean \"status\"?)`},
		{"unknown key of an answer", `{"requests": [{}, {"answer": {"txt": {"$absent": true}}}]}`, 400, `requests: [1]: an exchange of the journal.answer has no key \"txt\"`},
		{"unknown key of a message", `{"requests": [{"request": {"messages": [{"role": "user", "textt": "hi"}]}}]}`, 400, `an exchange of the journal.request.messages[0] has no key \"textt\"`},
		{"operators and schemas", `{"requests": [{"status": {"$number": {"value": 200}}, "request": {"tools": [{"schema": {"anything": {"$absent": true}}}]}}], "extra": true}`, 200, `"passed":true`},
		{"unknown keys beside", `{"done": true, "extras": true}`, 400, "extras: no such key"},
		{"bad order", `{"calls": [], "order": "some"}`, 400, "order: want strict or any"},
		{"bad done", `{"done": 1}`, 400, "done: want true or false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client{t, c.s}.want(tc.status, tc.part, "POST", "/rehearse/verify", tc.body)
		})
	}
	c.want(200, "never asked for: turn 1, reply 1", "POST", "/t/other/rehearse/verify", `{"done": true}`)
}

// FuzzVerify wants an answer of 200 or 400 to whatever is claimed.
func FuzzVerify(f *testing.F) {
	for _, seed := range []string{
		`{"that": "true"}`, `{"calls": ["a", {"b": {"x": {"$any_of": [1]}}}], "order": "any"}`,
		`{"requests": [{"status": {"$number": {"value": 1}}}], "extra": true}`, `{"done": true}`, `{`, `null`,
	} {
		f.Add(seed)
	}
	s, err := mockserver.New(says("x"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, body string) {
		if status, text := (client{t, s}).ask("POST", "/rehearse/verify", body); status != 200 && status != 400 {
			t.Errorf("%d %s", status, text)
		}
	})
}

// Each test takes a base URL of its own, and asks afterwards how it went.
func Example() {
	s, err := mockserver.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "Sunny."}}}, nil)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	post := func(path, body string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		return strings.TrimSpace(w.Body.String())
	}
	post("/t/my-test/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	fmt.Println(post("/t/my-test/rehearse/verify", `{"that": "journal.model_calls == 1"}`))
	// Output: {"passed":true,"checks":[{"check":"that","passed":true}]}
}
