// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package toolserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/toolserver"
	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		dying()
		return
	}
	goleak.VerifyTestMain(m)
}

const token = "secret-of-the-admin"

// registry has a set of Go functions, which is active, one that posts, and one
// of an MCP server.
func registry(t *testing.T) *toolserver.Registry {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "broken") {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		io.WriteString(w, `{"hits": [`+string(body)+`]}`)
	}))
	t.Cleanup(backend.Close)
	mock, err := mockmcp.New(mockmcp.Script{Name: "files", Tools: []mockmcp.Tool{
		{Name: "read_file", Description: "Reads a file.", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "hello"}, nil
		}},
		{Name: "write_file", Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
			return &mockmcp.Answer{Text: "done"}, nil
		}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mock.Close() })
	return &toolserver.Registry{Toolsets: []toolserver.Toolset{
		{ID: "math_tools", Description: "Sums.", Active: true, Tools: []toolserver.Tool{{
			Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
			Run: func(_ context.Context, args json.RawMessage) (any, error) {
				var n struct{ A, B float64 }
				if err := json.Unmarshal(args, &n); err != nil {
					return nil, err
				}
				if n.A > 1e6 {
					return nil, errors.New("that is too large")
				}
				return map[string]float64{"sum": n.A + n.B}, nil
			},
		}}},
		{ID: "web_tools", Tools: []toolserver.Tool{{Name: "web_search", URL: backend.URL}}},
		{ID: "file_system_tools", Server: &toolserver.Server{Dial: harness.Server{Name: "files", Dial: mock.Dial}}, Only: []string{"read_file"}},
	}}
}

// open serves the registry.
func open(t *testing.T, opts *toolserver.Options) (*toolserver.Toolserver, string) {
	t.Helper()
	s, err := toolserver.New(t.Context(), registry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, h.URL
}

// ask sends a request and returns the status and what was said.
func ask(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(data))
}

// names are the active tools of a view.
func names(t *testing.T, base, view string) string {
	t.Helper()
	_, body := ask(t, "GET", base+"/tools?view="+view, "")
	var list struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var all []string
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, " ")
}

