// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// TestBeside: what does not get its name stands beside it, and takes the place of
// nothing.
func TestBeside(t *testing.T) {
	for path, want := range map[string]string{
		"x/a.yaml": "x/a.cut.yaml", "a.b.tape": "a.b.cut.tape", "a.yml": "a.yml.cut", "yaml": "yaml.cut", ".yaml": ".cut.yaml",
	} {
		got := recfile.Beside(path, recfile.Cut)
		if got != want {
			t.Errorf("beside %q is %q, want %q", path, got, want)
		}
		if fate := recfile.Fate(got); fate != recfile.Cut {
			t.Errorf("%q tells %q", got, fate)
		}
	}
	for path, want := range map[string]string{
		"a.refused.yaml": "refused", "x/a.refused-12.tape": "refused", "a.cut-2.tape": "cut",
		"refused.yaml": "", "refused/a.yaml": "", "a.yaml": "", "a.refuseds.yaml": "", "cut-2.tape": "", "a.refused.b.yaml": "",
	} {
		if got := recfile.Fate(path); got != want {
			t.Errorf("%q tells %q, want %q", path, got, want)
		}
	}
	for _, name := range []string{"a.yaml", "b"} {
		base := recfile.Beside(filepath.Join(t.TempDir(), name), recfile.Refused)
		for _, want := range []string{"", "-2", "-3"} {
			path, err := recfile.Unused(base)
			if ext := filepath.Ext(name); err != nil || path != strings.TrimSuffix(base, ext)+want+ext {
				t.Fatalf("unused is %q, %v, want %q before the ending", path, err, want)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := recfile.Fate(path); got != recfile.Refused {
				t.Errorf("%q tells %q", path, got)
			}
		}
	}
	if got, err := recfile.Unused(t.TempDir()); err == nil {
		t.Errorf("beside a directory: %q", got)
	}
	if got, err := recfile.Unused(strings.Repeat("long", 2000)); err == nil {
		t.Errorf("a name that is too long is unused: %q", got)
	}
}
