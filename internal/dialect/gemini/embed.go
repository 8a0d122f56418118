// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// maxEmbedBatch is how many requests a batch of embeddings may have.
const maxEmbedBatch = 100

// Dimensions is how many numbers a vector of one of Google's models has
// before it is shortened.
func Dimensions(model string) int {
	if strings.Contains(model, "text-embedding") || strings.HasSuffix(model, "embedding-001") && !strings.Contains(model, "gemini-embedding") {
		return 768
	}
	return 3072
}

// ReadEmbedContent reads the body of a request to Gemini's embedContent, or
// with batch to batchEmbedContents; model is the name in the path. Each content
// is an input; Dimensions has the size of each, in the same order.
//
// The embeddings are nil when the body is no JSON object; otherwise they are
// there beside a refusal, as far as they could be read.
func ReadEmbedContent(body []byte, model string, batch bool) (e *dialect.Embeddings, dimensions []int, refusal *dialect.Refusal) {
	if err := dialect.CheckJSON(body); err != nil {
		return nil, nil, malformed("", "Invalid JSON payload received. %s", err)
	}
	g := &reader{query: &dialect.Query{Model: model}, o: dialect.ReadObject(body)}
	e = &dialect.Embeddings{}
	one := func(path string, o dialect.Object) {
		text, n := g.embedding(path, o)
		e.Inputs, dimensions = append(e.Inputs, text), append(dimensions, n)
		g.req.Messages = append(g.req.Messages, harness.Message{Role: harness.RoleUser, Text: text})
	}
	if batch {
		g.known("", g.o, "requests", "model")
		list := g.list(g.o["requests"])
		switch n := len(list); {
		case n == 0:
			g.fail("* BatchEmbedContentsRequest.requests: must not be empty\n")
		case n > maxEmbedBatch:
			g.fail("* BatchEmbedContentsRequest.requests: at most %d requests can be in one batch\n", maxEmbedBatch)
		}
		for i, raw := range list {
			path := fmt.Sprintf("requests[%d]", i)
			o := g.dict(path, raw)
			if name := strings.TrimPrefix(g.text(path+".model", o["model"]), "models/"); name != strings.TrimPrefix(model, "models/") {
				g.fail("* BatchEmbedContentsRequest.%s.model: must be that of the path, %q\n", path, "models/"+model)
			}
			one(path, o)
		}
	} else {
		one("", g.o)
	}
	g.req.Model = model
	e.Chat = dialect.NewChat(g.req, body)
	e.Chat.Refused = g.refusal
	return e, dimensions, g.refusal
}

// embedding reads one request for a vector: its text and size.
func (g *reader) embedding(path string, o dialect.Object) (text string, dimensions int) {
	g.known(path, o, "model", "content", "taskType", "title", "outputDimensionality", "embedContentConfig")
	at := func(field string) string { return strings.TrimPrefix(path+"."+field, ".") }
	if dialect.Absent(o["content"]) {
		g.fail("* EmbedContentRequest.content: contents is not specified\n")
	}
	config := g.dict(at("embed_content_config"), o.Field("embedContentConfig"))
	content := g.dict(at("content"), o["content"])
	g.known(at("content"), content, "role", "parts")
	var texts []string
	parts := g.list(content["parts"])
	for i, raw := range parts {
		part := g.dict(fmt.Sprintf("%s.parts[%d]", at("content"), i), raw)
		texts = append(texts, g.text(fmt.Sprintf("%s.parts[%d].text", at("content"), i), part["text"]))
	}
	if len(parts) == 0 && !dialect.Absent(o["content"]) {
		g.fail("* EmbedContentRequest.content.parts: contents.parts must not be empty.\n")
	}
	full := Dimensions(g.query.Model)
	dimensions = full
	for _, raw := range []json.RawMessage{o.Field("outputDimensionality"), config.Field("outputDimensionality")} {
		if n, ok := g.integer(at("output_dimensionality"), raw); ok {
			if n < 1 || n > full {
				g.fail("* EmbedContentRequest.output_dimensionality: must be in the range [1, %d]\n", full)
				n = full
			}
			dimensions = n
		}
	}
	return strings.Join(texts, "\n"), dimensions
}
