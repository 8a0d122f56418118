// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package live plays the shipped suites to a real model from go test. Its test
// is behind the build tag real_llm, the only way that live mode exists in Go
// tests:
//
//	OPENAI_BASE_URL=http://localhost:8000/v1 REHEARSE_MODEL=argo:gpt-4o go test -tags real_llm ./interop/live
package live
