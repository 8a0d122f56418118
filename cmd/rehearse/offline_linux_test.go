// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// namespaces reports whether this user may have a network of its own.
func namespaces() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	return cmd.Run() == nil
}

// TestOfflineInterrupted: Ctrl-C reaches a run that has no network, and the
// report is written.
func TestOfflineInterrupted(t *testing.T) {
	t.Parallel()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "s.yaml"), `scenario: s
subject: {command: [sh, -c, 'echo begun > `+fifo+`; exec sleep 3600']}
turns: [{user: hi, expect: [{answer: {contains: done}}]}]
`)
	cmd := exec.Command(path, "run", "s.yaml", "--offline", "--timeout", "1h")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, begun := make(chan error, 1), make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	go func() {
		_, err := os.ReadFile(fifo)
		begun <- err
	}()
	select {
	case err := <-ended:
		if !namespaces() {
			if !strings.Contains(out.String(), "no namespace without a network") || cmd.ProcessState.ExitCode() != int(exitUsage) {
				t.Errorf("without namespaces: %v\n%s", err, out.String())
			}
			return
		}
		t.Fatalf("%v\n%s", err, out.String())
	case err := <-begun:
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != int(exitUnjudged) || !strings.Contains(out.String(), "interrupted: 0 of 1 trial planned ended") {
		t.Errorf("exit code %d and\n%s", code, out.String())
	}
}
