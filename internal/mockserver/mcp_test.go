// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// counter is a server that adds to a number, up to 9 at a time.
func counter() mockmcp.Script {
	text := func(text string) func(*mockmcp.Call) (*mockmcp.Answer, error) {
		return func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: text}, nil }
	}
	return mockmcp.Script{
		Name: "counter", State: json.RawMessage(`{"n":1}`),
		Tools: []mockmcp.Tool{
			{
				Name: "add", Description: "Adds.",
				Results: []mockmcp.Result{{
					Match: func(c *mockmcp.Call) (bool, string, error) {
						var args struct{ By int }
						err := json.Unmarshal(c.Args, &args)
						return args.By < 10, "by is 10 or more", err
					},
					Answer: text("added"),
					Set: func(*mockmcp.Call, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(`{"n":2}`), nil
					},
				}},
			},
			{Name: "slow", Description: "Waits for a cue.", Results: []mockmcp.Result{{Hold: "go", Answer: text("went on")}}},
		},
		Changes: []mockmcp.Change{{Cue: "more", AddTools: []mockmcp.Tool{{Name: "late", Description: "Comes late.", Results: []mockmcp.Result{{Answer: text("here")}}}}}},
	}
}

// admin asks a server of MCP without a socket.
type admin struct {
	t *testing.T
	s *mockserver.MCP
}

func openMCP(t *testing.T, script mockmcp.Script, opts *mockserver.MCPOptions) admin {
	t.Helper()
	s, err := mockserver.NewMCP(script, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return admin{t, s}
}

func (a admin) ask(method, path, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	// A host is foreign where there is an address to compare it with.
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
	w := httptest.NewRecorder()
	a.s.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func (a admin) want(status int, part, method, path, body string, header ...string) {
	a.t.Helper()
	got, text := a.ask(method, path, body, header...)
	if got != status || !strings.Contains(text, part) {
		a.t.Errorf("%s %s %s:\n%d %s\nwant %d and %q", method, path, body, got, text, status, part)
	}
}

// call calls a tool as a client of 2026-07-28, which needs no session.
func (a admin) call(path, tool, args string, header ...string) (int, string) {
	return a.ask("POST", path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, args),
		append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, header...)...)
}

func (a admin) calls(part, path, tool, args string, header ...string) {
	a.t.Helper()
	if _, text := a.call(path, tool, args, header...); !strings.Contains(text, part) {
		a.t.Errorf("%s %s%s: %s, want %q", path, tool, args, text, part)
	}
}

// TestMCPCountsCallsThatWent: expectations count, and remember the misses of,
// calls that the journal has no room for.
func TestMCPCountsCallsThatWent(t *testing.T) {
	a := openMCP(t, counter(), &mockserver.MCPOptions{Mock: mockmcp.Options{JournalEntries: 2}})
	a.call("/mcp", "add", `{"by":10}`)
	for range 4 {
		a.call("/mcp", "add", `{"by":1}`)
	}
	a.want(200, `{"ok":false,"calls":5,"unstruck":[],"problems":["no scripted result of counter.add fits`, "GET", "/rehearse/expectations", "")
}

// TestMCPConversations keeps the state and the journal of one test from those
// of all others.
func TestMCPConversations(t *testing.T) {
	for _, tc := range []struct {
		name    string
		isolate func(*http.Request) string
		path    string // with %s for the id
		header  func(id string) []string
	}{
		{"url", nil, "/t/%s/mcp", func(string) []string { return nil }},
		{"bearer", mockserver.ByKey, "/mcp", func(id string) []string { return []string{"Authorization", "Bearer " + id} }},
		{"header", mockserver.ByHeader("X-Test"), "/mcp", func(id string) []string { return []string{"X-Test", id} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := openMCP(t, counter(), &mockserver.MCPOptions{Isolate: tc.isolate})
			path := func(id string) string {
				if strings.Contains(tc.path, "%s") {
					return fmt.Sprintf(tc.path, id)
				}
				return tc.path
			}
			a.calls("added", path("a"), "add", `{"by":1}`, tc.header("a")...)
			a.calls("rehearse_miss", path("b"), "add", `{"by":10}`, tc.header("b")...)
			a.want(200, `{"n":2}`, "GET", "/t/a/rehearse/state", "")
			a.want(200, `{"n":1}`, "GET", "/t/b/rehearse/state", "")
			a.want(200, `{"ok":true,"calls":1,"unstruck":[],"problems":[]}`, "GET", "/t/a/rehearse/expectations", "")
			a.want(200, `{"ok":false,"calls":1,"unstruck":[],"problems":["no scripted result of counter.add fits`, "GET", "/t/b/rehearse/expectations", "")
			a.want(200, `{"id":"","calls":0,"problems":0},{"id":"a","calls":1,"problems":0},{"id":"b","calls":1,"problems":1}`, "GET", "/rehearse/conversations", "")
			if err := errors.Join(a.s.Problems()...); err == nil {
				t.Error("no error, and there was a miss")
			}
			a.want(204, "", "DELETE", "/t/b/rehearse/conversation", "")
			if err := errors.Join(a.s.Problems()...); err != nil {
				t.Errorf("an error of a conversation that is no more: %v", err)
			}
			a.want(204, "", "POST", "/rehearse/reset", "")
			a.want(200, `[]`, "GET", "/t/a/rehearse/journal", "")
			a.want(200, `{"n":1}`, "GET", "/t/a/rehearse/state", "")
		})
	}
}

