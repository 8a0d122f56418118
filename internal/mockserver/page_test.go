// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/look"
	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// entry is a line of the journal as its page has it.
type entry struct {
	ID, Kind, Class, Word, Fault, Short string
	Open, Again                         bool
	Facts, Texts                        []struct{ Name, Text string }
}

// all is everything that an entry says, a line each.
func (e entry) all() string {
	var b strings.Builder
	b.WriteString(e.ID + " " + e.Kind + " " + e.Class + " " + e.Word + " " + e.Fault + " " + e.Short + "\n")
	for _, f := range slices.Concat(e.Facts, e.Texts) {
		b.WriteString(f.Name + ": " + f.Text + "\n")
	}
	return b.String()
}

// entries reads what the page asks for.
func entries(t *testing.T, status int, text string) []entry {
	t.Helper()
	var live struct {
		Conversations, Shown int
		Entries              []entry
	}
	if err := json.Unmarshal([]byte(text), &live); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	return live.Entries
}

func chatOf(user string) string {
	body, _ := json.Marshal(map[string]any{"model": "m", "messages": []map[string]string{{"role": "user", "content": user}}})
	return string(body)
}

// TestJournalPage: the page needs no other file, admits its own style and script
// alone, and begins no conversation.
func TestJournalPage(t *testing.T) {
	c := open(t, says("hello"), &mockserver.Options{AdminToken: "sesame"})
	for _, path := range []string{"/rehearse", "/rehearse/", "/t/mine/rehearse/"} {
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		for _, name := range []string{"style", "script"} {
			m := regexp.MustCompile("(?s)<"+name+">(.*?)</"+name+">").FindAllStringSubmatch(page, -1)
			if len(m) != 1 || !strings.Contains(policy, name+"-src "+look.Digest([]byte(m[0][1]))) {
				t.Errorf("%s: %d texts of <%s>, or not the one in the policy %q", path, len(m), name, policy)
			}
		}
		// A browser that has no icon asks the mock for one.
		if !strings.Contains(page, `<link rel="icon" href="data:,">`) || !strings.Contains(policy, "img-src data:;") {
			t.Errorf("%s has no icon of its own: %q", path, policy)
		}
		page = strings.Replace(page, `href="data:,"`, "", 1)
		if m := regexp.MustCompile(`(?i)(src|href)="[^#"]|url\(|@import|innerHTML|insertAdjacent|document\.write|eval\(`).FindString(page); m != "" {
			t.Errorf("%s has %q", path, m)
		}
	}
	c.want(http.StatusUnauthorized, "requires its token", "GET", "/rehearse/live", "")
	c.want(http.StatusUnauthorized, "requires its token", "GET", "/t/mine/rehearse/scenario", "")
	c.want(http.StatusUnauthorized, "requires its token", "POST", "/rehearse/", "{}")
	c.want(http.StatusOK, `"entries":[]`, "GET", "/rehearse/live", "", "Authorization", "Bearer sesame")
	c.want(http.StatusOK, `[{"id":"",`, "GET", "/rehearse/conversations", "", "Authorization", "Bearer sesame")
	c.want(http.StatusNotFound, `no conversation \"mine\" has begun`, "GET", "/t/mine/rehearse/scenario", "", "Authorization", "Bearer sesame")
}

// TestJournalPageForeign: a page of another origin, or of another name, gets
// neither the page nor what it shows.
func TestJournalPageForeign(t *testing.T) {
	c := open(t, says("hello"), nil)
	for _, path := range []string{"/rehearse/", "/rehearse/live", "/rehearse/scenario", "/t/a/rehearse/"} {
		for _, header := range [][2]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Host", "evil.example"}} {
			r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
			if r.Header.Set(header[0], header[1]); header[0] == "Host" {
				r.Host = header[1]
			}
			local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
			w := httptest.NewRecorder()
			c.s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "rehearse_forbidden") {
				t.Errorf("%s with %s: %d %s", path, header, w.Code, w.Body)
			}
		}
	}
}

