// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// TestLongStream: what a stream costs grows with its length, and not with the square
// of it, in each dialect.
func TestLongStream(t *testing.T) {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	for name, sample := range map[string]struct {
		d                 *dialect.Dialect
		begin, piece, end string // data of events; a piece says abcd
	}{
		"chat, call": {
			chat.Dialect, `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"note","arguments":""}}]}}]}`,
			`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"abcd"}}]}}]}`, `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		},
		"chat, text": {
			chat.Dialect, `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant"}}]}`,
			`{"id":"c","choices":[{"index":0,"delta":{"content":"abcd"}}]}`, `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		},
		"responses, call": {
			responses.Dialect, `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"note","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"abcd"}`, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`,
		},
		"responses, text": {
			responses.Dialect, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"abcd"}`, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`,
		},
		"messages, call": {
			messages.Dialect, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"note","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"abcd"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		},
		"messages, text": {
			messages.Dialect, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"abcd"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		},
		"gemini, text": {
			gemini.Dialect, `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":""}]}}]}`,
			`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"abcd"}]}}]}`, `{"candidates":[{"index":0,"content":{"role":"model","parts":[]},"finishReason":"STOP"}]}`,
		},
	} {
		allocated := func(pieces int) uint64 {
			body := []byte("data: " + sample.begin + "\n\n" + strings.Repeat("data: "+sample.piece+"\n\n", pieces) + "data: " + sample.end + "\n\n")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := dialect.ReadChoice(sample.d, 0, header, body, dialect.Limits{Arguments: 1 << 20})
			runtime.ReadMemStats(&after)
			said := got.Message.Text
			if len(got.Message.Calls) == 1 {
				said = got.Message.Calls[0].Arguments
			}
			if said != strings.Repeat("abcd", pieces) {
				t.Fatalf("%s: %v, %d bytes of %d", name, err, len(said), 4*pieces)
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		if few, many := allocated(2_000), allocated(16_000); many > 12*few {
			t.Errorf("%s: eight times the pieces take %d times the memory", name, many/few)
		}
	}
}
