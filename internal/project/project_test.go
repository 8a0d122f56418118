// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/project"
	"github.com/rehearse-dev/rehearse/internal/subjects"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := project.Find(deep)
	if err != nil || !p.Redact.Runs || len(p.Redact.Keep) != 0 {
		t.Fatalf("without a file: %+v, %v", p, err)
	}
	write := func(at, text string) {
		if err := os.WriteFile(filepath.Join(at, project.File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dir, "redact: {keep: [far], runs: false}\n")
	if p, err = project.Find(deep); err != nil || cmp.Diff([]string{"far"}, p.Redact.Keep) != "" || p.Redact.Runs {
		t.Errorf("two folders above: %+v, %v", p, err)
	}
	write(filepath.Dir(deep), "redact:\n  keep:\n    - near\n    - \"**.x\"\n    - body.a[0]\n")
	if p, err = project.Find(deep); err != nil || cmp.Diff([]string{"near", "**.x", "body.a[0]"}, p.Redact.Keep) != "" || !p.Redact.Runs {
		t.Errorf("the nearest: %+v, %v", p, err)
	}
	write(deep, "redcat: {}\n")
	if _, err = project.Find(deep); err == nil || !strings.HasSuffix(err.Error(), project.File+`:1:1: the file has no key "redcat" (did you mean "redact"?)`) {
		t.Errorf("a mistake: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"# nothing\n":                        "",
		"redact:\n":                          "",
		"redact: 5\n":                        "r.yaml:1:9: redact: want a map, got the number 5",
		"redact: {keep: x}\n":                `r.yaml:1:16: redact.keep: want a list of paths, got the text "x"`,
		"redact: {keep: [1]}\n":              "r.yaml:1:17: redact.keep: want a path, got the number 1",
		"redact: {kep: []}\n":                `r.yaml:1:10: redact has no key "kep" (did you mean "keep"?)`,
		"redact: {runs: maybe}\n":            `r.yaml:1:16: redact.runs: want true or false, got the text "maybe"`,
		"redact: {keep: ['a..b']}\n":         `r.yaml:1:17: redact.keep: path "a..b": a key is empty`,
		"redact: {keep: ['a =~ b']}\n":       `r.yaml:1:17: redact.keep: path "a =~ b": a part of a text cannot be kept; leave out =~ and what follows`,
		"redact: {}\nredact: {}\n":           "r.yaml:2:1:",
		"models: [a]\n":                      "r.yaml:1:9: models: want a map, got a list",
		"models: {a: {name: x}}\n":           `r.yaml:1:14: model "a" has no key "name"`,
		"models: {a: {key: sk-abc}}\n":       `r.yaml:1:19: model "a": key: want the name of an environment variable in capital letters, such as OPENAI_API_KEY; a key itself must not stand in a file`,
		"models: {a: {base_url: x}}\n":       `r.yaml:1:24: model "a": base_url: want a URL with scheme and host`,
		"models: {a: {dialect: soap}}\n":     `r.yaml:1:23: model "a": dialect: want one of ["chat" "responses" "messages" "gemini"], got "soap"`,
		"models: {a: {temperature: 3}}\n":    `r.yaml:1:27: model "a": temperature: want a number from 0 to 2, got the number 3`,
		"models: {a: {max_tokens: 0}}\n":     `r.yaml:1:26: model "a": max_tokens: want a whole number from 1, got the number 0`,
		"models: {a: {price: {input: 1}}}\n": `r.yaml:1:21: model "a": price needs output, in dollars per million tokens`,
		"models: {a: {price: {input: 1, output: 2, date: May}}}\n":  `r.yaml:1:49: model "a": price: date: want a day such as 2026-01-31, got "May"`,
		"models: {a: {}}\njudge: {model: b}\n":                      `r.yaml:2:16: judge: model: "b" is not the label of an entry of models`,
		"judge: a\n":                                                "r.yaml:1:8: judge: want a map",
		"judge: {label: a}\n":                                       `r.yaml:1:9: judge has no key "label"`,
		"models: {a: {}}\njudge: {model: a}\n":                      "",
		"client: {base_url: x}\n":                                   "r.yaml:1:20: client: base_url: want a URL with scheme and host",
		"client: {model: 5}\n":                                      "r.yaml:1:17: client: model: want a text, got the number 5",
		"client: {modle: x}\n":                                      `r.yaml:1:10: client has no key "modle" (did you mean "model"?)`,
		"subjects: {a: {}}\n":                                       "r.yaml:1:15: a subject needs agent, preset, command or http",
		"subjects: {a: {comand: [x]}}\n":                            `r.yaml:1:15: a subject needs agent, preset, command or http, which says what it is (did you mean "command"?)`,
		"subjects: {a: {command: [x], tmie_limit: 5m}}\n":           `r.yaml:1:30: a subject has no key "tmie_limit" (did you mean "time_limit"?)`,
		"subjects: {a: {command: [x], tone: dry}}\n":                `r.yaml:1:30: tone is not a key of a subject, and none of the settings that it knows: knows: [tone] says that it reads this one from REHEARSE_SETTINGS`,
		"subjects: {a: {command: [x], knows: [tone], tone: dry}}\n": "",
		"subjects: {a: {preset: codex, agent: rehearse}}\n":         `r.yaml:1:31: preset codex says what the subject is: leave out agent, or the preset`,
		"subjects: {a b: {agent: rehearse}}\n":                      `r.yaml:1:12: subjects: "a b": a subject is called by one word`,
		"subjects: {a: {agent: other}}\n":                           `r.yaml:1:23: agent "other" is not known: want rehearse`,
		"subjects: {a: {agent: rehearse}}\nsubject: b\n":            `r.yaml:2:10: subject: "b" is not among subjects; subjects has a; without a description there are rehearse and the presets ai-sdk, claude-code, codex, `,
		"subject: b\n":                                              `r.yaml:1:10: subject: "b" is not among subjects; subjects has none; without`,
		"subjects: {a: {command: [x], excuses: {foo: x}}}\n":        `r.yaml:1:40: excuses: there is no conduct check "foo"; there are answered_once, `,
		"subjects: {a: {command: [x], excuses: {results: }}}\n":     "r.yaml:1:49: excuses: results: want a text or a number or true or false, got nothing",
		"subjects: {a: {command: [x], excuses: {results: \"\"}}}\n": "r.yaml:1:49: excuses: results needs the reason why its findings are not the subject's fault",
		"subjects: {a: {agent: rehearse}}\nsubject: a\n":            "",
		"subjects: {a: {agent: rehearse, " + strings.Join(subjects.AgentSettings(), ": 1, ") + ": 1}}\n": "",
		"budget: 5\n":                         `r.yaml:1:9: budget: want a text, got the number 5`,
		"budget: 5eur\n":                      `r.yaml:1:9: budget: "5eur" is not a budget: want dollars or tokens, or both: 5usd, 200000tokens, or 5usd,200000tokens`,
		"models: {a: {rate: 60}}\n":           `r.yaml:1:20: model "a": rate: want a text, got the number 60`,
		"models: {a: {rate: 60/m}}\n":         `r.yaml:1:20: model "a": rate: "60/m" is not a rate: want requests per second, minute or hour, such as 2/s, 60/min or 1000/h`,
		"zzz: 1\nredact: {keep: 7, kep: 1}\n": `r.yaml:1:1: the file has no key "zzz"; it has budget, client, judge, models, redact, subject, subjects` + "\n" + `r.yaml:2:16: redact.keep: want a list of paths, got the number 7` + "\n" + `r.yaml:2:19: redact has no key "kep" (did you mean "keep"?)`,
	} {
		_, err := project.Parse("r.yaml", []byte(text))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)), err != nil && strings.Count(err.Error(), "\n") > strings.Count(want, "\n"):
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("redact: {keep: [a, '**.b'], runs: false}")
	f.Add("redact:\n  keep: x")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := project.Parse("r.yaml", []byte(text))
		if (p == nil) == (err == nil) {
			t.Errorf("%v, %v", p, err)
		}
	})
}

