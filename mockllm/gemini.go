// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// geminiRoutes are the routes of Gemini's generateContent. Clients call them
// under the stable version and under beta.
func geminiRoutes() []route {
	var out []route
	for _, version := range []string{"/v1", "/v1beta", "/v1alpha"} {
		out = append(out,
			route{method: http.MethodPost, path: version + "/models/", serve: (*Mock).serveGemini},
			route{method: http.MethodPost, path: version + "/tunedModels/", serve: (*Mock).serveGemini},
		)
		if version != "/v1" { // those are OpenAI's as well
			out = append(out,
				route{method: http.MethodGet, path: version + "/models", serve: (*Mock).serveGeminiModels},
				route{method: http.MethodGet, path: version + "/models/", serve: (*Mock).serveGeminiModels},
			)
		}
	}
	return out
}

// geminiCall is what the path of a request asks for.
type geminiCall struct {
	*dialect.Generate
	version, model string
	stream, list   bool // list: a JSON array in place of events
}

// serveGemini answers a method of a model.
func (m *Mock) serveGemini(x *exchange) {
	model, method, _ := strings.Cut(x.rest, ":")
	call := &geminiCall{version: strings.Split(x.path, "/")[1], model: model, stream: method == "streamGenerateContent"}
	call.list = call.stream && x.r.URL.Query().Get("alt") != "sse"
	x.extra = call
	x.speech = geminiSpeech(method == "countTokens")
	switch method {
	case "generateContent", "streamGenerateContent":
		m.serveSpeech(x)
	case "countTokens":
		if m.counted(x) {
			n := promptTokens(x.chat)
			m.writeGemini(x, fmt.Appendf(nil, `{"totalTokens":%d,"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, n, n))
		}
	default:
		near := ""
		if s := harness.Suggest(method, []string{"generateContent", "streamGenerateContent", "countTokens"}); s != "" {
			near = fmt.Sprintf(" (did you mean %q?)", s)
		}
		x.stray = true
		m.miss(x, fmt.Sprintf("POST %s: a mock model has no method %q%s", x.path, method, near))
	}
}

// gemini is the name of the dialect in journals and faults.
const gemini = "gemini"

func geminiSpeech(counting bool) *speech {
	const (
		letters  = "abcdefghijklmnopqrstuvwxyz0123456789"
		urlSafe  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		idLen    = 23
		shortLen = 8
	)
	return &speech{
		name: gemini,
		decode: func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
			call := x.extra.(*geminiCall)
			req, refusal := dialect.DecodeGenerate(body, dialect.GenerateOptions{
				Model: call.model, Stream: call.stream, Counting: counting, IDs: x.m.recognise(),
			})
			if r := x.withoutHeaders(); r != nil {
				refusal = r
			}
			if req == nil {
				return nil, refusal
			}
			call.Generate = req
			return req.Chat, refusal
		},
		render: renderGemini,
		refuse: refuseGemini,
		id:     wire.IDs{Len: idLen, Alphabet: urlSafe},
		callID: wire.IDs{Len: shortLen, Alphabet: letters},
		plain:  true,
	}
}

// olderGemini reports whether a model gives its calls no ids, and says why a
// stream ended beside the last part of it.
func olderGemini(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// renderGemini writes a reply with the thoughts that the request wants.
func renderGemini(x *exchange, r *llmwire.Reply) *llmwire.Body {
	call := x.extra.(*geminiCall)
	older := olderGemini(call.model)
	style := x.style
	if older && style.Finish == "" {
		own := *style
		own.Finish = wire.FinishLast
		style = &own
	}
	reply := *r
	reply.Choices = slices.Clone(r.Choices)
	for i := range reply.Choices {
		c := &reply.Choices[i]
		c.Calls = slices.Clone(c.Calls)
		if call.NoThoughts {
			c.Reasoning = ""
		}
		for n := range c.Calls {
			if older {
				c.Calls[n].ID = ""
			}
			if n == 0 && !(older && call.NoThoughts) {
				c.Calls[n].Signature = dialect.Signature(c.Calls[n].Name)
			}
		}
	}
	stream := x.stream()
	if stream && call.list {
		return llmwire.GeminiList(&reply, style)
	}
	return llmwire.Gemini(&reply, style, stream)
}

func refuseGemini(x *exchange, r *dialect.Refusal) []byte {
	call, _ := x.extra.(*geminiCall)
	if call == nil {
		return dialect.GenerateError(r, false)
	}
	r = inWords(r, x.chat, "models/%s is not found for API version "+call.version+", or is not supported for generateContent. "+
		"Call ListModels to see the list of available models and their supported methods.",
		"The input token count (%s) exceeds the maximum number of tokens allowed (%s).")
	return dialect.GenerateError(r, call.list)
}

// recognise returns a function that finds the ids of the calls in a history
// whose messages come without them, or with ids of the client's own: those of
// the next reply of the script with the same calls.
func (m *Mock) recognise() func(calls []harness.ToolCall) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var spoken []*spoken
	for _, m := range append([]*Mock{m}, m.laneOrder...) {
		for _, turn := range m.state.served {
			for _, s := range turn {
				if s.spoken != nil && len(s.spoken.calls) > 0 {
					spoken = append(spoken, s.spoken)
				}
			}
		}
	}
	next := 0
	return func(calls []harness.ToolCall) []string {
		for _, exact := range []bool{true, false} {
			for i := next; i < len(spoken); i++ {
				if ids := spoken[i].matches(calls, exact); ids != nil {
					next = i + 1
					return ids
				}
			}
		}
		return nil
	}
}

// matches returns the ids of a reply's calls when they are calls: by id, or
// by name, and when exact is set by arguments too.
func (sp *spoken) matches(calls []harness.ToolCall, exact bool) []string {
	if len(calls) != len(sp.calls) {
		return nil
	}
	var ids []string
	for i, c := range calls {
		own := sp.calls[i]
		if c.ID != own.ID && (c.Name != own.Name || exact && !sameJSON(c.Arguments, own.Arguments)) {
			return nil
		}
		ids = append(ids, own.ID)
	}
	return ids
}

// sameJSON reports whether two texts hold the same JSON value, as far as a
// number survives a client.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x) // decoded, so that it encodes, its keys in order
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// asksGemini reports whether a request for models comes from a client of
// Google's.
func asksGemini(x *exchange) bool {
	return x.r.Header.Get("X-Goog-Api-Key") != "" || x.r.Header.Get("X-Goog-Api-Client") != "" || x.r.URL.Query().Has("key")
}

type geminiModel struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Display    string   `json:"displayName"`
	Input      int      `json:"inputTokenLimit"`
	Output     int      `json:"outputTokenLimit"`
	Methods    []string `json:"supportedGenerationMethods"`
	Thinking   bool     `json:"thinking"`
	Topmost    int      `json:"topK"`
	Nucleus    float64  `json:"topP"`
	Warmth     float64  `json:"temperature"`
	MaxWarmth  float64  `json:"maxTemperature"`
	Descriptor string   `json:"description"`
}

func newGeminiModel(id string) geminiModel {
	const input, output, topK, topP, most = 1048576, 65536, 64, 0.95, 2
	return geminiModel{
		Name: "models/" + id, Version: "001", Display: id, Descriptor: "A scripted model.", Input: input, Output: output,
		Methods: []string{"generateContent", "countTokens"}, Thinking: true, Topmost: topK, Nucleus: topP, Warmth: 1, MaxWarmth: most,
	}
}

// serveMethod refuses a GET of a model's method, which takes a POST, and
// reports whether it was one.
func (m *Mock) serveMethod(x *exchange) bool {
	_, method, _ := strings.Cut(x.rest, ":")
	switch method {
	case "generateContent", "streamGenerateContent", "countTokens":
		x.speech = geminiSpeech(false)
		m.refuse(x, &dialect.Refusal{
			Status: http.StatusNotFound, Type: "NOT_FOUND", Message: fmt.Sprintf("%s takes a POST, not a %s.", method, x.r.Method),
		})
		return true
	}
	return false
}

// serveGeminiModels lists the models, or tells of one.
func (m *Mock) serveGeminiModels(x *exchange) {
	if m.serveMethod(x) {
		return
	}
	var v any
	if x.rest != "" {
		if r := m.unknownModel(x.rest); r != nil {
			x.speech = geminiSpeech(false)
			r.Message, r.Code = fmt.Sprintf("Model is not found: models/%s", x.rest), ""
			m.writeError(x, r)
			return
		}
		v = newGeminiModel(x.rest)
	} else {
		list := []geminiModel{}
		for _, id := range m.models() {
			list = append(list, newGeminiModel(id))
		}
		v = map[string]any{"models": list}
	}
	data, _ := json.Marshal(v) // of strings and numbers
	m.writeGemini(x, data)
}

// writeGemini writes JSON as the provider does.
func (m *Mock) writeGemini(x *exchange, data []byte) {
	x.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = x.w.Write(llmwire.Indented(data)) // the client is gone
}
