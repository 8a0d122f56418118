// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "read" { // the process that is compared with
		if err := readAll(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestBench measures small runs, and says of a browser and of peers that are not
// there that they are not.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "./cmd/rehearse")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var out bytes.Buffer
	err := bench(t.Context(), []string{
		"-rehearse", filepath.Join(dir, "rehearse"), "-trials", "30", "-records", "60", "-rounds", "1",
		"-chromium", filepath.Join(dir, "none"), "-peers", dir,
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"page of 30 trials", "summary of 60 records", "size of the page: ", "not measured: there is no ", "rehearse", "promptfoo  not installed: make bench-peers", "inspect_ai  not installed: make bench-peers",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not have %q:\n%s", want, &out)
		}
	}
}
