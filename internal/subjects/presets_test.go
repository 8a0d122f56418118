// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// TestPresets reads each preset as a description; one of a library with a
// command. Its example is a script of 30 lines at most.
func TestPresets(t *testing.T) {
	for _, p := range subjects.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			if p.About == "" || p.Package == "" || p.Version == "" {
				t.Errorf("%+v: want about, package and version", p)
			}
			text := "preset: " + p.Name
			if p.Example != "" {
				text += "\ncommand: [agent, '{prompt}']"
				data, err := os.ReadFile(filepath.Join("../..", p.Example))
				if n := bytes.Count(data, []byte("\n")); err != nil || n > 30 {
					t.Errorf("%s has %d lines, %v; want 30 at most", p.Example, n, err)
				}
			}
			n, _ := strictyaml.Parse("s.yaml", []byte(text))
			d := subjects.Read(n, subjects.Options{Add: func(at harness.Position, msg string) { t.Errorf("%s: %s", at, msg) }})
			if d == nil || d.Name != p.Name || len(d.Command) == 0 || d.Dialect == "" || len(d.Settings.Extra) > 0 {
				t.Errorf("read as %+v", d)
			}
		})
	}
}
