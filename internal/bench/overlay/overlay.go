// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package overlay runs commands that see files of a tree with another text.
// The tree is not touched: the compiler is given an overlay.
//
//	o, err := overlay.New(8192)
//	if err != nil {
//		return err
//	}
//	defer o.Close()
//	if err := o.Put(map[string][]byte{"harness/clock.go": broken}); err != nil {
//		return err
//	}
//	out, err := o.Run(ctx, "go", "test", "./harness")
package overlay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Overlay is files with another text, and how commands are run that see them.
type Overlay struct {
	dir    string
	memory int
	put    bool
}

// New makes an overlay in which no file is changed yet. memory is the address
// space of each command in MiB.
func New(memory int) (*Overlay, error) {
	dir, err := os.MkdirTemp("", "overlay")
	return &Overlay{dir: dir, memory: memory}, err
}

// Close removes what the overlay has written.
func (o *Overlay) Close() error { return os.RemoveAll(o.dir) }

// Path is where a file of this name may be written, beside the overlay.
func (o *Overlay) Path(name string) string { return filepath.Join(o.dir, name) }

// Put gives files, by their path relative to the working folder, another text, and
// every other file its own. A file may be a new one.
func (o *Overlay) Put(files map[string][]byte) error {
	replace := map[string]string{}
	for file, text := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		changed := o.Path(fmt.Sprintf("changed%d.go", len(replace)))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			return err
		}
		replace[path] = changed
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return err
	}
	o.put = true
	return os.WriteFile(o.Path("overlay.json"), data, 0o600)
}

// Run runs a command that sees the overlay, as do the go commands below it, and
// returns what it prints. A changed program may allocate without end, and leave
// processes behind, so its memory is limited and they are ended.
func (o *Overlay) Run(ctx context.Context, args ...string) ([]byte, error) {
	return o.RunIn(ctx, "", args...)
}

// RunIn is Run in a folder.
func (o *Overlay) RunIn(ctx context.Context, dir string, args ...string) ([]byte, error) {
	limit := fmt.Sprintf(`ulimit -v %d && exec "$@"`, o.memory<<10)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limit, "sh"}, args...)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	cmd.WaitDelay = 10 * time.Second
	if o.put {
		cmd.Env = append(cmd.Environ(), "RAPID_SHRINKTIME=100ms", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+o.Path("overlay.json")))
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = kill() // most often nothing is left
	}
	return out, err
}
