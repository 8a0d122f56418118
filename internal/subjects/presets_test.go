// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

// TestPresets reads each preset as a description; one of a library with a
// command.
func TestPresets(t *testing.T) {
	for _, p := range subjects.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			if p.About == "" || p.Package == "" || p.Version == "" {
				t.Errorf("%+v: want about, package and version", p)
			}
			text := "preset: " + p.Name
			if p.Example != "" {
				text += "\ncommand: [agent, '{prompt}']"
			}
			n, _ := strictyaml.Parse("s.yaml", []byte(text))
			d := subjects.Read(n, subjects.Options{Add: func(at harness.Position, msg string) { t.Errorf("%s: %s", at, msg) }})
			if d == nil || d.Name != p.Name || len(d.Command) == 0 || d.Dialect == "" || len(d.Settings.Extra) > 0 {
				t.Errorf("read as %+v", d)
			}
		})
	}
}
