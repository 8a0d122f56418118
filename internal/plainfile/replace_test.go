// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// TestReplace writes where something has the name already.
func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		name string
		have func(t *testing.T, path, precious string) error
	}{
		{"nothing", func(*testing.T, string, string) error { return nil }},
		{"a file", func(_ *testing.T, path, _ string) error { return os.WriteFile(path, []byte("old"), 0o600) }},
		{"a link", func(_ *testing.T, path, precious string) error { return os.Symlink(precious, path) }},
		{"a hard link", func(_ *testing.T, path, precious string) error { return os.Link(precious, path) }},
		{"a link to nothing", func(_ *testing.T, path, precious string) error { return os.Symlink(precious+".not", path) }},
		{"a pipe", func(_ *testing.T, path, _ string) error { return syscall.Mkfifo(path, 0o600) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
			path := filepath.Join(dir, "out")
			if err := errors.Join(os.WriteFile(precious, []byte("precious"), 0o600), tt.have(t, path, precious)); err != nil {
				t.Fatal(err)
			}
			if err := plainfile.ReplaceBytes(path, 0o600, []byte("new")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("the file is %v, %v; want a regular one of mode 0600", info, err)
			}
			holds(t, path, "new")
			holds(t, precious, "precious")
			if _, err := os.Lstat(precious + ".not"); err == nil {
				t.Error("a file was made where the link leads")
			}
			only(t, dir, "out")
		})
	}
}

// TestReplaceFails leaves what is there, and nothing else.
func TestReplaceFails(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("broken")
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := plainfile.Replace(path, 0o600, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	holds(t, path, "old")
	only(t, dir, "out")
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(plainfile.MakeFolder(path, 0o700), plainfile.MakeFolder(path, 0o700), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if err := plainfile.MakeFolder(link, 0o700); err == nil {
		t.Error("a link was taken for a folder")
	}
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

func only(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != want {
		t.Errorf("the folder has %v, %v; want %s alone", entries, err, want)
	}
}
