// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func parentID() int { return os.Getppid() }

// parentEnded waits for the end of process id by a file descriptor of it, which
// no other process can come to stand for, and which needs no looking again and
// again.
func parentEnded(ctx context.Context, id int, _ io.Reader) {
	fd, err := unix.PidfdOpen(id, 0)
	if err != nil || os.Getppid() != id { // an old kernel; or it is gone by now
		if err == nil {
			_ = unix.Close(fd)
		}
		parentPolled(ctx, id, os.Getppid)
		return
	}
	defer unix.Close(fd)
	wake := make([]int, 2)
	if err := unix.Pipe2(wake, unix.O_CLOEXEC); err != nil {
		parentPolled(ctx, id, os.Getppid)
		return
	}
	defer unix.Close(wake[0])
	stop := context.AfterFunc(ctx, func() { _ = unix.Close(wake[1]) })
	defer func() {
		if stop() {
			_ = unix.Close(wake[1])
		}
	}()
	for {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); err == nil || err != unix.EINTR {
			return
		}
	}
}
