// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps a conversation as an agent would.
type client struct {
	t        *testing.T
	http     *http.Client
	url      string
	model    string
	tools    []string // function names
	messages []map[string]any
}

func newClient(t *testing.T, m *mockllm.Mock, tools ...string) *client {
	t.Helper()
	t.Cleanup(m.Close)
	return &client{t: t, http: &http.Client{Transport: m.Transport()}, url: m.URL, model: "gpt-4o", tools: tools}
}

func (c *client) say(role, text string) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": text})
}

func (c *client) result(id, text string) {
	c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": id, "content": text})
}

// answer is what a test looks at in an answer.
type answer struct {
	status int
	text   string
	calls  []harness.ToolCall
	err    string // type of the error
	msg    string // its message
	header http.Header
}

// ask sends the conversation, and adds the reply to it.
func (c *client) ask() answer {
	c.t.Helper()
	a, message := c.send()
	if message != nil {
		c.messages = append(c.messages, message)
	}
	return a
}

// send sends the conversation.
func (c *client) send() (answer, map[string]any) {
	c.t.Helper()
	body := map[string]any{"model": c.model, "messages": c.messages}
	if c.tools != nil {
		var tools []any
		for _, name := range c.tools {
			tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
				"name": name, "parameters": map[string]any{"type": "object", "properties": map[string]any{"location": map[string]any{"type": "string"}}},
			}})
		}
		body["tools"] = tools
	}
	b, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.http.Post(c.url+"/chat/completions", "application/json", strings.NewReader(string(b)))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var r struct {
		Choices []struct{ Message map[string]any }
		Error   struct{ Type, Message string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		c.t.Fatalf("%s: %v", raw, err)
	}
	a := answer{status: resp.StatusCode, err: r.Error.Type, msg: r.Error.Message, header: resp.Header}
	if r.Choices == nil {
		return a, nil
	}
	message := r.Choices[0].Message
	a.text, _ = message["content"].(string)
	calls, _ := message["tool_calls"].([]any)
	for _, call := range calls {
		f := call.(map[string]any)["function"].(map[string]any)
		a.calls = append(a.calls, harness.ToolCall{ID: call.(map[string]any)["id"].(string), Name: f["name"].(string), Arguments: f["arguments"].(string)})
	}
	return a, message
}

func weather() mockllm.Reply {
	return mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}}
}

func say(text string) mockllm.Reply { return mockllm.Reply{Say: text} }

// kinds lists the journal as "kind status turn.reply/attempt flags".
func kinds(m *mockllm.Mock) []string {
	var out []string
	for _, x := range m.Journal() {
		s := fmt.Sprintf("%s %d %d.%d/%d", x.Kind, x.Status, x.Turn, x.Reply, x.Attempt)
		for _, f := range []struct {
			name string
			on   bool
		}{{"delivered", x.Delivered}, {"repeated", x.Repeated}, {"compacted", x.Compacted}, {x.Fault, x.Fault != ""}} {
			if f.on {
				s += " " + f.name
			}
		}
		out = append(out, s)
	}
	return out
}

func wantJournal(t *testing.T, m *mockllm.Mock, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, kinds(m)); d != "" {
		t.Errorf("journal (-want +got):\n%s", d)
	}
}

func wantText(t *testing.T, a answer, want string) {
	t.Helper()
	if a.status != http.StatusOK || a.text != want {
		t.Errorf("got %d %q %s: %s, want %q", a.status, a.text, a.err, a.msg, want)
	}
}

func wantMiss(t *testing.T, a answer, parts ...string) {
	t.Helper()
	if a.status != http.StatusUnprocessableEntity || a.err != "rehearse_miss" {
		t.Fatalf("got %d %s %q, want a miss", a.status, a.err, a.text)
	}
	if got := a.header.Get("X-Should-Retry"); got != "false" {
		t.Errorf("x-should-retry is %q", got)
	}
	for _, p := range parts {
		if !strings.Contains(a.msg, p) {
			t.Errorf("the miss does not say %q:\n%s", p, a.msg)
		}
	}
}

