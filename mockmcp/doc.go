// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mockmcp is a mock MCP server for testing clients: tools with
// scripted results, a state that results read and change, resources and
// prompts, and a journal of every call and every frame. It speaks all versions
// up to 2026-07-28, in process, over stdio, streamable HTTP, HTTP+SSE and
// WebSocket.
//
//	server := mockmcp.NewServer(t, mockmcp.Script{
//		Name: "weather",
//		Tools: []mockmcp.Tool{{
//			Name: "get_weather",
//			Handler: func(ctx context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
//				return &mockmcp.Answer{Text: "sunny"}, nil
//			},
//		}},
//	})
//	client := connect(server.URL)
//
// Calls are checked against the tool's input schema first. An unknown tool and
// arguments that break the schema are answered the way the official servers do:
// with a result that says isError and a text that a model can read. Then the
// first [Result] that matches answers: its value is computed from the old
// state, and then its patch is applied, under one lock for the whole server. A
// call that no result matches is a miss: a protocol error for the client, and
// [harness.ToolExchange.Miss] in the journal.
//
// # More than an answer
//
// Between a call and its answer come the steps of [Result.Before]: progress
// for a client that sent a token, log messages of a level that it wants,
// requests to the client ([Ask]), pauses. A client up to 2025-11-25 is
// asked while its call waits; a later one is told that input is required and
// sends its call again, which counts as the same call. What it said is in
// [Call.Asked]. After notifications the answer waits a little
// ([Protocol.Settle]), because clients lose notifications that come
// with it.
//
// A [Change] makes tools, prompts and resources come and go: at a call, at a
// list, after a time, or on a cue. [Server.Cue] gives cues; what is held until
// one ([Result.Hold], [Hold]) goes on. [Server.AwaitHeld] waits until
// something is held, so that a test needs no sleep. [Options.OnCall] and
// [Options.OnState] give cues by what happens.
//
// [Script.Faults] and [Result.Faults] say what goes wrong; package fault has
// the catalogue. [Server.Frames] has every message on the wire.
//
// # Beside mcp-go
//
// The server speaks the protocol itself: the handlers of mcp-go's server cannot
// choose the code and data of an error, and its notifications race with its
// answers. Of mcp-go it has the rules for the headers of 2026-07-28, and tests
// hold its answers against those of a bare mcp-go server.
package mockmcp
