// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// The objects of chat completions, with the members that OpenAI sends. A style
// may have others.
const (
	chatCompletion      = "chat.completion"       // the whole answer
	chatMessageChoice   = "chat.choice"           // one of its choices
	chatMessage         = "chat.message"          // the message of one
	chatMessageCall     = "chat.call"             // a call of one
	chatMessageFunction = "chat.function"         // what is called
	chatChunk           = "chat.chunk"            // a chunk of a stream
	chatUsageChunk      = "chat.chunk.usage"      // the one with the usage; else as chat.chunk
	chatChoice          = "chat.chunk.choice"     // a choice of a chunk
	chatDelta           = "chat.delta"            // the delta of one
	chatRoleDelta       = "chat.delta.role"       // the first one, when it is of its own
	chatCallDelta       = "chat.delta.calls"      // one with calls; else as chat.delta
	chatLastDelta       = "chat.delta.last"       // the last one, when it is of its own
	chatCall            = "chat.call.delta"       // a call of a delta
	chatFunction        = "chat.function.delta"   // what is called
	chatUsage           = "chat.usage"            // the usage
	chatPromptTokens    = "chat.usage.prompt"     // its details
	chatOutputTokens    = "chat.usage.completion" // its details
	completionObject    = `"chat.completion"`     // values of object
	chunkObject         = `"chat.completion.chunk"`
)