// TestMCPAdmin asks all that there is to ask.
func TestMCPAdmin(t *testing.T) {
	parse := func(_ string, data []byte) (mockmcp.Script, error) {
		if string(data) == "bad" {
			return mockmcp.Script{}, errors.New("x.yaml:1:1: no server")
		}
		return mockmcp.Script{Name: string(data)}, nil
	}
	a := openMCP(t, counter(), &mockserver.MCPOptions{Parse: parse, MaxConversations: 2})
	a.want(200, `[]`, "GET", "/rehearse/journal", "")
	a.want(200, `[]`, "GET", "/rehearse/frames", "")
	a.calls("added", "/mcp", "add", `{"by":1}`)
	a.calls("not found", "/mcp", "nope", `{}`)
	a.want(200, `"tool":"add","args":{"by":1}`, "GET", "/rehearse/journal", "")
	a.want(200, `"method":"tools/call"`, "GET", "/rehearse/frames", "")
	a.want(200, `{"n":2}`, "GET", "/rehearse/state/diff", "")
	a.want(204, "", "PUT", "/rehearse/state", `{"n":7,"m":[]}`)
	a.want(200, `{"n":7,"m":[]}`, "GET", "/rehearse/state/diff", "")
	a.want(400, "not an object", "PUT", "/rehearse/state", `7`)
	a.want(200, `{"status":"healthy","script":1,"conversations":1}`, "GET", "/health", "")
	a.want(200, `rehearse_tool_calls_total{tool="add"} 1`, "GET", "/rehearse/metrics", "")
	a.want(200, `rehearse_tool_calls_total{tool="other"} 1`, "GET", "/rehearse/metrics", "")
	a.want(200, `rehearse_requests_total{route="/mcp",method="POST",status="200"} 2`, "GET", "/rehearse/metrics", "")
	a.want(404, "/sse does not exist; the mock server is at /mcp", "POST", "/sse", "")
	a.want(404, "there is no GET /rehearse/cue", "GET", "/rehearse/cue", "")
	a.want(404, "there is no POST /rehearse/cue", "POST", "/rehearse/cue", "")
	a.want(404, "there is no GET /rehearse/journal/x", "GET", "/rehearse/journal/x", "")
	a.want(200, `[]`, "GET", "/t/one/rehearse/journal", "") // which begins nothing
	a.want(200, `[]`, "GET", "/t/two/rehearse/journal", "")
	a.want(204, "", "PUT", "/t/one/rehearse/state", `{}`)
	a.want(503, "too many conversations", "PUT", "/t/two/rehearse/state", `{}`)
	a.want(400, "the script is not loaded, all is as before: x.yaml:1:1: no server", "POST", "/rehearse/load", "bad")
	a.want(204, "", "POST", "/t/one/rehearse/load", "other")
	a.calls("added", "/mcp", "add", `{"by":1}`)
	a.calls("not found", "/t/one/mcp", "add", `{}`)
	a.want(204, "", "POST", "/rehearse/load", "other")
	a.calls("not found", "/mcp", "add", `{}`)
	a.s.Failed(errors.New("broken"))
	a.want(200, `{"status":"stale","script":2,"conversations":1,"reload_error":"broken"}`, "GET", "/rehearse/health", "")
	a.s.Stop()
	a.want(503, `"stopping"`, "GET", "/health", "")
}

