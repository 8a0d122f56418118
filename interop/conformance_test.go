// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A conformanceRun is one way to ask the MCP conformance suite about the mock
// server.
type conformanceRun struct {
	name  string // as in conformance/excused.txt
	suite string // the folder of the suite below node_modules
	args  []string
	times int
	// scenarios are how many of them there are: a suite that asks less than
	// it did proves less.
	scenarios int
}

var conformanceRuns = []conformanceRun{
	{"0.1.16", "@modelcontextprotocol/conformance", []string{"--suite", "all"}, 10, 32},
	{"2025-11-25", "conformance-alpha", []string{"--requirements", "2025-11-25"}, 1, 33},
	{"2026-07-28", "conformance-alpha", []string{"--requirements", "2026-07-28"}, 1, 50},
}

// TestConformance asks the MCP conformance suites about `rehearse serve mcp`.
// What fails must be excused in conformance/excused.txt, and what is excused
// there must fail.
func TestConformance(t *testing.T) {
	excuses := readExcuses(t, "conformance/excused.txt")
	for _, run := range conformanceRuns {
		for i := range run.times {
			ok := t.Run(fmt.Sprintf("%s/%d", run.name, i+1), func(t *testing.T) {
				checks := run.ask(t, serve(t, "mcp", "scenarios/conformance.yaml").URL)
				if len(checks) != run.scenarios {
					t.Errorf("%d scenarios were run, want %d: %q", len(checks), run.scenarios, slices.Sorted(maps.Keys(checks)))
				}
				passed, problems := judgeChecks(checks, excuses[run.name])
				for _, p := range problems {
					t.Error(p)
				}
				t.Logf("%d checks passed", passed)
			})
			if !ok {
				break // it will say the same again
			}
		}
	}
}

// check is one finding of the suite.
type check struct {
	ID      string
	Status  string
	Message string `json:"errorMessage"`
}

var scenarioDir = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT`)

// ask runs the suite and returns its findings by scenario.
func (r *conformanceRun) ask(t *testing.T, url string) map[string][]check {
	t.Helper()
	out := t.TempDir()
	argv := slices.Concat([]string{"node_modules/" + r.suite + "/dist/index.js", "server", "--url", url, "-o", out}, r.args)
	cmd := command(t, node, argv...)
	// What failed is in the files; the exit code knows no excuse of ours.
	said, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	checks := readChecks(t, out)
	if len(checks) == 0 {
		t.Fatalf("the suite found nothing:\n%s", said)
	}
	return checks
}

// readChecks reads what the suite left in a folder, by scenario.
func readChecks(t *testing.T, out string) map[string][]check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string][]check{}
	for _, file := range files {
		name := scenarioDir.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("of which scenario is %s?", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []check
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		checks[name[1]] = list
	}
	return checks
}

// excuse is a check that may fail, or with * in place of it a scenario.
type excuse struct{ scenario, check string }

// readExcuses reads lines of run, scenario, check and reason.
func readExcuses(t *testing.T, name string) map[string][]excuse {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]excuse{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		known := strings.HasPrefix(fields[0], "client-") || slices.ContainsFunc(conformanceRuns, func(r conformanceRun) bool { return r.name == fields[0] })
		if len(fields) < 4 || !known {
			t.Fatalf("%s:%d: want run, scenario, check and reason, got %q", name, n, line)
		}
		if fields[2] == "*" && !strings.HasPrefix(fields[1], "tasks-") {
			t.Fatalf("%s:%d: only an extension is excused as a whole", name, n)
		}
		out[fields[0]] = append(out[fields[0]], excuse{fields[1], fields[2]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// judgeChecks returns what failed without an excuse, and the excuses for what
// did not fail. A warning needs an excuse like a failure.
func judgeChecks(checks map[string][]check, excuses []excuse) (passed int, problems []string) {
	used := map[excuse]bool{}
	for _, scenario := range slices.Sorted(maps.Keys(checks)) {
		for _, c := range checks[scenario] {
			if c.Status != "FAILURE" && c.Status != "WARNING" {
				if c.Status == "SUCCESS" {
					passed++
				}
				continue
			}
			whole, one := excuse{scenario, "*"}, excuse{scenario, c.ID}
			switch {
			case slices.Contains(excuses, one):
				used[one] = true
			case slices.Contains(excuses, whole):
				used[whole] = true
			default:
				problems = append(problems, fmt.Sprintf("%s: %s: %s %s", scenario, c.ID, c.Status, c.Message))
			}
		}
	}
	for _, e := range excuses {
		if !used[e] {
			problems = append(problems, fmt.Sprintf("%s: %s: excused, and nothing failed", e.scenario, e.check))
		}
	}
	return passed, problems
}

// TestJudgeChecks: what fails needs an excuse, and an excuse a failure.
func TestJudgeChecks(t *testing.T) {
	checks := map[string][]check{
		"a": {{"one", "SUCCESS", ""}, {"two", "FAILURE", "no"}, {"three", "WARNING", "hm"}, {"four", "SKIPPED", ""}},
		"b": {{"one", "FAILURE", ""}, {"two", "FAILURE", ""}},
	}
	for _, tt := range []struct {
		name    string
		excuses []excuse
		want    []string
	}{
		{"none", nil, []string{"a: two: FAILURE no", "a: three: WARNING hm", "b: one: FAILURE ", "b: two: FAILURE "}},
		{"all", []excuse{{"a", "two"}, {"a", "three"}, {"b", "*"}}, nil},
		{"one check is not another", []excuse{{"a", "two"}, {"b", "*"}}, []string{"a: three: WARNING hm"}},
		{"stale", []excuse{{"a", "one"}, {"a", "two"}, {"a", "three"}, {"b", "*"}}, []string{"a: one: excused, and nothing failed"}},
		{"no such scenario", []excuse{{"a", "two"}, {"a", "three"}, {"b", "*"}, {"c", "*"}}, []string{"c: *: excused, and nothing failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			passed, got := judgeChecks(checks, tt.excuses)
			if diff := cmp.Diff(tt.want, got); diff != "" || passed != 1 {
				t.Errorf("%d passed, and problems (-want +got):\n%s", passed, diff)
			}
		})
	}
}
