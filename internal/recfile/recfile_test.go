// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/recfile"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, to := range map[string]string{"one": "two", "two": at("file"), "loop": "loop", "dangling": "not-there"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"file": "file", "one": "file", "dangling": "not-there", "nothing": "nothing"} {
		if got, err := recfile.Resolve(at(name)); err != nil || got != at(want) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	if _, err := recfile.Resolve(at("loop")); err == nil {
		t.Error("a loop ends somewhere")
	}
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if _, err := recfile.Take(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	f, err := recfile.Create(path)
	if err != nil || !recfile.Live(path) || !recfile.Mine(f) {
		t.Fatalf("%v", err)
	}
	if _, err := recfile.Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := recfile.Take(path); !errors.Is(err, recfile.ErrBusy) {
		t.Errorf("taken while it is held: %v", err)
	}
	if err := f.Close(); err != nil || recfile.Live(path) {
		t.Errorf("it is held still: %v", err)
	}
	again, err := recfile.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := recfile.Remove(again); err != nil || recfile.Mine(again) {
		t.Error(err)
	}
}

// TestLockOfAFileThatWentAway: a file that is no longer the one under its name
// is not to be written on.
func TestLockOfAFileThatWentAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // without another under its name, and with one
		if err := recfile.Lock(f); !errors.Is(err, recfile.ErrBusy) {
			t.Errorf("it is locked: %v", err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