// TestMCPCues lets a held call go on, and has a tool come.
func TestMCPCues(t *testing.T) {
	a := openMCP(t, counter(), nil)
	answer := make(chan string, 1)
	go func() {
		_, text := a.call("/t/x/mcp", "slow", `{}`)
		answer <- text
	}()
	a.want(204, "", "GET", "/t/x/rehearse/held/go", "")
	a.want(204, "", "POST", "/t/x/rehearse/cue/go", "")
	if got := <-answer; !strings.Contains(got, "went on") {
		t.Errorf("answered with %s", got)
	}
	a.calls("not found", "/mcp", "late", `{}`)
	a.want(204, "", "POST", "/rehearse/cue/more", "")
	a.calls("here", "/mcp", "late", `{}`)
	a.want(404, `the script does not wait for the cue \"mor\"`, "POST", "/rehearse/cue/mor", "")
	a.want(404, `the script does not wait for the cue \"never\"; there are go, more`, "GET", "/rehearse/held/never", "")
	a.want(404, `no conversation \"y\" has begun`, "POST", "/t/y/rehearse/cue/go", "")
	r := httptest.NewRequest("GET", "http://127.0.0.1/rehearse/held/go", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	a.s.ServeHTTP(w, r.WithContext(ctx))
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("waiting for nothing: %d %s", w.Code, w.Body)
	}
}

// TestMCPVerify asserts over two calls.
func TestMCPVerify(t *testing.T) {
	a := openMCP(t, counter(), nil)
	a.calls("added", "/mcp", "add", `{"by":1}`)
	a.calls("added", "/mcp", "add", `{"by":2}`)
	a.want(200, `[]`, "GET", "/t/other/rehearse/journal", "") // a look begins nothing
	a.want(404, `no conversation \"other\" has begun`, "POST", "/t/other/rehearse/verify", `{"calls": []}`)
	a.calls("added", "/t/other/mcp", "add", `{"by":2}`)
	a.want(200, `"passed":true`, "POST", "/t/other/rehearse/verify", `{"calls": ["add"]}`)
	for _, tc := range []struct {
		name, body string
		status     int
		part       string
	}{
		{"calls", `{"calls": ["add", {"add": {"by": {"$that": "value > 1"}}}]}`, 200, `{"passed":true,"checks":[{"check":"calls","passed":true}]}`},
		{"with the server's name", `{"calls": ["counter.add", "counter.add"]}`, 200, `"passed":true`},
		{"call too many", `{"calls": ["add"]}`, 200, `"passed":false`},
		{"extra", `{"calls": ["add"], "extra": true}`, 200, `"passed":true`},
		{"any order", `{"calls": [{"add": {"by": 2}}, {"add": {"by": 1}}], "order": "any"}`, 200, `"passed":true`},
		{"that", `{"that": "trajectory.size() == 2 && results('add')[1] == 'added'"}`, 200, `"passed":true`},
		{"that fails", `{"that": "trajectory.size() == 3"}`, 200, `does not hold`},
		{"state", `{"state": {"n": 2}}`, 200, `{"passed":true,"checks":[{"check":"state","passed":true}]}`},
		{"state differs", `{"state": {"n": 3}}`, 200, `state.n: want 3, got 2`},
		{"frames", `{"frames": [{"in": true, "method": "tools/call", "body": {"params": {"arguments": {"by": 2}}}}, {"in": false, "kind": "response"}]}`, 200, `"passed":true`},
		{"frames in another order", `{"frames": [{"body": {"params": {"arguments": {"by": 2}}}}, {"body": {"params": {"arguments": {"by": 1}}}}]}`, 200, `no frame fits frames[1]`},
		{"no such frame", `{"frames": [{"method": "ping"}]}`, 200, `no frame fits frames[0]: frames[0].method: want`},
		{"done", `{"done": true}`, 200, `"passed":true`},
		{"not done", `{"done": false}`, 200, `every call was answered as scripted`},
		{"all of it", `{"calls": [], "done": true, "state": {"n": 2}, "frames": [{}]}`, 200, `{"passed":false`},
		{"no JSON", `{`, 400, "not JSON"},
		{"no object", `[]`, 400, "is an object"},
		{"nothing", `{}`, 400, "claims nothing"},
		{"order alone", `{"order": "any"}`, 400, "claims nothing"},
		{"unknown key", `{"requests": []}`, 400, "requests: unknown key; the keys are that, calls, state, frames, done, order, extra"},
		{"no frames", `{"frames": []}`, 400, "frames: want a list that is not empty"},
		{"bad frame", `{"frames": [{"method": {"$regexx": "x"}}]}`, 400, "frames: [0]"},
		{"bad state", `{"state": {"$regexx": "x"}}`, 400, "state: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			admin{t, a.s}.want(tc.status, tc.part, "POST", "/rehearse/verify", tc.body)
		})
	}
	a.calls("rehearse_miss", "/mcp", "add", `{"by":10}`)
	a.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"that": "results('add')[2] == null"}`)
	a.want(200, `"message":"no scripted result of counter.add fits`, "POST", "/rehearse/verify", `{"done": true}`)
}

