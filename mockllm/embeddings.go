// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
)

// maxEmbedTokens is the longest input of the provider's models.
const maxEmbedTokens = 8192

// serveEmbeddings answers without a script: a vector follows from its text
// and the seed. The request is outside of the conversation.
func (m *Mock) serveEmbeddings(x *exchange) {
	var req *dialect.Embeddings
	x.api = readingEmbeddings(&req)
	refusal := m.readListed(x)
	total := 0
	if refusal == nil {
		total, refusal = countInputs(req.Inputs)
	}
	if refusal != nil {
		m.refuse(x, refusal)
		return
	}
	m.answerOutside(x)
	b := m.appendEmbeddings(nil, req, total)
	h := x.w.Header()
	h["Content-Type"] = m.headers.json
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	_, _ = x.w.Write(b) // the client is gone
}

// readingEmbeddings is the dialect of OpenAI's embeddings. The request that was
// read goes into req.
func readingEmbeddings(req **dialect.Embeddings) *dialect.Dialect {
	return &dialect.Dialect{
		Name: "embeddings", OpenAI: true, Serves: chat.EmbedServes,
		Read: func(body []byte, _ *dialect.Query) (dialect.Request, *dialect.Refusal) {
			e, refusal := chat.ReadEmbeddings(body)
			if *req = e; e == nil {
				return nil, refusal
			}
			return unanswered{dialect.Plain{Chat: e.Chat}}, refusal
		},
	}
}

// readListed reads a request for one of the models that are listed.
func (m *Mock) readListed(x *exchange) *dialect.Refusal {
	refusal := m.read(x)
	if refusal == nil && len(m.program.Models) > 0 {
		refusal = m.unknownModel(x.chat.Model())
	}
	return refusal
}

// answerOutside records an answer that is outside of the conversation, before
// it is sent.
func (m *Mock) answerOutside(x *exchange) {
	x.preset = m.presetOf(x)
	x.kind, x.status, x.delivered = harness.KindAside, http.StatusOK, true
	m.record(x.entry, nil)
	m.common(x)
}

// serveEmbedContent answers Gemini's embedContent and batchEmbedContents.
func (m *Mock) serveEmbedContent(x *exchange, model string, batch bool) {
	var req *dialect.Embeddings
	var dimensions []int
	own := *x.api
	own.Read = func(body []byte, _ *dialect.Query) (dialect.Request, *dialect.Refusal) {
		var refusal *dialect.Refusal
		if req, dimensions, refusal = gemini.ReadEmbedContent(body, model, batch); req == nil {
			return nil, refusal
		}
		return unanswered{dialect.Plain{Chat: req.Chat}}, refusal
	}
	x.api = &own
	if refusal := m.readListed(x); refusal != nil {
		m.refuse(x, refusal)
		return
	}
	m.answerOutside(x)
	b := []byte(`{"embedding":`)
	if batch {
		b = []byte(`{"embeddings":[`)
	}
	full := gemini.Dimensions(model)
	for i, in := range req.Inputs {
		if i > 0 {
			b = append(b, ',')
		}
		v := shortenVector(embed(in, m.opts.Seed, full), dimensions[i])
		b = append(appendVector(append(b, `{"values":`...), v, false), '}')
	}
	if batch {
		b = append(b, ']')
	}
	m.writeIndented(x, append(b, '}'))
}

// countInputs counts the tokens of all inputs, none of which may have too
// many.
func countInputs(inputs []string) (int, *dialect.Refusal) {
	total := 0
	for _, in := range inputs {
		n := countInput(in)
		if n > maxEmbedTokens {
			return 0, &dialect.Refusal{
				Status: http.StatusBadRequest, Type: "invalid_request_error",
				Message: fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens (%[2]d in your prompt; 0 for the completion). Please reduce your prompt; or completion length.", maxEmbedTokens, n),
			}
		}
		total += n
	}
	return total, nil
}

// countInput counts one input, which may be spelled as tokens.
func countInput(s string) int {
	if list, ok := strings.CutPrefix(s, "["); ok {
		var tokens []uint32
		if json.Unmarshal([]byte("["+list), &tokens) == nil && len(tokens) > 0 {
			return len(tokens)
		}
	}
	return countText(s)
}

func (m *Mock) appendEmbeddings(b []byte, req *dialect.Embeddings, tokens int) []byte {
	b = append(b, `{"object":"list","data":[`...)
	full := chat.Dimensions(req.Chat.Model())
	for i, in := range req.Inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"object":"embedding","index":%d,"embedding":`, i)
		v := embed(in, m.opts.Seed, full)
		b = append(appendVector(b, shortenVector(v, req.Dimensions), req.Base64), '}')
	}
	b = append(append(b, `],"model":`...), dialect.Quote(req.Chat.Model())...)
	return fmt.Appendf(b, `,"usage":{"prompt_tokens":%d,"total_tokens":%[1]d}}`+"\n", tokens)
}

func appendVector(b []byte, v []float64, packed bool) []byte {
	if packed {
		raw := make([]byte, 0, 4*len(v))
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(f)))
		}
		b = append(b, '"')
		return append(base64.StdEncoding.AppendEncode(b, raw), '"')
	}
	b = append(b, '[')
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(float32(f)), 'g', -1, 32)
	}
	return append(b, ']')
}

const (
	placesPerFeature = 12  // that a word or a part of one changes
	noise            = 0.2 // what tells two texts of the same words apart
)

// embed returns the vector of a text, which has n numbers. Texts that share
// words, or parts of words, have vectors that are close.
func embed(text string, seed int64, n int) []float64 {
	v := make([]float64, n)
	own := featureRandom(seed, "text "+text)
	for i := range v {
		v[i] = noise * (2*own.Float64() - 1)
	}
	for _, f := range features(text) {
		r := featureRandom(seed, "feature "+f)
		for range placesPerFeature {
			at := r.IntN(n)
			if r.IntN(2) == 0 {
				v[at]++
			} else {
				v[at]--
			}
		}
	}
	return shortenVector(v, n)
}

// features are the words of a text and the trigrams of its words.
func features(text string) []string {
	var out []string
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		out = append(out, w)
		runes := []rune("^" + w + "$")
		for i := 3; i <= len(runes); i++ {
			out = append(out, string(runes[i-3:i]))
		}
	}
	return out
}

func featureRandom(seed int64, s string) *rand.Rand {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s)
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
}

// shortenVector returns the first n numbers of a vector, made of length 1.
func shortenVector(v []float64, n int) []float64 {
	sum := 0.0
	for _, f := range v[:n] {
		sum += float64(f * f) // not fused, so that all machines agree
	}
	out := make([]float64, n)
	length := math.Sqrt(sum)
	if length == 0 {
		out[0] = 1
		return out
	}
	for i := range out {
		out[i] = v[i] / length
	}
	return out
}
