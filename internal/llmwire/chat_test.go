// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package llmwire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/llmwire"
	"github.com/rehearse-dev/rehearse/mockllm/wire"
)

func chatReply(c llmwire.Choice) *llmwire.Reply {
	return &llmwire.Reply{
		ID: "chatcmpl-1", Created: 1767225600, Model: "gpt-4o", Choices: []llmwire.Choice{c}, Seed: 7, Fingerprint: "fp_1",
		Usage: harness.Usage{PromptTokens: 20, CompletionTokens: 9, TotalTokens: 29},
	}
}

// bare leaves nothing in a chunk but what the knobs turn.
func bare(s wire.Style) *wire.Style {
	s.Keys = map[string]wire.Keys{"chat.chunk": {"choices"}, "chat.chunk.choice": {"delta", "finish_reason?"}, "chat.delta.role": {"role"}}
	return &s
}

// TestFragments shows what each knob puts on the wire.
func TestFragments(t *testing.T) {
	one := llmwire.Choice{Calls: []llmwire.Call{{ID: "call_a", Name: "find", Arguments: `{"q":"é😀"}`}}, Finish: "tool_calls"}
	two := one
	two.Calls = append(two.Calls[:1:1], llmwire.Call{ID: "call_b", Name: "stop", Arguments: "{}"})
	said := one
	said.Text = "Let me see."
	for _, tc := range []struct {
		name   string
		choice llmwire.Choice
		style  wire.Style
	}{
		{"usual", two, wire.Style{}},
		{"byte", one, wire.Style{Fragments: wire.Fragments{Unit: wire.Byte}}},
		{"byte_escape", one, wire.Style{Fragments: wire.Fragments{Unit: wire.Byte, Escape: true, Cuts: []int{8, 14, 19}}}},
		{"rune", one, wire.Style{Fragments: wire.Fragments{Unit: wire.Rune, Min: 1, Max: 4}}},
		{"token", one, wire.Style{Fragments: wire.Fragments{Unit: wire.Token}}},
		{"whole", two, wire.Style{Fragments: wire.Fragments{Unit: wire.Whole}}},
		{"interleave", two, wire.Style{Fragments: wire.Fragments{Interleave: true}}},
		{"together", two, wire.Style{Fragments: wire.Fragments{Together: true}}},
		{"index_missing", two, wire.Style{Fragments: wire.Fragments{Index: wire.IndexMissing}}},
		{"index_zero", two, wire.Style{Fragments: wire.Fragments{Index: wire.IndexZero}}},
		{"index_wandering", two, wire.Style{Fragments: wire.Fragments{Index: wire.IndexWandering}}},
		{"index_mixed", two, wire.Style{Fragments: wire.Fragments{Index: wire.IndexMixed}}},
		{"id_repeated", one, wire.Style{Fragments: wire.Fragments{ID: wire.PlaceRepeated, Type: wire.PlaceRepeated}}},
		{"id_late", one, wire.Style{Fragments: wire.Fragments{ID: wire.PlaceLate}}},
		{"id_never", one, wire.Style{Fragments: wire.Fragments{ID: wire.PlaceNever, Type: wire.PlaceNever}}},
		{"nulls", one, wire.Style{Fragments: wire.Fragments{ID: wire.PlaceNull, Type: wire.PlaceNull, Name: wire.PlaceNull}}},
		{"empties", one, wire.Style{Fragments: wire.Fragments{ID: wire.PlaceEmpty, Name: wire.PlaceEmpty}}},
		{"name_split", one, wire.Style{Fragments: wire.Fragments{Unit: wire.Whole, Name: wire.PlaceSplit}}},
		{"name_split_one_delta", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsWhole, Name: wire.PlaceSplit}}},
		{"args_merged", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsMerged}}},
		{"args_whole", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsWhole}}},
		{"args_empty", two, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsEmpty}}},
		{"args_null", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsNull}}},
		{"args_object", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsObject}}},
		{"args_cumulative", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsCumulative, Unit: wire.Token}}},
		{"args_repeated", one, wire.Style{Fragments: wire.Fragments{Args: wire.ArgsRepeated, Unit: wire.Token}}},
		{"finish_last", one, wire.Style{Fragments: wire.Fragments{Finish: wire.FinishLast}}},
		{"finish_never", one, wire.Style{Fragments: wire.Fragments{Finish: wire.FinishNever}}},
		{"pseudo", said, wire.Style{
			CallsFirst: true, WholeCalls: true, Finish: wire.FinishEachCall, Role: wire.RoleEvery, PieceRunes: 6, NoDone: true, Usage: wire.WhenAlways,
		}},
		{"preflight", llmwire.Choice{Text: "Hi"}, wire.Style{Role: wire.RoleMerged, Preflight: []string{`{"id":"","choices":[]}`}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			golden(t, "chat_"+tc.name+".sse", llmwire.Chat(chatReply(tc.choice), bare(tc.style), true))
		})
	}
}

