// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package procstat says what a process of this machine has used so far, for
// measurements that tell a server apart from what calls it. It is for Linux.
//
//	before, err := procstat.CPU(pid)
//	... // work
//	after, err := procstat.CPU(pid)
//	resident, err := procstat.Memory(pid, "VmRSS")
package procstat
