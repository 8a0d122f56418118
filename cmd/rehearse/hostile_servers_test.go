// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
)

// hostileTarget is a server that pages of other origins send requests to.
type hostileTarget struct {
	name   string
	start  func(t *testing.T, extra ...string) *served
	paths  []string                             // what a page would ask
	client string                               // a path that clients ask
	wrote  func(t *testing.T, s *served) string // all that a stranger could change; nil when there is no way to see it before the end
}

// hostileTargets are all commands that listen.
func hostileTargets(t *testing.T, asked *atomic.Int64) []hostileTarget {
	t.Helper()
	dir := t.TempDir()
	llm, mcp, registry := filepath.Join(dir, "llm.yaml"), filepath.Join(dir, "mcp.yaml"), filepath.Join(dir, "tools.json")
	write(t, llm, "llm: a\nprofile: argo-proxy-3.3\nreplies: [{say: hello}]\n") // whose own answers let every page in
	write(t, mcp, counterFile)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	t.Cleanup(endpoint.Close)
	admin := []string{"/rehearse/load", "/rehearse/reset", "/rehearse/verify", "/rehearse/journal", "/t/x/rehearse/load", "/rehearse/state", "/rehearse/conversation", "/rehearse/cue/go", "/health"}
	shows := func(names ...string) func(t *testing.T, s *served) string {
		return func(t *testing.T, s *served) string {
			var all []string
			for _, name := range names {
				all = append(all, s.ask("GET", s.Admin+"/"+name, ""))
			}
			return strings.Join(all, "\n")
		}
	}
	with := func(args ...string) func(t *testing.T, extra ...string) *served {
		return func(t *testing.T, extra ...string) *served {
			return serveArgs(t, &process{}, slices.Concat(args[:2], extra, args[2:])...)
		}
	}
	count := func(*testing.T, *served) string { return fmt.Sprint(asked.Load(), " requests") }
	targets := []hostileTarget{
		{"llm", with("serve", "llm", llm), append(admin, "/v1/chat/completions", "/v1/models", "/v1/x"), "/v1/models", shows("journal", "conversations", "expectations")},
		{"proxy record", with("proxy", "--mode=record", "--cassette", filepath.Join(dir, "c.yaml"), "--upstream", endpoint.URL), []string{"/v1/chat/completions", "/v1/models"}, "/v1/models", count},
		{"tape record", with("tape", "--out="+filepath.Join(dir, "t.tape"), "--url", endpoint.URL+"/mcp"), []string{"/mcp"}, "/mcp", count},
	}
	write(t, registry, `{"toolsets": [{"id": "a", "active": true, "tools": [{"name": "ping", "url": "`+endpoint.URL+`"}]}]}`)
	targets = append(targets, hostileTarget{
		"tools", with("serve", "tools", registry), []string{"/tools", "/tools/ping", "/mcp", "/mcp/admin/toolsets", "/mcp/admin/views/x"}, "/health", count,
	}, hostileTarget{
		"agent", with("serve", "agent", "--model=m", "--base-url", endpoint.URL), []string{"/agent/execute_task", "/agent/tasks", "/agent/tasks/x"}, "/health", count,
	})
	for transport, path := range map[string]string{"http": "/mcp", "sse": "/sse", "ws": "/ws"} {
		targets = append(targets, hostileTarget{
			"mcp over " + transport, with("serve", "mcp", "--transport", transport, mcp),
			append(admin, path, "/message", "/.well-known/oauth-protected-resource/mcp"), "/health", shows("journal", "conversations", "frames", "state"),
		})
	}
	return targets
}

