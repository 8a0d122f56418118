// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
	"github.com/rehearse-dev/rehearse/scenarios"
)

func loadText(t *testing.T, text string) (*scenarios.Set, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return scenarios.Load([]string{path}, nil)
}

const faultyLLM = `llm: faulty
replies:
  - say: Yes.
    fault:
      - {kind: server_error, status: 529, times: 2}
      - {kind: stall, at: {token: 3}, delay: 90s}
faults:
  - {kind: argo_3_3_cut_done, at: {turn: 1, chunk: -1}, times: always}
  - {kind: rate_limit, form: date, retry_after: 2s, every: 3}
  - {kind: reset, probability: 0.5, when: 'request.model == "gpt-5"'}
  - {kind: bad_arguments, form: cut, match: {model: {$regex: "^argo:"}}}
`

func TestFaults(t *testing.T) {
	set, err := loadText(t, faultyLLM)
	if err != nil {
		t.Fatal(err)
	}
	script := set.LLMs[0].Script
	opts := []cmp.Option{cmpopts.IgnoreFields(mockllm.Fault{}, "When", "Pos")}
	for _, test := range []struct {
		name      string
		got, want []mockllm.Fault
	}{
		{"of the reply", script.Replies[0].Faults, []mockllm.Fault{
			{Kind: fault.ServerError, Status: 529, Times: 2},
			{Kind: fault.Stall, At: fault.At{Token: 3}, Delay: 90 * time.Second},
		}},
		{"of the model", script.Faults, []mockllm.Fault{
			{Kind: fault.CutDone, At: fault.At{Turn: 1, Chunk: -1}, Times: -1},
			{Kind: fault.RateLimit, Form: "date", RetryAfter: 2 * time.Second, Every: 3},
			{Kind: fault.Reset, Probability: 0.5},
			{Kind: fault.BadArguments, Form: "cut"},
		}},
	} {
		if diff := cmp.Diff(test.want, test.got, opts...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, test := range []struct {
		name  string
		i     int
		model string
		want  bool
	}{
		{"when holds", 2, "gpt-5", true},
		{"when does not hold", 2, "gpt-4o", false},
		{"match fits", 3, "argo:gpt-5", true},
		{"match does not fit", 3, "gpt-5", false},
	} {
		full := func() harness.Request { return harness.Request{Model: test.model} }
		got, err := script.Faults[test.i].When(&fault.Request{Full: full})
		if err != nil || got != test.want {
			t.Errorf("%s: got %v, %v", test.name, got, err)
		}
	}
}

func TestFaultMistakes(t *testing.T) {
	for _, test := range []struct{ name, fault, want string }{
		{"kind of stops", `{kind: cut_stream, times: always}`, `"kind" cannot be "cut_stream" (did you mean "cut"?)`},
		{"key of others", `{kind: stall, after: 10s}`, `unknown key "after" in fault (did you mean "delay"?)`},
		{"kind", `{kind: rate_limits}`, `"kind" cannot be "rate_limits" (did you mean "rate_limit"?); it is a kind or a preset that ` + "`rehearse faults` lists"},
		{"form", `{kind: reset, form: befor}`, `fault reset has no form "befor" (did you mean "before"?)`},
		{"setting", `{kind: crlf, status: 500}`, `fault crlf does not use status`},
		{"place", `{kind: cut, at: {byte: 1, chunk: 1}}`, `give one of chunk, byte and token`},
		{"empty place", `{kind: cut, at: {}}`, `needs at least one of request`},
		{"chance", `{kind: cut, probability: 0}`, `this fault never strikes`},
		{"condition", `{kind: cut, when: 'model == 1'}`, `unknown name "model"`},
		{"operator", `{kind: cut, match: {model: {$rex: a}}}`, `$rex`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadText(t, "llm: x\nreplies:\n  - say: Yes.\nfaults:\n  - "+test.fault+"\n")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "f.yaml:5:") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestChance holds that rules and faults have their chance from the file, of an
// llm file and of a scenario.
func TestChance(t *testing.T) {
	const rest = `
rules:
  - {when: "true", chance: 0.25, reply: {say: x}}
  - {when: "true", reply: {say: y}}
`
	set, err := loadText(t, "llm: x\nseed: 7\nfaults: [{kind: rate_limit, chance: 0.5, times: 2}]"+rest)
	if err != nil {
		t.Fatal(err)
	}
	check := func(script mockllm.Script, seed int64) {
		t.Helper()
		if script.Seed != seed || script.Rules[0].Chance != 0.25 || script.Rules[1].Chance != 0 ||
			script.Faults[0].Chance != 0.5 || script.Faults[0].Times != 2 {
			t.Errorf("script %+v", script)
		}
	}
	check(set.LLMs[0].Script, 7)
	set, err = loadText(t, "scenario: x\nmodel: {faults: [{kind: rate_limit, chance: 0.5, times: 2}]}\nturns: [{user: hi}]"+rest)
	if err != nil {
		t.Fatal(err)
	}
	check(set.Scenarios[0].ModelScript(), 0)
}
