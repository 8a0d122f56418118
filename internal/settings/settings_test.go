// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/settings"
)

// world is a folder with files, a home below it, and an environment.
type world struct {
	dir string
	env map[string]string
}

func newWorld(t *testing.T, files map[string]string, env map[string]string) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), env: map[string]string{}}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.env["HOME"] = filepath.Join(w.dir, "home")
	for name, value := range env {
		w.env[name] = value
	}
	return w
}

func (w *world) lookup(name string) (string, bool) {
	v, ok := w.env[name]
	return v, ok
}

func (w *world) load(given ...settings.Setting) (*settings.Settings, error) {
	return settings.Load(settings.Sources{Given: given, Lookup: w.lookup, Dir: w.dir})
}

// said is a setting as "text (from)", with places relative to the folder.
func (w *world) said(s settings.Setting) string {
	return fmt.Sprintf("%s (%s)", s.Text, strings.ReplaceAll(s.From, w.dir+"/", ""))
}

const (
	homeFile = "home/.gem-flux-mcp/config.json"
	homeText = "{\n\t\"argo_base_url\": \"http:\\/\\/home/v1\",\n  \"mcp_server_command\": \"home-mcp\",\n  \"default_model\": \"home-model\",\n  \"other\": [1]\n}"
	project  = "client:\n  base_url: http://project/v1\n  model: project-model\n  mcp_config: sub/mcp.json\n  mcp_server_command: project-mcp\n  mcp_server_url: http://project:1\n"
	dotenv   = "# keys\nARGO_BASE_URL=http://dotenv/v1 # ours\nexport ARGO_DEFAULT_MODEL='dotenv-model'\nMCP_SERVER_COMMAND=\"dotenv-mcp --x\"\nPEM=\"a\nb\"\nMCP_SERVER_URL: http://dotenv:1\nOPENAI_API_KEY=dotenv-key\n"
)

