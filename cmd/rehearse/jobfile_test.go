// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManyMachines wants docs/many-machines.md to show what `rehearse shard`
// prints. With -update it writes the page.
func TestManyMachines(t *testing.T) {
	const page = "../../docs/many-machines.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	block := regexp.MustCompile("(?s)(```console\n\\$ rehearse (shard [^\n>]*) >.*?\n```\n\n```[a-z]+\n)(.*?)(```\n)")
	now := block.ReplaceAllStringFunc(string(was), func(text string) string {
		shown++
		parts := block.FindStringSubmatch(text)
		var out, stderr bytes.Buffer
		p := &process{args: strings.Fields(parts[2]), getenv: os.LookupEnv, stdin: strings.NewReader(""), stdout: &out, stderr: &stderr}
		if code := command(context.WithoutCancel(t.Context()), p); code != 0 {
			t.Errorf("%s: exit code %d: %s", parts[2], code, stderr.String())
		}
		return parts[1] + out.String() + parts[4]
	})
	if shown != len(jobFiles) {
		t.Errorf("%d job files are shown, want %d", shown, len(jobFiles))
	}
	if *update {
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(now, string(was)); diff != "" {
		t.Errorf("docs/many-machines.md is stale; write it with go test ./cmd/rehearse -run TestManyMachines -update (-want +got):\n%s", diff)
	}
}
