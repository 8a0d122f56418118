// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

func Example() {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "weather",
		Tools: []mockmcp.Tool{{
			Name:  "get_weather",
			Input: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
			Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{JSON: json.RawMessage(`{"sky":"sunny","temp":21.50}`)}, nil
			},
		}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	conn, err := server.Dial(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	answers := bufio.NewScanner(conn)
	for _, arguments := range []string{`{"city":"Paris"}`, `{"town":"Paris"}`} {
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_weather","arguments":%s}}`+"\n", arguments)
		answers.Scan()
	}
	for _, x := range server.Journal() {
		fmt.Printf("%d %s(%s) = %s\n", x.Seq, x.Tool, x.Args, x.Text)
	}
	// Output:
	// 1 get_weather({"city":"Paris"}) = {"sky":"sunny","temp":21.50}
	// 2 get_weather({"town":"Paris"}) = MCP error -32602: Input validation error: Invalid arguments for tool get_weather: missing required property "city"
}
