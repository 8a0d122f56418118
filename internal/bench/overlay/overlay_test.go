// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

// TestOverlay runs a program with another text, and then as it is.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	program := func(says string) string { return "package main\n\nfunc main() { print(\"" + says + "\") }\n" }
	for name, text := range map[string]string{"main.go": program("as it is"), "go.mod": "module m\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := overlay.New(8192)
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		if got, err := o.Run(t.Context(), "go", "run", "."); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	says("as it is")
	if err := o.Put(map[string][]byte{"main.go": []byte(program("changed"))}); err != nil {
		t.Fatal(err)
	}
	says("changed")
	if text, err := os.ReadFile("main.go"); err != nil || string(text) != program("as it is") {
		t.Errorf("the tree was touched: %q, %v", text, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(o.Path("x"))); !os.IsNotExist(err) {
		t.Errorf("it leaves files behind: %v", err)
	}
}
