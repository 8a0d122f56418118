// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// unread is a standard error whose pipe is full: each write waits for a reader
// that never comes.
func unread(t *testing.T) io.Writer {
	r, w := io.Pipe()
	t.Cleanup(func() { r.Close() })
	return w
}

// TestNobodyReads: a mock whose standard error nobody reads goes on answering,
// and ends when it is told to.
func TestNobodyReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mock.yaml")
	put(t, filepath.Dir(file), "mock.yaml", "llm: m\nturns: [{user: hi, replies: [{say: hello}]}]\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, stdout := io.Pipe()
	p := &process{
		args: []string{"serve", "llm", file}, getenv: func(string) (string, bool) { return "", false },
		stdin: strings.NewReader(""), stdout: stdout, stderr: unread(t), patience: time.Nanosecond,
	}
	done := make(chan exitCode, 1)
	go func() { done <- command(ctx, p) }()
	s := &served{t: t}
	readReady(t, out, s)
	long := strings.Repeat("no ", 400)
	for range 2000 {
		if got := s.ask("POST", s.URL+"/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+long+`"}]}`); !strings.Contains(got, "nothing scripted fits") {
			t.Fatalf("answered with %s", got)
		}
	}
	cancel()
	if code := <-done; code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}

// TestDrain: what is not read is left out and told of, in its place.
func TestDrain(t *testing.T) {
	r, w := io.Pipe()
	d := &drain{w: w}
	line := strings.Repeat("x", 1<<10-1) + "\n"
	const many = drainLimit>>10 + 100
	for range many {
		fmt.Fprint(d, line)
	}
	d.flush(time.Nanosecond)
	lines := bufio.NewScanner(r)
	n, said := 0, ""
	for lines.Scan() {
		if n++; strings.HasPrefix(lines.Text(), "rehearse:") {
			said = lines.Text()
			break
		}
	}
	if said != "rehearse: 100 lines dropped, because nobody read standard error" || n != drainLimit>>10+1 {
		t.Errorf("after %d lines %q", n, said)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	fmt.Fprintln(d, "more")
	d.flush(tooLong)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writing || d.size != 0 || len(d.queue) != 0 {
		t.Errorf("%d bytes are left", d.size)
	}
}

// TestWithParent: the end of the parent is that of the server.
func TestWithParent(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		file string
	}{
		{"llm", []string{"serve", "llm", "--with-parent"}, "llm: m\nturns: [{user: hi, replies: [{say: hello}]}]\n"},
		{"mcp", []string{"serve", "mcp", "--with-parent"}, "server: m\ntools: [{name: t, results: [{text: ok}]}]\n"},
		{"proxy", []string{"proxy", "--with-parent", "--mode", "passthrough", "--upstream", "http://127.0.0.1:1", "--cassette"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "mock.yaml", tc.file)
			gone := make(chan struct{})
			p := &process{parent: parent{ended: func(ctx context.Context) {
				select {
				case <-gone:
				case <-ctx.Done():
				}
			}}}
			out, stdout := io.Pipe()
			p.args, p.getenv = append(tc.args, filepath.Join(dir, "mock.yaml")), func(string) (string, bool) { return "", false }
			p.stdin, p.stdout, p.stderr = strings.NewReader(""), stdout, io.Discard
			done := make(chan exitCode, 1)
			go func() { done <- command(t.Context(), p) }()
			readReady(t, out, &served{t: t})
			close(gone)
			if code := <-done; code != exitPassed {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestParentProcess is that of a shell, which leaves the server behind.
func TestParentProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the end of the input stands for that of the parent")
	}
	dir := t.TempDir()
	put(t, dir, "mock.yaml", "llm: m\nturns: [{user: hi, replies: [{say: hello}]}]\n")
	rehearse, err := exec.LookPath("rehearse")
	if err != nil {
		t.Skip("no rehearse in the path: run by testscript")
	}
	cmd := exec.Command("/bin/sh", "-c", `"$0" serve llm --with-parent mock.yaml 3<&- & read _`, rehearse)
	cmd.Dir, cmd.Env = dir, os.Environ()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, `"url"`) {
		t.Fatalf("%q %v", line, err)
	}
	stdin.Close() // the shell ends
	over := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, out) // until the server has closed it
		over <- err
	}()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(tooLong):
		t.Error("the server outlives its parent")
	}
	_ = cmd.Wait()
}

// TestFullPipeEnds: a process whose standard error is a pipe that is full ends
// when it is told to.
func TestFullPipeEnds(t *testing.T) {
	t.Parallel()
	rehearse, err := exec.LookPath("rehearse")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("needs the command and signals")
	}
	dir := t.TempDir()
	put(t, dir, "mock.yaml", "llm: m\nturns: [{user: hi, replies: [{say: hello}]}]\n")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(rehearse, "serve", "llm", "mock.yaml")
	cmd.Dir, cmd.Stderr = dir, w
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s := &served{t: t}
	readReady(t, stdout, s)
	long := strings.Repeat("no ", 20_000)
	for range 20 { // more than a pipe holds
		s.ask("POST", s.URL+"/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+long+`"}],"foo`+long+`":1}`)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err := <-over:
		if code := cmd.ProcessState.ExitCode(); code != int(exitFailed) {
			t.Errorf("exit code %d, %v", code, err)
		}
	case <-time.After(tooLong):
		_ = cmd.Process.Kill()
		t.Error("it does not end")
	}
}
