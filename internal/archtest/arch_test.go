// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package archtest holds the rules of the tree that a compiler does not: who
// may import whom, who may link what, and what every file says at its head.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/rehearse-dev/rehearse/"

// levels is the layout of docs/design.md as a table. A package imports only
// from levels below its own; one without a row fails.
var levels = map[string]int{
	"harness":                0,
	"harness/value":          0,
	"harness/toolname":       0,
	"harness/retry":          0,
	"internal/strictyaml":    0,
	"internal/mcpwire":       0,
	"internal/mcpargs":       0,
	"internal/bpe":           0,
	"internal/cues":          0,
	"internal/procstat":      0,
	"mockllm/wire":           0,
	"mockmcp/protocol":       0,
	"internal/llmwire":       1,
	"harness/expr":           1,
	"harness/schema":         1,
	"harness/dialect":        1,
	"harness/trials":         1,
	"cassettes/vcr":          1,
	"cassettes/key":          1,
	"cassettes/shape":        2,
	"harness/match":          2,
	"cassettes/redact":       2,
	"mockllm/fault":          2,
	"mockmcp/fault":          2,
	"mockllm/profile":        2,
	"mockllm":                3,
	"mockmcp":                3,
	"cassettes":              3,
	"cassettes/mcptape":      3,
	"cassettes/timeline":     4,
	"mockmcp/step":           0,
	"mockmcp/catalog":        1,
	"harness/trajectory":     3,
	"harness/model":          3,
	"harness/mcppool":        3,
	"harness/passthrough":    3,
	"reports":                3,
	"harness/score":          4,
	"harness/conduct":        4,
	"harness/model/openai":   4,
	"harness/tools":          4,
	"internal/mcpmatrix":     4,
	"scenarios":              5,
	"harness/agent":          5,
	"harness/run":            6,
	"internal/mockserver":    6,
	"cmd/rehearse":           7,
	"internal/archtest":      8,
	"internal/bench":         8,
	"internal/bench/mockllm": 8,
	"internal/bench/mockmcp": 8,
	"interop":                8,
	"interop/argo":           8,
	"interop/live":           8,

	"internal/bench/cassettes": 8,
}

// vocabulary packages stand beneath everything else, their own level
// included: the words are shared by all.
var vocabulary = map[string]bool{"harness": true}

// banned says what a package must not link, even through others, and why.
var banned = map[string]map[string]string{
	"mockllm": {
		"github.com/mark3labs/mcp-go":              "a program that embeds the mock model must start fast",
		"github.com/santhosh-tekuri/jsonschema":    "5 to 12 ms of package initialisation",
		"github.com/sashabaranov/go-openai":        "a fake never imports the client it fakes for",
		"cel.dev/cel-go":                           "scripts are Go; expressions are the scenarios' business",
		"gopkg.in/yaml.v3":                         "scripts are Go; YAML is the scenarios' business",
		"github.com/rehearse-dev/rehearse/mockmcp": "the two mocks know nothing of each other",
	},
	"internal/mcpwire": {"github.com/mark3labs/mcp-go": "the wire lies beneath the library"},
	"reports":          {"cel.dev/cel-go": "reports are a function of files"},
}

type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	Deps         []string
	Standard     bool
	ForTest      string
	XTestImports []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, stderr.String())
	}
	var pkgs []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// problems checks one package against the tables.
func problems(p listed) []string {
	name := strings.TrimPrefix(p.ImportPath, module)
	level, ok := levels[name]
	if !ok {
		return []string{name + ": no row in the table of levels; add one and say in docs/design.md what the package owns"}
	}
	var bad []string
	for _, imp := range p.Imports {
		dep, own := strings.CutPrefix(imp, module)
		if !own || vocabulary[dep] && name != dep {
			continue
		}
		if below, ok := levels[dep]; ok && below >= level {
			bad = append(bad, name+" imports "+dep+", which is not below it")
		}
	}
	if name == "harness" {
		for _, imp := range p.Imports {
			if strings.Contains(strings.Split(imp, "/")[0], ".") {
				bad = append(bad, "harness imports "+imp+"; it may use the standard library only")
			}
		}
	}
	for _, dep := range p.Deps {
		for prefix, why := range banned[name] {
			if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
				bad = append(bad, name+" links "+dep+": "+why)
			}
		}
	}
	return bad
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		for _, bad := range problems(p) {
			t.Error(bad)
		}
	}
}

// TestProblems makes sure that the check can fail.
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name string
		pkg  listed
		want string
	}{
		{"no row", listed{ImportPath: module + "harness/nowhere"}, "no row"},
		{"upwards", listed{ImportPath: module + "mockllm", Imports: []string{module + "scenarios"}}, "not below"},
		{"sideways", listed{ImportPath: module + "mockllm", Imports: []string{module + "mockmcp"}}, "not below"},
		{"banned", listed{ImportPath: module + "mockllm", Deps: []string{"cel.dev/cel-go/cel"}}, "links"},
		{"vocabulary", listed{ImportPath: module + "harness", Imports: []string{"example.com/x"}}, "standard library"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(problems(tc.pkg), "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("problems = %q, want one with %q", got, tc.want)
			}
		})
	}
}

// files calls f for every file that git would carry.
func files(t *testing.T, f func(path string, data []byte)) {
	t.Helper()
	skip := map[string]bool{".git": true, "runs": true, "node_modules": true, ".venv": true, ".tools": true, "bin": true}
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skip[d.Name()] {
				return filepath.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(path, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHeaders(t *testing.T) {
	const head = "// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0\n\n"
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) == ".go" && !bytes.HasPrefix(data, []byte(head)) {
			t.Errorf("%s: does not begin with the licence line", path)
		}
	})
}

// secret matches what a key looks like. Placeholders in tests are written so
// that they do not match.
var secret = regexp.MustCompile(`\b(sk-(proj-|ant-)?[A-Za-z0-9_-]{24,}|AIza[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,})\b`)

func TestNoSecrets(t *testing.T) {
	files(t, func(path string, data []byte) {
		if m := secret.Find(data); m != nil {
			t.Errorf("%s: %.8s... looks like a key", path, m)
		}
	})
}

var beyondLoopback = regexp.MustCompile(`"(0\.0\.0\.0|\[::\])?:[0-9]+"`)

func TestLoopbackOnly(t *testing.T) {
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "arch_test.go") {
			return
		}
		if m := beyondLoopback.Find(data); m != nil {
			t.Errorf("%s: %s listens beyond loopback", path, m)
		}
	})
}

var sleeps = regexp.MustCompile(`\btime\.Sleep\(`)

func TestNoSleepsInTests(t *testing.T) {
	files(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "arch_test.go") {
			return
		}
		// Inside a synctest bubble a sleep is virtual and exact.
		if sleeps.Match(data) && !bytes.Contains(data, []byte("testing/synctest")) {
			t.Errorf("%s: time.Sleep in a test; wait for what you mean to wait for", path)
		}
	})
}
