// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cassettes_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/cassettes/vcr"
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
	if notes := beside.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "is being recorded by another process, and") {
		t.Errorf("notes beside a file: %q", notes)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if f, err := vcr.Read(path); err != nil || len(f.Interactions) != 2 {
		t.Errorf("got %+v, %v", f, err)
	}
}
