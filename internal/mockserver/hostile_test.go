// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/mockserver"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestHostileMemory has many conversations with an MCP server keep no more than
// what all may keep, whatever their answers come as; what went wrong in them is
// remembered.
func TestHostileMemory(t *testing.T) {
	const answer, bound = 128 << 10, 1 << 20
	for _, accept := range []string{"application/json, text/event-stream", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			a := openMCP(t, mockmcp.Script{Name: "s", Tools: []mockmcp.Tool{{Name: "big", Results: []mockmcp.Result{{Size: answer}}}, {
				Name: "none", Results: []mockmcp.Result{{Size: 1, Match: func(*mockmcp.Call) (bool, string, error) { return false, "never", nil }}},
			}}}, &mockserver.MCPOptions{MaxBytes: bound})
			initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
			call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"arguments":{}}}`
			before := heap()
			for i := range 40 {
				path := fmt.Sprintf("/t/n%d/mcp", i)
				session := a.session(path, initialize)
				for _, tool := range []string{"none", "big", "big"} {
					status, text := a.ask("POST", path, fmt.Sprintf(call, tool), "Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-06-18", "Accept", accept)
					if status != 200 || tool == "big" && len(text) < answer {
						t.Fatalf("conversation %d: %d with %d bytes", i, status, len(text))
					}
				}
			}
			if grown := heap() - before; grown > 3*bound {
				t.Errorf("after 40 conversations with two answers of %d bytes %d more bytes are in use, want at most %d", answer, grown, 3*bound)
			}
			for _, i := range []int{0, 39} {
				a.want(200, `"calls":3,"unstruck":[],"problems":["no scripted result of s.none fits`, "GET", fmt.Sprintf("/t/n%d/rehearse/expectations", i), "")
			}
			a.want(200, `"seq":3`, "GET", "/t/n39/rehearse/journal", "") // the last one keeps its own
		})
	}
}

// session opens a session and returns its id.
func (a admin) session(path, initialize string) string {
	a.t.Helper()
	r := httptest.NewRequest("POST", "http://127.0.0.1"+path, strings.NewReader(initialize))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	a.s.ServeHTTP(w, r)
	id := w.Header().Get("Mcp-Session-Id")
	if id == "" {
		a.t.Fatalf("no session: %d %s", w.Code, w.Body)
	}
	return id
}

// TestHostileConversations has a mock model forget the conversations that were
// busy longest ago when their requests are too much together, but for what went
// wrong in them.
func TestHostileConversations(t *testing.T) {
	const size, bound = 5 << 10, 50 << 10
	var logged strings.Builder
	var mu sync.Mutex
	opts := &mockserver.Options{MaxBytes: bound}
	opts.Mock.Logf = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&logged, format+"\n", args...)
	}
	c := open(t, says("hello"), opts)
	for i := range 40 {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d %s"}]}`, i, strings.Repeat("x", size))
		c.want(200, "hello", "POST", fmt.Sprintf("/t/n%d/v1/chat/completions", i), body)
		c.want(422, "", "POST", fmt.Sprintf("/t/n%d/v1/chat/completions", i), `{"model":"m","messages":[{"role":"user","content":"once more"}]}`)
		c.ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`) // is always busy
	}
	_, list := c.ask("GET", "/rehearse/conversations", "")
	var rows []struct{ ID string }
	if err := json.Unmarshal([]byte(list), &rows); err != nil || len(rows) > bound/size+1 || len(rows) < 5 || rows[0].ID != "" || rows[1].ID != "n30" && rows[1].ID != "n31" {
		t.Errorf("%d conversations are kept (%v):\n%s", len(rows), err, list)
	}
	if !strings.Contains(logged.String(), `conversation "n0" is forgotten`) {
		t.Errorf("the log says\n%s", logged.String())
	}
	if n := strings.Count(fmt.Sprint(errors.Join(c.s.Problems()...)), "once more"); n != 40 {
		t.Errorf("the errors of %d conversations are remembered, want all 40:\n%v", n, errors.Join(c.s.Problems()...))
	}
	c.want(204, "", "POST", "/rehearse/reset", "")
	if err := errors.Join(c.s.Problems()...); err != nil {
		t.Errorf("after a reset: %v", err)
	}
}

// TestHostilePosts bounds what conversations are sent of their own.
func TestHostilePosts(t *testing.T) {
	parse := func(string, []byte) (mockllm.Script, error) { return says("own"), nil }
	c := open(t, says("hello"), &mockserver.Options{Parse: parse, MaxPosted: 10_000})
	body := strings.Repeat("x", 1050)
	for i := range 9 {
		c.want(204, "", "POST", fmt.Sprintf("/t/n%d/rehearse/load", i), body)
	}
	c.want(204, "", "POST", "/t/n0/rehearse/load", body) // takes the place of its own
	c.want(503, "DELETE those that are over", "POST", "/t/n9/rehearse/load", body)
	c.want(204, "", "DELETE", "/t/n0/rehearse/conversation", "")
	c.want(204, "", "POST", "/t/n9/rehearse/load", body)
	a := openMCP(t, counter(), &mockserver.MCPOptions{MaxPosted: 10_000})
	state := fmt.Sprintf(`{"x": %q}`, body)
	for i := range 9 {
		a.want(204, "", "PUT", fmt.Sprintf("/t/n%d/rehearse/state", i), state)
	}
	a.want(503, "DELETE those that are over", "PUT", "/t/n9/rehearse/state", state)
}

// TestHostileListener asks through a socket, where a host is known to be
// foreign.
func TestHostileListener(t *testing.T) {
	c := open(t, says("hello"), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: c.s}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for host, want := range map[string]int{"": 200, "localhost": 200, "evil.example": 403} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, res.StatusCode, want)
		}
	}
	srv.Close()
	<-served
}