// TestJournalPageOfModel: the page says which reply answered a request, or why
// none did, with the difference, and which fault struck.
func TestJournalPageOfModel(t *testing.T) {
	c := open(t, mockllm.Script{
		Turns: []mockllm.Turn{
			{User: "hi", Replies: []mockllm.Reply{{Say: "hello", Pos: harness.Position{File: "a.yaml", Line: 3}}}},
			{User: "weather?", Replies: []mockllm.Reply{{Say: "sunny"}}},
		},
		Faults: []mockllm.Fault{{Kind: mockllm.RateLimit}},
	}, nil)
	c.ask("POST", "/t/a/v1/chat/completions", chatOf("hi"))
	c.ask("POST", "/t/a/v1/chat/completions", chatOf("hi"))
	c.ask("POST", "/t/a/v1/chat/completions", chatOf("wether?"))
	c.ask("POST", "/t/Another/v1/chat/completions", chatOf("<b>\u202ebye"))

	list := entries(c.t, 200, c.body("/rehearse/live?find=A"))
	var words []string
	for _, e := range list {
		words = append(words, e.ID+" "+e.Class)
	}
	slices.Sort(words)
	if diff := cmp.Diff([]string{"Another failed", "a error", "a failed", "a passed"}, words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list = entries(c.t, 200, c.body("/t/a/rehearse/live"))
	if len(list) != 3 {
		t.Fatalf("%d entries of a conversation, want 3: %+v", len(list), list)
	}
	for _, tc := range []struct {
		name string
		e    entry
		want []string
	}{
		{"a miss", list[0], []string{"failed miss", "Why no reply answered it: nothing scripted fits", "expected next: ", "- user: hi\n", "+ user: wether?"}},
		{"a reply", list[1], []string{"passed reply", "hi → hello", "Reply: turn 1, reply 1", "Written at: a.yaml:3", "Answer: hello"}},
		{"a fault", list[2], []string{"error reply rate_limit", "Fault: rate_limit", "Status: 429"}},
	} {
		for _, want := range tc.want {
			if !strings.Contains(tc.e.all(), want) {
				t.Errorf("%s lacks %q:\n%s", tc.name, want, tc.e.all())
			}
		}
	}
	if !list[0].Open || list[1].Open {
		t.Error("what went wrong is to be open, what went right not")
	}
	if got := c.body("/rehearse/live?find=NOTH"); strings.ContainsAny(got, "<\u202e") || !strings.Contains(got, "⟨U+202E⟩bye") {
		t.Errorf("a text is not made safe: %s", got)
	}

	// A page that has it all is told so, until there is more.
	r := httptest.NewRequest("GET", "/rehearse/live", nil)
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	w = httptest.NewRecorder()
	if c.s.ServeHTTP(w, r); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("the same again: %d %s", w.Code, w.Body)
	}
	for _, then := range []func(){
		func() { c.ask("POST", "/v1/chat/completions", chatOf("hi")) },
		func() { c.ask("POST", "/t/a/rehearse/reset", "") },
		func() { c.ask("DELETE", "/t/a/rehearse/conversation", "") },
		func() { _ = c.s.Load(says("x")) },
	} {
		then()
		w = httptest.NewRecorder()
		if c.s.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("after a change: %d", w.Code)
		}
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
	}
}

