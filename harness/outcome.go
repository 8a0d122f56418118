// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package harness

import "fmt"

// Outcome is how a trial ended.
type Outcome string

// The outcomes. An error is the infrastructure's and never counts as a
// failure of the model or the client.
const (
	OutcomePassed  Outcome = "passed"
	OutcomeFailed  Outcome = "failed"
	OutcomeError   Outcome = "error"
	OutcomeSkipped Outcome = "skipped"
)

// Position is a place in a file. Lines and columns count from 1; zero means
// unknown.
type Position struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
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
