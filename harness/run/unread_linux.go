// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// seesUnread says that unread knows.
const seesUnread = true

// unread is how many bytes of a connection wait to be read.
func unread(conn net.Conn) (n int) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	// One that is closed has nothing to read.
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}
