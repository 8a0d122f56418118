// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Command walk prints which files of rehearse one request passes, from the
// coverage of a run of it. What was needed to set the stage does not count.
//
//	make walks
//
// The program must be built with -cover -covermode=atomic and a -coverpkg of all
// packages of rehearse. A walk is a row of the table below.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/cassettes"
	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

const module = "github.com/rehearse-dev/rehearse/"

// walk is one thing to follow.
type walk struct {
	name string
	most int // files that it may pass; 0 for any number
	// open sets the stage. do is what is followed, and done ends it.
	open func() (do func() error, done func(), err error)
}

func walks() []walk {
	return []walk{
		{"a chat request", 10, chatRequest},
		{"an MCP call over stdio", 10, mcpCall},
		{"an MCP call over HTTP", 10, mcpCallOverHTTP},
		{"an MCP call of 2026-07-28 over HTTP", 10, modernMCPCall},
		{"a trial", 0, trial},
		{"a recording", 0, recording},
	}
}

// trial is one of a scenario with one call, by our agent and a mock server over a
// pipe. It is the second, so that nothing is done for the first time.
func trial() (do func() error, done func(), err error) {
	set, err := scenarios.Parse("walk.yaml", []byte(walked), nil)
	if err != nil {
		return nil, nil, err
	}
	do = func() error {
		result, err := run.Run(context.Background(), set.Scenarios, &run.Options{Subject: agent.Subject(nil)})
		if err == nil && (len(result.Records) != 1 || result.Records[0].Outcome != harness.OutcomePassed) {
			err = fmt.Errorf("the trial came to %+v", result.Records)
		}
		return err
	}
	return do, func() {}, do()
}

const walked = `scenario: weather
servers:
  w: {tools: [{name: weather, description: Tells it., results: [{text: sunny}]}]}
turns:
  - user: How is it?
    replies: [{calls: [w.weather]}, {say: "It is {{ result }}."}]
    expect: [{calls: [w.weather]}, {answer: {contains: sunny}}]
`

// recording is one exchange with an endpoint that is recorded, and its file.
func recording() (do func() error, done func(), err error) {
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return nil, nil, err
	}
	m, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "Sunny.", Repeat: 2}}}, nil)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	do = func() error {
		n++
		rec, err := cassettes.Open(filepath.Join(dir, fmt.Sprint(n)+".yaml"), &cassettes.Options{
			Mode: cassettes.Record, Upstream: m.Transport(), LookupEnv: func(string) (string, bool) { return "", false },
		})
		if err != nil {
			return err
		}
		client := &http.Client{Transport: rec}
		res, err := client.Post(m.URL+"/chat/completions", "application/json", strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"Weather?"}]}`))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return errors.Join(err, res.Body.Close(), rec.Close())
	}
	return do, func() { m.Close(); os.RemoveAll(dir) }, do()
}

// chatRequest is a streamed request with a tool, to a mock over HTTP. It is the
// second of its conversation, so that nothing is done for the first time.
func chatRequest() (do func() error, done func(), err error) {
	h, err := mockllm.NewHost("")
	if err != nil {
		return nil, nil, err
	}
	m, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "weather", Args: map[string]string{"city": "Paris"}}}}, {Say: "It is sunny in Paris."},
	}}, nil)
	if err != nil {
		return nil, nil, err
	}
	base, _ := h.Mount(m)
	ask := func(messages string) error {
		body := `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Weather?"}` + messages + `],` +
			`"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`
		res, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err == nil && !bytes.HasSuffix(b, []byte("[DONE]\n\n")) {
			err = fmt.Errorf("status %d: %s", res.StatusCode, b)
		}
		return err
	}
	if err := ask(""); err != nil {
		return nil, nil, err
	}
	call := m.Journal()[0].Answer.Calls[0].ID
	next := fmt.Sprintf(`,{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]},`+
		`{"role":"tool","tool_call_id":%q,"content":"sunny"}`, call, call)
	return func() error { return ask(next) }, func() { m.Close(); h.Close() }, nil
}

func main() {
	if err := show(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func show(w io.Writer) error {
	for _, walk := range walks() {
		files, err := follow(walk)
		if err != nil {
			return fmt.Errorf("following %s: %w", walk.name, err)
		}
		fmt.Fprintf(w, "%s passes %d files\n", walk.name, len(files))
		for _, f := range files {
			fmt.Fprintf(w, "%6d  %s\n", f.statements, f.name)
		}
		if walk.most > 0 && len(files) > walk.most {
			return fmt.Errorf("%s passes %d files, want at most %d", walk.name, len(files), walk.most)
		}
	}
	return nil
}

// file is a file with the number of statements that were run.
type file struct {
	name       string
	statements int
}

// follow returns the files that a walk passes, those with the most statements
// first.
func follow(k walk) ([]file, error) {
	do, done, err := k.open()
	if err != nil {
		return nil, err
	}
	defer done()
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := coverage.ClearCounters(); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	if err := cmp.Or(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir)); err != nil {
		return nil, err
	}
	text := filepath.Join(dir, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+text).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	profile, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	passed := map[string]int{}
	for line := range strings.Lines(string(profile)) { // FILE:FROM,TO STATEMENTS COUNT
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) == 3 && fields[2] != "0" {
			statements, err := strconv.Atoi(fields[1])
			if err != nil {
				return nil, fmt.Errorf("coverage profile: %w", err)
			}
			passed[name] += statements
		}
	}
	var files []file
	for name, n := range maps.All(passed) {
		if rest, ours := strings.CutPrefix(name, module); ours && !strings.HasPrefix(rest, "internal/bench/") {
			files = append(files, file{rest, n})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(b.statements-a.statements, strings.Compare(a.name, b.name)) })
	return files, nil
}
