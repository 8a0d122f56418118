// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// fixture is a request and the reply to it.
type fixture struct {
	name  string
	body  []byte
	reply mockllm.Reply
	// count is where in body a number of eight digits stands that differs
	// from request to request; 0 is nowhere.
	count  int
	stream bool
	// The aims for the mock at many connections, flushing or not: at least so
	// many times the requests a second of the bare handler and of the peer, at
	// most so many times the processor time of the peer. 0 is no aim.
	bareRate, flushedRate, peerRate, peerCPU float64
}

const number = "00000000"

// chunks is the pieces of the longest stream.
const (
	chunks = 32
	chunk  = "sunny "
)

func fixtures() []fixture {
	text := strings.TrimSpace(strings.Repeat("It is sunny in Paris and warm too. ", 4))
	tools := `,"tools":[{"type":"function","function":{"name":"get_weather","description":"Get the weather.","parameters":{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}}}]`
	user := `{"role":"user","content":"What is the weather in Paris?"}`
	another := `{"role":"user","content":"What is the weather in ` + number + `?"}`
	call := mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"location":"Paris, France","unit":"celsius"}`)}}}
	list := []fixture{
		{name: "text", body: request(user, tools), reply: mockllm.Reply{Say: text}, bareRate: 0.8, peerRate: 3.5},
		{name: "text to a new message", body: request(another, tools), reply: mockllm.Reply{Say: text}, bareRate: 0.8, peerRate: 3.5},
		{name: "tool call", body: request(user, tools), reply: call, bareRate: 0.8, peerRate: 3.5},
		{name: "tool call, streamed", body: request(user, tools+`,"stream":true`), reply: call, stream: true},
		{
			name: "32-chunk stream", body: request(another, tools+`,"stream":true`), stream: true, bareRate: 2, flushedRate: 1,
			reply: mockllm.Reply{Say: strings.Repeat(chunk, chunks)},
		},
		{
			name: "32 fragments", body: request(another, tools+`,"stream":true`), stream: true, bareRate: 2,
			reply: mockllm.Reply{Say: strings.Repeat(chunk, chunks), Fragments: &mockllm.Fragments{Unit: mockllm.UnitByte, Min: len(chunk)}},
		},
		{name: "136 kB history", body: request(history(), tools), reply: mockllm.Reply{Say: text}, peerCPU: 0.25},
	}
	for i := range list {
		list[i].count = max(bytes.Index(list[i].body, []byte(number)), 0)
	}
	return list
}

func request(messages, more string) []byte {
	return []byte(`{"model":"gpt-4o","messages":[` + messages + `]` + more + `}`)
}

// history is the messages of a long conversation, of which the last is new
// in each request.
func history() string {
	var b strings.Builder
	b.WriteString(`{"role":"user","content":"Find the compounds."}`)
	for i := range 85 {
		text, _ := json.Marshal(strings.Repeat(fmt.Sprintf("{\"compound\": \"cpd%05d\", \"name\": \"Glucose\"}\n", i), 24))
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{\"query\": \"glucose %d\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, text)
	}
	b.WriteString(`,{"role":"user","content":"And now? ` + number + `"}`)
	return b.String()
}
