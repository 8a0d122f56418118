// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"context"
	"io"
	"os"
	"runtime"
)

func parentID() int { return os.Getppid() }

// parentEnded waits until another process is the parent. Windows never says so:
// there the end of the input stands for that of the parent.
func parentEnded(ctx context.Context, id int, stdin io.Reader) {
	if runtime.GOOS != "windows" {
		parentPolled(ctx, id, os.Getppid)
		return
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}