func TestTwoTurns(t *testing.T) {
	m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "Weather in Paris?", Replies: []mockllm.Reply{weather(), say("Sunny.")}},
		{User: "And tomorrow?", Replies: []mockllm.Reply{say("Rain.")}},
	}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("system", "Be short.")
	c.say("user", "Weather in Paris?")
	a := c.ask()
	if len(a.calls) != 1 || a.calls[0].Name != "get_weather" || a.calls[0].Arguments != `{"location":"Paris"}` {
		t.Fatalf("got %+v", a)
	}
	c.result(a.calls[0].ID, "21C")
	wantText(t, c.ask(), "Sunny.")
	c.say("user", "And tomorrow?")
	wantText(t, c.ask(), "Rain.")
	wantJournal(t, m, "reply 200 1.1/1 delivered", "reply 200 1.2/1 delivered", "reply 200 2.1/1 delivered")
	if err := m.Err(); err != nil {
		t.Error(err)
	}
	if r := m.Remaining(); r != nil {
		t.Errorf("remaining: %v", r)
	}
	last := m.Journal()[2]
	if n := len(last.Request.Messages); n != 6 {
		t.Errorf("the last request has %d messages", n)
	}
	if !json.Valid(last.Body) {
		t.Errorf("body: %s", last.Body)
	}
	if u := last.Usage; u.PromptTokens == 0 || u.CompletionTokens != 2 {
		t.Errorf("usage: %+v", u)
	}
}

func TestBareReplies(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{say("One."), say("Two.")}}, nil)
	c := newClient(t, m)
	c.say("user", "a")
	wantText(t, c.ask(), "One.")
	c.say("user", "b")
	wantText(t, c.ask(), "Two.")
	c.say("user", "c")
	wantMiss(t, c.ask(), "all 2 replies of turn 1 were given", "the script is used up")
}

// TestBareReplyThatIsCut: where users' texts do not matter, a reply that was not
// delivered is no answer that another request could follow.
func TestBareReplyThatIsCut(t *testing.T) {
	cut := say("One two three.")
	cut.Faults = []mockllm.Fault{{Kind: fault.Cut}}
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{cut, say("Four.")}}, nil)
	res, err := (&http.Client{Transport: m.Transport()}).Post(m.URL+"/chat/completions", "application/json", strings.NewReader(chatBody("m", "a", `,"stream":true`)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if err == nil {
		t.Fatal("the reply is whole")
	}
	c := newClient(t, m)
	c.say("user", "b")
	wantMiss(t, c.ask(), "the request differs from the one asked before at turn 1, reply 1, whose reply was not delivered")
}

func TestRetry(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{weather(), say("Sunny.")}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	first, _ := c.send()
	again, _ := c.send()
	if d := cmp.Diff(first.calls, again.calls); d != "" {
		t.Errorf("another reply (-first +second):\n%s", d)
	}
	third, _ := c.send()
	wantMiss(t, third, "answered twice already at turn 1, reply 1")
	wantJournal(t, m, "reply 200 1.1/1 delivered", "reply 200 1.1/2 delivered repeated", "miss 422 0.0/0")
}

func TestRateLimit(t *testing.T) {
	reply := say("Sunny.")
	reply.Faults = []mockllm.Fault{{Kind: mockllm.RateLimit, RetryAfter: 1500e6, Times: 2}}
	for _, arrival := range []bool{false, true} {
		t.Run(fmt.Sprintf("arrival=%v", arrival), func(t *testing.T) {
			m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{reply}, Arrival: arrival}, nil)
			c := newClient(t, m)
			c.say("user", "Weather?")
			for range 2 {
				a, _ := c.send()
				if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "2" || a.header.Get("Retry-After-Ms") != "1500" {
					t.Errorf("got %d %v", a.status, a.header)
				}
			}
			wantText(t, c.ask(), "Sunny.")
			wantJournal(t, m, "reply 429 1.1/1 rate_limit", "reply 429 1.1/2 rate_limit", "reply 200 1.1/3 delivered")
		})
	}
}

func TestOtherMessages(t *testing.T) {
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather"}}, Pos: harness.Position{File: "weather.yaml", Line: 5}},
		{Say: "Sunny.", Pos: harness.Position{File: "weather.yaml", Line: 7}},
	}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("system", "It is 10:00.")
	c.say("user", "Weather?")
	c.send()
	c.messages[0]["content"] = "It is 10:01."
	a, _ := c.send()
	wantMiss(t, a, "get_weather (call_", "has no result in the request", "expected next: turn 1, reply 2 (weather.yaml:7)",
		"- system: It is 10:00.", "+ system: It is 10:01.")
}

