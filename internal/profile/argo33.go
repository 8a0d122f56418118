// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"slices"
	"strings"
)

// argo33 is 3.3.x with llm-rosetta 0.13.0: a server of its own, which closes
// every connection.
func argo33() *Profile {
	cors := []string{"Access-Control-Allow-Origin", "*", "Access-Control-Allow-Methods", "*", "Access-Control-Allow-Headers", "*", "Connection", "close"}
	with := func(pairs ...string) http.Header { return headerOf(append(pairs, cors...)...) }
	s := aiohttpServer()
	// [app.py, run]
	s.own = with("Content-Type", "application/json; charset=utf-8")
	s.passed = with("Content-Type", "application/json")
	s.stream = with("Content-Type", "text/event-stream", "Cache-Control", "no-cache")
	s.html = with("Content-Type", "text/html")
	s.local = headerOf("Content-Type", "application/json; charset=utf-8", "Access-Control-Allow-Origin", "*", "Connection", "close")
	s.echoID, s.json405, s.owner, s.responsesDone = true, true, ownerSince323, true
	s.embedError = `{"error": {"message": "$text", "type": "invalid_request_error"}}`
	s.array = &answerRow{status: http.StatusInternalServerError, body: `{"error": "Internal Server Error"}`, bare: true}
	broken := &answerRow{status: http.StatusInternalServerError, body: `{"error": "Internal Server Error"}`, bare: true}
	s.wrong = wrongV3(func(Ask) bool { return true }, broken, http.StatusBadGateway)
	s.refresh = `{"status": "refreshed", "before": {"unique_models": $models, "total_aliases": $aliases}, "after": {"unique_models": $models, "total_aliases": $aliases}}`
	s.tooLarge = &answerRow{status: http.StatusRequestEntityTooLarge, body: `{"error": "Request body too large ($text bytes)"}`}
	notice := &answerRow{
		status: http.StatusForbidden, bare: true,
		body: `{"error": {"message": "` + noticeError + `", "type": "authentication_error", "code": "permission_denied"}}`,
	}
	return &Profile{
		Name: "argo-proxy-3.3", About: "argo-proxy 3.3.x: a server of its own that closes every connection, CORS, 405 for unknown paths",
		style: style33, server: s, sameBlocks: true, finish: finishV3,
		names: &naming{ // [run]
			release: "3.3", loose: true, fallback: "argo:gpt-5.4-nano", exactEmbed: true,
			missingText: "Missing 'model' in request body", unknown: "Unknown model: '%s'. Configured models: %s",
		},
		failures: slices.Concat(embedFailures33(broken), replaced(emptyMessage32), lost(), stopped(ErrorChunk, "$message", "", false), stopped(CutReset, "Connection reset by peer", "resp_1", true), []failure{
			{on: Status, passed: true, answer: verbatim()},
			{on: NotJSON, answer: own(http.StatusBadGateway, "Upstream error")},
			{on: Closed, answer: own(http.StatusBadGateway, "Upstream request failed: Malformed status line: ")},
			// The text ends, and looks whole. [run]
			{on: CutClean, stream: 's', rewrite: swallowed()},
			{on: CutClean, answer: own(http.StatusBadGateway, "Upstream error")},
			{on: CutReset, answer: own(http.StatusBadGateway, "Upstream error")},
			late(ErrorEvent),
			{on: ErrorEvent, stream: 's', rewrite: swallowed()},
			{on: Notice, dialect: Messages, stream: 'p', answer: &answerRow{
				status: http.StatusForbidden, bare: true,
				body: `{"type": "error", "error": {"type": "authentication_error", "message": "` + noticeError + `"}}`,
			}},
			{on: Notice, dialect: Generate, stream: 'p', answer: &answerRow{
				status: http.StatusForbidden, bare: true, body: `{"error": {"code": 403, "message": "` + noticeError + `", "status": "PERMISSION_DENIED"}}`,
			}},
			{on: Notice, stream: 'p', answer: notice},
		}, stopped(Notice, "ArgoAuthWarning", "resp_1", true)),
	}
}

// stopped are the rows of a stream that the gateway does not bring to its end,
// in each dialect's words. [run] With cut, the connection is closed
// without the end of the body.
func stopped(on Trouble, why, id string, cut bool) []failure {
	why = "Upstream stream ended before completion: " + why
	sequence := ""
	if id == "" {
		id = `""`
	} else {
		id, sequence = `"`+id+`"`, `, "sequence_number": 9`
	}
	ends := func(d Dialect, format string) failure {
		text := strings.NewReplacer("$why", why, "$id", id, "$sequence", sequence).Replace(format)
		return failure{on: on, dialect: d, stream: 's', rewrite: &Rewrite{Keep: true, End: true, Events: []string{text + "\n\n"}, Cut: cut}}
	}
	return []failure{
		ends(Chat, `data: {"error": {"message": "$why", "type": "server_error", "code": null}}`),
		ends(Messages, "event: error\n"+`data: {"type": "error", "error": {"type": "api_error", "message": "$why"}}`),
		ends(Responses, "event: response.failed\n"+
			`data: {"type": "response.failed", "response": {"id": $id, "object": "response", "status": "failed", "error": {"code": "server_error", "message": "$why"}}$sequence}`),
		ends(Generate, `data: {"error": {"code": 500, "message": "$why", "status": "INTERNAL"}}`),
	}
}

// embedFailures33 are the rows of /v1/embeddings.
func embedFailures33(broken *answerRow) []failure {
	unchanged := &answerRow{status: http.StatusOK, body: "$body"}
	return []failure{
		{on: NotJSON, dialect: Embeddings, answer: broken},
		{on: NoObject, dialect: Embeddings, answer: unchanged, passed: true},
		{on: EmptyObject, dialect: Embeddings, answer: unchanged, passed: true},
		{on: BadShape, dialect: Embeddings, answer: unchanged, passed: true},
		{on: CutClean, dialect: Embeddings, answer: broken},
		{on: CutReset, dialect: Embeddings, answer: broken},
		{on: Closed, dialect: Embeddings, answer: &answerRow{
			status: http.StatusBadGateway, body: `{"error": {"message": "Upstream request failed: Malformed status line: ", "type": "upstream_error"}}`,
		}},
	}
}
