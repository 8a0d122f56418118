// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import "net/http"

// argo30 is 3.0.x: GPT and Gemini come from the gateway as they are, Claude is
// converted.
func argo30() *Profile {
	gptCut := `{"error": {"message": "Internal error: ` + notCompleted + `", "type": "invalid_request_error", "code": null}}`
	claudeCut := `{"type": "error", "error": {"type": "invalid_request_error", "message": "Internal error: ` + notCompleted + `"}}`
	same := []failure{
		// GPT as chat, and Claude as messages, are handed on. [facts 2.4, 4.1]
		{on: Status, dialect: Chat, not: Claude, stream: 'p', html: 'y', passed: true, answer: &answerRow{body: "$body", ctype: "text/html; charset=utf-8"}},
		{on: NotJSON, dialect: Chat, not: Claude, stream: 's', twist: &Twist{Events: []string{"$body"}}},
		{on: NotJSON, dialect: Chat, not: Claude, answer: &answerRow{status: http.StatusOK, body: "$body", ctype: "text/html; charset=utf-8"}},
		{on: EmptyObject, dialect: Chat, not: Claude, stream: 's', twist: &Twist{Events: []string{"$body"}}},
		{on: EmptyObject, dialect: Chat, not: Claude, answer: &answerRow{status: http.StatusOK, body: "{}"}},
		{on: BadShape, dialect: Chat, not: Claude, answer: &answerRow{status: http.StatusOK, body: "$body"}},
		{on: Closed, dialect: Chat, not: Claude, answer: own(http.StatusInternalServerError, "Internal error: Server disconnected")},
		{on: CutClean, dialect: Chat, not: Claude, stream: 's', twist: cutInto(http.StatusInternalServerError, gptCut)},
		{on: CutReset, dialect: Chat, not: Claude, stream: 's', twist: cutInto(http.StatusInternalServerError, gptCut)},
		{on: CutClean, dialect: Messages, only: Claude, stream: 's', twist: cutInto(http.StatusInternalServerError, claudeCut)},
		{on: CutReset, dialect: Messages, only: Claude, stream: 's', twist: cutInto(http.StatusInternalServerError, claudeCut)},
		{on: ErrorChunk, dialect: Chat, not: Claude, stream: 's', twist: &Twist{Keep: true, Events: []string{"data: $body\n\n", "data: [DONE]\n\n"}}},
		{on: NoDone, dialect: Chat, not: Claude, stream: 's', twist: &Twist{Keep: true, NoDone: true}},
	}
	return &Profile{
		Name: "argo-proxy-3.0", About: "argo-proxy 3.0.x: GPT streams verbatim from the gateway, Claude converted, aiohttp",
		style: style30, server: aiohttpServer(), sameBlocks: true,
		names: &naming{
			release: "3.0", loose: true, fallback: "argo:gpt-4o", embedFallback: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: append(same, convertedFailures()...),
	}
}
