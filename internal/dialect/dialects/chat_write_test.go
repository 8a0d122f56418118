// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
)

func chatReply(c dialect.Choice) *dialect.Reply {
	return &dialect.Reply{
		ID: "chatcmpl-1", Created: 1767225600, Model: "gpt-4o", Choices: []dialect.Choice{c}, Seed: 7, Fingerprint: "fp_1",
		Usage: harness.Usage{PromptTokens: 20, CompletionTokens: 9, TotalTokens: 29},
	}
}

// bare leaves nothing in a chunk but what the knobs turn.
func bare(s dialect.Style) *dialect.Style {
	s.Keys = map[string]dialect.Keys{"chat.chunk": {"choices"}, "chat.chunk.choice": {"delta", "finish_reason?"}, "chat.delta.role": {"role"}}
	return &s
}

// TestFragments shows what each knob puts on the wire.
func TestFragments(t *testing.T) {
	one := dialect.Choice{Calls: []dialect.Call{{ID: "call_a", Name: "find", Arguments: `{"q":"é😀"}`}}, Finish: "tool_calls"}
	two := one
	two.Calls = append(two.Calls[:1:1], dialect.Call{ID: "call_b", Name: "stop", Arguments: "{}"})
	said := one
	said.Text = "Let me see."
	for _, tc := range []struct {
		name   string
		choice dialect.Choice
		style  dialect.Style
	}{
		{"usual", two, dialect.Style{}},
		{"byte", one, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitByte}}},
		{"byte_escape", one, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitByte, Escape: true, Cuts: []int{8, 14, 19}}}},
		{"rune", one, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitRune, Min: 1, Max: 4}}},
		{"token", one, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitToken}}},
		{"whole", two, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitWhole}}},
		{"interleave", two, dialect.Style{Fragments: dialect.Fragments{Interleave: true}}},
		{"together", two, dialect.Style{Fragments: dialect.Fragments{Together: true}}},
		{"index_missing", two, dialect.Style{Fragments: dialect.Fragments{Index: dialect.IndexMissing}}},
		{"index_zero", two, dialect.Style{Fragments: dialect.Fragments{Index: dialect.IndexZero}}},
		{"index_wandering", two, dialect.Style{Fragments: dialect.Fragments{Index: dialect.IndexWandering}}},
		{"index_mixed", two, dialect.Style{Fragments: dialect.Fragments{Index: dialect.IndexMixed}}},
		{"id_repeated", one, dialect.Style{Fragments: dialect.Fragments{ID: dialect.PlaceRepeated, Type: dialect.PlaceRepeated}}},
		{"id_late", one, dialect.Style{Fragments: dialect.Fragments{ID: dialect.PlaceLate}}},
		{"id_never", one, dialect.Style{Fragments: dialect.Fragments{ID: dialect.PlaceNever, Type: dialect.PlaceNever}}},
		{"nulls", one, dialect.Style{Fragments: dialect.Fragments{ID: dialect.PlaceNull, Type: dialect.PlaceNull, Name: dialect.PlaceNull}}},
		{"empties", one, dialect.Style{Fragments: dialect.Fragments{ID: dialect.PlaceEmpty, Name: dialect.PlaceEmpty}}},
		{"name_split", one, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitWhole, Name: dialect.PlaceSplit}}},
		{"name_split_one_delta", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsWhole, Name: dialect.PlaceSplit}}},
		{"args_merged", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsMerged}}},
		{"args_whole", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsWhole}}},
		{"args_empty", two, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsEmpty}}},
		{"args_null", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsNull}}},
		{"args_object", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsObject}}},
		{"args_cumulative", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsCumulative, Unit: dialect.UnitToken}}},
		{"args_repeated", one, dialect.Style{Fragments: dialect.Fragments{Args: dialect.ArgsRepeated, Unit: dialect.UnitToken}}},
		{"finish_last", one, dialect.Style{Fragments: dialect.Fragments{Finish: dialect.FinishLast}}},
		{"finish_never", one, dialect.Style{Fragments: dialect.Fragments{Finish: dialect.FinishNever}}},
		{"pseudo", said, dialect.Style{
			CallsFirst: true, WholeCalls: true, Finish: dialect.FinishEachCall, Role: dialect.RoleEvery, PieceRunes: 6, NoDone: true, Usage: dialect.WhenAlways,
		}},
		{"preflight", dialect.Choice{Text: "Hi"}, dialect.Style{Role: dialect.RoleMerged, Preflight: []string{`{"id":"","choices":[]}`}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			golden(t, "chat_"+tc.name+".sse", chat.Write(chatReply(tc.choice), bare(tc.style), true))
		})
	}
}

// TestChatChoices gives several answers, one with logprobs.
func TestChatChoices(t *testing.T) {
	r := chatReply(dialect.Choice{Text: "One", Finish: "stop", Logprobs: json.RawMessage(`{"content":[]}`)})
	r.Choices = append(r.Choices, dialect.Choice{Refusal: "No", Finish: "stop"})
	r.IncludeUsage = true
	golden(t, "chat_choices.sse", chat.Write(r, &dialect.Style{ChunkIDs: true, CreatedZero: true, ID: dialect.IDs{Prefix: "c-", Len: 4}}, true))
	golden(t, "chat_choices.json", chat.Write(r, &dialect.Style{}, false))
}

