// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// What rehearse makes of peers and files that mean it no good is tested on
// the program itself: a process of its own has memory to measure, signals to
// get, children to leave behind, and live mode, which a test binary has not.
// What needs none of that runs in this process, with the race detector.

const (
	// tooLong bounds every wait of these tests. Nothing waits that long unless
	// it hangs.
	tooLong = time.Minute
	// maxMemory is what a run may take, whatever a peer sends.
	maxMemory = 1 << 30
	// secret is the API key, which no file and no output may show.
	secret = "sk-hostile-0123456789"
)

// program builds the command once, without the race detector: its memory is
// measured. It stands beside the programs of the scripts, and goes with them.
var program = sync.OnceValues(func() (string, error) {
	beside, err := exec.LookPath("rehearse")
	if err != nil {
		return "", err
	}
	name := filepath.Join(filepath.Dir(beside), "rehearse-plain")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", name, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return name, nil
})

// leftover is what a run left.
type leftover struct {
	code           int
	stdout, stderr string
	peak           int64 // bytes of memory; 0 where that is not known
	took           time.Duration
	dir            string // the run folder, if there is one
}

// watched is an output that can be waited for.
type watched struct {
	mu   sync.Mutex // guards all below
	buf  bytes.Buffer
	want string
	done chan struct{} // closed when want has been written
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	w.look()
	return len(p), nil
}

func (w *watched) look() {
	if w.done != nil && strings.Contains(w.buf.String(), w.want) {
		close(w.done)
		w.done = nil
	}
}

