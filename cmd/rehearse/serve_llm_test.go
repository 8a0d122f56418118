// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hiChat = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expect asks and wants a part of the answer, status included.
func (s *served) expect(part, method, url, body string) {
	s.t.Helper()
	if got := s.ask(method, url, body); !strings.Contains(got, part) {
		s.t.Errorf("%s %s: %s, want %q", method, url, got, part)
	}
}

// TestServeReloads serves what the file holds once it is whole and still.
func TestServeReloads(t *testing.T) {
	for _, by := range []string{"watch", "hangup"} {
		t.Run(by, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mock.yaml")
			write(t, file, llmFile)
			ticks := make(chan time.Time)
			p := &process{hangup: &hangups{c: make(chan struct{})}, every: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} }}
			// The ticks order what the test does and what the server does: one
			// is taken when the work of the one before is done.
			s := serveArgs(t, p, "serve", "llm", "--watch", "1s", file)
			tick := func() { ticks <- time.Time{} }
			changed := func() {
				if by == "hangup" {
					p.hangup.c <- struct{}{}
				} else {
					tick()
					tick()
				}
				tick()
			}
			root := strings.TrimSuffix(s.URL, "/v1")
			s.expect("hello", "POST", s.URL+"/chat/completions", hiChat)
			write(t, file, "llm: one\nreplies: [{say: hel")
			changed()
			s.expect(`200 {"status":"stale"`, "GET", root+"/health", "")
			s.expect(`"met":[{"turn":1`, "GET", s.Admin+"/expectations", "")
			write(t, file, strings.ReplaceAll(llmFile, "hello", "goodbye"))
			if by == "watch" {
				tick() // may be half of it
				tick()
				tick()
			} else {
				changed()
			}
			s.expect(`200 {"status":"healthy","script":2`, "GET", root+"/health", "")
			s.expect("goodbye", "POST", s.URL+"/chat/completions", hiChat)
			if !p.hangup.taken.Load() {
				t.Error("a hangup would end the process")
			}
			code, stderr := s.end()
			if code != exitPassed || strings.Count(stderr, "mock.yaml:2:") != 1 || strings.Count(stderr, "reloaded") != 1 {
				t.Errorf("exit code %d and\n%s", code, stderr)
			}
		})
	}
}

// TestServeReloadsWhatIsIncluded serves anew when a file changes that the named
// one refers to, and when a suite.yaml appears beside it.
func TestServeReloadsWhatIsIncluded(t *testing.T) {
	dir := t.TempDir()
	file, server := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "servers", "shop.yaml")
	if err := os.Mkdir(filepath.Dir(server), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "scenario: one\nservers: {shop: {mock: servers/shop.yaml}}\nturns: [{user: hi, replies: [{calls: [shop.look]}, {say: hello}]}]\n")
	shop := "server: shop\ntools: [{name: look, input: {type: object, properties: {}}, results: [{text: Goods.}]}]\n"
	write(t, server, shop)
	ticks := make(chan time.Time)
	p := &process{hangup: &hangups{c: make(chan struct{})}, every: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} }}
	s := serveArgs(t, p, "serve", "llm", "--watch", "1s", file)
	root := strings.TrimSuffix(s.URL, "/v1")
	settle := func() {
		for range 6 { // what is found may be looked at, too, and then be still
			ticks <- time.Time{}
		}
	}
	settle()
	s.expect(`200 {"status":"healthy","script":1`, "GET", root+"/health", "")
	write(t, server, strings.ReplaceAll(shop, "look", "look2"))
	settle()
	s.expect(`"status":"healthy","script":2`, "GET", root+"/health", "")
	write(t, server, "server: shop\ntools: [{name: l")
	settle()
	s.expect(`"status":"stale"`, "GET", root+"/health", "")
	write(t, server, shop)
	settle()
	s.expect(`"status":"healthy","script":3`, "GET", root+"/health", "")
	write(t, filepath.Join(dir, "suite.yaml"), "suite: all\nmodel: {profile: strict}\n")
	settle()
	s.expect(`"status":"healthy","script":4`, "GET", root+"/health", "")
	s.end()
}

// TestWatcherSettles takes no change that is not there twice in a row.
func TestWatcherSettles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, "1")
	w := newWatcher([]string{filepath.Dir(file)})
	for i, step := range []struct {
		text string
		want bool
	}{{"1", false}, {"12", false}, {"123", false}, {"123", true}, {"1", false}, {"1", false}} {
		write(t, file, step.text)
		if got := w.changed(); got != step.want {
			t.Errorf("step %d, %q: changed is %v, want %v", i+1, step.text, got, step.want)
		}
	}
}

// TestServeAdmin plays and verifies as a test in another language would.
func TestServeAdmin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mock.yaml")
	write(t, file, llmFile)
	s := serveArgs(t, &process{}, "serve", "llm", "--max-body", "200", "--isolate", "header:X-Test", "--grace", "1s", file)
	root := strings.TrimSuffix(s.URL, "/v1")
	own := root + "/t/mine"
	s.expect("hello", "POST", own+"/v1/chat/completions", hiChat)
	s.expect(`{"passed":true`, "POST", own+"/rehearse/verify", `{"that": "journal.model_calls == 1", "done": true}`)
	s.expect(`{"passed":false`, "POST", s.Admin+"/verify", `{"done": true}`)
	s.expect("400 ", "POST", own+"/rehearse/load", "llm: two\nreplys: []\n")
	s.expect("posted.yaml:2:1", "POST", own+"/rehearse/load", "llm: two\nreplys: []\n")
	s.expect("204 ", "POST", own+"/rehearse/load", "llm: two\nreplies: [{say: loaded}]\n")
	s.expect("loaded", "POST", own+"/v1/chat/completions", hiChat)
	s.expect("200 # HELP", "GET", s.Admin+"/metrics", "")
	s.expect("413 ", "POST", own+"/v1/chat/completions", strings.Replace(hiChat, "hi", strings.Repeat("hi", 200), 1))
	code, stderr := s.end()
	if want := "rehearse: 1 request not answered as scripted; see above\n"; code != exitFailed || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit code %d and\n%s", code, stderr)
	}
}

