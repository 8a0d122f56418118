// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
)

const counterFile = `server: counter
state: {n: 1}
tools:
  - name: add
    input: {type: object, properties: {by: {type: integer}}}
    results: [{when: "args.by < 10", set: {n: {$cel: state.n + args.by}}, text: "{{state.n}}"}]
`

// callOnce opens a session, calls add and says what was answered.
func callOnce(t *testing.T, server harness.Server, by int) string {
	t.Helper()
	session, err := mcppool.Open(t.Context(), server, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.Call(t.Context(), "add", json.RawMessage(fmt.Sprintf(`{"by":%d}`, by)))
	if err != nil {
		t.Fatal(err)
	}
	return result.Text
}

// TestServeMCPTransports serves the same file each way that has a URL.
func TestServeMCPTransports(t *testing.T) {
	for transport, path := range map[string]string{"http": "/mcp", "sse": "/sse", "ws": "/ws"} {
		t.Run(transport, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "counter.yaml")
			write(t, file, counterFile)
			s := serveArgs(t, &process{}, "serve", "mcp", "--transport", transport, file)
			if !strings.HasSuffix(s.URL, path) {
				t.Errorf("url %s, want one with %s", s.URL, path)
			}
			if got := callOnce(t, harness.Server{Name: "counter", URL: s.URL, Transport: transport}, 2); got != "1" {
				t.Errorf("answered with %q", got)
			}
			// Another test has a server of its own.
			own := strings.TrimSuffix(s.URL, path) + "/t/own" + path
			for i, want := range []string{"1", "4"} {
				if got := callOnce(t, harness.Server{Name: "counter", URL: own, Transport: transport}, 3); got != want {
					t.Errorf("call %d is answered with %q, want %q", i+1, got, want)
				}
			}
			root := strings.TrimSuffix(s.Admin, "/rehearse")
			s.expect(`200 {"n":3}`, "GET", s.Admin+"/state", "")
			s.expect(`200 {"n":7}`, "GET", root+"/t/own/rehearse/state", "")
			s.expect(`"passed":true`, "POST", root+"/t/own/rehearse/verify", `{"calls": ["add", "counter.add"], "done": true}`)
			s.expect(`"transport":"`+transport+`"`, "GET", s.Admin+"/frames", "")
			s.expect(`200 {"status":"healthy","script":1,"conversations":2}`, "GET", root+"/health", "")
			s.expect("204", "POST", s.Admin+"/load", strings.ReplaceAll(counterFile, "n: 1", "n: 100"))
			if got := callOnce(t, harness.Server{Name: "counter", URL: s.URL, Transport: transport}, 2); got != "100" {
				t.Errorf("answered with %q after another file was loaded", got)
			}
			s.expect(`400 {"error":{"message":"the script is not loaded, all is as before: `, "POST", s.Admin+"/load", "server: x\ntols: []\n")
			code, stderr := s.end()
			// The server may not have seen yet that its last client has gone.
			stderr, named := strings.CutPrefix(grace.ReplaceAllString(stderr, ""), "the journal as it grows, in a browser: "+s.Admin+"/\n")
			if code != exitPassed || !named || stderr != "" {
				t.Errorf("exit code %d and %q", code, stderr)
			}
		})
	}
}

// grace is what a server says that still has clients when it is stopped.
var grace = regexp.MustCompile(`(?m)^stopping: requests under way .*\n`)

// TestServeMCPReloads serves what the file holds, at a hangup.
func TestServeMCPReloads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counter.yaml")
	write(t, file, counterFile)
	ticks := make(chan time.Time)
	p := &process{hangup: &hangups{c: make(chan struct{})}, every: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} }}
	s := serveArgs(t, p, "serve", "mcp", "--watch", "1s", file)
	reload := func() {
		p.hangup.c <- struct{}{}
		ticks <- time.Time{} // is taken when that is done
	}
	write(t, file, strings.ReplaceAll(counterFile, "n: 1", "n: 7"))
	reload()
	s.expect(`200 {"n":7}`, "GET", s.Admin+"/state", "")
	write(t, file, "server: x\ntols: []\n")
	reload()
	s.expect(`200 {"n":7}`, "GET", s.Admin+"/state", "")
	s.expect(`"status":"stale"`, "GET", s.Admin+"/health", "")
	write(t, file, counterFile)
	reload()
	s.expect(`200 {"n":1}`, "GET", s.Admin+"/state", "")
	code, stderr := s.end()
	if code != exitPassed || strings.Count(stderr, "reloaded") != 2 || !strings.Contains(stderr, "not loaded; the previous file is still served") {
		t.Errorf("exit code %d and\n%s", code, stderr)
	}
}

// TestServeMCPListens: only clients on this machine, and by its name.
func TestServeMCPListens(t *testing.T) {
	for _, transport := range []string{"http", "sse", "ws"} {
		file := filepath.Join(t.TempDir(), "counter.yaml")
		write(t, file, counterFile)
		s := serveArgs(t, &process{}, "serve", "mcp", "--transport", transport, "--allow-host", "mock", file)
		if !strings.Contains(s.URL, "://127.0.0.1:") || !strings.HasPrefix(s.Admin, "http://127.0.0.1:") {
			t.Errorf("%s listens beyond loopback: %s, %s", transport, s.URL, s.Admin)
		}
		url := "http" + s.URL[strings.Index(s.URL, "://"):]
		got := map[string]bool{}
		for _, host := range []string{"evil.example", "localhost", "mock:80"} {
			for _, at := range []string{url, s.Admin + "/journal"} {
				got[fmt.Sprintf("%s %v", host, at == url)] = s.refused(at, host, "")
			}
		}
		got["origin"] = s.refused(url, "", "https://evil.example") && s.refused(s.Admin+"/journal", "", "https://evil.example")
		want := map[string]bool{
			"evil.example true": true, "evil.example false": true, "localhost true": false, "localhost false": false,
			"mock:80 true": false, "mock:80 false": false, "origin": true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what %s refuses (-want +got):\n%s", transport, diff)
		}
		s.end()
	}
}

// TestServeAdvertises: the name that is handed out is one by which the mock can
// be called, and it listens where it did.
func TestServeAdvertises(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counter.yaml")
	write(t, file, counterFile)
	s := serveArgs(t, &process{}, "serve", "mcp", "--advertise", "host.docker.internal", file)
	for _, url := range []string{s.URL, s.Admin + "/journal"} {
		local := strings.Replace(url, "host.docker.internal", "127.0.0.1", 1)
		if local == url {
			t.Fatalf("%s does not say the name", url)
		}
		if s.refused(local, "host.docker.internal", "") || !s.refused(local, "evil.example", "") {
			t.Errorf("%s: want the advertised name let in, and no other", url)
		}
	}
	s.Admin = strings.Replace(s.Admin, "host.docker.internal", "127.0.0.1", 1)
	s.end()
}

// refused reports whether a request that names a host and an origin is
// answered 403.
func (s *served) refused(url, host, origin string) bool {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Accept", "text/event-stream")
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusForbidden
}
