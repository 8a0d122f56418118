// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/harness/dialect"
)

func Example() {
	chat, refusal := dialect.DecodeChat([]byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}`), nil)
	if refusal != nil {
		fmt.Println(refusal)
		return
	}
	fmt.Println(chat.Request().Messages[0].Text)

	_, refusal = dialect.DecodeChat([]byte(`{"model":"gpt-4o","messages":[]}`), nil)
	fmt.Println(refusal.Status, refusal.Code)
	// Output:
	// Hi
	// 400 empty_array
}
