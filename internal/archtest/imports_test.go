// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imports says of each package which of our own it imports, and so which it may:
// an import that is not in the table is looked at in review. The first line that
// a package fits counts; one without a line fails. "..." stands for any end.
const imports = `
cassettes: internal/redact harness harness/trials internal/dialect/dialects internal/exactjson internal/filepos internal/key internal/plainfile
	internal/prose internal/recfile internal/redirect internal/shape internal/sse internal/vcr
cassettes/mcptape: internal/redact harness internal/exactjson internal/filepos internal/jsonrpc internal/key
	internal/mcphttp internal/mcpwire internal/plainfile internal/prose internal/recfile internal/shape internal/sse
	internal/value internal/vcr
cmd/rehearse: cassettes cassettes/mcptape internal/redact harness harness/agent harness/agentserver harness/mcppool
	harness/model harness/run internal/stats harness/tools harness/toolserver harness/trials internal/capture internal/dialect internal/dialect/dialects internal/exactjson internal/filepos internal/gate internal/key
	internal/match internal/mcpargs internal/mcpconfig internal/mcpwire internal/mockserver internal/offline internal/plainfile internal/profile
	internal/project internal/prose internal/recfile internal/redirect internal/settings internal/shape internal/sse internal/subjects internal/timeline internal/vcr internal/yamledit mockllm mockllm/fault
	mockmcp mockmcp/fault reports
	scenarios
harness: internal/jsonrpc
harness/agent: harness harness/mcppool harness/model harness/tools internal/breaker internal/dialect/dialects internal/exactjson
	internal/mcpconfig internal/mcpwire internal/prose internal/settings internal/telemetry internal/value
harness/agentserver: harness harness/agent internal/exactjson internal/gate internal/sse
harness/goopenai: harness
harness/mcpgo: harness internal/mcpwire
harness/mcppool: harness internal/breaker internal/exactjson internal/jsonrpc internal/mcphttp internal/mcpwire internal/prose internal/retry internal/telemetry
harness/model: harness internal/dialect internal/dialect/chat internal/dialect/gemini internal/dialect/messages internal/dialect/responses internal/prose internal/redirect internal/retry internal/value
harness/run: cassettes cassettes/mcptape internal/redact harness harness/mcppool harness/model
	harness/score harness/tools
	harness/trials internal/conduct internal/dialect internal/dialect/dialects internal/expr internal/filepos
	internal/gate internal/jsonrpc internal/key internal/mcpconfig internal/mcpwire internal/passthrough internal/plainfile internal/profile
	internal/project internal/prose internal/recfile internal/redirect internal/retry internal/shape internal/toolname internal/trajectory internal/value
	internal/vcr mockllm mockmcp mockmcp/fault reports scenarios
harness/score: harness harness/trials internal/exactjson internal/expr internal/match internal/prose internal/trajectory internal/value
harness/tools: harness harness/mcppool internal/dialect internal/exactjson internal/mcpwire internal/prose internal/schema internal/toolname
	internal/value
harness/toolserver: harness harness/mcppool harness/tools internal/exactjson internal/filepos internal/gate internal/mcpconfig internal/mcpwire internal/plainfile internal/prose internal/redirect internal/schema
	internal/toolname internal/value
harness/trials: harness internal/filepos internal/jsonrpc internal/plainfile internal/prose internal/recfile internal/value
internal/archtest:
internal/bench: harness harness/agent harness/mcppool harness/model
	harness/run harness/tools mockllm mockmcp scenarios
internal/bench/against:
internal/bench/cassettes: cassettes internal/vcr
internal/bench/documents: internal/bench/overlay
internal/bench/mockllm: internal/bench/procstat mockllm
internal/bench/mockmcp: harness harness/mcppool harness/tools internal/bench/procstat mockmcp
internal/bench/mutants: internal/bench/overlay
internal/bench/overlay:
internal/bench/packages:
internal/bench/procstat:
internal/bench/report: harness/trials internal/samplerun
internal/bench/simulate: harness internal/stats
internal/bench/walk: cassettes harness harness/agent harness/run internal/gate internal/mcpwire mockllm mockmcp scenarios
internal/bpe:
internal/breaker:
internal/budget:
internal/capture: cassettes/mcptape internal/redact harness harness/trials internal/dialect internal/dialect/dialects internal/exactjson
	internal/mcpwire internal/prose internal/schema internal/toolname internal/value internal/vcr internal/yamledit internal/yamlnode scenarios
internal/conduct: internal/redact harness harness/trials internal/dialect/dialects internal/exactjson internal/jsonrpc internal/mcpwire internal/prose
	internal/schema internal/toolname internal/trajectory internal/value
internal/cues: internal/prose
internal/dialect: harness internal/exactjson internal/prose internal/sse internal/toolname
internal/dialect/chat: harness internal/dialect internal/exactjson internal/sse internal/toolname
internal/dialect/dialects: internal/dialect internal/dialect/chat internal/dialect/gemini internal/dialect/messages
	internal/dialect/responses
internal/dialect/gemini: harness internal/dialect internal/sse internal/value
internal/dialect/messages: harness internal/dialect internal/sse
internal/dialect/responses: harness internal/dialect internal/sse internal/toolname
internal/exactjson: internal/value
internal/expr: harness internal/filepos internal/prose internal/value
internal/faults: internal/prose
internal/filepos: harness
internal/gate:
internal/jsonrpc:
internal/key: internal/prose internal/value
internal/match: harness harness/trials internal/expr internal/prose internal/schema internal/value
internal/look:
internal/mcpargs: internal/exactjson internal/prose internal/value
internal/mcpconfig: harness internal/exactjson internal/filepos internal/plainfile internal/prose internal/strictyaml
internal/mcphttp: harness internal/exactjson internal/jsonrpc internal/mcpwire internal/prose internal/redirect internal/sse
internal/mcpmatrix: mockmcp mockmcp/fault
internal/mcpwire: harness internal/exactjson internal/jsonrpc internal/prose internal/redirect internal/value
internal/mockserver: harness harness/score harness/trials internal/budget internal/cues internal/exactjson internal/expr internal/gate internal/jsonrpc
	internal/look internal/match internal/profile internal/prose internal/toolname internal/trajectory internal/value mockllm
	mockllm/fault mockmcp reports
internal/offline:
internal/passthrough: harness internal/exactjson internal/mcphttp internal/mcpwire internal/sse
internal/plainfile:
internal/profile: internal/dialect internal/dialect/chat internal/dialect/gemini internal/dialect/messages internal/exactjson
internal/project: harness harness/trials internal/dialect/dialects internal/key internal/plainfile internal/prose internal/strictyaml internal/subjects
internal/prose:
internal/recfile:
internal/recfile/recfiletest:
internal/redact: internal/key internal/sse internal/value internal/vcr
internal/redirect:
internal/retry:
internal/samplerun: harness harness/trials internal/jsonrpc
internal/schema: internal/value
internal/settings: harness internal/filepos internal/mcpconfig internal/plainfile internal/project internal/prose internal/strictyaml internal/subjects
internal/shape: harness internal/dialect internal/dialect/chat internal/dialect/gemini internal/dialect/messages
	internal/dialect/responses internal/sse internal/value internal/vcr
internal/sse:
internal/stats: harness
internal/strictyaml: harness internal/prose internal/value
internal/subjects: harness internal/conduct internal/dialect/dialects internal/expr internal/mcpconfig internal/mcpwire internal/plainfile internal/prose internal/redact internal/redirect internal/sse internal/strictyaml
	internal/value
internal/telemetry: harness harness/model
internal/timeline: cassettes/mcptape internal/mcpwire internal/prose internal/shape internal/value internal/vcr
internal/toolname: harness internal/prose
internal/trajectory: harness internal/value
internal/value:
internal/yamledit:
internal/yamlnode: internal/value
internal/vcr: harness internal/exactjson internal/filepos internal/plainfile internal/recfile internal/value
interop:
interop/agents: harness harness/trials internal/prose internal/subjects
interop/argo: harness harness/agent harness/run harness/trials internal/dialect internal/shape mockllm scenarios
interop/cases: internal/prose
interop/live:
mockllm: harness internal/bpe internal/cues internal/dialect internal/dialect/chat internal/dialect/dialects
	internal/dialect/gemini internal/dialect/messages internal/dialect/responses internal/exactjson internal/filepos internal/gate
	internal/profile internal/prose internal/schema internal/toolname internal/value mockllm/fault
mockllm/fault: harness internal/faults
mockmcp: harness internal/budget internal/cues internal/filepos internal/gate internal/jsonrpc internal/mcpwire
	internal/plainfile internal/prose internal/schema internal/sse internal/value mockmcp/fault
mockmcp/fault: harness internal/faults internal/prose
reports: harness harness/trials internal/look internal/prose internal/stats internal/value internal/yamlnode
scenarios: harness harness/score harness/trials internal/conduct internal/dialect internal/dialect/dialects internal/exactjson internal/expr internal/filepos
	internal/gate internal/jsonrpc internal/key internal/match internal/mcpconfig internal/mcpwire internal/plainfile internal/profile internal/project
	internal/prose internal/strictyaml internal/subjects internal/toolname internal/value mockllm mockllm/fault mockmcp mockmcp/fault
`

