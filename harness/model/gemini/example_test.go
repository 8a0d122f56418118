// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/model/gemini"
	"github.com/rehearse-dev/rehearse/mockllm"
)

func Example() {
	mock, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "Sunny."}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	endpoint := httptest.NewServer(http.Handler(mock))
	defer endpoint.Close()

	client := gemini.New(gemini.Config{BaseURL: endpoint.URL})
	request := &model.Request{
		Model:    "gemini-2.5-flash",
		Messages: []harness.Message{{Role: harness.RoleUser, Text: "What is the weather in Paris?"}},
	}
	for event, err := range client.Generate(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if done, ok := event.(model.Done); ok {
			fmt.Println(done.Message.Text, done.FinishReason)
		}
	}
	// Output: Sunny. stop
}
