// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import "time"

// AllowLive lets our own tests play live mode against a fake endpoint.
func AllowLive(o *Options) { o.liveInTest = true }

// Patient waits for a minute until a real server says of which era it is, so that
// what is recorded does not depend on how fast a machine starts it.
func Patient(o *Options) { o.discoverTimeout = time.Minute }

// ReadRepliesWith puts another reader in place of the one by which journals
// read replies.
func ReadRepliesWith(o *Options, read replyReader) { o.readReply = read }

// Tester is what [Test] needs of a test.
type Tester = tester

// RunTest is [Test] on any Tester.
func RunTest(t Tester, path string, opts *Options) { test(t, path, opts) }

// ReadMessage reads a message between a child and its mock server.
var ReadMessage = readMessage

// WaitedFor is waitedFor.
var WaitedFor = waitedFor
