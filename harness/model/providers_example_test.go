// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/model"
)

func ExampleNewOpenAI() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Sunny"}}]}

data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}

data: [DONE]

`)
	}))
	defer endpoint.Close()

	client := model.NewOpenAI(model.Config{BaseURL: endpoint.URL + "/v1"})
	request := &model.Request{
		Model:    "gpt-5",
		Messages: []harness.Message{{Role: harness.RoleUser, Text: "What is the weather in Paris?"}},
		Stream:   true,
	}
	for event, err := range client.Generate(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e := event.(type) {
		case model.TextDelta:
			fmt.Println("text:", e.Text)
		case model.Done:
			fmt.Println("done:", e.Message.Text, e.FinishReason)
		}
	}
	// Output:
	// text: Sunny
	// text: .
	// done: Sunny. stop
}

// answering is an endpoint that says the same to everybody.
func answering(reply string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply)
	}))
}

// ask prints the answer to a question, whoever is asked.
func ask(m model.Model, name string) {
	request := &model.Request{Model: name, Messages: []harness.Message{{Role: harness.RoleUser, Text: "What is the weather in Paris?"}}}
	for event, err := range m.Generate(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if done, ok := event.(model.Done); ok {
			fmt.Println(done.Message.Text, done.FinishReason)
		}
	}
}

func ExampleNewResponses() {
	endpoint := answering(`{"object":"response","status":"completed","output":[
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Sunny."}]}]}`)
	defer endpoint.Close()
	ask(model.NewResponses(model.Config{BaseURL: endpoint.URL + "/v1"}), "gpt-5")
	// Output: Sunny. stop
}

func ExampleNewAnthropic() {
	endpoint := answering(`{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"Sunny."}]}`)
	defer endpoint.Close()
	ask(model.NewAnthropic(model.Config{BaseURL: endpoint.URL}), "claude-sonnet-4-5")
	// Output: Sunny. stop
}

func ExampleNewGemini() {
	endpoint := answering(`{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Sunny."}]}}]}`)
	defer endpoint.Close()
	ask(model.NewGemini(model.Config{BaseURL: endpoint.URL}), "gemini-2.5-flash")
	// Output: Sunny. stop
}
