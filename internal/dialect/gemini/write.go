// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/value"
)

// Write is Gemini's generateContent, and streamGenerateContent?alt=sse when
// streamed. The objects for [dialect.Style] Keys are
//
//	gemini               the response
//	gemini.candidate     an item of candidates
//	gemini.content       its content
//	gemini.call          a functionCall
//	gemini.usage         usageMetadata
//
// A style whose Finish is [dialect.FinishLast] says why the stream ended beside
// the last part, as Gemini 1 and 2 do; by default it is said in a chunk of its
// own. An id of a call that is empty is left out.
func Write(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	if style.Rebuilt != nil {
		return rebuiltGemini(r, style, stream)
	}
	g := writer{r: r, style: style}
	if !stream {
		return g.whole()
	}
	frames := g.chunks()
	for i := range frames {
		data := append([]byte("data: "), spaced(frames[i].Data)...)
		frames[i].Data = append(data, "\r\n\r\n"...)
	}
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, EarlyHead: style.EarlyHead, Frames: frames,
		Header: geminiHeader("text/event-stream"),
	}
}

// WriteList is streamGenerateContent without alt=sse: a JSON array that comes
// item by item.
func WriteList(r *dialect.Reply, style *dialect.Style) *dialect.Body {
	g := writer{r: r, style: style}
	frames := g.chunks()
	for i := range frames {
		open := ",\r\n"
		if i == 0 {
			open = "["
		}
		data := append([]byte(open), Indented(frames[i].Data)...)
		if i == len(frames)-1 {
			data = append(data, "]\n"...)
		}
		frames[i].Data = data
	}
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, EarlyHead: style.EarlyHead, Frames: frames,
		Header: geminiHeader("application/json; charset=UTF-8"),
	}
}

func geminiHeader(kind string) http.Header {
	return http.Header{
		"Content-Type": {kind}, "Content-Disposition": {"attachment"}, "Vary": {"Origin", "X-Origin", "Referer"},
	}
}

type writer struct {
	r     *dialect.Reply
	style *dialect.Style
}

// part is a part of a reply, and how much of the reply is told with it.
type part struct {
	data           []byte
	kind           dialect.Kind
	said, thoughts int // tokens so far
}

// parts are the parts of a choice; those of a stream are its pieces. Parallel
// calls stand in one part, joined.
func (g *writer) parts(c *dialect.Choice, stream bool) []part {
	u := g.r.Usage
	var out []part
	texts := func(s, more string, kind dialect.Kind) {
		pieces := []string{s}
		if stream {
			pieces = dialect.Pieces(s, g.style, g.r.Seed)
		}
		if s == "" {
			return
		}
		for _, p := range pieces {
			data := append([]byte(`{"text":`), dialect.Quote(p)...)
			out = append(out, part{data: append(append(data, more...), '}'), kind: kind})
		}
	}
	texts(c.Reasoning, `,"thought":true`, dialect.KindReasoning)
	thoughts := len(out)
	texts(c.Text, "", dialect.KindText)
	texts(c.Refusal, "", dialect.KindRefusal)
	var calls [][]byte
	for i := range c.Calls {
		if call := &c.Calls[i]; !g.malformed(call) {
			calls = append(calls, g.call(call))
		}
	}
	if calls != nil {
		out = append(out, part{data: bytes.Join(calls, []byte{','}), kind: dialect.KindCallArgs})
	}
	for i := range out {
		out[i].thoughts = u.ReasoningTokens
		if i < thoughts {
			out[i].thoughts = u.ReasoningTokens * (i + 1) / thoughts
			continue
		}
		out[i].said = (u.CompletionTokens - u.ReasoningTokens) * (i + 1 - thoughts) / (len(out) - thoughts)
	}
	return out
}

// malformed reports whether the arguments of a call are no object, which the
// provider tells as an end of its own.
func (g *writer) malformed(c *dialect.Call) bool {
	return !dialect.IsObject(c.Arguments)
}

func (g *writer) call(c *dialect.Call) []byte {
	data := dialect.AppendObject([]byte(`{"functionCall":`), dialect.KeysOf(g.style, "gemini.call", dialect.Keys{"id?", "name", "args"}), func(key string) []byte {
		switch key {
		case "id":
			if c.ID != "" {
				return dialect.Quote(c.ID)
			}
		case "name":
			return dialect.Quote(c.Name)
		case "args":
			return dialect.InputObject(c.Arguments)
		}
		return nil
	})
	if c.Signature != "" {
		data = append(append(data, `,"thoughtSignature":`...), dialect.Quote(c.Signature)...)
	}
	return append(data, '}')
}

// finish is the reason of a choice to end, and what is said about it.
func (g *writer) finish(c *dialect.Choice) (reason, message string) {
	for i := range c.Calls {
		if g.malformed(&c.Calls[i]) {
			return "MALFORMED_FUNCTION_CALL", "Malformed function call: " + c.Calls[i].Name + "(" + c.Calls[i].Arguments + ")"
		}
	}
	switch f := c.Finish; f {
	case "", "stop":
		if c.Refusal != "" {
			return "SAFETY", ""
		}
		return "STOP", ""
	case "tool_calls":
		if g.style.Finish == dialect.FinishLast {
			message = "Model generated function call(s)."
		}
		return "STOP", message
	case "length":
		return "MAX_TOKENS", ""
	case "content_filter":
		return "SAFETY", ""
	default:
		return f, ""
	}
}