func TestUserTextNotScripted(t *testing.T) {
	m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{{User: "Weather in Paris?", Replies: []mockllm.Reply{say("Sunny.")}}}}, nil)
	c := newClient(t, m)
	c.say("user", "Weather in Rome?")
	a, _ := c.send()
	wantMiss(t, a, "no user message of the request is scripted", "- user: Weather in Paris?", "+ user: Weather in Rome?")
	if r := m.Remaining(); len(r) != 1 {
		t.Errorf("remaining: %v", r)
	}
	m.BeginTurn(1)
	wantText(t, c.ask(), "Sunny.")
}

func TestObservations(t *testing.T) {
	m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "Weather?", Replies: []mockllm.Reply{
			weather(),
			{Func: func(a *mockllm.Ask) (mockllm.Reply, error) {
				return say("It is " + string(a.Calls[0].Result)), nil
			}},
		}},
		{User: "Thanks", Replies: []mockllm.Reply{say("Bye.")}},
	}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	c.send()
	c.say("assistant", "Calling get_weather")
	c.say("user", "Observation: 21C")
	wantText(t, c.ask(), `It is "Observation: 21C"`)
	c.say("user", "Thanks")
	wantText(t, c.ask(), "Bye.")
}

func TestCompaction(t *testing.T) {
	for _, runner := range []bool{false, true} {
		t.Run(fmt.Sprintf("runner=%v", runner), func(t *testing.T) {
			m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{
				{User: "Weather?", Replies: []mockllm.Reply{weather(), weather(), say("Sunny.")}},
				{User: "More", Replies: []mockllm.Reply{say("Rain.")}},
			}}, nil)
			if runner {
				m.BeginTurn(1)
			}
			c := newClient(t, m, "get_weather")
			c.say("user", "Weather?")
			a := c.ask()
			c.result(a.calls[0].ID, "21C")
			c.ask()
			c.messages = nil
			c.say("user", "Summary: asked twice for the weather, it is 21C.")
			wantText(t, c.ask(), "Sunny.")
			if runner {
				m.BeginTurn(2)
			}
			c.say("user", "More")
			wantText(t, c.ask(), "Rain.")
			wantJournal(t, m, "reply 200 1.1/1 delivered", "reply 200 1.2/1 delivered",
				"reply 200 1.3/1 delivered compacted", "reply 200 2.1/1 delivered")
		})
	}
}

func TestAsidesAndRules(t *testing.T) {
	isTitle := func(a *mockllm.Ask) (bool, error) {
		return len(a.Request.Tools) == 0 && strings.Contains(a.Request.Messages[0].Text, "title"), nil
	}
	isPing := func(a *mockllm.Ask) (bool, error) {
		return strings.Contains(a.Request.Messages[len(a.Request.Messages)-1].Text, "ping"), nil
	}
	m := scripted(t, mockllm.Script{
		Asides:  []mockllm.Rule{{When: isTitle, Reply: say("Weather in Paris")}},
		Turns:   []mockllm.Turn{{User: "Weather?", Replies: []mockllm.Reply{say("Sunny.")}}},
		Rules:   []mockllm.Rule{{When: isPing, Reply: say("pong")}},
		Servers: map[string][]harness.Tool{"weather": {{Name: "get_weather"}}},
	}, nil)
	c := newClient(t, m)
	c.say("system", "Give a title.")
	c.say("user", "Weather?")
	a, _ := c.send()
	wantText(t, a, "Weather in Paris")
	c.messages[0]["content"] = "Be short."
	a, _ = c.send()
	wantMiss(t, a, "a request without tools")
	c.tools = []string{"get_weather"}
	wantText(t, c.ask(), "Sunny.")
	c.say("user", "ping")
	for range 3 {
		a, _ := c.send()
		wantText(t, a, "pong")
	}
	wantJournal(t, m, "aside 200 0.0/0 delivered", "miss 422 0.0/0", "reply 200 1.1/1 delivered",
		"rule 200 0.0/0 delivered", "rule 200 0.0/0 delivered", "rule 200 0.0/0 delivered")
}