// chatKeys are the members of the objects as OpenAI sends them.
func chatKeys(object string) wire.Keys {
	switch object {
	case chatCompletion:
		return wire.Keys{"id", "object", "created", "model", "choices", "usage", `service_tier="default"`, "system_fingerprint"}
	case chatMessageChoice:
		return wire.Keys{"index", "message", "logprobs", "finish_reason"}
	case chatMessage:
		return wire.Keys{"role", "content", "reasoning_content?", "tool_calls?", "refusal", "annotations=[]"}
	case chatMessageCall:
		return wire.Keys{"id", "type", "function"}
	case chatMessageFunction:
		return wire.Keys{"name", "arguments"}
	case chatChunk, chatUsageChunk:
		return wire.Keys{"id", "object", "created", "model", `service_tier="default"`, "system_fingerprint", "choices", "usage?"}
	case chatChoice:
		return wire.Keys{"index", "delta", "logprobs", "finish_reason"}
	case chatRoleDelta:
		return wire.Keys{"role", "content", "refusal"}
	case chatDelta, chatCallDelta:
		return wire.Keys{"role?", "reasoning_content?", "content?", "refusal?", "tool_calls?"}
	case chatCall:
		return wire.Keys{"index?", "id?", "type?", "function"}
	case chatFunction:
		return wire.Keys{"name?", "arguments?"}
	case chatUsage:
		return wire.Keys{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
	case chatPromptTokens:
		return wire.Keys{"cached_tokens", "audio_tokens=0"}
	case chatOutputTokens:
		return wire.Keys{"reasoning_tokens", "audio_tokens=0", "accepted_prediction_tokens=0", "rejected_prediction_tokens=0"}
	}
	return nil
}

// Chat is OpenAI's chat completions.
//
// The objects for the keys of a style are chat.completion, chat.choice,
// chat.message, chat.call and chat.function of a whole answer; chat.chunk,
// chat.chunk.usage, chat.chunk.choice, chat.delta, chat.delta.role,
// chat.delta.calls, chat.delta.last, chat.call.delta and chat.function.delta
// of a stream; chat.usage, chat.usage.prompt and chat.usage.completion.
func Chat(r *Reply, style *wire.Style, stream bool) *Body {
	c := &chatWriter{r: r, style: style, known: make(map[string]wire.Keys), choiceOf: -1}
	if stream {
		return c.stream()
	}
	return c.whole()
}

type chatWriter struct {
	r      *Reply
	style  *wire.Style
	frames []Frame
	// known are the members of the objects seen so far.
	known map[string]wire.Keys
	// What is around the choices of a chunk, and around the delta of the
	// choice choiceOf that does not end: most chunks differ in that alone.
	beforeChoices, afterChoices []byte
	beforeDelta, afterDelta     []byte
	choiceOf                    int
}

func (c *chatWriter) keys(object string) wire.Keys {
	k, ok := c.known[object]
	if !ok {
		k = c.find(object)
		c.known[object] = k
	}
	return k
}

func (c *chatWriter) find(object string) wire.Keys {
	if k, ok := c.style.Keys[object]; ok {
		return k
	}
	switch object {
	case chatUsageChunk:
		return c.find(chatChunk)
	case chatCallDelta:
		return c.find(chatDelta)
	}
	return chatKeys(object)
}

// object returns an object with the given values; what is not among them has
// nothing to say.
func (c *chatWriter) object(name string, values map[string][]byte) []byte {
	return Object(nil, c.keys(name), func(member string) []byte { return values[member] })
}

func number[T int | int64](n T) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// quoteIf encodes s, unless it is empty.
func quoteIf(s string) []byte {
	if s == "" {
		return nil
	}
	return Quote(s)
}

// array encodes a list of values.
func array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

func (c *chatWriter) usage(u harness.Usage) []byte {
	return c.object(chatUsage, map[string][]byte{
		"prompt_tokens": number(u.PromptTokens), "completion_tokens": number(u.CompletionTokens), "total_tokens": number(u.TotalTokens),
		"prompt_tokens_details":     c.object(chatPromptTokens, map[string][]byte{"cached_tokens": number(u.CachedTokens)}),
		"completion_tokens_details": c.object(chatOutputTokens, map[string][]byte{"reasoning_tokens": number(u.ReasoningTokens)}),
	})
}

// whole writes the answer as one object.
func (c *chatWriter) whole() *Body {
	r := c.r
	var choices [][]byte
	tokens := 0
	for i := range r.Choices {
		ch := &r.Choices[i]
		choices = append(choices, c.object(chatMessageChoice, map[string][]byte{
			"index": number(i), "message": c.message(ch), "logprobs": ch.Logprobs, "finish_reason": quoteIf(ch.Finish),
		}))
		tokens += choiceTokens(ch)
	}
	b := c.object(chatCompletion, map[string][]byte{
		"id": Quote(r.ID), "object": []byte(completionObject), "created": number(r.Created), "model": Quote(r.Model),
		"choices": array(choices), "usage": c.usage(r.Usage), "system_fingerprint": quoteIf(r.Fingerprint),
	})
	return &Body{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Frames: []Frame{{Data: append(b, '\n'), Kind: Text, Tokens: tokens}},
	}
}

// choiceTokens is about how many tokens a choice takes to say.
func choiceTokens(ch *Choice) int {
	n := len(Words(ch.Reasoning)) + len(Words(ch.Text)) + len(Words(ch.Refusal))
	for _, call := range ch.Calls {
		n += len(Words(call.Arguments))
	}
	return n
}

func (c *chatWriter) message(ch *Choice) []byte {
	var calls []byte
	if len(ch.Calls) > 0 {
		var list [][]byte
		for i := range ch.Calls {
			list = append(list, c.call(&ch.Calls[i]))
		}
		calls = array(list)
	}
	return c.object(chatMessage, map[string][]byte{
		"role": []byte(`"assistant"`), "content": c.content(ch, ch.Refusal != ""), "reasoning_content": quoteIf(ch.Reasoning),
		"tool_calls": calls, "refusal": quoteIf(ch.Refusal),
	})
}

// content encodes the text; an empty one may be null beside something else.
func (c *chatWriter) content(ch *Choice, other bool) []byte {
	if ch.Text == "" && !c.style.EmptyContent && (len(ch.Calls) > 0 || other) {
		return nil
	}
	return Quote(ch.Text)
}

func (c *chatWriter) call(call *Call) []byte {
	args := Quote(call.Arguments)
	if c.style.Fragments.Args == wire.ArgsObject && json.Valid([]byte(call.Arguments)) {
		args = []byte(call.Arguments)
	}
	b := c.object(chatMessageCall, map[string][]byte{
		"id": quoteIf(call.ID), "type": []byte(`"function"`),
		"function": c.object(chatMessageFunction, map[string][]byte{"name": quoteIf(call.Name), "arguments": args}),
	})
	return withExtra(b, call.Extra)
}

// withExtra adds the members of extra, a JSON object, to an object.
func withExtra(object []byte, extra json.RawMessage) []byte {
	extra = bytes.TrimSpace(extra)
	if len(extra) < len(`{"":0}`) || extra[0] != '{' {
		return object
	}
	object = object[:len(object)-1]
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(object, extra[1:]...)
}

// stream writes the answer as server-sent events.
func (c *chatWriter) stream() *Body {
	s, r := c.style, c.r
	for _, data := range s.Preflight {
		c.frames = append(c.frames, Frame{Data: Data([]byte(data)), Kind: Preamble})
	}
	for i := range r.Choices {
		c.choice(i)
	}
	if s.Usage == wire.WhenAlways || s.Usage == wire.WhenAsked && r.IncludeUsage {
		c.frames = append(c.frames, Frame{Data: Data(c.usageChunk()), Kind: Usage})
	}
	if !s.NoDone {
		c.frames = append(c.frames, Frame{Data: Data([]byte("[DONE]")), Kind: Done})
	}
	return &Body{
		Status: http.StatusOK, Stream: true, Frames: c.frames, EarlyHead: s.EarlyHead, Writes: s.Fragments.Writes,
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}},
	}
}

