// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import "github.com/rehearse-dev/rehearse/mockllm/wire"

// Chat is OpenAI's chat completions.
func Chat(r *Reply, style *wire.Style, stream bool) *Body {
	panic("llmwire: not written yet")
}
