// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"slices"
)

// v2Server is the server of 2.x: the gateway's old interface behind it.
// [app.py, chat.py]
func v2Server() *server {
	s := aiohttpServer()
	s.stream = headerOf("Content-Type", "text/event-stream", "Server", "nginx")
	s.passed = headerOf("Content-Type", "application/json; charset=utf-8", "Server", aiohttp)
	s.routes = map[string]string{
		"/v1/chat/completions": http.MethodPost, "/v1/completions": http.MethodPost, "/v1/embeddings": http.MethodPost,
		"/v1/responses": http.MethodPost, "/v1/models": http.MethodGet, "/health": http.MethodGet, "/version": http.MethodGet,
		"/refresh": http.MethodPost, "/v1/chat": http.MethodPost, "/v1/embed": http.MethodPost, "/v1/docs": http.MethodGet, "/": http.MethodGet, "/v1": http.MethodGet,
	}
	s.dialects = map[string]Dialect{
		"/v1/chat/completions": Chat, "/v1/completions": Completions, "/v1/embeddings": Embeddings, "/v1/responses": Responses, "/v1/chat": Old, "/v1/embed": OldEmbed,
	}
	s.badJSON = &answerRow{status: http.StatusBadRequest, body: `{"error": "$text"}`}
	s.generate, s.wrong, s.listsOnly = false, wrongV2, true
	s.notJSON = "Expecting value: line 1 column 1 (char 0)" // Python's text, varies
	s.array = &answerRow{status: http.StatusInternalServerError, body: `{"error": "An unexpected error occurred: 'list' object has no attribute 'get'"}`}
	s.tooLarge = &answerRow{status: http.StatusInternalServerError, body: `{"error": "An unexpected error occurred: Request Entity Too Large"}`}
	s.version = `{"version": "2", "latest": null, "up_to_date": null, "pypi": "", "message": ""}`
	return s
}

func v2Names() *naming { // [run]
	return &naming{
		release: "2.8", fallback: "argo:gpt-4o", embedFallback: "argo:text-embedding-3-small", missing: "argo:gpt-4o",
		echoInternal: true, unknown: "Model not found: %s",
	}
}

// argo289 is 2.8.2 to 2.8.9: streams for real, but in pieces made up when the
// request has tools.
func argo289() *Profile {
	noResponse := &answerRow{
		status: http.StatusBadGateway,
		body:   `{"object": "error", "message": "Upstream model returned no response. Please try different request parameters.", "type": "upstream_no_response"}`,
	}
	invalid := &answerRow{
		status: http.StatusBadGateway,
		body:   `{"object": "error", "message": "Upstream returned invalid JSON", "type": "upstream_invalid_json"}`,
	}
	cut := cutInto(http.StatusServiceUnavailable, `{"error": "HTTP error occurred: `+notCompleted+`"}`)
	short := &answerRow{status: http.StatusServiceUnavailable, body: `{"error": "HTTP error occurred: ` + tooShort + `"}`}
	bare := cutInto(http.StatusInternalServerError, unexpected("'str' object has no attribute 'get'").body)
	asText := &Rewrite{Keep: true, Text: "$body"}
	nothing := &Rewrite{Keep: true, Text: " "}
	return &Profile{
		Name: "argo-proxy-2.8.9", About: "argo-proxy 2.8.2 to 2.8.9: no [DONE], tools in a made-up stream of 30 characters each 10 ms",
		style: style289, server: v2Server(), names: v2Names(), finish: finishV2,
		failures: slices.Concat(embedFailures28(), embedFailures(), []failure{ // [chat.py]
			{on: Status, dialect: Responses, stream: 's', answer: &answerRow{body: upstreamError}},
			{on: Status, stream: 's', html: 'y', answer: &answerRow{body: upstreamError}},
			{on: Status, html: 'y', answer: &answerRow{body: `{"object": "error", "message": "Upstream error $gateway: $text", "type": "upstream_error"}`}},
			{on: Status, answer: verbatim()},
			{on: NoObject, stream: 's', tools: 'y', rewrite: &Rewrite{Raw: bare.Raw, Chunk: bare.Chunk}},
			{on: NoObject, stream: 's', rewrite: asText},
			{on: NoObject, answer: unexpected("'NoneType' object has no attribute 'get'")},
			{on: NotJSON, stream: 's', rewrite: asText},
			{on: NotJSON, answer: invalid},
			{on: EmptyObject, stream: 's', tools: 'y', rewrite: nothing},
			{on: EmptyObject, stream: 's', rewrite: asText},
			{on: EmptyObject, answer: noResponse},
			{on: BadShape, stream: 's', tools: 'y', rewrite: nothing},
			{on: NoResponse, stream: 's', tools: 'y', rewrite: &Rewrite{Keep: true, Text: "None"}},
			// [W: tool-gemini]
			{on: BareCall, stream: 's', rewrite: &Rewrite{Raw: bare.Raw, Chunk: bare.Chunk}},
			{on: BareCall, answer: unexpected("'str' object has no attribute 'get'")},
			{on: BadShape, stream: 's', rewrite: asText},
			{on: BadShape, answer: noResponse},
			{on: Closed, answer: &answerRow{status: http.StatusServiceUnavailable, body: `{"error": "HTTP error occurred: Server disconnected"}`}},
			{on: CutClean, stream: 's', rewrite: cut},
			{on: CutReset, stream: 's', rewrite: cut},
			{on: CutClean, answer: short},
			{on: CutReset, answer: short},
		}),
	}
}

