// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/samplerun"
)

// TestReportInABrowser reads reports as a person does: every view at two widths,
// light and dark, by keys and by clicks, with and without a script. Nothing is
// said on the console, nothing is asked of the network, axe finds nothing
// serious, and no text acts.
func TestReportInABrowser(t *testing.T) {
	tests := []struct {
		name string
		runs []*samplerun.Options
	}{
		{"rich", []*samplerun.Options{nil}},
		{"hostile", []*samplerun.Options{{Scenarios: 20, Attempts: 2, Hostile: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var folders []string
			for i, o := range tt.runs {
				folder := filepath.Join(dir, string(rune('a'+i)))
				if err := samplerun.Write(folder, o); err != nil {
					t.Fatal(err)
				}
				folders = append(folders, folder)
			}
			page := filepath.Join(dir, "report.html")
			args := append([]string{"report"}, folders...)
			if len(folders) == 2 {
				args[0] = "compare"
			}
			out, err := command(t, binary, append(args, "--html", page)...).CombinedOutput()
			if err != nil && len(folders) == 2 { // report exits with the code of the run
				t.Fatalf("rehearse %s: %v\n%s", args[0], err, out)
			}
			got, err := command(t, node, "clients/report.mjs", page, tt.name).Output()
			if err != nil {
				t.Fatalf("report.mjs: %v\n%s", err, got)
			}
			var wrong []string
			if err := json.Unmarshal(got, &wrong); err != nil {
				t.Fatalf("report.mjs wrote %q: %v", got, err)
			}
			for _, w := range wrong {
				t.Error(w)
			}
		})
	}
}
