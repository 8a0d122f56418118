// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/strictyaml"
)

// The keys of a scenario that no hash of it covers: they change neither what
// is asked nor how it is judged. The row of a case is added by [hashes.of].
func unhashed() []string {
	return []string{"scenario", "suite", "server", "version", "description", "tags", "critical", "live", "cassette", "cases", "pass"}
}

// scoring are the keys, of a scenario and of its turns, that say how it is
// judged.
func scoring() []string { return []string{"expect", "conduct", "conduct_only"} }

// hashes sum up what a scenario is made of, as values: comments and the layout
// of files are not in them, nor where files lie.
type hashes struct{ scenario, scorers hash.Cloner }

// hashOf sums up a scenario over which the defaults of its suite lie, and the
// server files that it uses.
func hashOf(root *strictyaml.Node, servers []*document) hashes {
	h := hashes{sha256.New().(hash.Cloner), sha256.New().(hash.Cloner)} // as the package promises
	for _, p := range root.Pairs {
		switch name := p.Key.Text; {
		case slices.Contains(unhashed(), name):
		case slices.Contains(scoring(), name):
			fmt.Fprintf(h.scorers, "%q %s\n", name, p.Value.JSON())
		case name == "turns":
			h.turns(p.Value)
		default:
			fmt.Fprintf(h.scenario, "%q %s\n", name, p.Value.JSON())
		}
	}
	for _, file := range servers {
		fmt.Fprintln(h.scenario, "server")
		for _, p := range file.root.Pairs {
			if !slices.Contains(unhashed(), p.Key.Text) {
				fmt.Fprintf(h.scenario, "%q %s\n", p.Key.Text, p.Value.JSON())
			}
		}
	}
	return h
}

func (h hashes) turns(list *strictyaml.Node) {
	for i, turn := range itemsOf(list) {
		fmt.Fprintf(h.scenario, "turn %d\n", i+1)
		for _, p := range pairsOf(turn) {
			into := h.scenario
			if slices.Contains(scoring(), p.Key.Text) {
				into = h.scorers
				fmt.Fprintf(into, "turn %d ", i+1)
			}
			fmt.Fprintf(into, "%q %s\n", p.Key.Text, p.Value.JSON())
		}
	}
}

// of are the hashes of one case.
func (h hashes) of(row caseRow) (scenario, scorers string) {
	c, err := h.scenario.Clone()
	if err != nil {
		panic(fmt.Sprintf("scenarios: cloning a hash: %v", err)) // unreachable: SHA-256 can be cloned
	}
	fmt.Fprintf(c, "%s\n", row.vars)
	return sum(c), sum(h.scorers)
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
