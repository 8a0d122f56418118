// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/sse"
)

// rebuiltGemini is generateContent as a proxy makes it out of a reply in
// another dialect, see [dialect.Rebuilt]: calls come whole with the reason to
// end, and the usage after it.
func rebuiltGemini(r *dialect.Reply, style *dialect.Style, stream bool) *dialect.Body {
	g := &rebuiltGenerate{r: r, c: &r.Choices[0], style: style, how: *style.Rebuilt}
	text := g.c.Text + g.c.Refusal
	pieces := dialect.Pieces(text, style, r.Seed)
	if !stream {
		var parts [][]byte
		if text != "" {
			parts = append(parts, g.text(text))
		}
		parts = append(parts, g.calls()...)
		data := fmt.Appendf(nil, `{"responseId":%s,"modelVersion":%s,"candidates":[%s],"usageMetadata":%s}`,
			dialect.Quote(r.ID), dialect.Quote(r.Model), g.candidate(parts, g.reason()), g.usage(true))
		return &dialect.Body{
			Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Frames: []dialect.Frame{{Data: data, Kind: dialect.KindText, Tokens: len(pieces)}},
		}
	}
	for _, p := range pieces {
		if p != "" {
			g.chunk(dialect.Frame{Kind: dialect.KindText, Tokens: 1}, `"candidates":[`+string(g.candidate([][]byte{g.text(p)}, ""))+`]`)
		}
	}
	last := dialect.Frame{Kind: dialect.KindFinish}
	if len(g.c.Calls) > 0 {
		last = dialect.Frame{Kind: dialect.KindCallArgs, Tokens: 1}
	}
	end := `"candidates":[` + string(g.candidate(g.calls(), g.reason())) + `]`
	if g.how.Blocks {
		end += `,"usageMetadata":` + string(g.usage(false))
	}
	g.chunk(last, end)
	if g.how.Counted && !g.how.Blocks {
		g.chunk(dialect.Frame{Kind: dialect.KindUsage}, `"usageMetadata":`+string(g.usage(false)))
	}
	return &dialect.Body{
		Status: http.StatusOK, Stream: true, Frames: g.frames, EarlyHead: style.EarlyHead, Writes: style.Fragments.Writes,
		Header: http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}},
	}
}

type rebuiltGenerate struct {
	r      *dialect.Reply
	c      *dialect.Choice
	style  *dialect.Style
	how    dialect.Rebuilt
	frames []dialect.Frame
}

func (g *rebuiltGenerate) chunk(f dialect.Frame, members string) {
	if g.how.Counted {
		members += fmt.Sprintf(`,"responseId":%s,"modelVersion":%s`, dialect.Quote(g.r.ID), dialect.Quote(g.r.Model))
	}
	f.Data = sse.Data("", []byte("{"+members+"}"))
	g.frames = append(g.frames, f)
}

func (g *rebuiltGenerate) text(s string) []byte {
	return fmt.Appendf(nil, `{"text":%s}`, dialect.Quote(s))
}

func (g *rebuiltGenerate) calls() [][]byte {
	var out [][]byte
	for _, c := range g.c.Calls {
		id := ""
		if g.how.Counted {
			id = `,"id":` + string(dialect.Quote(c.ID))
		}
		out = append(out, fmt.Appendf(nil, `{"functionCall":{"name":%s,"args":%s%s}}`, dialect.Quote(c.Name), dialect.InputObject(c.Arguments), id))
	}
	return out
}

func (g *rebuiltGenerate) candidate(parts [][]byte, reason string) []byte {
	b := fmt.Appendf(nil, `{"index":0,"content":{"role":"model","parts":[%s]}`, bytes.Join(parts, []byte{','}))
	if reason != "" {
		b = fmt.Appendf(b, `,"finishReason":%q`, reason)
	}
	return append(b, '}')
}

func (g *rebuiltGenerate) reason() string {
	switch g.c.Finish {
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	}
	return "STOP"
}

// usage are the tokens; whole ones have the details that a proxy finds in
// OpenAI's usage.
func (g *rebuiltGenerate) usage(whole bool) []byte {
	u := g.r.Usage
	b := fmt.Appendf(nil, `{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d`, u.PromptTokens, u.CompletionTokens, u.TotalTokens)
	if !g.how.Blocks {
		b = fmt.Appendf(b, `,"thoughtsTokenCount":%d`, u.ReasoningTokens)
	}
	b = fmt.Appendf(b, `,"cachedContentTokenCount":%d`, u.CachedTokens)
	if whole && !g.how.Blocks {
		prompt, said := `{"modality":"AUDIO","tokenCount":0}`, `{"modality":"AUDIO","tokenCount":0}`
		if !g.how.Counted {
			prompt += fmt.Sprintf(`,{"modality":"CACHED","tokenCount":%d}`, u.CachedTokens)
			said = fmt.Sprintf(`{"modality":"ACCEPTED_PREDICTION","tokenCount":0},%s,{"modality":"REASONING","tokenCount":%d},{"modality":"REJECTED_PREDICTION","tokenCount":0}`, said, u.ReasoningTokens)
		}
		b = fmt.Appendf(b, `,"promptTokensDetails":[%s],"candidatesTokensDetails":[%s]`, prompt, said)
	}
	return append(b, '}')
}
