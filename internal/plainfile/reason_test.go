// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package plainfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/plainfile"
)

// TestReplaceNamesTheFile: a message is about the file that was asked for, and not
// about the one beside it.
func TestReplaceNamesTheFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "none", "a.yaml")
	for _, path := range []string{missing, folder} {
		err := plainfile.ReplaceBytes(path, 0o600, []byte("x"))
		if err == nil || strings.Contains(err.Error(), ".tmp") || !strings.HasPrefix(err.Error(), `writing "`+path+`": `) {
			t.Errorf("error %v", err)
		}
		if path == missing && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v is not that there is no folder", err)
		}
	}
}
