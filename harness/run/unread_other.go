// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package run

import "net"

const seesUnread = false

// unread is not known here.
func unread(net.Conn) int { return 0 }