func TestTools(t *testing.T) {
	_, base := open(t, &toolserver.Options{AdminToken: token})
	on := []string{"Authorization", "bearer  " + token} // the scheme is in any case
	if status, body := ask(t, "POST", base+"/mcp/admin/toolsets", `{"action":"ACTIVATE","toolset_ids":["web_tools","file_system_tools"]}`, on...); status != 200 {
		t.Fatalf("activating: %d %s", status, body)
	}
	for _, tc := range []struct {
		name, tool, args string
		status           int
		says             string
	}{
		{"function", "add", `{"a":1,"b":2}`, 200, `{"sum":3}`},
		{"a function that fails", "add", `{"a":1e9,"b":2}`, 502, "that is too large"},
		{"an argument that is missing", "add", `{"a":1}`, 422, "do not fit its schema"},
		{"an argument of another type", "add", `{"a":"1","b":2}`, 422, "do not fit its schema"},
		{"no object", "add", `[1,2]`, 400, "not a JSON object"},
		{"no JSON", "add", `{`, 400, "not a JSON object"},
		{"posted", "web_search", `{"q":"go"}`, 200, `{"hits": [{"q":"go"}]}`},
		{"posted, and refused", "web_search", `{"q":"broken"}`, 502, "status 404: no such page"},
		{"of an MCP server", "read_file", `{}`, 200, `{"result":"hello"}`},
		{"left out of an MCP server", "write_file", `{}`, 404, `no tool \"write_file\"`},
		{"unknown", "fly", `{}`, 404, `no tool \"fly\"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := ask(t, "POST", base+"/tools/"+tc.tool, tc.args)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%d %s, want %d with %s", status, body, tc.status, tc.says)
			}
		})
	}
	if status, _ := ask(t, "POST", base+"/tools/add", `{"a":1,"b":2}`, "Content-Type", "text/plain"); status != 415 {
		t.Errorf("a body that a page may send was answered with %d, want 415", status)
	}
}

func TestChanges(t *testing.T) {
	_, base := open(t, &toolserver.Options{AdminToken: token, MaxViews: 3})
	for _, step := range []struct {
		name, body, token string
		status            int
		says              string
	}{
		{"no token", `{"action":"ACTIVATE","toolset_ids":["web_tools"]}`, "", 401, "token"},
		{"wrong token", `{"action":"ACTIVATE","toolset_ids":["web_tools"]}`, "x", 401, "token"},
		{
			"activate", `{"action":"ACTIVATE","toolset_ids":["web_tools"],"view":"a"}`, token, 200,
			`{"view":"a","action":"ACTIVATE","revision":1,"changed":["web_tools"],"unchanged":[],"active":["math_tools","web_tools"]}`,
		},
		{
			"activate twice", `{"action":"ACTIVATE","toolset_ids":["web_tools","web_tools"],"view":"a"}`, token, 200,
			`{"view":"a","action":"ACTIVATE","revision":1,"changed":[],"unchanged":["web_tools"],"active":["math_tools","web_tools"]}`,
		},
		{
			"unknown changes nothing", `{"action":"DEACTIVATE","toolset_ids":["web_tools","x"],"view":"a"}`, token, 404,
			`no toolset \"x\"; the toolsets are math_tools, web_tools, file_system_tools`,
		},
		{"no ids", `{"action":"ACTIVATE","toolset_ids":[]}`, token, 400, "toolset_ids is empty"},
		{"no action", `{"action":"activate","toolset_ids":["web_tools"]}`, token, 400, "ACTIVATE or DEACTIVATE"},
		{"no JSON", `{`, token, 400, "the body is"},
		{"the default is for later views", `{"action":"DEACTIVATE","toolset_ids":["math_tools"]}`, token, 200, `"active":[]`},
	} {
		status, body := ask(t, "POST", base+"/mcp/admin/toolsets", step.body, "Authorization", "Bearer "+step.token)
		if status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%s: %d %s, want %d with %s", step.name, status, body, step.status, step.says)
		}
	}
	if a, b := names(t, base, "a"), names(t, base, "b"); a != "add web_search" || b != "" {
		t.Errorf("view a has %q and the later view b %q, want add web_search, and none", a, b)
	}
	if status, body := ask(t, "POST", base+"/tools/add?view=b", `{"a":1,"b":2}`); status != 409 || !strings.Contains(body, "math_tools") {
		t.Errorf("a tool that is not active: %d %s, want 409 that names its toolset", status, body)
	}
	names(t, base, "c")
	if status, body := ask(t, "GET", base+"/tools?view=d", ""); status != 503 || !strings.Contains(body, "3 views") {
		t.Errorf("a view too many: %d %s, want 503", status, body)
	}
	if status, _ := ask(t, "DELETE", base+"/mcp/admin/views/a", "", "Authorization", "Bearer "+token); status != 204 {
		t.Errorf("ending a view: %d, want 204", status)
	}
	if again := names(t, base, "a"); again != "" {
		t.Errorf("a view that was ended begins with %q, want what the default has: none", again)
	}
}

// TestNoTokenNoChange holds that a server without a token lets nobody change it.
func TestNoTokenNoChange(t *testing.T) {
	_, base := open(t, nil)
	if status, _ := ask(t, "POST", base+"/mcp/admin/toolsets", `{"action":"ACTIVATE","toolset_ids":["web_tools"]}`, "Authorization", "Bearer "); status != 401 {
		t.Errorf("a change without any token: %d, want 401", status)
	}
}

// TestClientRedirected: what is meant for the server, the token above all, goes to no other.
func TestClientRedirected(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	box := &toolserver.Client{URL: moved.URL, AdminToken: token}
	want := "the tool server redirects to " + other.URL
	if list, err := box.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("tools of a redirect: %v, %v", list, err)
	}
	if result, err := box.Call(t.Context(), toolserver.ManageTool, `{"action":"ACTIVATE","toolset_ids":["math_tools"]}`); err != nil || !result.IsError || !strings.Contains(result.Text, want) {
		t.Errorf("a change at a redirect: %+v, %v", result, err)
	}
}

