// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package scenarios reads the YAML of rehearse: scenario, server, llm and suite
// files. It turns them into scripts for the mocks and into scorers, and reports
// all their mistakes at once, as file:line:col.
//
//	set, err := scenarios.Load([]string{"testdata/scenarios"}, nil)
//	for _, s := range set.Scenarios {
//		fmt.Println(s.Name, len(s.Turns))
//	}
//
// The kind of a file is its first key. A folder is read with its subfolders;
// YAML of other kinds is skipped with a note, and a file named suite.yaml holds
// defaults for the scenarios beside it. docs/scenario-reference.md lists every
// key.
//
// Everything is compiled when it is loaded: a scenario that loads has no
// unknown key, operator or expression that does not parse. Only values can
// still be wrong when it is played, such as a result without the key that a
// reply reads.
package scenarios
