// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

func Example() {
	req, refusal := chat.Read([]byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}`), nil)
	if refusal != nil {
		fmt.Println(refusal)
		return
	}
	fmt.Println(req.Request().Messages[0].Text)

	_, refusal = chat.Read([]byte(`{"model":"gpt-4o","messages":[]}`), nil)
	fmt.Println(refusal.Status, refusal.Code)
	// Output:
	// Hi
	// 400 empty_array
}

// A style says which members an object has, and what stands in each.
func Example_write() {
	style := &dialect.Style{
		Role: dialect.RoleMerged, Finish: dialect.FinishLast,
		Keys: map[string]dialect.Keys{
			"chat.chunk":        {"choices", "id", `object="chat.completion.chunk"`},
			"chat.chunk.choice": {"index", "delta", "finish_reason?"},
		},
	}
	body := chat.Write(&dialect.Reply{ID: "x", Choices: []dialect.Choice{{Text: "Hello you", Finish: "stop"}}}, style, true)
	for _, f := range body.Frames {
		fmt.Printf("%s", f.Data[:len(f.Data)-1])
	}
	// Output:
	// data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}],"id":"x","object":"chat.completion.chunk"}
	// data: {"choices":[{"index":0,"delta":{"content":" you"},"finish_reason":"stop"}],"id":"x","object":"chat.completion.chunk"}
	// data: [DONE]
}

func Example_read() {
	body := `data: {"choices":[{"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":" get_weather "}}]}}]}` + "\r\r" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":"0","function":{"arguments":{"city":"Paris"}}}]},"finish_reason":"tool_calls"}],"usage":"none"}` + "\r\r"
	reply, err := dialect.ReadAll(chat.Dialect, http.Header{}, []byte(body), nil, dialect.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range reply.Message.Calls {
		fmt.Println(c.ID, c.Name, c.Arguments)
	}
	// Output: 7 get_weather {"city":"Paris"}
}

func Example_store() {
	var store dialect.Store
	store.Keep(&dialect.Response{ID: "resp_1", Messages: []harness.Message{
		{Role: harness.RoleUser, Text: "Hello."}, {Role: harness.RoleAssistant, Text: "Hello to you."},
	}})
	req, _ := responses.Read([]byte(`{"model":"m","previous_response_id":"resp_1","input":"And now?"}`), &store)
	for _, m := range req.Chat.Request().Messages {
		fmt.Println(m.Role, m.Text)
	}
	// Output:
	// user Hello.
	// assistant Hello to you.
	// user And now?
}
