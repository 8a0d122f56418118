// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"strings"
	"testing"
)

// TestTerminal has `rehearse mcp` list and call the tools of an official
// server, over stdio and over HTTP.
func TestTerminal(t *testing.T) {
	command := []string{"node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"}
	url := everything(t)
	for _, tt := range []struct {
		name string
		verb string
		args []string
		code int
		part string
	}{
		{"list", "list", nil, 0, "echo message=string\n"},
		{"number", "call", []string{"get-sum", "a=2", "b=3"}, 0, "The sum of 2 and 3 is 5."},
		{"text that looks like a number", "call", []string{"echo", "message=007"}, 0, "Echo: 007"},
		{"structured", "call", []string{"get-structured-content", "location=Chicago", "--raw"}, 0, `"structuredContent"`},
		{"argument that is missing", "call", []string{"echo", "massage=hello"}, 1, "expected string"},
		{"no such tool", "call", []string{"nothing"}, 2, "nothing"},
	} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(tt.name+"/"+over, func(t *testing.T) {
				args := []string{"mcp", tt.verb}
				if over == "http" {
					args = append(append(args, url), tt.args...)
				} else {
					args = append(append(append(args, tt.args...), "--"), command...)
				}
				code, out := rehearse(t, args...)
				if code != tt.code || !strings.Contains(out, tt.part) {
					t.Errorf("exit code %d, want %d, and in the output %q:\n%s", code, tt.code, tt.part, out)
				}
			})
		}
	}
	if left := processes(t, "server-everything"); strings.Count(left, "\n") > 0 {
		t.Errorf("processes left behind beside the one over HTTP:\n%s", left)
	}
}
