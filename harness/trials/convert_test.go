// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestSchema1: what an older rehearse wrote reads as if this one had.
func TestSchema1(t *testing.T) {
	line := func(file, name string) string {
		return `{"schema":1,"scenario":"` + name + `","file":"` + file + `","model":"m","mode":"mock","attempt":1,"hash":"ab","outcome":"passed",` +
			`"counts":{"model_calls":2,"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":15,"cached_tokens":3,"reasoning_tokens":2}}}`
	}
	want := func(suite, scenario, of, file string) trials.Record {
		return trials.Record{
			Schema: trials.Schema, File: file, Outcome: harness.OutcomePassed,
			Key:    trials.Key{Suite: suite, Scenario: scenario, Case: of, Model: "m", Mode: harness.ModeMock, Attempt: 1},
			Hashes: trials.Hashes{Scenario: "schema1:ab"},
			Counts: trials.Counts{ModelCalls: 2},
			Tokens: trials.Tokens{Input: 7, Cached: 3, Output: 5, Reasoning: 2},
		}
	}
	got, err := trials.Read(strings.NewReader(strings.Join([]string{
		line("chem/units.yaml", "units/metric"), line("chem/units.yaml", "units/old"), // cases of one file
		line("chem/one.yaml", "half/full"),                             // a name, or the one case that was played
		line("chem/two.yaml", "a/b/c"), line("chem/two.yaml", "a/b/d"), // a with b/c, or a/b with c
		line("three.yaml", "x"),
	}, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]trials.Record{
		want("chem", "units", "metric", "chem/units.yaml"), want("chem", "units", "old", "chem/units.yaml"),
		want("chem", "half/full", "", "chem/one.yaml"),
		want("chem", "a/b/c", "", "chem/two.yaml"), want("chem", "a/b/d", "", "chem/two.yaml"),
		want("", "x", "", "three.yaml"),
	}, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}

	dir := t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("run.json", `{"schema":1,"name":"old","mode":"live","models":[{"asked":"gpt","answered":["gpt-1"]}],"scenarios":[
		{"name":"units/metric","file":"chem/units.yaml","hash":"ab","trials":1},{"name":"units/old","file":"chem/units.yaml","trials":1}]}`)
	m, err := trials.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(trials.Manifest{
		Schema: trials.Schema, Name: "old", Mode: harness.ModeLive,
		Models: []trials.Model{{Label: "gpt", Name: "gpt", Answered: []string{"gpt-1"}}},
		Scenarios: []trials.Source{
			{Suite: "chem", Scenario: "units", Case: "metric", File: "chem/units.yaml", Hashes: trials.Hashes{Scenario: "schema1:ab"}, Trials: 1},
			{Suite: "chem", Scenario: "units", Case: "old", File: "chem/units.yaml", Trials: 1},
		},
	}, m); d != "" {
		t.Errorf("manifest (-want +got):\n%s", d)
	}
	file("d.json", `{"schema":1,"scenario":"units/metric","file":"chem/units.yaml","mode":"mock","attempt":1,"log":["x"]}`)
	got[0].Detail = "d.json"
	d, err := trials.ReadDetail(dir, got[0])
	if err != nil || d.Key != got[0].Key || d.Log[0] != "x" {
		t.Errorf("detail %+v, error %v", d, err)
	}
}

func TestTokensAndCost(t *testing.T) {
	for name, tt := range map[string]struct {
		usage harness.Usage
		want  trials.Tokens
	}{
		"all classes":             {harness.Usage{PromptTokens: 100, CompletionTokens: 20, TotalTokens: 120, CachedTokens: 60, CacheWriteTokens: 30, ReasoningTokens: 5}, trials.Tokens{Input: 10, Cached: 60, CacheWrite: 30, Output: 20, Reasoning: 5}},
		"thoughts in the total":   {harness.Usage{PromptTokens: 100, CompletionTokens: 20, TotalTokens: 150}, trials.Tokens{Input: 100, Output: 50}},
		"more cached than prompt": {harness.Usage{PromptTokens: 10, CachedTokens: 60, CacheWriteTokens: 5}, trials.Tokens{Cached: 10}},
		"negative":                {harness.Usage{PromptTokens: -5, CompletionTokens: 3}, trials.Tokens{Output: 3}},
	} {
		if d := cmp.Diff(tt.want, trials.TokensOf(tt.usage)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	tokens := trials.Tokens{Input: 1_000_000, Cached: 2_000_000, CacheWrite: 1_000_000, Output: 500_000, Reasoning: 100_000}
	cached, write := 0.5, 4.0
	for name, tt := range map[string]struct {
		price *trials.Price
		want  float64
	}{
		"every class":             {&trials.Price{Input: 2, Output: 10, Cached: &cached, CacheWrite: &write}, 2 + 1 + 4 + 5},
		"cached as any other":     {&trials.Price{Input: 2, Output: 10}, 8 + 5},
		"free, which is no nil":   {&trials.Price{}, 0},
		"a price of output alone": {&trials.Price{Output: 10}, 5},
	} {
		if got := tt.price.Cost(tokens); got == nil || *got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if got := (*trials.Price)(nil).Cost(tokens); got != nil {
		t.Errorf("without a price: %v", *got)
	}
}

func TestHashDifferences(t *testing.T) {
	a := trials.Hashes{Scenario: "1", Scorers: "1", Tools: "1", Entry: "1"}
	for _, tt := range []struct {
		b    trials.Hashes
		want []string
	}{
		{a, nil},
		{trials.Hashes{}, nil}, // not known
		{trials.Hashes{Scenario: "2", Scorers: "1", Tools: "2"}, []string{"scenario", "tools"}},
		{trials.Hashes{Scorers: "2", Entry: "2"}, []string{"scorers", "entry"}},
	} {
		if d := cmp.Diff(tt.want, a.Differences(tt.b)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.b, d)
		}
	}
}
