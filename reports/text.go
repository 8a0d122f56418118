// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import "io"

// TextOptions are the options of [Text].
type TextOptions struct {
	// Color marks outcomes with terminal colours. Nothing is said by colour
	// alone. Default off.
	Color bool
	// MaxText is the number of bytes after which a text is cut, 2000 when 0,
	// no limit when negative.
	MaxText int
}

// Text writes a run for a terminal: failing trials in full, the cause first,
// the others in a line each.
func Text(w io.Writer, run *Run, opts *TextOptions) error { panic("todo") }
