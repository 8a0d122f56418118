// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/recfile/recfiletest"
)

// TestCommitNotWritten: where what is to be done cannot be written down, nothing of it
// is done, and that is told.
func TestCommitNotWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	r, err := Open(path, &Options{Mode: Record, Whole: true, Upstream: fixed{}, LookupEnv: noCI})
	if err != nil {
		t.Fatal(err)
	}
	asks(t, r, "a")
	if err := os.WriteFile(filepath.Join(dir, "tape.part"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.journal.lines.File = &recfiletest.FullOnce{File: r.journal.file}
	err = r.CloseWith([]Rename{{filepath.Join(dir, "tape.part"), filepath.Join(dir, "tape")}}, false)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("closing: %v", err)
	}
	for name, there := range map[string]bool{"a.yaml": false, "tape": false, "tape.part": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v, want it there: %t", name, err, there)
		}
	}
}

// TestNothingRecorded: a recording of nothing says so, and leaves nothing.
func TestNothingRecorded(t *testing.T) {
	dir := t.TempDir()
	var said string
	r, err := Open(filepath.Join(dir, "a.yaml"), &Options{Mode: Record, Upstream: fixed{}, LookupEnv: noCI, Logf: func(format string, args ...any) { said += fmt.Sprintf(format, args...) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || !strings.Contains(said, "nothing was recorded, so nothing is written") {
		t.Errorf("%v, %v; said %q", left, err, said)
	}
}
