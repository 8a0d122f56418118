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
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// fakeT writes down what a test prints.
type fakeT struct {
	ctx   context.Context
	name  string
	out   *strings.Builder
	state string
	ends  []func()
	only  string // the subtest that is played; all when empty
}

func (t *fakeT) Helper()                  {}
func (t *fakeT) Name() string             { return t.name }
func (t *fakeT) Parallel()                {}
func (t *fakeT) Context() context.Context { return t.ctx }
func (t *fakeT) Cleanup(f func())         { t.ends = append(t.ends, f) }

// end is the end of the test.
func (t *fakeT) end() {
	for _, f := range t.ends {
		f()
	}
}

func (t *fakeT) Run(name string, f func(run.Tester)) {
	if t.only != "" && t.only != name {
		return
	}
	sub := &fakeT{ctx: t.ctx, name: t.name + "/" + name, out: t.out, state: "PASS"}
	f(sub)
	sub.end()
	if sub.state == "FAIL" {
		t.state = sub.state
	}
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
		{"no scenario", "testdata/weather.yaml", "it contains no scenario"},
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
	want := "    " + name + `:6:23: warning: no tool has the name "weather.no_such_tool"`
	if !strings.HasPrefix(out.String(), want) || !strings.HasSuffix(out.String(), "--- PASS: TestAgent/doubtful\n") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("printed\n%swant it to begin with\n%s", out.String(), want)
	}
}

// TestWarningsOfWhatIsPlayed: a scenario that is not played is not warned of,
// and a file that several of them use is warned of once.
func TestWarningsOfWhatIsPlayed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"server.yaml": "server: kit\ntools:\n  - name: note\n    input: {type: object, properties: {}}\n    results: [{when: 1 > 2, text: x}, {text: kept}]\n",
		"a.yaml":      "scenario: a\nservers: {kit: {mock: server.yaml}}\nturns: [{user: hi, replies: [{say: hello}], expect: [{never: [kit.no_such]}]}]\n",
		"b.yaml":      "scenario: b\nservers: {kit: {mock: server.yaml}}\nturns: [{user: hi, replies: [{say: hello}], expect: [{never: [kit.nor_this]}]}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ only, a, b string }{{"", "1", "1"}, {"a", "1", "0"}, {"b", "0", "1"}} {
		var out strings.Builder
		run.RunTest(&fakeT{ctx: t.Context(), out: &out, only: tt.only}, dir, &run.Options{Subject: loop{}})
		for what, want := range map[string]string{"kit.no_such": tt.a, "kit.nor_this": tt.b, "it never holds": "1"} {
			if got := fmt.Sprint(strings.Count(out.String(), what)); got != want {
				t.Errorf("only %q: warned %s times of %s, want %s:\n%s", tt.only, got, what, want, out.String())
			}
		}
	}
}

// TestNoWarningOfStreams: whether somebody's own client streams is not known,
// whatever the scenario says.
func TestNoWarningOfStreams(t *testing.T) {
	for _, settings := range []string{"{stream: true, faults: [{kind: sse_for_plain}]}", "{stream: false, faults: [{kind: index_zero}]}"} {
		name := write(t, `
scenario: streams
servers: {WEATHER}
model: `+settings+`
turns:
  - user: hi
    replies: [{calls: [{weather.get_weather: {location: Paris}}]}, {say: hello}]
    expect: [{calls: [weather.get_weather]}]
`)[0].Pos.File
		var out strings.Builder
		run.RunTest(&fakeT{ctx: t.Context(), out: &out}, name, &run.Options{Subject: loop{}})
		if strings.Contains(out.String(), "never strikes") {
			t.Errorf("%s: printed\n%s", settings, out.String())
		}
	}
}

