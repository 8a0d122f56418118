// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcpgo"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// A client of mcp-go for a mock server, in memory. In a trial the servers are
// those of [harness.Env.Servers].
func ExampleClient() {
	mock, err := mockmcp.New(mockmcp.Script{
		Name: "weather",
		Tools: []mockmcp.Tool{{
			Name: "get_weather",
			Handler: func(_ context.Context, c *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: "sunny"}, nil
			},
		}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer mock.Close()

	ctx := context.Background()
	c, err := mcpgo.Client(ctx, harness.Server{Name: "weather", Dial: mock.Dial})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var request mcp.CallToolRequest
	request.Params.Name = "get_weather"
	result, err := c.CallTool(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(mcp.TextContent).Text)
	fmt.Println(len(mock.Journal()), "call of", mock.Journal()[0].Tool)

	// Output:
	// sunny
	// 1 call of get_weather
}
