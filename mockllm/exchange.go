// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// exchange is a request on its way through the mock.
type exchange struct {
	*entry  // what the journal keeps of it
	m       *Mock
	w       http.ResponseWriter
	r       *http.Request
	speech  *speech // nil for what is no model request
	path    string  // below the mock's root
	rest    string  // of the path, after that of the route
	served  *served // its position; nil for asides and rules
	met     *Fault  // the fault that it meets; nil is none
	effects effects // of it
	// scriptErr is why the condition of a fault could not be answered.
	scriptErr error
	// wire is the reply as it was rendered. flipped renders it for a stream
	// where none was asked for, and the other way round.
	wire    *llmwire.Reply
	flipped bool
	habits  habits
	quick   bool     // it was answered in the quick way
	proxied *proxied // for endpoints that stand before the models
	// style is that of the habits with the fragments of the script. Nil is
	// the provider's way, as far as a reply is not rendered.
	style *wire.Style
	// extra is what the speech's decode tells its render.
	extra any
}

// stream reports whether a reply is to be written as a stream.
func (x *exchange) stream() bool { return x.chat.Stream() != x.flipped }
