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
	"os/signal"
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
	// maxMemoryOfFile is what checking or playing a file may take.
	maxMemoryOfFile = 500_000_000
	// secret is the API key, which no file and no output may show.
	secret = "sk-hostile-0123456789"
)

// built builds the command once, without the race detector: its memory is
// measured. It stands beside the programs of the scripts, and goes with them.
var built = sync.OnceValues(func() (string, error) {
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
	name, err := built()
	if err != nil {
		t.Fatalf("building the command: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "OPENAI_API_KEY=" + secret}
	if _, err := os.Stat(filepath.Join(dir, ".env")); err == nil { // which has it
		cmd.Env = cmd.Env[:3]
	}
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
	e.within(t, maxMemory)
}

// within checks the memory that the program took.
func (e leftover) within(t *testing.T, most int64) {
	t.Helper()
	// The kernel counts for a new process what its parent had when it was
	// started: less than that says nothing about the program.
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	if e.peak > most && e.peak > own.Maxrss<<10 {
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
func (e leftover) wants(t *testing.T, cause trials.CauseKind, says ...string) (trials.Record, trials.Detail) {
	t.Helper()
	rec, detail := e.trial(t)
	outcome, code := harness.OutcomeFailed, exitFailed
	switch cause {
	case "":
		outcome, code = harness.OutcomePassed, exitPassed
	case trials.CauseEndpoint:
		outcome, code = harness.OutcomeError, exitUnjudged
	}
	var got trials.Cause
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

// TestHostileDaemons has servers that leave a process in a session of its own:
// the run does not wait for it, and it does not outlive the run.
func TestHostileDaemons(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a server left behind")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	for _, mode := range []string{"daemon", "daemon that lets go", "daemon without environment"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lines := newLifelines(t)
			lines.scenario(t, dir, mode)
			e := rehearse(t, dir, "run", "s.yaml", "--out", "out")
			lines.ended(t, 4) // two sessions, each with a server and a daemon
			e.wants(t, "")
		})
	}
}

// TestHostileImpatience interrupts a run again and again while it waits for a
// server to start that heeds nothing: no server is left.
func TestHostileImpatience(t *testing.T) {
	t.Parallel()
	heardInterrupts(t)
	dir := t.TempDir()
	lines := newLifelines(t)
	lines.scenario(t, dir, "mute")
	cmd, wait := start(t, dir, "run", "s.yaml", "--out", "out")
	lines.wait(t)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cmd.Stderr.(*watched).seen("interrupt again"):
	case <-time.After(tooLong):
		t.Fatal("there is no word about a second interrupt")
	}
	for range 20 { // of which at least one comes to it before the others
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			break // it has ended
		}
	}
	e := wait(t)
	lines.ended(t, 1)
	if e.code != int(exitUnjudged) && e.code != int(exitKilled) {
		t.Errorf("exit code %d, want %d or %d\n%s%s", e.code, exitUnjudged, exitKilled, e.stdout, e.stderr)
	}
}

// heardInterrupts has children of ours hear an interrupt also where we were
// started in the background, to ignore it.
func heardInterrupts(t *testing.T) {
	t.Helper()
	all := make(chan os.Signal, 1)
	signal.Notify(all, os.Interrupt)
	t.Cleanup(func() { signal.Stop(all) })
}
