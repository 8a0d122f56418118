// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package interop tests the toolkit against real peers: MCP servers, SDK
// clients and conformance suites from npm and PyPI, small models that run
// offline, a Slurm of two nodes, and a browser. Its tests are behind the build tag interop and run by
// `make interop`, which installs the peers. None of them needs a network once
// they are installed.
package interop
