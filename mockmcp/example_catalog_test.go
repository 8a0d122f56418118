// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"bufio"
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

func ExampleResourceTemplate() {
	server, err := mockmcp.New(mockmcp.Script{
		Name:  "lab",
		State: []byte(`{"visits": 3}`),
		Templates: []mockmcp.ResourceTemplate{{
			URITemplate: "lab://notes/{day}",
			Func: func(q *mockmcp.Query) (*mockmcp.ResourceContent, error) {
				return &mockmcp.ResourceContent{Text: fmt.Sprintf("Notes of %s, with %s.", q.Vars["day"], q.State)}, nil
			},
		}},
		Prompts: []mockmcp.Prompt{{
			Name:      "ask",
			Arguments: []mockmcp.PromptArgument{{Name: "about", Required: true}},
			Func: func(q *mockmcp.Query) ([]mockmcp.PromptMessage, error) {
				return []mockmcp.PromptMessage{{Text: "Tell me about " + q.Vars["about"] + "."}}, nil
			},
		}},
		Completions: []mockmcp.Completion{{Prompt: "ask", Argument: "about", Values: []string{"mice", "models"}}},
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
	for _, request := range []string{
		`"method":"resources/read","params":{"uri":"lab://notes/monday"}`,
		`"method":"prompts/get","params":{"name":"ask","arguments":{"about":"mice"}}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"about","value":"mo"}}`,
	} {
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":1,%s}`+"\n", request)
		answers.Scan()
		fmt.Println(answers.Text())
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"lab://notes/monday","text":"Notes of monday, with {\"visits\":3}."}]}}
	// {"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Tell me about mice."}}]}}
	// {"jsonrpc":"2.0","id":1,"result":{"completion":{"hasMore":false,"total":1,"values":["models"]}}}
}
