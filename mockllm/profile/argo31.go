// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

// argo31 is 3.1.x: everything is converted, and chunks before the last have no
// finish_reason.
func argo31() *Profile {
	return &Profile{
		Name: "argo-proxy-3.1", About: "argo-proxy 3.1.x: all replies rebuilt, no finish_reason key before the end, in-stream errors swallowed",
		style: style31, server: aiohttpServer(), sameBlocks: true,
		names: &naming{ // [fact 1.3]
			release: "3.1", loose: true, fallback: "argo:gpt-5-nano", embedFallback: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: append([]failure{{on: NoDone}}, convertedFailures()...),
	}
}
