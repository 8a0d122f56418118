// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestPrivate: what holds conversations can be read by its owner alone.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions of this kind on Windows")
	}
	dir := t.TempDir()
	rec := record("a", 1, harness.OutcomePassed)
	write(t, filepath.Join(dir, trials.RecordsFile), rec)
	detail, err := trials.WriteDetail(dir, trials.Detail{Key: rec.Key})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{trials.RecordsFile: 0o600, filepath.FromSlash(detail): 0o600, trials.DetailsDir: 0o700} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has %o, want %o", name, got, want)
		}
	}
}
