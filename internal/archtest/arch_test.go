// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package archtest holds the rules of the tree that a compiler does not: who
// may import whom, who may link what, and what every file says at its head.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/rehearse-dev/rehearse/"

// heavy says what no mock links, even through others, and why.
var heavy = map[string]string{
	"cel.dev/cel-go":                         "scripts are Go; expressions are the scenarios' business",
	"github.com/antlr4-go/antlr":             "scripts are Go; expressions are the scenarios' business",
	"google.golang.org/protobuf":             "it comes with CEL",
	module + "internal/expr":                 "it links CEL",
	module + "internal/match":                "it links CEL",
	"gopkg.in/yaml.v2":                       "scripts are Go; YAML is the scenarios' business",
	"gopkg.in/yaml.v3":                       "scripts are Go; YAML is the scenarios' business",
	"go.yaml.in/yaml":                        "scripts are Go; YAML is the scenarios' business",
	module + "internal/strictyaml":           "scripts are Go; YAML is the scenarios' business",
	"github.com/sashabaranov/go-openai":      "a fake never imports the client it fakes for",
	"github.com/openai/openai-go":            "a fake never imports the client it fakes for",
	"github.com/anthropics/anthropic-sdk-go": "a fake never imports the client it fakes for",
	"google.golang.org/genai":                "a fake never imports the client it fakes for",
	"go.opentelemetry.io":                    "spans and metrics are the client's",
}

// start is why a program must not link mcp-go's validator of schemas.
const start = "it takes 5 to 12 ms of every start"

// banned says what a package must not link, even through others, and why.
var banned = map[string]map[string]string{
	"mockllm": with(heavy, map[string]string{
		"github.com/mark3labs/mcp-go":           "a program that embeds the mock model must start fast",
		"github.com/santhosh-tekuri/jsonschema": start,
		module + "mockmcp":                      "the two mocks know nothing of each other",
	}),
	"mockmcp": with(heavy, map[string]string{
		module + "mockllm":                   "the two mocks know nothing of each other",
		"github.com/mark3labs/mcp-go/server": "a mock has a wire of its own; a bare server is for tests",
		"github.com/mark3labs/mcp-go/client": "a fake never imports the client it fakes for",
	}),
	"internal/conduct": {
		module + "mockllm": "conduct is judged from journals, whoever wrote them",
		module + "mockmcp": "conduct is judged from journals, whoever wrote them",
	},
	"cmd/rehearse":     {"github.com/santhosh-tekuri/jsonschema": start},
	"harness/agent":    {"go.opentelemetry.io/otel/sdk": "where spans and metrics go is the program's choice"},
	"internal/mcpwire": {"github.com/mark3labs/mcp-go": "the wire lies beneath the library"},
	"reports":          {"cel.dev/cel-go": "reports are a function of files"},
}

// with is both tables in one.
func with(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
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

// modules are the folders of those that are under the rules: the product, what
// is measured, and what meets real peers.
var modules = []string{"../..", "../bench", "../../interop"}

// list returns the packages of all modules.
func list(t *testing.T) (pkgs []listed) {
	t.Helper()
	for _, dir := range modules {
		cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("listing packages of %s: %v\n%s", dir, err, stderr.String())
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p listed
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			pkgs = append(pkgs, p)
		}
	}
	return pkgs
}

// elsewhere is a path out of a package of the main module into another module.
var elsewhere = regexp.MustCompile(`"(\.\./)+(interop|internal/bench|bench)[/"]`)

// TestModulesApart: the main module, which users download without the others,
// reads none of their files.
func TestModulesApart(t *testing.T) {
	for path, want := range map[string]bool{"../../interop/testdata/x": true, "../bench": true, "../testdata/interop/x": false, "../../benches/x": false} {
		if got := elsewhere.MatchString(`"` + path + `"`); got != want {
			t.Errorf("%s is a path into another module: %t, want %t", path, got, want)
		}
	}
	files(t, func(path string, data []byte) {
		path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
		for _, free := range []string{"internal/archtest/", "internal/bench/", "interop/"} {
			if strings.HasPrefix(path, free) {
				return
			}
		}
		if m := elsewhere.Find(data); filepath.Ext(path) == ".go" && m != nil {
			t.Errorf("%s: %s is another module: put what is read beside what reads it", path, m)
		}
	})
}

// linked checks what one package links.
func linked(p listed) []string {
	name := strings.TrimPrefix(p.ImportPath, module)
	var bad []string
	for _, dep := range p.Deps {
		for prefix, why := range banned[name] {
			if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
				bad = append(bad, name+" links "+dep+": "+why)
			}
		}
	}
	return bad
}

func TestLinked(t *testing.T) {
	for _, p := range list(t) {
		for _, bad := range linked(p) {
			t.Error(bad)
		}
	}
}

// TestLinkedFails makes sure that the check can fail.
func TestLinkedFails(t *testing.T) {
	for _, tc := range []struct {
		name string
		pkg  listed
		want string
	}{
		{"banned", listed{ImportPath: module + "mockllm", Deps: []string{"cel.dev/cel-go/cel"}}, "links"},
		{"banned in the mock server", listed{ImportPath: module + "mockmcp", Deps: []string{"go.yaml.in/yaml/v3"}}, "links"},
		{"monitoring", listed{ImportPath: module + "mockllm", Deps: []string{"go.opentelemetry.io/otel/trace"}}, "links"},
		{"an exporter", listed{ImportPath: module + "harness/agent", Deps: []string{"go.opentelemetry.io/otel/sdk/trace"}}, "links"},
		{"banned through another", listed{ImportPath: module + "mockmcp", Deps: []string{module + "internal/match"}}, "links"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(linked(tc.pkg), "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("linked = %q, want one with %q", got, tc.want)
			}
		})
	}
}

// files calls f for every file that git would carry.
func files(t *testing.T, f func(path string, data []byte)) {
	t.Helper()
	skip := map[string]bool{".git": true, "runs": true, "node_modules": true, ".venv": true, ".tools": true, "bin": true, "dist": true}
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

var servesHTTP = regexp.MustCompile(`\bhttp\.(Server\{|Serve(TLS)?\(|ListenAndServe)|\bhttptest\.New(Unstarted)?Server\(`)

// TestHostileListeners finds servers that anybody may ask: those for HTTP come
// from internal/gate, but for tests, measurements and peers of tests.
func TestHostileListeners(t *testing.T) {
	files(t, func(path string, data []byte) {
		path = strings.TrimPrefix(filepath.ToSlash(path), "../../")
		for _, free := range []string{"internal/gate/", "internal/bench/", "interop/"} {
			if strings.HasPrefix(path, free) {
				return
			}
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for line := range bytes.Lines(data) {
			if code, _, _ := bytes.Cut(line, []byte("//")); servesHTTP.Match(code) {
				t.Errorf("%s: %s makes a server of its own; take one from internal/gate", path, bytes.TrimSpace(line))
			}
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
