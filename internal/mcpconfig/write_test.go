// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/mcpconfig"
)

func written() []harness.Server {
	return []harness.Server{
		{Name: "weather", URL: "http://127.0.0.1:1/mcp", Transport: "http", Headers: map[string]string{"X-A": "b&c"}},
		{Name: "my files", Command: []string{"files", `a "b"`}, Env: []string{"ROOT=/x=y"}},
	}
}

// TestWrite holds each form against what its program reads: see the pages of
// these programs about MCP.
func TestWrite(t *testing.T) {
	for form, want := range map[mcpconfig.Form]string{
		mcpconfig.Claude: `{
  "mcpServers": {
    "my files": {
      "command": "files",
      "args": [
        "a \"b\""
      ],
      "env": {
        "ROOT": "/x=y"
      }
    },
    "weather": {
      "type": "http",
      "url": "http://127.0.0.1:1/mcp",
      "headers": {
        "X-A": "b&c"
      }
    }
  }
}
`,
		mcpconfig.Gemini: `{
  "mcpServers": {
    "my files": {
      "command": "files",
      "args": [
        "a \"b\""
      ],
      "env": {
        "ROOT": "/x=y"
      }
    },
    "weather": {
      "httpUrl": "http://127.0.0.1:1/mcp",
      "headers": {
        "X-A": "b&c"
      }
    }
  }
}
`,
		mcpconfig.OpenCode: `{
  "mcp": {
    "my files": {
      "type": "local",
      "command": [
        "files",
        "a \"b\""
      ],
      "environment": {
        "ROOT": "/x=y"
      },
      "enabled": true
    },
    "weather": {
      "type": "remote",
      "url": "http://127.0.0.1:1/mcp",
      "headers": {
        "X-A": "b&c"
      },
      "enabled": true
    }
  }
}
`,
		mcpconfig.VSCode: `{
  "servers": {
    "my files": {
      "type": "stdio",
      "command": "files",
      "args": [
        "a \"b\""
      ],
      "env": {
        "ROOT": "/x=y"
      }
    },
    "weather": {
      "type": "http",
      "url": "http://127.0.0.1:1/mcp",
      "headers": {
        "X-A": "b&c"
      }
    }
  }
}
`,
		mcpconfig.Codex: `[mcp_servers.weather]
url = "http://127.0.0.1:1/mcp"
[mcp_servers.weather.http_headers]
X-A = "b&c"

[mcp_servers."my files"]
command = "files"
args = ["a \"b\""]
[mcp_servers."my files".env]
ROOT = "/x=y"
`,
	} {
		t.Run(string(form), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mcp"+form.Ext())
			if err := mcpconfig.Write(path, form, written(), nil); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWriteReads reads back what is written, and keeps what was there.
func TestWriteReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"theme": "dark", "mcpServers": {"other": {"command": "x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	grants := map[string][]string{"alice": {"weather"}}
	if err := mcpconfig.Write(path, mcpconfig.Claude, written(), grants); err != nil {
		t.Fatal(err)
	}
	got, err := mcpconfig.Read(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]harness.Server{}
	for _, s := range got.Servers {
		byName[s.Name] = s
	}
	want := map[string]harness.Server{"other": {Name: "other", Command: []string{"x"}}}
	for _, s := range written() {
		if s.Transport == "http" {
			s.Transport = "" // which is the default
		}
		want[s.Name] = s
	}
	if diff := cmp.Diff(want, byName, cmp.Comparer(func(a, b func()) bool { return true })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(grants, got.Grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
	for name, refused := range map[string]struct {
		form   mcpconfig.Form
		server harness.Server
	}{
		"a pipe":               {mcpconfig.Claude, harness.Server{Name: "a"}},
		"sse in that of codex": {mcpconfig.Codex, harness.Server{Name: "a", URL: "http://x", Transport: "sse"}},
	} {
		if err := mcpconfig.Write(filepath.Join(t.TempDir(), "x"), refused.form, []harness.Server{refused.server}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := os.WriteFile(path, []byte(`[`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mcpconfig.Write(path, mcpconfig.Claude, written(), nil); err == nil {
		t.Error("a file that is no JSON was replaced")
	}
}
