// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/model"
	"github.com/rehearse-dev/rehearse/harness/tools"
)

// forecaster is a model that asks for the weather once and reports it.
type forecaster struct{}

func (forecaster) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	reply := harness.Message{Role: harness.RoleAssistant}
	if last := req.Messages[len(req.Messages)-1]; last.Role == harness.RoleTool {
		reply.Text = "It is " + last.Text + " in Paris."
	} else {
		reply.Calls = []harness.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city": "Paris"}`}}
	}
	return func(yield func(model.Event, error) bool) { yield(model.Done{Message: reply}, nil) }
}

// weather is a toolbox with one tool.
type weather struct{}

func (weather) Tools(context.Context) ([]harness.Tool, error) {
	return []harness.Tool{{Name: "get_weather"}}, nil
}

func (weather) Call(context.Context, string, string) (tools.Result, error) {
	return tools.Result{Text: "sunny"}, nil
}

func Example() {
	a := agent.New(agent.Config{Model: forecaster{}, Name: "gpt-5", Tools: weather{}})
	conversation := a.Conversation()
	for event, err := range conversation.Send(context.Background(), "What is the weather in Paris?") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e := event.(type) {
		case agent.ToolStarted:
			fmt.Println("calling", e.Call.Name, e.Call.Arguments)
		case agent.ToolFinished:
			fmt.Println("result:", e.Call.Result)
		case agent.Answer:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// calling get_weather {"city": "Paris"}
	// result: sunny
	// It is sunny in Paris.
}
