// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long one peer may run. The slowest takes a tenth of it.
const patience = 25 * time.Minute

// command is exec.Command for a peer that may hang: after patience a program
// written in Go prints its goroutines and dies. What such a program has left
// behind may hold its output open; Wait does not wait for that.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// browser is Chromium without a window, in a process group of its own. Its
// crash handlers leave that group and can outlive it, so its output goes to
// files, which nobody waits for.
type browser struct {
	*exec.Cmd
	dir string
}

// chromium makes a browser with a fresh profile. With wrapper, which is a
// command and its flags, that command starts it.
func chromium(t *testing.T, wrapper []string, args ...string) browser {
	t.Helper()
	b := browser{dir: t.TempDir()}
	argv := append(append([]string{}, wrapper...), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(b.dir, "profile"))
	argv = append(argv, args...)
	b.Cmd = command(t, argv[0], argv[1:]...)
	b.Env = append(os.Environ(), "HOME="+b.dir)
	b.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	b.Cancel = func() error { return syscall.Kill(-b.Process.Pid, syscall.SIGKILL) }
	out, err := os.Create(filepath.Join(b.dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	errs, err := os.Create(filepath.Join(b.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	b.Stdout, b.Stderr = out, errs
	t.Cleanup(func() { out.Close(); errs.Close() })
	return b
}

// text is what the browser has written so far, to "stdout" or "stderr".
func (b browser) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// dom opens a file in a namespace without a network and returns the document
// as the browser has it at the end.
func dom(t *testing.T, file string, args ...string) string {
	t.Helper()
	b := chromium(t, []string{"unshare", "-n"}, append(args, "--dump-dom", "file://"+file)...)
	if err := b.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, b.text(t, "stderr"))
	}
	return b.text(t, "stdout")
}
