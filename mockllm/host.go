// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

// TB is the part of [testing.TB] that [NewServer] needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// NewServer returns a mock behind a listener on loopback, which is closed
// when the test ends. The test fails when a request was a miss, when the
// provider would have refused one, when the script fails, and when a reply
// was never asked for.
func NewServer(t TB, script Script) *Mock { panic("TODO") }

// Host is one listener for many mocks.
type Host struct{}

// NewHost listens on addr; empty means 127.0.0.1 and a free port.
func NewHost(addr string) (*Host, error) { panic("TODO") }

// Mount serves m under a base URL of its own, which is returned (it ends in
// /v1) and also set as m.URL. unmount takes it away; it does not close m.
func (h *Host) Mount(m *Mock) (baseURL string, unmount func()) { panic("TODO") }

// Addr returns the host and port it listens on.
func (h *Host) Addr() string { panic("TODO") }

// Close stops listening and waits for the requests being answered.
func (h *Host) Close() error { panic("TODO") }
