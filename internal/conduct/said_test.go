// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

// TestAnswerReported: the answer that a subject reports is that of the model,
// with more around it, or a part that is an answer itself.
func TestAnswerReported(t *testing.T) {
	const sunny = "It is sunny in Paris, and done."
	long := strings.Repeat("It is sunny in Paris. ", 10)
	for _, tt := range []struct{ name, said, got, want string }{
		{"all of it", sunny, sunny, "passed"},
		{"words around it", sunny, "**Answer**: " + sunny + " (1 call)", "passed"},
		{"without the thoughts before it", "<think>Where is that? In France, I think.</think>\n4", "4", "passed"},
		{"without a label", "I know the answer now, after all of this. Final answer: Rome.", "Rome", "passed"},
		{"a value of an object", `Here: {"reason": "It is the capital of France.", "answer": "Paris", "n": 21}`, "Paris", "passed"},
		{"a number of an object", `{"n": 21, "reason": "It is the capital of France."}`, "21", "passed"},
		{"a word of a value of an object", `Here: {"reason": "It is the capital of France.", "n": 21}`, "capital", `warning: turn 1: the subject answers "capital", a part of what the model said: "Here: {\"reason\": \"It is the capital of France.\", \"n\": 21}"`},
		{"without an end mark", "It is sunny. TERMINATE", "It is sunny.", "passed"},
		{"the beginning of a long one", long, long[:66], "passed"},
		{"the beginning of a long one, from within a word", long, long[1:65], "passed"},
		{"less than that", long, long[1:64], `failed: turn 1: the subject answers "` + long[1:64] + `", but the model said "` + long[:160] + `… (59 bytes more)"`},
		{"another long one", long, strings.Repeat("It is rainy. ", 10), `failed: turn 1: the subject answers "` + strings.TrimSpace(strings.Repeat("It is rainy. ", 10)) + `", but the model said "` + long[:160] + `… (59 bytes more)"`},
		{"half of a short one", "Paris is a fine city", "Paris is a", "passed"},
		{"less than half of a short one", "Paris is a fine city", "Paris is", `warning: turn 1: the subject answers "Paris is", a part of what the model said: "Paris is a fine city"`},
		{"another", sunny, "It is rainy.", `failed: turn 1: the subject answers "It is rainy.", but the model said "It is sunny in Paris, and done."`},
		{"none", sunny, "", `failed: turn 1: the subject answers "", but the model said "It is sunny in Paris, and done."`},
		{"a dot", sunny, ".", `failed: turn 1: the subject answers ".", but the model said "It is sunny in Paris, and done."`},
		{"a letter", sunny, "I", `failed: turn 1: the subject answers "I", but the model said "It is sunny in Paris, and done."`},
		{"a part of a word and a word", sunny, "sunny in Par", `failed: turn 1: the subject answers "sunny in Par", but the model said "It is sunny in Paris, and done."`},
		{"parts of two words", sunny, "n Par", `failed: turn 1: the subject answers "n Par", but the model said "It is sunny in Paris, and done."`},
		{"a word that is part of another too", "Parisian Paris, as everybody says it is.", "Paris", `warning: turn 1: the subject answers "Paris", a part of what the model said: "Parisian Paris, as everybody says it is."`},
		{"a word", sunny, "sunny", `warning: turn 1: the subject answers "sunny", a part of what the model said: "It is sunny in Paris, and done."`},
		{"where no space is between words", "今日のパリは晴れです。よかったですね。", "晴れ", `warning: turn 1: the subject answers "晴れ", a part of what the model said: "今日のパリは晴れです。よかったですね。"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[1].Answer.Text, in.Transcript.Turns[0].Answer = tt.said, tt.got
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); got != tt.want {
				t.Errorf("witnesses_agree is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestWhichAnswer: an answer is compared with the last reply of its turn, where that
// is one, and where the subject says that it has an answer.
func TestWhichAnswer(t *testing.T) {
	const other = `failed: turn 1: the subject answers "Warm.", but the model said "21 and -3."`
	next := func(in *conduct.Input) *harness.Exchange {
		return addTurn(in, append(slices.Clone((*second(in))[1:]), in.Exchanges[1].Answer, rome)...)
	}
	for _, tt := range []struct {
		name string
		do   func(in *conduct.Input)
		want string
	}{
		{"of the only turn", func(*conduct.Input) {}, other},
		{"the subject says that it stopped", func(in *conduct.Input) { in.Transcript.Turns[0].Stop = harness.StopTime }, "passed"},
		{"the subject says that it stopped, and why", func(in *conduct.Input) {
			in.Transcript.Turns[0].Stop, in.Transcript.Turns[0].Error = harness.StopTime, "out of time"
		}, "passed"},
		{"the last reply says something and makes a call", func(in *conduct.Input) {
			in.Exchanges[1].Answer.Calls = []harness.ToolCall{{ID: "c3", Name: "get", Arguments: `{"city":"Rome"}`}}
			in.Transcript.Turns[0].Calls = append(in.Transcript.Turns[0].Calls, harness.ReportedCall{ID: "c3", Tool: "get"})
		}, "passed"},
		{"the last reply says nothing", func(in *conduct.Input) { in.Exchanges[1].Answer.Text = " " }, "passed"},
		{"the reply of the next turn broke off", func(in *conduct.Input) { next(in).Delivered = false }, other},
		{"the last reply of the turn broke off", func(in *conduct.Input) { in.Exchanges[1].Delivered = false }, "passed"},
		{"a live reply broke off, and half of it was taken", func(in *conduct.Input) {
			in.Exchanges[1].Kind, in.Exchanges[1].Delivered, in.Transcript.Turns[0].Answer = harness.KindLive, false, "21 and"
		}, `warning: turn 1: the subject answers "21 and", which is what arrived of a reply that broke off: "21 and -3."`},
		{"a request behind the last reply was refused", func(in *conduct.Input) {
			x := in.Exchanges[1]
			x.Seq, x.Kind, x.Status, x.Delivered = 3, harness.KindRefusal, 400, false
			in.Exchanges = append(in.Exchanges, x)
			in.Transcript.Turns[0].ModelCalls = 3
		}, other},
		{"a part of a reply that a fault spoiled", func(in *conduct.Input) {
			in.Exchanges[1].Fault, in.Transcript.Turns[0].Answer = "garbage", "1 an"
		}, `warning: turn 1: the subject answers "1 an", a part of what the model said: "21 and -3."`},
		{"nothing of a reply that a fault spoiled", func(in *conduct.Input) {
			in.Exchanges[1].Fault, in.Transcript.Turns[0].Answer = "garbage", ""
		}, `failed: turn 1: the subject answers "", but the model said "21 and -3."`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Transcript.Turns[0].Answer = "Warm."
			tt.do(in)
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); got != tt.want {
				t.Errorf("witnesses_agree is %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestHalfTaken: a subject that takes what has arrived of a reply that breaks off
// for the answer is told.
func TestHalfTaken(t *testing.T) {
	const half = `warning: turn 1: the subject answers "21 and", which is what arrived of a reply that broke off: "21 and -3."`
	for _, tt := range []struct{ name, got, want string }{
		{"half of it", "21 and", half},
		{"all of it", "21 and -3.", "passed"},
		{"something else", "The model did not answer.", "passed"},
		{"nothing", "", "passed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			in.Exchanges[1].Delivered, in.Exchanges[1].Fault = false, "cut"
			in.Transcript.Turns[0].Answer = tt.got
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); got != tt.want {
				t.Errorf("witnesses_agree is %s\nwant %s", got, tt.want)
			}
			in.Interrupted = []int{1}
			if got := verdictOf(conduct.Config{}, in, conduct.WitnessesAgree); got != "passed" {
				t.Errorf("where the user interrupted, witnesses_agree is %s", got)
			}
		})
	}
}

// TestPage: docs/conduct.md says of each check what it finds.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/conduct.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(page, -1) {
		got = append(got, string(row[1]))
	}
	if diff := cmp.Diff(conduct.Names(), got); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
}
