// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/jsonrpc"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

func TestToolMiss(t *testing.T) {
	list := write(t, `
scenario: nothing fits
servers: {s: {tools: [{name: t, input: {type: object, properties: {x: {type: integer}}}, results: [{when: "args.x == 1", text: one}]}]}}
turns:
  - user: hi
    replies: [{calls: [{s.t: {x: 2}}]}, {say: done}]
    expect: [{answer: {contains: [done]}}]
`)
	rec := one(t, list, run.Options{})
	wants(t, rec, harness.OutcomeFailed, trials.CauseMiss, "no scripted result of s.t fits the call")
	if !slices.Equal(rec.Cause.Tools, []string{"s.t"}) {
		t.Errorf("the cause is about %q", rec.Cause.Tools)
	}
}

func TestServerWithoutTools(t *testing.T) {
	body := `
scenario: no tools
servers: {empty: {tools: []REQUIRED}}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`
	rec := one(t, write(t, strings.ReplaceAll(body, "REQUIRED", "")), run.Options{})
	wants(t, rec, harness.OutcomeError, trials.CauseEndpoint, `mock server "empty" (`, `s.yaml:2:11) lists no tools`)
	rec = one(t, write(t, strings.ReplaceAll(body, "REQUIRED", ", required: false")), run.Options{})
	wants(t, rec, harness.OutcomePassed, "")
}

// TestRealServers plays with a server that is a child process, and one behind
// a URL. Their calls are journaled like those of mocks.
func TestRealServers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	far := mockmcp.NewServer(t, realServer)
	for name, server := range map[string]string{
		"command": "command: [" + self + "], env: {RUN_TEST_SERVER: \"1\"}",
		"url":     "url: \"" + far.URL + "\", transport: http",
	} {
		t.Run(name, func(t *testing.T) {
			list := write(t, `
scenario: a real server
servers: {far: {`+server+`, failed_when: result.success == false}}
turns:
  - user: hi
    replies: [{calls: [{far.add: {a: 1}}]}, {say: "got {{result.got.a}}"}]
    expect:
      - calls: [{far.add: {a: 1}}]
      - that: trajectory[0].failed
      - answer: {contains: [got 1]}
`)
			rec := one(t, list, run.Options{})
			wants(t, rec, harness.OutcomePassed, "")
			if rec.Counts.ToolCalls != 1 {
				t.Errorf("%d tool calls in the journal", rec.Counts.ToolCalls)
			}
			list[0].Servers[0].FailedWhen = func(*mockmcp.Call, json.RawMessage) (bool, error) { return false, errors.New("no such key") }
			rec = one(t, list, run.Options{})
			wants(t, rec, harness.OutcomeError, trials.CauseScenario, `far.add: failed_when of server "far": no such key`)
			if !slices.Equal(rec.Cause.Tools, []string{"far.add"}) {
				t.Errorf("the cause is about %q", rec.Cause.Tools)
			}
		})
	}
}

// TestServersByURL gives the subject mock servers over HTTP: because it is
// another process, because the scenario says so, or because of an mcp.json.
func TestServersByURL(t *testing.T) {
	body := `
scenario: by URL
KEYservers: {weather: {mock: ` + absolute(t, "testdata/weather.yaml") + `TRANSPORT}}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: "{{result.celsius}}"}]
    expect: [{answer: {contains: ["21"]}}]
`
	tests := []struct {
		name, key, transport string
		foreign              bool
	}{
		{name: "foreign", foreign: true},
		{name: "transport", transport: ", transport: http"},
		{name: "mcp.json", key: "mcp_config: mcp.json\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var env harness.Env
			var config []byte
			subject := harness.SubjectFunc(func(ctx context.Context, e *harness.Env) (harness.Session, error) {
				env = *e
				if e.ConfigFile != "" {
					var err error
					if config, err = os.ReadFile(e.ConfigFile); err != nil {
						return nil, err
					}
				}
				return loop{}.Open(ctx, e)
			})
			list := write(t, strings.NewReplacer("KEY", tt.key, "TRANSPORT", tt.transport).Replace(body))
			wants(t, one(t, list, run.Options{Subject: subject, Foreign: tt.foreign}), harness.OutcomePassed, "")
			if env.Servers[0].URL == "" || (env.Endpoint.Transport == nil) != tt.foreign {
				t.Errorf("the subject was given %+v", env)
			}
			if tt.key != "" && !strings.Contains(string(config), env.Servers[0].URL) {
				t.Errorf("mcp.json is %s", config)
			}
			if _, err := os.Stat(env.Workdir); !os.IsNotExist(err) {
				t.Errorf("the working folder is still there: %v", err)
			}
		})
	}
}

