// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package conduct_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/conduct"
)

// verdictOf is what one check says: "passed", or "failed: message".
func verdictOf(config conduct.Config, in *conduct.Input, name string) string {
	check(config, in) // joins the trajectory
	return verdictAsJoined(config, in, name)
}

func verdictAsJoined(config conduct.Config, in *conduct.Input, name string) string {
	for _, v := range conduct.Check(config, in) {
		if v.Check == name {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s", v.State, v.Message), ": ")
		}
	}
	return "none"
}

// addTurn appends a request of a second turn, with messages behind the system
// prompt, which the model answers in text.
func addTurn(in *conduct.Input, messages ...harness.Message) *harness.Exchange {
	x := in.Exchanges[len(in.Exchanges)-1]
	x.Seq, x.Turn, x.Reply, x.Kind, x.Start = x.Seq+1, 2, 1, harness.KindReply, at(8)
	x.Status, x.Delivered, x.Fault, x.Answer = 200, true, "", harness.Message{Role: harness.RoleAssistant, Text: "18."}
	x.Request.Messages = append(slices.Clone(x.Request.Messages[:1]), messages...)
	in.Exchanges = append(in.Exchanges, x)
	return &in.Exchanges[len(in.Exchanges)-1]
}

// rome is what the user says in the second turn.
var rome = harness.Message{Role: harness.RoleUser, Text: "And Rome?"}

func TestSettingsTaken(t *testing.T) {
	got, err := conduct.Configure(map[string]string{"results": "capped", "limits": "off", "grants": "on", "compaction": "required"})
	want := conduct.Config{Off: map[string]bool{"limits": true}, Capped: true, Compaction: conduct.CompactionRequired}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v, settings (-want +got):\n%s", err, d)
	}
}

// TestEveryCheckHasAVerdict: one that is switched off says so in its place.
func TestEveryCheckHasAVerdict(t *testing.T) {
	off := map[string]bool{}
	for _, name := range conduct.Names() {
		off[name] = true
	}
	var got []string
	for _, v := range conduct.Check(conduct.Config{Off: off}, honest()) {
		if v.State != trials.Skipped || v.Message != "switched off" {
			t.Errorf("%s is %s: %s", v.Check, v.State, v.Message)
		}
		got = append(got, v.Check)
	}
	if d := cmp.Diff(conduct.Names(), got); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
}

// TestWhatDoesNotApply: a check that has nothing to judge says why.
func TestWhatDoesNotApply(t *testing.T) {
	textual := func(in *conduct.Input) {
		in.Exchanges[1].Request.Messages = append((*second(in))[:2:2],
			harness.Message{Role: harness.RoleAssistant, Text: "Action: get, get"},
			harness.Message{Role: harness.RoleUser, Text: "Observation: " + paris + "\nObservation: " + oslo})
	}
	inMode := func(mode harness.Mode) func(*conduct.Input) {
		return func(in *conduct.Input) { in.Mode = mode }
	}
	for _, tt := range []struct {
		check string
		do    func(in *conduct.Input)
		want  string
	}{
		{conduct.AnsweredOnce, textual, "the client sends no tool messages"},
		{conduct.ResultOrder, textual, "the client sends no tool messages"},
		{conduct.ToolsOffered, func(in *conduct.Input) { in.Listed = map[string][]harness.Tool{"weather": nil} }, "no server lists tools"},
		{conduct.ToolsOffered, func(in *conduct.Input) { in.Exchanges = nil }, "no request"},
		{conduct.ToolsOffered, func(in *conduct.Input) {
			for i := range in.Exchanges {
				in.Exchanges[i].Kind = harness.KindRule
			}
		}, "no request"},
		{conduct.ModelAsked, func(in *conduct.Input) { in.Model = "" }, "the subject was given no model"},
		{conduct.WitnessesAgree, func(in *conduct.Input) { in.Transcript = nil }, "the subject reports nothing"},
		{conduct.AllRepliesReached, inMode(harness.ModeLive), "no script in mode live"},
		{conduct.FaultsStruck, inMode(harness.ModeLive), "no script in mode live"},
		{conduct.FaultsStruck, inMode(harness.ModeReplay), "no script in mode replay"},
		{conduct.Grants, func(*conduct.Input) {}, "the scenario has no grants"},
	} {
		in := honest()
		tt.do(in)
		if got := verdictOf(conduct.Config{}, in, tt.check); got != "skipped: "+tt.want {
			t.Errorf("%s is %s, want it skipped: %s", tt.check, got, tt.want)
		}
	}
	in := team()
	in.Frames = wire("pipe", polite()...)
	for _, name := range []string{conduct.CancelledSent, conduct.ToolsRelisted, conduct.SessionRenewed} {
		if got := verdictOf(conduct.Config{}, in, name); got != "skipped: there are lanes" {
			t.Errorf("with lanes %s is %s", name, got)
		}
	}
	if got := verdictOf(conduct.Config{}, in, conduct.InitializeFirst); got != "passed" {
		t.Errorf("with lanes initialize_first is %s", got)
	}
}

