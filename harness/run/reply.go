// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
)

// The parts of a chat completion that the journal keeps; a chunk of a stream
// has delta where a whole reply has message.
type (
	completion struct {
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   *usage          `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	choice struct {
		Index        int     `json:"index"`
		Message      message `json:"message"`
		Delta        message `json:"delta"`
		FinishReason string  `json:"finish_reason"`
	}
	message struct {
		Content          json.RawMessage `json:"content"`
		ReasoningContent string          `json:"reasoning_content"`
		Refusal          string          `json:"refusal"`
		ToolCalls        []toolCall      `json:"tool_calls"`
	}
	toolCall struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
)

// readAnswer fills in what the endpoint answered. What cannot be read becomes
// the exchange's error.
func readAnswer(x *harness.Exchange, res *http.Response, body []byte) {
	if x.Status >= 300 {
		x.RetryAfter = retryAfter(res.Header, x.Start)
		x.Error = errorText(body)
		return
	}
	x.Answer.Role = harness.RoleAssistant
	r := answerReader{x: x, open: map[int]int{}}
	defer r.finish()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "text/event-stream" && !bytes.HasPrefix(body, []byte("data:")) {
		r.add(body)
		return
	}
	r.chunks = true
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if data = strings.TrimSpace(data); ok && data != "" && data != "[DONE]" {
			r.add([]byte(data))
		}
	}
}

// maxCalls bounds the calls that are kept of one answer; the API itself
// allows 128.
const maxCalls = 1024

// answerReader puts an answer together.
type answerReader struct {
	x      *harness.Exchange
	chunks bool
	open   map[int]int // the latest call of each index of a stream

	text, reasoning, refusal strings.Builder
	arguments                []*strings.Builder // of each call
}

// finish puts into the answer what came piece by piece.
func (r *answerReader) finish() {
	a := &r.x.Answer
	a.Text, a.Reasoning, a.Refusal = r.text.String(), r.reasoning.String(), r.refusal.String()
	for i := range a.Calls {
		a.Calls[i].Arguments = r.arguments[i].String()
	}
}

// add adds a whole reply, or a chunk of one.
func (r *answerReader) add(data []byte) {
	var c completion
	x := r.x
	if err := json.Unmarshal(data, &c); err != nil {
		x.Error = fmt.Sprintf("the answer is not a chat completion: %v", err)
		return
	}
	x.Model = cmp.Or(c.Model, x.Model)
	if u := c.Usage; u != nil {
		x.Usage = harness.Usage{
			PromptTokens: u.Prompt, CompletionTokens: u.Completion, TotalTokens: u.Total,
			ReasoningTokens: u.Details.Reasoning, CachedTokens: u.PromptDetails.Cached,
		}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		x.Error = errorText(data)
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		m := ch.Message
		if r.chunks {
			m = ch.Delta
		}
		x.FinishReason = cmp.Or(ch.FinishReason, x.FinishReason)
		r.text.WriteString(text(m.Content))
		r.reasoning.WriteString(m.ReasoningContent)
		r.refusal.WriteString(m.Refusal)
		for i, tc := range m.ToolCalls {
			if tc.Index != nil {
				i = *tc.Index
			}
			r.call(i, tc)
		}
	}
}

// call adds a call, or a piece of one. A piece belongs to the latest call of
// its index, unless it brings an id of its own: some endpoints number all
// calls 0.
func (r *answerReader) call(index int, tc toolCall) {
	calls := &r.x.Answer.Calls
	at, known := -1, false
	if r.chunks {
		at, known = r.open[index]
	}
	if known && tc.ID != "" && (*calls)[at].ID != tc.ID {
		known = false
	}
	if !known {
		if len(*calls) == maxCalls {
			r.x.Error = fmt.Sprintf("the answer has more than %d tool calls", maxCalls)
			return
		}
		at = len(*calls)
		r.open[index] = at
		*calls = append(*calls, harness.ToolCall{ID: tc.ID, Name: tc.Function.Name})
		r.arguments = append(r.arguments, new(strings.Builder))
	}
	r.arguments[at].WriteString(text(tc.Function.Arguments))
}

// text is the text of a string, of the text parts of a list, or JSON as it
// stands (arguments that some endpoints send as an object).
func text(raw json.RawMessage) string {
	var s *string
	if json.Unmarshal(raw, &s) == nil {
		if s == nil {
			return ""
		}
		return *s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	return string(raw)
}

// errorText finds the message in the body of an error.
func errorText(body []byte) string {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &e) == nil && e.Error.Message != "" {
		return e.Error.Message
	}
	s := strings.TrimSpace(string(body))
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
