// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"context"
	"encoding/json"
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
		{"server.tool", `{"calls": [{"weather.get_weather": {"city": "Paris"}}]}`, 200, `"passed":true`},
		{"server.tool with a wrong argument", `{"calls": [{"weather.get_weather": {"city": "Rome"}}]}`, 200, `"passed":false`},
		{"another tool of the server", `{"calls": ["weather.get_time"]}`, 200, `missing call weather.get_time`},
		{"wrong argument", `{"calls": [{"get_weather": {"city": "Rome"}}]}`, 200, `"passed":false`},
		{"call too many", `{"calls": []}`, 200, `"passed":false`},
		{"extra", `{"calls": [], "extra": true}`, 200, `"passed":true`},
		{"requests", `{"requests": [{"kind": "reply"}, {"status": 200, "answer": {"text": "Sunny."}}]}`, 200, `"passed":true`},
		{"request of its own", `{"requests": [{"answer": {"text": "Sunny."}}], "extra": true}`, 200, `"passed":true`},
		{"requests differ", `{"requests": [{}, {"status": 429}]}`, 200, `request 2 is not as expected: requests[1].status: want 429, got 200`},
		{"none fits", `{"requests": [{"status": 429}], "extra": true}`, 200, `no request fits requests[0]`},
		{"the nearest is the last", `{"requests": [{"status": 429, "answer": {"text": "Sunny."}}], "extra": true}`, 200, `no request fits requests[0]: requests[0].status: want 429, got 200"`},
		{"the nearest is the first", `{"requests": [{"status": 429, "answer": {"text": {"$absent": true}}}], "extra": true}`, 200, `no request fits requests[0]: requests[0].status: want 429, got 200"`},
		{"the first of two that are as near", `{"requests": [{"answer": {"text": "Rainy."}}], "extra": true}`, 200, `no request fits requests[0]: requests[0].answer.text: missing: want \"Rainy.\", got absent"`},
		{"number of requests", `{"requests": []}`, 200, `want 0 requests, got 2`},
		{"done", `{"done": true, "order": "any"}`, 200, `"passed":true`},
		{"not done", `{"done": false}`, 200, `"passed":false`},
		{"order of scenarios", `{"calls": ["get_weather"], "order": "any_order"}`, 200, `"passed":true`},
		{"all of them", `{"done": true, "calls": []}`, 200, `{"passed":false`},
		{"no JSON", `{`, 400, "not JSON"},
		{"no object", `[]`, 400, "is an object"},
		{"nothing", `{}`, 400, "claims nothing"},
		{"unknown key", `{"thatt": "true"}`, 400, "thatt: unknown key"},
		{"bad expression", `{"that": "journal.model_calls ="}`, 400, "that: "},
		{"unknown name", `{"that": "jurnal.model_calls == 1"}`, 400, "that: "},
		{"bad call", `{"calls": [{"a": {}, "b": {}}]}`, 400, "calls: [0]"},
		{"bad operator", `{"calls": [{"a": {"$regexx": "x"}}]}`, 400, "calls: [0]"},
		{"unknown key of a request", `{"requests": [{"staus": 200}]}`, 400, `requests: [0]: an exchange of the journal has no key \"staus\" (did you mean \"status\"?)`},
		{"unknown key of an answer", `{"requests": [{}, {"answer": {"txt": {"$absent": true}}}]}`, 400, `requests: [1]: an exchange of the journal.answer has no key \"txt\"`},
		{"unknown key of a message", `{"requests": [{"request": {"messages": [{"role": "user", "textt": "hi"}]}}]}`, 400, `an exchange of the journal.request.messages[0] has no key \"textt\"`},
		{"operators and schemas", `{"requests": [{"status": {"$number": {"value": 200}}, "request": {"tools": [{"schema": {"anything": {"$absent": true}}}]}}], "extra": true}`, 200, `"passed":true`},
		{"unknown keys beside", `{"done": true, "extras": true}`, 400, "extras: unknown key"},
		{"bad order", `{"calls": [], "order": "some"}`, 400, "order: want strict or any"},
		{"bad done", `{"done": 1}`, 400, "done: want true or false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client{t, c.s}.want(tc.status, tc.part, "POST", "/rehearse/verify", tc.body)
		})
	}
	c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "trajectory.all(c, c.executed && !c.unasked)"}`)
	c.want(200, `[]`, "GET", "/t/other/rehearse/journal", "") // a look begins nothing
	c.want(200, `"ok":false`, "GET", "/t/other/rehearse/expectations", "")
	for _, claim := range []string{`{"done": true}`, `{"calls": []}`, `{"that": "trajectory.size() == 0"}`} {
		c.want(404, `no conversation \"other\" has begun`, "POST", "/t/other/rehearse/verify", claim)
	}
	c.ask("POST", "/t/other/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	c.want(200, "never asked for: turn 1, reply 2", "POST", "/t/other/rehearse/verify", `{"done": true}`)
	c.want(404, `did you mean \"other\"?`, "POST", "/t/othr/rehearse/verify", `{"calls": []}`)
}

