// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// TestHostileKinds reads anything that is not a regular file.
func TestHostileKinds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("pipe"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", at("zero")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{
		at("pipe"): "it is a pipe, and only regular files are read", at("link"): "a pipe", at("socket"): "a socket",
		at("zero"): "a device", "/dev/zero": "a device", "/dev/tty": "a device", "/dev/random": "a device",
	} {
		for how, read := range map[string]func() error{
			"Read":  func() error { _, err := plainfile.Read(name, 10); return err },
			"Begin": func() error { _, _, err := plainfile.Begin(name, 10); return err },
			"Open":  func() error { _, err := plainfile.Open(name); return err },
		} {
			err := read()
			var path *fs.PathError
			if !errors.Is(err, plainfile.ErrKind) || !errors.As(err, &path) || path.Path != name || !strings.Contains(path.Err.Error(), want) {
				t.Errorf("%s(%s) = %v, want %q", how, name, err, want)
			}
		}
	}
	if _, err := plainfile.Read(dir, 10); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Read(folder) = %v", err)
	}
	if _, err := plainfile.Read(at("none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read(none) = %v", err)
	}
}

func TestReadBoundsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for size, fits := range map[int]bool{0: true, 1: true, 9: true, 10: true, 11: false, 100_000: false} {
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := plainfile.Read(path, 10)
		if fits && (err != nil || !bytes.Equal(got, want)) || !fits && !errors.Is(err, plainfile.ErrSize) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		if got, whole, err := plainfile.Begin(path, 10); err != nil || whole != fits || len(got) != min(size, 10) {
			t.Errorf("%d bytes: Begin() = %d, %v, %v", size, len(got), whole, err)
		}
	}
	// A file of nothing that is far larger than memory.
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 42); err != nil {
		t.Skipf("no such large file here: %v", err)
	}
	if _, err := plainfile.Read(path, 1000); !errors.Is(err, plainfile.ErrSize) {
		t.Errorf("Read() = %v", err)
	}
}
