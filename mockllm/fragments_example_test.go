// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// A client that takes the first delta of a call for its whole arguments, or
// parses each piece, fails on this.
func ExampleFragments() {
	llm, err := mockllm.New(mockllm.Script{
		Replies:   []mockllm.Reply{{Calls: []mockllm.Call{{Tool: "find", Args: map[string]any{"city": "Köln"}}}}},
		Fragments: &mockllm.Fragments{Unit: mockllm.UnitByte, Escape: true, Cuts: []int{12}, Name: mockllm.PlaceNull},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer llm.Close()
	client := http.Client{Transport: llm.Transport()}
	resp, err := client.Post(llm.URL+"/chat/completions", "application/json", strings.NewReader(
		`{"model":"m","stream":true,"messages":[{"role":"user","content":"Where?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(b)) {
		if _, call, ok := strings.Cut(line, `"function":{"name":`); ok {
			call, _, _ = strings.Cut(call, "}")
			fmt.Println(call)
		}
	}
	// Output:
	// "find","arguments":""
	// null,"arguments":"{\"city\":\"K\\u"
	// null,"arguments":"00f6ln\"
}

func ExampleFragments_Check() {
	f := mockllm.Fragments{Unit: mockllm.UnitRune, Index: "sideways"}
	fmt.Println(f.Check())
	// Output:
	// fragments: index is "sideways": want one of missing, zero, wandering, mixed
}

func ExampleHabits_Check() {
	h := mockllm.Habits{IDs: "roman"}
	fmt.Println(h.Check())
	h = mockllm.Habits{IDs: mockllm.IDNumber, Names: mockllm.NamePadded, Args: mockllm.ArgsDouble, FunctionCall: mockllm.FunctionNull}
	fmt.Println(h.Check())
	// Output:
	// habits: ids is "roman": want one of number
	// <nil>
}
