// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestDocs loads every YAML block of the documentation without a doubt, and
// plays the scenarios among them with our own agent.
//
// The files of a page stand in one folder. A block whose first line is a
// comment of a path is that file; one that begins with no key of a file is a
// fragment, and is put into a scenario.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, page := range append(pages, "../README.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			server, err := os.ReadFile("../cmd/rehearse/init/server.yaml") // which the README's scenario names
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "weather.yaml"), string(server))
			for _, b := range yamlBlocks(string(text)) {
				name, whole := b.file()
				write(t, filepath.Join(dir, name), whole)
			}
			played += playDocs(t, dir)
		})
	}
	if played < 9 {
		t.Errorf("%d scenarios were played: the blocks are no longer found", played)
	}
}

func playDocs(t *testing.T, dir string) int {
	set, err := scenarios.Load([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range set.Notes {
		t.Error(note)
	}
	for _, p := range set.Check() {
		if !strings.Contains(p.Pos.File, fragment) {
			t.Error(p)
		}
	}
	var list []*scenarios.Scenario
	for _, s := range set.Scenarios {
		if !strings.Contains(s.Pos.File, fragment) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return 0
	}
	res, err := run.Run(t.Context(), list, &run.Options{Subject: agent.Subject(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range res.Records {
		if rec.Outcome != harness.OutcomePassed {
			t.Errorf("%s: %s: %+v", rec.Scenario, rec.Outcome, rec.Cause)
		}
	}
	return len(res.Records)
}

// TestDocsLatency holds what docs/scenarios.md says of latency: it costs no
// real time, and it counts.
func TestDocsLatency(t *testing.T) {
	text, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, b := range yamlBlocks(string(text)) {
		switch name, whole := b.file(); name {
		case "library.yaml":
			write(t, filepath.Join(dir, name), whole)
		case "lend.yaml":
			write(t, filepath.Join(dir, name), whole+"limits: {time: 1s}\n")
		}
	}
	set, err := scenarios.Load([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), set.Scenarios, &run.Options{Subject: agent.Subject(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if rec := res.Records[0]; rec.Outcome != harness.OutcomeFailed || !strings.Contains(fmt.Sprint(rec.Cause), "time") {
		t.Errorf("%s: %+v, want a failure of the time limit", rec.Outcome, rec.Cause)
	}
}

// TestDocsFail makes sure that a block that has rotted is found.
func TestDocsFail(t *testing.T) {
	page := "# x\n\n```yaml\nexpect:\n  - cals: []\n```\n\n```yaml\n# a/b.yaml\nscenario: s\nturns: [{usr: hi}]\n```\n\n```yaml\n- a.b: {c: {$regx: d}}\n```\n"
	dir := t.TempDir()
	for _, b := range yamlBlocks(page) {
		name, whole := b.file()
		write(t, filepath.Join(dir, name), whole)
	}
	_, err := scenarios.Load([]string{dir}, nil)
	for _, want := range []string{`"cals"`, `"usr"`, `"$regx"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load: %v, want one about %s", err, want)
		}
	}
}

// fragment begins the names of files that hold a part of one.
const fragment = "fragment-"

type yamlBlock struct {
	line int
	text string
}

var (
	fenced    = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	pathLine  = regexp.MustCompile(`^# ([\w/-]+\.yaml)\n`)
	ofAFile   = regexp.MustCompile(`(?m)^(scenario|server|llm|suite):`)
	ofAServer = regexp.MustCompile(`^(faults|protocol|resources|templates|prompts|completions):`)
	topKey    = regexp.MustCompile(`(?m)^([a-z_]+):`)
)

func yamlBlocks(page string) []yamlBlock {
	var blocks []yamlBlock
	for _, m := range fenced.FindAllStringSubmatchIndex(page, -1) {
		blocks = append(blocks, yamlBlock{strings.Count(page[:m[2]], "\n") + 1, page[m[2]:m[3]]})
	}
	return blocks
}

// file returns the block as a file that can be loaded.
func (b yamlBlock) file() (name, whole string) {
	switch m := pathLine.FindStringSubmatch(b.text); {
	case m != nil:
		return m[1], b.text
	case ofAFile.MatchString(b.text):
		return fmt.Sprintf("line-%d.yaml", b.line), b.text
	}
	if ofAServer.MatchString(b.text) {
		return fmt.Sprintf("%s%d.yaml", fragment, b.line), fmt.Sprintf("server: line-%d\ntools: []\n", b.line) + b.text
	}
	whole = fmt.Sprintf("scenario: line %d\n", b.line)
	if strings.HasPrefix(b.text, "- ") {
		whole += "expect:\n  - calls:\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSpace(b.text), "      ") + "\n"
	} else {
		whole += b.text
	}
	if !strings.Contains(topKey.FindString(b.text), "turns") {
		whole += "turns: [{user: hi}]\n"
	}
	return fmt.Sprintf("%s%d.yaml", fragment, b.line), whole
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
