// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is one of Count parts of the trials of a run. Index counts from 1. The
// zero Shard is the whole run.
type Shard struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// ParseShard reads a shard as it is written: 2/4 is the second of four.
func ParseShard(text string) (Shard, error) {
	i, n, _ := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	count, err2 := strconv.Atoi(n)
	if err != nil || err2 != nil {
		return Shard{}, fmt.Errorf("shard %q: want its number and how many there are, such as 1/4", text)
	}
	if s := (Shard{index, count}); s != (Shard{}) && s.Check() == nil {
		return s, nil
	}
	return Shard{}, fmt.Errorf("shard %s: %w", text, errShard)
}

var errShard = errors.New("shards are numbered from 1 to their count")

// Check finds a shard that there cannot be.
func (s Shard) Check() error {
	if s == (Shard{}) || s.Index >= 1 && s.Index <= s.Count {
		return nil
	}
	return fmt.Errorf("shard %s: %w", s, errShard)
}

// Of returns the keys of a shard. Each key is in exactly one shard of a count,
// whatever the order of the list, and no shard has more than one key more than
// another. Keys are dealt out in the order of their hashes, so that neighbours
// in a file, which tend to cost the same, do not end up in one shard.
func (s Shard) Of(keys []Key) []Key {
	if s.Count <= 1 {
		return slices.Clone(keys)
	}
	type dealt struct {
		hash [sha256.Size]byte
		key  Key
	}
	all := make([]dealt, len(keys))
	for i, k := range keys {
		text, _ := json.Marshal(k) // texts and numbers can be encoded
		all[i] = dealt{sha256.Sum256(text), k}
	}
	slices.SortFunc(all, func(a, b dealt) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	var out []Key
	for i := s.Index - 1; i < len(all); i += s.Count {
		out = append(out, all[i].key)
	}
	return out
}