// embedFailures28 are the rows of /v1/embeddings, beside those of later
// releases: an answer without vectors is not noticed until it is read.
func embedFailures28() []failure {
	without := &answerRow{status: http.StatusOK, body: `{"error": "An error occurred: 'embedding'"}`}
	return []failure{
		{on: NoObject, dialect: Embeddings, answer: without},
		{on: EmptyObject, dialect: Embeddings, answer: without},
		{on: NoResponse, dialect: Embeddings, answer: without},
		{on: BadShape, dialect: Embeddings, answer: without},
	}
}

// argo281 is 2.8.1, the last that does not look at the gateway's status. So did
// those since 2.7.7, which also have another id in each chunk and no usage.
func argo281() *Profile {
	p := argo289()
	p.Name = "argo-proxy-2.8.1"
	p.About = "argo-proxy 2.8.1: as 2.8.9, and an error of the gateway is its status with an ordinary empty reply"
	// [chat.py, the status bug]
	empty := &answerRow{body: `{"id": "00000000000000000000000000000000", "created": 1767225600, "model": "$model", "service_tier": null, "system_fingerprint": null, ` +
		`"usage": {"completion_tokens": 0, "prompt_tokens": 1, "total_tokens": 1}, "choices": [{"finish_reason": "stop", "index": 0, ` +
		`"message": {"content": "", "refusal": null, "role": "assistant", "tool_calls": null}}], "object": "chat.completion"}`}
	p.failures = append([]failure{{on: Status, dialect: Chat, stream: 'p', html: 'n', answer: empty}}, p.failures...)
	return p
}

// argo275 is 2.7.5, the first release with tools: they are put into the
// prompt, and the model writes its calls as text. [changelog, input_handle.py]
func argo275() *Profile {
	p := argo289()
	p.Name = "argo-proxy-2.7.5"
	p.About = "argo-proxy 2.7.5: tools by prompt with ids of 22 letters, every stream made up, finish_reason stop on the last chunk only, no usage"
	p.style = style275
	p.names.release = "2.7"
	p.finish = finishV2Old
	return p
}

// finishV2 never says that a reply was cut off. [run]
func finishV2(_ Ask, calls bool, _ string) string {
	if calls {
		return "tool_calls"
	}
	return "stop"
}

// finishV2Old says stop at the end of a stream, calls or not. [run]
func finishV2Old(a Ask, calls bool, finish string) string {
	if a.Stream {
		return "stop"
	}
	return finishV2(a, calls, finish)
}