// TestAsidesHaveNoFaults: faults for every request neither strike a question
// beside the conversation nor count it.
func TestAsidesHaveNoFaults(t *testing.T) {
	m := scripted(t, mockllm.Script{
		Asides:  []mockllm.Rule{{When: func(a *mockllm.Ask) (bool, error) { return len(a.Request.Tools) == 0, nil }, Reply: say("A title")}},
		Replies: []mockllm.Reply{say("Sunny.")},
		Faults:  []mockllm.Fault{{Kind: mockllm.RateLimit, At: fault.At{Request: 1}}},
		Servers: map[string][]harness.Tool{"weather": {{Name: "get_weather"}}},
	}, nil)
	c := newClient(t, m)
	c.say("user", "Weather?")
	a, _ := c.send()
	wantText(t, a, "A title")
	c.tools = []string{"get_weather"}
	c.send()
	wantText(t, c.ask(), "Sunny.")
	wantJournal(t, m, "aside 200 0.0/0 delivered", "reply 429 1.1/1 rate_limit", "reply 200 1.1/2 delivered")
}

func TestRepeatAndArrival(t *testing.T) {
	r := weather()
	r.Repeat = 2
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{r, say("Sunny.")}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	ids := make(map[string]bool)
	for range 2 {
		a := c.ask()
		ids[a.calls[0].ID] = true
		c.result(a.calls[0].ID, "21C")
	}
	wantText(t, c.ask(), "Sunny.")
	if len(ids) != 2 {
		t.Errorf("ids: %v", ids)
	}

	m = scripted(t, mockllm.Script{Replies: []mockllm.Reply{r, say("Sunny.")}, Arrival: true}, nil)
	c = newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	for range 2 {
		if a, _ := c.send(); len(a.calls) != 1 {
			t.Errorf("got %+v", a)
		}
	}
	if n := len(m.Remaining()); n != 1 {
		t.Errorf("%d remain", n)
	}
	a, _ := c.send()
	wantText(t, a, "Sunny.")
	a, _ = c.send()
	wantMiss(t, a, "all 3 replies were given")
}

func TestArrivalWithResults(t *testing.T) {
	m := scripted(t, mockllm.Script{Arrival: true, Replies: []mockllm.Reply{weather(), {Func: func(a *mockllm.Ask) (mockllm.Reply, error) {
		return say(string(a.Calls[0].Result)), nil
	}}}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	c.result(c.ask().calls[0].ID, "21")
	wantText(t, c.ask(), "21")
}

// TestSameUserText: two turns with the same text are two turns.
func TestSameUserText(t *testing.T) {
	m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "yes", Replies: []mockllm.Reply{say("One.")}}, {User: "yes", Replies: []mockllm.Reply{say("Two.")}},
	}}, nil)
	c := newClient(t, m)
	for _, want := range []string{"One.", "Two."} {
		c.say("user", "yes")
		wantText(t, c.ask(), want)
	}
}

// TestCallAfterAnswer: a request after the turn's answer is a miss.
func TestCallAfterAnswer(t *testing.T) {
	m := scripted(t, mockllm.Script{Turns: []mockllm.Turn{
		{User: "a", Replies: []mockllm.Reply{say("One.")}}, {User: "b", Replies: []mockllm.Reply{say("Two.")}},
	}}, nil)
	m.BeginTurn(1)
	c := newClient(t, m)
	c.say("user", "a")
	c.ask()
	c.say("user", "go on")
	a, _ := c.send()
	wantMiss(t, a, "turn 1 ended with the text of reply 1", "expected next: turn 2, reply 1", "- user: b", "+ user: go on")
}

// TestParallelCallsInOneReply: the next reply is due when each has its
// result.
func TestParallelCallsInOneReply(t *testing.T) {
	two := weather()
	two.Calls = append(two.Calls, mockllm.Call{Tool: "get_weather", Args: json.RawMessage(`{"location": "Rome",  "n": 1.10}`)})
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{two, say("Sunny.")}}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	a := c.ask()
	if a.calls[1].Arguments != `{"location": "Rome",  "n": 1.10}` {
		t.Errorf("arguments %s", a.calls[1].Arguments)
	}
	c.result(a.calls[1].ID, "22C")
	if a, _ := c.send(); a.status != http.StatusBadRequest || !strings.Contains(a.msg, "did not have response messages: "+c.messages[1]["tool_calls"].([]any)[0].(map[string]any)["id"].(string)) {
		t.Errorf("got %+v", a)
	}
	c.result(a.calls[0].ID, "21C")
	wantText(t, c.ask(), "Sunny.")
	wantJournal(t, m, "reply 200 1.1/1 delivered", "refusal 400 0.0/0", "reply 200 1.2/1 delivered")
}

