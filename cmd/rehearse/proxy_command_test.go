// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProxyEnvironment tells the command where the proxy is, by the path of
// the endpoint's address, and gives it keys in a replay alone.
func TestProxyEnvironment(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }))
	defer endpoint.Close()
	dir := t.TempDir()
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("GEMINI_API_KEY", "mine")
	t.Setenv("NO_PROXY", "intern")
	for _, tt := range []struct{ name, upstream, openai, file string }{
		{"no path", endpoint.URL, "PROXY/v1", "a.yaml"},
		{"slash", endpoint.URL + "/", "PROXY/v1", "b.yaml"},
		{"path", endpoint.URL + "/v1", "PROXY", "c.yaml"},
		{"long path", endpoint.URL + "/argoapi/v1", "PROXY", "d.yaml"},
	} {
		for _, mode := range []string{"record", "replay"} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				args := []string{"proxy", "--mode", mode, "--cassette", filepath.Join(dir, tt.file)}
				if mode == "record" {
					args = append(args, "--upstream", tt.upstream)
				}
				var stdout, stderr bytes.Buffer
				code := command(t.Context(), &process{
					args:  append(args, "--", "proxy-client"),
					stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
					getenv: func(name string) (string, bool) {
						if name == "CI" {
							return "", false
						}
						return os.LookupEnv(name)
					},
				})
				key := ""
				if mode == "replay" {
					key = "replayed"
				}
				want := tt.openai + " PROXY PROXY PROXY key=" + key + ",mine no=intern,127.0.0.1,localhost fine"
				got := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(stdout.String(), "PROXY")
				got, _, _ = strings.Cut(got, "\n")
				if diff := cmp.Diff(want, got); code != exitPassed || diff != "" {
					t.Errorf("exit %d (-want +got):\n%s%s", code, diff, stderr.String())
				}
			})
		}
	}
}

// TestProxyReady says where OpenAI's clients find a proxy without a command.
func TestProxyReady(t *testing.T) {
	for path, openai := range map[string]string{"": "/v1", "/v1": ""} {
		s := serveArgs(t, &process{}, "proxy", "--mode", "passthrough", "--upstream", "http://127.0.0.1:1"+path)
		if want := s.URL + openai; s.OpenAI != want {
			t.Errorf("upstream %q: openai is %q, want %q", path, s.OpenAI, want)
		}
		s.end()
	}
	dir := t.TempDir()
	if e := inProcess(t, dir, "proxy", "--with-parent", "--mode", "passthrough", "--upstream", "http://127.0.0.1:1", "--", "true"); exitCode(e.code) != exitUsage || !strings.Contains(e.stderr, "ends when the command does") {
		t.Errorf("exit code %d and\n%s", e.code, e.stderr)
	}
}

// TestProxyFailures: what failed is called so, and replaces nothing.
func TestProxyFailures(t *testing.T) {
	status := http.StatusOK
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, "fine")
	}))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	var good []byte
	for _, tt := range []struct {
		name   string
		status int
		code   exitCode
		says   string
	}{
		{"good", 200, exitPassed, "written; exchanges: 1, of which failed: 0"},
		{"a wrong key", 401, exitFailed, "is not written, and the existing one stays"},
		{"down", 503, exitFailed, "nothing was recorded: the endpoint was asked 1 time, and every request failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status = tt.status
			var stdout, stderr bytes.Buffer
			code := command(t.Context(), &process{
				args:  []string{"proxy", "--mode", "record", "--cassette", path, "--upstream", endpoint.URL, "--", "proxy-client"},
				stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
				getenv: func(string) (string, bool) { return "", false },
			})
			if code != tt.code || !strings.Contains(stderr.String(), tt.says) || strings.Contains(stderr.String(), "KeepErrors") || strings.Contains(stderr.String(), "OPENAI_BASE_URL") {
				t.Errorf("exit %d, want %d: %s", code, tt.code, stderr.String())
			}
			data, err := os.ReadFile(path)
			if good == nil {
				good = data
			}
			if err != nil || !bytes.Equal(data, good) {
				t.Errorf("the file is another: %v\n%s", err, data)
			}
		})
	}
}

// proxyClient is the command of TestProxyEnvironment.
func proxyClient() {
	resp, err := http.Get(os.Getenv("OPENAI_BASE_URL") + "/models")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	_, _ = body.ReadFrom(resp.Body)
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "REHEARSE_PROXY_URL"} {
		fmt.Print(os.Getenv(name), " ")
	}
	fmt.Printf("key=%s,%s no=%s %s\n", os.Getenv("OPENAI_API_KEY"), os.Getenv("GEMINI_API_KEY"), os.Getenv("NO_PROXY"), body.String())
}

