// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// habits are what a profile makes of a dialect and a model.
type habits struct {
	// style is how replies are written; nil is the provider's way.
	style *wire.Style
	// model is the name that is echoed; empty means as asked.
	model string
	// header are further headers of answers; a nil value takes one away.
	header http.Header
}

// checkProfile says what is wrong with the name of a profile.
func checkProfile(name string) error {
	if name != "" && name != "openai" {
		return fmt.Errorf("unknown profile %q: only openai is known", name)
	}
	return nil
}

// habits returns what the profile makes of a request that was read.
func (m *Mock) habits(x *exchange) habits { return habits{} }

// lacks reports whether the profile's endpoint has no such route.
func (m *Mock) lacks(x *exchange) bool { return false }

// envelope is how the profile writes an error; nil leaves it to the dialect.
func (m *Mock) envelope(x *exchange, r *dialect.Refusal) *llmwire.Body { return nil }
