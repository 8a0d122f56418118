// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": "t0k", "EMPTY": ""}[name]
	return v, ok
}

// document is the configuration of the design document for the MCP client.
const document = `
mcp:
  client:
    enabled: true
    servers:
      # GitHub integration
      - name: github
        transport: stdio
        command: ["npx", "-y", "@modelcontextprotocol/server-github"]
        env:
          GITHUB_TOKEN: "${TOKEN}"
      - name: filesystem
        transport: stdio
        command: ["mcp-server-filesystem", "--root", "/tmp/safe"]
      - name: postgres
        transport: websocket
        url: "ws://localhost:3002/mcp"
    agent_permissions:
      alice:
        allowed_servers: ["filesystem"]
      eamonn:
        allowed_servers: ["github", "filesystem", "postgres"]
`

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       mcpconfig.Config
		err        string
		warnings   string
	}{
		{name: "the design document's", file: document, want: mcpconfig.Config{
			Servers: []harness.Server{
				{Name: "github", Command: []string{"npx", "-y", "@modelcontextprotocol/server-github"}, Env: []string{"GITHUB_TOKEN=t0k"}},
				{Name: "filesystem", Command: []string{"mcp-server-filesystem", "--root", "/tmp/safe"}},
				{Name: "postgres", URL: "ws://localhost:3002/mcp", Transport: "ws"},
			},
			Grants: map[string][]string{"alice": {"filesystem"}, "eamonn": {"github", "filesystem", "postgres"}},
		}},
		{name: "not enabled", file: "mcp: {client: {enabled: false, servers: [{name: a, command: [x]}]}}"},
		{name: "permissions for nobody", file: "mcp: {client: {servers: [], agent_permissions: {}}}", want: mcpconfig.Config{Grants: map[string][]string{}}},
		{name: "as editors have it", file: `{
	"mcpServers": {
		"weather": {"command": "uv", "args": ["run", "weather"], "env": {"B": "2", "A": "${NONE:-1}"}, "autoApprove": []},
		"calc": {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${TOKEN}$${x}", "Smile": "\ud83d\ude00\\/\u00e4"}},
		"old": {"transport": "sse", "url": "http:\/\/127.0.0.1:1/sse"},
		"socket": {"transport": "websocket", "url": "ws://127.0.0.1:1/ws"}, "short": {"type": "ws", "url": "ws://127.0.0.1:1/ws"},
		"off": {"command": "${NONE}", "disabled": true}
	},
	"agent_permissions": {"alice": {"allowed_servers": ["old"]}}
}`, want: mcpconfig.Config{
			Servers: []harness.Server{
				{Name: "weather", Command: []string{"uv", "run", "weather"}, Env: []string{"A=1", "B=2"}},
				{Name: "calc", URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"X-Key": "t0k${x}", "Smile": "😀\\/ä"}},
				{Name: "old", URL: "http://127.0.0.1:1/sse", Transport: "sse"},
				{Name: "socket", URL: "ws://127.0.0.1:1/ws", Transport: "ws"},
				{Name: "short", URL: "ws://127.0.0.1:1/ws", Transport: "ws"},
			},
			Grants: map[string][]string{"alice": {"old"}},
		}},
		{name: "working directories", file: `{"mcpServers": {
	"up": {"command": "./x", "cwd": "../${TOKEN}"}, "down": {"command": "x", "cwd": "/srv"}, "none": {"command": "x", "cwd": null}, "empty": {"command": "x", "cwd": ""}
}}`, want: mcpconfig.Config{Servers: []harness.Server{
			{Name: "up", Command: []string{"./x"}, Dir: "etc/t0k"},
			{Name: "down", Command: []string{"x"}, Dir: "/srv"},
			{Name: "none", Command: []string{"x"}},
			{Name: "empty", Command: []string{"x"}},
		}}},
		{name: "a working directory in the list", file: "mcp: {client: {servers: [{name: a, command: [x], cwd: work}]}}", want: mcpconfig.Config{
			Servers: []harness.Server{{Name: "a", Command: []string{"x"}, Dir: "etc/mcp/work"}},
		}},
		{
			name: "keys without an effect", file: `{"mcpServers": {
	"a": {"command": "x", "timeout": 5, "envFile": ".env", "autoApprove": [], "alwaysAllow": ["y"], "description": "d", "trust": true, "_note": "n"},
	"b": {"command": "x", "arg": []},
	"c": {"command": "x", "timeout": 5, "enabled": false}, "d": {"command": "x", "timeout": 5, "disabled": true}
}}`, want: mcpconfig.Config{Servers: []harness.Server{{Name: "a", Command: []string{"x"}}, {Name: "b", Command: []string{"x"}}}},
			warnings: `etc/mcp/f:2:24: server "a" has the key "timeout", which has no effect
etc/mcp/f:2:38: server "a" has the key "envFile", which has no effect
etc/mcp/f:3:24: server "b" has the key "arg", which has no effect (did you mean "args"?)`,
		},
		{name: "nothing", file: "", err: "f:1:1: the file is empty"},
		{name: "half of it", file: "{", err: "f:1:1: not YAML: the { here is not closed; write its end, or quote the text that it belongs to"},
		{name: "no servers", file: `{"servers": {}}`, err: "f:1:1: it names no MCP servers: want mcpServers, or mcp with client"},
		{name: "both forms", file: "mcpServers: {}\nmcp: {client: {}}", err: "f:2:1: the file has both mcpServers and mcp.client; keep one"},
		{name: "many mistakes", file: `mcp:
  client:
    server: []
    servers:
      - {name: a, transport: pigeon, url: "http://x"}
      - {name: a, command: [x]}
      - {name: b}
      - {name: c, command: [x], url: "http://x"}
      - {name: d, transport: stdio, url: "http://x"}
      - {name: e, transport: http, command: [x]}
      - {name: f, command: ["${NONE}"]}
      - {command: [x]}
      - {name: g, command: []}
    agent_permissions:
      alice: {allowed_servers: [aa]}
      bob: {servers: [a]}
`, err: `f:3:5: mcp.client has no key "server" (did you mean "servers"?)
f:5:30: server "a" has the unknown transport "pigeon"; want stdio, http, sse or websocket
f:6:16: there are two servers named "a"
f:7:9: server "b" needs either a command or a url
f:8:9: server "c" needs either a command or a url
f:9:30: server "d" has a url, and transport stdio needs a command
f:10:30: server "e" has a command, and transport http needs a url
f:11:29: the environment variable NONE is not set; ${NONE:-text} gives it a default
f:12:9: the server has no name
f:13:28: the command of server "g" is empty
f:15:33: agent "alice" may use server "aa", which the file does not have (did you mean "a"?)
f:16:13: agent "bob" has no key "servers" (did you mean "allowed_servers"?)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mcpconfig.Parse("etc/mcp/f", []byte(tc.file), lookup)
			if tc.err != "" {
				if err == nil || strings.ReplaceAll(err.Error(), "etc/mcp/", "") != tc.err {
					t.Errorf("got %v\nwant %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var warnings []string
			for _, w := range got.Warnings {
				warnings = append(warnings, w.Error())
			}
			if diff := cmp.Diff(tc.warnings, strings.Join(warnings, "\n")); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			got.Warnings = nil
			if diff := cmp.Diff(&tc.want, got, cmpopts.EquateEmpty()); diff != "" || (got.Grants == nil) != (tc.want.Grants == nil) {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadNamesTheFile(t *testing.T) {
	_, err := mcpconfig.Read(filepath.Join(t.TempDir(), "none.json"), lookup)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["${TOKEN}"], "env": {"A": "$${"}}}, "agent_permissions": {"b": {"allowed_servers": ["a"]}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := mcpconfig.Parse("f", raw, lookup)
		if (got == nil) == (err == nil) {
			t.Fatalf("got %v and %v", got, err)
		}
		for _, s := range serversOf(got) {
			if s.Name == "" && s.URL == "" && len(s.Command) == 0 {
				t.Errorf("a server that nothing is known of: %+v", s)
			}
		}
	})
}

func serversOf(c *mcpconfig.Config) []harness.Server {
	if c == nil {
		return nil
	}
	return c.Servers
}

func Example() {
	config, err := mcpconfig.Parse("mcp.json", []byte(`{"mcpServers": {"files": {"command": "mcp-files", "args": ["${DIR:-/tmp}"]}}}`), os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range config.Servers {
		fmt.Println(s.Name, s.Command)
	}
	// Output: files [mcp-files /tmp]
}
