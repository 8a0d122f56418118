// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bufio"
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/mockmcp"
	"github.com/rehearse-dev/rehearse/mockmcp/catalog"
)

func Example() {
	server, err := mockmcp.New(mockmcp.Script{
		Name:  "lab",
		State: []byte(`{"visits": 3}`),
		Templates: []catalog.Template{{
			URITemplate: "lab://notes/{day}",
			Func: func(q *catalog.Query) (*catalog.Content, error) {
				return &catalog.Content{Text: fmt.Sprintf("Notes of %s, with %s.", q.Vars["day"], q.State)}, nil
			},
		}},
		Prompts: []catalog.Prompt{{
			Name:      "ask",
			Arguments: []catalog.Argument{{Name: "about", Required: true}},
			Func: func(q *catalog.Query) ([]catalog.Message, error) {
				return []catalog.Message{{Text: "Tell me about " + q.Vars["about"] + "."}}, nil
			},
		}},
		Completions: []catalog.Completion{{Prompt: "ask", Argument: "about", Values: []string{"mice", "models"}}},
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
