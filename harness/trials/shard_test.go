// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// TestShards deals out keys: each is in exactly one shard, whatever their
// order, and the shards are as large as each other, but for one key.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keys []trials.Key
		for s := range rapid.IntRange(0, 30).Draw(t, "scenarios") {
			for n := range rapid.IntRange(1, 5).Draw(t, "trials") {
				keys = append(keys, trials.Key{Scenario: fmt.Sprint("s", s), Model: "m", Mode: harness.ModeMock, Attempt: n + 1})
			}
		}
		count := rapid.IntRange(1, 12).Draw(t, "count")
		other := append([]trials.Key(nil), keys...)
		rand.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		in := map[trials.Key]int{}
		least, most := len(keys), 0
		for i := range count {
			shard := trials.Shard{Index: i + 1, Count: count}
			mine := shard.Of(keys)
			least, most = min(least, len(mine)), max(most, len(mine))
			for _, k := range mine {
				in[k]++
			}
			if count > 1 {
				if diff := cmp.Diff(mine, shard.Of(other)); diff != "" {
					t.Fatalf("shard %s depends on the order of the keys (-want +got):\n%s", shard, diff)
				}
			}
		}
		for _, k := range keys {
			if in[k] != 1 {
				t.Fatalf("%s is in %d of %d shards", k, in[k], count)
			}
		}
		if most-least > 1 {
			t.Fatalf("shards of %d and of %d keys", least, most)
		}
	})
}

func TestParseShard(t *testing.T) {
	tests := []struct {
		text string
		want trials.Shard
		err  string
	}{
		{"1/1", trials.Shard{Index: 1, Count: 1}, ""},
		{"4/4", trials.Shard{Index: 4, Count: 4}, ""},
		{"0/4", trials.Shard{}, "shard 0/4: shards are numbered from 1 to their count"},
		{"5/4", trials.Shard{}, "shard 5/4: shards are numbered from 1 to their count"},
		{"2", trials.Shard{}, `shard "2": want its number and how many there are, such as 1/4`},
		{"a/b", trials.Shard{}, `shard "a/b": want its number and how many there are, such as 1/4`},
		{"", trials.Shard{}, `shard "": want its number and how many there are, such as 1/4`},
		{"0/0", trials.Shard{}, "shard 0/0: shards are numbered from 1 to their count"},
	}
	for _, tt := range tests {
		got, err := trials.ParseShard(tt.text)
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%s: %v, error %v; want %v", tt.text, got, err, tt.want)
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s: error %v, want %s", tt.text, err, tt.err)
		}
	}
}

// TestOneWriter refuses a second writer of a file of records until the first
// has closed it.
func TestOneWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), trials.RecordsFile)
	first, err := trials.Append(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trials.Append(name); !errors.Is(err, trials.ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := trials.Append(name)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}