func TestToolNames(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}}}`)
	script := func() mockllm.Script {
		return mockllm.Script{
			Servers: map[string][]harness.Tool{"weather": {{Name: "get_weather", Schema: schema}}},
			Replies: []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "weather.get_weather"}}}},
		}
	}
	for _, name := range []string{"get_weather", "mcp_weather_get_weather", "mcp__weather__get_weather", "weather_get_weather"} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, scripted(t, script(), nil), "other", name)
			c.say("user", "Weather?")
			if a := c.ask(); len(a.calls) != 1 || a.calls[0].Name != name || a.calls[0].Arguments != "{}" {
				t.Errorf("got %+v", a)
			}
		})
	}
	t.Run("not offered", func(t *testing.T) {
		m := scripted(t, script(), nil)
		c := newClient(t, m, "forecast")
		c.say("user", "Weather?")
		a, _ := c.send()
		wantMiss(t, a, `tool "weather.get_weather" is not offered; offered: forecast`)
		if x := m.Journal()[0]; x.Unoffered != "weather.get_weather" {
			t.Errorf("the journal says that %q is not offered", x.Unoffered)
		}
		c.tools = []string{"get_weather"}
		if a := c.ask(); len(a.calls) != 1 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestScriptError(t *testing.T) {
	fails := func(*mockllm.Ask) (mockllm.Reply, error) { return mockllm.Reply{}, fmt.Errorf("no such key: result.x") }
	m := scripted(t, mockllm.Script{Replies: []mockllm.Reply{{Func: fails, Pos: harness.Position{File: "a.yaml", Line: 3}}}}, nil)
	c := newClient(t, m)
	c.say("user", "Weather?")
	a, _ := c.send()
	if a.status != http.StatusInternalServerError || a.err != "rehearse_script" || !strings.Contains(a.msg, "a.yaml:3: turn 1, reply 1: no such key") {
		t.Errorf("got %+v", a)
	}
	wantJournal(t, m, "script 500 1.1/1")
}

func TestResultsFromToolSide(t *testing.T) {
	m := scripted(t, mockllm.Script{
		Replies: []mockllm.Reply{weather(), {Func: func(a *mockllm.Ask) (mockllm.Reply, error) {
			return say(fmt.Sprintf("%s %s turn %d reply %d", a.Calls[0].Result, a.User, a.Turn, a.Reply)), nil
		}}},
		Results: func(issued []harness.Call) ([]harness.Call, error) {
			for i := range issued {
				issued[i].Result = json.RawMessage(`{"temp":21}`)
			}
			return issued, nil
		},
	}, nil)
	c := newClient(t, m, "get_weather")
	c.say("user", "Weather?")
	c.result(c.ask().calls[0].ID, "wrapped: 21")
	wantText(t, c.ask(), `{"temp":21} Weather? turn 1 reply 2`)
}

func TestModels(t *testing.T) {
	m := scripted(t, mockllm.Script{Models: []string{"a", "org/b"}, Replies: []mockllm.Reply{say("x")}}, nil)
	c := newClient(t, m)
	get := func(path string) (int, string) {
		resp, err := c.http.Get(m.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for _, tc := range []struct {
		name, path string
		status     int
		want       string
	}{
		{"list", "/models", 200, `{"object":"list","data":[{"id":"a","object":"model","created":1767225600,"owned_by":"rehearse"},{"id":"org/b"`},
		{"one", "/models/org/b", 200, `{"id":"org/b","object":"model"`},
		{"unknown", "/models/c", 404, "model_not_found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := get(tc.path)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
	c.model = "c"
	c.say("user", "x")
	if a, _ := c.send(); a.status != 404 {
		t.Errorf("got %+v", a)
	}
	c.model = "a"
	wantText(t, c.ask(), "x")
}
