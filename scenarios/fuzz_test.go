// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// FuzzLoad looks for files that break the loader, or that load and then
// break what is made of them.
func FuzzLoad(f *testing.F) {
	for _, path := range []string{"testdata/broken.txtar", "testdata/check.txtar", "testdata/broken-mcp.txtar"} {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".yaml") {
				f.Add(file.Data)
			}
		}
	}
	for _, path := range []string{"spec/build-and-gapfill.yaml", "spec/gemflux.yaml", "spec/weather.yaml", "wire/lab.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", path))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "s.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := scenarios.Load([]string{path}, noEnv())
		set.Check()
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a message")
			}
			return
		}
		for _, s := range set.Scenarios {
			newMock(t, s.ModelScript(), nil).Close()
			for _, server := range s.Servers {
				open(t, server)
			}
		}
		for _, server := range set.Servers {
			open(t, server)
		}
	})
}

// open makes a mock server of a script that was loaded.
func open(t *testing.T, s *scenarios.Server) {
	if s.Mock == nil {
		return
	}
	server, err := mockmcp.New(*s.Mock, nil)
	if err != nil {
		t.Errorf("loaded, and then: %v", err)
		return
	}
	server.Close()
}
