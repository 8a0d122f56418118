// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import "fmt"

// Outcome is how a trial ended.
type Outcome string

// The outcomes. An error is the infrastructure's and never counts as a
// failure of the model or the client.
const (
	OutcomePassed  Outcome = "passed"  // everything expected was there
	OutcomeFailed  Outcome = "failed"  // the model or the client did something else
	OutcomeError   Outcome = "error"   // could not be judged; in no rate
	OutcomeSkipped Outcome = "skipped" // was not played, or has nothing to judge; in no rate
)

// Position is a place in a file. Lines and columns count from 1; zero means
// unknown.
type Position struct {
	File string `json:"file,omitempty"` // its name, as it was given
	Line int    `json:"line,omitempty"` // from 1
	Col  int    `json:"col,omitempty"`  // from 1
}

// IsZero reports whether p says nothing.
func (p Position) IsZero() bool { return p == Position{} }

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}
