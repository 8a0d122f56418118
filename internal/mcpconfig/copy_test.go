// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
)

// TestCopy: each form gets other commands and addresses, and keeps the rest.
func TestCopy(t *testing.T) {
	for _, tc := range []struct {
		name, path, file string
		form             mcpconfig.Form
		want             string
	}{
		{
			"claude", "mcp.json", `{"theme": 1.0, "mcpServers": {"a": {"command": "a", "args": ["${X}"], "env": {"K": "v"}, "timeout": 5}, "b": {"type": "http", "url": "http://h/mcp", "headers": {"H": "v"}}, "c": {"command": "c", "disabled": true}}}`,
			mcpconfig.Claude,
			`{"mcpServers":{"a":{"args":["--","a","${X}"],"command":"tape","env":{"K":"v"},"timeout":5},"b":{"headers":{"H":"v"},"type":"http","url":"proxied http://h/mcp"},"c":{"command":"c","disabled":true}},"theme":1.0}`,
		},
		{
			"opencode", "opencode.json", `{"mcp": {"a": {"type": "local", "command": ["a", "b"], "enabled": true}, "c": {"type": "local", "command": ["c"], "enabled": false}}}`,
			mcpconfig.OpenCode,
			`{"mcp":{"a":{"command":["tape","--","a","b"],"enabled":true,"type":"local"},"c":{"command":["c"],"enabled":false,"type":"local"}}}`,
		},
		{"vscode", "mcp.json", `{"servers": {"a": {"type": "stdio", "command": "a"}}}`, mcpconfig.VSCode, `{"servers":{"a":{"args":["--","a"],"command":"tape","type":"stdio"}}}`},
		{"gemini", "settings.json", `{"mcpServers": {"a": {"httpUrl": "http://h/mcp"}}}`, mcpconfig.Gemini, `{"mcpServers":{"a":{"httpUrl":"proxied http://h/mcp"}}}`},
		{"gemini by its folder", ".gemini/settings.json", `{"mcpServers": {"a": {"command": "a"}}}`, mcpconfig.Gemini, `{"mcpServers":{"a":{"args":["--","a"],"command":"tape"}}}`},
		{
			"codex", "config.toml", "model = 'm'\n[mcp_servers.a]\ncommand = 'a'\nargs = ['b']\n[mcp_servers.a.env]\nK = 'v'\n", mcpconfig.Codex,
			"model='m'[mcp_servers][mcp_servers.a]args=['--','a','b']command='tape'[mcp_servers.a.env]K='v'",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			form := mcpconfig.FormOf(tc.path, []byte(tc.file))
			if form != tc.form {
				t.Errorf("the form is %s, want %s", form, tc.form)
			}
			var seen []harness.Server
			got, err := mcpconfig.Copy(tc.path, []byte(tc.file), form, func(s harness.Server) (harness.Server, error) {
				seen = append(seen, s)
				if s.URL != "" {
					s.URL = "proxied " + s.URL
					return s, nil
				}
				s.Command = append([]string{"tape", "--"}, s.Command...)
				return s, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			compact := strings.NewReplacer("\n", "", " ", "")
			if diff := cmp.Diff(compact.Replace(tc.want), compact.Replace(string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tc.name == "claude" {
				want := []harness.Server{
					{Name: "a", Command: []string{"a", "${X}"}, Env: []string{"K=v"}},
					{Name: "b", URL: "http://h/mcp", Transport: "http", Headers: map[string]string{"H": "v"}},
				}
				if diff := cmp.Diff(want, seen, cmp.Comparer(func(a, b func()) bool { return true })); diff != "" {
					t.Errorf("servers (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestRest is all but the servers.
func TestRest(t *testing.T) {
	for _, tc := range []struct {
		form       mcpconfig.Form
		file, want string
	}{
		{mcpconfig.Claude, `{"mcpServers": {"a": {}}}`, ""},
		{mcpconfig.OpenCode, `{"model": "m", "mcp": {}}`, "{\n  \"model\": \"m\"\n}\n"},
		{mcpconfig.Codex, "model = 'm'\n[mcp_servers.a]\ncommand = 'a'\n", "model = 'm'\n"},
	} {
		got, err := mcpconfig.Rest("f", []byte(tc.file), tc.form)
		if string(got) != tc.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tc.form, got, err, tc.want)
		}
	}
}

func TestCopyRefuses(t *testing.T) {
	for file, want := range map[string]string{
		`[]`:                                 "cannot unmarshal",
		`{"a": 1}`:                           "it has no mcpServers",
		`{"mcpServers": {"a": 1}}`:           `server "a" is not a map`,
		`{"mcpServers": {"a": {}}}`:          `server "a": it has neither a command nor a url`,
		`{"mcpServers": {"a": {"url":"x"}}}`: `server "a": no`,
		`{"mcpServers": {"a": {"command": "x", "args": [1]}}}`: "which is not a text",
	} {
		_, err := mcpconfig.Copy("f", []byte(file), mcpconfig.Claude, func(s harness.Server) (harness.Server, error) { return s, errors.New("no") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
