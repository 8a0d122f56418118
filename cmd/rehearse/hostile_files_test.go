// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const (
	okFile = "scenario: x\nturns: [{user: hi, replies: [{say: hi}], expect: [{answer: {contains: [hi]}}]}]\n"
	// mockFile plays with a server file beside it.
	withMock = "scenario: x\nservers: {s: {mock: %s}}\nturns: [{user: hi, replies: [{say: hi}], expect: [{answer: {contains: [hi]}}]}]\n"
	// oneTool is a server file with one result.
	oneTool = "server: s\ntools:\n  - name: t\n    results: [%s]\n"
)

// hostileFile is one that is no scenario, or too much of one.
type hostileFile struct {
	name, text string
	want       string // what check and run both say; empty where it is enough that they end
	// make makes what stands beside f.yaml, or in its place.
	make func(t *testing.T, dir string)
	// passes says that check has nothing but doubts about it.
	passes bool
}

// rows repeats a line with its number in it.
func rows(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// within puts an expression into that of a scenario.
func within(that string) string {
	return fmt.Sprintf("scenario: x\nturns:\n  - user: hi\n    replies: [{say: hi}]\n    expect:\n      - that: %q\n", that)
}

// loops is a condition of ten to the power of depth rounds.
func loops(depth int) string {
	return strings.Repeat("[0,1,2,3,4,5,6,7,8,9].all(a, ", depth) + "a >= 0" + strings.Repeat(")", depth)
}

// growth is a value made of ten of itself, again and again.
func growth(of string, depth int) string {
	for i := range depth {
		v := fmt.Sprintf("v%d", i)
		of = fmt.Sprintf("[%s].map(%s, %s)[0]", of, v, v+strings.Repeat("+"+v, 9))
	}
	return of
}

func bomb() string {
	text := "scenario: bomb\nturns: [{user: hi, replies: [{say: hi}]}]\nservers:\n  a: {tools: &a [x, x, x, x, x, x, x, x, x, x]}\n"
	for c := 'b'; c < 'k'; c++ {
		text += fmt.Sprintf("  %c: {tools: &%c [%s*%c]}\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	return text
}

// texts are files that are read, and refused.
func hostileTexts() []hostileFile {
	const ok = "scenario: x\nturns: [{user: hi, replies: [{say: hi}]}]\n"
	return []hostileFile{
		{name: "alias of itself", text: ok + "servers: &a [*a]\n", want: "f.yaml:3:14: alias *a stands inside the value it names"},
		{name: "alias bomb", text: bomb(), want: "aliases stand for more than 10000 values in this file: write them out, or use fewer"},
		{name: "50 MB", text: "scenario: x\ndescription: |\n" + strings.Repeat("  "+kilo("x")+"\n", 50_000), want: "f.yaml:1:1: the file exceeds the limit of 8388608 bytes: split it, or keep large texts out of it"},
		{name: "empty", text: "", want: "f.yaml:1:1: the file is empty"},
		{name: "zeros", text: strings.Repeat("\x00", 1000), want: "f.yaml:1:1: "},
		{name: "binary", text: "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00", want: "f.yaml:1:1: the file is binary: save it as text in UTF-8"},
		{name: "UTF-16", text: "\xff\xfes\x00c\x00", want: "f.yaml:1:1: the file is UTF-16: save it as text in UTF-8"},
		{name: "Latin-1", text: "scenario: caf\xe9\n", want: "f.yaml:1:"},
		{name: "binary in a text", text: "scenario: x\ndescription: \"a\x00b\"\n", want: "f.yaml:2:16: control character U+0000: write it as an escape between double quotes"},
		{name: "deep, open", text: strings.Repeat("[", 1_000_000), want: "f.yaml:1:10001: nested far more than 200 deep: is this YAML?"},
		{name: "deep, open, in a scenario", text: "scenario: x\nservers: " + strings.Repeat("[", 100_000), want: "f.yaml:2:10010: nested far more than 200 deep: is this YAML?"},
		{name: "deep, closed", text: "scenario: x\nservers: " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), want: "f.yaml:2:209: nested more than 200 deep: put a part into a text, or leave it out"},
		{name: "deep maps", text: "scenario: x\nservers: " + strings.Repeat("{a: ", 5_000) + strings.Repeat("}", 5_000), want: "f.yaml:2:"},
		{name: "deep dashes", text: "scenario: x\nservers:\n  " + strings.Repeat("- ", 500_000), want: "f.yaml:3:20001: nested far more than 200 deep: is this YAML?"},
		{name: "deep expression", text: strings.Replace(ok, "say: hi", `say: "{{ `+strings.Repeat("(", 1000)+"1"+strings.Repeat(")", 1000)+` }}"`, 1), want: "f.yaml:2:"},
		{name: "long expression", text: strings.Replace(ok, "say: hi", `say: "{{ `+strings.Repeat("1+", 100_000)+`1 }}"`, 1), want: "f.yaml:2:"},
		{name: "open expressions", text: strings.Replace(ok, "say: hi", `say: "`+strings.Repeat("{{turn", 16_000)+`"`, 1), want: "f.yaml:2:"},
		{name: "ends of expressions", text: strings.Replace(ok, "say: hi", `say: "{{`+strings.Repeat("}}", 16_000)+`"`, 1), want: "f.yaml:2:"},
		{name: "long key", text: ok + `"` + strings.Repeat("k", 1000) + "\": 1\n", want: "f.yaml:3:1: unknown key"},
		{name: "16000 unknown keys", text: ok + rows(16_000, "k%d: 1\n"), want: "and 15800 more mistakes"},
		{name: "16000 unknown keys of a server", text: "server: w\ntools: [{name: a, results: [{text: x}]}]\n" + rows(16_000, "k%d: 1\n"), want: "f.yaml:3:1: unknown key \"k0\""},
		{name: "16000 unknown keys of replies", text: "scenario: x\nturns:\n  - user: hi\n    replies:\n" + rows(16_000, "      - {say: a, sya%d: 1}\n"), want: "f.yaml:5:18: unknown key \"sya0\""},
		{name: "16000 duplicate keys", text: ok + strings.Repeat("k: 1\n", 16_000), want: "f.yaml:4:1: duplicate key"},
		{name: "16000 merge keys", text: ok + strings.Repeat("<<: {a: 1}\n", 16_000), want: "f.yaml:3:1: merge keys are not supported"},
		{name: "16000 items of a wrong type", text: "scenario: x\nturns:\n" + strings.Repeat("  - 1\n", 16_000), want: "f.yaml:3:5: "},
		{name: "16000 tools of one name", text: "server: s\ntools:\n" + strings.Repeat("  - {name: t, results: [{text: x}]}\n", 16_000), want: "f.yaml:4:12: the tool \"t\" already exists"},
		{name: "16000 cases of one name", text: "scenario: x\ncases:\n" + strings.Repeat("  - {name: same, vars: {a: 1}}\n", 16_000) + "turns: [{user: hi, replies: [{say: hi}]}]\n", want: "f.yaml:4:"},
		{name: "2000 unknown names", text: "scenario: x\nturns:\n  - user: hi\n    replies: [{say: hi}]\n    expect:\n" + rows(2_000, "      - that: trajektory%d.size() > 1\n"), want: "f.yaml:6:15: unknown name"},
		{name: "16000 faults", text: "scenario: x\nmodel: {faults: [" + rows(16_000, "{kind: fault%d}, ") + "]}\n", want: "f.yaml:2:25: "},
		{name: "16000 conduct checks", text: ok + "conduct: {" + rows(16_000, "ch%d: off, ") + "}\n", want: "f.yaml:3:11: unknown conduct check \"ch0\""},
		{name: "long wrong value", text: ok + "limits: {time: " + strings.Repeat("9", 2_000_000) + "}\n", want: `f.yaml:3:16: "time" needs a duration`},
		{name: "open quotes", text: ok + strings.Repeat("a: \"x\n", 8_000), want: "f.yaml:3:"},
		{name: "open maps", text: ok + strings.Repeat("servers: {a: [b, {c: \n", 8_000), want: "f.yaml:3:"},
		{name: "tabs", text: ok + strings.Repeat("\tx: 1\n", 8_000), want: "f.yaml:3:1: not YAML"},
		{name: "numbers of no JSON", text: ok + "vars: [" + strings.Repeat("01, ", 16_000) + "]\n", want: "f.yaml:3:"},
		{name: "a tag", text: ok + "servers: !!python/object {}\n", want: "f.yaml:3:10: unknown tag"},
		{name: "two documents", text: ok + "---\n" + ok, want: "f.yaml:3:1: a second document"},
		{name: "schema of no type", text: fmt.Sprintf(oneTool, "{text: x}") + "    input: {type: object, properties: {" + rows(16_000, "k%d: {type: strng}, ") + "}}\n", want: "f.yaml:5:"},
		{name: "schema that refers to itself", text: ok + `servers: {s: {tools: [{name: t, description: d, input: {$ref: "#"}, results: [{text: x}]}]}}` + "\n"},
		{name: "an endless pattern", text: within("result.matches('" + strings.Repeat("(a{1,1000}){1,1000}", 50) + "')"), want: "f.yaml:6:"},
		{name: "a pattern of a text", text: strings.Replace(okFile, "contains: [hi]", "regex: '(a{1,1000}){1,1000}'", 1), want: "f.yaml:2:"},
	}
}

// hostileValues are files that load, and take too much when they are checked or
// played.
func hostileValues() []hostileFile {
	const steps = "f.yaml:6:15: warning: it reads nothing that could change and cannot be computed: it takes "
	say := func(text string) string { return strings.Replace(okFile, "say: hi", "say: '"+text+"'", 1) }
	return []hostileFile{
		{name: "loops", text: within(loops(10)), want: steps, passes: true},
		{name: "loops in a reply", text: say("{{" + loops(10) + "}}"), want: "f.yaml:2:36: ", passes: true},
		{name: "loops that read", text: within(strings.Replace(loops(10), "a >= 0", "a + journal.model_calls >= 0", 1)), passes: true},
		{name: "many loops", text: "scenario: x\nturns:\n  - user: hi\n    replies: [{say: hi}]\n    expect:\n" + strings.Repeat("      - that: \""+loops(7)+"\"\n", 60), want: "f.yaml:6:15: ", passes: true},
		{name: "a text of itself", text: within(`size(` + growth("'x'", 9) + `) > 5`), want: "f.yaml:6:15: ", passes: true},
		{name: "a text of itself in a reply", text: strings.Replace(okFile, "say: hi", `say: "{{size(`+growth("'x'", 9)+`)}}"`, 1), want: "f.yaml:2:36: ", passes: true},
		{name: "a list of itself", text: within(`size(` + growth("[1]", 9) + `) > 5`), want: "f.yaml:6:15: ", passes: true},
		{name: "bytes of themselves", text: within(`size(` + growth("b'x'", 9) + `) > 5`), want: "f.yaml:6:15: ", passes: true},
		{name: "a format of a million digits", text: within(`'%.1000000f'.format([1.0]) == ''`), want: "f.yaml:6:"},
		{name: "replace upon replace", text: within(`size('` + strings.Repeat("a", 10_000) + `'.replace('a', '` + strings.Repeat("a", 10_000) + `')) > 1`), want: "f.yaml:6:15: ", passes: true},
	}
}

// hostileKinds are no files at all, or stand beside the one that names them.
func hostileKinds() []hostileFile {
	pipe := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(to, name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	hole := func(name string) func(*testing.T, string) { // of a terabyte
		return func(t *testing.T, dir string) {
			f, err := os.Create(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(1 << 40); err != nil {
				t.Skipf("no such large file here: %v", err)
			}
		}
	}
	const device = "it is a device, and only regular files are read"
	return []hostileFile{
		{name: "pipe", make: pipe("f.yaml"), want: "f.yaml:1:1: it is a pipe, and only regular files are read"},
		{name: "device", make: link("/dev/zero", "f.yaml"), want: "f.yaml:1:1: " + device},
		{name: "socket", make: func(t *testing.T, dir string) {
			if err := syscall.Mknod(filepath.Join(dir, "f.yaml"), syscall.S_IFSOCK|0o600, 0); err != nil {
				t.Skipf("no sockets without an owner here: %v", err)
			}
		}, want: "f.yaml:1:1: it is a socket"},
		{name: "link to itself", make: link("f.yaml", "f.yaml"), want: "f.yaml: "},
		{name: "link to nothing", make: link("nothing", "f.yaml"), want: "f.yaml: "},
		{name: "a terabyte", make: hole("f.yaml"), want: "f.yaml:1:1: the file exceeds the limit of 8388608 bytes"},
		{name: "suite of a pipe", text: okFile, make: pipe("suite.yaml"), want: "suite.yaml:1:1: it is a pipe"},
		{name: "suite of a device", text: okFile, make: link("/dev/zero", "suite.yaml"), want: "suite.yaml:1:1: " + device},
		{name: "mock of a pipe", text: fmt.Sprintf(withMock, "m.yaml"), make: pipe("m.yaml"), want: `f.yaml:2:21: "m.yaml": it is a pipe`},
		{name: "mock of a device", text: fmt.Sprintf(withMock, "/dev/zero"), want: `f.yaml:2:21: "/dev/zero": ` + device},
		{name: "mock of a folder", text: fmt.Sprintf(withMock, "."), want: `f.yaml:2:21: "." is a folder`},
		{name: "mock of a terabyte", text: fmt.Sprintf(withMock, "m.yaml"), make: hole("m.yaml"), want: `f.yaml:2:21: "m.yaml" is not a server file: the file exceeds the limit of 8388608 bytes`},
		{name: "result of a device", text: "scenario: x\n" + inScenario(fmt.Sprintf(oneTool, "{file: /dev/zero}")), want: `"/dev/zero": ` + device},
		{name: "result of a pipe", text: "scenario: x\n" + inScenario(fmt.Sprintf(oneTool, "{file: p}")), make: pipe("p"), want: `"p": it is a pipe`},
		{name: "result of a terabyte", text: "scenario: x\n" + inScenario(fmt.Sprintf(oneTool, "{file: h}")), make: hole("h"), want: `"h" has more than 67108864 bytes`},
	}
}

// inScenario makes a server file one of the servers of a scenario.
func inScenario(file string) string {
	tools := strings.TrimPrefix(file, "server: s\n")
	return "servers:\n  s:\n    " + strings.ReplaceAll(strings.TrimSpace(tools), "\n", "\n    ") +
		"\nturns: [{user: hi, replies: [{say: hi}], expect: [{answer: {contains: [hi]}}]}]\n"
}

// TestHostileFiles has files that are no scenarios, or too much of one, checked
// and played: both end, within bounds, with a message that says where.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	all := slices.Concat(hostileTexts(), hostileValues(), hostileKinds())
	if os.Getuid() != 0 { // root may read every file
		all = append(all, hostileFile{name: "result that nobody may read", text: "scenario: x\n" + inScenario(fmt.Sprintf(oneTool, "{file: no}")), make: func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "no"), nil, 0); err != nil {
				t.Fatal(err)
			}
		}, want: `"no": permission denied`})
	}
	if len(all) < 60 {
		t.Errorf("%d files, want 60", len(all))
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if f.text != "" || f.make == nil {
				put(t, dir, "f.yaml", f.text)
			}
			if f.make != nil {
				f.make(t, dir)
			}
			for _, command := range []string{"check", "run"} {
				e := rehearse(t, dir, command, "f.yaml")
				e.within(t, maxMemoryOfFile)
				if f.want == "" {
					continue // enough that it ends
				}
				out := e.stdout + e.stderr
				if !strings.Contains(out, f.want) {
					t.Errorf("%s: exit code %d, want %q:\n%s", command, e.code, f.want, cut(out))
				}
				if !f.passes && e.code != int(exitUsage) {
					t.Errorf("%s: exit code %d, want %d:\n%s", command, e.code, exitUsage, cut(out))
				}
				if len(out) > 40_000 {
					t.Errorf("%s: the message has %d bytes", command, len(out))
				}
			}
		})
	}
}

// TestHostileSuite checks a suite file that stands alone: it is valid.
func TestHostileSuite(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "suite.yaml", "suite: x\nlimits: {model_calls: 5}\n")
	e := inProcess(t, dir, "check", filepath.Join(dir, "suite.yaml"))
	if e.code != int(exitPassed) || !strings.Contains(e.stdout, "1 suite file") {
		t.Errorf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
	}
	put(t, dir, "suite.yaml", "suite: x\nlimitss: {}\n")
	if e := inProcess(t, dir, "check", filepath.Join(dir, "suite.yaml")); e.code != int(exitUsage) {
		t.Errorf("a suite with a mistake: exit code %d", e.code)
	}
}
