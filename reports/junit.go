// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import "io"

// JUnit writes a run as JUnit XML: a suite a model, a case a scenario. The
// attempts of a case are folded: it fails when any of them failed, and says
// so when others passed.
func JUnit(w io.Writer, run *Run) error { panic("todo") }
