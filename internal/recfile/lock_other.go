// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package recfile

import (
	"errors"
	"os"
)

// tryLock is without effect here: a recording that goes on cannot be told from
// one that was cut off.
func tryLock(*os.File, bool) bool { return true }

// Remove removes an open file.
func Remove(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
