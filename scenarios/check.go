// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import "github.com/rehearse-dev/rehearse/internal/strictyaml"

type lintFacts struct {
	root    *strictyaml.Node
	servers []*serverEntry
}

func check(s *Set) []Problem { return nil }
