// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"slices"
)

// argo32 is 3.2.x with llm-rosetta 0.13.0.
func argo32() *Profile {
	s := aiohttpServer()
	s.owner = ownerSince323
	named := own(http.StatusInternalServerError, "Internal error: $why")
	s.wrong = wrongV3(func(Ask) bool { return true }, named, http.StatusBadGateway)
	return &Profile{
		Name: "argo-proxy-3.2", About: "argo-proxy 3.2.x: all replies rebuilt with null keys, in-stream errors swallowed, aiohttp",
		style: style32, server: s, sameBlocks: true, finish: finishV3, forces: true,
		names: &naming{ // [run]
			release: "3.2", loose: true, fallback: "argo:gpt-5.4-nano", embedFallback: "argo:text-embedding-3-small", embedMissing: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: slices.Concat([]failure{late(ErrorChunk), late(ErrorEvent)}, lost(), forced(), embedFailures(), replaced(emptyMessage32), aiohttpFailures()),
	}
}

// argo322 is 3.2.0 to 3.2.2, whose models still belong to whom they did. [run]
func argo322() *Profile {
	p := argo32()
	p.Name = "argo-proxy-3.2.2"
	p.About = "argo-proxy 3.2.0 to 3.2.2: as 3.2, and GET /v1/models says that gpt models are owned by argo"
	p.server.owner = ownerOf
	return p
}
