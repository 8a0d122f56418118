// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockmcp_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/mockmcp"
)

func ExampleAsk() {
	sure := mockmcp.Form("Really?", json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean","default":false}}}`))
	sure.Key = "sure"
	before := []mockmcp.Step{
		mockmcp.Progress{Value: 1, Total: 3, Times: 3, Every: time.Second},
		mockmcp.Ask{sure, mockmcp.Sample("Sum it up.", 100)},
	}
	for _, q := range before[1].(mockmcp.Ask) {
		fmt.Println(q.Name(), q.Method, string(q.Params))
	}
	// Output:
	// sure elicitation/create {"message":"Really?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean","default":false}}}}
	// sampling sampling/createMessage {"maxTokens":100,"messages":[{"content":{"text":"Sum it up.","type":"text"},"role":"user"}]}
}

func ExampleVisit() {
	q := mockmcp.Visit("Please pay.", "https://pay.example/7", "e7")
	fmt.Println(q.Name(), string(q.Params))
	fmt.Println(mockmcp.ListRoots().Name())
	// Output:
	// elicitation {"elicitationId":"e7","message":"Please pay.","mode":"url","url":"https://pay.example/7"}
	// roots
}
