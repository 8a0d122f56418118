// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import "net/http"

// argo33 is 3.3.x with llm-rosetta 0.13.0: a server of its own, which closes
// every connection.
func argo33() *Profile {
	cors := []string{"Access-Control-Allow-Origin", "*", "Access-Control-Allow-Methods", "*", "Access-Control-Allow-Headers", "*", "Connection", "close"}
	with := func(pairs ...string) http.Header { return headerOf(append(pairs, cors...)...) }
	s := aiohttpServer()
	// [facts 1.1, 4.1, 10.1]
	s.own = with("Content-Type", "application/json; charset=utf-8")
	s.passed = with("Content-Type", "application/json")
	s.stream = with("Content-Type", "text/event-stream", "Cache-Control", "no-cache")
	s.local = headerOf("Content-Type", "application/json; charset=utf-8", "Access-Control-Allow-Origin", "*", "Connection", "close")
	s.echoID, s.json405, s.owner = true, true, ownerSince323
	s.array = &answerRow{status: http.StatusInternalServerError, body: `{"error": "Internal Server Error"}`, bare: true}
	s.refresh = `{"status": "refreshed", "before": {"unique_models": $models, "total_aliases": $aliases}, "after": {"unique_models": $models, "total_aliases": $aliases}}`
	s.tooLarge = &answerRow{status: http.StatusRequestEntityTooLarge, body: `{"error": "Request body too large ($text bytes)"}`}
	ended := func(why string) []string {
		return []string{
			`data: {"error": {"message": "Upstream stream ended before completion: ` + why + `", "type": "server_error", "code": null}}` + "\n\n",
			"data: [DONE]\n\n",
		}
	}
	notice := &answerRow{
		status: http.StatusForbidden, bare: true,
		body: `{"error": {"message": "` + noticeError + `", "type": "authentication_error", "code": "permission_denied"}}`,
	}
	return &Profile{
		Name: "argo-proxy-3.3", About: "argo-proxy 3.3.x: a server of its own that closes every connection, CORS, 405 for unknown paths",
		style: style33, server: s, sameBlocks: true,
		names: &naming{ // [fact 1.3]
			release: "3.3", loose: true, fallback: "argo:gpt-5.4-nano", exactEmbed: true,
			missingText: "Missing 'model' in request body", unknown: "Unknown model: '%s'. Configured models: %s",
		},
		failures: []failure{
			{on: Status, passed: true, answer: verbatim()},
			{on: NotJSON, stream: 's', twist: onlyDone()},
			{on: NotJSON, answer: own(http.StatusBadGateway, "Upstream error")},
			{on: EmptyObject, stream: 's', twist: onlyDone()},
			{on: EmptyObject, answer: &answerRow{status: http.StatusOK, body: emptyChat}},
			{on: BadShape, stream: 's', twist: onlyDone()},
			{on: BadShape, only: Claude, answer: own(http.StatusBadGateway, badShapeOther)},
			{on: BadShape, answer: own(http.StatusBadGateway, badShapeGPT)},
			{on: Closed, answer: own(http.StatusBadGateway, "Upstream request failed: Malformed status line: ")},
			// The text ends, and looks whole. [fact 2.4]
			{on: CutClean, dialect: Messages, stream: 's', twist: &Twist{Keep: true}},
			{on: CutClean, stream: 's', twist: &Twist{Keep: true, Events: []string{"data: [DONE]\n\n"}}},
			{on: CutReset, stream: 's', twist: &Twist{Keep: true, Events: ended("Connection reset by peer"), Cut: true}},
			{on: ErrorChunk, stream: 's', twist: &Twist{Keep: true, Events: ended("$message")}},
			{on: ErrorEvent, stream: 's', twist: swallowed()},
			{on: Notice, stream: 'p', answer: notice},
			{on: Notice, stream: 's', twist: &Twist{Events: ended("ArgoAuthWarning"), Cut: true}},
			{on: NoDone},
		},
	}
}
