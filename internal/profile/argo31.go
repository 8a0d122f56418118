// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

// argo31 is 3.1.x: everything is converted, and chunks before the last have no
// finish_reason.
func argo31() *Profile {
	return &Profile{
		Name: "argo-proxy-3.1", About: "argo-proxy 3.1.x: all replies rebuilt, no finish_reason key before the end, in-stream errors swallowed",
		style: style31, server: aiohttpServer(), sameBlocks: true, finish: finishV3, forces: true,
		names: &naming{ // [run]
			release: "3.1", loose: true, fallback: "argo:gpt-5-nano", embedFallback: "argo:text-embedding-3-small", embedMissing: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: convertedFailures(),
	}
}

// argo310 is 3.1.0, whose unknown models are still the one of 3.0. [run]
func argo310() *Profile {
	p := argo31()
	p.Name = "argo-proxy-3.1.0"
	p.About = "argo-proxy 3.1.0: as 3.1, and unknown models are gpt-4o"
	p.names.release, p.names.fallback = "3.0", "argo:gpt-4o"
	return p
}
