// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package tools_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/mcppool"
	"github.com/rehearse-dev/rehearse/harness/tools"
	"github.com/rehearse-dev/rehearse/mockmcp"
)

// Two agents share the sessions of a pool; alice may use one of the two servers.
func ExampleConnect() {
	ctx := context.Background()
	pool := mcppool.NewPool(nil)
	defer pool.Close()
	var servers []harness.Server
	for _, name := range []string{"files", "github"} {
		mock, err := mockmcp.New(mockmcp.Script{Name: name, Tools: []mockmcp.Tool{{
			Name: "list", Description: "Lists everything.", Input: []byte(`{"type": "object"}`),
			Handler: func(context.Context, *mockmcp.Call) (*mockmcp.Answer, error) {
				return &mockmcp.Answer{Text: "all of " + name}, nil
			},
		}}}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer mock.Close()
		servers = append(servers, harness.Server{Name: name, Dial: mock.Dial})
	}
	grants := map[string][]string{"alice": {"files"}, "eamonn": {"files", "github"}}
	for _, agent := range []string{"alice", "eamonn"} {
		router, err := tools.Connect(ctx, pool, servers, &tools.Options{Prefix: tools.NamesMCP, NameServers: true, As: agent, Grants: grants})
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := router.Call(ctx, "mcp_github_list", "{}")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", agent, result.Text)
	}
	for _, s := range pool.Stats() {
		fmt.Printf("%s: %d connection, %d errors, %d calls\n", s.Server, s.Connections, s.Errors, s.Calls)
	}
	// Output:
	// alice: Error: there is no tool "mcp_github_list": agent "alice" has no permission for server "github"
	// eamonn: all of github
	// files: 1 connection, 0 errors, 0 calls
	// github: 1 connection, 0 errors, 1 calls
}
