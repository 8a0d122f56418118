// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rehearse-dev/rehearse/scenarios"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens and the reference page")

// TestBroken compares the whole list of messages of every broken file.
func TestBroken(t *testing.T) {
	for _, path := range []string{"testdata/broken.txtar", "testdata/broken-mcp.txtar"} {
		golden(t, path, func(t *testing.T, dir string) string {
			set, err := scenarios.Load([]string{dir}, noEnv())
			return lines(err) + strings.Join(set.Notes, "\n")
		})
	}
}

// TestCheck compares what check says of files that load.
func TestCheck(t *testing.T) {
	for _, path := range []string{"testdata/check.txtar", "testdata/check-mcp.txtar"} {
		golden(t, path, func(t *testing.T, dir string) string {
			set, err := scenarios.Load([]string{dir}, noEnv())
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, p := range set.Check() {
				fmt.Fprintln(&b, p)
			}
			return b.String()
		})
	}
}

func noEnv() *scenarios.Options {
	return &scenarios.Options{LookupEnv: func(name string) (string, bool) {
		return "/home/me", name == "HOME"
	}}
}

func lines(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

// golden runs a function over each case of an archive, a folder of files with
// a file want, and compares what it returns.
func golden(t *testing.T, path string, run func(t *testing.T, dir string) string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for i := range archive.Files {
		f := &archive.Files[i]
		name, file, _ := strings.Cut(f.Name, "/")
		if dir == "" {
			dir = t.TempDir()
		}
		if file != "want" {
			if err := os.WriteFile(filepath.Join(dir, file), f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		here := dir
		dir = ""
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(filepath.ToSlash(run(t, here)), filepath.ToSlash(here)+"/", "")
			if *update {
				f.Data = []byte(got)
				return
			}
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n" // as an archive has it
			}
			if diff := cmp.Diff(string(f.Data), got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
