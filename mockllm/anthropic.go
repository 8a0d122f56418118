// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness/dialect"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// anthropicRoutes are the routes of Anthropic's messages.
func anthropicRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/messages", speech: messagesSpeech()},
		{method: http.MethodPost, path: "/v1/messages/count_tokens", serve: (*Mock).countMessages},
	}
}

// base58 are the letters of Anthropic's ids, which leave out those that look
// alike.
const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// requestID is the header that has the id of a request.
const requestID = "Request-Id"

func messagesSpeech() *speech {
	return &speech{
		name: "messages",
		decode: func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
			return decodeMessages(x, body, false)
		},
		render: renderMessages,
		refuse: refuseMessages,
		id:     wire.IDs{Prefix: "msg_01", Len: 22, Alphabet: base58},
		callID: wire.IDs{Prefix: "toolu_01", Len: 22, Alphabet: base58},
		plain:  true, idHeader: requestID,
	}
}

func decodeMessages(x *exchange, body []byte, counting bool) (*dialect.Chat, *dialect.Refusal) {
	req, refusal := dialect.DecodeMessages(body, counting)
	if r := x.withoutHeaders(); r != nil {
		refusal = r
	}
	if req == nil {
		return nil, refusal
	}
	x.extra = req
	return req.Chat, refusal
}

// withoutHeaders refuses what comes without a key or a version, when the
// profile is Anthropic's or Google's. Any key will do. Clients of Anthropic's
// send it in either header.
func (x *exchange) withoutHeaders() *dialect.Refusal {
	h := x.r.Header
	switch x.m.profile.Name {
	case "anthropic":
		if h.Get("X-Api-Key") == "" && h.Get("Authorization") == "" {
			return &dialect.Refusal{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "x-api-key header is required"}
		}
		if h.Get("Anthropic-Version") == "" {
			return &dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "anthropic-version: header is required"}
		}
	case "gemini":
		if h.Get("X-Goog-Api-Key") == "" && h.Get("Authorization") == "" && !x.r.URL.Query().Has("key") {
			return &dialect.Refusal{
				Status: http.StatusForbidden, Type: "PERMISSION_DENIED",
				Message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
			}
		}
	}
	return nil
}

// errorSpeech is the dialect that what is no endpoint is refused in.
func (m *Mock) errorSpeech(x *exchange) *speech {
	under := func(prefix string) bool { return strings.HasPrefix(x.path, prefix) }
	switch name := m.profile.Name; {
	case m.profile.Proxy():
		return nil
	case name == "anthropic" || name == "openai" && under("/v1/messages"):
		return messagesSpeech()
	case name == "gemini" || name == "openai" && (under("/v1beta/") || under("/v1alpha/")):
		return geminiSpeech(false)
	}
	return nil
}

// renderMessages writes a reply with the thoughts that the request wants. With
// thinking enabled, a turn begins with a thought even when none is scripted,
// since the provider refuses a history without.
func renderMessages(x *exchange, r *llmwire.Reply) *llmwire.Body {
	req := x.extra.(*dialect.Messages)
	reply := *r
	reply.Choices = slices.Clone(r.Choices)
	c := &reply.Choices[0]
	if req.Thinking == "disabled" {
		c.Reasoning = ""
	}
	if c.Reasoning != "" || req.Thinking == "enabled" && !req.Continues {
		c.Signature = dialect.Signature(c.Reasoning)
	}
	return llmwire.Messages(&reply, x.style, x.stream())
}

func refuseMessages(x *exchange, r *dialect.Refusal) []byte {
	return dialect.MessagesError(inWords(r, x.chat, "model: %s", "prompt is too long: %s tokens > %s maximum"), x.w.Header().Get(requestID))
}

// inWords is a refusal of OpenAI's in the words of another provider: that a
// model, whose name goes into model, is not listed, and that more tokens, which
// go into overflow, are sent than fit.
func inWords(r *dialect.Refusal, c *dialect.Chat, model, overflow string) *dialect.Refusal {
	other := *r
	switch numbers := regexp.MustCompile(`[0-9]+`).FindAllString(r.Message, -1); {
	case r.Code == "model_not_found" && c != nil:
		other.Message = fmt.Sprintf(model, c.Model())
	case r.Code == "context_length_exceeded" && len(numbers) > 1:
		other.Message = fmt.Sprintf(overflow, numbers[1], numbers[0])
	}
	return &other
}

// countMessages answers how many tokens a request has.
func (m *Mock) countMessages(x *exchange) {
	x.speech = messagesSpeech()
	x.speech.decode = func(x *exchange, body []byte, _ *dialect.Chat) (*dialect.Chat, *dialect.Refusal) {
		return decodeMessages(x, body, true)
	}
	if !m.counted(x) {
		return
	}
	m.common(x)
	m.writeJSON(x.w, map[string]int{"input_tokens": promptTokens(x.chat)})
}

// counted reads a request whose tokens are to be counted. What is refused goes
// into the journal; what is counted does not, since no model is asked.
func (m *Mock) counted(x *exchange) bool {
	refusal := m.read(x)
	if refusal == nil {
		refusal = m.unknownModel(x.chat.Model())
	}
	if refusal != nil {
		m.refuse(x, refusal)
		return false
	}
	return true
}

// asksAnthropic reports whether a request for models comes from a client of
// Anthropic's.
func asksAnthropic(x *exchange) bool { return x.r.Header.Get("Anthropic-Version") != "" }

// anthropicModel is a model as Anthropic lists it.
func anthropicModel(id string) map[string]string {
	return map[string]string{
		"type": "model", "id": id, "display_name": id, "created_at": time.Unix(epoch, 0).UTC().Format(time.RFC3339),
	}
}

// serveOtherModels answers a request for models of a client that is not
// OpenAI's, and reports whether it was one.
func (m *Mock) serveOtherModels(x *exchange) bool {
	name := m.profile.Name
	switch {
	case x.proxied != nil || name == "strict" || name == "deepseek" || name == "kimi":
		return false
	case name == "anthropic" || name != "gemini" && asksAnthropic(x):
		m.serveAnthropicModels(x)
	case name == "gemini" || asksGemini(x):
		m.serveGeminiModels(x)
	default:
		return false
	}
	return true
}

// serveAnthropicModels lists the models, or tells of one.
func (m *Mock) serveAnthropicModels(x *exchange) {
	if x.rest != "" {
		if r := m.unknownModel(x.rest); r != nil {
			x.speech = messagesSpeech()
			r.Message, r.Code = "model: "+x.rest, ""
			m.writeError(x, r)
			return
		}
		m.writeJSON(x.w, anthropicModel(x.rest))
		return
	}
	list := []map[string]string{}
	for _, id := range m.models() {
		list = append(list, anthropicModel(id))
	}
	var first, last *string
	if n := len(list); n > 0 {
		a, b := list[0]["id"], list[n-1]["id"]
		first, last = &a, &b
	}
	m.writeJSON(x.w, map[string]any{"data": list, "has_more": false, "first_id": first, "last_id": last})
}
