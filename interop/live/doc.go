// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package live plays suites to real models from go test. Its test is behind the
// build tag real_llm, the only way that live mode exists in Go tests:
//
//	OPENAI_BASE_URL=http://localhost:8000/v1 REHEARSE_MODEL=argo:gpt-4o go -C interop test -tags real_llm ./live
//
// REHEARSE_MODELS=FILE plays all models of a file instead, each at an endpoint of
// its own, REHEARSE_SUITES the scenarios of another folder than the shipped
// utilities and calendar, and REHEARSE_OUT is the folder of the run.
//
// The folder chores has further scenarios for `make interop`, which compares two
// models that run offline.
package live
