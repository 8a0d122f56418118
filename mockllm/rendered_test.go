// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuickWay: the quick way writes what the renderer writes.
func TestQuickWay(t *testing.T) {
	replies := map[string]Reply{
		"text":      {Say: "Sunny in \"Zürich\" 🌞."},
		"empty":     {},
		"calls":     {Reasoning: "Two.", Calls: []Call{{Tool: "a", Args: json.RawMessage(`{"x": "é\n"}`)}, {Tool: "b"}}},
		"both":      {Say: "Let me see.", Calls: []Call{{Tool: "a"}}},
		"refusal":   {Refusal: "No."},
		"no_json":   {Calls: []Call{{Tool: "a", Args: json.RawMessage(`{"x": `)}}},
		"no_finish": {Say: "cut", Finish: "length"},
	}
	for name, reply := range replies {
		for _, more := range []string{``, `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
			t.Run(name+more, func(t *testing.T) {
				var got [2]string
				for i, quick := range []bool{true, false} {
					m := New(Script{Replies: []Reply{reply}}, nil)
					defer m.Close()
					for _, r := range m.routing.exact["/v1/chat/completions"] {
						r.speech.quick = quick
					}
					w := httptest.NewRecorder()
					body := fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]%s}`, more)
					m.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
					var head strings.Builder
					w.Header().Write(&head)
					got[i] = head.String() + w.Body.String()
				}
				if d := cmp.Diff(got[0], got[1]); d != "" {
					t.Errorf("-quick +rendered:\n%s", d)
				}
			})
		}
	}
}

// TestBelow: ids are those that the library's random numbers give.
func TestBelow(t *testing.T) {
	for _, n := range []uint64{1, 16, 26, 36, 58, 62, 1<<63 + 1} {
		ours, theirs := rand.NewPCG(1, n), rand.New(rand.NewPCG(1, n))
		for i := range 1000 {
			if got, want := below(ours, n), theirs.Uint64N(n); got != want {
				t.Fatalf("number %d below %d is %d, want %d", i, n, got, want)
			}
		}
	}
}
