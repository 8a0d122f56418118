// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// EmbedServes refuses a model that OpenAI has for chats only.
func EmbedServes(model string) *dialect.Refusal {
	if !chatOnly(model) {
		return nil
	}
	return &dialect.Refusal{Status: http.StatusForbidden, Type: "invalid_request_error", Message: "You are not allowed to generate embeddings from this model"}
}

const maxInputs = 2048

// Dimensions returns how many numbers a vector of a model has before it
// is shortened.
func Dimensions(model string) int {
	if strings.Contains(model, "3-large") {
		return 3072
	}
	return 1536
}

// ReadEmbeddings reads the body of an embeddings request. The embeddings
// are nil when the body is no JSON object; otherwise they are there beside a
// refusal, as far as they could be read.
func ReadEmbeddings(body []byte) (*dialect.Embeddings, *dialect.Refusal) {
	o, refusal := dialect.ReadBody(body)
	if refusal != nil {
		return nil, refusal
	}
	e, env := &dialect.Embeddings{}, &dialect.Envelope{}
	refusal = readEmbeddings(e, o, env)
	req := harness.Request{Model: env.Model}
	for _, in := range e.Inputs {
		req.Messages = append(req.Messages, harness.Message{Role: harness.RoleUser, Text: in})
	}
	e.Chat = dialect.NewChat(req, body)
	e.Chat.Env.NotSupported = unrecognized(o, []string{"dimensions", "encoding_format", "input", "model", "user"})
	e.Chat.Refused = refusal
	return e, refusal
}

func readEmbeddings(e *dialect.Embeddings, o dialect.Object, env *dialect.Envelope) *dialect.Refusal {
	return dialect.FirstOf(
		func() *dialect.Refusal { return env.ReadModel(o["model"]) },
		func() *dialect.Refusal { return readInput(e, o["input"]) },
		func() *dialect.Refusal { return readEncoding(e, o["encoding_format"]) },
		func() *dialect.Refusal { return readDimensions(e, o["dimensions"], env.Model) },
	)
}

func readInput(e *dialect.Embeddings, raw json.RawMessage) *dialect.Refusal {
	wrong := dialect.Invalid("", "", "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	if dialect.Absent(raw) {
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

func readEncoding(e *dialect.Embeddings, raw json.RawMessage) *dialect.Refusal {
	switch {
	case dialect.Absent(raw), dialect.TextOf(raw) == "float":
		return nil
	case dialect.TextOf(raw) == "base64":
		e.Base64 = true
		return nil
	}
	return dialect.Invalid("", "", "%s is not one of ['float', 'base64'] - 'encoding_format'", strings.ReplaceAll(string(raw), `"`, "'"))
}

func readDimensions(e *dialect.Embeddings, raw json.RawMessage, model string) *dialect.Refusal {
	full := Dimensions(model)
	e.Dimensions = full
	if dialect.Absent(raw) {
		return nil
	}
	if r := dialect.CheckInteger("dimensions", raw, &e.Dimensions); r != nil {
		return r
	}
	switch {
	case strings.Contains(model, "ada-002"):
		return dialect.Invalid("", "", "This model does not support specifying dimensions.")
	case e.Dimensions < 1:
		return dialect.Invalid("", "", "%d is less than the minimum of 1 - 'dimensions'", e.Dimensions)
	case e.Dimensions > full:
		return dialect.Invalid("", "", "Invalid value for 'dimensions' = %d. Must be less than or equal to %d.", e.Dimensions, full)
	}
	return nil
}