// TestOneFolder: all subtests write one run folder, with the reports, which its
// owner alone can read.
func TestOneFolder(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	ft := &fakeT{ctx: t.Context(), name: "TestAgent", out: &out}
	run.RunTest(ft, "testdata/failing", &run.Options{Subject: loop{}, Parallel: 2, Out: dir, Name: "mine", Trials: 2})
	ft.end()
	found, err := filepath.Glob(filepath.Join(dir, "*-mine", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range found {
		names = append(names, filepath.Base(name))
	}
	want := "junit.xml report.html run.json summary.md transcripts trials.jsonl"
	if got := strings.Join(names, " "); got != want {
		t.Fatalf("the folder has %s, want %s", got, want)
	}
	for _, name := range append(found, filepath.Dir(found[0])) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has %v; want it for its owner alone", name, info.Mode())
		}
	}
	if page := "    report: " + found[1] + "\n"; !strings.HasSuffix(out.String(), page) {
		t.Errorf("printed\n%swant it to end with\n%s", out.String(), page)
	}
	manifest, err := trials.ReadManifest(filepath.Dir(found[0]))
	if err != nil {
		t.Fatal(err)
	}
	records, err := trials.ReadFile(filepath.Join(filepath.Dir(found[0]), trials.RecordsFile))
	if err != nil || manifest.Planned != len(records) || len(manifest.Scenarios)*2 != len(records) || len(records) != 8 || len(manifest.Models) != 1 || manifest.Finished.IsZero() {
		t.Errorf("%d records, %v, of a run with %+v", len(records), err, manifest)
	}
}

// TestNoFolder: where no subtest is asked for there is nothing to report.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	ft := &fakeT{ctx: t.Context(), out: &out, only: "none of them"}
	run.RunTest(ft, "testdata/failing", &run.Options{Subject: loop{}, Out: dir})
	ft.end()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || out.String() != "" {
		t.Errorf("left %v, %v, printed %q", left, err, out.String())
	}
}

// TestTags: a subtest for each scenario that the tags select.
func TestTags(t *testing.T) {
	dir := t.TempDir()
	for name, tags := range map[string]string{"a": "[smoke]", "b": "[smoke, slow]", "c": "[]"} {
		text := "scenario: " + name + "\ntags: " + tags + "\nturns: [{user: hi, replies: [{say: hello}], expect: [{answer: {equals: hello}}]}]\n"
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		tags []string
		want string
	}{
		{nil, "--- PASS: /a\n--- PASS: /b\n--- PASS: /c\n"},
		{[]string{"smoke", "!slow"}, "--- PASS: /a\n"},
		{[]string{"fast"}, "    " + dir + ": no scenario has the tag \"fast\"; the tags are slow, smoke\n"},
	} {
		var out strings.Builder
		run.RunTest(&fakeT{ctx: t.Context(), out: &out}, dir, &run.Options{Subject: loop{}, Tags: tt.tags})
		if out.String() != tt.want {
			t.Errorf("%q: printed\n%swant\n%s", tt.tags, out.String(), tt.want)
		}
	}
}

// TestAttemptsInOrder: the trials of a scenario are told of in their order,
// whichever ended first, and each says which it is.
func TestAttemptsInOrder(t *testing.T) {
	name := write(t, `
scenario: three
turns: [{user: hi, replies: [{say: hello}], expect: [{answer: {equals: bye}}]}]
`)[0].Pos.File
	var out strings.Builder
	run.RunTest(&fakeT{ctx: t.Context(), out: &out}, name, &run.Options{Subject: loop{}, Trials: 30, Parallel: 8})
	var want []string
	for n := range 30 {
		want = append(want, fmt.Sprintf("attempt %d of 30: ", n+1))
	}
	got := regexp.MustCompile(`attempt \d+ of 30: `).FindAllString(out.String(), -1)
	if strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("printed\n%s", out.String())
	}
}

// TestWithTesting runs the real thing.
func TestWithTesting(t *testing.T) {
	run.Test(t, "testdata/two", &run.Options{Subject: loop{}, Parallel: 2})
}
