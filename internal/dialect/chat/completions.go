// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// Older is OpenAI's older completions. Their replies are read as those of chat
// completions.
var Older = &dialect.Dialect{
	Name: "completions", Path: "/completions",
	Read: func(body []byte, _ *dialect.Query) (dialect.Request, *dialect.Refusal) {
		c, refusal := ReadCompletions(body)
		if c == nil {
			return nil, refusal
		}
		return c, refusal
	},
	Overflow: func(l dialect.Length) *dialect.Refusal {
		if l.Prompt+l.Room <= l.Window {
			return nil
		}
		return dialect.Invalid("", "", "This model's maximum context length is %d tokens, however you requested %d tokens (%d in your prompt; %d for the completion). "+
			"Please reduce your prompt; or completion length.", l.Window, l.Prompt+l.Room, l.Prompt, l.Room)
	},
	Serves: func(model string) *dialect.Refusal {
		if !chatOnly(model) {
			return nil
		}
		return &dialect.Refusal{
			Status: http.StatusNotFound, Type: "invalid_request_error", Param: "model",
			Message: "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use v1/chat/completions?",
		}
	},
	ReplyID: dialect.IDs{Prefix: "cmpl-", Len: 29}, CallID: dialect.IDs{Prefix: "call_", Len: 24}, OpenAI: true,
	Part: "choices with a message", Several: true, Parse: newParser,
}

