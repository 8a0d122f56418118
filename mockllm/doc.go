// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mockllm is a mock model: an OpenAI chat completions endpoint whose
// replies are scripted, for testing a client that calls tools.
//
// It is shaped like [net/http/httptest]. In a test:
//
//	llm := mockllm.NewServer(t, mockllm.Script{Replies: []mockllm.Reply{
//		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
//		{Say: "Sunny."},
//	}})
//	client := newClient(llm.URL) // ends in /v1, on loopback
//	...
//	llm.Journal() // what was really asked and answered
//
// [New] makes one without a socket: it is an [net/http.Handler], and
// [Mock.Transport] carries requests to it in memory, so that testing/synctest
// works. A [Host] serves many mocks under one listener, each with a base URL
// of its own, so that parallel trials never disturb each other.
//
// # Position
//
// The mock has no default answer: it answers a request that fits the script and
// refuses any other. It finds the due reply from the request, not by counting
// requests:
//
//   - Asides come first. They are outside the conversation.
//   - The turn is the one set by [Mock.BeginTurn], else the last one whose
//     user text is in the request, the texts matched in order.
//   - The reply due is the last of the turn all of whose earlier calls have
//     been answered, by tool messages with the ids that were handed out. After
//     an open call, a user message that no turn scripts is its result.
//   - When the client has shortened its history, the reply after the last one
//     delivered is due.
//   - A request at a position already answered with the same messages is a
//     retry: after a fault or a reply that was not delivered, it gets the same
//     reply; otherwise it is answered once more, marked [harness.Exchange]
//     Repeated, and then refused. With other messages it is a miss.
//   - A request that fits no position goes to the rules, which keep no state.
//
// A miss is HTTP 422 with error type rehearse_miss, and says what was expected
// next and how the request differs. A request that the real provider would
// refuse is refused with the provider's own status and error.
//
// Ids, times and the pieces of a stream follow from the script and the seed:
// two runs of one script give the same bytes.
//
// # How an answer is made
//
// For those who change the mock; files are those of this package. The table of
// routes (endpoints.go) leads a request to its dialect, a row of
// internal/dialect/dialects, which reads it. The position (position.go) tells
// the reply, and the fault that the request meets. From there (answer.go):
//
//	presetOf   what the profile makes of dialect and model (profiles.go)
//	giveReply  tools get the names that the client offers, all gets ids
//	adjust     what the request's settings make of the reply (options.go)
//	effects    what a fault does before anything is sent, to the reply and to the
//	           body (faults.go)
//	write      the dialect writes a dialect.Reply in a dialect.Style
//	send       the one paced writer (send.go): time to first token, pace,
//	           jitter, flushes, and ends of the connection
package mockllm
