// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
)

// Embeddings is a request to the embeddings endpoint.
type Embeddings struct {
	// Chat has each input as a user message. It is never nil.
	Chat *Chat
	// Inputs are the texts. Tokens are spelled as JSON.
	Inputs []string
	// Dimensions is how many numbers a vector is to have.
	Dimensions int
	// Base64 says that vectors are to come as base64 and not as numbers.
	Base64 bool
}

const maxInputs = 2048

// FullDimensions returns how many numbers a vector of a model has before it
// is shortened.
func FullDimensions(model string) int {
	if strings.Contains(model, "3-large") {
		return 3072
	}
	return 1536
}

// DecodeEmbeddings reads the body of an embeddings request. The embeddings
// are nil when the body is no JSON object; otherwise they are there beside a
// refusal, as far as they could be read.
func DecodeEmbeddings(body []byte) (*Embeddings, *Refusal) {
	o, refusal := readBody(body)
	if refusal != nil {
		return nil, refusal
	}
	e, env := &Embeddings{}, &envelope{}
	refusal = e.read(o, env)
	req := harness.Request{Model: env.model}
	for _, in := range e.Inputs {
		req.Messages = append(req.Messages, harness.Message{Role: harness.RoleUser, Text: in})
	}
	e.Chat = NewChat(req, body)
	e.Chat.refusal = refusal
	return e, refusal
}

func (e *Embeddings) read(o object, env *envelope) *Refusal {
	return firstOf(
		func() *Refusal { return env.readModel(o["model"]) },
		func() *Refusal { return e.readInput(o["input"]) },
		func() *Refusal { return e.readFormat(o["encoding_format"]) },
		func() *Refusal { return e.readDimensions(o["dimensions"], env.model) },
	)
}

func (e *Embeddings) readInput(raw json.RawMessage) *Refusal {
	wrong := invalid("", "", "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	if absent(raw) {
		return wrong
	}
	list, ok := texts(raw)
	if !ok || len(list) > maxInputs {
		return wrong
	}
	for _, s := range list {
		if s == "" {
			return wrong
		}
	}
	e.Inputs = list
	return nil
}

func (e *Embeddings) readFormat(raw json.RawMessage) *Refusal {
	switch {
	case absent(raw), text(raw) == "float":
		return nil
	case text(raw) == "base64":
		e.Base64 = true
		return nil
	}
	return invalid("", "", "%s is not one of ['float', 'base64'] - 'encoding_format'", strings.ReplaceAll(string(raw), `"`, "'"))
}

func (e *Embeddings) readDimensions(raw json.RawMessage, model string) *Refusal {
	full := FullDimensions(model)
	e.Dimensions = full
	if absent(raw) {
		return nil
	}
	if r := integer("dimensions", raw, &e.Dimensions); r != nil {
		return r
	}
	switch {
	case strings.Contains(model, "ada-002"):
		return invalid("", "", "This model does not support specifying dimensions.")
	case e.Dimensions < 1:
		return invalid("", "", "%d is less than the minimum of 1 - 'dimensions'", e.Dimensions)
	case e.Dimensions > full:
		return invalid("", "", "Invalid value for 'dimensions' = %d. Must be less than or equal to %d.", e.Dimensions, full)
	}
	return nil
}
