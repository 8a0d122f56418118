// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// post sends one frame and returns the answer.
func post(t *testing.T, url, frame string, headers ...string) (status int, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b)), resp.Header
}

const callBuild = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"build","arguments":{"id":"m1"}}}`

func TestHTTPLegacySession(t *testing.T) {
	s := mockmcp.NewServer(t, world())
	_, _, header := post(t, s.URL, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
	id := header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session id")
	}
	if status, body, _ := post(t, s.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id); status != http.StatusAccepted {
		t.Errorf("notification: %d %s", status, body)
	}
	if status, body, _ := post(t, s.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", id); status != 200 || !strings.Contains(body, `"name":"build"`) {
		t.Errorf("list: %d %s", status, body)
	}
	status, body, _ := post(t, s.URL, callBuild, "Mcp-Session-Id", id)
	want := `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"{\"model\":\"m1\",\"rate\":1.10,\"note\":\"<b>\"}"}],"structuredContent":{"model":"m1","rate":1.10,"note":"<b>"}}}`
	if status != 200 || body != want {
		t.Errorf("call: %d %s", status, body)
	}
	status, body, _ = post(t, s.URL, `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"rpc","arguments":{}}}`, "Mcp-Session-Id", id)
	if want := `{"jsonrpc":"2.0","id":6,"error":{"code":-32050,"message":"quota","data":{"left":0,"id":12345678901234567890}}}`; status != 200 || body != want {
		t.Errorf("error: %d %s", status, body)
	}

	// The session ends with DELETE and stays ended.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", id)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	status, body, _ = post(t, s.URL, callBuild, "Mcp-Session-Id", id)
	if want := `{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"Session not found"}}`; status != http.StatusNotFound || body != want {
		t.Errorf("after DELETE: %d %s", status, body)
	}
	if n := len(s.Journal()); n != 2 {
		t.Errorf("%d calls in the journal, want 2", n)
	}
	if s.Lists() != 1 {
		t.Errorf("Lists() = %d", s.Lists())
	}
}

func TestHTTPRefusals(t *testing.T) {
	s := mockmcp.NewServer(t, world())
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tt := range []struct {
		name, frame string
		headers     []string
		status      int
		want        string
	}{
		{
			"no session id: 400 and JSON-RPC, so that a client that probes goes on with initialize",
			callBuild, nil, 400, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Bad Request: Missing session ID"}}`,
		},
		{"a session nobody opened", callBuild, []string{"Mcp-Session-Id", "mcp-session-none"}, 404, `"code":-32001`},
		{"no JSON", `{`, nil, 400, `"code":-32700`},
		{
			"new era", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"build","arguments":{"id":"m1"},` + meta + `}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "build"},
			200, `"resultType":"complete"`,
		},
		{
			"new era, unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope",` + meta + `}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "nope"},
			200, `MCP error -32602: Tool nope not found`,
		},
		{
			"new era, another name in the header", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"build",` + meta + `}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "delete"},
			400, `"code":-32020`,
		},
		{
			"new era, no name in the header", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"build",` + meta + `}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"},
			400, `"code":-32020`,
		},
		{
			"new era, discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`,
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"},
			200, `"supportedVersions":["2026-07-28"`,
		},
		{"foreign host", callBuild, nil, 403, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.status == 403 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(callBuild))
				if err != nil {
					t.Fatal(err)
				}
				req.Host, req.Close = "evil.example", true
				req.Header.Set("Mcp-Session-Id", "x")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != tt.status {
					t.Errorf("status %d", resp.StatusCode)
				}
				return
			}
			status, body, _ := post(t, s.URL, tt.frame, tt.headers...)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s\nwant %d %s", status, body, tt.status, tt.want)
			}
		})
	}
}

// TestHTTPCloseEndsStreams: a client that listens must not hold up Close.
func TestHTTPCloseEndsStreams(t *testing.T) {
	s := newServer(t, world(), nil)
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	_, _, header := post(t, h.URL, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	s.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	if status, _, _ := post(t, h.URL, callBuild); status != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d", status)
	}
}

// fakeT is a test that notes its failures.
type fakeT struct {
	cleanups []func()
	failures []string
}

func (f *fakeT) Helper()          {}
func (f *fakeT) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeT) Errorf(s string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(s, args...))
}
func (f *fakeT) Fatalf(s string, args ...any) { f.Errorf(s, args...) }

func TestNewServerFailsTheTestOnAMiss(t *testing.T) {
	ft := &fakeT{}
	s := mockmcp.NewServer(ft, world())
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"build","arguments":{"id":"x"}}}`)
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for _, c := range ft.cleanups {
		c()
	}
	want := `mock server "lab": no scripted result of lab.build fits the call with {"id":"x"}: result 1: id does not begin with m; result 2: id is not taken`
	if len(ft.failures) != 1 || ft.failures[0] != want {
		t.Errorf("failures: %q", ft.failures)
	}
	ft = &fakeT{}
	if s := mockmcp.NewServer(ft, mockmcp.Script{State: raw(`1`)}); s != nil || len(ft.failures) != 1 {
		t.Errorf("NewServer with a bad script: %v, %q", s, ft.failures)
	}
}

// TestCloseWithClientsThatDoNotRead: an answer that nobody takes must not hold
// up Close for ever.
func TestCloseWithClientsThatDoNotRead(t *testing.T) {
	const size = 16 << 20 // more than all the buffers between us
	s := mockmcp.NewServer(t, mockmcp.Script{Name: "big", Protocol: mockmcp.Protocol{Sessions: mockmcp.SessionsNone}, Tools: []mockmcp.Tool{
		{Name: "big", Results: []mockmcp.Result{{Size: size}}},
	}})
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big"}}`
	for _, accept := range []string{"application/json", "text/event-stream"} {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.URL, strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, call)
	s.Close()
}

// TestUnreadable: anything that is not a message gets the same error over every
// transport.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct{ name, frame, want string }{
		{"not JSON", `{"id":1,`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: unexpected end of JSON input"}}`},
		{"no message", `{"id":1}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: neither method, result nor error"}}`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"an empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mockmcp.NewServer(t, world())
			c := dial(t, s.Server)
			c.send(tt.frame)
			if got := string(c.receive().Frame); got != tt.want {
				t.Errorf("over a pipe: %s, want %s", got, tt.want)
			}
			if status, got, _ := post(t, s.URL, tt.frame); status != http.StatusBadRequest || got != tt.want {
				t.Errorf("over HTTP: %d %s, want %s", status, got, tt.want)
			}
		})
	}
}
