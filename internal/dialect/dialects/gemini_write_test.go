// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
)

func TestGemini(t *testing.T) {
	for name, c := range said() {
		t.Run(name, func(t *testing.T) {
			golden(t, "gemini_"+name+".json", gemini.Write(replyOf(c), &dialect.Style{}, false))
			golden(t, "gemini_"+name+".sse", gemini.Write(replyOf(c), &dialect.Style{}, true))
			golden(t, "gemini_"+name+"_last.sse", gemini.Write(replyOf(c), &dialect.Style{Finish: dialect.FinishLast}, true))
			golden(t, "gemini_"+name+"_list.json", gemini.WriteList(replyOf(c), &dialect.Style{}))
		})
	}
}

type geminiResponse struct {
	Candidates []struct {
		Content struct {
			Parts []map[string]any
		}
		FinishReason string
		Index        int
	}
	UsageMetadata map[string]any
	ResponseID    string `json:"responseId"`
}

// TestGeminiTellsTheSame joins the chunks of a stream as clients do.
func TestGeminiTellsTheSame(t *testing.T) {
	for name, c := range said() {
		var whole geminiResponse
		if err := json.Unmarshal(gemini.Write(replyOf(c), &dialect.Style{}, false).Frames[0].Data, &whole); err != nil {
			t.Fatal(err)
		}
		for _, style := range []*dialect.Style{{}, {Finish: dialect.FinishLast}} {
			var streams [2][]geminiResponse
			for _, f := range gemini.Write(replyOf(c), style, true).Frames {
				var r geminiResponse
				data, ok := strings.CutPrefix(string(f.Data), "data: ")
				if err := json.Unmarshal([]byte(data), &r); err != nil || !ok || !strings.HasSuffix(data, "}\r\n\r\n") {
					t.Fatalf("%q: %v", f.Data, err)
				}
				streams[0] = append(streams[0], r)
			}
			var list bytes.Buffer
			for _, f := range gemini.WriteList(replyOf(c), style).Frames {
				list.Write(f.Data)
			}
			if err := json.Unmarshal(list.Bytes(), &streams[1]); err != nil {
				t.Fatal(err)
			}
			for _, stream := range streams {
				last := stream[len(stream)-1]
				if diff := cmp.Diff(whole.UsageMetadata, last.UsageMetadata); diff != "" {
					t.Errorf("%s: usage (-whole +streamed):\n%s", name, diff)
				}
				if got, want := last.Candidates[0].FinishReason, whole.Candidates[0].FinishReason; got != want {
					t.Errorf("%s: ends with %q, want %q", name, got, want)
				}
				if diff := cmp.Diff(joinParts(whole), joinParts(stream...)); diff != "" {
					t.Errorf("%s: parts (-whole +streamed):\n%s", name, diff)
				}
			}
		}
	}
}

// joinParts joins texts of a kind that stand in a row.
func joinParts(list ...geminiResponse) []map[string]any {
	var out []map[string]any
	for _, r := range list {
		for _, p := range r.Candidates[0].Content.Parts {
			s, isText := p["text"].(string)
			if isText && s == "" {
				continue
			}
			if n := len(out); isText && n > 0 && out[n-1]["text"] != nil && out[n-1]["thought"] == p["thought"] {
				out[n-1]["text"] = out[n-1]["text"].(string) + s
				continue
			}
			out = append(out, p)
		}
	}
	return out
}

func TestGeminiCandidates(t *testing.T) {
	r := replyOf(said()["text"])
	r.Choices = append(r.Choices, dialect.Choice{Text: "Or not."})
	var whole geminiResponse
	if err := json.Unmarshal(gemini.Write(r, &dialect.Style{}, false).Frames[0].Data, &whole); err != nil {
		t.Fatal(err)
	}
	if n := len(whole.Candidates); n != 2 || whole.Candidates[1].Index != 1 {
		t.Errorf("%d candidates: %+v", n, whole.Candidates)
	}
}
