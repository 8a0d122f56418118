// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp

// TB is the part of [testing.TB] that [NewServer] needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// HTTPServer is a [Server] on a loopback port of its own.
type HTTPServer struct {
	*Server
	URL string // ends in /mcp
}

// NewServer starts a server for a test on a loopback port, over streamable
// HTTP. When the test ends it is closed, and each call that no scripted
// result fits fails the test.
func NewServer(t TB, script Script) *HTTPServer { panic("todo") }
