// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"slices"
	"strings"
)

// aiohttp is the Server header of all releases before 3.3. [app.py]
const aiohttp = "Python/3.11 aiohttp/3.14.5"

// ownerOf is owned_by to 3.2.1: gpt4o and gpt5 belong to argo. [models]
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

// ownerSince323 is owned_by from 3.2.3 on. [models]
func ownerSince323(internal string) string {
	if strings.HasPrefix(internal, "gpt") {
		return "openai"
	}
	return ownerOf(internal)
}

// argoRoutes are the routes of v3. [app.py]
func argoRoutes() map[string]string {
	return map[string]string{
		"/v1/chat/completions": http.MethodPost, "/v1/responses": http.MethodPost, "/v1/messages": http.MethodPost,
		"/v1/embeddings": http.MethodPost, "/v1/models": http.MethodGet, "/health": http.MethodGet,
		"/version": http.MethodGet, "/v1/docs": http.MethodGet, "/": http.MethodGet, "/v1": http.MethodGet, "/refresh": http.MethodPost,
	}
}

func argoDialects() map[string]Dialect {
	return map[string]Dialect{"/v1/chat/completions": Chat, "/v1/messages": Messages, "/v1/embeddings": Embeddings, "/v1/responses": Responses}
}

// aiohttpServer is the server of 3.0 to 3.2. [app.py, run]
func aiohttpServer() *server {
	return &server{
		own:    headerOf("Content-Type", "application/json; charset=utf-8", "Server", aiohttp),
		passed: headerOf("Content-Type", "application/json; charset=utf-8", "Server", aiohttp),
		stream: headerOf("Content-Type", "text/event-stream", "Cache-Control", "no-cache", "Connection", "keep-alive", "Server", aiohttp),
		local:  headerOf("Content-Type", "text/plain; charset=utf-8", "Server", aiohttp),
		html:   headerOf("Content-Type", "text/html; charset=utf-8", "Server", aiohttp), routes: argoRoutes(), dialects: argoDialects(), generate: true, owner: ownerOf, embedError: plainError,
		wrong:   wrongV3(func(Ask) bool { return true }, own(http.StatusInternalServerError, "Internal error: $why"), http.StatusInternalServerError),
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
	noticeError    = "ARGO authentication error: the username is not registered in ARGO. Please verify your username and update your argo-proxy configuration."
	badShapeGPT    = "Failed to parse upstream response: 1 validation error(s): Expected SystemMessage | UserMessage | AssistantMessage | ToolMessage at 'choices[0].message', got None"
	badShapeOther  = "Failed to parse upstream response: 1 validation error(s): Value at 'choices[0].message' does not match any variant of SystemMessage | UserMessage | AssistantMessage | ToolMessage"
	emptyMessage   = `{"id": "", "type": "message", "model": "", "content": [], "usage": {"input_tokens": 0, "output_tokens": 0}}`
	emptyMessage32 = `{"id": "msg_", "type": "message", "model": "", "content": [], "stop_sequence": null, "stop_details": null, "container": null, "usage": ` +
		`{"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "cache_creation": null, ` +
		`"output_tokens_details": null, "service_tier": null, "inference_geo": null, "server_tool_use": null}}`
	messageStop   = "event: message_stop\n" + `data: {"type": "message_stop"}` + "\n\n"
	emptyChat     = `{"id": "", "object": "chat.completion", "created": 0, "model": "", "choices": []}`
	upstreamError = `{"error": "Upstream API error: $gateway $text"}`
)

// onlyEnd is a stream that says nothing. [run]
func onlyEnd() *Rewrite { return &Rewrite{End: true} }

// swallowed is a stream that an error ends silently. [run]
func swallowed() *Rewrite { return &Rewrite{Keep: true, End: true} }

// forced are the rows of Claude where it is streamed from the gateway even
// when the client does not stream, and where what comes is no stream. [run]
func forced() []failure {
	broken := own(http.StatusBadGateway, badShapeOther)
	return []failure{
		{on: NotJSON, only: Claude, stream: 'p', answer: broken},
		{on: CutClean, only: Claude, stream: 'p', answer: own(http.StatusBadGateway, "Upstream request failed: "+notCompleted)},
		{on: CutReset, only: Claude, stream: 'p', answer: own(http.StatusBadGateway, "Upstream request failed: "+notCompleted)},
		{on: ErrorChunk, only: Claude, stream: 'p', early: 'y', answer: broken},
		{on: ErrorEvent, only: Claude, stream: 'p', early: 'y', answer: broken},
		{on: ErrorChunk, only: Claude, stream: 'p', rewrite: &Rewrite{Keep: true, Half: true}},
		{on: ErrorEvent, only: Claude, stream: 'p', rewrite: &Rewrite{Keep: true, Half: true}},
	}
}

// replaced are the rows for answers of the gateway that are no replies, of all
// that convert. A message of Anthropic's that has no content is broken, and a
// chat without choices is an empty one.
// message is that in Anthropic's dialect.
func replaced(message string) []failure {
	return []failure{
		{on: NotJSON, stream: 's', rewrite: onlyEnd()},
		{on: EmptyObject, stream: 's', rewrite: onlyEnd()},
		{on: BadShape, stream: 's', rewrite: onlyEnd()},
		{on: EmptyObject, only: Claude, answer: own(http.StatusBadGateway, badShapeOther)},
		{on: BadShape, only: Claude, answer: own(http.StatusBadGateway, badShapeOther)},
		{on: BadShape, answer: own(http.StatusBadGateway, badShapeGPT)},
		{on: EmptyObject, dialect: Chat, answer: &answerRow{status: http.StatusOK, body: emptyChat}},
		{on: EmptyObject, dialect: Generate, answer: &answerRow{status: http.StatusOK, body: `{"responseId": "", "modelVersion": "", "candidates": []}`}},
		{on: EmptyObject, dialect: Messages, answer: &answerRow{status: http.StatusOK, body: message}},
		{on: EmptyObject, dialect: Responses, rewrite: &Rewrite{Keep: true, Empty: true}},
	}
}

// late are the rows, since 3.2, of a chat that an error ends and that is asked
// for as a message.
func late(on Trouble) failure {
	return failure{on: on, dialect: Messages, not: Claude, stream: 's', early: 'n', rewrite: &Rewrite{Keep: true, Stop: true, End: true}}
}

// lost are the rows, since 3.2, of a message of Anthropic's without
// message_stop.
func lost() []failure {
	return []failure{
		{on: NoDone, only: Claude, dialect: Chat, stream: 's', rewrite: &Rewrite{Keep: true, NoUsage: true}},
		{on: NoDone, only: Claude, dialect: Messages, stream: 's', rewrite: &Rewrite{Keep: true, NoDone: true}},
		{on: NoDone, only: Claude, dialect: Responses, stream: 's', rewrite: &Rewrite{Keep: true, NoFinish: true}},
	}
}

// finishV3 is the reason to end as 3.x translates it: what one side has no word
// for ended in order. [run]
func finishV3(a Ask, _ bool, finish string) string {
	if finish == "content_filter" && (a.Model.Family == Claude) != (a.Dialect == Messages) {
		return "stop"
	}
	return finish
}

// embedFailures are the rows of /v1/embeddings to 3.2.
func embedFailures() []failure {
	const failed = `{"error": "HTTP error occurred: `
	return []failure{
		{on: Status, dialect: Embeddings, html: 'y', answer: &answerRow{body: `{"error": "Upstream error $gateway: $text"}`}},
		{on: Status, dialect: Embeddings, answer: verbatim(), passed: true},
		{on: NotJSON, dialect: Embeddings, answer: &answerRow{status: http.StatusServiceUnavailable, body: failed + `200, message='Attempt to decode JSON with unexpected mimetype: text/html'"}`}},
		{on: NoObject, dialect: Embeddings, answer: &answerRow{status: http.StatusOK, body: "$body"}, passed: true},
		{on: EmptyObject, dialect: Embeddings, answer: &answerRow{status: http.StatusOK, body: "$body"}, passed: true},
		{on: BadShape, dialect: Embeddings, answer: &answerRow{status: http.StatusOK, body: "$body"}, passed: true},
		{on: Closed, dialect: Embeddings, answer: &answerRow{status: http.StatusServiceUnavailable, body: failed + `Server disconnected"}`}},
		{on: CutClean, dialect: Embeddings, answer: &answerRow{status: http.StatusServiceUnavailable, body: failed + tooShort + `"}`}},
		{on: CutReset, dialect: Embeddings, answer: &answerRow{status: http.StatusServiceUnavailable, body: failed + tooShort + `"}`}},
	}
}

// convertedFailures are the rows of 3.0, but for GPT, and 3.1: streams end as
// they should even after an error.
func convertedFailures() []failure {
	ended := func(on Trouble) []failure {
		return []failure{
			{on: on, dialect: Messages, stream: 's', rewrite: &Rewrite{Keep: true, End: true, Stop: true}},
			{on: on, dialect: Chat, only: Claude, stream: 's', early: 'n', rewrite: &Rewrite{Keep: true, End: true, Usage: true}},
		}
	}
	empty := func(on Trouble) failure {
		return failure{on: on, dialect: Messages, stream: 's', rewrite: &Rewrite{Events: []string{messageStop}}}
	}
	return slices.Concat(ended(ErrorChunk), ended(ErrorEvent), []failure{empty(NotJSON), empty(EmptyObject), empty(BadShape)}, forced(), embedFailures(), replaced(emptyMessage), aiohttpFailures())
}

// aiohttpFailures are the rows that 3.0 (but for GPT), 3.1 and 3.2 have in
// common. [run]
func aiohttpFailures() []failure {
	cut := func(envelope string) *Rewrite {
		return cutInto(http.StatusBadGateway, strings.Replace(envelope, "$text", "Upstream request failed: "+notCompleted, 1))
	}
	messages := cut(`{"type": "error", "error": {"type": "invalid_request_error", "message": "$text"}}`)
	generate := cut(`{"error": {"code": 502, "message": "$text", "status": "INVALID_ARGUMENT"}}`)
	chat := cut(`{"error": {"message": "$text", "type": "invalid_request_error", "code": null}}`)
	short := own(http.StatusBadGateway, "Upstream request failed: "+tooShort)
	return []failure{
		{on: Status, stream: 's', answer: &answerRow{body: upstreamError}},
		{on: Status, answer: verbatim(), passed: true},
		{on: NotJSON, answer: own(http.StatusBadGateway, "Upstream returned non-JSON response")},
		{on: Closed, answer: own(http.StatusBadGateway, "Upstream request failed: Server disconnected")},
		{on: CutClean, dialect: Messages, stream: 's', rewrite: messages},
		{on: CutReset, dialect: Messages, stream: 's', rewrite: messages},
		{on: CutClean, dialect: Generate, stream: 's', rewrite: generate},
		{on: CutReset, dialect: Generate, stream: 's', rewrite: generate},
		{on: CutClean, stream: 's', rewrite: chat},
		{on: CutReset, stream: 's', rewrite: chat},
		{on: CutClean, answer: short},
		{on: CutReset, answer: short},
		{on: ErrorChunk, stream: 's', rewrite: swallowed()},
		{on: ErrorEvent, stream: 's', rewrite: swallowed()},
		// The notice comes through in streams, and for Claude. [run]
		{on: Notice, not: Claude, stream: 'p', answer: own(http.StatusForbidden, noticeError)},
	}
}