// TestServeWithoutFile has nothing scripted until it is sent. What is sent may
// say which file it was read from, below the folder that may be read.
func TestServeWithoutFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "sub/shop.yaml", "server: shop\ntools: [{name: look, results: [{text: Goods.}]}]\n")
	s := serveArgs(t, &process{}, "serve", "llm", "--files", dir)
	own := strings.TrimSuffix(s.URL, "/v1") + "/t/mine"
	s.expect("no turns are scripted: a mock that began without a script is to be given one first, by load of its fixture or of its admin API", "POST", own+"/v1/chat/completions", hiChat)
	s.expect(`it is the text \"a.yaml\", and no map: a path where the contents are wanted; a rehearse file begins with`, "POST", own+"/rehearse/load", "a.yaml")
	load, name := own+"/rehearse/load?name=", url.QueryEscape(filepath.Join(dir, "sub", "test.py::one"))
	s.expect("test.py::one:2:1: unknown key", "POST", load+name, "llm: one\nreplys: []\n")
	s.expect("outside the folder that may be read", "POST", load+url.QueryEscape(filepath.Join(dir, "..", "x.yaml")), "llm: one\nreplies: [{say: loaded}]\n")
	s.expect("204 ", "POST", load+name, "scenario: one\nservers: {shop: {mock: shop.yaml}}\nturns: [{user: hi, replies: [{say: hello}]}]\n")
	s.expect("204 ", "POST", load+name, "llm: one\nreplies: [{say: loaded}]\n")
	s.expect("loaded", "POST", own+"/v1/chat/completions", hiChat)
	s.expect("204 ", "DELETE", own+"/rehearse/conversation", "")
	// What nobody has asked is not done, be it rules alone.
	s.expect("204 ", "POST", load+name, "llm: one\nreplies: [{say: loaded}]\n")
	s.expect(`test.py::one:2:11\nthe mock was asked nothing: does the client use its URL?"`, "POST", own+"/rehearse/verify", `{"done": true}`)
	s.expect("204 ", "POST", load+name, "llm: one\nrules: [{when: \"true\", reply: {say: loaded}}]\n")
	s.expect(`"message":"the mock was asked nothing: does the client use its URL?"`, "POST", own+"/rehearse/verify", `{"done": true}`)
	s.expect("loaded", "POST", own+"/v1/chat/completions", hiChat)
	s.expect(`{"passed":true`, "POST", own+"/rehearse/verify", `{"done": true}`)
	s.expect("204 ", "DELETE", own+"/rehearse/conversation", "")
	if code, stderr := s.end(); code != exitPassed {
		t.Errorf("exit code %d and\n%s", code, stderr)
	}
	s = serveArgs(t, &process{}, "serve", "mcp")
	s.expect("204 ", "POST", s.Admin+"/load", "server: one\ntools: [{name: t, results: [{text: ok}]}]\n")
	if code, stderr := s.end(); code != exitPassed {
		t.Errorf("exit code %d and\n%s", code, stderr)
	}
	if e := inProcess(t, dir, "serve", "mcp", "--transport", "stdio"); exitCode(e.code) != exitUsage || !strings.Contains(e.stderr, "stdio needs a server file") {
		t.Errorf("over stdio: exit code %d and\n%s", e.code, e.stderr)
	}
}

// certificate writes a certificate for loopback and its key to files, and
// returns what trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, cert, string(public))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return cert, key, pool
}

// TestServeTLS serves over TLS.
func TestServeTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	for _, tc := range []struct {
		kind, text string
		flags      []string
		url        string // how it begins
		path       string // of a request
		answer     string
	}{
		{"llm", llmFile, nil, "https://", "/chat/completions", "hello"},
		{"mcp", counterFile, nil, "https://", "", "Invalid Request"},
		{"mcp", counterFile, []string{"--transport", "ws"}, "wss://", "", ""},
	} {
		t.Run(strings.Join(append([]string{tc.kind}, tc.flags...), " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mock.yaml")
			write(t, file, tc.text)
			args := append([]string{"serve", tc.kind, "--tls-cert", cert, "--tls-key", key}, tc.flags...)
			s := serveArgs(t, &process{}, append(args, file)...)
			s.client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
			if !strings.HasPrefix(s.URL, tc.url) || !strings.HasPrefix(s.Admin, "https://") {
				t.Errorf("url %s, admin %s", s.URL, s.Admin)
			}
			s.expect("200 []", "GET", s.Admin+"/journal", "")
			if tc.answer != "" {
				s.expect(tc.answer, "POST", s.URL+tc.path, hiChat)
			}
			if code, stderr := s.end(); code != exitPassed {
				t.Errorf("exit code %d and\n%s", code, stderr)
			}
		})
	}
}
