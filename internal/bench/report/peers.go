// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// questions is how many scenarios each runner plays, and atOnce how many of them
// at a time.
const (
	questions = 200
	atOnce    = 8
)

// runner is a program that plays the questions against an endpoint.
type runner struct {
	name string
	need string // a file that it needs; what installs it is make bench-peers
	args func(url string) (name string, args []string)
}

// peers plays the same questions, each once, with rehearse and with the peers,
// against one mock endpoint: it answers at once, so that what is measured is what
// a trial costs beside the model.
func peers(ctx context.Context, dir string, o *options, out io.Writer) error {
	abs := func(name string) string {
		if full, err := filepath.Abs(name); err == nil {
			return full
		}
		return name
	}
	o.rehearse, o.peers = abs(o.rehearse), abs(o.peers)
	if err := writeQuestions(dir); err != nil {
		return err
	}
	url, stop, err := serve(ctx, o.rehearse, filepath.Join(dir, "llm.yaml"))
	if err != nil {
		return err
	}
	defer stop()
	parallel := fmt.Sprint(atOnce)
	promptfoo := filepath.Join(o.peers, "node_modules", "promptfoo", "dist", "src", "main.js")
	inspect := filepath.Join(o.peers, ".venv", "bin", "inspect")
	list := []runner{
		{"rehearse", o.rehearse, func(url string) (string, []string) {
			return o.rehearse, []string{"run", "questions.yaml", "--mode", "live", "--base-url", url, "--model", "m", "--parallel", parallel, "--out", "runs"}
		}},
		{"promptfoo", promptfoo, func(string) (string, []string) {
			return "node", []string{promptfoo, "eval", "-c", "promptfoo.json", "--no-cache", "--no-table", "--no-progress-bar", "-j", parallel}
		}},
		{"inspect_ai", inspect, func(url string) (string, []string) {
			return inspect, []string{"eval", "inspect_task.py", "--model", "openai/m", "--model-base-url", url, "--max-connections", parallel, "--display", "none", "--log-dir", "inspect-logs"}
		}},
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d trials, %d at a time\tseconds\ttrials per second\tCPU ms per trial\tseconds, of rehearse\tCPU, of rehearse\t\n", questions, atOnce)
	var own []cost
	for _, r := range list {
		if _, err := os.Stat(r.need); err != nil {
			fmt.Fprintf(w, "%s\tnot installed: make bench-peers\t\t\t\t\t\n", r.name)
			continue
		}
		var costs []cost
		for range o.rounds {
			c, err := play(ctx, dir, url, r)
			if err != nil {
				return err
			}
			costs = append(costs, c)
		}
		if own == nil {
			own = costs
		}
		c, of := median(costs), median(ratios(costs, own))
		fmt.Fprintf(w, "%s\t%.2f\t%.0f\t%.1f\t%.1f\t%.1f\t\n", r.name, c.seconds, questions/c.seconds, 1000*c.cpu/questions, of.seconds, of.cpu)
	}
	return w.Flush()
}

// play runs the questions once, and counts the processes that the runner starts.
func play(ctx context.Context, dir, url string, r runner) (cost, error) {
	name, args := r.args(url)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+url, "HOME="+dir,
		"PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_DISABLE_REMOTE_GENERATION=true", "PROMPTFOO_CONFIG_DIR="+filepath.Join(dir, "promptfoo"))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", r.name, err, tail(said.String()))
	}
	// The usage of a process that was waited for has that of its children.
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("the system does not tell what a process took")
	}
	return cost{took.Seconds(), cpu.Seconds(), float64(usage.Maxrss) * 1024 / 1e6}, nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// serve starts the mock endpoint.
func serve(ctx context.Context, rehearse, file string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, rehearse, "serve", "llm", file, "--listen", "127.0.0.1:0")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() } // its journal is nobody's concern
	line, err := bufio.NewReader(pipe).ReadString('\n')
	var ready struct {
		URL string `json:"url"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), &ready)
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("starting the mock endpoint: %w", err)
	}
	return ready.URL, stop, nil
}

// writeQuestions writes the questions as each runner wants them.
func writeQuestions(dir string) error {
	var rows strings.Builder
	var tests, samples []map[string]any
	rows.WriteString("name,n\n")
	for i := range questions {
		text := fmt.Sprintf("Question %d: what is the capital of France?", i)
		fmt.Fprintf(&rows, "q%d,%d\n", i, i)
		tests = append(tests, map[string]any{"vars": map[string]any{"q": text}, "assert": []any{map[string]any{"type": "contains", "value": "Paris"}}})
		samples = append(samples, map[string]any{"input": text, "target": "Paris"})
	}
	promptfoo, err := json.Marshal(map[string]any{"prompts": []string{"{{q}}"}, "providers": []string{"openai:chat:m"}, "tests": tests})
	if err != nil {
		return err
	}
	dataset, err := json.Marshal(samples)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"llm.yaml":  "llm: capital\nmodels: [m]\nrules:\n  - when: \"true\"\n    reply: {say: Paris.}\n",
		"rows.csv":  rows.String(),
		"data.json": string(dataset),
		"questions.yaml": "scenario: capital\ncases: {from: rows.csv}\nturns:\n  - user: \"Question {{vars.n}}: what is the capital of France?\"\n" +
			"    expect: [{answer: {contains: [Paris]}}]\n",
		"promptfoo.json": string(promptfoo),
		"inspect_task.py": "from inspect_ai import Task, task\nfrom inspect_ai.dataset import json_dataset\nfrom inspect_ai.scorer import includes\n" +
			"from inspect_ai.solver import generate\n\n\n@task\ndef capital():\n    return Task(dataset=json_dataset(\"data.json\"), solver=generate(), scorer=includes())\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
