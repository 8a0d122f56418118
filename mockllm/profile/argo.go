// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"strings"
)

// aiohttp is the Server header of all releases before 3.3. [fact 1.1]
const aiohttp = "Python/3.11 aiohttp/3.14.5"

// ownerOf is owned_by to 3.2.1: gpt4o and gpt5 belong to argo. [fact 1.2]
func ownerOf(internal string) string {
	switch {
	case strings.HasPrefix(internal, "gpto"), strings.HasPrefix(internal, "ada"), strings.HasPrefix(internal, "v3"):
		return "openai"
	case strings.HasPrefix(internal, "claude"):
		return "anthropic"
	case strings.HasPrefix(internal, "gemini"):
		return "google"
	}
	return "argo"
}

// ownerSince323 is owned_by from 3.2.3 on. [fact 1.2]
func ownerSince323(internal string) string {
	if strings.HasPrefix(internal, "gpt") {
		return "openai"
	}
	return ownerOf(internal)
}

// argoRoutes are the routes of v3. [fact 1.1]
func argoRoutes() map[string]string {
	return map[string]string{
		"/v1/chat/completions": http.MethodPost, "/v1/responses": http.MethodPost, "/v1/messages": http.MethodPost,
		"/v1/embeddings": http.MethodPost, "/v1/models": http.MethodGet, "/health": http.MethodGet,
		"/version": http.MethodGet, "/v1/docs": http.MethodGet, "/": http.MethodGet, "/refresh": http.MethodPost,
	}
}

func argoDialects() map[string]Dialect {
	return map[string]Dialect{"/v1/chat/completions": Chat, "/v1/messages": Messages, "/v1/embeddings": Embeddings, "/v1/responses": Responses}
}

// aiohttpServer is the server of 3.0 to 3.2. [facts 1.1, 2.3, 10.1]
func aiohttpServer() *server {
	return &server{
		own:    headerOf("Content-Type", "application/json; charset=utf-8", "Server", aiohttp),
		passed: headerOf("Content-Type", "application/json; charset=utf-8", "Server", aiohttp),
		stream: headerOf("Content-Type", "text/event-stream", "Cache-Control", "no-cache", "Connection", "keep-alive", "Server", aiohttp),
		local:  headerOf("Content-Type", "text/plain; charset=utf-8", "Server", aiohttp),
		routes: argoRoutes(), dialects: argoDialects(), owner: ownerOf,
		badJSON: own(http.StatusBadRequest, "$text"),
		array: &answerRow{
			status: http.StatusInternalServerError, ctype: "text/plain; charset=utf-8", close: true,
			body: "500 Internal Server Error\n\nServer got itself in trouble",
		},
		refresh: `{"status": "ok", "message": "Model list refreshed successfully", "previous": {"unique_models": $models, "total_aliases": $aliases}, ` +
			`"current": {"unique_models": $models, "total_aliases": $aliases, "chat_models": $chat, "embed_models": $embed}}`,
		version: `{"version": "3", "latest_stable": null, "latest_pre": null, "up_to_date": null, "message": "", "update_commands": null, ` +
			`"dependencies": null, "pypi": "", "changelog": ""}`,
	}
}

const (
	noticeError   = "ARGO authentication error: the username is not registered in ARGO. Please verify your username and update your argo-proxy configuration."
	badShapeGPT   = "Failed to parse upstream response: 1 validation error(s): Expected SystemMessage | UserMessage | AssistantMessage | ToolMessage at 'choices[0].message', got None"
	badShapeOther = "Failed to parse upstream response: 1 validation error(s): Value at 'choices[0].message' does not match any variant of SystemMessage | UserMessage | AssistantMessage | ToolMessage"
	emptyChat     = `{"id": "", "object": "chat.completion", "created": 0, "model": "", "choices": []}`
	upstreamError = `{"error": "Upstream API error: $gateway $text"}`
)

// onlyDone is a stream of which [DONE] is all. [fact 2.4]
func onlyDone() *Twist { return &Twist{Events: []string{"data: [DONE]\n\n"}} }

// swallowed is a stream that an error ends without a word. [fact 2.4]
func swallowed() *Twist { return &Twist{Keep: true, Events: []string{"data: [DONE]\n\n"}} }

// convertedFailures are the rows that 3.0 (but for GPT), 3.1 and 3.2 have in
// common. [facts 2.4, 4.1]
func convertedFailures() []failure {
	cut := `{"error": {"message": "Upstream request failed: ` + notCompleted + `", "type": "invalid_request_error", "code": null}}`
	cutMessages := `{"type": "error", "error": {"type": "invalid_request_error", "message": "Upstream request failed: ` + notCompleted + `"}}`
	return []failure{
		{on: Status, dialect: Embeddings, answer: verbatim(), passed: true},
		{on: Status, stream: 's', answer: &answerRow{body: upstreamError}},
		{on: Status, answer: verbatim(), passed: true},
		{on: NotJSON, stream: 's', twist: onlyDone()},
		{on: NotJSON, answer: own(http.StatusBadGateway, "Upstream returned non-JSON response")},
		{on: EmptyObject, stream: 's', twist: onlyDone()},
		{on: EmptyObject, answer: &answerRow{status: http.StatusOK, body: emptyChat}},
		{on: BadShape, stream: 's', twist: onlyDone()},
		{on: BadShape, only: Claude, answer: own(http.StatusBadGateway, badShapeOther)},
		{on: BadShape, answer: own(http.StatusBadGateway, badShapeGPT)},
		{on: Closed, answer: own(http.StatusBadGateway, "Upstream request failed: Server disconnected")},
		{on: CutClean, dialect: Messages, stream: 's', twist: cutInto(http.StatusBadGateway, cutMessages)},
		{on: CutReset, dialect: Messages, stream: 's', twist: cutInto(http.StatusBadGateway, cutMessages)},
		{on: CutClean, stream: 's', twist: cutInto(http.StatusBadGateway, cut)},
		{on: CutReset, stream: 's', twist: cutInto(http.StatusBadGateway, cut)},
		// Claude is streamed from the gateway even when the client does not
		// stream. [fact 2.3]
		{on: CutClean, only: Claude, answer: own(http.StatusBadGateway, "Upstream request failed: "+notCompleted)},
		{on: CutReset, only: Claude, answer: own(http.StatusBadGateway, "Upstream request failed: "+notCompleted)},
		{on: ErrorChunk, stream: 's', twist: swallowed()},
		{on: ErrorEvent, stream: 's', twist: swallowed()},
		{on: ErrorChunk, only: Claude, answer: own(http.StatusBadGateway, badShapeOther)},
		// The notice comes through in streams, and for Claude. [fact 1.4]
		{on: Notice, not: Claude, stream: 'p', answer: own(http.StatusForbidden, noticeError)},
	}
}