// TestOrder takes away the winning source, one at a time.
func TestOrder(t *testing.T) {
	files := map[string]string{homeFile: homeText, "rehearse.yaml": project, ".env": dotenv}
	env := map[string]string{"ARGO_BASE_URL": "http://env/v1", "ARGO_DEFAULT_MODEL": "env-model", "MCP_SERVER_COMMAND": "env-mcp", "MCP_SERVER_URL": "http://env:1", "OPENAI_API_KEY": "env-key"}
	given := []settings.Setting{
		{Name: settings.BaseURL, Text: "http://flag/v1", From: "--base-url"},
		{Name: settings.Model, Text: "flag-model", From: "--model"},
		{Name: settings.Config, Text: "flag.json", From: "--config"},
		{Name: settings.ServerURL, Text: "http://flag:1", From: "--tools"},
	}
	check := func(name string, given []settings.Setting, want ...string) {
		t.Helper()
		w := newWorld(t, files, env)
		s, err := w.load(given...)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{w.said(s.BaseURL), w.said(s.Model), strings.ReplaceAll(w.said(s.Config), w.dir+"/", ""), w.said(s.ServerCommand), w.said(s.ServerURL), w.said(s.Keys[0])}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	check("flags", given, "http://flag/v1 (--base-url)", "flag-model (--model)", "flag.json (--config)", "env-mcp (MCP_SERVER_COMMAND)", "http://flag:1 (--tools)", "env-key (OPENAI_API_KEY)")
	check("environment", nil, "http://env/v1 (ARGO_BASE_URL)", "env-model (ARGO_DEFAULT_MODEL)", "sub/mcp.json (rehearse.yaml:4)", "env-mcp (MCP_SERVER_COMMAND)", "http://env:1 (MCP_SERVER_URL)", "env-key (OPENAI_API_KEY)")
	env = map[string]string{}
	check(".env", nil, "http://dotenv/v1 (ARGO_BASE_URL in .env:2)", "dotenv-model (ARGO_DEFAULT_MODEL in .env:3)", "sub/mcp.json (rehearse.yaml:4)", "dotenv-mcp --x (MCP_SERVER_COMMAND in .env:4)", "http://dotenv:1 (MCP_SERVER_URL in .env:7)", "dotenv-key (OPENAI_API_KEY in .env:8)")
	env = map[string]string{"OPENAI_BASE_URL": "http://openai/v1", "ARGO_DEFAULT_MODEL": "", "OPENAI_API_KEY": ""}
	check("the environment hides .env, also by empty variables", nil, "http://openai/v1 (OPENAI_BASE_URL)", "project-model (rehearse.yaml:3)", "sub/mcp.json (rehearse.yaml:4)", "dotenv-mcp --x (MCP_SERVER_COMMAND in .env:4)", "http://dotenv:1 (MCP_SERVER_URL in .env:7)", " ()")
	env = map[string]string{}
	delete(files, ".env")
	check("rehearse.yaml", nil, "http://project/v1 (rehearse.yaml:2)", "project-model (rehearse.yaml:3)", "sub/mcp.json (rehearse.yaml:4)", "project-mcp (rehearse.yaml:5)", "http://project:1 (rehearse.yaml:6)", " ()")
	delete(files, "rehearse.yaml")
	check("home", nil, "http://home/v1 ("+homeFile+":2)", "home-model ("+homeFile+":4)", " ()", "home-mcp ("+homeFile+":3)", " ()", " ()")
	delete(files, homeFile)
	check("nothing", nil, "http://localhost:8000/v1 (default)", " ()", " ()", " ()", " ()", " ()")
}

// TestServers takes those of the first source alone.
func TestServers(t *testing.T) {
	files := map[string]string{
		homeFile: homeText, "rehearse.yaml": project, ".env": dotenv + "TOKEN=t0k\n",
		"mcp.json":     `{"mcpServers": {"flag": {"command": "x", "args": ["${TOKEN}"]}}}`,
		"sub/mcp.json": `{"mcpServers": {"project": {"url": "http://sub/mcp"}}, "agent_permissions": {"a": {"allowed_servers": ["project"]}}}`,
	}
	var env map[string]string
	check := func(name string, given []settings.Setting, want ...harness.Server) {
		t.Helper()
		w := newWorld(t, files, env)
		for i := range given {
			given[i].Text = filepath.Join(w.dir, given[i].Text)
		}
		s, err := w.load(given...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Servers()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Servers, cmpopts.IgnoreFields(harness.Server{}, "Dial", "DialContext"), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	check("a file, with a variable of .env", []settings.Setting{{Name: settings.Config, Text: "mcp.json", From: "--config"}}, harness.Server{Name: "flag", Command: []string{"x", "t0k"}})
	env = map[string]string{"MCP_SERVER_URL": "http://env:1"}
	check("the environment", nil, harness.Server{Name: "env", URL: "http://env:1/mcp"})
	env = nil
	check(".env", nil, harness.Server{Name: "dotenv-mcp", Command: []string{"dotenv-mcp", "--x"}}, harness.Server{Name: "dotenv", URL: "http://dotenv:1/mcp"})
	files[".env"] = "MCP_SERVER_COMMAND=/opt/a.b/srv.sh 'one two' \"\" x\"y z\"\n"
	check("quoted words", nil, harness.Server{Name: "srv", Command: []string{"/opt/a.b/srv.sh", "one two", "", "xy z"}})
	files[".env"] = "MCP_SERVER_URL=http://h:1/other/\n"
	check("an address with a path", nil, harness.Server{Name: "h", URL: "http://h:1/other/"})
	delete(files, ".env")
	check("rehearse.yaml", nil, harness.Server{Name: "project", URL: "http://sub/mcp"}, harness.Server{Name: "project-mcp", Command: []string{"project-mcp"}}, harness.Server{Name: "project", URL: "http://project:1/mcp"})
	delete(files, "rehearse.yaml")
	check("home", nil, harness.Server{Name: "home-mcp", Command: []string{"home-mcp"}})
	delete(files, homeFile)
	check("nothing", nil)
}

// TestMistakes has the places of what is wrong, and never what .env holds.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ name, file, text, want string }{
		{"no value", ".env", "A=1\n\nsecret word\nB=2\n", ".env:3: it is not NAME=value, or a quote is not closed"},
		{"an open quote", ".env", "A=1\nB=\"secret\n", ".env:2: it is not NAME=value, or a quote is not closed"},
		{"no URL", ".env", "ARGO_BASE_URL=secret\n", "ARGO_BASE_URL in .env:1 is not a URL with scheme and host"},
		{"no equals sign", ".env", "A=1\nOPENAI_BASE_URL http://secret/v1\n", ".env:2: it is not NAME=value, or a quote is not closed"},
		{"a query", ".env", "ARGO_BASE_URL=http://h/v1?key=secret\n", "ARGO_BASE_URL in .env:1: a query does not belong in a base URL"},
		{"an open quote in a command", ".env", "MCP_SERVER_COMMAND=a \"secret\n", "MCP_SERVER_COMMAND in .env:1: splitting the command into words: a quote or a bracket is not closed"},
		{"rehearse.yaml", "rehearse.yaml", "client: {modle: x}", `rehearse.yaml:1:10: client has no key "modle" (did you mean "model"?)`},
		{"no text", homeFile, "{\n\"default_model\": 5}", homeFile + ":2:18: default_model: want a text, got the number 5"},
		{"no object", homeFile, "[]", homeFile + ":1:1: want a JSON object"},
		{"no JSON", homeFile, "{", homeFile + ":"},
		{"no URL at home", homeFile, `{"argo_base_url": "x"}`, homeFile + `:1 is "x": want a URL with scheme and host`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{tc.file: tc.text}, nil)
			s, err := w.load()
			if err == nil {
				_, err = s.Servers()
			}
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(err.Error(), w.dir+"/", "")
			if !strings.HasPrefix(got, tc.want) || strings.Contains(got, "secret") {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestShown(t *testing.T) {
	w := newWorld(t, map[string]string{".env": "MCP_SERVER_COMMAND=x --key dotenv-key\nGEMINI_API_KEY=dotenv-key\nARGO_BASE_URL=http://me:dotenv-key@h/v1\n", "rehearse.yaml": "client: {mcp_config: a.json}\n"}, nil)
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append([]settings.Setting{s.BaseURL, s.Model, s.ServerCommand}, s.Keys...) {
		if strings.Contains(x.Shown(), "dotenv-key") {
			t.Errorf("%s shows its secret", x.Name)
		}
	}
	if s.ServerCommand.Shown() != "x ..." || !s.Used(s.ServerCommand) || s.Used(s.Config) || !s.Used(s.ServerURL) || !s.Used(s.Model) {
		t.Errorf("shown %q; used %v, %v, %v", s.ServerCommand.Shown(), s.Used(s.ServerCommand), s.Used(s.Config), s.Used(s.ServerURL))
	}
	if got := s.Keys[2].Shown() + " " + s.BaseURL.Shown(); got != "set http://h/v1" {
		t.Errorf("got %s", got)
	}
	if v, ok := s.Lookup("GEMINI_API_KEY"); !ok || v != "dotenv-key" {
		t.Errorf("looked up %q, %v", v, ok)
	}
}

// TestKeys: what no header can carry is refused where it is read, and a line end
// after a key is none of it.
func TestKeys(t *testing.T) {
	for _, tc := range []struct {
		name, dotenv string
		environment  map[string]string
		variable     string
		key, err     string
	}{
		{name: "a line end", environment: map[string]string{"OPENAI_API_KEY": "sek\n"}, variable: "OPENAI_API_KEY", key: "sek"},
		{name: "a line end of Windows", environment: map[string]string{"GOOGLE_API_KEY": "sek\r\n"}, variable: "GOOGLE_API_KEY", key: "sek"},
		{name: "a line end in .env", dotenv: "ANTHROPIC_API_KEY=\"sek\\n\"\n", variable: "ANTHROPIC_API_KEY", key: "sek"},
		{name: "two line ends", environment: map[string]string{"OPENAI_API_KEY": "sek\n\n"}, err: "OPENAI_API_KEY has a line break or another control character inside, which no HTTP header can carry"},
		{name: "inside, in .env", dotenv: "A=b\nGEMINI_API_KEY=\"sek\\n ret\"\n", err: "GEMINI_API_KEY in .env:2 has a line break or another control character inside, which no HTTP header can carry"},
		{name: "a control character", environment: map[string]string{"ANTHROPIC_API_KEY": "sek\x7fret"}, err: "ANTHROPIC_API_KEY has a line break or another control character inside, which no HTTP header can carry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{".env": tc.dotenv}, tc.environment)
			s, err := w.load()
			if tc.err != "" {
				if err == nil || strings.ReplaceAll(err.Error(), w.dir+"/", "") != tc.err {
					t.Errorf("got %v\nwant %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := s.Lookup(tc.variable); got != tc.key {
				t.Errorf("looked up %q, want %q", got, tc.key)
			}
			for _, k := range s.Keys {
				if k.Name == tc.variable && k.Text != tc.key {
					t.Errorf("the key is %q, want %q", k.Text, tc.key)
				}
			}
		})
	}
}

func FuzzDotenv(f *testing.F) {
	f.Add(dotenv)
	f.Add("A='\nB=\"$A\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Sources{Dir: dir, Lookup: func(string) (string, bool) { return "", false }})
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}

func Example() {
	env := map[string]string{"ARGO_DEFAULT_MODEL": "gpt-5"}
	s, err := settings.Load(settings.Sources{
		Given:  []settings.Setting{{Name: settings.BaseURL, Text: "http://127.0.0.1:8003/v1", From: "--base-url"}},
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.BaseURL.Text, "from", s.BaseURL.From)
	fmt.Println(s.Model.Text, "from", s.Model.From)
	// Output:
	// http://127.0.0.1:8003/v1 from --base-url
	// gpt-5 from ARGO_DEFAULT_MODEL
}
