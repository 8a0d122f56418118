// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recfile

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file until it is closed or the process dies, alone or
// together with others that share. It reports false where somebody else has
// it. A file system that has no locks is taken to be unlocked.
func tryLock(f *os.File, share bool) bool {
	how := syscall.LOCK_EX
	if share {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}

// Remove removes an open file, while its lock holds.
func Remove(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
