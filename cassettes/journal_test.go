// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package cassettes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/cassettes/vcr"
)

// FuzzReadJournal reads what a dead process may have left.
func FuzzReadJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.yaml")
	j, err := newJournal(path, nil)
	if err != nil {
		f.Fatal(err)
	}
	for slot := range 2 {
		i := &vcr.Interaction{Request: vcr.Request{Method: "GET", URL: "http://127.0.0.1/"}, Response: vcr.Response{Code: 200, Body: []byte("x\n")}}
		if err := j.add(1-slot, i); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(journalPath(path))
	if err != nil {
		f.Fatal(err)
	}
	if err := j.remove(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(journalPath(path), data, 0o600); err != nil {
			t.Fatal(err)
		}
		left, err := readJournal(path)
		if err != nil || len(left) == 0 {
			return
		}
		again := &vcr.File{Interactions: left}
		if _, err := vcr.Parse("again", again.Encode()); err != nil {
			t.Errorf("what was left cannot be written: %v", err)
		}
	})
}
