// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/gate"
)

// TestHostileFiles reads below a folder and nowhere else.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	write("in/a.txt")
	write("in/sub/b.txt")
	write("secret.txt")
	write("inside.txt") // a name that begins like the folder's
	link("a.txt", "in/near")
	link(filepath.Join(dir, "in/sub"), "in/whole")
	link("../secret.txt", "in/out")
	link("..", "in/up")
	link("../nothing.txt", "in/dangling")
	link("in", "again")
	in := filepath.Join(dir, "in")
	for name, want := range map[string]string{
		"in/a.txt": "in/a.txt", "in/sub/b.txt": "in/sub/b.txt", "in/near": "in/a.txt", "in/whole/b.txt": "in/sub/b.txt", "again/a.txt": "in/a.txt", "in/up/in/a.txt": "in/a.txt",
		"secret.txt": "", "inside.txt": "", "in/out": "", "in/up/secret.txt": "", "in/dangling": "", "in/up/nothing.txt": "", "nothing/at/all": "",
	} {
		root, found, err := gate.Below(in, filepath.Join(dir, name))
		if want == "" {
			if err != gate.ErrOutside {
				t.Errorf("%s: %q, %v; want ErrOutside", name, found, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if data, err := gate.ReadBelow(root, found, 1000); string(data) != want {
			t.Errorf("%s: %q, %v; want %q", name, data, err, want)
		}
	}
	if _, _, err := gate.Below(in, filepath.Join(in, "not", "there")); err != nil {
		t.Errorf("a file that is not there yet: %v", err)
	}
	// A link that has changed after it was looked at.
	if data, err := gate.ReadBelow(in, "out", 1000); err == nil {
		t.Errorf("a link leads out to %q", data)
	}
	if data, err := gate.ReadBelow(in, "sub", 1000); err == nil {
		t.Errorf("a folder is read as %q", data)
	}
	if data, err := gate.ReadBelow(in, "a.txt", 2); string(data) != "in" || err != nil {
		t.Errorf("two bytes are %q, %v", data, err)
	}
}