// TestNaiveSubject gives default options to a subject that reads nothing but
// URLs, with clients of its own, and to one that sends everything through the
// transport it is given.
func TestNaiveSubject(t *testing.T) {
	body := `
scenario: naive
servers: {WEATHER, near: {transport: stdio, tools: [{name: t, results: [{text: x}]}]}, far: {transport: http, tools: [{name: u, results: [{text: x}]}]}}
conduct: {tools_offered: off}
turns:
  - user: Paris?
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: "{{result.celsius}}"}]
    expect: [{answer: {contains: ["21"]}}, {calls: [weather.get_weather]}]
`
	for _, transport := range []bool{false, true} {
		t.Run(fmt.Sprintf("transport %v", transport), func(t *testing.T) {
			own := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if host, _, _ := net.SplitHostPort(addr); host != "127.0.0.1" {
					t.Errorf("dialed %s, which is not on loopback", addr)
				}
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}}
			defer own.CloseIdleConnections()
			subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
				weather, near, far := env.Servers[0], env.Servers[1], env.Servers[2]
				if weather.URL == "" || weather.Dial == nil || near.URL != "" || near.Dial == nil || far.URL == "" || far.Dial != nil {
					t.Errorf("servers %+v", env.Servers)
				}
				naive := *env
				naive.Servers = []harness.Server{{Name: weather.Name, URL: weather.URL}}
				if transport {
					// By the same URL, in memory; and a server beside the endpoint.
					client := http.Client{Transport: env.Endpoint.Transport}
					if res, err := client.Get(far.URL); err != nil {
						t.Error(err)
					} else if res.Body.Close(); res.Header.Get("Openai-Version") != "" || res.Request.URL.String() != far.URL {
						t.Errorf("GET %s: %s from %s", far.URL, res.Status, res.Request.URL)
					}
					return loop{}.Open(ctx, &naive)
				}
				naive.Endpoint.Transport = own
				return loop{}.Open(ctx, &naive)
			})
			wants(t, one(t, write(t, body), run.Options{Subject: subject}), harness.OutcomePassed, "")
		})
	}
}

// TestTransportStaysInProcess sends a request for another host through the
// transport of a mock model: it must not leave this process.
func TestTransportStaysInProcess(t *testing.T) {
	subject := harness.SubjectFunc(func(ctx context.Context, env *harness.Env) (harness.Session, error) {
		if !strings.HasPrefix(env.Endpoint.BaseURL, "http://127.0.0.1:") {
			t.Errorf("the endpoint is at %s", env.Endpoint.BaseURL)
		}
		elsewhere := *env
		elsewhere.Endpoint.BaseURL = "https://api.openai.com/v1"
		return loop{}.Open(ctx, &elsewhere)
	})
	list := write(t, `
scenario: elsewhere
turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {contains: [hello]}}]}]
`)
	opts := run.Options{Subject: subject, Transport: refuser{t}}
	wants(t, one(t, list, opts), harness.OutcomePassed, "")
}

// refuser is a network that must not be used.
type refuser struct{ t *testing.T }

func (r refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("a request left for %s", req.URL)
	return nil, errors.New("no network")
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestRealServerWithOddTools: of a server whose list has no tool in it, one is told
// what it has.
func TestRealServerWithOddTools(t *testing.T) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerMCP(w, r, `{"name":"q","description":7,"inputSchema":{"type":"object"}}`)
	}))
	defer far.Close()
	wants(t, one(t, write(t, `
scenario: odd tools
servers: {far: {url: "`+far.URL+`/mcp"}}
turns:
  - user: hi
    replies: [{calls: [far.q]}, {say: done}]
    expect: [{answer: {equals: done}}]
`), run.Options{}), harness.OutcomeError, trials.CauseEndpoint,
		"lists no tools: entry 1 of page 1 of its tools is left out: json: cannot unmarshal number into Go struct field .description of type string")
}

// TestRealServerThatRedirects: calls are journaled where the server redirects
// them.
func TestRealServerThatRedirects(t *testing.T) {
	for _, to := range []string{"/mcp/", ""} {
		far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/mcp/":
				answerMCP(w, r, `{"name":"t","inputSchema":{"type":"object","properties":{}}}`)
			case to == "":
				http.Redirect(w, r, "http://"+r.Host+"/mcp/", http.StatusPermanentRedirect)
			default:
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		}))
		wants(t, one(t, write(t, `
scenario: redirected
servers: {far: {url: "`+far.URL+`/mcp"}}
turns:
  - user: hi
    replies: [{calls: [far.t]}, {say: "got {{result}}"}]
    expect: [{answer: {equals: got ok}}]
`), run.Options{}), harness.OutcomePassed, "")
		far.Close()
	}
}

// answerMCP answers as a server with tools does.
func answerMCP(w http.ResponseWriter, r *http.Request, tools string) {
	body, _ := io.ReadAll(r.Body)
	m, _ := mcpwire.Parse(body)
	if !m.IsRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := mcpwire.Message{ID: m.ID, Result: json.RawMessage(map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}`,
		"tools/list": `{"tools":[` + tools + `]}`,
		"tools/call": `{"content":[{"type":"text","text":"ok"}]}`,
	}[m.Method])}
	if len(answer.Result) == 0 {
		answer.Error = &jsonrpc.Error{Code: -32601, Message: "no such method"}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer.Encode())
}

func TestRealServerThatDoesNotStart(t *testing.T) {
	list := write(t, `
scenario: no server
servers: {gone: {command: [/nonexistent/server, --flag]}}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{answer: {contains: [hello]}}]
`)
	wants(t, one(t, list, run.Options{}), harness.OutcomeError, trials.CauseEndpoint,
		`server "gone" (/nonexistent/server) lists no tools`, "no such file")
}
