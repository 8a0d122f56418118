// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"cmp"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
)

// send writes a body at the pace of the options.
func (m *Mock) send(x *exchange, b *llmwire.Body) {
	for k, v := range b.Header {
		x.w.Header()[k] = v
	}
	x.w.WriteHeader(cmp.Or(b.Status, http.StatusOK))
	for _, f := range b.Frames {
		_, _ = x.w.Write(f.Data)
	}
}
