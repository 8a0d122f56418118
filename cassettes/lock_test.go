// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cassettes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/internal/vcr"
)

// TestTwoRecorders: who comes second is refused, and takes nothing from the
// first.
func TestTwoRecorders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	first := open(t, path, cassettes.Options{Mode: cassettes.Record, Upstream: echo()})
	want(t, first, `1`, `{"n":1,"asked":"1"}`)
	for _, mode := range []cassettes.Mode{cassettes.Record, cassettes.RecordNew} {
		_, err := cassettes.Open(path, &cassettes.Options{Mode: mode, LookupEnv: noCI})
		if err == nil || !strings.Contains(err.Error(), "is being recorded by another process") {
			t.Errorf("mode %s: got %v", mode, err)
		}
	}
	beside := open(t, path, cassettes.Options{AllowUnused: true})
	if notes := beside.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "is being recorded by another process; exchanges so far: 1") {
		t.Errorf("notes without a file: %q", notes)
	}
	if err := first.Close(); err != nil {
		t.Errorf("the first: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files: %q", left)
	}
	next := open(t, path, cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo()})
	want(t, next, `2`, `{"n":1,"asked":"2"}`)
	beside = open(t, path, cassettes.Options{AllowUnused: true})
	if notes := beside.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "is being recorded by another process; these") {
		t.Errorf("notes beside a file: %q", notes)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if f, err := vcr.Read(path); err != nil || len(f.Interactions) != 2 {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestTwoNames: a recording is of a file, whatever links lead to it.
func TestTwoNames(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")
	for _, there := range []bool{false, true} {
		if !there {
			if err := os.Symlink("a.yaml", link); err != nil {
				t.Fatal(err)
			}
		}
		first := open(t, link, cassettes.Options{Mode: cassettes.RecordNew, Upstream: echo()})
		want(t, first, fmt.Sprint(there), fmt.Sprintf(`{"n":1,"asked":"%v"}`, there))
		if _, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, LookupEnv: noCI}); err == nil || !strings.Contains(err.Error(), "is being recorded by another process") {
			t.Errorf("the file is there: %v; got %v", there, err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v", err)
		}
	}
	if f, err := vcr.Read(path); err != nil || len(f.Interactions) != 2 {
		t.Errorf("got %+v, %v", f, err)
	}
}

// TestWholeIsLocked: a recording that is of use only as a whole keeps others
// away too.
func TestWholeIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	first := open(t, path, cassettes.Options{Mode: cassettes.Record, Whole: true, Upstream: echo()})
	if _, err := cassettes.Open(path, &cassettes.Options{Mode: cassettes.Record, Whole: true, LookupEnv: noCI}); err == nil || !strings.Contains(err.Error(), "is being recorded by another process") {
		t.Errorf("got %v", err)
	}
	if err := first.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 0 {
		t.Errorf("files: %q", left)
	}
}