// TestChatChoices gives several answers, one with logprobs.
func TestChatChoices(t *testing.T) {
	r := chatReply(llmwire.Choice{Text: "One", Finish: "stop", Logprobs: json.RawMessage(`{"content":[]}`)})
	r.Choices = append(r.Choices, llmwire.Choice{Refusal: "No", Finish: "stop"})
	r.IncludeUsage = true
	golden(t, "chat_choices.sse", llmwire.Chat(r, &wire.Style{ChunkIDs: true, CreatedZero: true, ID: wire.IDs{Prefix: "c-", Len: 4}}, true))
	golden(t, "chat_choices.json", llmwire.Chat(r, &wire.Style{}, false))
}

// assembled is what a client makes of a stream that follows the rules.
func assembled(t *testing.T, body *llmwire.Body) llmwire.Choice {
	t.Helper()
	type call struct {
		Index    int
		ID       string
		Function struct{ Name, Arguments string }
	}
	var out llmwire.Choice
	for _, f := range body.Frames {
		data, ok := bytes.CutPrefix(f.Data, []byte("data: {"))
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct {
				FinishReason string `json:"finish_reason"`
				Delta        struct {
					Content   string
					ToolCalls []call `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(append([]byte("{"), data...), &chunk); err != nil {
			t.Fatalf("%s: %v", f.Data, err)
		}
		for _, c := range chunk.Choices {
			out.Text += c.Delta.Content
			if c.FinishReason != "" {
				out.Finish = c.FinishReason
			}
			for _, d := range c.Delta.ToolCalls {
				for len(out.Calls) <= d.Index {
					out.Calls = append(out.Calls, llmwire.Call{})
				}
				call := &out.Calls[d.Index]
				if d.ID != "" {
					call.ID = d.ID
				}
				if d.Function.Name != "" {
					call.Name = d.Function.Name
				}
				call.Arguments += d.Function.Arguments
			}
		}
	}
	return out
}

// FuzzFragments: whatever the cuts, a client that follows the rules reads what
// was said.
func FuzzFragments(f *testing.F) {
	f.Add("Let me see.", `{"q":"é😀","n":[1,2.5]}`, int64(1), byte(0), byte(0), false, false)
	f.Add("", "{}", int64(2), byte(1), byte(3), true, false)
	f.Add("  \n", `{"q": "\ud83d\ude00"}`, int64(3), byte(2), byte(7), true, true)
	f.Add("\xff", "no json", int64(4), byte(3), byte(1), false, true)
	units := []wire.Unit{wire.Byte, wire.Rune, wire.Token, wire.Whole, ""}
	places := []wire.Place{wire.PlaceFirst, wire.PlaceRepeated, wire.PlaceLate, wire.PlaceNull, wire.PlaceEmpty}
	args := []wire.Args{wire.ArgsPieces, wire.ArgsMerged, wire.ArgsWhole, wire.ArgsNull}
	f.Fuzz(func(t *testing.T, text, arguments string, seed int64, unit, place byte, interleave, together bool) {
		if !utf8.ValidString(text) || !utf8.ValidString(arguments) {
			return // is sent with U+FFFD in its place
		}
		want := llmwire.Choice{Text: text, Finish: "tool_calls", Calls: []llmwire.Call{
			{ID: "call_a", Name: "f", Arguments: arguments}, {ID: "call_b", Name: "g", Arguments: arguments + " "},
		}}
		style := &wire.Style{Fragments: wire.Fragments{
			Seed: seed, Unit: units[int(unit)%len(units)], Interleave: interleave, Together: together,
			ID: places[int(place)%len(places)], Name: places[int(place/5)%len(places)], Args: args[int(place/25)%len(args)],
		}}
		if style.Fragments.Unit != "" {
			style.Fragments.Max = 1 + int(seed&7)
		}
		if err := style.Fragments.Check(); err != nil {
			t.Fatal(err)
		}
		got := assembled(t, llmwire.Chat(chatReply(want), style, true))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-said +read):\n%s", style.Fragments, d)
		}
	})
}

func TestPieces(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		style      wire.Style
		want       string
	}{
		{"empty", "", wire.Style{}, ""},
		{"words", "Sunny in Paris.", wire.Style{}, "Sunny| in| Paris|."},
		{"runes of the style", "Zürich", wire.Style{PieceRunes: 2}, "Zü|ri|ch"},
		{"tokens", ` {"a" : [1,"x\"]"], "b":-1.5e3}`, wire.Style{Fragments: wire.Fragments{Unit: wire.Token}}, ` |{|"a" |: |[|1|,|"x\"]"|]|, |"b"|:|-1.5e3|}`},
		{"tokens of no json", "a b", wire.Style{Fragments: wire.Fragments{Unit: wire.Token}}, "a| b"},
		{"bytes keep characters", "é😀", wire.Style{Fragments: wire.Fragments{Unit: wire.Byte}}, "é|😀"},
		{"cuts", "abcdef", wire.Style{Fragments: wire.Fragments{Unit: wire.Rune, Cuts: []int{1, 4, 99}}}, "a|bcd|ef"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(llmwire.Pieces(tc.text, &tc.style, 0), "|"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
