// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !real_llm

package run

// liveInTests says whether a Go test may reach a real endpoint.
const liveInTests = false
