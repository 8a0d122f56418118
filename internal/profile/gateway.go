// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import "net/http"

// The paths of the gateway. [app.py]
const (
	gatewayBase = "/argoapi"
	oldBase     = gatewayBase + "/api/v1/resource"
)

// gateway is the Argo Gateway itself: what an argo-proxy stands in front of.
// [app.py, input_handle.py, captures]
func gateway() *Profile {
	json := headerOf("Content-Type", "application/json", "Strict-Transport-Security", "max-age=31536000; includeSubDomains", "Connection", "keep-alive")
	s := &server{
		own: json, passed: json,
		stream: headerOf("Content-Type", "text/event-stream; charset=utf-8", "Strict-Transport-Security", "max-age=31536000; includeSubDomains",
			"Connection", "keep-alive", "Vary", "Accept-Encoding"),
		local: headerOf("Content-Type", "application/json"),
		routes: map[string]string{
			gatewayBase + "/v1/chat/completions": http.MethodPost, gatewayBase + "/v1/messages": http.MethodPost,
			gatewayBase + "/v1/embeddings": http.MethodPost, gatewayBase + "/v1/models": http.MethodGet,
			gatewayBase + "/api/v1/models/": http.MethodGet, oldBase + "/chat/": http.MethodPost,
			oldBase + "/streamchat/": http.MethodPost, oldBase + "/embed/": http.MethodPost,
		},
		dialects: map[string]Dialect{
			gatewayBase + "/v1/chat/completions": Chat, gatewayBase + "/v1/messages": Messages, gatewayBase + "/v1/embeddings": Embeddings,
			oldBase + "/chat/": Old, oldBase + "/streamchat/": OldStream, oldBase + "/embed/": OldEmbed,
		},
		badJSON: &answerRow{status: http.StatusBadRequest, body: `{"error": {"message": "$text", "type": "BadRequestError", "code": "internal_error"}}`},
		array:   &answerRow{status: http.StatusBadRequest, body: `{"error": {"message": "Error code: 400", "type": "BadRequestError", "code": "internal_error"}}`},
		owner:   ownerSince323,
		// Of the captured answers, those of 1306 and 4095 bytes have no Vary,
		// and those of 892 and less have it.
		varies: 1024,
	}
	// The gateway answers at its host's root as well, so that a base URL with
	// or without /argoapi does.
	for path, method := range s.routes {
		short := path[len(gatewayBase):]
		s.routes[short] = method
		if d := s.dialects[path]; d != "" {
			s.dialects[short] = d
		}
	}
	return &Profile{
		Name: "argo-gateway", About: "the Argo Gateway: /api/v1/resource/{chat,streamchat,embed}/ and the new endpoints, to put a real argo-proxy in front",
		style: styleGateway, server: s,
		names: &naming{bare: true, unknown: "Error code: 400 - {'error': {'message': 'Model %s not found'}}", missingText: "Error code: 400 - {'error': {'message': 'model is required'}}"},
	}
}