// allowed reads the table: what a package may import, and whether it has a line.
func allowed(table, name string) (deps []string, ok bool) {
	for line := range strings.SplitSeq(strings.ReplaceAll(table, "\n\t", " "), "\n") {
		pattern, list, found := strings.Cut(line, ":")
		if found && fits(pattern, name) {
			return strings.Fields(list), true
		}
	}
	return nil, false
}

// fits reports whether a name fits a pattern of the table.
func fits(pattern, name string) bool {
	begin, open := strings.CutSuffix(pattern, "...")
	return open && strings.HasPrefix(name, begin) || pattern == name
}

// misplaced lists the imports of a package that a table does not have.
func misplaced(table string, p listed) []string {
	name := strings.TrimPrefix(p.ImportPath, module)
	deps, ok := allowed(table, name)
	if !ok {
		return []string{name + ": no line in the table of imports; add one and say in docs/design.md what the package owns"}
	}
	var bad []string
next:
	for _, imp := range p.Imports {
		dep, own := strings.CutPrefix(imp, module)
		if !own {
			if outside, _, _ := strings.Cut(imp, "/"); name == "harness" && strings.Contains(outside, ".") {
				bad = append(bad, "harness imports "+imp+"; it may use the standard library only")
			}
			continue
		}
		for _, pattern := range deps {
			if fits(pattern, dep) {
				continue next
			}
		}
		bad = append(bad, name+" imports "+dep+", which its line in the table of imports does not have")
	}
	return bad
}

