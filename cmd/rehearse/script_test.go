// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	run.Child()
	commands := map[string]func(){"rehearse": unhurried, "rehearse-patient": patient, "hostile-mcp": hostileServer, "proxy-client": proxyClient, "plain-agent": plainAgent}
	commands["curl"] = curl // one that every machine has
	testscript.Main(m, commands)
}

// unhurried waits a minute for the version of a server, so that what is printed
// does not depend on how fast a machine starts it.
func unhurried() { program(0, time.Minute) }

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
			env.Values[endpoints{}] = map[string]func(){}
			env.Values[collectors{}] = map[string]*collector{}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "namespaces" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return namespaces(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"cat":      concat,
			"code":     code,
			"collect":  collect,
			"endpoint": endpoint,
			"mask":     mask,
			"trials":   writeTrials,
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
	if slices.Contains(args, "live") || slices.Contains(args, "record") { // which a test binary does not have
		path, err = built()
		ts.Check(err)
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{}
	for _, name := range []string{"PATH", "HOME", "SUITES", "NO_COLOR", "GOCOVERDIR", "TMPDIR", "GITHUB_STEP_SUMMARY"} {
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

// endpoints is the key of what ends the endpoints of a script.
type endpoints struct{}

// endpoint serves an llm file to the rest of the script, as a model that is not
// the program's own: endpoint URL models.yaml sets URL to its base URL. With
// ! endpoint URL it is gone.
func endpoint(ts *testscript.TestScript, neg bool, args []string) {
	open := ts.Value(endpoints{}).(map[string]func())
	if neg && len(args) == 1 && open[args[0]] != nil {
		open[args[0]]()
		return
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: endpoint NAME FILE, ! endpoint NAME")
	}
	set, err := scenarios.Load([]string{ts.MkAbs(args[1])}, nil)
	ts.Check(err)
	mock, err := mockllm.New(set.LLMs[0].Script, nil)
	ts.Check(err)
	server := httptest.NewServer(mock)
	open[args[0]] = sync.OnceFunc(func() {
		server.Close()
		mock.Close()
	})
	ts.Defer(open[args[0]])
	ts.Setenv(args[0], server.URL+"/v1")
}

// writeTrials writes the records of a run that was not played: trials TABLE DIR.
// A line of the table is scenario, model, mode, a letter for each attempt
// (p passed, f failed, e error, s skipped) and, where they are not 1, hashes of
// scenario, scorers and tools; critical scenarios end in !.
func writeTrials(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: trials TABLE DIR")
	}
	outcomes := map[rune]harness.Outcome{'p': harness.OutcomePassed, 'f': harness.OutcomeFailed, 'e': harness.OutcomeError, 's': harness.OutcomeSkipped}
	ts.Check(os.MkdirAll(ts.MkAbs(args[1]), 0o777))
	w, err := trials.Append(filepath.Join(ts.MkAbs(args[1]), trials.RecordsFile))
	ts.Check(err)
	defer w.Close()
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		f := strings.Fields(line)
		f = append(f, []string{"1", "1", "1"}[len(f)-4:]...)
		for i, c := range f[3] {
			name, critical := strings.CutSuffix(f[0], "!")
			ts.Check(w.Write(trials.Record{
				Key:      trials.Key{Scenario: name, Model: f[1], Mode: harness.Mode(f[2]), Attempt: i + 1},
				Critical: critical, Hashes: trials.Hashes{Scenario: f[4], Scorers: f[5], Tools: f[6]}, Outcome: outcomes[c],
			}))
		}
	}
}

// concat writes files one after the other into the last: cat A B C.
func concat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: cat FILE... INTO")
	}
	var all string
	for _, name := range args[:len(args)-1] {
		all += ts.ReadFile(name)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[len(args)-1]), []byte(all), 0o666))
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