// chatOnly reports whether OpenAI serves a model of that name as a chat only.
func chatOnly(name string) bool {
	if strings.Contains(name, "instruct") {
		return false
	}
	return slices.ContainsFunc([]string{"gpt-3.5-", "gpt-4", "gpt-5", "chatgpt-", "o1", "o3", "o4"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Completions is a request to the older completions endpoint.
type Completions struct {
	// Plain has the prompts as one user message.
	dialect.Plain
	// Prompts are the texts to go on from; each gets its own choices. Tokens
	// are spelled as JSON.
	Prompts []string
	// Echo says that the prompt comes before the text.
	Echo bool
}

const (
	// defaultTokens bounds a completion that does not say.
	defaultTokens = 16
	maxLogprobs   = 5
	endOfText     = "<|endoftext|>"
)

// ReadCompletions reads the body of a completions request. The completions
// are nil when the body is no JSON object; otherwise they are there beside a
// refusal, as far as they could be read.
func ReadCompletions(body []byte) (*Completions, *dialect.Refusal) {
	o, refusal := dialect.ReadBody(body)
	if refusal != nil {
		return nil, refusal
	}
	c, e := &Completions{}, &dialect.Envelope{}
	refusal = c.read(o, e)
	req := harness.Request{Model: e.Model, Temperature: e.Temperature, MaxTokens: e.MaxTokens, Stream: e.Stream}
	req.Messages = []harness.Message{{Role: harness.RoleUser, Text: strings.Join(c.Prompts, "\n")}}
	c.Chat = dialect.NewChat(req, body)
	c.Chat.Env.Options, c.Chat.Env.Choices, c.Chat.Env.IncludeUsage = e.Options, e.Choices, e.IncludeUsage
	c.Chat.Refused = refusal
	return c, refusal
}

// Write gives every prompt its choices. A proxy makes one of all prompts, and
// knows no echo.
func (c *Completions) Write(r *dialect.Reply, w dialect.Writing) *dialect.Body {
	if w.Proxied {
		return WriteCompletions(r, w.Style, w.Stream)
	}
	reply := *r
	reply.Choices = nil
	for _, prompt := range c.Prompts {
		for _, choice := range r.Choices {
			if c.Echo {
				choice.Text = prompt + choice.Text
			}
			reply.Choices = append(reply.Choices, choice)
		}
	}
	reply.Usage.CompletionTokens *= len(c.Prompts)
	reply.Usage.TotalTokens = reply.Usage.PromptTokens + reply.Usage.CompletionTokens
	return WriteCompletions(&reply, w.Style, w.Stream)
}

func (c *Completions) read(o dialect.Object, e *dialect.Envelope) *dialect.Refusal {
	var logprobs int
	for _, name := range []string{"messages", "tools", "tool_choice", "response_format", "max_completion_tokens", "functions"} {
		if _, ok := o[name]; ok {
			return dialect.Invalid("", "", "Unrecognized request argument supplied: %s", name)
		}
	}
	r := dialect.FirstOf(
		func() *dialect.Refusal { return e.ReadModel(o["model"]) },
		func() *dialect.Refusal { return c.readPrompt(o["prompt"]) },
		func() *dialect.Refusal {
			return dialect.CheckDecimal("temperature", o["temperature"], 0, 2, &e.Temperature)
		},
		func() *dialect.Refusal { return dialect.CheckDecimal("top_p", o["top_p"], 0, 1, nil) },
		func() *dialect.Refusal { return dialect.CheckInteger("max_tokens", o["max_tokens"], &e.MaxTokens) },
		func() *dialect.Refusal { return dialect.CheckAtLeast("max_tokens", e.MaxTokens, 0) },
		func() *dialect.Refusal { return dialect.CheckPositive("n", o["n"], &e.Choices) },
		func() *dialect.Refusal { return dialect.CheckBoolean("stream", o["stream"], &e.Stream) },
		func() *dialect.Refusal { return dialect.CheckBoolean("echo", o["echo"], &c.Echo) },
		func() *dialect.Refusal { return dialect.CheckString("suffix", o["suffix"], nil) },
		func() *dialect.Refusal { return dialect.CheckInteger("logprobs", o["logprobs"], &logprobs) },
		func() *dialect.Refusal { return dialect.CheckAtMost("logprobs", logprobs, maxLogprobs) },
		func() *dialect.Refusal { return e.ReadSharedOptions(o) },
		func() *dialect.Refusal { return e.StreamOptions(o["stream_options"]) },
	)
	e.Options.Logprobs = !dialect.Absent(o["logprobs"])
	if e.MaxTokens == 0 {
		e.MaxTokens = defaultTokens
	}
	return r
}

func (c *Completions) readPrompt(raw json.RawMessage) *dialect.Refusal {
	if dialect.Absent(raw) {
		c.Prompts = []string{endOfText}
		return nil
	}
	list, ok := texts(raw)
	if !ok {
		return dialect.Invalid("", "", "'$.prompt' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	}
	c.Prompts = list
	return nil
}

// texts reads what the older endpoints take as text: a string, an array of
// strings, an array of tokens, or an array of such arrays. Tokens are spelled
// as they came.
func texts(raw json.RawMessage) ([]string, bool) {
	switch raw[0] {
	case '"':
		return []string{dialect.TextOf(raw)}, true
	case '[':
	default:
		return nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, false
	}
	if tokens(raw) {
		return []string{string(raw)}, true
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		switch {
		case v[0] == '"' && list[0][0] == '"':
			out = append(out, dialect.TextOf(v))
		case v[0] == '[' && list[0][0] == '[' && tokens(v):
			out = append(out, string(v))
		default:
			return nil, false
		}
	}
	return out, true
}

// tokens reports whether raw is an array of tokens.
func tokens(raw json.RawMessage) bool {
	var list []uint32
	return json.Unmarshal(raw, &list) == nil && len(list) > 0
}

// WriteCompletions is OpenAI's older completions. Its objects are "completion",
// "completion.choice", "completion.usage", and "completion.chunk" and
// "completion.chunk.choice" of a stream, the last of which with the usage is
// "completion.chunk.usage" when a style has that. With ChunkIDs, each chunk has
// an id of its own, and that with the usage one without the prefix.
func WriteCompletions(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	w := &completionWriter{r: r, style: style}
	if stream {
		return w.stream()
	}
	tokens := 0
	var choices [][]byte
	for i, c := range r.Choices {
		tokens += len(dialect.Pieces(completionText(&c), style, r.Seed))
		choices = append(choices, w.choice("completion.choice", i, completionText(&c), c.Finish))
	}
	b := w.object("completion", dialect.Keys{"id", `object="text_completion"`, "created", "model", "choices", "usage", "system_fingerprint?"}, dialect.Array(choices), w.usage())
	return &dialect.Body{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Frames: []dialect.Frame{{Data: append(b, '\n'), Kind: dialect.KindText, Tokens: tokens}},
	}
}

// completionText is what a choice says; the endpoint has nothing for
// refusals.
func completionText(c *dialect.Choice) string { return c.Text + c.Refusal }

type completionWriter struct {
	r      *dialect.Reply
	style  *dialect.Style
	frames []dialect.Frame
}

// object returns the object around choices.
func (w *completionWriter) object(name string, usual dialect.Keys, choices, usage []byte) []byte {
	return dialect.AppendObject(nil, dialect.KeysOf(w.style, name, usual), func(member string) []byte {
		switch member {
		case "id":
			switch {
			case !w.style.ChunkIDs || name == "completion":
				return dialect.Quote(w.r.ID)
			case usage != nil:
				return dialect.Quote(strings.TrimPrefix(chunkID(w.r, w.style, len(w.frames)), w.style.ID.Prefix))
			}
			return dialect.Quote(chunkID(w.r, w.style, len(w.frames)))
		case "created":
			return strconv.AppendInt(nil, w.r.Created, 10)
		case "model":
			return dialect.Quote(w.r.Model)
		case "choices":
			return choices
		case "usage":
			return usage
		case "system_fingerprint":
			return dialect.QuoteIf(w.r.Fingerprint)
		}
		return nil
	})
}

func (w *completionWriter) choice(name string, i int, text, finish string) []byte {
	return dialect.AppendObject(nil, dialect.KeysOf(w.style, name, dialect.Keys{"text", "index", "logprobs", "finish_reason"}), func(member string) []byte {
		switch member {
		case "text":
			return dialect.Quote(text)
		case "index":
			return dialect.Digits(i)
		case "logprobs":
			return w.r.Choices[i].Logprobs
		case "finish_reason":
			return dialect.QuoteIf(finish)
		}
		return nil
	})
}

func (w *completionWriter) usage() []byte {
	u := w.r.Usage
	return dialect.AppendObject(nil, dialect.KeysOf(w.style, "completion.usage", dialect.Keys{"prompt_tokens", "completion_tokens", "total_tokens"}), func(member string) []byte {
		switch member {
		case "prompt_tokens":
			return dialect.Digits(u.PromptTokens)
		case "completion_tokens":
			return dialect.Digits(u.CompletionTokens)
		case "total_tokens":
			return dialect.Digits(u.TotalTokens)
		}
		return nil
	})
}

// chunk adds an event with one choice.
func (w *completionWriter) chunk(f dialect.Frame, text, finish string) {
	choice := w.choice("completion.chunk.choice", f.Choice, text, finish)
	w.add(f, dialect.Array([][]byte{choice}), nil)
}

func (w *completionWriter) add(f dialect.Frame, choices, usage []byte) {
	keys := dialect.Keys{"id", `object="text_completion"`, "created", "choices", "model", "usage?", "system_fingerprint?"}
	if w.r.IncludeUsage {
		keys[5] = "usage"
	}
	name := "completion.chunk"
	if _, ok := w.style.Keys["completion.chunk.usage"]; ok && f.Kind == dialect.KindUsage {
		name = "completion.chunk.usage"
	}
	f.Data = sse.Data("", w.object(name, keys, choices, usage))
	w.frames = append(w.frames, f)
}

func (w *completionWriter) stream() *dialect.Body {
	for i := range w.r.Choices {
		c := &w.r.Choices[i]
		finish := ""
		if w.style.Finish == dialect.FinishEvery {
			finish = c.Finish
		}
		for _, piece := range dialect.Pieces(completionText(c), w.style, w.r.Seed) {
			if piece != "" || finish == "" {
				w.chunk(dialect.Frame{Kind: dialect.KindText, Choice: i, Tokens: 1}, piece, finish)
			}
		}
		if finish == "" {
			w.chunk(dialect.Frame{Kind: dialect.KindFinish, Choice: i}, "", c.Finish)
		}
	}
	if w.r.IncludeUsage || w.style.Usage == dialect.WhenAlways {
		w.add(dialect.Frame{Kind: dialect.KindUsage}, []byte("[]"), w.usage())
	}
	if !w.style.NoDone {
		w.frames = append(w.frames, dialect.Frame{Kind: dialect.KindDone, Data: sse.Data("", []byte("[DONE]"))})
	}
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, Frames: w.frames, EarlyHead: w.style.EarlyHead, Writes: w.style.Fragments.Writes,
		Header: dialect.StreamHeader,
	}
}