// TestJournalPageOfALongRequest: the page has the last messages of a request, and
// says how many came before them.
func TestJournalPageOfALongRequest(t *testing.T) {
	c := open(t, says("hello"), nil)
	for n, want := range map[int]string{1: "", 6: "", 7: "Not shown: 1 message before these", 9: "Not shown: 3 messages before these"} {
		at := "/t/" + strconv.Itoa(n)
		messages := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"hi"},`, n), ",")
		c.ask("POST", at+"/v1/chat/completions", `{"model":"m","messages":[`+messages+`]}`)
		list := entries(c.t, 200, c.body(at+"/rehearse/live"))
		if len(list) != 1 {
			t.Fatalf("%d messages: %d entries", n, len(list))
		}
		all := list[0].all()
		if strings.Contains(all, "Not shown") != (want != "") || !strings.Contains(all, want) || strings.Count(all, "Request: user: ") != min(n, 6) {
			t.Errorf("of %d messages, want %q:\n%s", n, want, all)
		}
	}
}

// body is the answer to a request that is to be answered.
func (c client) body(path string) string {
	c.t.Helper()
	status, text := c.ask("GET", path, "")
	if status != http.StatusOK {
		c.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// TestJournalPageOfServer: the page has the calls of an MCP server, and the frames
// with the faults that struck.
func TestJournalPageOfServer(t *testing.T) {
	script := counter()
	script.Faults = []fault.Fault{{Kind: fault.RPCError, Match: fault.Match{Nth: 3}}}
	a := openMCP(t, script, nil)
	a.call("/t/a/mcp", "add", `{"by":1}`)
	a.call("/t/a/mcp", "add", `{"by":10}`)
	a.call("/t/a/mcp", "add", `{"by":2}`)
	status, text := a.ask("GET", "/rehearse/live", "")
	calls, frames := map[string]string{}, ""
	for _, e := range entries(t, status, text) {
		if e.Kind == "call" {
			calls[e.Class] += e.all()
		} else {
			frames += e.all()
		}
		if e.Again {
			t.Error("calls alone make no scenario")
		}
	}
	for _, tc := range []struct{ name, text, want string }{
		{"a call", calls["passed"], `add {"by":1} → added`},
		{"a miss", calls["failed"], "Why no result fits it: no scripted result of counter.add fits"},
		{"a miss, and why", calls["failed"], "by is 10 or more"},
		{"a fault", calls["error"] + frames, "Fault: rpc_error"},
		{"a frame in", frames, "in: request tools/call POST"},
		{"a frame out", frames, "out: response tools/call"},
		{"the body of a frame", frames, `Body: {"jsonrpc":"2.0"`},
	} {
		if !strings.Contains(tc.text, tc.want) {
			t.Errorf("%s lacks %q:\n%s", tc.name, tc.want, tc.text)
		}
	}
}

// TestAsScenario: the last conversation of a journal is a scenario that can be
// loaded, and a turn that nothing answered stands there without a reply.
func TestAsScenario(t *testing.T) {
	const asks = `{"model":"m","tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"user","content":"weather?"}]}`
	call := []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}}
	scripted := mockllm.Script{Turns: []mockllm.Turn{{User: "weather?", Replies: []mockllm.Reply{{Calls: call}, {Say: "{{sunny}}"}}}}}
	c := open(t, scripted, nil)
	status, text := c.ask("GET", "/rehearse/scenario", "")
	if status != http.StatusNotFound || !strings.Contains(text, "no user has said anything") {
		t.Errorf("an empty journal: %d %s", status, text)
	}
	c.ask("POST", "/t/a/v1/chat/completions", asks)
	var answer struct {
		Choices []struct {
			Message struct {
				Calls json.RawMessage `json:"tool_calls"`
			}
		}
	}
	_, text = c.ask("POST", "/t/a/v1/chat/completions", asks) // asked again, as after a timeout
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	var ids []struct{ ID string }
	if err := json.Unmarshal(answer.Choices[0].Message.Calls, &ids); err != nil || len(ids) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	more := `,{"role":"assistant","content":null,"tool_calls":` + string(answer.Choices[0].Message.Calls) + `},{"role":"tool","tool_call_id":"` + ids[0].ID + `","content":"{}"}`
	c.want(200, "{{sunny}}", "POST", "/t/a/v1/chat/completions", asks[:len(asks)-2]+more+"]}")
	c.want(422, "rehearse_miss", "POST", "/t/a/v1/chat/completions", asks[:len(asks)-2]+more+`,{"role":"assistant","content":"{{sunny}}"},{"role":"user","content":"And in Rome?"}]}`)
	const want = `scenario: a, as it went
turns:
  - user: weather?
    replies:
      - calls:
          - get_weather: {"city": "Paris"}
      - say: '{{"{{"}}sunny}}'
    expect:
      - calls:
          - get_weather: {"city": "Paris"}
  - user: And in Rome?
    expect:
      - calls: []`
	got := c.body("/t/a/rehearse/scenario")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := scenarios.Parse("copied.yaml", []byte(got), &scenarios.Options{}); err != nil {
		t.Errorf("the scenario cannot be loaded: %v", err)
	}

	// An endpoint of rules answers whoever asks: the last one counts.
	rules := open(t, mockllm.Script{Rules: []mockllm.Rule{{Reply: mockllm.Reply{Say: "yes"}}}}, nil)
	for _, messages := range []string{
		`{"role":"user","content":"before"}`,
		`{"role":"user","content":"one"}`,
		`{"role":"user","content":"one"},{"role":"assistant","content":"yes"},{"role":"user","content":"two"}`,
	} {
		rules.want(200, "yes", "POST", "/v1/chat/completions", `{"model":"m","messages":[`+messages+`]}`)
	}
	const ruled = `scenario: conversation, as it went
turns:
  - user: one
    replies:
      - say: "yes"
    expect:
      - calls: []
  - user: two
    replies:
      - say: "yes"
    expect:
      - calls: []`
	if diff := cmp.Diff(ruled, rules.body("/rehearse/scenario")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
