// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package reports formats the folder of a run: text for a terminal, JUnit XML
// for a CI server, a Markdown summary, and one HTML page with every trial, its
// transcript and its call alignment.
//
// Every writer is a function of a loaded run: the same folder gives the same
// bytes. The smallest use:
//
//	run, err := reports.Load("runs/20260102-150405-gemflux")
//	if err != nil {
//		return err
//	}
//	return reports.HTML(f, run, nil)
//
// # What is counted
//
// A rate is passed / (passed + failed). Errors (the infrastructure's) and
// skipped trials are in neither number and stand beside it. A column of a
// matrix is one model; where a run has several subjects or modes, one model
// with one subject in one mode.
//
// # Hostile text
//
// Text of a model or a tool is shown, never interpreted. It is escaped for the
// format at hand, and characters that cannot be seen but change what is seen
// around them (terminal escapes, bidi marks, zero-width and tag characters) are
// spelled out as ⟨U+202E⟩. Long texts are cut, and the place says how much is
// missing. The HTML page has a content security policy that allows its own
// style and script alone, so it could not fetch anything if it tried.
package reports