// candidate writes a candidate. An empty reason is not told.
func (g *writer) candidate(parts []byte, index int, reason, message string) []byte {
	content := dialect.AppendObject(nil, dialect.KeysOf(g.style, "gemini.content", dialect.Keys{"parts?", "role"}), func(key string) []byte {
		switch {
		case key == "role":
			return []byte(`"model"`)
		case key == "parts" && len(parts) > 0:
			return append(append([]byte{'['}, parts...), ']')
		}
		return nil
	})
	keys := dialect.Keys{"content", "finishReason?", "index", "finishMessage?"}
	return dialect.AppendObject(nil, dialect.KeysOf(g.style, "gemini.candidate", keys), func(key string) []byte {
		switch key {
		case "content":
			return content
		case "index":
			return strconv.AppendInt(nil, int64(index), 10)
		case "finishReason":
			return dialect.QuoteIf(reason)
		case "finishMessage":
			return dialect.QuoteIf(message)
		}
		return nil
	})
}

func (g *writer) response(candidates []byte, said, thoughts int) []byte {
	keys := dialect.Keys{"candidates", "usageMetadata", "modelVersion", "responseId"}
	return dialect.AppendObject(nil, dialect.KeysOf(g.style, "gemini", keys), func(key string) []byte {
		switch key {
		case "candidates":
			return append(append([]byte{'['}, candidates...), ']')
		case "usageMetadata":
			return g.usage(said, thoughts)
		case "modelVersion":
			return dialect.Quote(g.r.Model)
		case "responseId":
			return dialect.Quote(g.r.ID)
		}
		return nil
	})
}

func (g *writer) usage(said, thoughts int) []byte {
	u := g.r.Usage
	number := func(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
	counted := func(n int) []byte {
		if n == 0 {
			return nil
		}
		return number(n)
	}
	keys := dialect.Keys{
		"promptTokenCount", "candidatesTokenCount?", "totalTokenCount", "cachedContentTokenCount?", "promptTokensDetails", "thoughtsTokenCount?",
	}
	return dialect.AppendObject(nil, dialect.KeysOf(g.style, "gemini.usage", keys), func(key string) []byte {
		switch key {
		case "promptTokenCount":
			return number(u.PromptTokens)
		case "candidatesTokenCount":
			return counted(said)
		case "totalTokenCount":
			return number(u.PromptTokens + said + thoughts)
		case "cachedContentTokenCount":
			return counted(u.CachedTokens)
		case "promptTokensDetails":
			return append(append([]byte(`[{"modality":"TEXT","tokenCount":`), number(u.PromptTokens)...), "}]"...)
		case "thoughtsTokenCount":
			return counted(thoughts)
		}
		return nil
	})
}

// whole is the response as one JSON object.
func (g *writer) whole() *dialect.Body {
	tokens := 0
	var candidates [][]byte
	for i := range g.r.Choices {
		c := &g.r.Choices[i]
		var list [][]byte
		for _, p := range g.parts(c, false) {
			list = append(list, p.data)
		}
		tokens += len(g.parts(c, true))
		reason, message := g.finish(c)
		candidates = append(candidates, g.candidate(bytes.Join(list, []byte{','}), i, reason, message))
	}
	u := g.r.Usage
	data := g.response(bytes.Join(candidates, []byte{','}), u.CompletionTokens-u.ReasoningTokens, u.ReasoningTokens)
	header := geminiHeader("application/json; charset=UTF-8")
	header.Del("Content-Disposition")
	return &dialect.Body{Status: http.StatusOK, Header: header, Frames: []dialect.Frame{{Data: Indented(data), Tokens: tokens}}}
}

// chunks are the responses of a stream.
func (g *writer) chunks() []dialect.Frame {
	var frames []dialect.Frame
	u := g.r.Usage
	all := u.CompletionTokens - u.ReasoningTokens
	last := g.style.Fragments.Finish
	if last == "" {
		last = g.style.Finish
	}
	for n := range g.r.Choices {
		c := &g.r.Choices[n]
		reason, message := g.finish(c)
		if last == dialect.FinishNever {
			reason, message = "", ""
		}
		parts := g.parts(c, true)
		for i, p := range parts {
			f := dialect.Frame{Kind: p.kind, Choice: n, Tokens: 1}
			if i == len(parts)-1 && last == dialect.FinishLast {
				f.Data = g.response(g.candidate(p.data, n, reason, message), p.said, p.thoughts)
			} else {
				f.Data = g.response(g.candidate(p.data, n, "", ""), p.said, p.thoughts)
			}
			frames = append(frames, f)
		}
		if last == dialect.FinishNever || last == dialect.FinishLast && len(parts) > 0 {
			continue
		}
		empty := []byte(`{"text":""}`)
		if reason != "STOP" && reason != "MAX_TOKENS" {
			empty = nil
		}
		frames = append(frames, dialect.Frame{
			Kind: dialect.KindFinish, Choice: n, Data: g.response(g.candidate(empty, n, reason, message), all, u.ReasoningTokens),
		})
	}
	return frames
}

// spaced puts a space after each colon of compact JSON, as the provider does.
func spaced(data []byte) []byte {
	out := make([]byte, 0, len(data)+len(data)/8)
	for scan := (value.Scanner{Data: data}); scan.At < len(data); {
		at := scan.At
		if data[at] == '"' {
			scan.Text()
		} else {
			scan.At++
		}
		if out = append(out, data[at:scan.At]...); data[at] == ':' {
			out = append(out, ' ')
		}
	}
	return out
}

// Indented is JSON as the provider writes what is not streamed.
func Indented(data []byte) []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, data, "", "  ") // it is valid
	b.WriteByte('\n')
	return b.Bytes()
}