// TestMCPFaultsOverTheAPI: a fault that has not struck is not done.
func TestMCPFaultsOverTheAPI(t *testing.T) {
	script := counter()
	script.Faults = []fault.Fault{{Kind: fault.RPCError, Match: fault.Match{Nth: 2}, Pos: harness.Position{File: "x.yaml", Line: 3, Col: 5}}}
	a := openMCP(t, script, nil)
	a.calls("added", "/mcp", "add", `{"by":1}`)
	a.want(200, `{"ok":false,"calls":1,"unstruck":["rpc_error x.yaml:3:5: it strikes request 2 of those that it matches, and 1 matched"],"problems":[]}`, "GET", "/rehearse/expectations", "")
	a.want(200, `"message":"never struck: rpc_error x.yaml:3:5: it strikes request 2 of those that it matches, and 1 matched"`, "POST", "/rehearse/verify", `{"done": true}`)
	a.calls(`"error"`, "/mcp", "add", `{"by":1}`)
	a.want(200, `"passed":true`, "POST", "/rehearse/verify", `{"done": true, "frames": [{"fault": "rpc_error"}]}`)
	a.want(200, `rehearse_faulty_frames{fault="rpc_error"} 2`, "GET", "/rehearse/metrics", "")
}

// TestMCPForeign refuses whoever is called by another name.
func TestMCPForeign(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opts   mockserver.MCPOptions
		header []string
		status int
	}{
		{"loopback", mockserver.MCPOptions{}, nil, 200},
		{"localhost", mockserver.MCPOptions{}, []string{"Host", "localhost:80", "Origin", "http://localhost:3000"}, 200},
		{"foreign host", mockserver.MCPOptions{}, []string{"Host", "evil.example"}, 403},
		{"foreign origin", mockserver.MCPOptions{}, []string{"Origin", "http://evil.example"}, 403},
		{"host that is let in", mockserver.MCPOptions{Gate: gate.Rules{Hosts: []string{"mock"}}}, []string{"Host", "mock:8080"}, 200},
		{"origin that is let in", mockserver.MCPOptions{Gate: gate.Rules{Origins: []string{"http://pages.example"}}}, []string{"Origin", "http://pages.example"}, 200},
		{"another origin", mockserver.MCPOptions{Gate: gate.Rules{Origins: []string{"http://pages.example"}}}, []string{"Origin", "http://evil.example"}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := openMCP(t, counter(), &tc.opts)
			a.want(tc.status, "", "GET", "/rehearse/journal", "", tc.header...)
			if status, text := a.call("/mcp", "add", `{"by":1}`, tc.header...); status != tc.status {
				t.Errorf("a call: %d %s, want %d", status, text, tc.status)
			}
		})
	}
}

// TestMCPPages lets the pages of one origin in.
func TestMCPPages(t *testing.T) {
	a := openMCP(t, counter(), &mockserver.MCPOptions{Gate: gate.Rules{Origins: []string{"http://pages.example"}}})
	r := httptest.NewRequest("OPTIONS", "http://127.0.0.1/t/x/mcp", nil)
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "mcp-protocol-version,mcp-method")
	w := httptest.NewRecorder()
	a.s.ServeHTTP(w, r)
	h := w.Header()
	if w.Code != 204 || h.Get("Access-Control-Allow-Origin") != "http://pages.example" || h.Get("Access-Control-Allow-Headers") != "mcp-protocol-version,mcp-method" {
		t.Errorf("a preflight: %d %v", w.Code, h)
	}
}

