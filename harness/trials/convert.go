// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package trials

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// oldHash stands before a hash of schema 1, which summed up whole files: it is
// equal to none of schema 2.
const oldHash = "schema1:"

// record1 are the members that schema 1 had and schema 2 has elsewhere.
type record1 struct {
	Hash   string `json:"hash"`
	Counts struct {
		Usage harness.Usage `json:"usage"`
	} `json:"counts"`
}

// upgrade makes a record of schema 1 one of schema 2, but for its case.
func (r *Record) upgrade(line []byte) error {
	var old record1
	if err := json.Unmarshal(line, &old); err != nil {
		return err
	}
	r.Schema = Schema
	r.Hashes = oldHashes(old.Hash)
	r.Tokens = TokensOf(old.Counts.Usage)
	r.Suite = oldSuite(r.File)
	return nil
}

func oldHashes(hash string) Hashes {
	if hash == "" {
		return Hashes{}
	}
	return Hashes{Scenario: oldHash + hash}
}

// oldSuite is the folder of a file, as far as its name tells.
func oldSuite(file string) string {
	switch base := path.Base(path.Dir(strings.ReplaceAll(file, `\`, "/"))); base {
	case ".", "..", "/":
		return ""
	default:
		return base
	}
}

// cases finds the names of schema 1 that are certainly those of cases. Schema
// 1 wrote "scenario/case", and both may have a slash of their own. A file has
// one scenario, so two names of one file with one slash each are cases of it.
type cases map[string]map[string]bool // names by file

func (c cases) add(file, name string) {
	if c[file] == nil {
		c[file] = map[string]bool{}
	}
	c[file][name] = true
}

func (c cases) split(file, name string) (scenario, of string) {
	head, tail, _ := strings.Cut(name, "/")
	if file == "" || len(c[file]) < 2 {
		return name, ""
	}
	for other := range c[file] {
		if h, t, ok := strings.Cut(other, "/"); !ok || h != head || t == "" || strings.Contains(t, "/") {
			return name, ""
		}
	}
	return head, tail
}

// upgradeCases splits the names of records of schema 1, where that is sure.
func upgradeCases(records []Record, old []int) {
	known := cases{}
	for _, i := range old {
		known.add(records[i].File, records[i].Scenario)
	}
	for _, i := range old {
		r := &records[i]
		r.Scenario, r.Case = known.split(r.File, r.Scenario)
	}
}

// manifest1 are the members of a manifest of schema 1.
type manifest1 struct {
	Models []struct {
		Asked string `json:"asked"`
	} `json:"models"`
	Scenarios []struct {
		Name string `json:"name"`
		Hash string `json:"hash"`
	} `json:"scenarios"`
}

func (m *Manifest) upgrade(data []byte) error {
	var old manifest1
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	m.Schema = Schema
	for i := range m.Models {
		m.Models[i].Label, m.Models[i].Name = old.Models[i].Asked, old.Models[i].Asked
	}
	known := cases{}
	for i, s := range m.Scenarios {
		known.add(s.File, old.Scenarios[i].Name)
	}
	for i := range m.Scenarios {
		s := &m.Scenarios[i]
		s.Suite, s.Hashes = oldSuite(s.File), oldHashes(old.Scenarios[i].Hash)
		s.Scenario, s.Case = known.split(s.File, old.Scenarios[i].Name)
	}
	return nil
}
