// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
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
func scoring() []string { return []string{"expect", "judge", "conduct", "conduct_only"} }

// hashes sum up what a scenario is made of, as values: comments and the layout
// of files are not in them, nor where files lie. The parts are those of the
// scenario, each by itself, so that a change has a name.
type hashes struct {
	scenario, scorers hash.Cloner
	parts             map[string]string
}

// hashOf sums up a scenario over which the defaults of its suite lie, and the
// server files that it uses.
func hashOf(root *strictyaml.Node, servers []*document) hashes {
	h := hashes{sha256.New().(hash.Cloner), sha256.New().(hash.Cloner), map[string]string{}} // as the package promises
	for _, p := range root.Pairs {
		switch name := p.Key.Text; {
		case slices.Contains(unhashed(), name):
		case slices.Contains(scoring(), name):
			fmt.Fprintf(h.scorers, "%q %s\n", name, p.Value.JSON())
		case name == "turns":
			h.turns(p.Value)
		default:
			h.add(name, "%q %s\n", name, p.Value.JSON())
		}
	}
	for _, file := range servers {
		fmt.Fprintln(h.scenario, "server")
		for _, p := range file.root.Pairs {
			if !slices.Contains(unhashed(), p.Key.Text) {
				h.add("server file "+textOf(file.root.Get("server"))+" "+p.Key.Text, "%q %s\n", p.Key.Text, p.Value.JSON())
			}
		}
	}
	return h
}

// add sums up a part of what is asked.
func (h hashes) add(part, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_, _ = io.WriteString(h.scenario, text)           // a hash takes everything
	of := sha256.Sum256([]byte(h.parts[part] + text)) // two of one name count together
	h.parts[part] = hex.EncodeToString(of[:6])
}

func (h hashes) turns(list *strictyaml.Node) {
	for i, turn := range itemsOf(list) {
		fmt.Fprintf(h.scenario, "turn %d\n", i+1)
		for _, p := range pairsOf(turn) {
			if slices.Contains(scoring(), p.Key.Text) {
				fmt.Fprintf(h.scorers, "turn %d %q %s\n", i+1, p.Key.Text, p.Value.JSON())
				continue
			}
			h.add(fmt.Sprintf("turn %d %s", i+1, p.Key.Text), "%q %s\n", p.Key.Text, p.Value.JSON())
		}
	}
}

// of are the hashes of one case.
func (h hashes) of(row caseRow) (scenario, scorers string, parts map[string]string) {
	c, err := h.scenario.Clone()
	if err != nil {
		panic(fmt.Sprintf("scenarios: cloning a hash: %v", err)) // unreachable: SHA-256 can be cloned
	}
	fmt.Fprintf(c, "%s\n", row.vars)
	parts = maps.Clone(h.parts)
	if row.name != "" {
		of := sha256.Sum256(fmt.Append(nil, row.vars))
		parts["vars"] = hex.EncodeToString(of[:6])
	}
	return sum(c), sum(h.scorers), parts
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
