// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

func (w *writer) usage(b []byte) []byte {
	u := &w.r.Usage
	details := func(b []byte, o object, name string, n int) []byte {
		return w.object(b, o, func(b []byte, member string) []byte {
			if member != name {
				return b
			}
			return strconv.AppendInt(b, int64(n), 10)
		})
	}
	return w.object(b, chatUsage, func(b []byte, member string) []byte {
		switch member {
		case "prompt_tokens":
			return strconv.AppendInt(b, int64(u.PromptTokens), 10)
		case "completion_tokens":
			return strconv.AppendInt(b, int64(u.CompletionTokens), 10)
		case "total_tokens":
			return strconv.AppendInt(b, int64(u.TotalTokens), 10)
		case "prompt_tokens_details":
			return details(b, chatPromptTokens, "cached_tokens", u.CachedTokens)
		case "completion_tokens_details":
			return details(b, chatOutputTokens, "reasoning_tokens", u.ReasoningTokens)
		}
		return b
	})
}

// usageChunk appends the chunk of a stream that has the usage.
func (w *writer) usageChunk(b []byte) []byte {
	return w.object(b, chatUsageChunk, func(b []byte, member string) []byte {
		switch member {
		case "choices":
			return append(b, "[]"...)
		case "usage":
			return w.usage(b)
		}
		return w.ofChunk(b, member)
	})
}

// whole writes the answer as one object.
func (w *writer) whole() {
	r, tokens := w.r, 0
	for i := range r.Choices {
		tokens += w.choiceTokens(&r.Choices[i])
	}
	w.out = append(w.object(w.out, chatCompletion, func(b []byte, member string) []byte {
		switch member {
		case "object":
			return append(b, completionObject...)
		case "created":
			return strconv.AppendInt(b, r.Created, 10)
		case "choices":
			b = append(b, '[')
			for i := range r.Choices {
				if i > 0 {
					b = append(b, ',')
				}
				b = w.messageChoice(b, i)
			}
			return append(b, ']')
		case "usage":
			return w.usage(b)
		}
		return w.shared(b, member)
	}), '\n')
	w.frames = append(w.frames, dialect.Frame{Data: w.out[:len(w.out):len(w.out)], Kind: dialect.KindText, Tokens: tokens})
}

func (w *writer) messageChoice(b []byte, n int) []byte {
	ch := &w.r.Choices[n]
	return w.object(b, chatMessageChoice, func(b []byte, member string) []byte {
		switch member {
		case "index":
			return strconv.AppendInt(b, int64(n), 10)
		case "message":
			return w.message(b, ch)
		case "logprobs":
			return append(b, ch.Logprobs...)
		case "finish_reason":
			return quoteIf(b, ch.Finish)
		}
		return b
	})
}

// choiceTokens is about how many tokens a choice takes to say.
func (w *writer) choiceTokens(ch *dialect.Choice) int {
	n := 0
	count := func(s string) {
		if s != "" {
			_, words := w.cut(s, 0)
			n += words
		}
	}
	count(ch.Reasoning)
	count(ch.Text)
	count(ch.Refusal)
	for i := range ch.Calls {
		count(ch.Calls[i].Arguments)
	}
	return n
}

func (w *writer) message(b []byte, ch *dialect.Choice) []byte {
	return w.object(b, chatMessage, func(b []byte, member string) []byte {
		switch member {
		case "role":
			return append(b, `"assistant"`...)
		case "content":
			if w.silent(ch, ch.Refusal != "") {
				return b
			}
			return dialect.AppendQuote(b, ch.Text)
		case "reasoning_content":
			return quoteIf(b, ch.Reasoning)
		case "reasoning_details":
			return w.details(b, ch.Reasoning, true)
		case "tool_calls":
			for i := range ch.Calls {
				b = w.call(append(b, "[,"[min(i, 1)]), &ch.Calls[i])
			}
			if len(ch.Calls) > 0 {
				b = append(b, ']')
			}
			return b
		case "function_call":
			return append(b, w.functionCall()...)
		case "refusal":
			return quoteIf(b, ch.Refusal)
		}
		return b
	})
}

func (w *writer) call(b []byte, call *dialect.Call) []byte {
	b = w.object(b, chatMessageCall, func(b []byte, member string) []byte {
		switch member {
		case "id":
			return quoteIf(b, call.ID)
		case "type":
			return append(b, `"function"`...)
		case "function":
			return w.object(b, chatMessageFunction, func(b []byte, member string) []byte {
				switch {
				case member == "name":
					return quoteIf(b, call.Name)
				case member != "arguments":
					return b
				case w.style.Fragments.Args == dialect.ArgsObject && json.Valid([]byte(call.Arguments)):
					return append(b, call.Arguments...)
				}
				return dialect.AppendQuote(b, call.Arguments)
			})
		}
		return b
	})
	return withExtra(b, call.Extra)
}

// chunkID returns the id of the n-th chunk where each has its own.
func chunkID(r *dialect.Reply, s *dialect.Style, n int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	alphabet := cmp.Or(s.ID.Alphabet, letters)
	random := dialect.Random(r.Seed, "chunk "+strconv.Itoa(n))
	b := []byte(s.ID.Prefix)
	for range cmp.Or(s.ID.Len, 24) {
		b = append(b, alphabet[random.IntN(len(alphabet))])
	}
	return string(b)
}

// details are thoughts, or a piece of them, as OpenRouter has them. The last
// piece has the signature.
func (w *writer) details(b []byte, thought string, last bool) []byte {
	if !w.style.Habits.ReasoningDetails || thought == "" {
		return b
	}
	b = dialect.AppendQuote(append(b, `[{"type":"reasoning.text","text":`...), thought)
	b = append(b, `,"format":"anthropic-claude-v1","index":0`...)
	if last {
		b = dialect.AppendQuote(append(b, `,"signature":`...), DetailSignature(w.r))
	}
	return append(b, "}]"...)
}

// DetailSignature is what stands beside the reasoning_details of a reply.
func DetailSignature(r *dialect.Reply) string { return fmt.Sprintf("sig_%016x", r.Seed) }

// ExtraContent is what stands beside a call of chat completions whose thoughts
// are signed.
func ExtraContent(signature string) json.RawMessage {
	return fmt.Appendf(nil, `{"extra_content":{"google":{"thought_signature":%s}}}`, dialect.Quote(signature))
}
