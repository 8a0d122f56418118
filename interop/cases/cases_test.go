// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runAll is a run-all.sh that plays one folder.
const runAll = "#!/bin/sh\n[ -f \"$1/run.sh\" ] && sh \"$1/run.sh\"\necho '1 passed, 0 failed'\n"

// TestCommand plays folders of inputs with each fault that it has to find.
func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		name    string
		folders map[string]string // run.sh by folder; empty has none
		excused string
		args    []string
		problem string // part of the error; empty passes
		printed string
	}{
		{"all pass", map[string]string{"1-a": "echo PASS 1-a: one", "2-b": "echo PASS 2-b: two"}, "", nil, "", "2 folders: 2 checks passed, 0 failed"},
		{"one fails", map[string]string{"1-a": "echo PASS 1-a: one; echo FAIL 1-a: two"}, "", nil, "FAIL 1-a: two", "FAIL 1-a: two"},
		{"one fails and is excused", map[string]string{"1-a": "echo 'FAIL 1-a: two (rc 1)'"}, "1-a: two\n  it is wrong\n", nil, "", "excused 1-a: two (rc 1) (it is wrong)"},
		{"an excused one passes", map[string]string{"1-a": "echo PASS 1-a: two"}, "1-a: two\n  it is wrong\n", nil, "excused.txt:1: excused, and passes: 1-a: two", ""},
		{"one that passes by chance", map[string]string{"1-a": "echo PASS 1-a: two; echo FAIL 1-a: two"}, "? 1-a: two\n  luck\n", nil, "", "excused 1-a: two (luck)"},
		{"an excuse of nothing", map[string]string{"1-a": "echo PASS 1-a: two"}, "1-a: three\n  it is wrong\n", nil, "there is no such check: 1-a: three", ""},
		{"the beginning of a longer word", map[string]string{"1-a": "echo FAIL 1-a: twofold"}, "1-a: two\n  it is wrong\n", nil, "FAIL 1-a: twofold", ""},
		{"a folder prints no check", map[string]string{"1-a": "echo PASS 1-a: one", "2-b": "echo oops; exit 1"}, "", nil, "2-b: it printed no check", ""},
		{"a folder has no run.sh", map[string]string{"1-a": "echo PASS 1-a: one", "2-b": ""}, "", nil, "2-b: it printed no check", ""},
		{"a folder that is not played", map[string]string{"1-a": "echo PASS 1-a: one", "hostile": ""}, "", nil, "", "hostile is not played"},
		{"some", map[string]string{"1-a": "echo PASS 1-a: one", "2-b": "echo FAIL 2-b: two"}, "2-b: other\n  not played\n", []string{"1*"}, "", "1 folders: 1 checks passed"},
		{"none", map[string]string{"1-a": "echo PASS 1-a: one"}, "", []string{"9*"}, "has no folder to play", ""},
		{"an input writes beside itself", map[string]string{"1-a": "touch 1-a/made && echo PASS 1-a: one"}, "", nil, "", "1 checks passed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			cases, excused := filepath.Join(dir, "cases"), filepath.Join(dir, "excused.txt")
			write(t, filepath.Join(cases, "run-all.sh"), runAll)
			for name, script := range tc.folders {
				file := "run.sh"
				if script == "" {
					file = "input.yaml"
				}
				write(t, filepath.Join(cases, name, file), script)
			}
			write(t, excused, tc.excused)
			before := tree(t, cases)
			var out bytes.Buffer
			err := command(t.Context(), append([]string{"-cases", cases, "-excused", excused}, tc.args...), &out)
			switch {
			case tc.problem == "" && err != nil:
				t.Errorf("it failed: %v", err)
			case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("error %v, want one about %q", err, tc.problem)
			}
			if !strings.Contains(out.String(), tc.printed) {
				t.Errorf("it printed\n%swant %q", out.String(), tc.printed)
			}
			if diff := cmp.Diff(before, tree(t, cases)); diff != "" {
				t.Errorf("the folder has changed (-want +got):\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReadExcuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"good", "# about\n\na: one * two\n  because\n  of that\n", ""},
		{"no reason", "a: one\nb: two\n  because\n", "excused.txt:1: a: one: an excuse needs a reason"},
		{"a reason first", "  because\n", "excused.txt:1: a reason without a check"},
		{"no folder", "one\n  because\n", "excused.txt:1: want FOLDER"},
		{"a whole folder", "a: *\n  because\n", "excused.txt:1: no folder is excused as a whole"},
		{"any folder", "*: one\n  because\n", "excused.txt:1: no folder is excused as a whole"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "excused.txt"), tc.text)
			list, err := readExcuses(filepath.Join(dir, "excused.txt"))
			if tc.want == "" {
				if err != nil || len(list) != 1 || list[0].reason != "because of that" {
					t.Errorf("%v, %v", list, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestNormal: an excuse holds whatever folder, port and time a run has.
func TestNormal(t *testing.T) {
	e := &excuse{pattern: patternOf("a: * is read from … in …")}
	l := line{text: "a: the file is read from /tmp/tmp.Xy12/case.yaml in 12 ms (rc 1)"}
	if excuseFor([]*excuse{e}, l) != e {
		t.Errorf("%q is not excused: %q", l.text, normal(l.text))
	}
}

// TestJudges has what a script prints when all is right, and what it prints
// when it is not.
func TestJudges(t *testing.T) {
	names := "weather.get_weather  offered get_weather                  -> 200 get_weather | {\"passed\":true}\n"
	for _, tc := range []struct {
		name     string
		judge    func(*checks, string)
		out      string
		ok, fail int
	}{
		{"wrapped", judgeWrapped, "It is sunny.\nIt is sunny.\nIt is sunny.\nIt is sunny.\n", 4, 0},
		{"wrapped, one wrong", judgeWrapped, "It is sunny.\nno key\nIt is sunny.\n", 2, 2},
		{"thread", judgeThread, `{"type":"message","content":[{"type":"tool_use","name":"get_weather"}]} {"type":"message","content":[{"type":"text","text":"Done: sunny"}]}`, 2, 0},
		{"thread refused", judgeThread, `{"type":"error","error":{"type":"invalid_request_error"}}`, 0, 2},
		{"system", judgeSystemRole, `{"content":[{"type":"thinking"},{"type":"tool_use","name":"get_weather"}]}`, 1, 0},
		{"system refused", judgeSystemRole, `{"error":{"type":"x"}}`, 0, 1},
		{"names", judgeNames, strings.Repeat(names, 14), 15, 0},
		{"another tool", judgeNames, strings.Repeat(strings.Replace(names, "-> 200 get_weather", "-> 200 get_time", 1), 14), 1, 14},
		{"names missing", judgeNames, "", 0, 1},
		{"not offered", judgeNotOffered, `{"error": {"type": "rehearse_miss", "message": "get_wether"}} {"passed":false}`, 2, 0},
		{"not offered, and called", judgeNotOffered, `{"choices": []} {"passed":true}`, 0, 2},
		{"pipe", judgePipe, "done 1499 1.0\nb'{\"status\":\"healthy\"}'\nexit 1\n", 3, 0},
		{"pipe full", judgePipe, "request 144 TimeoutError timed out\ndone 144 5.1\nhealth TimeoutError\nterminate: TimeoutExpired\n", 0, 3},
		{"strict", judgeStrictGemini, "{}\n 200\n}\n 200\n", 2, 0},
		{"strict refuses", judgeStrictGemini, "{}\n 422\n}\n 200\n", 1, 1},
		{"keys", judgeUnknownKeys, strings.Repeat("responses {\"foo\":1,\"input\":[\n   400\n", 6), 7, 0},
		{"key taken", judgeUnknownKeys, strings.Repeat("responses {\"foo\":1,\"input\":[\n   200\n", 6), 1, 6},
		{"parts", judgeUserParts, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"get_weather"}}]}}]}`, 1, 0},
		{"parts missed", judgeUserParts, `{"error":{"message":"x"}}`, 0, 1},
		{"refusals", judgeRefusals, "== chat\n!! " + pad("a") + " real 400 mock 200 ''\n   " + pad("b") + " real 400 mock 400 'x'\n", 1, 2},
		{"refusals, a miss was taken", judgeRefusals, "== chat\n!! " + pad("a") + " real 200 mock 422 'nothing scripted fits the request: x'\n", 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &checks{folder: "clients"}
			tc.judge(c, tc.out)
			passed := 0
			for _, l := range c.lines {
				if l.passed {
					passed++
				}
			}
			if passed != tc.ok || len(c.lines)-passed != tc.fail {
				t.Errorf("%d passed and %d failed, want %d and %d: %+v", passed, len(c.lines)-passed, tc.ok, tc.fail, c.lines)
			}
		})
	}
}

func pad(s string) string { return s + strings.Repeat(" ", 45-len(s)) }