// assembled is what a client makes of a stream that follows the rules.
func assembled(t *testing.T, body *dialect.Body) dialect.Choice {
	t.Helper()
	type call struct {
		Index    int
		ID       string
		Function struct{ Name, Arguments string }
	}
	var out dialect.Choice
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
					out.Calls = append(out.Calls, dialect.Call{})
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
	units := []dialect.Unit{dialect.UnitByte, dialect.UnitRune, dialect.UnitToken, dialect.UnitWhole, ""}
	places := []dialect.Place{dialect.PlaceFirst, dialect.PlaceRepeated, dialect.PlaceLate, dialect.PlaceNull, dialect.PlaceEmpty}
	args := []dialect.Args{dialect.ArgsPieces, dialect.ArgsMerged, dialect.ArgsWhole, dialect.ArgsNull}
	f.Fuzz(func(t *testing.T, text, arguments string, seed int64, unit, place byte, interleave, together bool) {
		if !utf8.ValidString(text) || !utf8.ValidString(arguments) {
			return // is sent with U+FFFD in its place
		}
		want := dialect.Choice{Text: text, Finish: "tool_calls", Calls: []dialect.Call{
			{ID: "call_a", Name: "f", Arguments: arguments}, {ID: "call_b", Name: "g", Arguments: arguments + " "},
		}}
		style := &dialect.Style{Fragments: dialect.Fragments{
			Seed: seed, Unit: units[int(unit)%len(units)], Interleave: interleave, Together: together,
			ID: places[int(place)%len(places)], Name: places[int(place/5)%len(places)], Args: args[int(place/25)%len(args)],
		}}
		if style.Fragments.Unit != "" {
			style.Fragments.Max = 1 + int(seed&7)
		}
		if err := style.Fragments.Check(); err != nil {
			t.Fatal(err)
		}
		got := assembled(t, chat.Write(chatReply(want), style, true))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-said +read):\n%s", style.Fragments, d)
		}
	})
}

// TestStylesTakeTurns: what a reply was like says nothing about the next one.
func TestStylesTakeTurns(t *testing.T) {
	few := dialect.Choice{Text: "Let me see.", Reasoning: "Hm, hm.", Finish: "tool_calls", Calls: []dialect.Call{{ID: "a", Name: "f", Arguments: `{"q":1}`}}}
	signed, many := few, dialect.Choice{Finish: "tool_calls"}
	signed.Calls = []dialect.Call{few.Calls[0], few.Calls[0]}
	signed.Calls[0].Extra, signed.Calls[1].Extra = json.RawMessage(`{"n":1}`), json.RawMessage(`{"n":2}`)
	for range 20 {
		many.Calls = append(many.Calls, dialect.Call{ID: "b", Name: "g", Arguments: "{}"})
	}
	replies := map[string][]dialect.Choice{"few": {few}, "many": {many}, "signed": {signed}, "two": {{Text: "Yes", Finish: "stop"}, few, {Text: "No", Finish: "length", Calls: few.Calls}}}
	styles := []*dialect.Style{
		{},
		bare(dialect.Style{}),
		{Keys: map[string]dialect.Keys{"chat.delta.calls": {"tool_calls", "x=1"}}},
		{Keys: map[string]dialect.Keys{"chat.chunk.choice": {"index", "delta", "finish_reason", "x=[\n]"}}},
		{Habits: dialect.Habits{FunctionCall: dialect.FunctionNull}},
		{Habits: dialect.Habits{ReasoningDetails: true}},
		{Role: dialect.RoleEvery, Finish: dialect.FinishEachCall},
		{ChunkIDs: true},
		{Fragments: dialect.Fragments{Args: dialect.ArgsObject}},
		{Fragments: dialect.Fragments{Args: dialect.ArgsNull}},
	}
	first := map[string]string{}
	for _, before := range styles {
		for i, style := range styles {
			for name, choices := range replies {
				r := chatReply(dialect.Choice{})
				r.Choices = choices
				chat.Write(r, before, true)
				body := chat.Write(r, style, true)
				var b bytes.Buffer
				for _, f := range body.Frames {
					b.Write(f.Data)
				}
				if key := fmt.Sprint(name, i); first[key] == "" {
					first[key] = b.String()
					if name != "many" || i == 0 {
						golden(t, fmt.Sprintf("chat_turns_%d_%s.sse", i, name), body)
					}
				} else if d := cmp.Diff(first[key], b.String()); d != "" {
					t.Errorf("%s in style %d (-first +later):\n%s", name, i, d)
				}
			}
		}
	}
}

func TestPieces(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		style      dialect.Style
		want       string
	}{
		{"empty", "", dialect.Style{}, ""},
		{"words", "Sunny in Paris.", dialect.Style{}, "Sunny| in| Paris|."},
		{"runes of the style", "Zürich", dialect.Style{PieceRunes: 2}, "Zü|ri|ch"},
		{"tokens", ` {"a" : [1,"x\"]"], "b":-1.5e3}`, dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitToken}}, ` |{|"a" |: |[|1|,|"x\"]"|]|, |"b"|:|-1.5e3|}`},
		{"tokens of no json", "a b", dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitToken}}, "a| b"},
		{"bytes keep characters", "é😀", dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitByte}}, "é|😀"},
		{"cuts", "abcdef", dialect.Style{Fragments: dialect.Fragments{Unit: dialect.UnitRune, Cuts: []int{1, 4, 99}}}, "a|bcd|ef"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(dialect.Pieces(tc.text, &tc.style, 0), "|"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
