// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lineByLine hands on each whole line that is written to it.
type lineByLine struct {
	mu   sync.Mutex
	rest []byte
	each chan string
}

func (l *lineByLine) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, data...)
	for {
		line, after, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		l.each <- string(line)
		l.rest = after
	}
}

// TestRunWatch plays again when the scenario changes, a file that it refers to, or
// one that its subject is made of, and tells what is wrong with one without ending.
func TestRunWatch(t *testing.T) {
	above := t.TempDir()
	dir, settings := filepath.Join(above, "scenarios"), filepath.Join(above, "rehearse.yaml")
	file, server, agent := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "servers", "shop.yaml"), filepath.Join(dir, "agent.sh")
	if err := os.MkdirAll(filepath.Dir(server), 0o700); err != nil {
		t.Fatal(err)
	}
	scenario := "scenario: one\nsubject: {command: [sh, agent.sh], answer: stdout}\nservers: {shop: {mock: servers/shop.yaml}}\nturns: [{user: hi, expect: [{answer: {equals: hello}}]}]\nconduct: {all_replies_reached: off}\n"
	write(t, file, scenario)
	write(t, server, "server: shop\ntools: [{name: look, results: [{text: Goods.}]}]\n")
	write(t, agent, "echo hello\n")
	write(t, settings, "subjects: {}\n")
	ticks := make(chan time.Time)
	out := &lineByLine{each: make(chan string, 1000)}
	ctx, interrupt := context.WithCancel(t.Context())
	p := &process{
		args:   []string{"run", file, "--watch", "--out", filepath.Join(t.TempDir(), "runs")},
		getenv: func(string) (string, bool) { return "", false }, stdout: out, stderr: out,
		every: func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} },
	}
	ended := make(chan exitCode)
	go func() { ended <- command(ctx, p) }()
	// played waits for the end of a play, of which want is a line.
	played := func(want string) {
		t.Helper()
		var all []string
		for line := range out.each {
			if all = append(all, line); strings.Contains(line, "waiting for a change") {
				break
			}
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	changed := func(name, text, want string) {
		t.Helper()
		ticks <- time.Time{} // nothing is new
		write(t, name, text)
		ticks <- time.Time{} // it is there, ...
		ticks <- time.Time{} // ... and settled
		played(want)
	}
	played("1 passed of 1 trial")
	changed(agent, "echo bye\n", `want it to be "hello", got "bye"`)
	changed(agent, "echo hello\n", "1 passed of 1 trial")
	// A file that is away for a moment, or named by one that is, is not forgotten.
	for _, name := range []string{agent, server} {
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ticks <- time.Time{}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		ticks <- time.Time{}
		ticks <- time.Time{}
		played(filepath.Base(name))
		changed(name, string(was), "1 passed of 1 trial")
	}
	changed(settings, "subjects: {\n", "rehearse.yaml:1:")
	changed(settings, "subjects: {}\n", "1 passed of 1 trial")
	changed(server, "server: shop\ntools: [{nam: look}]\n", `shop.yaml:2:10: unknown key "nam"`)
	changed(server, "server: shop\ntools: [{name: look, results: [{text: More.}]}]\n", "1 passed of 1 trial")
	changed(file, strings.ReplaceAll(scenario, "equals: hello", "equals: bye"), `want it to be "bye", got "hello"`)
	interrupt()
	if code := <-ended; code != exitPassed {
		t.Errorf("exit code %d after Ctrl-C", code)
	}
}
