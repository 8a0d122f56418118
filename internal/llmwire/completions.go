// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire

import (
	"net/http"
	"strconv"

	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

// Completions is OpenAI's older completions. Its objects are "completion",
// "completion.choice", "completion.usage", and "completion.chunk" and
// "completion.chunk.choice" of a stream.
func Completions(r *Reply, style *wire.Style, stream bool) *Body {
	w := &completionWriter{r: r, style: style}
	if stream {
		return w.stream()
	}
	tokens := 0
	var choices [][]byte
	for i, c := range r.Choices {
		tokens += len(Pieces(completionText(&c), style, r.Seed))
		choices = append(choices, w.choice("completion.choice", i, completionText(&c), c.Finish))
	}
	b := w.object("completion", wire.Keys{"id", `object="text_completion"`, "created", "model", "choices", "usage", "system_fingerprint?"}, array(choices), w.usage())
	return &Body{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Frames: []Frame{{Data: append(b, '\n'), Kind: Text, Tokens: tokens}},
	}
}

// completionText is what a choice says; the endpoint has nothing for
// refusals.
func completionText(c *Choice) string { return c.Text + c.Refusal }

type completionWriter struct {
	r      *Reply
	style  *wire.Style
	frames []Frame
}

// object returns the object around choices.
func (w *completionWriter) object(name string, usual wire.Keys, choices, usage []byte) []byte {
	return Object(nil, KeysOf(w.style, name, usual), func(member string) []byte {
		switch member {
		case "id":
			return Quote(w.r.ID)
		case "created":
			return strconv.AppendInt(nil, w.r.Created, 10)
		case "model":
			return Quote(w.r.Model)
		case "choices":
			return choices
		case "usage":
			return usage
		case "system_fingerprint":
			return quoteIf(w.r.Fingerprint)
		}
		return nil
	})
}

func (w *completionWriter) choice(name string, i int, text, finish string) []byte {
	return Object(nil, KeysOf(w.style, name, wire.Keys{"text", "index", "logprobs", "finish_reason"}), func(member string) []byte {
		switch member {
		case "text":
			return Quote(text)
		case "index":
			return number(i)
		case "logprobs":
			return w.r.Choices[i].Logprobs
		case "finish_reason":
			return quoteIf(finish)
		}
		return nil
	})
}

func (w *completionWriter) usage() []byte {
	u := w.r.Usage
	return Object(nil, KeysOf(w.style, "completion.usage", wire.Keys{"prompt_tokens", "completion_tokens", "total_tokens"}), func(member string) []byte {
		switch member {
		case "prompt_tokens":
			return number(u.PromptTokens)
		case "completion_tokens":
			return number(u.CompletionTokens)
		case "total_tokens":
			return number(u.TotalTokens)
		}
		return nil
	})
}

// chunk adds an event with one choice.
func (w *completionWriter) chunk(f Frame, text, finish string) {
	choice := w.choice("completion.chunk.choice", f.Choice, text, finish)
	w.add(f, array([][]byte{choice}), nil)
}

func (w *completionWriter) add(f Frame, choices, usage []byte) {
	keys := wire.Keys{"id", `object="text_completion"`, "created", "choices", "model", "usage?", "system_fingerprint?"}
	if w.r.IncludeUsage {
		keys[5] = "usage"
	}
	f.Data = Data(w.object("completion.chunk", keys, choices, usage))
	w.frames = append(w.frames, f)
}

func (w *completionWriter) stream() *Body {
	for i := range w.r.Choices {
		c := &w.r.Choices[i]
		for _, piece := range Pieces(completionText(c), w.style, w.r.Seed) {
			w.chunk(Frame{Kind: Text, Choice: i, Tokens: 1}, piece, "")
		}
		w.chunk(Frame{Kind: Finish, Choice: i}, "", c.Finish)
	}
	if w.r.IncludeUsage {
		w.add(Frame{Kind: Usage}, []byte("[]"), w.usage())
	}
	if !w.style.NoDone {
		w.frames = append(w.frames, Frame{Kind: Done, Data: Data([]byte("[DONE]"))})
	}
	return &Body{
		Status: http.StatusOK, Stream: true, Frames: w.frames, EarlyHead: w.style.EarlyHead, Writes: w.style.Fragments.Writes,
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}},
	}
}
