// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
)

// TestUnmeasured: two runs leave the same bytes, whatever the order in which
// parallel calls arrive.
func TestUnmeasured(t *testing.T) {
	list := write(t, `
scenario: four at once
servers: {WEATHER}
model: {stream: true, fragments: {seed: 3, unit: byte, max: 5, interleave: true, writes: 7}}
turns:
  - user: Weather?
    replies:
      - calls: [{weather.get_weather: {location: A}}, {weather.get_weather: {location: B}}, {weather.get_weather: {location: C}}, {weather.get_weather: {location: D}}]
        fault: {kind: rate_limit, retry_after: 2s}
      - say: Sunny everywhere.
    expect: [{answer: {contains: Sunny}}]
`)
	folder := func() map[string]string {
		res, err := run.Run(t.Context(), list, &run.Options{Subject: agent.Subject(nil), Out: t.TempDir(), Trials: 3, Unmeasured: true})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		err = filepath.WalkDir(res.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			files[strings.TrimPrefix(path, res.Dir)] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.ExitCode() != 0 || len(files) != 5 {
			t.Fatalf("exit code %d, %d files", res.ExitCode(), len(files))
		}
		return files
	}
	if d := cmp.Diff(folder(), folder()); d != "" {
		t.Errorf("two runs differ:\n%s", d)
	}
}
