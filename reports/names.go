// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import "github.com/rehearse-dev/rehearse/internal/stats"

// What a [Diff] says of two models. docs/statistics.md says how it is computed.
type (
	// Estimand is the question that an interval answers.
	Estimand = stats.Estimand
	// ModelComparison is what the trials of two models say of each other on the
	// scenarios of both.
	ModelComparison = stats.Comparison
	// Method is how an interval was computed.
	Method = stats.Method
	// Interval is a confidence interval.
	Interval = stats.Interval
	// Bootstrap is an interval by resampling.
	Bootstrap = stats.Bootstrap
	// LeftOut is a scenario that a comparison leaves out, and why.
	LeftOut = stats.LeftOut
)

// The questions: of the scenarios of this suite alone, or of those that it was
// drawn from.
const (
	FixedSuite         = stats.FixedSuite
	ScenariosInGeneral = stats.ScenariosInGeneral
)
