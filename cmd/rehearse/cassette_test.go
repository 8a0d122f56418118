// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/vcr"
	"github.com/rehearse-dev/rehearse/reports"
)

// TestCassetteScan finds a key in a file, names the place, and does not print
// the key.
func TestCassetteScan(t *testing.T) {
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("a: 1\nnote: "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	p := &process{
		args: []string{"cassette", "scan", path}, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: func(string) (string, bool) { return "", false },
	}
	if code := command(context.Background(), p); code != exitFailed {
		t.Errorf("exit %d, want %d: %s", code, exitFailed, stderr.String())
	}
	if !strings.HasPrefix(stdout.String(), path+":2: ") || strings.Contains(stdout.String(), secret) {
		t.Errorf("got %q", stdout.String())
	}
}

// TestProxyAndDrift records through the command, holds the recording against
// the endpoint and against another one, with an address that has no path.
func TestProxyAndDrift(t *testing.T) {
	body := `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	ready, stdout := io.Pipe()
	var stderr bytes.Buffer
	run := func(ctx context.Context, stdout io.Writer, args ...string) exitCode {
		return command(ctx, &process{
			args: args, stdin: strings.NewReader(""), stdout: stdout, stderr: &stderr,
			getenv: func(string) (string, bool) { return "", false },
		})
	}
	code := make(chan exitCode, 1)
	go func() {
		code <- run(ctx, stdout, "proxy", "--mode", "record", "--cassette", path, "--upstream", endpoint.URL)
		stdout.Close()
	}()
	var at struct{ URL string }
	if err := json.NewDecoder(ready).Decode(&at); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, ready) }()
	resp, err := http.Post(at.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(resp.Body); string(got) != body {
		t.Errorf("through the proxy: %d %s", resp.StatusCode, got)
	}
	resp.Body.Close()
	interrupt()
	if got := <-code; got != exitPassed || !strings.Contains(stderr.String(), "written; exchanges: 1, of which failed: 0") {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
	var out bytes.Buffer
	if got := run(t.Context(), &out, "cassette", "drift", path, "--upstream", endpoint.URL); got != exitPassed {
		t.Errorf("no drift: exit %d: %s%s", got, out.String(), stderr.String())
	}
	body = strings.Replace(body, `"Hi"`, "null", 1)
	out.Reset()
	want := "interaction 1 (POST /v1/chat/completions): breaking: body.choices[].message.content: was string, is null\ndifferences that matter: 1, minor: 0\n"
	if got := run(t.Context(), &out, "cassette", "drift", path, "--upstream", endpoint.URL); got != exitFailed || out.String() != want {
		t.Errorf("drift: exit %d: %s", got, out.String())
	}
	out.Reset()
	page := filepath.Join(t.TempDir(), "drift.html")
	got := run(t.Context(), &out, "cassette", "drift", path, path, "--upstream", endpoint.URL, "--json", "--html", page, "--fail-on", "never")
	var told reports.Comparison
	if err := json.Unmarshal(out.Bytes(), &told); got != exitPassed || err != nil || len(told.Files) != 2 || told.Against != endpoint.URL+"/" || told.Worst() != "breaking" {
		t.Errorf("drift of two files: exit %d, %v: %s", got, err, out.String())
	}
	if data, err := os.ReadFile(page); err != nil || !strings.Contains(string(data), "was string, is null") {
		t.Errorf("the page: %v: %s", err, data)
	}
}

// TestDriftPaths: with or without its path, the address leads to the same
// place.
func TestDriftPaths(t *testing.T) {
	var asked []string
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		fmt.Fprint(w, "ok")
	}))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	file := &vcr.File{Interactions: []*vcr.Interaction{{
		Request:  vcr.Request{Method: "GET", URL: "https://api.openai.com/v1/models?a=b"},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte("ok")}, Meta: vcr.Meta{Base: "/v1"},
	}}}
	if err := vcr.WriteFile(path, file, 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ upstream, want string }{
		{"", "/v1/models?a=b"},
		{"/", "/v1/models?a=b"},
		{"/v1", "/v1/models?a=b"},
		{"/argoapi/v1/", "/argoapi/v1/models?a=b"},
	} {
		asked = nil
		var stdout, stderr bytes.Buffer
		command(t.Context(), &process{
			args: []string{"cassette", "drift", path, "--upstream", endpoint.URL + test.upstream}, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(string) (string, bool) { return "", false },
		})
		if len(asked) != 1 || asked[0] != test.want {
			t.Errorf("%q: asked %q, want %q: %s", test.upstream, asked, test.want, stderr.String())
		}
	}
}

// TestProxyAsides records an agent that asks another model beside.
func TestProxyAsides(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[]}`)
	}))
	defer endpoint.Close()
	for _, test := range []struct {
		name  string
		flags []string
		code  exitCode
		says  string
		file  string
	}{
		{"refused", nil, exitFailed, `is not written: it mixes two models: "m" in interaction 1 and "mini" in interaction 2`, "a.refused.yaml"},
		{"allowed", []string{"--asides"}, exitPassed, "written; exchanges: 2", "a.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, interrupt := context.WithCancel(t.Context())
			ready, stdout := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan exitCode, 1)
			go func() {
				args := []string{"proxy", "--mode", "record", "--cassette", filepath.Join(dir, "a.yaml"), "--upstream", endpoint.URL}
				code <- command(ctx, &process{
					args: append(args, test.flags...), stdin: strings.NewReader(""), stdout: stdout, stderr: &stderr,
					getenv: func(string) (string, bool) { return "", false },
				})
				stdout.Close()
			}()
			var at struct{ URL string }
			if err := json.NewDecoder(ready).Decode(&at); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, ready) }()
			for _, model := range []string{"m", "mini"} {
				resp, err := http.Post(at.URL+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[]}`, model)))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			interrupt()
			if got := <-code; got != test.code || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("exit %d: %s", got, stderr.String())
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			if len(left) != 1 || filepath.Base(left[0]) != test.file {
				t.Errorf("files: %q, want %s", left, test.file)
			}
		})
	}
}

// TestDriftRefused: an endpoint that refuses the key of every request was not
// compared; one that refuses a single request differs.
func TestDriftRefused(t *testing.T) {
	const secret = "sk-live-0123456789abcdef"
	asked, most := 0, 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > most {
			fmt.Fprint(w, "ok")
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	one := &vcr.Interaction{
		Request:  vcr.Request{Method: "GET", URL: "https://api.openai.com/v1/models"},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte("ok")}, Meta: vcr.Meta{Base: "/v1"},
	}
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{one, one, one, one}}, 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		most, asked int
		code        exitCode
		want, not   string
	}{
		{"all", 4, 3, exitUnjudged, "the endpoint refused the key: HTTP 401: Incorrect API key provided: REDACTED-key-", "breaking"},
		{"one", 1, 4, exitFailed, "was 200, is 401", "refused the key"},
	} {
		asked, most = 0, test.most
		var out bytes.Buffer
		code := command(t.Context(), &process{
			args: []string{"cassette", "drift", path, "--upstream", endpoint.URL, "--header", "Authorization: Bearer $KEY"}, stdin: strings.NewReader(""), stdout: &out, stderr: &out,
			getenv: func(string) (string, bool) { return secret, true },
		})
		if got := out.String(); code != test.code || asked != test.asked || !strings.Contains(got, test.want) || strings.Contains(got, test.not) || strings.Contains(got, secret) {
			t.Errorf("%s: exit %d, %d asked: %s", test.name, code, asked, got)
		}
	}
}

// TestDriftRedirect: a redirect is a difference, and the key stays here.
func TestDriftRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	endpoint := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer endpoint.Close()
	path := filepath.Join(t.TempDir(), "a.yaml")
	one := &vcr.Interaction{
		Request:  vcr.Request{Method: "GET", URL: "https://api.openai.com/v1/models"},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte("ok")}, Meta: vcr.Meta{Base: "/v1"},
	}
	if err := vcr.WriteFile(path, &vcr.File{Interactions: []*vcr.Interaction{one}}, 0); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := command(t.Context(), &process{
		args: []string{"cassette", "drift", path, "--upstream", endpoint.URL, "--header", "X-Api-Key: $KEY"}, stdin: strings.NewReader(""), stdout: &out, stderr: &out,
		getenv: func(string) (string, bool) { return "key", true },
	})
	if code != exitFailed || !strings.Contains(out.String(), "was 200, is 307") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

// TestImportRefuses to overwrite a file, and to write one that holds nothing.
func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	from, empty, to := filepath.Join(dir, "from.yaml"), filepath.Join(dir, "empty.yaml"), filepath.Join(dir, "to.yaml")
	one := &vcr.Interaction{
		Request:  vcr.Request{Method: "GET", URL: "https://api.openai.com/v1/models"},
		Response: vcr.Response{Code: 200, Status: "200 OK", Body: []byte("ok")},
	}
	if err := vcr.WriteFile(from, &vcr.File{Interactions: []*vcr.Interaction{one}}, 0); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "empty.yaml", "---\nversion: 1\ninteractions: []\n")
	for _, test := range []struct {
		name string
		args []string
		code exitCode
		want string
	}{
		{"nothing in it", []string{empty, to}, exitUsage, "contains no exchange"},
		{"new", []string{from, to}, exitPassed, "1 interaction"},
		{"again", []string{from, to}, exitUsage, "already exists; --force overwrites it"},
		{"forced", []string{from, to, "--force"}, exitPassed, "1 interaction"},
	} {
		var out bytes.Buffer
		code := command(t.Context(), &process{
			args: append([]string{"import", "vcr"}, test.args...), stdin: strings.NewReader(""), stdout: &out, stderr: &out,
			getenv: func(string) (string, bool) { return "", false },
		})
		if code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: exit %d: %s", test.name, code, out.String())
		}
	}
}
