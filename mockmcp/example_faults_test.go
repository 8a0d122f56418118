// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// What does a client do when a tool fails once, and the server goes away at
// the next call? Here the client is a few lines of JSON.
func Example_faults() {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "shop",
		Tools: []mockmcp.Tool{{
			Name: "pay",
			Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: "paid"}, nil
			},
		}},
		Faults: []fault.Fault{
			{Kind: fault.RPCError, Code: -32050, Message: "out of paper"},
			{Kind: fault.Exit, Match: fault.Match{Tool: "pay"}},
			{Kind: fault.CursorLoop},
		},
	}, nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	conn, err := server.Dial(context.Background())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	replies := bufio.NewScanner(conn)
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"few lines","version":"1"}}}`)
	replies.Scan()
	for id := 2; id <= 3; id++ {
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"pay"}}`+"\n", id)
		if replies.Scan() {
			fmt.Println(replies.Text())
		} else {
			fmt.Println("the connection is gone")
		}
	}
	for _, call := range server.Journal() {
		fmt.Println(call.Tool, call.Fault, call.Failed)
	}
	for _, f := range server.Unstruck() {
		fmt.Println(f.String(), "has not struck")
	}
	// Output:
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32050,"message":"out of paper"}}
	// the connection is gone
	// pay rpc_error true
	// pay exit true
	// cursor_loop has not struck
}
