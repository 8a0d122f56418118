// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
)

// hashes name what the trial rests on.
func (t *trial) hashes() trials.Hashes {
	h := trials.Hashes{Scenario: t.scenario.Hash, Scorers: t.scenario.ScorersHash, Entry: t.entry.hash, Judge: t.judgeHash(t.scenario), Variant: t.scenario.VariantHash, Subject: t.subject.Hash}
	if len(t.servers) == len(t.scenario.Servers) { // else what they would list is not known
		h.Tools = t.toolsHash()
	}
	return h
}

// toolsHash is of the tools that the servers listed at the start, in whatever
// order.
func (t *trial) toolsHash() string {
	type listed struct {
		Server string `json:"server"`
		harness.Tool
	}
	var all []listed
	for _, s := range t.servers {
		for _, tool := range s.tools {
			all = append(all, listed{s.name, tool})
		}
	}
	slices.SortStableFunc(all, func(a, b listed) int { return strings.Compare(a.Server+"\x00"+a.Name, b.Server+"\x00"+b.Name) })
	return hashOf(all)
}

// hashOf names a value by its JSON.
func hashOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // of a schema that is not JSON nothing is known
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
