// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package trials_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestHostileLinks writes into a run folder that somebody has filled with links
// to files that are not the run's.
func TestHostileLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Symlink(precious, at(trials.RecordsFile)), os.Symlink(precious, at(trials.ManifestFile)),
		os.Symlink(precious, at(trials.ManifestFile+".tmp")), os.Symlink(elsewhere, at(trials.DetailsDir)),
	); err != nil {
		t.Fatal(err)
	}
	if w, err := trials.Append(at(trials.RecordsFile)); err == nil {
		w.Close()
		t.Error("records are appended to what a link leads to")
	}
	if err := trials.WriteManifest(dir, trials.Manifest{}); err != nil {
		t.Error(err)
	}
	if _, err := trials.WriteDetail(dir, trials.Detail{}); err == nil {
		t.Error("a detail was written where a link leads")
	}
	entries, err := os.ReadDir(elsewhere)
	if err != nil || len(entries) != 1 {
		t.Errorf("elsewhere has %v, %v", entries, err)
	}
	if got, err := os.ReadFile(precious); err != nil || string(got) != "precious" {
		t.Errorf("the file elsewhere holds %q, %v", got, err)
	}
}
