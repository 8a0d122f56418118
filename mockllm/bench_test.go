// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// BenchmarkServe measures the mock without net/http around it. How that
// compares with a bare handler, internal/bench/mockllm tells.
func BenchmarkServe(b *testing.B) {
	text := strings.TrimSpace(strings.Repeat("It is sunny in Paris and warm too. ", 4))
	call := mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"location":"Paris, France"}`)}}}
	var history strings.Builder
	for i := range 85 {
		text, _ := json.Marshal(strings.Repeat(fmt.Sprintf("{\"compound\": \"cpd%05d\", \"name\": \"Glucose\"}\n", i), 24))
		fmt.Fprintf(&history, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"f","arguments":"{}"}}]},`, i)
		fmt.Fprintf(&history, `{"role":"tool","tool_call_id":"call_%d","content":%s},`, i, text)
	}
	const user = `{"role":"user","content":"What is the weather in Paris?"}`
	for _, bc := range []struct {
		name, messages, more string
		reply                mockllm.Reply
		script               mockllm.Script
	}{
		{name: "text", messages: user, reply: say(text)},
		{name: "text_stream", messages: user, more: `,"stream":true`, reply: say(text)},
		{name: "text_stream_fragments", messages: user, more: `,"stream":true`, reply: say(text), script: mockllm.Script{Fragments: &mockllm.Fragments{Unit: mockllm.UnitRune, Max: 12}}},
		{name: "text_stream_argo", messages: user, more: `,"stream":true`, reply: say(text), script: mockllm.Script{Profile: "argo-proxy-3.3"}},
		{name: "call", messages: user, reply: call},
		{name: "call_stream", messages: user, more: `,"stream":true`, reply: call},
		{name: "call_stream_fragments", messages: user, more: `,"stream":true`, reply: call, script: mockllm.Script{Fragments: &mockllm.Fragments{Unit: mockllm.UnitRune}}},
		{name: "history_136kB", messages: history.String() + user, reply: say(text)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			bc.reply.Repeat = 1 << 40
			bc.script.Replies, bc.script.Arrival = []mockllm.Reply{bc.reply}, true
			m := scripted(b, bc.script, nil)
			defer m.Close()
			body := strings.NewReader(`{"model":"gpt-4o","messages":[` + bc.messages + `]` + bc.more + `}`)
			req, err := http.NewRequest("POST", "/v1/chat/completions", body)
			if err != nil {
				b.Fatal(err)
			}
			w := &countingWriter{header: make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				body.Seek(0, io.SeekStart)
				m.ServeHTTP(w, req)
			}
			if err := m.Err(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