// stale lists what a table has and no package does: an import that is gone would
// let the next one in unseen.
func stale(table string, pkgs []listed) (bad []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(table, "\n\t", " ")), "\n") {
		pattern, deps, _ := strings.Cut(line, ":")
		var imported []string
		found := false
		for _, p := range pkgs {
			if name := strings.TrimPrefix(p.ImportPath, module); fits(pattern, name) {
				found, imported = true, append(imported, p.Imports...)
			}
		}
		if !found {
			bad = append(bad, "the table of imports has a line for "+pattern+", which is no package")
			continue
		}
		for dep := range strings.FieldsSeq(deps) {
			if !slices.ContainsFunc(imported, func(imp string) bool { return fits(dep, strings.TrimPrefix(imp, module)) }) {
				bad = append(bad, "the table of imports lets "+pattern+" import "+dep+", which it does not")
			}
		}
	}
	return bad
}

// TestStale makes sure that the check can fail.
func TestStale(t *testing.T) {
	pkgs := []listed{{ImportPath: module + "a", Imports: []string{module + "b"}}}
	for table, want := range map[string]int{"\na: b\n": 0, "\na: b c\n": 1, "\na: b\nd:\n": 1, "\na:\n\tb\n": 0} {
		if got := stale(table, pkgs); len(got) != want {
			t.Errorf("%q: %q, want %d", table, got, want)
		}
	}
}

