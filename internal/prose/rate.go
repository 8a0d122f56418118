// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package prose

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is a share of 1 in percent, as all reports write it, so that a figure is
// the same wherever it stands. One that rounds to 0 or 100 and is neither is not
// shown as such.
func Rate(p float64) string {
	s := fmt.Sprintf("%.1f", 100*p)
	switch {
	case s == "100.0" && p < 1:
		return "above 99.9 %"
	case s == "0.0" && p > 0:
		return "below 0.1 %"
	case s == "100.0" || s == "0.0":
		return strings.TrimSuffix(s, ".0") + " %"
	}
	return s + " %"
}

// Percent is a share of 1 that somebody chose, such as a level, in percent: with
// as many digits as it was given, where a [Rate] was measured.
func Percent(share float64) string { return Points(share) + " %" }

// Points is [Percent] of a difference, in percentage points.
func Points(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) }
