// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package reports

import "io"

// HTMLOptions are the options of [HTML].
type HTMLOptions struct {
	// Title heads the page. Default: the name of the run.
	Title string
	// MaxText is the number of bytes after which one text is cut, 8000 when
	// 0, no limit when negative.
	MaxText int
	// MaxBytes is about how large the page may get, 30 MB when 0, no limit
	// when negative. When it is reached the transcripts of further trials are
	// left out, those of failing trials last.
	MaxBytes int
}

// HTML writes a run as one page that opens from disk, asks the network for
// nothing, and needs no JavaScript.
func HTML(w io.Writer, run *Run, opts *HTMLOptions) error { panic("todo") }