func TestClient(t *testing.T) {
	p, err := project.Parse("r.yaml", []byte("client:\n  base_url: http://h/v1\n  model: m\n  mcp_config: a/mcp.json\n  mcp_server_command: gem-flux-mcp --quiet\n  mcp_server_url: http://h:1\n"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) harness.Position { return harness.Position{File: "r.yaml", Line: line, Col: col} }
	want := project.Client{
		BaseURL: project.Setting{Text: "http://h/v1", Pos: at(2, 13)}, Model: project.Setting{Text: "m", Pos: at(3, 10)},
		Config:        project.Setting{Text: "a/mcp.json", Pos: at(4, 15)},
		ServerCommand: project.Setting{Text: "gem-flux-mcp --quiet", Pos: at(5, 23)},
		ServerURL:     project.Setting{Text: "http://h:1", Pos: at(6, 19)},
	}
	if d := cmp.Diff(want, p.Client); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestModels(t *testing.T) {
	p, err := project.Parse("r.yaml", []byte(`models:
  b: {model: argo:gpt, base_url: "http://h/v1", dialect: chat, key: MY_KEY, temperature: 0, top_p: 0.5, max_tokens: 9, seed: 7, reasoning: low,
      price: {input: 1, output: 2.5, cached: 0, date: "2026-01-31"}}
  a: {seed: none, rate: 60/min}
budget: 5usd,1000tokens
judge: {model: a}
`))
	if err != nil {
		t.Fatal(err)
	}
	zero, half, seed := 0.0, 0.5, int64(7)
	want := []trials.Model{{
		Label: "b", Name: "argo:gpt", BaseURL: "http://h/v1", Dialect: "chat", Key: "MY_KEY",
		Settings: trials.Settings{Temperature: &zero, TopP: &half, MaxTokens: 9, Seed: &seed, Reasoning: "low"},
		Price:    &trials.Price{Input: 1, Output: 2.5, Cached: &zero, Date: "2026-01-31"},
	}, {Label: "a", Name: "a", Settings: trials.Settings{NoSeed: true}, Rate: trials.Rate{Requests: 60, Per: time.Minute}}}
	if want := (trials.Budget{Dollars: 5, Tokens: 1000}); p.Budget != want {
		t.Errorf("budget %+v, want %+v", p.Budget, want)
	}
	if d := cmp.Diff(want, p.Models); d != "" || p.Judge != "a" {
		t.Errorf("judge %q, models (-want +got):\n%s", p.Judge, d)
	}
}
