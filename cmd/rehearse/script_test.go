// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/harness/run"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	run.Child()
	commands := map[string]func(){"rehearse": main, "hostile-mcp": hostileServer, "proxy-client": proxyClient}
	if _, err := exec.LookPath("curl"); err != nil || filepath.Base(os.Args[0]) == "curl" { // missing, or we are it
		commands["curl"] = curl
	}
	testscript.Main(m, commands)
}

func TestScript(t *testing.T) {
	suites, err := filepath.Abs("../../scenarios/suites")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SUITES", suites)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code,
			"mask": mask,
		},
	})
}

// code runs `rehearse` and wants an exit code: code 2 rehearse check x.yaml.
// It leaves the output in the files stdout.txt and stderr.txt.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{}
	for _, name := range []string{"PATH", "HOME", "SUITES", "NO_COLOR", "GOCOVERDIR", "TMPDIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code says it all
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(stdout.String()), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(stderr.String()), 0o666))
	if got := cmd.ProcessState.String(); got != "exit status "+args[0] {
		ts.Fatalf("%v: %s, want exit status %s\n%s%s", args[1:], got, args[0], stdout.String(), stderr.String())
	}
}

// volatile is what differs from run to run: times, folders and durations.
var volatile = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-`), "TIME-"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ns|µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
}

// mask replaces what is volatile in a file.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	text := ts.ReadFile(args[0])
	for _, v := range volatile {
		text = v.re.ReplaceAllString(text, v.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}
