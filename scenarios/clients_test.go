// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// llmOf plays an llm file with turns.
func llmOf(t *testing.T, turns string) *mockllm.Mock {
	t.Helper()
	set, err := scenarios.Parse("w.yaml", []byte("llm: w\n"+turns), noEnv())
	if err != nil {
		t.Fatal(err)
	}
	m := newMock(t, set.LLMs[0].Script, nil)
	t.Cleanup(m.Close)
	return m
}

func post(m *mockllm.Mock, path, body string) (int, string) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b)
}

// userBodies are requests of each dialect whose user message has the parts.
func userBodies(parts ...string) map[string]string {
	list := func(format string) string {
		var out []string
		for _, p := range parts {
			out = append(out, fmt.Sprintf(format, quoted(p)))
		}
		return strings.Join(out, ",")
	}
	return map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":[` + list(`{"type":"text","text":%s}`) + `]}]}`,
		"/v1/responses":        `{"model":"m","input":[{"role":"user","content":[` + list(`{"type":"input_text","text":%s}`) + `]}]}`,
		"/v1/messages":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` + list(`{"type":"text","text":%s}`) + `]}]}`,
		"/v1beta/models/gemini-3-pro:generateContent": `{"contents":[{"role":"user","parts":[` + list(`{"text":%s}`) + `]}]}`,
	}
}

// TestUserOfClients: clients write more around what their user says.
func TestUserOfClients(t *testing.T) {
	for _, tc := range []struct {
		name, user string
		parts      []string
		want       string // of the miss; empty is found
	}{
		{"the text", `"Weather in Paris?"`, []string{"Weather in Paris?"}, ""},
		{"the last part", `"Weather in Paris?"`, []string{"<context>Saturday</context>", "Weather in Paris?"}, ""},
		{"the first part, with blanks", `"Weather in Paris?"`, []string{" Weather in Paris?\n", "(be brief)"}, ""},
		{"all parts", `"Weather in\nParis?"`, []string{"Weather in", "Paris?"}, ""},
		{"within a part", `"Weather in Paris?"`, []string{"<q>Weather in Paris?</q>"}, "one has the text of turn 1 among other words: user: {contains: ...} finds it there"},
		{"other letter case", `"Weather in Paris?"`, []string{"weather in paris?"}, "one has the text of turn 1 in other letter case"},
		{"contains", "{contains: in Paris}", []string{"<q>Weather in Paris?</q>"}, ""},
		{"contains over parts", "{contains: [Weather, Paris]}", []string{"Weather", "Paris"}, ""},
		{"contains not", "{contains: [Weather, Rome]}", []string{"Weather in Paris?"}, `user: a text with \"Weather\" and with \"Rome\"`},
		{"a pattern", `{regex: "(?i)^weather in [a-z]+"}`, []string{"Weather in Paris, please"}, ""},
		{"a pattern not", `{regex: "^weather$"}`, []string{"Weather in Paris?"}, `user: a text that matches \"^weather$\"`},
		{"both", `{contains: Paris, regex: "^W"}`, []string{"Weather in Paris?"}, ""},
		{"one of both", `{contains: Paris, regex: "^X"}`, []string{"Weather in Paris?"}, "no user message of the request is scripted"},
	} {
		for path, body := range userBodies(tc.parts...) {
			t.Run(tc.name+path, func(t *testing.T) {
				m := llmOf(t, "turns: [{user: "+tc.user+`, replies: [{say: "to {{user}}"}]}]`)
				status, got := post(m, path, body)
				switch {
				case tc.want == "" && (status != http.StatusOK || !strings.Contains(got, "to ")):
					t.Errorf("%d %s", status, got)
				case tc.want != "" && (status != http.StatusUnprocessableEntity || !strings.Contains(got, tc.want)):
					t.Errorf("%d %s\nwant a miss with %s", status, got, tc.want)
				}
			})
		}
	}
}

// TestUserOfLaterTurn: a message that begins a turn too early is not one that
// contains would find.
func TestUserOfLaterTurn(t *testing.T) {
	for said, want := range map[string]string{
		"And in Rome?":                "no user message of the request is scripted; one begins turn 2, and turn 1 comes before it",
		"Well. And in Rome?":          `no user message of the request is scripted\nexpected next: turn 1`,
		"Hello. Weather in Paris? Hm": "one has the text of turn 1 among other words",
	} {
		m := llmOf(t, `turns: [{user: "Weather in Paris?", replies: [{say: x}]}, {user: "And in Rome?", replies: [{say: y}]}]`)
		for path, body := range userBodies(said) {
			if status, got := post(m, path, body); status != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
				t.Errorf("%s: %d %s\nwant a miss with %s", said, status, got, want)
			}
		}
	}
}

