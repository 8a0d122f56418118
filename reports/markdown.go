// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import "io"

// Markdown writes the summary of a run in GitHub's Markdown, for a step
// summary or a comment.
func Markdown(w io.Writer, run *Run) error { panic("todo") }
