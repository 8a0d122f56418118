// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
)

// adjust returns what the settings of a request (n, stop, max_tokens,
// response_format, logprobs, tool_choice) make of a reply; nil when they ask
// for nothing. An error of it is a [scriptError] or a miss.
func (m *Mock) adjust(x *exchange, sp *spoken) func(r *llmwire.Reply) error {
	if n := x.chat.Choices(); n > 1 {
		return func(*llmwire.Reply) error { return fmt.Errorf("%d choices are asked for, and a mock gives one", n) }
	}
	return nil
}