// TestUserOfScenario: there the text is what is sent.
func TestUserOfScenario(t *testing.T) {
	const lane = "scenario: s\nlanes: [{lane: l, when: \"true\", turns: [{user: {contains: a}, replies: [{say: x}]}]}]\nturns:\n  - user: %s\n    replies: [{say: x}]\n    expect: [{answer: {equals: x}}]\n"
	if _, err := scenarios.Parse("s.yaml", fmt.Appendf(nil, lane, "a"), noEnv()); err != nil {
		t.Error(err)
	}
	_, err := scenarios.Parse("s.yaml", fmt.Appendf(nil, lane, "{contains: a}"), noEnv())
	if err == nil || !strings.Contains(err.Error(), `s.yaml:4:11: "user" needs a text`) {
		t.Errorf("error %v", err)
	}
	_, err = scenarios.Parse("w.yaml", []byte("llm: w\nturns: [{user: {matches: a}, replies: [{say: x}]}]\n"), noEnv())
	if err == nil || !strings.Contains(err.Error(), `did you mean "regex"?`) {
		t.Errorf("error %v", err)
	}
	_, err = scenarios.Parse("w.yaml", []byte("llm: w\nturns: [{user: {regex: \"(\"}, replies: [{say: x}]}]\n"), noEnv())
	if err == nil || !strings.Contains(err.Error(), `w.yaml:2:24: "(" is not a regular expression`) {
		t.Errorf("error %v", err)
	}
}

// TestResultsOfClients: an expression reads a result in every form in which
// clients hand it over, and a member of the tool's own before one of a client.
func TestResultsOfClients(t *testing.T) {
	const sunny = `{"sky":"sunny"}`
	for _, tc := range []struct{ name, say, content, want string }{
		{"json", "{{result.sky}}", quoted(sunny), "sunny"},
		{"json as a string", "{{result.sky}}", quoted(quoted(sunny)), "sunny"},
		{"parts", "{{result.sky}}", `[{"type":"text","text":` + quoted(sunny) + `}]`, "sunny"},
		{"a list of blocks", "{{result.sky}}", quoted(`[{"type":"text","text":` + quoted(sunny) + `}]`), "sunny"},
		{"a result around", "{{result.sky}}", quoted(`{"result":` + sunny + `}`), "sunny"},
		{"an output around", "{{result.sky}}", quoted(`{"output":` + quoted(sunny) + `}`), "sunny"},
		{"a line before", "{{result.sky}}", quoted("Found one:\n" + sunny), "sunny"},
		{"a result of the tool", "{{result.result}}", quoted(`{"result":5}`), "5"},
		{"an output of the tool", "{{result.output.sky}}", quoted(`{"output":` + sunny + `}`), "sunny"},
		{"all of a text", "{{result}}", quoted("Found one:\n" + sunny), "Found one:\n" + sunny},
		{"by name", "{{results('get_weather')[0].sky}}", quoted(`{"result":` + sunny + `}`), "sunny"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := llmOf(t, "turns: [{user: hi, replies: [{calls: [{get_weather: {city: Paris}}]}, {say: "+quoted(tc.say)+"}]}]")
			first := `{"role":"user","content":"hi"}`
			status, body := post(m, "/v1/chat/completions", `{"model":"m","messages":[`+first+`]}`)
			_, rest, _ := strings.Cut(body, `"tool_calls":[{"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			if status != http.StatusOK || id == "" {
				t.Fatalf("%d %s", status, body)
			}
			status, body = post(m, "/v1/chat/completions", `{"model":"m","messages":[`+first+
				`,{"role":"assistant","tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"`+id+`","content":`+tc.content+`}]}`)
			if status != http.StatusOK || !strings.Contains(body, `"content":`+quoted(tc.want)) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	m := llmOf(t, "turns: [{user: hi, replies: [{calls: [get_weather]}, {say: \"{{result.rain}}\"}]}]")
	_, body := post(m, "/v1/chat/completions", userBodies("hi")["/v1/chat/completions"])
	_, rest, _ := strings.Cut(body, `"tool_calls":[{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	status, body := post(m, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"`+id+
		`","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"`+id+`","content":`+quoted(`{"result":`+sunny+`}`)+`}]}`)
	if status != http.StatusInternalServerError || !strings.Contains(body, `rain`) {
		t.Errorf("a member that no reading has: %d %s", status, body)
	}
}

// newMock is a mock model without a socket.
func newMock(t testing.TB, script mockllm.Script, opts *mockllm.Options) *mockllm.Mock {
	t.Helper()
	m, err := mockllm.New(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
