// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formats has the programs that know the schemas of Kubernetes and of GitHub.
const formats = ".venv/formats/bin/"

// TestJobFilesAreValid has the files of `rehearse shard`, and the workflow of
// `rehearse init`, checked against the schemas of those who read them. A file
// with one wrong key must not pass.
func TestJobFilesAreValid(t *testing.T) {
	dir := t.TempDir()
	shard := func(args ...string) string {
		return output(t, binary, append([]string{"shard", "../scenarios/suites/utilities", "--mode", "live"}, args...)...)
	}
	odd := []string{"--model", "argo:gpt-4o", "--model", `b=it's "new"@http://127.0.0.1:8000/v1`, "--threshold", "smoke=0.5", "--run", "a|b: $(c) #", "--trials", "5", "--name", "Night run 1"}
	kubernetes := []string{formats + "kubernetes-validate", "--strict", "--kubernetes-version", "1.37.0"}
	github := []string{formats + "check-jsonschema", "--builtin-schema", "vendor.github-workflows"}
	output(t, binary, "init", filepath.Join(dir, "demo"))
	workflow, err := os.ReadFile(filepath.Join(dir, "demo", ".github", "workflows", "rehearse.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		checker    []string
		spoil      [2]string
	}{
		{"kubernetes", shard("--for", "kubernetes", "--model", "m"), kubernetes, [2]string{"completions:", "completion:"}},
		{"kubernetes, odd words", shard(append(odd, "--for", "kubernetes", "--image", "registry.example/a:1", "--shards", "16")...), kubernetes, [2]string{"backoffLimitPerIndex: 5", "backoffLimitPerIndex: five"}},
		{"github", shard("--for", "github", "--model", "m"), github, [2]string{"runs-on:", "run-on:"}},
		{"github, odd words", shard(append(odd, "--for", "github", "--shards", "16")...), github, [2]string{"uses: actions/checkout", "use: actions/checkout"}},
		{"github, init", string(workflow), github, [2]string{"steps:", "step:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(text string) (string, error) {
				file := filepath.Join(t.TempDir(), "job.yml")
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				out, err := command(t, tt.checker[0], append(tt.checker[1:], file)...).CombinedOutput()
				return string(out), err
			}
			if out, err := check(tt.text); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, tt.text)
			}
			spoilt := strings.Replace(tt.text, tt.spoil[0], tt.spoil[1], 1)
			if spoilt == tt.text {
				t.Fatalf("%q is not in the file:\n%s", tt.spoil[0], tt.text)
			}
			if out, err := check(spoilt); err == nil {
				t.Errorf("the file passes with %q in place of %q:\n%s", tt.spoil[1], tt.spoil[0], out)
			}
		})
	}
}

// TestPBS runs the script of `rehearse shard` as PBS does: once for each index,
// in some other folder than that of the project, to which it must go.
func TestPBS(t *testing.T) {
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "utilities"), os.DirFS("../scenarios/suites/utilities")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(work, "utilities.pbs")
	flags := []string{"utilities", "--trials", "3", "--unmeasured"}
	if err := os.WriteFile(script, []byte(output(t, program, append([]string{"shard", "--for", "pbs", "--shards", "4"}, flags...)...)), 0o644); err != nil {
		t.Fatal(err)
	}
	for index := range 4 {
		cmd := command(t, "bash", script)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
			"PBS_O_WORKDIR="+work, fmt.Sprintf("PBS_ARRAY_INDEX=%d", index), fmt.Sprintf("PBS_JOBID=77[%d].server", index))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("task %d: %v\n%s", index, err, out)
		}
	}
	t.Chdir(work)
	folders, err := filepath.Glob("runs/utilities-77-*-of-4")
	if err != nil || len(folders) != 4 {
		t.Fatalf("want four run folders, found %q (%v)", folders, err)
	}
	output(t, program, append([]string{"merge", "--out", "merged"}, folders...)...)
	output(t, program, append([]string{"run", "--out", "whole"}, flags...)...)
	whole, err := filepath.Glob("whole/*")
	if err != nil || len(whole) != 1 {
		t.Fatalf("want one run in whole, found %q (%v)", whole, err)
	}
	if diff := cmp.Diff(sortedRecords(t, whole[0]), sortedRecords(t, "merged")); diff != "" {
		t.Errorf("trials of one process and of the array (-one +array):\n%s", diff)
	}
}