// TestProxySignalled: a command that a signal ended has the exit code that shells
// give it.
func TestProxySignalled(t *testing.T) {
	for signal, want := range map[string]int{"KILL": 137, "TERM": 143, "INT": 130} {
		e := inProcess(t, t.TempDir(), "proxy", "--mode", "passthrough", "--upstream", "http://127.0.0.1:1", "--", "sh", "-c", "kill -"+signal+" $$")
		if e.code != want {
			t.Errorf("SIG%s: exit code %d, want %d\n%s", signal, e.code, want, e.stderr)
		}
	}
}

// TestUpstreamRefused: what of an address would not be sent is said.
func TestUpstreamRefused(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:1/v1?api-version=1": "the query in it would not be sent",
		"http://127.0.0.1:1?":                 "the query in it would not be sent",
		"http://me:secret1@127.0.0.1:1":       `--upstream "http://me:xxxxx@127.0.0.1:1": the user and password in it would not be sent`,
		"http://127.0.0.1:1/v1#x":             "the part after # is not sent",
	} {
		e := inProcess(t, t.TempDir(), "proxy", "--mode", "passthrough", "--upstream", address, "--", "true")
		if exitCode(e.code) != exitUsage || !strings.Contains(e.stderr, want) || strings.Contains(e.stderr, "secret1") {
			t.Errorf("%s: exit code %d\n%s", address, e.code, e.stderr)
		}
	}
}

// TestProxyInterrupted ends a command that goes on, and one that does not heed.
func TestProxyInterrupted(t *testing.T) {
	heard(t)
	for _, tt := range []struct {
		name, script string
		abort        bool
	}{
		{"heeds", "echo started; exec cat", false},
		{"does not heed", "trap '' INT; echo started; exec cat", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			in, hold, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			defer hold.Close() // what the command waits for
			out, stdout, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			defer stdout.Close()
			abort := make(chan struct{})
			var stderr bytes.Buffer
			code := make(chan exitCode, 1)
			go func() {
				code <- command(ctx, &process{
					args:  []string{"proxy", "--mode", "passthrough", "--upstream", "http://127.0.0.1:1", "--", "sh", "-c", tt.script},
					stdin: in, stdout: stdout, stderr: &stderr, abort: abort, getenv: func(string) (string, bool) { return "", false },
				})
			}()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
				t.Fatalf("%q, %v", line, err)
			}
			interrupt()
			if tt.abort {
				close(abort)
			}
			select {
			case got := <-code:
				if got != exitKilled {
					t.Errorf("exit %d, want %d: %s", got, exitKilled, stderr.String())
				}
			case <-time.After(tooLong):
				t.Fatal("the command goes on")
			}
		})
	}
}

// TestProxyRefused: a recording of refusals alone is written, and is no success.
func TestProxyRefused(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "no such key")
	}))
	defer endpoint.Close()
	for _, keep := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		args := []string{"proxy", "--mode", "record", "--cassette", path, "--upstream", endpoint.URL, fmt.Sprintf("--keep-errors=%v", keep), "--", "proxy-client"}
		var stdout, stderr bytes.Buffer
		code := command(t.Context(), &process{
			args: args, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(name string) (string, bool) { return "", false },
		})
		if want := map[bool]exitCode{false: exitFailed, true: exitPassed}[keep]; code != want || !keep != strings.Contains(stderr.String(), "every recorded exchange failed (exchanges: 1), the last one with 401 Unauthorized: no such key; check --upstream and the key") {
			t.Errorf("keep %v: exit code %d\n%s%s", keep, code, stdout.String(), stderr.String())
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestProxyVerify: a difference is a failure, and an endpoint that is not there
// is none.
func TestProxyVerify(t *testing.T) {
	answer := "fine"
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	for _, tt := range []struct {
		name, mode, answer string
		code               exitCode
		stdout, stderr     string
	}{
		{"recorded", "record", "fine", exitPassed, "", ""},
		{"the same", "verify", "good", exitPassed, "", ""},
		{"other", "verify", `{"a":1}`, exitFailed, "interaction 1: breaking: body", ""},
		{"gone", "verify", "", exitUnjudged, "interaction 1: not compared: the endpoint did not answer: ", "1 answer could not be compared; check --upstream"},
	} {
		if answer = tt.answer; answer == "" {
			endpoint.Close()
		}
		var stdout, stderr bytes.Buffer
		code := command(t.Context(), &process{
			args:  []string{"proxy", "--mode", tt.mode, "--cassette", path, "--upstream", endpoint.URL, "--", "proxy-client"},
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(string) (string, bool) { return "", false },
		})
		if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) || strings.Contains(stdout.String(), "status: was 200, is 0") {
			t.Errorf("%s: exit code %d\n%s%s", tt.name, code, stdout.String(), stderr.String())
		}
	}
}
