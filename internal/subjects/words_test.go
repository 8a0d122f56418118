// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package subjects_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/strictyaml"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		`python3 agent.py {prompt}`:               {"python3", "agent.py", "{prompt}"},
		`agent --say "{prompt}" --x='a b' \{ ""`:  {"agent", "--say", "{prompt}", "--x=a b", "{", ""},
		`sh -c 'agent "$1" | tee log' - {prompt}`: {"sh", "-c", `agent "$1" | tee log`, "-", "{prompt}"},
		`agent *.md`: {"agent", "*.md"},
	} {
		got, err := subjects.Words(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":               "the command is empty",
		"agent | tee":    "no shell runs",
		"agent > out":    "no shell runs",
		"agent $KEY":     "it has $KEY or ~, and no shell runs",
		"agent ~/x":      "it has $HOME or ~",
		"agent $(id)":    "no shell runs",
		"agent 'one two": "a quote or a bracket is not closed",
	} {
		if words, err := subjects.Words(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", text, words, err, want)
		}
	}
}

// TestName: a command without a name is called by its words, without folders and
// without what differs from turn to turn.
func TestName(t *testing.T) {
	d, err := subjects.FromWords("/usr/bin/python3 ./a/agent.py --fast {prompt}")
	if err != nil || d.Name != "python3 agent.py --fast" {
		t.Errorf("%+v, %v", d, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`command: [python3, agent.py, "{prompt}"]`)
	f.Add(`{command: "agent '{prompt}'", answer: {jsonl: {when: value.a, text: value.b}}, mcp_file: {form: codex, path: x}, env: {A: 1}, pass_env: [B]}`)
	f.Add(`{http: {url: "http://x/{port}", send: {a: ["{prompt}"]}, answer: value.x, stream: {text: value.data}}, time_limit: 3s, other: [1]}`)
	f.Add(`{name: a, agent: rehearse}`)
	f.Add(`command: 0"{prompt}"0`)
	f.Add(`{preset: codex, env: {A: 1}, names: "{server}_{tool}", asides: [{when: request.tools.size() == 0, say: a}], excuses: {results: b}}`)
	f.Add(`{preset: langgraph, command: [a, "{prompt}"], excuses: 1}`)
	f.Add(`{command: [], resume: x, session: 7, prompt: lines}`)
	f.Fuzz(func(t *testing.T, text string) {
		root, problems := strictyaml.Parse("s.yaml", []byte(text))
		if root == nil || len(problems) > 0 {
			return
		}
		told := 0
		d := subjects.Read(root, subjects.Options{Add: func(_ harness.Position, msg string) {
			if told++; msg == "" {
				t.Error("a mistake without a word")
			}
		}})
		if d != nil && (told > 0 || d.Name == "" && d.Ref == "") {
			t.Errorf("%q: read as %+v, with %d mistakes", text, d, told)
		}
	})
}

// TestSecrets: what a command is handed in secret is known, and is not in its name.
func TestSecrets(t *testing.T) {
	d, err := subjects.FromWords("python3 dir/agent.py --token tokenWORD7781 --api-key=keyWORD7781 --max-tokens 128000 --key {prompt}")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_API_TOKEN", "handedWORD7781")
	t.Setenv("MY_PLACE", "placeWORD7781")
	d.PassEnv = []string{"MY_API_TOKEN", "MY_PLACE"}
	d.Env = map[string]string{"DB_PASSWORD": "envWORD7781", "MODE": "modeWORD7781", "THE_KEY": "{prompt}"}
	d.Resume = []string{"agent", "--secret", "resumeWORD7781"}
	d.HTTP = &subjects.HTTP{Headers: map[string]string{"Authorization": "Bearer bearerWORD7781"}, Start: []string{"serve", "--pass", "startWORD7781"}}
	want := []string{"bearerWORD7781", "envWORD7781", "handedWORD7781", "keyWORD7781", "resumeWORD7781", "startWORD7781", "tokenWORD7781"}
	got := d.Secrets()
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "python3 agent.py --token … --api-key=… --max-tokens 1280… (12 bytes more)"; d.Name != want {
		t.Errorf("its name is %q, want %q", d.Name, want)
	}
}

// TestSettingsPage: docs/subjects.md says what each setting of rehearse's own
// agent does.
func TestSettingsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/subjects.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range subjects.AgentSettings() {
		if text := string(page); !strings.Contains(text, "\n| `"+name+":") && !strings.Contains(text, ", `"+name+":") {
			t.Errorf("the page has no row for %s", name)
		}
	}
}
