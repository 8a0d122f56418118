// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// TestFragments: a scenario's fragments reach its script, and so do those of
// a reply.
func TestFragments(t *testing.T) {
	load := func(t *testing.T, text string) (*scenarios.Set, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return scenarios.Load([]string{path}, nil)
	}
	set, err := load(t, `
scenario: cut
model: {stream: true, fragments: {seed: 7, unit: token, index: zero}}
conduct_only: true
turns:
  - user: Hello
    replies:
      - say: Hi
        fragments: {unit: byte, cuts: [1], writes: 3}
`)
	if err != nil {
		t.Fatal(err)
	}
	script := set.Scenarios[0].ModelScript()
	got := []*mockllm.Fragments{script.Fragments, script.Turns[0].Replies[0].Fragments}
	want := []*mockllm.Fragments{
		{Seed: 7, Unit: mockllm.UnitToken, Index: mockllm.IndexZero},
		{Unit: mockllm.UnitByte, Cuts: []int{1}, Writes: 3},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fragments (-want +got):\n%s", d)
	}
	for _, tc := range []struct{ name, yaml, want string }{
		{"unknown word", "{unit: bit}", `"unit" cannot be "bit"; it is one of byte, rune, token, whole`},
		{"no unit", "{max: 3}", "fragments: min, max and cuts need a unit"},
		{"max below min", "{unit: byte, min: 4, max: 3}", "fragments: max 3 is below min 4"},
		{"cuts that go down", "{unit: byte, cuts: [4, 4]}", "fragments: cuts [4 4] do not go up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, "llm: m\nfragments: "+tc.yaml+"\nreplies:\n  - say: Hi\n")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
