// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// short has one trial that ends at once.
const short = `scenario: quick
turns:
  - user: go
    replies: [{say: done}]
    expect: [{answer: {contains: [done]}}]
`

// TestSignal interrupts a run while a server has a call and does not answer:
// finished trials are kept and reported, and no process is left.
func TestSignal(t *testing.T) {
	t.Parallel()
	heard(t)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lines := newLifelines(t)
			put(t, dir, "a.yaml", short)
			lines.scenario(t, dir, "silent") // s.yaml comes after a.yaml
			cmd, wait := start(t, dir, "run", ".", "--parallel", "1", "--out", "out")
			lines.wait(t)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			e := wait(t)
			e.check(t)
			lines.ended(t, 2)
			if e.code != int(exitUnjudged) {
				t.Errorf("exit code %d, want %d\n%s%s", e.code, exitUnjudged, e.stdout, e.stderr)
			}
			if rec, _ := e.trial(t); rec.Scenario != "quick" || !strings.Contains(e.stdout, "report.html") {
				t.Errorf("kept is %s; the output is\n%s", rec.Key, e.stdout)
			}
			if m, err := trials.ReadManifest(e.dir); err != nil || !m.Interrupted || m.Planned != 2 {
				t.Errorf("manifest %+v, %v; want it to say that the run was interrupted", m, err)
			}
		})
	}
}

// wait waits until a server has a call.
func (l *lifelines) wait(t *testing.T) {
	t.Helper()
	select {
	case <-l.called:
	case <-time.After(tooLong):
		t.Fatal("no call came to a server")
	}
}

// TestInterruptLeavesNothing is [TestSignal] in this process, to see that no
// goroutine is left either.
func TestInterruptLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	lines := newLifelines(t)
	put(t, dir, "a.yaml", short)
	lines.scenario(t, dir, "silent")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		defer interrupt()
		select {
		case <-lines.called:
		case <-time.After(tooLong):
		}
	}()
	e := interruptible(t, ctx, dir, "run", dir, "--parallel", "1", "--out", filepath.Join(dir, "out"))
	lines.ended(t, 2)
	if rec, _ := e.trial(t); e.code != int(exitUnjudged) || rec.Scenario != "quick" {
		t.Errorf("exit code %d, record %s\n%s%s", e.code, rec.Key, e.stdout, e.stderr)
	}
}

// patient is the program with more patience with servers than any test has.
func patient() { program(time.Hour, time.Minute) }

// TestSignalTwice interrupts a run whose server heeds neither the end of its
// input nor the signal to end, and interrupts again: that does not wait for it.
func TestSignalTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := newLifelines(t)
	lines.scenario(t, dir, "stubborn, silent")
	cmd, wait := prepare(t, dir, "run", "s.yaml", "--out", "out")
	var err error
	if cmd.Path, err = exec.LookPath("rehearse-patient"); err != nil {
		t.Fatal(err)
	}
	cmd.Args[0] = cmd.Path
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines.wait(t)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cmd.Stderr.(*watched).seen("interrupt again"):
	case <-time.After(tooLong):
		t.Fatal("there is no word about a second interrupt")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	e := wait(t)
	lines.ended(t, 4) // or they would go on for an hour
	if e.code != int(exitUnjudged) && e.code != int(exitKilled) {
		t.Errorf("exit code %d, want %d or %d\n%s%s", e.code, exitUnjudged, exitKilled, e.stdout, e.stderr)
	}
}

// heard has children of ours hear signals that we were started to ignore: by
// nohup, or by a shell that runs us in the background.
func heard(t *testing.T) {
	t.Helper()
	all := make(chan os.Signal, 1)
	signal.Notify(all, syscall.SIGHUP, syscall.SIGINT)
	t.Cleanup(func() { signal.Stop(all) })
}

// TestSignalEarly interrupts a run before any trial has ended.
func TestSignalEarly(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer upstream.Close()
	dir := t.TempDir()
	put(t, dir, "s.yaml", fmt.Sprintf(liveScenario, true))
	cmd, wait := start(t, dir, "run", "s.yaml", "--mode", "live", "--base-url", upstream.URL+"/v1", "--model", "m", "--out", "out")
	select {
	case <-asked:
	case <-time.After(tooLong):
		t.Fatal("the endpoint was not asked")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	e := wait(t)
	e.check(t)
	if e.code != int(exitUnjudged) || !strings.Contains(e.stdout, "report.html") {
		t.Errorf("exit code %d, want %d and a report\n%s%s", e.code, exitUnjudged, e.stdout, e.stderr)
	}
}

// TestReaderLeaves writes to a pipe that nobody reads: the run goes on to its
// end, its files are written, and no process is left.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := newLifelines(t)
	lines.scenario(t, dir, "fine")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd, wait := prepare(t, dir, "run", "s.yaml", "--out", "out", "--verbose")
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	e := wait(t)
	e.check(t)
	lines.ended(t, 2)
	if rec, _ := e.trial(t); rec.Scenario != "peer" || e.code < 0 {
		t.Errorf("exit code %d, record %+v", e.code, rec.Key)
	}
}

// TestSignalReloads sends a hangup to a mock that is served: it goes on, with
// what the file holds now, and an interrupt ends it in order.
func TestSignalReloads(t *testing.T) {
	t.Parallel()
	heard(t)
	dir := t.TempDir()
	put(t, dir, "llm.yaml", llmFile)
	cmd, wait := start(t, dir, "serve", "llm", "llm.yaml")
	see := func(w io.Writer, text string) {
		t.Helper()
		select {
		case <-w.(*watched).seen(text):
		case <-time.After(tooLong):
			t.Fatalf("%q was never printed", text)
		}
	}
	see(cmd.Stdout, `"admin"`)
	put(t, dir, "llm.yaml", "llm: one\nreplies: [{say: hel")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	see(cmd.Stderr, "the previous file is still served")
	put(t, dir, "llm.yaml", llmFile)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	see(cmd.Stderr, "reloaded")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if e := wait(t); e.code != int(exitPassed) {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
}