// strangers are the ways in which a page of another origin shows.
var strangers = map[string][]string{
	"another origin":       {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
	"an older browser":     {"Origin", "http://evil.example"},
	"no origin at all":     {"Origin", "null", "Sec-Fetch-Site", "cross-site"},
	"another port":         {"Origin", "http://localhost:9", "Sec-Fetch-Site", "same-site"},
	"an image":             {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	"a link":               {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
	"a rebound name":       {"Host", "evil.example:1234", "Origin", "http://evil.example:1234", "Sec-Fetch-Site", "same-origin"},
	"a rebound name's GET": {"Host", "evil.example:1234"},
	"a preflight":          {"Origin", "http://evil.example", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "content-type"},
}

func (s *served) send(t *testing.T, method, path, body string, header ...string) *http.Response {
	t.Helper()
	root := s.URL
	if i := strings.Index(root, "://"); i >= 0 {
		host, _, _ := strings.Cut(root[i+3:], "/")
		root = "http://" + host
	}
	req, err := http.NewRequestWithContext(t.Context(), method, root+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection is used again
	res.Body.Close()
	return res
}

// TestHostilePages: no page of another origin commands a server, whatever it
// sends; and clients that are no pages do.
func TestHostilePages(t *testing.T) {
	var asked atomic.Int64
	for _, target := range hostileTargets(t, &asked) {
		t.Run(target.name, func(t *testing.T) {
			s := target.start(t)
			s.client = http.Client{} // 3,000 connections are not needed
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			before := target.wrote(t, s)
			for name, header := range strangers {
				for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"} {
					for _, path := range target.paths {
						for _, kind := range []string{"text/plain", "application/json"} {
							res := s.send(t, method, path, "llm: pwned\nreplies: []\n", append(header, "Content-Type", kind)...)
							if res.StatusCode != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" {
								t.Errorf("%s: %s %s of type %q is answered with %d, %v", name, method, path, kind, res.StatusCode, res.Header)
							}
						}
					}
				}
			}
			if after := target.wrote(t, s); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
			for _, header := range [][]string{
				{}, {"Host", "localhost"}, {"Host", "127.0.0.1"}, {"Sec-Fetch-Mode", "cors"}, {"Sec-Fetch-Site", "none"}, {"Origin", "http://localhost:3000"},
			} {
				if res := s.send(t, "GET", target.client, "", header...); res.StatusCode == http.StatusForbidden {
					t.Errorf("a client with %q is refused", header)
				}
			}
			s.end()
			s = target.start(t, "--allow-host", "mock", "--cors", "http://pages.example")
			for header, want := range map[[2]string]bool{
				{"Host", "mock:80"}: true, {"Host", "other:80"}: false, {"Origin", "http://pages.example"}: true, {"Origin", "http://other.example"}: false,
			} {
				res := s.send(t, "GET", target.client, "", header[0], header[1])
				if got := res.StatusCode != http.StatusForbidden; got != want {
					t.Errorf("with the flags %q is answered with %d", header, res.StatusCode)
				}
				if got := res.Header.Values("Access-Control-Allow-Origin"); want && !slices.Equal(got, []string{"http://pages.example"}) {
					t.Errorf("with the flags %q is answered for %q", header, got)
				}
			}
			s.end()
		})
	}
}

// TestHostileForms: the admin API takes JSON and YAML by their types alone,
// those that a page cannot send unasked.
func TestHostileForms(t *testing.T) {
	s := serveFile(t, "llm", llmFile)
	defer s.end()
	for path, body := range map[string]string{"/rehearse/load": "llm: two\nreplies: [{say: pwned}]\n", "/rehearse/verify": `{"done": true}`} {
		for kind, want := range map[string]int{
			"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, "text/plain;application/json": 415,
			"application/json": 200, "application/json; charset=utf-8": 200, "application/yaml": 200, "text/yaml": 200,
		} {
			if strings.Contains(kind, "yaml") && path == "/rehearse/verify" {
				want = 415
			}
			res := s.send(t, "POST", path, body, "Content-Type", kind)
			if res.StatusCode/100 == 2 != (want == 200) || want == 415 && res.StatusCode != 415 {
				t.Errorf("%s of type %q is answered with %d", path, kind, res.StatusCode)
			}
		}
	}
	if got := s.ask("POST", s.Admin+"/load", "nonsense"); !strings.HasPrefix(got, "400 ") {
		t.Errorf("nonsense of a type that is taken: %s", got)
	}
}

// TestHostileToken: with a token the admin API is for those who have it, and
// the mock and its health for all.
func TestHostileToken(t *testing.T) {
	dir := t.TempDir()
	llm, mcp, token := filepath.Join(dir, "llm.yaml"), filepath.Join(dir, "mcp.yaml"), filepath.Join(dir, "token")
	write(t, llm, llmFile)
	write(t, mcp, counterFile)
	write(t, token, " sesame\n")
	for _, args := range [][]string{{"serve", "llm", "--admin-token", "sesame", llm}, {"serve", "mcp", "--admin-token", "@" + token, mcp}} {
		s := serveArgs(t, &process{}, args...)
		for _, path := range []string{"/rehearse/journal", "/rehearse/conversations", "/t/x/rehearse/journal", "/rehearse/metrics", "/rehearse/health", "/rehearse/nothing"} {
			for _, header := range [][]string{nil, {"Authorization", "Bearer open"}, {"Authorization", "sesame"}} {
				if res := s.send(t, "GET", path, "", header...); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: GET %s with %q is answered with %d", args[1], path, header, res.StatusCode)
				}
			}
		}
		if res := s.send(t, "GET", "/rehearse/journal", "", "Authorization", "Bearer sesame"); res.StatusCode != 200 {
			t.Errorf("%s: with the token the answer is %d", args[1], res.StatusCode)
		}
		if res := s.send(t, "GET", "/health", ""); res.StatusCode != 200 {
			t.Errorf("%s: /health is answered with %d", args[1], res.StatusCode)
		}
		s.end()
	}
	for _, bad := range []string{"", "@", "@" + filepath.Join(dir, "none"), "@" + os.DevNull} {
		var stderr strings.Builder
		p := &process{args: []string{"serve", "llm", "--admin-token", bad, llm}, stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr, getenv: func(string) (string, bool) { return "", false }}
		if code := command(t.Context(), p); code != exitUsage || !strings.Contains(stderr.String(), "token") {
			t.Errorf("--admin-token %q: exit code %d, %s", bad, code, stderr.String())
		}
	}
}

// TestHostileLoad: what is sent to the admin API reads files below one folder,
// and knows no environment.
func TestHostileLoad(t *testing.T) {
	dir := t.TempDir()
	served := filepath.Join(dir, "served")
	if err := os.MkdirAll(filepath.Join(served, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	file, secret := filepath.Join(served, "mcp.yaml"), filepath.Join(dir, "secret.txt")
	write(t, file, counterFile)
	write(t, secret, "the secret")
	write(t, filepath.Join(dir, "other.yaml"), "server: other\ntools: [{name: read, results: [{text: the secret}]}]\n")
	write(t, filepath.Join(served, "files", "own.txt"), "our own")
	for to, name := range map[string]string{"../secret.txt": "link", "..": "up", secret: "far", "files/own.txt": "near"} {
		if err := os.Symlink(to, filepath.Join(served, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	read := func(name string) string {
		return fmt.Sprintf("server: s\ntools: [{name: add, results: [{file: %q}]}]\n", name)
	}
	for _, tc := range []struct {
		flags []string
		body  string
		want  string // in the answer to the call; "" when it is not loaded
	}{
		{nil, read(secret), ""},
		{nil, read("../secret.txt"), ""},
		{nil, read("link"), ""},
		{nil, read("far"), ""},
		{nil, read("up/secret.txt"), ""},
		{nil, read("/etc/passwd"), ""},
		{nil, read("../not there"), ""},
		{nil, "server: s\nresources: [{uri: 'file:///a', name: a, file: link}]\ntools: [{name: add, results: [{text: x}]}]\n", ""},
		{nil, read("files/own.txt"), "our own"},
		{nil, read(filepath.Join(served, "files", "own.txt")), "our own"},
		{nil, read("near"), "our own"},
		{[]string{"--files", dir}, read("link"), "the secret"},
		{[]string{"--files", filepath.Join(served, "files")}, read("files/own.txt"), "our own"},
		{[]string{"--files", filepath.Join(served, "files")}, read("mcp.yaml"), ""},
	} {
		s := serveArgs(t, &process{}, slices.Concat([]string{"serve", "mcp"}, tc.flags, []string{file})...)
		got := s.ask("POST", s.Admin+"/load", tc.body)
		switch loaded := strings.HasPrefix(got, "204"); {
		case loaded != (tc.want != ""):
			t.Errorf("%q, sent to a server with %q: %s", tc.body, tc.flags, got)
		case !loaded && (strings.Contains(got, "the secret") || !strings.Contains(got, "is outside the folder that may be read")):
			t.Errorf("%q, sent to a server with %q, is refused with %s", tc.body, tc.flags, got)
		case loaded:
			if text := callOnce(t, harness.Server{Name: "s", URL: s.URL}, 1); text != tc.want {
				t.Errorf("%q, sent to a server with %q, answers %q", tc.body, tc.flags, text)
			}
		}
		s.end()
	}
	llm := filepath.Join(served, "llm.yaml")
	write(t, llm, llmFile)
	for _, body := range []string{
		"scenario: x\nservers: {s: {mock: ../other.yaml}}\nturns: [{user: hi, replies: [{say: x}]}]\n",
		"scenario: x\nmodel: {system: \"${HOME}\"}\nturns: [{user: hi, replies: [{say: x}]}]\n",
	} {
		p := &process{getenv: func(string) (string, bool) { return "of the environment", true }}
		s := serveArgs(t, p, "serve", "llm", llm)
		if got := s.ask("POST", s.Admin+"/load", body); !strings.HasPrefix(got, "400 ") || strings.Contains(got, "of the environment") {
			t.Errorf("%q is answered with %s", body, got)
		}
		s.end()
	}
}