// TestVerifyUnclear: an assertion on a name that could be any of two tools
// fails, whichever was called, and says so.
func TestVerifyUnclear(t *testing.T) {
	c := open(t, mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "search"}}}}}, nil)
	tools := `"tools":[{"type":"function","function":{"name":"kit_search"}},{"type":"function","function":{"name":"search"}}]`
	c.want(200, `"name":"search"`, "POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"}]}`)
	c.want(200, `{"passed":false,"checks":[{"check":"calls","passed":false,"message":"request 1: tool \"kit.search\" could be any of \"kit_search\", \"search\"`,
		"POST", "/rehearse/verify", `{"calls": ["kit.search"], "extra": true}`)
	c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"calls": ["search"]}`)
}

// TestHostileVerify claims what takes for ever to judge: it is undecided, and
// given up when nobody waits for it.
func TestHostileVerify(t *testing.T) {
	c := open(t, mockllm.Script{Replies: []mockllm.Reply{{Say: "hi"}}}, nil)
	c.want(200, "hi", "POST", "/v1/chat/completions", chat)
	loops := strings.Repeat("[0,1,2,3,4,5,6,7,8,9].all(a, ", 10) + "a + journal.model_calls >= 0" + strings.Repeat(")", 10)
	quoted := strings.ReplaceAll(loops, "journal.model_calls", "1")
	for name, body := range map[string]string{
		"that":     `{"that": "` + loops + `"}`,
		"requests": `{"requests": [{"status": {"$that": "` + quoted + `"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			client{t, c.s}.want(200, `"passed":false,"undecided":true`, "POST", "/rehearse/verify", body)
			ctx, leave := context.WithCancel(t.Context())
			leave()
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/rehearse/verify", strings.NewReader(body)).WithContext(ctx)
			r.Header.Set("Content-Type", "application/json")
			c.s.ServeHTTP(w, r)
			if got := w.Body.String(); !strings.Contains(got, "given up: ") && !strings.Contains(got, "context canceled") {
				t.Errorf("nobody waits, and the answer is %s", got)
			}
		})
	}
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
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		s.ServeHTTP(w, r)
		return strings.TrimSpace(w.Body.String())
	}
	post("/t/my-test/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	fmt.Println(post("/t/my-test/rehearse/verify", `{"that": "journal.model_calls == 1"}`))
	// Output: {"passed":true,"checks":[{"check":"that","passed":true}]}
}

// TestVerifyResults: what a client writes around a result is not the tool's.
func TestVerifyResults(t *testing.T) {
	for name, result := range map[string]string{
		"whole":   `{"content":[{"type":"text","text":"{\"sky\":\"clear\"}"}]}`,
		"tags":    "<untrusted_context>\n{\"sky\":\"clear\"}\n</untrusted_context>",
		"seconds": "Wall time: 0.1 seconds\nOutput:\n{\"sky\":\"clear\"}",
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "get_weather"}}}, {Say: "Clear."}}}, nil)
			tools := `"tools":[{"type":"function","function":{"name":"get_weather"}}]`
			_, first := c.ask("POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"}]}`)
			_, id, _ := strings.Cut(first, `"id":"call_`)
			id, _, _ = strings.Cut(id, `"`)
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			c.want(200, "Clear.", "POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"},
				{"role":"assistant","content":null,"tool_calls":[{"id":"call_`+id+`","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"call_`+id+`","content":`+string(text)+`}]}`)
			c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "results('get_weather')[0].sky == 'clear'"}`)
		})
	}
}

// TestVerifyNames: that and calls know a tool by the same names, whatever the
// client offers it as.
func TestVerifyNames(t *testing.T) {
	for _, tt := range []struct{ scripted, offered string }{
		{"kit.note", "kit__note"}, {"kit.note", "mcp__kit__note"}, {"kit.note", "note"}, {"note", "kit__note"}, {"note", "mcp_kit_note"},
	} {
		t.Run(tt.scripted+" as "+tt.offered, func(t *testing.T) {
			c := open(t, mockllm.Script{Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: tt.scripted}}}, {Say: "Kept."}}}, nil)
			tools := fmt.Sprintf(`"tools":[{"type":"function","function":{"name":%q}},{"type":"function","function":{"name":"other"}}]`, tt.offered)
			_, first := c.ask("POST", "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"hi"}]}`)
			_, id, _ := strings.Cut(first, `"id":"call_`)
			id, _, _ = strings.Cut(id, `"`)
			c.want(200, "Kept.", "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"m",%s,"messages":[{"role":"user","content":"hi"},
				{"role":"assistant","content":null,"tool_calls":[{"id":"call_%s","type":"function","function":{"name":%q,"arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"call_%[2]s","content":"{\"n\":1}"}]}`, tools, id, tt.offered))
			for _, name := range []string{"kit.note", "note", tt.offered} {
				c.want(200, `"passed":true`, "POST", "/rehearse/verify", fmt.Sprintf(`{"calls": [%q]}`, name))
				c.want(200, `"passed":true`, "POST", "/rehearse/verify", fmt.Sprintf(`{"that": "results('%s').map(r, r.n) == [1]"}`, name))
			}
			c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "trajectory.map(c, c.name) == ['kit.note'] && trajectory[0].tool == 'note' && trajectory[0].server == 'kit' && trajectory[0].offered == '`+tt.offered+`'"}`)
			c.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "results('kit.other').size() == 0 && results('other').size() == 0"}`)
		})
	}
}
