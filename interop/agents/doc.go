// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Agents plays scenarios to agents that somebody else wrote, by their presets,
// and writes docs/agent-table.md from what came of it:
//
//	make agents                       # all agents, about ten minutes
//	make agents AGENTS='-only codex'  # one of them; what is known of the others stays
//
// With -compare it writes nothing, and fails where an outcome is not the one that
// results.json has. The agents have no network but loopback, where the machine
// allows that (Linux, root).
package main
