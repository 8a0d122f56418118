// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/yamledit"
)

// TestUpdateLoads: what does not load does not take the place of what does.
func TestUpdateLoads(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.yaml")
	const text = `scenario: s
turns:
  - user: hi
    replies: [{say: Hi.}]
    expect:
      - that: 1 == 2
`
	for with, want := range map[string]int{"1 == 1": 1, "1 == 1e400": 0} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, log strings.Builder
		u := &updater{
			p: &process{stderr: &log, getenv: os.LookupEnv}, out: &out,
			files: map[string]*yamledit.File{}, was: map[string][]byte{}, found: map[harness.Position]*proposal{},
		}
		at := harness.Position{File: name, Line: 6, Col: 9}
		item, err := u.item(at)
		if err != nil {
			t.Fatal(err)
		}
		u.found[at] = &proposal{check: "that", part: yamledit.Get(item, "that"), with: with}
		changed, err := u.write()
		if err != nil || changed != want {
			t.Errorf("%s: %d changed, %v", with, changed, err)
		}
		now, err := os.ReadFile(name)
		if kept := string(now) == text; err != nil || kept != (want == 0) || kept != strings.Contains(log.String(), "nothing is rewritten, since the file would not load then") {
			t.Errorf("%s: %v\n%s%s", with, err, now, log.String())
		}
	}
}

// TestUpdateOfAFileThatIsGone: what cannot be written is an error.
func TestUpdateOfAFileThatIsGone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "s.yaml")
	put(t, dir, "s.yaml", "scenario: s\nturns:\n  - user: hi\n    replies: [{say: Hi.}]\n    expect:\n      - that: 1 == 2\n")
	var out, log strings.Builder
	u := &updater{
		p: &process{stderr: &log, getenv: os.LookupEnv}, out: &out,
		files: map[string]*yamledit.File{}, was: map[string][]byte{}, found: map[harness.Position]*proposal{},
	}
	at := harness.Position{File: name, Line: 6, Col: 9}
	item, err := u.item(at)
	if err != nil {
		t.Fatal(err)
	}
	u.found[at] = &proposal{check: "that", part: yamledit.Get(item, "that"), with: "1 == 1"}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if changed, err := u.write(); !errors.Is(err, fs.ErrNotExist) || changed != 0 || out.Len() > 0 {
		t.Errorf("%d changed, %v; %s", changed, err, out.String())
	}
}
