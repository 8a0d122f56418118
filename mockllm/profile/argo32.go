// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

// argo32 is 3.2.x with llm-rosetta 0.13.0.
func argo32() *Profile {
	s := aiohttpServer()
	s.owner = ownerSince323
	return &Profile{
		Name: "argo-proxy-3.2", About: "argo-proxy 3.2.x: all replies rebuilt with null keys, in-stream errors swallowed, aiohttp",
		style: style32, server: s, sameBlocks: true,
		names: &naming{ // [fact 1.3]
			release: "3.2", loose: true, fallback: "argo:gpt-5.4-nano", embedFallback: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: append([]failure{{on: NoDone}}, convertedFailures()...),
	}
}
