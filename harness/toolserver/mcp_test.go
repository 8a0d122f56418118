// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// served is a tool server for MCP clients: a set of odd tools is active, one of an
// MCP server is not.
type served struct {
	*toolserver.Toolserver
	url    string        // of the MCP endpoint
	begun  chan struct{} // a value for each call of the tool hang that has begun
	halted chan struct{} // a value for each whose context is done
}

func serveMCP(t *testing.T) *served {
	t.Helper()
	s := &served{begun: make(chan struct{}, 1), halted: make(chan struct{}, 1)}
	mock, err := mockmcp.New(mockmcp.Script{Name: "bank", Tools: []mockmcp.Tool{
		{Name: "balance", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "12.50", Structured: json.RawMessage(`{"balance":12345678901234567890}`)}, nil
		}},
		{Name: "login", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "welcome"}, nil
		}},
	}, Protocol: mockmcp.Protocol{Modern: mockmcp.ModernOff}, Changes: []mockmcp.Change{{Call: 1, Tool: "login", Early: true, RemoveTools: []string{"login"}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mock.Close() })
	hang := func(ctx context.Context, _ json.RawMessage) (any, error) {
		s.begun <- struct{}{}
		<-ctx.Done()
		s.halted <- struct{}{}
		return nil, context.Cause(ctx)
	}
	s.Toolserver, err = toolserver.New(t.Context(), &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "odd", Active: true, Tools: []toolserver.Tool{
			{Name: "any", Parameters: json.RawMessage(`{"anyOf":[{"type":"object"},{"type":"null"}]}`), Run: func(context.Context, json.RawMessage) (any, error) { return "ran", nil }},
			{Name: "hang", Run: hang},
			{Name: "panics", Run: func(context.Context, json.RawMessage) (any, error) { panic("no such table") }},
		}},
		{ID: "bank", Server: &toolserver.Server{Dial: harness.Server{Name: "bank", Dial: mock.Dial}}},
	}}, &toolserver.Options{Hosts: []string{"tools.example"}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		h.Close() // waits for requests under way: no stream is open any more
	})
	s.url = h.URL + "/mcp"
	return s
}

// frame sends a request of JSON-RPC and returns the answer, and the session of a
// server that begins one.
func frame(t *testing.T, url, method, params string, header ...string) (answer, session string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	if strings.HasPrefix(method, "notifications/") {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method)
	}
	res := send(t, "POST", url, body, header...)
	defer res.Body.Close()
	for line := range lines(res) {
		if line = strings.TrimPrefix(line, "data: "); strings.HasPrefix(line, "{") {
			answer = line
		}
	}
	return answer, res.Header.Get("Mcp-Session-Id")
}

// request is what an MCP client would send.
func request(ctx context.Context, t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func send(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	res, err := http.DefaultClient.Do(request(t.Context(), t, method, url, body, header...))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// lines are those of a body, as they arrive.
func lines(res *http.Response) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for scan := bufio.NewScanner(res.Body); scan.Scan() && yield(scan.Text()); {
		}
	}
}