// TestMCPStop ends streams at once, and lets a call end by itself.
func TestMCPStop(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grace time.Duration
		want  string
	}{
		{"ends by itself", time.Minute, "went on"},
		{"no grace", 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := mockserver.NewMCP(counter(), nil)
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l, &mockserver.Listening{Grace: tc.grace}) }()
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			post := func(message string, header ...string) (*http.Response, error) {
				r, err := http.NewRequest("POST", "http://"+l.Addr().String()+"/mcp", strings.NewReader(message))
				if err != nil {
					return nil, err
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				for i := 0; i+1 < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				return client.Do(r)
			}
			const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
			listening, err := post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`,
				"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
			if err != nil || listening.StatusCode != 200 {
				t.Fatalf("listening: %v %v", listening, err)
			}
			defer listening.Body.Close()
			answer := make(chan string, 1)
			go func() {
				res, err := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{},`+meta+`}}`,
					"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "slow")
				if err != nil {
					answer <- ""
					return
				}
				defer res.Body.Close()
				data, _ := io.ReadAll(res.Body) // cut, it is not what is wanted
				answer <- string(data)
			}()
			mock := s.Default()
			if err := mock.AwaitHeld(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			stop()
			if tc.grace > 0 {
				mock.Cue("go")
			}
			if got := <-answer; !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "went on") {
				t.Errorf("the call was answered with %q, want %q", got, tc.want)
			}
			_, _ = io.ReadAll(listening.Body) // ends
			if err := <-ended; err != nil {
				t.Errorf("serving: %v", err)
			}
		})
	}
}

// TestMCPOtherTransports are where they are said to be.
func TestMCPOtherTransports(t *testing.T) {
	for transport, path := range map[string]string{"": "/mcp", "http": "/mcp", "sse": "/sse", "ws": "/ws"} {
		t.Run(path, func(t *testing.T) {
			a := openMCP(t, counter(), &mockserver.MCPOptions{Transport: transport})
			if got := a.s.Path(); got != path {
				t.Errorf("path %s, want %s", got, path)
			}
			if status, text := a.ask("POST", path, "{}"); status == http.StatusNotFound {
				t.Errorf("nothing at %s: %s", path, text)
			}
			a.want(404, "the mock server is at "+path, "GET", "/other", "")
		})
	}
}

func TestNewMCPRefuses(t *testing.T) {
	if s, err := mockserver.NewMCP(mockmcp.Script{State: json.RawMessage(`1`)}, nil); err == nil || s != nil {
		t.Errorf("a script with a bad state: %v, %v", s, err)
	}
}

// FuzzMCPVerify checks that whatever is asserted is judged or refused, the same
// each time.
func FuzzMCPVerify(f *testing.F) {
	for _, seed := range []string{
		`{"calls": ["add", {"add": {"by": {"$any_of": [1, 2]}}}], "order": "any", "extra": true}`,
		`{"that": "trajectory.all(c, c.executed)"}`,
		`{"state": {"n": {"$that": "value > 1"}}, "done": true}`,
		`{"frames": [{"method": {"$regex": "^tools/"}, "body": {"params": {"$optional": 1}}}, {}]}`,
		`{"done": 1}`, `[]`, `{`, "\xff",
	} {
		f.Add(seed)
	}
	s, err := mockserver.NewMCP(counter(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	a := admin{nil, s}
	a.call("/mcp", "add", `{"by":1}`)
	f.Fuzz(func(t *testing.T, body string) {
		status, text := a.ask("POST", "/rehearse/verify", body)
		if status != 200 && status != 400 {
			t.Errorf("%d %s", status, text)
		}
		if again, other := a.ask("POST", "/rehearse/verify", body); again != status || other != text {
			t.Errorf("%d %s, and then %d %s", status, text, again, other)
		}
	})
}

// A test has a server of its own, and asks afterwards how it went.
func ExampleMCP() {
	s, err := mockserver.NewMCP(counter(), nil)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	a := admin{nil, s}
	a.call("/t/my-test/mcp", "add", `{"by":2}`)
	_, state := a.ask("GET", "/t/my-test/rehearse/state", "")
	_, verdict := a.ask("POST", "/t/my-test/rehearse/verify", `{"calls": [{"add": {"by": 2}}], "done": true}`)
	fmt.Println(state)
	fmt.Println(verdict)
	// Output:
	// {"n":2}
	// {"passed":true,"checks":[{"check":"calls","passed":true},{"check":"done","passed":true}]}
}
