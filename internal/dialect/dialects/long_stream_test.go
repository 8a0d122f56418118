// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// TestLongStream: what a stream of responses costs grows with its length, and not
// with the square of it.
func TestLongStream(t *testing.T) {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	for name, sample := range map[string]struct{ begin, piece, text string }{
		"call": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"note","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"abcd"}`, "abcd",
		},
		"text": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"abcd"}`, "abcd",
		},
	} {
		allocated := func(pieces int) uint64 {
			body := []byte("data: " + sample.begin + "\n\n" + strings.Repeat("data: "+sample.piece+"\n\n", pieces) + "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[]}}\n\n")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := dialect.ReadChoice(responses.Dialect, 0, header, body, dialect.Limits{Arguments: 1 << 20})
			runtime.ReadMemStats(&after)
			said := got.Message.Text
			if len(got.Message.Calls) == 1 {
				said = got.Message.Calls[0].Arguments
			}
			if err != nil || said != strings.Repeat(sample.text, pieces) {
				t.Fatalf("%s: %v, %d bytes of %d", name, err, len(said), pieces*len(sample.text))
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		if few, many := allocated(2_000), allocated(16_000); many > 12*few {
			t.Errorf("%s: eight times the pieces take %d times the memory", name, many/few)
		}
	}
}
