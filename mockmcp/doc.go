// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

// Package mockmcp is a mock MCP server for testing clients: tools with
// scripted results, a state that results read and change, and a journal of
// every call. It speaks 2025-11-25 and 2026-07-28, in process, over stdio and
// over streamable HTTP.
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
// Calls are checked against the tool's input schema first. An unknown tool
// and arguments that break the schema are answered the way the official
// servers do: with a result that says isError and a text that a model can
// read. Then the first [Result] that matches answers; its value is computed
// on the old state, and then its patch is applied, under one lock for the
// whole server. A call that no result fits is a miss: a protocol error for
// the client, and [harness.ToolExchange.Miss] in the journal.
//
// The mcp-go library answers everything but calls (initialize,
// server/discover, tools/list and so on); calls are answered below it, on the
// wire, because its handlers cannot choose the code and data of an error.
package mockmcp
