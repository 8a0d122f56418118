// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package recfiletest has files that fail, for tests of what is recorded.
package recfiletest

import (
	"os"
	"syscall"
)

// FullOnce is a file on a disk that is full for a moment: of one write the first
// half is written.
type FullOnce struct {
	*os.File
	// Before is how many writes fit before that one.
	Before int
}

// Write writes all of b, but for the one time.
func (f *FullOnce) Write(b []byte) (int, error) {
	if f.Before--; f.Before != -1 {
		return f.File.Write(b)
	}
	n, _ := f.File.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}
