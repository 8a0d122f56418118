// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// TestSameAsLibrary asks a bare mcp-go server and ours the same over HTTP. We
// answer most of it ourselves, and what is there must be what mcp-go has:
// status, codes, and every member of a result.
func TestSameAsLibrary(t *testing.T) {
	lib := server.NewMCPServer("shop", "1.0.0", server.WithToolCapabilities(false))
	lib.AddTool(mcp.NewToolWithRawSchema("plain", "", json.RawMessage(`{"type":"object"}`)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("plain is done"), nil
	})
	theirs := httptest.NewServer(server.NewStreamableHTTPServer(lib, server.WithStateful(true), server.WithStreamableHTTPLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))))
	defer theirs.Close()
	script := workshop(mockmcp.Protocol{})
	script.Tools = script.Tools[:1]
	script.Tools[0].Annotations = raw(`{}`) // which mcp-go always lists
	ours := mockmcp.NewServer(t, script)

	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	sessions := map[string]string{}
	for _, tt := range []struct {
		name, frame string
		headers     []string
		session     bool
	}{
		{"initialize", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`, nil, false},
		{"initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, true},
		{"list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, true},
		{"call", `{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"plain"}}`, nil, true},
		{"ping", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, nil, true},
		{"unknown method", `{"jsonrpc":"2.0","id":4,"method":"no/such"}`, nil, true},
		{"prompts that are not there", `{"jsonrpc":"2.0","id":5,"method":"prompts/list"}`, nil, true},
		{"discover of the old era", `{"jsonrpc":"2.0","id":6,"method":"server/discover"}`, nil, true},
		{"discover", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"}, false},
		{"modern list", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, false},
		{"modern call", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"plain",` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "plain"}, false},
		{"modern ping", `{"jsonrpc":"2.0","id":10,"method":"ping","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, false},
		{"another method in the header", `{"jsonrpc":"2.0","id":11,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, false},
		{"no method in the header", `{"jsonrpc":"2.0","id":12,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28"}, false},
		{"another version in the header", `{"jsonrpc":"2.0","id":13,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2025-06-18", "Mcp-Method", "tools/list"}, false},
		{"no version in the body", `{"jsonrpc":"2.0","id":14,"method":"tools/list"}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, false},
		{"no capabilities", `{"jsonrpc":"2.0","id":15,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, false},
		{"a version to come", `{"jsonrpc":"2.0","id":16,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, []string{"Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"}, false},
		{"a stream to resume", `{"jsonrpc":"2.0","id":17,"method":"tools/list","params":{` + meta + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Last-Event-Id", "1"}, false},
		{"a response", `{"jsonrpc":"2.0","id":18,"result":{"roots":[]}}`, []string{"Mcp-Protocol-Version", "2026-07-28"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers := map[string]any{}
			for _, url := range []string{theirs.URL, ours.URL} {
				headers := tt.headers
				if tt.session {
					headers = append(headers[:len(headers):len(headers)], "Mcp-Session-Id", sessions[url])
				}
				status, body, h := post(t, url, tt.frame, headers...)
				if id := h.Get("Mcp-Session-Id"); id != "" {
					sessions[url] = id
				}
				var v map[string]any
				_ = json.Unmarshal([]byte(body), &v)
				if e, ok := v["error"].(map[string]any); ok {
					delete(e, "message") // each in its own words
				}
				answers[url] = []any{status, v}
			}
			if diff := cmp.Diff(answers[theirs.URL], answers[ours.URL]); diff != "" {
				t.Errorf("(-mcp-go +ours):\n%s", diff)
			}
		})
	}
}
