// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the program at once
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "cases: %v\n", err)
		}
		os.Exit(1)
	}
}

// job is what the flags and the environment ask for.
type job struct {
	cases    string // folder of the inputs, as they are
	copy     string // where they are played
	binary   string
	root     string // of the repository
	excused  string
	jobs     int
	patterns []string // of folders; none is all
	verbose  bool
	out      io.Writer
}

// notPlayed are folders that have no checks, and why.
func notPlayed() map[string]string {
	return map[string]string{
		"A00-small": "inputs without a verdict",
		"hostile":   "what is hostile or unlucky is played by the tests of its own",
		"lib":       "what the others use",
	}
}

// driver plays a folder that cannot start itself, and returns its checks.
type driver func(ctx context.Context, j *job, dir string) ([]line, error)

func drivers() map[string]driver {
	return map[string]driver{"clients": playClients, "go-agent": playGoAgent}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	j := &job{out: out}
	f := flag.NewFlagSet("cases", flag.ContinueOnError)
	f.StringVar(&j.cases, "cases", os.Getenv("REHEARSE_CASES"), "folder of the inputs (default $REHEARSE_CASES)")
	f.StringVar(&j.binary, "rehearse", "bin/rehearse", "binary to play them against")
	f.StringVar(&j.root, "root", ".", "root of the repository")
	f.StringVar(&j.excused, "excused", "interop/cases/excused.txt", "file of excuses")
	f.IntVar(&j.jobs, "jobs", 2, "folders to play at once")
	f.BoolVar(&j.verbose, "v", false, "print the checks that pass, too")
	if err := f.Parse(args); err != nil {
		return err
	}
	j.patterns = f.Args()
	if j.cases == "" {
		return errors.New("REHEARSE_CASES names no folder")
	}
	for _, p := range []*string{&j.cases, &j.binary, &j.root} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	excuses, err := readExcuses(j.excused)
	if err != nil {
		return err
	}
	return j.run(ctx, excuses)
}

// folder is one of the inputs, with its outcome.
type folder struct {
	name  string
	lines []line
	err   error
	took  time.Duration
}

func (j *job) run(ctx context.Context, excuses []*excuse) error {
	temp, err := os.MkdirTemp("", "cases")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	j.copy = filepath.Join(temp, "cases")
	if err := copyFolder(j.copy, j.cases); err != nil {
		return fmt.Errorf("copying %s: %w", j.cases, err)
	}
	names, err := j.list()
	if err != nil {
		return err
	}
	folders := make([]folder, len(names))
	var wg sync.WaitGroup
	var printing sync.Mutex
	queue := make(chan int)
	for range max(j.jobs, 1) {
		wg.Go(func() {
			for i := range queue {
				start := time.Now()
				lines, err := j.play(ctx, names[i])
				folders[i] = folder{names[i], lines, err, time.Since(start)}
				printing.Lock()
				j.report(&folders[i], excuses)
				printing.Unlock()
			}
		})
	}
	for i := range names {
		queue <- i
	}
	close(queue)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	problems := judge(folders, excuses, len(j.patterns) == 0)
	passed, failed := 0, 0
	for _, f := range folders {
		for _, l := range f.lines {
			if l.passed {
				passed++
			} else {
				failed++
			}
		}
	}
	fmt.Fprintf(j.out, "%d folders: %d checks passed, %d failed, %d of them excused\n", len(folders), passed, failed, failed-unexcused(folders, excuses))
	if len(problems) > 0 {
		return fmt.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	return nil
}

// list returns the folders to play, those that take longest first.
func (j *job) list() ([]string, error) {
	entries, err := os.ReadDir(j.copy)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		why, skip := notPlayed()[e.Name()]
		switch {
		case !e.IsDir() || !j.wants(e.Name()):
		case skip:
			fmt.Fprintf(j.out, "%s is not played: %s\n", e.Name(), why)
		default:
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no folder to play", j.cases)
	}
	slow := []string{"40-live-verdicts-over-odd-endpoints", "go-agent"}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(-btoi(slices.Contains(slow, a)), -btoi(slices.Contains(slow, b)))
	})
	return names, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (j *job) wants(name string) bool {
	if len(j.patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(j.patterns, func(p string) bool {
		ok, err := filepath.Match(p, name)
		return err == nil && ok || p == name
	})
}

func (j *job) play(ctx context.Context, name string) ([]line, error) {
	if d := drivers()[name]; d != nil {
		return d(ctx, j, filepath.Join(j.copy, name))
	}
	out, err := j.output(ctx, j.copy, []string{"REHEARSE=" + j.binary}, "bash", "run-all.sh", name)
	if err != nil {
		return nil, fmt.Errorf("run-all.sh: %w\n%s", err, out)
	}
	return readLines(out), nil
}

// output runs a command in a process group of its own and returns what it
// wrote to both outputs. Its exit code is no error of output when it is one of
// a shell or of rehearse: what was printed is judged.
func (j *job) output(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	out, _, err := j.exit(ctx, dir, env, argv...)
	return out, err
}

// exit is output with the exit code.
func (j *job) exit(ctx context.Context, dir string, env []string, argv ...string) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ctx.Err() == nil && ended.ExitCode() >= 0 {
		return out.Bytes(), ended.ExitCode(), nil
	}
	return out.Bytes(), 0, err
}

// report prints what came of a folder.
func (j *job) report(f *folder, excuses []*excuse) {
	if f.err != nil {
		fmt.Fprintf(j.out, "%s: %v\n", f.name, f.err)
	}
	for _, l := range f.lines {
		switch e := excuseFor(excuses, l); {
		case l.passed && !j.verbose:
		case l.passed:
			fmt.Fprintln(j.out, "PASS", l.text)
		case e != nil:
			fmt.Fprintf(j.out, "excused %s (%s)\n", l.text, e.reason)
		default:
			fmt.Fprintln(j.out, "FAIL", l.text)
		}
	}
	fmt.Fprintf(j.out, "%s: %d checks in %.0f s\n", f.name, len(f.lines), f.took.Seconds())
}

// copyFolder copies a folder and lets its owner write.
func copyFolder(dst, src string) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, info.Mode().Perm()|0o600)
	})
}
