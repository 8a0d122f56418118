// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCassetteScan finds a key in a file, names the place, and does not print
// the key.
func TestCassetteScan(t *testing.T) {
	secret := "sk-" + "proj-" + strings.Repeat("Zq7Xv2Lm9Rt4", 4)
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("a: 1\nnote: "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	p := &process{
		args: []string{"cassette", "scan", path}, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		getenv: func(string) (string, bool) { return "", false },
	}
	if code := command(context.Background(), p); code != exitFailed {
		t.Errorf("exit %d, want %d: %s", code, exitFailed, stderr.String())
	}
	if !strings.HasPrefix(stdout.String(), path+":2: ") || strings.Contains(stdout.String(), secret) {
		t.Errorf("got %q", stdout.String())
	}
}
