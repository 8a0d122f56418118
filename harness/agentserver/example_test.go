// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agentserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/agentserver"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// An agent, here of a mock model, is given a goal over HTTP.
func ExampleNew() {
	mock, err := mockllm.New(mockllm.Script{Replies: []mockllm.Reply{{Say: "Lima."}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer mock.Close()
	llm := model.NewOpenAI(model.Config{BaseURL: mock.URL, Transport: mock.Transport()})
	s := agentserver.New(agentserver.Config{Open: func(context.Context, string) (*agent.Agent, func() error, error) {
		return agent.New(agent.Config{Model: llm, Name: "gpt-5"}), nil, nil
	}})
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()

	res, err := h.Client().Post(h.URL+"/agent/execute_task", "application/json", strings.NewReader(`{"goal": "Name the capital of Peru."}`))
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	var result agentserver.Result
	if err := json.NewDecoder(res.Body).Decode(&result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.FinalAnswer)

	// Output:
	// completed Lima.
}
