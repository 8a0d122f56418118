// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
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
	kill  context.CancelFunc // as SIGTERM does
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
	ctx, kill := context.WithCancel(t.Context())
	k := &talk{t: t, kill: kill, in: w, out: bufio.NewReader(out), ended: make(chan exitCode, 1)}
	k.p = &process{
		args: append([]string{"chat"}, args...), stdin: r, stdout: stdout, stderr: &k.err, interrupt: newHangups(),
		getenv: getenv,
	}
	go func() {
		k.ended <- command(ctx, k.p)
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
	want := "rehearse: the answer to \"Hello?\" was stopped\nrehearse: interrupted before the end of the input\n"
	if code := <-k.ended; code != exitKilled || k.err.String() != want {
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

// TestChatEndsInAPipe: where nobody types, an answer that was stopped or is
// missing is told with its message, and the exit code says it.
func TestChatEndsInAPipe(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  bool // an answer is under way
		end  func(k *talk)
		want string
	}{
		{"a signal to end, during an answer", true, func(k *talk) { k.kill() }, "rehearse: interrupted: \"Hello?\" was not answered, and no message after it was sent\n"},
		{"a signal to end, before a message", false, func(k *talk) { k.kill() }, "rehearse: interrupted before the end of the input\n"},
		{"an interrupt, before a message", false, func(k *talk) { k.p.interrupt.pass() }, "rehearse: interrupted before the end of the input\n"},
		{"an interrupt, during the last answer", true, func(k *talk) {
			k.p.interrupt.pass()
			k.in.Close()
		}, "rehearse: the answer to \"Hello?\" was stopped\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := make(chan struct{})
			endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			defer endpoint.Close()
			k := startTalk(t, "--model=m", "--base-url="+endpoint.URL+"/v1")
			if tc.ask {
				k.line("Hello?")
				<-asked
			} else {
				k.line("/model")
				k.expect("m")
				k.line("") // is read when the command is over
			}
			tc.end(k)
			if code := <-k.ended; code != exitKilled || k.err.String() != tc.want {
				t.Errorf("exit code %d, told %q; want %d, %q", code, k.err.String(), exitKilled, tc.want)
			}
		})
	}
}
