// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile

import "syscall"

// noWait has opening a pipe not wait for a writer.
const noWait = syscall.O_NONBLOCK

// errFolder is what reading a folder says.
const errFolder = syscall.EISDIR