// TestViewThatIsNotEnded: a server that refuses to end a view is an error of Close.
func TestViewThatIsNotEnded(t *testing.T) {
	for status, fails := range map[int]bool{http.StatusNoContent: false, http.StatusBadRequest: true, http.StatusUnauthorized: true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		box := &toolserver.Client{URL: server.URL, View: "v", AdminToken: token}
		if err := box.Close(); (err != nil) != fails {
			t.Errorf("status %d: %v", status, err)
		}
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	}
}

// TestCallsOfOneReply holds that a reply is played with the tools that it was
// asked with: what it switches off is run in it, what it switches on is not.
func TestCallsOfOneReply(t *testing.T) {
	_, base := open(t, &toolserver.Options{AdminToken: token})
	box := &toolserver.Client{URL: base, View: "task", AdminToken: token}
	offered, err := box.Tools(t.Context())
	if err != nil || len(offered) != 2 || offered[0].Name != toolserver.ManageTool {
		t.Fatalf("offered %v (%v), want manage_toolsets and add", offered, err)
	}
	call := func(name, args string) string {
		t.Helper()
		result, err := box.Call(t.Context(), name, args)
		if err != nil {
			t.Fatal(err)
		}
		return result.Text
	}
	if got := call("manage_toolsets", `{"action":"DEACTIVATE","toolset_ids":["math_tools"],"view":"another"}`); !strings.Contains(got, `"view":"task"`) {
		t.Errorf("manage_toolsets says %s, want a change of its own view", got)
	}
	if got := call("add", `{"a":1,"b":2}`); got != `{"sum":3}` {
		t.Errorf("a call of the same reply: %s, want its result", got)
	}
	call("manage_toolsets", `{"action":"ACTIVATE","toolset_ids":["web_tools"]}`)
	if _, err := box.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := call("add", `{"a":1,"b":2}`); !strings.Contains(got, "not active") {
		t.Errorf("a call of the next reply: %s, want that it is not active", got)
	}
	if got := call("web_search", `{"q":1}`); got != `{"hits": [{"q":1}]}` {
		t.Errorf("web_search says %s", got)
	}
	if got := call("manage_toolsets", `{"action":"ACTIVATE","toolset_ids":["none_such"]}`); !strings.Contains(got, "web_tools") {
		t.Errorf("an unknown toolset: %s, want the known ones", got)
	}
	if text, err := box.Instructions(t.Context()); err != nil || !strings.Contains(text, "manage_toolsets") || !strings.Contains(text, "- web_tools (web_search, active") {
		t.Errorf("the instructions are %q (%v)", text, err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if got := names(t, base, "task"); got != "add" {
		t.Errorf("after the task its view has %q, want what the default has", got)
	}
}

func TestMCP(t *testing.T) {
	s, base := open(t, &toolserver.Options{AdminToken: token})
	session, err := mcppool.Open(t.Context(), harness.Server{Name: "tools", URL: base + "/mcp?view=v"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	listed := func() []string {
		t.Helper()
		tools, _, err := session.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := listed(); !slices.Equal(got, []string{"add"}) {
		t.Fatalf("listed %q, want add", got)
	}
	if _, err := s.Change("v", toolserver.Activate, []string{"file_system_tools"}); err != nil {
		t.Fatal(err)
	}
	if got := listed(); !slices.Equal(got, []string{"add", "read_file"}) {
		t.Errorf("listed %q after the change, want add and read_file", got)
	}
	for name, want := range map[string]string{"add": `{"sum":3}`, "read_file": "hello"} {
		result, err := session.Call(t.Context(), name, json.RawMessage(`{"a":1,"b":2}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(string(result.Raw), want[1:len(want)-1]) && !strings.Contains(string(result.Raw), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %s, want %s", name, result.Raw, want)
		}
	}
	if result, err := session.Call(t.Context(), "web_search", json.RawMessage(`{}`)); err == nil && !result.IsError {
		t.Errorf("a tool that is not active answered %s", result.Raw)
	}
}

func TestReadRegistry(t *testing.T) {
	t.Setenv("SEARCH", "http://127.0.0.1:8001")
	t.Setenv("NOTHING", "")
	for _, tc := range []struct{ name, text, want string }{
		{"whole", `{"toolsets": [{"id": "web_tools", "tools": [{"name": "web_search", "url": "${SEARCH}/tools/web_search"}]}]}`, ""},
		{"default", `{"toolsets": [{"id": "f", "server": {"command": ["${NO_SUCH_VARIABLE:-files}"]}}]}`, ""},
		{"unset", "{\"toolsets\": [{\"id\": \"f\", \"server\": {\"url\": \"${NO_SUCH_VARIABLE}\"}}]}", "NO_SUCH_VARIABLE is not set"},
		{"unset twice", `{"toolsets": [{"id": "f", "server": {"command": ["${NO_SUCH_VARIABLE}", "${NOR_THIS_ONE}"]}}]}`, "NOR_THIS_ONE is not set"},
		{"set to nothing", `{"toolsets": [{"id": "f", "server": {"command": ["a", "${NOTHING}", "${NOTHING:-b}", "$${NOTHING}"]}}]}`, ""},
		{"no variable", `{"toolsets": [{"id": "f", "server": {"command": ["${a b}"]}}]}`, "not the name of an environment variable"},
		{"MCP servers", `{"mcpServers": {"files": {"command": "files", "args": ["${NO_SUCH_VARIABLE:-/tmp}"], "env": {"A": "b"}}, "web": {"url": "${SEARCH}/mcp"}}}`, ""},
		{"no MCP server", `{"mcpServers": {}}`, "it names no MCP server"},
		{"grants", "mcp:\n  client:\n    enabled: true\n    servers: [{name: a, transport: http, url: 'http://a'}]\n    agent_permissions: {ada: {allowed_servers: [a]}}\n", "it has agent_permissions"},
		{"unknown key", "{\"toolsets\": [\n{\"id\": \"a\", \"tool\": []}]}", ":2: this is not a tool registry"},
		{"wrong type", "{\"toolsets\": [\n{\"id\": 1}]}", ":2: this is not a tool registry"},
		{"syntax", "{\"toolsets\": [\n\n{]}", ":3: this is not a tool registry"},
		{"two documents", `{"toolsets": []} {}`, "more behind the end"},
		{"no id", `{"toolsets": [{"server": {"url": "http://a"}}]}`, "toolset 1 has no id"},
		{"twice", `{"toolsets": [{"id": "a", "server": {"url": "http://a"}}, {"id": "a", "server": {"url": "http://a"}}]}`, `two toolsets have the id "a"`},
		{"empty", `{"toolsets": [{"id": "a"}]}`, "neither tools nor a server"},
		{"no url", `{"toolsets": [{"id": "a", "tools": [{"name": "x"}]}]}`, "needs a url"},
		{"no address", `{"toolsets": [{"id": "a", "tools": [{"name": "x", "url": "x:1"}]}]}`, "not an http address"},
		{"no host", `{"toolsets": [{"id": "a", "tools": [{"name": "x", "url": "http://:1/x"}]}]}`, "not an http address"},
		{"no name", `{"toolsets": [{"id": "a", "tools": [{"name": "a b", "url": "http://a"}]}]}`, "not a tool name"},
		{"reserved", `{"toolsets": [{"id": "a", "tools": [{"name": "manage_toolsets", "url": "http://a"}]}]}`, "switches toolsets"},
		{"both", `{"toolsets": [{"id": "a", "server": {"url": "http://a", "command": ["b"]}}]}`, "a command or a url"},
		{"only", `{"toolsets": [{"id": "a", "only": ["x"], "tools": [{"name": "x", "url": "http://a"}]}]}`, "only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tool_registry.json")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := toolserver.ReadRegistry(path)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path)):
				t.Errorf("error %v, want one with the path and %q", err, tc.want)
			case tc.name == "set to nothing" && !slices.Equal(r.Toolsets[0].Server.Command, []string{"a", "", "", "${NOTHING}"}):
				t.Errorf("read as %q", r.Toolsets[0].Server.Command)
			case tc.name == "MCP servers" && (len(r.Toolsets) != 2 || !r.Toolsets[0].Active || r.Toolsets[0].ID != "files" ||
				!slices.Equal(r.Toolsets[0].Server.Command, []string{"files", "/tmp"}) || r.Toolsets[0].Server.Env["A"] != "b" ||
				r.Toolsets[1].Server.URL != "http://127.0.0.1:8001/mcp"):
				t.Errorf("read %+v", r.Toolsets)
			case tc.name == "whole" && r.Toolsets[0].Tools[0].URL != "http://127.0.0.1:8001/tools/web_search":
				t.Errorf("read %+v", r.Toolsets[0].Tools[0])
			}
		})
	}
}

// TestRegistrySchema holds the schema to what is read: both refuse the same.
func TestRegistrySchema(t *testing.T) {
	doc, err := value.Parse(toolserver.RegistrySchema)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for text, fits := range map[string]bool{
		`{"toolsets": [{"id": "a", "active": true, "tools": [{"name": "x", "url": "http://a", "parameters": {"type": "object"}}]}]}`: true,
		`{"toolsets": [{"id": "a", "only": ["x"], "server": {"command": ["x"], "env": {"A": "b"}}}]}`:                                true,
		`{"toolsets": [{"id": "a", "server": {"url": "http://a", "transport": "sse", "headers": {"A": "b"}}}]}`:                      true,
		`{"toolsets": [{"id": "a"}]}`:                                      false,
		`{"toolsets": [{"id": "a", "tools": [{"name": "x"}]}]}`:            false,
		`{"toolsets": [{"id": "a", "server": {}}]}`:                        false,
		`{"toolsets": [{"id": "a", "tool": [{"name": "x", "url": "a"}]}]}`: false,
		`{}`: false,
	} {
		v, err := value.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Validate(v) == nil; got != fits {
			t.Errorf("%s: fits is %v, want %v", text, got, fits)
		}
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := toolserver.ReadRegistry(path); (err == nil) != fits {
			t.Errorf("%s: reading says %v", text, err)
		}
	}
}

func TestTwoToolsOfOneName(t *testing.T) {
	r := registry(t)
	r.Toolsets = append(r.Toolsets, toolserver.Toolset{ID: "more", Tools: []toolserver.Tool{{Name: "read_file", URL: "http://127.0.0.1:1"}}})
	if _, err := toolserver.New(t.Context(), r, nil); err == nil || !strings.Contains(err.Error(), `"file_system_tools" and "more" both have a tool "read_file"`) {
		t.Errorf("error %v, want one that names both sets", err)
	}
}

// TestOldRevisions holds that a tool is run for who was offered it some changes
// ago, and not for who was offered it long before that.
func TestOldRevisions(t *testing.T) {
	s, _ := open(t, nil)
	const changes = 40
	for i := range changes {
		action := toolserver.Activate
		if i%2 > 0 {
			action = toolserver.Deactivate
		}
		if _, err := s.Change("a", action, []string{"web_tools"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		revision int
		runs     bool
	}{{changes - 1, true}, {changes - 2, false}, {changes - 31, true}, {changes - 33, false}, {1, false}} {
		_, err := s.Call(t.Context(), "a", tc.revision, "web_search", []byte(`{"q":"go"}`))
		if (err == nil) != tc.runs {
			t.Errorf("offered at revision %d of %d: %v, want it run: %v", tc.revision, changes, err, tc.runs)
		}
	}
}
