// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package score

import (
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/match"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// What expectations are compiled to. Scenario files make them.
type (
	// Matcher holds a value against an expectation.
	Matcher = match.Matcher
	// Program is an expression.
	Program = expr.Program
	// Template is a text with expressions in it.
	Template = expr.Template
	// Vars are what an expression can read.
	Vars = expr.Vars
	// Journal is what of the two journals an expression can read.
	Journal = expr.Journal
	// Budget bounds what the expressions of a trial take together.
	Budget = expr.Budget
	// Value is a JSON value.
	Value = value.Value
)
