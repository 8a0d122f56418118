// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/run"
)

// fakeT writes down what a test prints.
type fakeT struct {
	ctx   context.Context
	name  string
	out   *strings.Builder
	state string
}

func (t *fakeT) Helper()                  {}
func (t *fakeT) Parallel()                {}
func (t *fakeT) Context() context.Context { return t.ctx }

func (t *fakeT) Run(name string, f func(run.Tester)) {
	sub := &fakeT{ctx: t.ctx, name: t.name + "/" + name, out: t.out, state: "PASS"}
	f(sub)
	fmt.Fprintf(t.out, "--- %s: %s\n", sub.state, sub.name)
}

func (t *fakeT) print(state, format string, args ...any) {
	if state != "" {
		t.state = state
	}
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n        ")
	fmt.Fprintf(t.out, "    %s\n", text)
}

func (t *fakeT) Errorf(format string, args ...any) { t.print("FAIL", format, args...) }
func (t *fakeT) Fatalf(format string, args ...any) { t.print("FAIL", format, args...) }
func (t *fakeT) Skipf(format string, args ...any)  { t.print("SKIP", format, args...) }
func (t *fakeT) Logf(format string, args ...any)   { t.print("", format, args...) }

// TestFailingOutput shows what somebody sees whose test fails.
func TestFailingOutput(t *testing.T) {
	var out strings.Builder
	ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: &out}
	run.RunTest(ft, filepath.FromSlash("testdata/failing"), &run.Options{Subject: loop{}})
	golden(t, "testdata/failing.golden", out.String())
}

func TestTestFatal(t *testing.T) {
	tests := []struct{ name, path, want string }{
		{"no such path", "testdata/nowhere", "nowhere"},
		{"no scenario", "testdata/weather.yaml", "no scenario in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			run.RunTest(&fakeT{ctx: t.Context(), out: &out}, tt.path, &run.Options{Subject: loop{}})
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("printed %q, want %q in it", out.String(), tt.want)
			}
		})
	}
}

// TestFailing fails on a T that is not real; when TestFailureNamesTheCaller asks
// for it, on the real one.
func TestFailing(t *testing.T) {
	opts := &run.Options{Subject: loop{}}
	if os.Getenv("RUN_TEST_FAILING") != "" {
		run.Test(t, "testdata/failing", opts)
		return
	}
	var out strings.Builder
	run.RunTest(&fakeT{ctx: t.Context(), out: &out}, "testdata/failing", opts)
	if want := "testdata/failing/miss.yaml:4:5: miss: "; !strings.Contains(out.String(), want) {
		t.Errorf("printed %q, want %q in it", out.String(), want)
	}
}

// TestFailureNamesTheCaller holds that the line that go test prints before a
// failure is one of the caller's files, not one of ours.
func TestFailureNamesTheCaller(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFailing$")
	cmd.Env = append(os.Environ(), "RUN_TEST_FAILING=1")
	out, err := cmd.Output()
	if err == nil {
		t.Error("the failing test passed")
	}
	for _, want := range []string{
		`(?m)^ +test_test.go:\d+: testdata/failing/arguments.yaml:13:45: calls:$`,
		`(?m)^ +test_test.go:\d+: testdata/failing/miss.yaml:4:5: miss: `,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no line like %s in\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte(" test.go:")) {
		t.Errorf("a line of the package itself is blamed:\n%s", out)
	}
}

// TestWarnings holds that what is doubtful in a file is logged, once, and
// fails nothing.
func TestWarnings(t *testing.T) {
	name := write(t, `
scenario: doubtful
servers: {WEATHER}
turns:
  - user: hi
    replies: [{say: hello}]
    expect: [{never: [weather.no_such_tool]}]
`)[0].Pos.File
	var out strings.Builder
	run.RunTest(&fakeT{ctx: t.Context(), name: "TestAgent", out: &out}, name, &run.Options{Subject: loop{}})
	want := "    " + name + `:6:23: warning: no tool is named "weather.no_such_tool"`
	if !strings.HasPrefix(out.String(), want) || !strings.HasSuffix(out.String(), "--- PASS: TestAgent/doubtful\n") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("printed\n%swant it to begin with\n%s", out.String(), want)
	}
}

// TestWithTesting runs the real thing.
func TestWithTesting(t *testing.T) {
	run.Test(t, "testdata/two", &run.Options{Subject: loop{}, Parallel: 2})
}
