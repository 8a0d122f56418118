// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

const servers = `  s:
    tools:
      - {name: nap, description: Sleeps., input: {type: object, properties: {}}, results: [{text: done}]}
`

// quick is a scenario that ends at once.
const quick = `scenario: quick
servers:
` + servers + `turns:
  - user: go
    replies: [{calls: [s.nap]}, {say: done}]
    expect: [{calls: [s.nap]}]
`

// TestInterrupt is Ctrl-C in the middle of a run: what is finished is kept and
// reported, and the exit code says that not all was judged.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", quick)
	// A server that never says anything keeps its trial waiting.
	write("b.yaml", strings.NewReplacer("quick", "hangs", servers, "  s: {command: [sleep, \"3600\"]}\n").Replace(quick))

	ctx, interrupt := context.WithCancel(t.Context())
	read, write2 := io.Pipe()
	var stdout bytes.Buffer
	p := &process{
		args:   []string{"run", dir, "--parallel", "1", "--timeout", "1h", "--verbose", "--out", filepath.Join(dir, "out")},
		getenv: func(string) (string, bool) { return "", false },
		stdin:  strings.NewReader(""), stdout: &stdout, stderr: write2,
	}
	go func() {
		defer io.Copy(io.Discard, read)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "passed") {
				interrupt()
				return
			}
		}
	}()
	code := command(ctx, p)
	write2.Close()
	if code != exitUnjudged {
		t.Errorf("exit code %d, want %d\n%s", code, exitUnjudged, stdout.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "out", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "report.html") || !strings.Contains(got, trials.RecordsFile) {
		t.Fatalf("the run folder has %q", got)
	}
	records, err := trials.ReadFile(filepath.Join(filepath.Dir(files[0]), trials.RecordsFile))
	if err != nil || len(records) != 1 || records[0].Scenario != "quick" {
		t.Errorf("records %v (%v), want the one of quick", records, err)
	}
}

// TestServeLLM asks a served mock, out of turn, and gets a miss that decides
// the exit code.
func TestServeLLM(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.yaml")
	if err := os.WriteFile(file, []byte("llm: m\nturns:\n  - user: hello\n    replies: [{say: hi}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	var stderr bytes.Buffer
	p := &process{
		args:   []string{"serve", "llm", file},
		getenv: func(string) (string, bool) { return "", false },
		stdin:  strings.NewReader(""), stdout: write, stderr: &stderr,
	}
	done := make(chan exitCode, 1)
	go func() { done <- command(ctx, p) }()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL, Admin string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("ready line %q: %v", line, err)
	}
	for _, ask := range []struct {
		text   string
		status int
	}{{"hello", 200}, {"goodbye", 422}} {
		body := `{"model":"m","messages":[{"role":"user","content":"` + ask.text + `"}]}`
		res, err := http.Post(ready.URL+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != ask.status {
			t.Errorf("%s: status %d, want %d", ask.text, res.StatusCode, ask.status)
		}
	}
	interrupt()
	if code := <-done; code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if !strings.Contains(stderr.String(), "goodbye") {
		t.Errorf("stderr does not show the miss:\n%s", stderr.String())
	}
}
