// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/bench/overlay"
)

// outcome is how a test ended; empty means that it did not run.
type outcome string

const (
	passed  outcome = "pass"
	failed  outcome = "fail"
	skipped outcome = "skip"
)

// tester runs tests of the tree that its overlay shows.
type tester struct {
	overlay *overlay.Overlay
	timeout string // of the tests of one package
	program bool   // rehearse is built
}

// run runs tests, those of one package together, and returns how each ended.
// Unless all is asked for, it ends with the first package in which one failed.
func (t *tester) run(ctx context.Context, list []named, all bool) (map[string]outcome, error) {
	ends := make(map[string]outcome)
	for _, group := range groups(list) {
		run := t.functions
		if group[0].file != "" {
			run = t.scenarios
		}
		if all {
			fmt.Fprintf(os.Stderr, "running %d tests of %s\n", len(group), cmp.Or(group[0].folder, "scenarios"))
		}
		if err := run(ctx, group, ends); err != nil {
			return ends, err
		}
		for _, test := range group {
			if !all && ends[test.name] == failed {
				return ends, nil
			}
		}
	}
	return ends, nil
}

// groups are the tests that one command runs: scenarios, functions of a package,
// and parts of functions of a package.
func groups(list []named) (out [][]named) {
	at := map[string]int{}
	for _, test := range list {
		key := fmt.Sprintf("%s %t %t", test.folder, test.file == "", test.part == "")
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], test)
	}
	return out
}

// pattern selects functions, or parts of them, by their names.
func pattern(group []named) string {
	var functions, parts []string
	for _, test := range group {
		functions = append(functions, regexp.QuoteMeta(test.function))
		parts = append(parts, regexp.QuoteMeta(test.part))
	}
	out := "^(" + strings.Join(functions, "|") + ")$"
	if group[0].part != "" {
		out += "/^(" + strings.Join(parts, "|") + ")$"
	}
	return out
}

func (t *tester) functions(ctx context.Context, group []named, ends map[string]outcome) error {
	out, err := t.overlay.Run(ctx, "go", "test", "-json", "-count=1", "-vet=off", "-timeout", t.timeout, "-run", pattern(group), "./"+group[0].folder)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	found, ran := results(out)
	if !ran && err != nil {
		return fmt.Errorf("the tests of %s did not run: %w\n%s", group[0].folder, err, out)
	}
	for _, test := range group {
		name := test.function
		if test.part != "" {
			name += "/" + test.part
		}
		ends[test.name] = found[name]
	}
	return nil
}

// results reads what `go test -json` prints. A test that began and did not end has
// ended its program, and failed.
func results(out []byte) (ends map[string]outcome, ran bool) {
	ends = make(map[string]outcome)
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test string }
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			continue // what the tests print to stderr, and events of the package
		}
		ran = true
		switch end := outcome(event.Action); {
		case end == passed, end == failed, end == skipped:
			ends[event.Test] = end
		case event.Action == "run":
			ends[event.Test] = failed
		}
	}
	return ends, ran
}

func (t *tester) scenarios(ctx context.Context, group []named, ends map[string]outcome) error {
	if !t.program {
		if out, err := t.overlay.Run(ctx, "go", "build", "-o", t.overlay.Path("rehearse"), "./cmd/rehearse"); err != nil {
			return fmt.Errorf("building rehearse: %w\n%s", err, out)
		}
		t.program = true
	}
	for _, test := range group {
		out, err := t.overlay.Run(ctx, t.overlay.Path("rehearse"), "run", test.file, "--json", "--out", t.overlay.Path("runs"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			return fmt.Errorf("playing %s: %w\n%s", test.file, err, out)
		}
		if ends[test.name], err = played(out); err != nil {
			return fmt.Errorf("playing %s: %w\n%s", test.file, err, out)
		}
	}
	return nil
}

// played reads what `rehearse run --json` prints: the scenario passed if all of its
// trials did.
func played(out []byte) (outcome, error) {
	var run struct {
		Trials []struct{ Outcome string }
	}
	_, found, _ := bytes.Cut(append([]byte("\n"), out...), []byte("\n{\n")) // behind warnings
	if err := json.NewDecoder(bytes.NewReader(append([]byte("{\n"), found...))).Decode(&run); err != nil {
		return "", err
	}
	end := outcome("")
	for _, trial := range run.Trials {
		switch {
		case trial.Outcome == "failed":
			return failed, nil
		case trial.Outcome != "passed":
			end = skipped
		case end == "":
			end = passed
		}
	}
	return end, nil
}
