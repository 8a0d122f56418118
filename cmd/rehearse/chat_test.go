// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// talk is a chat that a test types into.
type talk struct {
	t     *testing.T
	in    *io.PipeWriter
	p     *process
	ended chan exitCode
	out   *bufio.Reader
	err   strings.Builder
}

func startTalk(t *testing.T, args ...string) *talk {
	t.Helper()
	return newTalk(t, func(string) (string, bool) { return "", false }, args...)
}

// newTalk is startTalk in an environment.
func newTalk(t *testing.T, getenv func(string) (string, bool), args ...string) *talk {
	t.Helper()
	r, w := io.Pipe()
	out, stdout := io.Pipe()
	k := &talk{t: t, in: w, out: bufio.NewReader(out), ended: make(chan exitCode, 1)}
	k.p = &process{
		args: append([]string{"chat"}, args...), stdin: r, stdout: stdout, stderr: &k.err, interrupt: newHangups(),
		getenv: getenv,
	}
	go func() {
		k.ended <- command(t.Context(), k.p)
		stdout.Close()
	}()
	return k
}

func (k *talk) line(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, text+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

// expect wants a line of the answer.
func (k *talk) expect(want string) {
	k.t.Helper()
	if got, err := k.out.ReadString('\n'); got != want+"\n" {
		k.t.Errorf("said %q (%v), want %q", got, err, want)
	}
}

// TestChatInterrupts: Ctrl-C stops an answer, after which the talk goes on; at
// the prompt it ends the program.
func TestChatInterrupts(t *testing.T) {
	asked := make(chan struct{})
	var begun atomic.Bool
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		if !begun.Swap(true) {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Here I am."},"finish_reason":"stop"}]}`)
	}))
	defer endpoint.Close()
	k := startTalk(t, "--model=m", "--no-stream", "--base-url="+endpoint.URL+"/v1")
	k.line("Hello?")
	<-asked
	if !k.p.interrupt.pass() {
		t.Fatal("Ctrl-C would end the program")
	}
	k.line("Are you there?")
	<-asked
	k.expect("Here I am.")
	k.line("/model")
	k.expect("m")
	k.line("") // is read when the command is over
	k.p.interrupt.pass()
	if code := <-k.ended; code != exitPassed || k.err.String() != "rehearse: the answer was stopped\n" {
		t.Errorf("exit code %d, told %q", code, k.err.String())
	}
}

// TestGoalRedirected: a goal goes to no server but the one that was named.
func TestGoalRedirected(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	g := &goalChat{p: &process{stdout: io.Discard, stderr: io.Discard}, url: moved.URL}
	if err := g.say(t.Context(), "my goal"); err == nil || !strings.Contains(err.Error(), "status 307") {
		t.Errorf("a goal at a redirect: %v", err)
	}
}