// begin opens a session of the version that a client asks for.
func begin(t *testing.T, url, version string) (agreed string, header []string) {
	t.Helper()
	answer, session := frame(t, url, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	var got struct {
		Result struct {
			ProtocolVersion string
			Capabilities    struct{ Tools struct{ ListChanged bool } }
			ServerInfo      struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Result.ServerInfo.Name != "rehearse tools" || !got.Result.Capabilities.Tools.ListChanged {
		t.Fatalf("initialize: %s (%v)", answer, err)
	}
	agreed = got.Result.ProtocolVersion
	header = []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", agreed}
	frame(t, url, "notifications/initialized", "{}", header...)
	return agreed, header
}

// modern are the headers and the _meta of a request of the version without sessions.
func modern(method, name string) (header []string, meta string) {
	header = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		header = append(header, "Mcp-Name", name)
	}
	return header, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
}

// TestVersions: a client gets the version that it asks for, else the latest that
// has sessions; the one without sessions is had without asking.
func TestVersions(t *testing.T) {
	url := serveMCP(t).url
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		agreed, header := begin(t, url, asked)
		if agreed != want {
			t.Errorf("a client that asks for %s gets %s, want %s", asked, agreed, want)
		}
		if list, _ := frame(t, url, "tools/list", "{}", header...); !strings.Contains(list, `"name":"any"`) {
			t.Errorf("%s: the list is %s", asked, list)
		}
	}
	header, meta := modern("server/discover", "")
	discovered, _ := frame(t, url, "server/discover", "{"+meta+"}", header...)
	for _, want := range []string{`"2026-07-28"`, `"2025-11-25"`, `"2024-11-05"`, `"listChanged":true`} {
		if !strings.Contains(discovered, want) {
			t.Errorf("server/discover says %s, want %s in it", discovered, want)
		}
	}
	header, meta = modern("tools/call", "any")
	if got, _ := frame(t, url, "tools/call", `{"name":"any","arguments":{},`+meta+"}", header...); !strings.Contains(got, `"text":"ran"`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("a call without a session: %s", got)
	}
}

// TestMCPCalls holds what a client is told of a call.
func TestMCPCalls(t *testing.T) {
	s := serveMCP(t)
	url, on := s.url+"?view=v", s.url+"?view=on"
	_, header := begin(t, url, "2025-06-18")
	if _, err := s.Change("on", toolserver.Activate, []string{"bank"}); err != nil {
		t.Fatal(err)
	}
	_, bank := begin(t, on, "2025-06-18")
	for _, tc := range []struct {
		name, url, params string
		header            []string
		want              []string
	}{
		{"odd schema", url, `{"name":"any","arguments":{}}`, header, []string{`"text":"ran"`}},
		{"no arguments", url, `{"name":"any"}`, header, []string{`"text":"ran"`}},
		{"large arguments", url, `{"name":"any","arguments":{"a":"` + strings.Repeat("a", 5<<20) + `"}}`, header, []string{`"text":"ran"`}},
		{"panic", url, `{"name":"panics","arguments":{}}`, header, []string{"no such table"}},
		{"after a panic", url, `{"name":"any","arguments":{}}`, header, []string{`"text":"ran"`}},
		{"not active", url, `{"name":"balance","arguments":{}}`, header, []string{`"isError":true`, `toolset \"bank\", which is not active`}},
		{"unknown", url, `{"name":"fly","arguments":{}}`, header, []string{`"code":-32602`, "fly"}},
		{"passed on raw", on, `{"name":"balance","arguments":{}}`, bank, []string{`"structuredContent":{"balance":12345678901234567890}`, "12.50"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := frame(t, tc.url, "tools/call", tc.params, tc.header...)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s, want %s in it", got, want)
				}
			}
		})
	}
	list, _ := frame(t, url, "tools/list", "{}", header...)
	if want := `"inputSchema":{"anyOf":[{"type":"object"},{"type":"null"}]}`; !strings.Contains(list, want) || strings.Contains(list, "balance") {
		t.Errorf("the list is %s, want %s in it and no tool that is not active", list, want)
	}
	if got, _ := frame(t, on, "tools/call", `{"name":"login"}`, bank...); !strings.Contains(got, "welcome") {
		t.Errorf("login: %s", got)
	}
	if list, _ := frame(t, on, "tools/list", "{}", bank...); strings.Contains(list, "login") || !strings.Contains(list, "balance") {
		t.Errorf("the list has not what its server has after login: %s", list)
	}
}

// TestHosts: the guard of the endpoint is the one that the options set, and a client
// that sends one request is answered with JSON.
func TestHosts(t *testing.T) {
	url := serveMCP(t).url
	for host, want := range map[string]int{"tools.example": 200, "evil.example": 403} {
		req := request(t.Context(), t, "POST", url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Content-Type"); res.StatusCode != want || want == 200 && got != "application/json" {
			t.Errorf("%s: %d of type %s, want %d", host, res.StatusCode, got, want)
		}
	}
}

// TestClientGone: a call without a session ends with its request.
func TestClientGone(t *testing.T) {
	s := serveMCP(t)
	header, meta := modern("tools/call", "hang")
	ctx, leave := context.WithCancel(t.Context())
	req := request(ctx, t, "POST", s.url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang","arguments":{},`+meta+`}}`, header...)
	go func() {
		<-s.begun
		leave()
	}()
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Errorf("the call was answered: %s", res.Status)
	}
	<-s.halted
}

// TestListChanged: clients of either kind are told of a change, and closing the
// server ends their streams and the calls that hang.
func TestListChanged(t *testing.T) {
	s := serveMCP(t)
	url := s.url
	_, header := begin(t, url, "2025-11-25")
	stream := send(t, "GET", url, "", header...)
	defer stream.Body.Close()
	modernHeader, meta := modern("subscriptions/listen", "")
	listen := send(t, "POST", url, `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, modernHeader...)
	defer listen.Body.Close()
	for line := range lines(listen) {
		if strings.Contains(line, "subscriptions/acknowledged") {
			break
		}
	}
	if _, err := s.Change("", toolserver.Activate, []string{"bank"}); err != nil {
		t.Fatal(err)
	}
	for name, res := range map[string]*http.Response{"stream": stream, "listen": listen} {
		told := false
		for line := range lines(res) {
			if told = strings.Contains(line, "notifications/tools/list_changed"); told {
				break
			}
		}
		if !told {
			t.Errorf("%s: the client was not told of the change", name)
		}
	}
	call := request(t.Context(), t, "POST", url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang","arguments":{}}}`, header...)
	hanging := make(chan struct{})
	go func() {
		defer close(hanging)
		if res, err := http.DefaultClient.Do(call); err == nil {
			res.Body.Close()
		}
	}()
	<-s.begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-s.halted
	for range lines(stream) {
	}
	for range lines(listen) {
	}
	<-hanging
	late := send(t, "POST", url, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	late.Body.Close()
	if late.StatusCode != http.StatusBadRequest {
		t.Errorf("a client that comes after the end is answered with %d, want 400", late.StatusCode)
	}
}
