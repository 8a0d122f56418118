// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

// chat sends lines to a server and returns a function that reads the next
// line of its answers.
func chat(server *mockmcp.Server) (conn io.WriteCloser, next func() string) {
	both, err := server.Dial(context.Background())
	if err != nil {
		panic(err)
	}
	answers := bufio.NewScanner(both)
	return both, func() string {
		answers.Scan()
		return answers.Text()
	}
}

// A result that tells of progress, asks the user, and answers with what the
// user said.
func Example_steps() {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "shop",
		Tools: []mockmcp.Tool{{
			Name: "buy",
			Results: []mockmcp.Result{{
				Before: []mockmcp.Step{
					mockmcp.Progress{Value: 1, Total: 2},
					mockmcp.Ask{mockmcp.Form("How many?", json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`))},
				},
				Answer: func(c *mockmcp.Call) (*mockmcp.Answer, error) {
					return &mockmcp.Answer{Text: "bought: " + string(c.Asked)}, nil
				},
			}},
		}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, next := chat(server)
	defer conn.Close()
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	next()
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy","_meta":{"progressToken":"p"}}}`)
	fmt.Println(next())
	fmt.Println(next())
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":2}}}`)
	fmt.Println(next())
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}}
	// {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"bought: {\"elicitation\":{\"action\":\"accept\",\"content\":{\"n\":2}}}"}]}}
}

// A tool that appears on a cue, and a call that is held until another.
func ExampleServer_Cue() {
	server, err := mockmcp.New(mockmcp.Script{
		Name: "shop",
		Tools: []mockmcp.Tool{{
			Name:    "wait",
			Results: []mockmcp.Result{{Hold: "go on", Answer: func(*mockmcp.Call) (*mockmcp.Answer, error) { return &mockmcp.Answer{Text: "at last"}, nil }}},
		}},
		Changes: []mockmcp.Change{{Cue: "open", AddTools: []mockmcp.Tool{{Name: "buy"}}}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, next := chat(server)
	defer conn.Close()
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	next()
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
	if err := server.AwaitHeld(context.Background(), "go on"); err != nil {
		fmt.Println(err)
	}
	server.Cue("open")
	fmt.Println(next())
	server.Cue("go on")
	fmt.Println(next())
	fmt.Println(len(server.Tools()), "tools")
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"at last"}]}}
	// 2 tools
}
