// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "agents: %v\n", err)
		os.Exit(1)
	}
}

// The files that are written.
const (
	resultsFile = "interop/agents/results.json"
	pageFile    = "docs/agent-table.md"
)

// results are outcomes, by agent and then by scenario: "utilities: one tool".
type results map[string]map[string]outcome

// outcome is what came of a scenario.
type outcome struct {
	Outcome harness.Outcome `json:"outcome"`
	Check   string          `json:"check,omitempty"`  // that found the failure
	Struck  bool            `json:"struck,omitempty"` // a fault has struck
	Why     string          `json:"why,omitempty"`    // it was not judged
}

type job struct {
	root, dir, binary string
	only, kinds       []string
	suites            []string
	compare           bool
	out               io.Writer
}

func command(ctx context.Context, args []string, out io.Writer) error {
	j := &job{out: out}
	f := flag.NewFlagSet("agents", flag.ContinueOnError)
	root := f.String("root", ".", "root of the repository")
	f.StringVar(&j.binary, "rehearse", "bin/rehearse", "binary that plays, below the root")
	only := f.String("only", "", "agents to play, with commas between them (default: all)")
	kinds := f.String("faults", "", "kinds of faults to play, with commas between them; other scenarios of faults are left out (default: all)")
	suites := f.String("suites", "", "suites to play, with commas between them (default: all)")
	f.BoolVar(&j.compare, "compare", false, "write nothing, and fail where an outcome is not that of results.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	if j.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if !filepath.IsAbs(j.binary) {
		j.binary = filepath.Join(j.root, j.binary)
	}
	j.only, j.kinds, j.suites = fields(*only), fields(*kinds), fields(*suites)
	if j.dir, err = os.MkdirTemp("", "rehearse-agents-"); err != nil {
		return err
	}
	defer os.RemoveAll(j.dir)
	return j.play(ctx)
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// folders are where the suites come from.
var folders = map[string]string{"utilities": "scenarios/suites/utilities", "gemflux": "scenarios/suites/gemflux", "faults": "interop/agents/faults", "rows": "interop/agents/rows"}

// check refuses names that name nothing: what is not played would pass.
func (j *job) check(all []agent, known results) error {
	var names, kinds []string
	for _, a := range all {
		names = append(names, a.name)
	}
	for _, kind := range faultKinds(known) {
		_, name, _ := strings.Cut(kind, "/")
		kinds = append(kinds, name)
	}
	for _, f := range []struct {
		flag         string
		given, known []string
	}{{"only", j.only, names}, {"faults", j.kinds, kinds}, {"suites", j.suites, sorted(folders)}} {
		for _, name := range f.given {
			if !slices.Contains(f.known, name) {
				return fmt.Errorf("-%s: there is no %q; there are: %s", f.flag, name, strings.Join(f.known, ", "))
			}
		}
	}
	return nil
}

func (j *job) play(ctx context.Context) error {
	for name, from := range folders {
		if err := os.CopyFS(filepath.Join(j.dir, name), os.DirFS(filepath.Join(j.root, from))); err != nil {
			return err
		}
	}
	all := slices.Concat(agents(), clients())
	if err := errors.Join(j.patient(), j.write(all)); err != nil {
		return err
	}
	known, err := readResults(j.root)
	if err != nil {
		return err
	}
	if err := j.check(all, known); err != nil {
		return err
	}
	differ := false
	for _, a := range all {
		if len(j.only) > 0 && !slices.Contains(j.only, a.name) || j.compare && a.apart {
			continue
		}
		got, err := j.plays(ctx, a, faultKinds(known))
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		for _, name := range sorted(got) {
			line := fmt.Sprintf("%-14s %-45s %s", a.name, name, got[name].word())
			if was, ok := known[a.name][name]; j.compare && (!ok || was.word() != got[name].word()) {
				line, differ = line+", not "+was.word(), true
			}
			fmt.Fprintln(j.out, line)
		}
		if known[a.name] == nil || len(j.kinds)+len(j.suites) == 0 {
			known[a.name] = map[string]outcome{}
		}
		maps.Copy(known[a.name], got)
		if !j.compare { // after each: the next may be interrupted
			if err := writeAll(j.root, known); err != nil {
				return err
			}
		}
	}
	if differ {
		return errors.New("outcomes differ from those of " + resultsFile + "; `make agents` writes what is")
	}
	return nil
}

// patient gives the suites a time limit that is none for agents that take long
// to start: it is not their speed that is judged.
func (j *job) patient() error {
	for _, suite := range []string{"utilities", "gemflux"} {
		path := filepath.Join(j.dir, suite, "suite.yaml")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte("time: 60s"), []byte("time: 10m"), 1), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// plays has one agent play its suites. kinds are those of faults that there are.
func (j *job) plays(ctx context.Context, a agent, kinds []string) (map[string]outcome, error) {
	suites := []string{"rows"}
	if a.preset != "" {
		suites = append(suites, "utilities", "gemflux")
	}
	if a.faults {
		suites = append(suites, "faults")
	}
	if len(j.suites) > 0 {
		suites = slices.DeleteFunc(suites, func(s string) bool { return !slices.Contains(j.suites, s) })
	}
	if len(suites) == 0 {
		return nil, nil
	}
	args := []string{j.binary, "run", "--json", "--parallel", "2", "--out", filepath.Join(j.dir, "runs"), "--subject", a.name}
	if slices.Contains(suites, "faults") && len(j.kinds) > 0 {
		left := slices.DeleteFunc(kinds, func(kind string) bool {
			_, name, _ := strings.Cut(kind, "/")
			return slices.Contains(j.kinds, name)
		})
		if len(left) > 0 {
			args = append(args, "--skip", "^("+strings.Join(left, "|")+")$")
		}
	}
	for _, s := range suites {
		args = append(args, filepath.Join(j.dir, s))
	}
	if os.Geteuid() == 0 {
		args = append([]string{"unshare", "-n", "sh", "-c", `ip link set lo up && exec "$@"`, "-"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(j.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	data, err := cmd.Output()
	var doc struct{ Trials []trials.Record }
	if jsonErr := json.Unmarshal(data, &doc); jsonErr != nil || len(doc.Trials) == 0 {
		return nil, errors.Join(err, jsonErr)
	}
	out := map[string]outcome{}
	for _, r := range doc.Trials {
		o := outcome{Outcome: r.Outcome, Struck: len(r.Struck) > 0}
		if c := r.Cause; c != nil {
			o.Check = string(c.Kind)
			if c.Check != "" {
				o.Check = c.Check
			}
			if r.Outcome == harness.OutcomeSkipped || r.Outcome == harness.OutcomeError {
				_, why, found := strings.Cut(c.Message, "the subject cannot play this: ")
				if !found {
					why = c.Message
				}
				o.Check, o.Why = "", why
			}
		}
		out[r.Suite+": "+r.Name()] = o
	}
	return out, nil
}

// word is the outcome in the table.
func (o outcome) word() string {
	switch {
	case o.Outcome == harness.OutcomeFailed && o.Check == string(trials.CauseSubject):
		return "broke (it gave up)"
	case o.Outcome == harness.OutcomeFailed:
		return "broke (`" + o.Check + "`)"
	case o.Outcome == harness.OutcomePassed:
		return "passed"
	case o.Outcome == "":
		return "unknown"
	}
	return string(o.Outcome)
}

// ofFault is the outcome in the table of faults.
func (o outcome) ofFault() string {
	switch {
	case o.Outcome == harness.OutcomePassed && !o.Struck:
		return "did not strike"
	case o.Outcome == harness.OutcomePassed:
		return "survived"
	}
	return o.word()
}
