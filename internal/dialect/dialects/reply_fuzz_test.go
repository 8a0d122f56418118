// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// readIn reads a body from r, as [ReadAll] does, and returns the deltas too.
func readIn(d *dialect.Dialect, r io.Reader, contentType string) (reply dialect.Received, deltas []dialect.Delta, err error) {
	b, err := dialect.Open(r, dialect.Opening{ContentType: contentType, Size: -1, Items: d == gemini.Dialect, Limits: dialect.Limits{Event: 1 << 16, Body: 1 << 20, Arguments: 1000}})
	in := dialect.NewReader(d, dialect.Limits{Arguments: 1000})
	for err == nil {
		var doc dialect.Document
		if doc, err = b.Next(); err == nil {
			var more []dialect.Delta
			more, err = in.Add(b, doc)
			deltas = append(deltas, more...)
		}
	}
	if b != nil {
		_, err = in.End(b, err, false)
	}
	return in.Reply(), deltas, err
}

func seeds() []string {
	return []string{
		"", "data: [DONE]\n\n", "<html>", "\x1f\x8b",
		stream(`{"choices":[{"delta":{"content":"Hello"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`),
		`{"choices":[{"index":"0","delta":{"tool_calls":[{"index":null,"function":{"name":1,"arguments":{"a":[]}}}]},"finish_reason":["x"]}]}`,
		`{"choices":[{"message":{"tool_calls":{"function":{"name":"f"}},"function_call":{"name":"g"},"content":["a",{"text":"b"}]}}],"usage":{"total_tokens":1e400}}`,
		"{\"choices\":[{\"delta\":{\"content\":\"\xc3\\ud83d\"}}]}",
		stream(`{"type":"response.output_item.added","output_index":0,"item":{"id":"a","type":"function_call","name":"f","call_id":1}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"a","delta":"{}"}`, `{"type":"response.completed","response":{"output":[],"status":"completed"}}`),
		stream(`{"type":"message_start","message":{"content":[],"usage":5}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":1,"name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
		`[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}},{"text":"x","thought":true}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"7"}}]`,
	}
}

// FuzzReadAll checks that no body breaks the reader, that how it is cut into
// reads makes no difference, and that what it gives is text.
func FuzzReadAll(f *testing.F) {
	for i, s := range seeds() {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, how uint8) {
		d := []*dialect.Dialect{chat.Dialect, responses.Dialect, messages.Dialect, gemini.Dialect}[how&3]
		contentType := ""
		if how&4 != 0 {
			contentType = "text/event-stream"
		}
		got, deltas, err := readIn(d, bytes.NewReader(body), contentType)
		slow, _, slowErr := readIn(d, iotest.OneByteReader(bytes.NewReader(body)), contentType)
		if diff := cmp.Diff(got, slow); diff != "" || (err == nil) != (slowErr == nil) {
			t.Errorf("byte by byte (-whole +byte by byte), errors %v and %v:\n%s", err, slowErr, diff)
		}
		var shown strings.Builder
		for _, d := range deltas {
			if d.Kind == dialect.TextDelta {
				shown.WriteString(d.Text)
			}
		}
		if !strings.HasPrefix(got.Message.Text, shown.String()) {
			t.Errorf("shown %q, but the text is %q", shown.String(), got.Message.Text)
		}
		for _, c := range got.Message.Calls {
			if !utf8.ValidString(c.ID + c.Name + c.Arguments) {
				t.Errorf("not text: %q", c)
			}
			if c.Extra != "" && !json.Valid([]byte(c.Extra)) {
				t.Errorf("extra members of a call are no JSON: %q", c.Extra)
			}
		}
		if m := got.Message; !utf8.ValidString(m.Text + m.Reasoning + m.Refusal + got.ID + got.Model + got.Finish) {
			t.Errorf("not text: %q", m)
		}
		if extra := got.Message.Extra; extra != "" && !json.Valid([]byte(extra)) {
			t.Errorf("extra members are no JSON: %q", extra)
		}
		if got.Message.Role != harness.RoleAssistant {
			t.Errorf("role %q", got.Message.Role)
		}
		_ = dialect.ReadError(body, dialect.Limits{})
	})
}

func FuzzParseError(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"a","code":400}}`, `{"error":"x"}`, `{"detail":[{"loc":["a",1],"msg":"b"}]}`, `[{"error":{"status":"X"}}]`,
		`{"type":"error","error":{"type":"t"}}`, `{"error":[]}`, `{"error":{"message":{"a":1}}}`, `{"object":"error"}`, `[[]]`, `{"error":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, ok := dialect.ParseError(data)
		if ok && w.Message == "" {
			t.Errorf("an error without a message: %+v", w)
		}
		_ = dialect.Describe(data)
	})
}

// stream is a stream of chat completions or the like.
func stream(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String() + "data: [DONE]\n\n"
}
