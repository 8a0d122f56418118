// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package profile

import (
	"net/http"
	"slices"
	"strings"
)

// argo30 is 3.0.x: GPT and Gemini come from the gateway as they are, Claude is
// converted.
func argo30() *Profile {
	s := aiohttpServer()
	named := own(http.StatusInternalServerError, "Internal error: $why")
	s.wrong = wrongV3(func(a Ask) bool { return !handedOn(a) }, named, http.StatusInternalServerError)
	return &Profile{
		Name: "argo-proxy-3.0", About: "argo-proxy 3.0.x: GPT streams verbatim from the gateway, Claude converted, aiohttp",
		style: style30, server: s, sameBlocks: true, finish: finishV3, forces: true,
		names: &naming{
			release: "3.0", loose: true, fallback: "argo:gpt-4o", embedFallback: "argo:text-embedding-3-small", embedMissing: "argo:text-embedding-3-small", messagesPass: true,
			missingText: "Missing 'model' field", unknown: "Model not found: %s",
		},
		failures: slices.Concat(chatFailures30(), messagesFailures30(), convertedFailures()),
	}
}

// handedOn reports whether a reply of 3.0 is the gateway's own: the dialect is
// that in which it was asked. [changelog, same-format passthrough]
func handedOn(a Ask) bool {
	return a.Dialect == Chat && a.Model.Family != Claude || a.Dialect == Messages && a.Model.Family == Claude
}

// chatFailures30 are the rows of chats that are handed on. [run]
func chatFailures30() []failure {
	raw := &Rewrite{Events: []string{"$body"}}
	as := func(ctype string) *answerRow { return &answerRow{status: http.StatusOK, body: "$body", ctype: ctype} }
	rows := []failure{
		{on: Status, stream: 'p', html: 'y', passed: true, answer: &answerRow{body: "$body", ctype: "$type; charset=utf-8"}},
		{on: NotJSON, stream: 's', rewrite: raw},
		{on: EmptyObject, stream: 's', rewrite: raw},
		{on: BadShape, stream: 's', rewrite: raw},
		{on: NotJSON, answer: as("$type; charset=utf-8")},
		{on: NoObject, stream: 's', rewrite: raw},
		{on: NoObject, answer: as("application/json; charset=utf-8")},
		{on: EmptyObject, answer: as("")},
		{on: BadShape, answer: as("")},
		{on: ErrorChunk, stream: 's', rewrite: &Rewrite{Keep: true, Events: []string{"data: $body\n\n"}, End: true}},
		{on: ErrorEvent, stream: 's', rewrite: &Rewrite{Keep: true, Events: []string{"event: error\ndata: $body\n\n"}, End: true}},
		{on: NoDone, stream: 's', rewrite: &Rewrite{Keep: true, NoDone: true}},
	}
	rows = append(rows, brokenOff30(`{"error": {"message": "$text", "type": "invalid_request_error", "code": null}}`, tooShort)...)
	for i := range rows {
		rows[i].dialect, rows[i].not = Chat, Claude
	}
	return rows
}

// messagesFailures30 are those of Claude's messages, which are streamed from
// the gateway and put together again when the client does not stream.
func messagesFailures30() []failure {
	raw := &Rewrite{Events: []string{"$body"}}
	nothing := &answerRow{status: http.StatusOK, body: "{}"}
	half := &Rewrite{Keep: true, Half: true, NoReason: true}
	rows := []failure{
		{on: Status, stream: 'p', html: 'y', passed: true, answer: &answerRow{body: "$body", ctype: "text/plain; charset=utf-8"}},
		{on: NotJSON, stream: 's', rewrite: raw},
		{on: EmptyObject, stream: 's', rewrite: raw},
		{on: BadShape, stream: 's', rewrite: raw},
		{on: NotJSON, answer: nothing},
		{on: EmptyObject, answer: nothing},
		{on: BadShape, answer: nothing},
		{on: ErrorChunk, stream: 's', rewrite: &Rewrite{Keep: true, Events: []string{"data: $body\n\n"}}},
		{on: ErrorEvent, stream: 's', rewrite: &Rewrite{Keep: true, Events: []string{"event: error\ndata: $body\n\n"}}},
		{on: ErrorChunk, early: 'y', answer: nothing},
		{on: ErrorEvent, early: 'y', answer: nothing},
		{on: ErrorChunk, rewrite: half},
		{on: ErrorEvent, rewrite: half},
		{on: NoDone, stream: 's', rewrite: &Rewrite{Keep: true, NoDone: true}},
	}
	rows = append(rows, brokenOff30(`{"type": "error", "error": {"type": "invalid_request_error", "message": "$text"}}`, notCompleted)...)
	for i := range rows {
		rows[i].dialect, rows[i].only = Messages, Claude
	}
	return rows
}

// brokenOff30 are the rows of connections that end too soon; short says how
// that of a reply that is not streamed does.
func brokenOff30(envelope, short string) []failure {
	in := func(text string) string { return strings.Replace(envelope, "$text", "Internal error: "+text, 1) }
	plain := &answerRow{status: http.StatusInternalServerError, body: in(short)}
	stream := cutInto(http.StatusInternalServerError, in(notCompleted))
	return []failure{
		{on: Closed, answer: &answerRow{status: http.StatusInternalServerError, body: in("Server disconnected")}},
		{on: CutClean, stream: 's', rewrite: stream},
		{on: CutReset, stream: 's', rewrite: stream},
		{on: CutClean, answer: plain},
		{on: CutReset, answer: plain},
	}
}
