// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import "testing"

// TestLogIsBounded: what is more than a trial keeps of its log is told once.
func TestLogIsBounded(t *testing.T) {
	tr := &trial{}
	for range maxLog + 5 {
		tr.logf("line")
	}
	if n := len(tr.log); n != maxLog+1 || tr.log[maxLog-1] != "line" || tr.log[maxLog] != "(more lines were dropped)" {
		t.Errorf("%d lines, the last of them %q", n, tr.log[n-1])
	}
}