// seen returns a channel that is closed when a text has been written.
func (w *watched) seen(text string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := make(chan struct{})
	w.want, w.done = text, done
	w.look()
	return done
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// start starts the program in dir, which is the parent of the run folder's.
func start(t *testing.T, dir string, args ...string) (*exec.Cmd, func(*testing.T) leftover) {
	t.Helper()
	cmd, wait := prepare(t, dir, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, wait
}

// prepare is [start] without starting.
func prepare(t *testing.T, dir string, args ...string) (*exec.Cmd, func(*testing.T) leftover) {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatalf("building the command: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "OPENAI_API_KEY=" + secret}
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	return cmd, func(t *testing.T) leftover {
		t.Helper()
		_ = cmd.Wait() // the exit code says it all
		e := leftover{
			code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(),
			took: time.Since(begin), dir: runFolder(dir),
		}
		if ctx.Err() != nil {
			t.Fatalf("rehearse %s hangs\n%s%s", strings.Join(args, " "), cut(e.stdout), cut(e.stderr))
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
			e.peak = usage.Maxrss << 10
		}
		return e
	}
}

// rehearse runs the program to its end, and checks what holds for every end.
func rehearse(t *testing.T, dir string, args ...string) leftover {
	t.Helper()
	_, wait := start(t, dir, args...)
	e := wait(t)
	e.check(t)
	e.bounded(t)
	return e
}

// bounded checks what the program took.
func (e leftover) bounded(t *testing.T) {
	t.Helper()
	t.Logf("%d MB, %s", e.peak>>20, e.took.Round(time.Millisecond))
	// The kernel counts for a new process what its parent had when it was
	// started: less than that says nothing about the program.
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	if e.peak > maxMemory && e.peak > own.Maxrss<<10 {
		t.Errorf("took %d MB of memory", e.peak>>20)
	}
}

// inProcess runs the command in this process, and wants no goroutine left.
func inProcess(t *testing.T, dir string, args ...string) leftover {
	t.Helper()
	return interruptible(t, t.Context(), dir, args...)
}

// interruptible is [inProcess] under a context.
func interruptible(t *testing.T, ctx context.Context, dir string, args ...string) leftover {
	t.Helper()
	before := goleak.IgnoreCurrent()
	hang := time.AfterFunc(tooLong, func() { panic(fmt.Sprintf("rehearse %s hangs", strings.Join(args, " "))) })
	defer hang.Stop()
	var stdout, stderr bytes.Buffer
	begin := time.Now()
	code := command(ctx, &process{
		args: args, getenv: func(string) (string, bool) { return "", false },
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
	})
	e := leftover{code: int(code), stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begin), dir: runFolder(dir)}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	e.check(t)
	return e
}

// runFolder is the only one below dir/out.
func runFolder(dir string) string {
	if dirs, _ := filepath.Glob(filepath.Join(dir, "out", "*")); len(dirs) == 1 {
		return dirs[0]
	}
	return ""
}

// check looks at the outputs: no crash, no flood, no key, and a report.
func (e leftover) check(t *testing.T) {
	t.Helper()
	const most = 100_000
	out := e.stdout + e.stderr
	for _, bad := range []string{"panic:", "goroutine ", "fatal error", secret, "\x1b[31m", "HTTP 0"} {
		if strings.Contains(out, bad) {
			t.Errorf("the output has %q:\n%s%s", bad, cut(e.stdout), cut(e.stderr))
		}
	}
	if len(out) > most {
		t.Errorf("the output has %d bytes:\n%s%s", len(out), cut(e.stdout), cut(e.stderr))
	}
	if e.dir == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(e.dir, "report.html")); err != nil {
		t.Error(err)
	}
	err := filepath.WalkDir(e.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s has the API key", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// trial reads the only record of a run with its detail.
func (e leftover) trial(t *testing.T) (trials.Record, trials.Detail) {
	t.Helper()
	records, err := trials.ReadFile(filepath.Join(e.dir, trials.RecordsFile))
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records (%v), want 1\n%s%s", len(records), err, cut(e.stdout), cut(e.stderr))
	}
	detail, err := trials.ReadDetail(e.dir, records[0])
	if err != nil {
		t.Fatal(err)
	}
	return records[0], detail
}

// wants checks outcome, exit code and primary cause. An empty cause is a
// trial that passed.
func (e leftover) wants(t *testing.T, cause harness.CauseKind, says ...string) (trials.Record, trials.Detail) {
	t.Helper()
	rec, detail := e.trial(t)
	outcome, code := harness.OutcomeFailed, exitFailed
	switch cause {
	case "":
		outcome, code = harness.OutcomePassed, exitPassed
	case harness.CauseEndpoint:
		outcome, code = harness.OutcomeError, exitUnjudged
	}
	var got harness.Cause
	if rec.Cause != nil {
		got = *rec.Cause
	}
	if rec.Outcome != outcome || got.Kind != cause || e.code != int(code) {
		t.Errorf("exit code %d, outcome %s, cause %s; want %d, %s, %s\n%s%s", e.code, rec.Outcome, got.Kind, code, outcome, cause, cut(e.stdout), cut(e.stderr))
	}
	for _, want := range says {
		if !strings.Contains(got.Message, want) {
			t.Errorf("the cause is\n%s\nwant it to say %q", cut(got.Message), want)
		}
	}
	return rec, detail
}

// cut is the beginning of a text, for a message.
func cut(s string) string {
	const most = 4000
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestHostileFiles names files that are no scenarios, or too much of one.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	bomb := "scenario: bomb\nturns: [{user: hi, replies: [{say: hi}]}]\nservers:\n  a: {tools: &a [x, x, x, x, x, x, x, x, x, x]}\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("  %c: {tools: &%c [%s*%c]}\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	const ok = "scenario: x\nturns: [{user: hi, replies: [{say: hi}]}]\n"
	var keys strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	tests := []struct{ name, text, want string }{
		{"alias of itself", ok + "servers: &a [*a]\n", "f.yaml:3:14: alias *a stands inside the value it names"},
		{"alias bomb", bomb, "aliases stand for more than 10000 values in this file: write them out, or use fewer"},
		{"50 MB", "scenario: x\ndescription: |\n" + strings.Repeat("  "+kilo("x")+"\n", 50_000), "f.yaml:1:1: the file has more than 8388608 bytes, and no more are read: split it, or keep large texts out of it"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00", "f.yaml:1:1: the file is binary: save it as text in UTF-8"},
		{"UTF-16", "\xff\xfes\x00c\x00", "f.yaml:1:1: the file is UTF-16: save it as text in UTF-8"},
		{"binary in a text", "scenario: x\ndescription: \"a\x00b\"\n", "f.yaml:2:16: control character U+0000: write it as an escape between double quotes"},
		{"deep, open", strings.Repeat("[", 1_000_000), "f.yaml:1:10001: nested far more than 200 deep: is this YAML?"},
		{"deep, open, in a scenario", "scenario: x\nservers: " + strings.Repeat("[", 100_000), "f.yaml:2:10010: nested far more than 200 deep: is this YAML?"},
		{"deep, closed", "scenario: x\nservers: " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), "f.yaml:2:209: nested more than 200 deep: put a part into a text, or leave it out"},
		{"deep dashes", "scenario: x\nservers:\n  " + strings.Repeat("- ", 500_000), "f.yaml:3:20001: nested far more than 200 deep: is this YAML?"},
		{"deep expression", strings.Replace(ok, "say: hi", `say: "{{ `+strings.Repeat("(", 1000)+"1"+strings.Repeat(")", 1000)+` }}"`, 1), "f.yaml:2:"},
		{"long expression", strings.Replace(ok, "say: hi", `say: "{{ `+strings.Repeat("1+", 100_000)+`1 }}"`, 1), "f.yaml:2:"},
		{"long key", ok + `"` + strings.Repeat("k", 1000) + "\": 1\n", "f.yaml:3:1: unknown key"},
		{"many mistakes", ok + keys.String(), "and 1800 more mistakes"},
		{"long wrong value", ok + "limits: {time: " + strings.Repeat("9", 2_000_000) + "}\n", `f.yaml:3:16: "time" wants a duration`},
		{"schema that refers to itself", ok + `servers: {s: {tools: [{name: t, description: d, input: {$ref: "#"}, results: [{text: x}]}]}}` + "\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "f.yaml", tt.text)
			e := rehearse(t, dir, "run", "f.yaml")
			if tt.want == "" {
				return // enough that it ends
			}
			if e.code != int(exitUsage) || !strings.Contains(e.stderr, tt.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", e.code, exitUsage, tt.want, cut(e.stderr))
			}
			if len(e.stderr) > 20_000 {
				t.Errorf("the message has %d bytes", len(e.stderr))
			}
			if e.took > 20*time.Second {
				t.Errorf("took %s", e.took)
			}
		})
	}
}
