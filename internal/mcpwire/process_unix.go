// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcpwire

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The group's id is that of its first process, also after that has ended, as
// long as one member is left; then the signal finds nobody, which is fine.

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalOf is the signal that ended a process.
func signalOf(s *os.ProcessState) int {
	if s == nil { // somebody else waited for it
		return 0
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// readNow reads what a pipe holds, and ends where it holds nothing.
func readNow(f *os.File, b []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctrl := conn.Control(func(fd uintptr) {
		for {
			if n, err = syscall.Read(int(fd), b); !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case ctrl != nil:
		return 0, ctrl
	case n <= 0 || errors.Is(err, syscall.EAGAIN):
		return 0, io.EOF
	}
	return n, err
}