// chunk writes an event with a chunk that has the given choices.
func (c *chatWriter) chunk(choices []byte) []byte {
	if c.beforeChoices == nil || c.style.ChunkIDs {
		c.beforeChoices, c.afterChoices = around(c.keys(chatChunk), "choices", func(member string) []byte { return c.ofChunk(member, nil) })
	}
	const head, tail = "data: ", "\n\n"
	b := make([]byte, 0, len(head)+len(c.beforeChoices)+len(choices)+len(c.afterChoices)+len(tail))
	b = append(append(append(append(b, head...), c.beforeChoices...), choices...), c.afterChoices...)
	if bytes.ContainsAny(b, "\r\n") { // in values that are sent as they are spelled
		return Data(b[len(head):])
	}
	return append(b, tail...)
}

// usageChunk writes the chunk with the usage.
func (c *chatWriter) usageChunk() []byte {
	return Object(nil, c.keys(chatUsageChunk), func(member string) []byte {
		if member == "choices" {
			return []byte("[]")
		}
		return c.ofChunk(member, c.usage(c.r.Usage))
	})
}

// ofChunk is a member of a chunk.
func (c *chatWriter) ofChunk(member string, usage []byte) []byte {
	r := c.r
	switch member {
	case "id":
		if c.style.ChunkIDs {
			return Quote(chunkID(r, c.style, len(c.frames)))
		}
		return Quote(r.ID)
	case "object":
		return []byte(chunkObject)
	case "created":
		if c.style.CreatedZero {
			return number(0)
		}
		return number(r.Created)
	case "model":
		return Quote(r.Model)
	case "usage":
		if usage == nil && r.IncludeUsage {
			return []byte("null")
		}
		return usage
	case "system_fingerprint":
		return quoteIf(r.Fingerprint)
	}
	return nil
}

// chunkID returns the id of the n-th chunk where each has its own.
func chunkID(r *Reply, s *wire.Style, n int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	alphabet := cmp.Or(s.ID.Alphabet, letters)
	random := Random(r.Seed, "chunk "+strconv.Itoa(n))
	b := []byte(s.ID.Prefix)
	for range cmp.Or(s.ID.Len, 24) {
		b = append(b, alphabet[random.IntN(len(alphabet))])
	}
	return string(b)
}

// choice writes the chunks of one choice.
func (c *chatWriter) choice(n int) {
	ch := &c.r.Choices[n]
	deltas := c.deltas(ch)
	c.placeRole(deltas)
	deltas = c.placeFinish(ch, deltas)
	c.frames = slices.Grow(c.frames, len(deltas)+2) // and the usage and [DONE]
	for i := range deltas {
		d := &deltas[i]
		logprobs := []byte(nil)
		if d.kind == Text && ch.Logprobs != nil {
			logprobs, ch = ch.Logprobs, &Choice{} // with the first text
		}
		c.frames = append(c.frames, Frame{
			Data: c.chunk(c.choices(n, d, logprobs)),
			Kind: d.kind, Choice: n, Call: d.first(), Tokens: d.tokens, Delay: d.delay,
		})
	}
}

// choices writes the choices of a chunk, which is one.
func (c *chatWriter) choices(n int, d *delta, logprobs []byte) []byte {
	before, after := c.beforeDelta, c.afterDelta
	ordinary := logprobs == nil && d.finish == ""
	if !ordinary || c.choiceOf != n {
		before, after = around(c.keys(chatChoice), "delta", func(member string) []byte {
			switch member {
			case "index":
				return number(n)
			case "logprobs":
				return logprobs
			case "finish_reason":
				return quoteIf(d.finish)
			}
			return nil
		})
		if ordinary {
			c.choiceOf, c.beforeDelta, c.afterDelta = n, before, after
		}
	}
	b := make([]byte, 0, len(before)+len(after)+len(d.text)+64)
	b = append(append(b, '['), before...)
	b = c.delta(b, d)
	return append(append(b, after...), ']')
}