// TestLaneThatDoesNotApply: a lane is judged where the main conversation has
// nothing to judge.
func TestLaneThatDoesNotApply(t *testing.T) {
	in := team()
	in.Exchanges[0].Answer = harness.Message{Role: harness.RoleAssistant, Text: "Hm."}
	in.Exchanges[3].Request.Messages = append(in.Exchanges[3].Request.Messages[:2:2], in.Exchanges[0].Answer)
	in.Exchanges[2].Request.Messages = in.Exchanges[2].Request.Messages[:3]
	in.Tools = in.Tools[:1]
	if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); !strings.HasPrefix(got, `failed: lane worker: call weather.get {"city":"Oslo"} (c1) was never answered`) {
		t.Errorf("answered_once is %s", got)
	}
	// What the subject says of its turn is of the main conversation.
	in = team()
	in.Transcript.Turns[0] = harness.TurnReport{ModelCalls: 2, Stop: harness.StopTime, Error: "no time"}
	in.Exchanges = slices.DeleteFunc(in.Exchanges, func(x harness.Exchange) bool { return x.Seq == 3 })
	if got := verdictOf(conduct.Config{}, in, conduct.AnsweredOnce); !strings.HasPrefix(got, "failed: lane worker: ") {
		t.Errorf("a worker that asks nothing more: answered_once is %s", got)
	}
}

// TestSeveralProblems: four are told, of more the number.
func TestSeveralProblems(t *testing.T) {
	for n, want := range map[int]string{
		4: "failed: a; a; a; a",
		5: "failed: a; a; a; a; and 1 more",
	} {
		in := honest()
		in.Limits = slices.Repeat([]string{"a"}, n)
		if got := verdictOf(conduct.Config{}, in, conduct.Limits); got != want {
			t.Errorf("%d problems: %s, want %s", n, got, want)
		}
	}
}

// TestWhatWasNotReached: replies, recordings and faults that are left stand
// where the first of them is written.
func TestWhatWasNotReached(t *testing.T) {
	at := func(line int) harness.Position { return harness.Position{File: "a.yaml", Line: line, Col: 1} }
	replies := []conduct.Unreached{{Turn: 1, Pos: at(3)}, {Turn: 2, Pos: at(5)}}
	recordings := []conduct.Unreached{{Name: "chat-2", Pos: at(7)}, {Name: "chat-3", Pos: at(9)}}
	faults := []conduct.IdleFault{{Fault: "gzip", Why: "no such request", Pos: at(4)}, {Fault: "cut", Why: "no reply", Pos: at(6)}}
	for _, tt := range []struct {
		name, check string
		do          func(in *conduct.Input)
		want        string
		line        int
	}{
		{"replies", conduct.AllRepliesReached, func(in *conduct.Input) { in.Remaining = replies }, "failed: 2 scripted replies not reached", 3},
		{"recordings", conduct.AllRepliesReached, func(in *conduct.Input) { in.Mode, in.Remaining = harness.ModeReplay, recordings }, "failed: 2 recorded exchanges not asked for: chat-2; chat-3", 7},
		{"no recordings", conduct.AllRepliesReached, func(in *conduct.Input) { in.Mode = harness.ModeReplay }, "passed", 0},
		{"faults", conduct.FaultsStruck, func(in *conduct.Input) { in.Idle = faults }, "warning: the fault gzip at a.yaml:4:1 struck no request: no such request; the fault cut at a.yaml:6:1 struck no request: no reply", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := honest()
			tt.do(in)
			if got := verdictOf(conduct.Config{}, in, tt.check); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.check, got, tt.want)
			}
			for _, v := range conduct.Check(conduct.Config{}, in) {
				if v.Check == tt.check && v.Pos.Line != tt.line {
					t.Errorf("it stands at %v, want line %d", v.Pos, tt.line)
				}
			}
		})
	}
}

// TestUnaskedIsNoCall: an execution that the trajectory has as unasked for is
// no call of the model.
func TestUnaskedIsNoCall(t *testing.T) {
	in := honest()
	x := harness.ToolExchange{Seq: 3, Server: "weather", Tool: "add", Args: json.RawMessage(`{}`), Start: at(3)}
	in.Tools = append(in.Tools, x)
	check(conduct.Config{}, in)
	in.Trajectory = append(in.Trajectory, harness.Call{Server: "weather", Tool: "add", Args: x.Args, Turn: 1, Reply: 1, Executed: true, Exec: 3, Unasked: true})
	const want = "failed: weather.add {} was executed, but no reply of the model asks for it"
	if got := verdictAsJoined(conduct.Config{}, in, conduct.AnsweredOnce); got != want {
		t.Errorf("answered_once is %s, want %s", got, want)
	}
	if len(in.Trajectory) != 3 {
		t.Errorf("the caller's trajectory has %d calls", len(in.Trajectory))
	}
}