// never says which imports no table may have, and why.
var never = []struct{ from, to, why string }{
	{"harness/run", "harness/agent", "the runner knows subjects by their interface"},
	{"harness/score", "mock...", "what judges reads journals"},
	{"internal/conduct", "mock...", "what judges reads journals"},
	{"internal/trajectory", "mock...", "what judges reads journals"},
	{"mockllm...", "mockmcp...", "the two mocks know nothing of each other"},
	{"mockmcp...", "mockllm...", "the two mocks know nothing of each other"},
	{"mock...", "harness/...", "a fake never imports the client it fakes for"},
	{"reports", "harness/run", "reports are a function of files"},
	{"harness...", "cmd/...", "a command is nobody's library"},
	{"mock...", "scenarios", "the language is above what it compiles to"},
}

func TestImportTable(t *testing.T) {
	pkgs := list(t)
	for _, bad := range stale(imports, pkgs) {
		t.Error(bad)
	}
	for _, p := range pkgs {
		for _, bad := range misplaced(imports, p) {
			t.Error(bad)
		}
		for _, rule := range never {
			for _, imp := range p.Imports {
				if dep, own := strings.CutPrefix(imp, module); own && fits(rule.from, strings.TrimPrefix(p.ImportPath, module)) && fits(rule.to, dep) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, rule.why)
				}
			}
		}
	}
	// The table does not allow what a rule forbids.
	for line := range strings.Lines(strings.ReplaceAll(imports, "\n\t", " ")) {
		name, deps, _ := strings.Cut(line, ":")
		for _, rule := range never {
			for dep := range strings.FieldsSeq(deps) {
				if fits(rule.from, name) && fits(rule.to, dep) {
					t.Errorf("the table lets %s import %s: %s", name, dep, rule.why)
				}
			}
		}
	}
}

// TestMisplaced makes sure that the check can fail.
func TestMisplaced(t *testing.T) {
	for _, tc := range []struct {
		name, from, to, want string
	}{
		{"no line", "harness/nowhere", "harness", "no line"},
		{"the runner and a subject", "harness/run", "harness/agent", "does not have"},
		{"a scorer and a mock", "harness/score", "mockllm", "does not have"},
		{"conduct and a mock", "internal/conduct", "mockmcp/fault", "does not have"},
		{"a mock and the language", "mockllm", "scenarios", "does not have"},
		{"the other mock", "mockllm", "mockmcp", "does not have"},
		{"the vocabulary", "harness", "internal/value", "does not have"},
		{"what is allowed", "harness/run", "scenarios", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(misplaced(imports, listed{ImportPath: module + tc.from, Imports: []string{module + tc.to}}), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("misplaced = %q, want %q", got, tc.want)
			}
		})
	}
	const first = "a/b: x\n\ty\na/...: z\n"
	for name, want := range map[string]string{"a/b": "x y", "a/c/d": "z", "b": ""} {
		if deps, _ := allowed(first, name); strings.Join(deps, " ") != want {
			t.Errorf("%s may import %q, want %q", name, deps, want)
		}
	}
}

// maxLines is how long a file may be, maxHelper how long the code of a package
// in another language, which holds no logic.
const (
	maxLines  = 600
	maxHelper = 299
)

func TestFileLength(t *testing.T) {
	helpers := 0
	files(t, func(path string, data []byte) {
		n := strings.Count(string(data), "\n")
		if filepath.Ext(path) == ".go" && n > maxLines {
			t.Errorf("%s has %d lines: split it by subject, %d are the most", path, n, maxLines)
		}
		switch filepath.Base(path) {
		case "pytest_rehearse.py", "vitest.js":
			helpers++
			if n > maxHelper {
				t.Errorf("%s has %d lines: what it does belongs into the program, %d are the most", path, n, maxHelper)
			}
		}
	})
	if helpers != 2 {
		t.Errorf("found the helpers of %d packages, want 2", helpers)
	}
}
