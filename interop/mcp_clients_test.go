// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type mcpClient struct {
	name  string
	argv  []string
	modes []string
	// sockets says that it has WebSockets.
	sockets bool
}

// mcpClients are the official SDKs, each a program that takes auto (a client
// of 2026-07-28 that falls back) or legacy, and a URL or a command line.
func mcpClients(t *testing.T) []mcpClient {
	return []mcpClient{
		{"python 2.3", []string{".venv/mcp-2.3.0/bin/python", "clients/mcp_v2.py"}, []string{"auto", "legacy"}, false},
		{"python 1.30", []string{".venv/mcp-1.30.0/bin/python", "clients/mcp_v1.py"}, []string{"legacy"}, true},
		{"typescript 2.4", []string{node, "clients/mcp_v2.mjs"}, []string{"auto", "legacy"}, false},
		{"typescript 1.32", []string{node, "clients/mcp_v1.mjs"}, []string{"legacy"}, true},
		{"go 1.8", []string{buildGoClient(t, "mcp")}, []string{"auto", "legacy"}, false},
	}
}

// mcpEras are the servers that they meet: what is added to the protocol of
// scenarios/clients.yaml.
var mcpEras = []struct{ name, protocol string }{
	{"both eras", ""},
	{"legacy only", ", modern: off"},
	{"modern refused", ", modern: reject"},
	{"older legacy", ", versions: [2025-06-18]"},
}

// TestMCPClients has each client list and call tools, with and without
// progress, answer a question and see a list change, over stdio and over HTTP.
func TestMCPClients(t *testing.T) {
	for _, client := range mcpClients(t) {
		for _, mode := range client.modes {
			for _, era := range mcpEras {
				file := withProtocol(t, "scenarios/clients.yaml", era.protocol)
				want := wantSeen(mode, era.name)
				t.Run(fmt.Sprintf("%s/%s/%s/http", client.name, mode, era.name), func(t *testing.T) {
					runMCPClient(t, client.argv, mode, []string{serve(t, "mcp", file).URL}, want)
				})
				t.Run(fmt.Sprintf("%s/%s/%s/stdio", client.name, mode, era.name), func(t *testing.T) {
					runMCPClient(t, client.argv, mode, []string{binary, "serve", "mcp", "--transport", "stdio", file}, want)
				})
			}
		}
	}
}

// TestMCPClientsOfOldTransports has the clients use HTTP with SSE, and the
// older ones WebSockets, which their SDKs have dropped since.
func TestMCPClientsOfOldTransports(t *testing.T) {
	for _, client := range mcpClients(t) {
		transports := []string{"sse"}
		if client.sockets {
			transports = append(transports, "ws")
		}
		for _, transport := range transports {
			for _, era := range mcpEras {
				t.Run(fmt.Sprintf("%s/%s/%s", client.name, era.name, transport), func(t *testing.T) {
					file := withProtocol(t, "scenarios/clients.yaml", era.protocol)
					url := serve(t, "mcp", "--transport", transport, file).URL
					runMCPClient(t, client.argv, "legacy", []string{url}, wantSeen("legacy", era.name))
				})
			}
		}
	}
}

// wantSeen is what a client has to see.
func wantSeen(mode, era string) string {
	protocol := "2025-11-25"
	switch {
	case era == "older legacy":
		protocol = "2025-06-18"
	case era == "both eras" && mode == "auto":
		protocol = "2026-07-28"
	}
	return `{
		"protocol": "` + protocol + `",
		"tools": ["add", "greet", "grow", "work"],
		"sum": {"sum": 5},
		"work": "done",
		"quiet": "done",
		"progress": [[1, 3, "working"], [2, 3, "working"], [3, 3, "working"]],
		"greet": "Hello, Who is there? Ada!",
		"grow": "growing",
		"changes": 1,
		"grown": ["add", "greet", "grow", "grown", "work"]
	}`
}

// withProtocol is a copy of a server file with more in its protocol. The
// TypeScript SDK drops the progress that it reads together with the answer, so
// that the time between them must be one in which a busy machine comes to read.
func withProtocol(t *testing.T, file, protocol string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(name, fmt.Appendf(data, "protocol: {settle: 300ms%s}\n", protocol), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// runMCPClient runs a client and compares what it saw. It must end well and
// have nothing to complain of.
func runMCPClient(t *testing.T, argv []string, mode string, target []string, want string) {
	t.Helper()
	all := append(append(argv[:len(argv):len(argv)], mode), target...)
	cmd := command(t, all[0], all[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
		t.Errorf("what the client saw (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, `{"url":"stdio"`) { // the ready line
			t.Errorf("on standard error: %s", line)
		}
	}
}

// buildGoClient builds a program of goclients.
func buildGoClient(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	if out, err := command(t, "go", "build", "-C", "goclients", "-o", bin, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("building the Go client: %v\n%s", err, out)
	}
	return bin
}

// TestInspector drives the inspector's command line in both eras.
func TestInspector(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"http", "stdio", "sse"} {
			if era == "modern" && transport == "sse" {
				continue // which is of the past
			}
			target := []string{binary, "serve", "mcp", "--transport", "stdio", "scenarios/conformance.yaml"}
			if transport != "stdio" {
				target = []string{serve(t, "mcp", "--transport", transport, "scenarios/conformance.yaml").URL}
			}
			for _, tt := range []struct {
				name string
				args []string
				code int
				part string
			}{
				{"tools/list", []string{"--method", "tools/list"}, 0, `"name": "test_simple_text"`},
				{"tools/list strict", []string{"--method", "tools/list", "--strict"}, 0, `"name": "test_simple_text"`},
				{"tools/call", []string{"--method", "tools/call", "--tool-name", "test_simple_text"}, 0, "This is a simple text response for testing."},
				{"tools/call fails", []string{"--method", "tools/call", "--tool-name", "test_error_handling"}, 5, "This tool intentionally returns an error"},
				{"resources/list", []string{"--method", "resources/list"}, 0, `"uri": "test://static-text"`},
				{"resources/templates/list", []string{"--method", "resources/templates/list"}, 0, `"uriTemplate": "test://template/{id}/data"`},
				{"resources/read", []string{"--method", "resources/read", "--uri", "test://template/7/data"}, 0, "Data for ID: 7"},
				{"prompts/list", []string{"--method", "prompts/list"}, 0, `"name": "test_prompt_with_arguments"`},
				{"prompts/get", []string{"--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"}, 0, "arg1='a', arg2='b'"},
			} {
				t.Run(strings.Join([]string{era, transport, tt.name}, "/"), func(t *testing.T) {
					argv := append([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", "--protocol-era", era}, tt.args...)
					argv = append(append(argv, "--"), target...)
					cmd := command(t, node, argv...)
					cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
					out, err := cmd.CombinedOutput()
					if err != nil && cmd.ProcessState == nil {
						t.Fatal(err)
					}
					if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.part) {
						t.Errorf("exit code %d, want %d, and in the output %q:\n%s", code, tt.code, tt.part, out)
					}
				})
			}
		}
	}
}
