// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm"
)

func Example() {
	llm, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{
		{Calls: []mockllm.Call{{Tool: "get_weather", Args: map[string]any{"location": "Paris"}}}},
		{Say: "Sunny."},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer llm.Close()

	// A client under test would be given llm.URL and this transport.
	client := &http.Client{Transport: llm.Transport()}
	resp, err := client.Post(llm.URL+"/chat/completions", "application/json", strings.NewReader(
		`{"model":"gpt-4o","messages":[{"role":"user","content":"Weather in Paris?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.StatusCode, bytes.Contains(body, []byte(`"name":"get_weather"`)))
	for _, x := range llm.Journal() {
		fmt.Println(x.Kind, x.Turn, x.Reply, x.Request.Messages[0].Text, x.Answer.Calls[0].Arguments)
	}
	fmt.Println(len(llm.Remaining()), "reply was not asked for")
	// Output:
	// 200 true
	// reply 1 1 Weather in Paris? {"location":"Paris"}
	// 1 reply was not asked for
}

func ExampleHost() {
	host, err := mockllm.NewHost("")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"Ada", "Bob"} {
		llm, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "I am " + name + "."}}}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		baseURL, unmount := host.Mount(llm)
		fmt.Println(strings.TrimPrefix(baseURL, "http://"+host.Addr()))
		unmount()
	}
	fmt.Println(host.Close())
	// Output:
	// /1/v1
	// /2/v1
	// <nil>
}
