// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/agent"
	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/redact"
	"github.com/rehearse-dev/rehearse/internal/value"
	"github.com/rehearse-dev/rehearse/scenarios"
)

// talked is a conversation as an agent has it, of turns with calls and an answer.
type talked struct {
	messages []harness.Message
	calls    []harness.ReportedCall
}

// turn adds a turn in which each call is a reply of its own.
func (c *talked) turn(user, answer string, calls ...harness.ReportedCall) {
	c.messages = append(c.messages, harness.Message{Role: harness.RoleUser, Text: user})
	for _, call := range calls {
		call.ID = fmt.Sprintf("call_%d", len(c.calls))
		if call.Server == "" {
			call.Error = oneOf(call.Error, "there is no such tool")
		}
		if call.Error != "" {
			call.Result = "Error: " + call.Error
		}
		c.calls = append(c.calls, call)
		c.messages = append(c.messages, harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: call.ID, Name: call.Tool, Arguments: call.Arguments}}},
			harness.Message{Role: harness.RoleTool, CallID: call.ID, Text: call.Result})
	}
	c.messages = append(c.messages, harness.Message{Role: harness.RoleAssistant, Text: answer})
}

// oneOf is the first text that says something.
func oneOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func note(args, result string) harness.ReportedCall {
	return harness.ReportedCall{Server: "kit", Tool: "note", Arguments: args, Result: result}
}

// saved saves a conversation, and plays what was saved.
func saved(t testing.TB, c *talked, rules *redact.Rules) (text string, notes []string, played *trials.Detail, rec trials.Record) {
	t.Helper()
	secrets, err := redact.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "talk.yaml")
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	chat := &Chat{Path: path, Messages: c.messages, Calls: c.calls, Offered: []harness.Tool{{Name: "note", Description: "Notes.", Schema: schema}}, Secrets: secrets}
	data, notes, err := chat.File()
	if err != nil {
		t.Fatalf("saving: %v", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := scenarios.Load([]string{path}, &scenarios.Options{Offline: true})
	if err != nil {
		t.Fatalf("it does not load: %v\n%.3000s", err, data)
	}
	result, err := run.Run(t.Context(), set.Scenarios, &run.Options{
		Subject: agent.Subject(nil), SubjectName: "rehearse-agent", FromScenarios: true, Mode: harness.ModeMock,
		Out: dir, Name: "played", Timeout: time.Minute, ShowSecrets: true,
	})
	if err != nil || len(result.Records) != 1 {
		t.Fatalf("playing it: %v, %d trials", err, len(result.Records))
	}
	rec = result.Records[0]
	if rec.Outcome != harness.OutcomePassed {
		t.Fatalf("it plays as %s: %+v\n%.3000s", rec.Outcome, rec.Cause, data)
	}
	detail, err := trials.ReadDetail(result.Dir, rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), notes, &detail, rec
}

// same fails unless what was played is the conversation: its texts, its calls and
// their results.
func (c *talked) same(t *testing.T, played *trials.Detail, rec trials.Record) {
	t.Helper()
	valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
	var want, got []string
	for _, m := range c.messages {
		if m.Role == harness.RoleUser || m.Role == harness.RoleAssistant && len(m.Calls) == 0 {
			want = append(want, valid(m.Text))
		}
	}
	for _, turn := range played.Transcript.Turns {
		got = append(got, turn.User, turn.Answer)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("texts (-want +got):\n%s", d)
	}
	var made []harness.ReportedCall
	for _, call := range c.calls {
		if v, err := value.Parse([]byte(call.Arguments)); err == nil && v.Kind() == value.Object {
			made = append(made, call)
		}
	}
	if len(made) != len(rec.Trajectory) {
		t.Fatalf("%d calls are played of %d", len(rec.Trajectory), len(made))
	}
	for i, call := range made {
		now := rec.Trajectory[i]
		if !value.Same(json.RawMessage(call.Arguments), now.Args) || now.Name() != strings.TrimPrefix(call.Server+"."+call.Tool, ".") {
			t.Errorf("call %d is %s %s, want %s %s", i, now.Name(), now.Args, call.Tool, call.Arguments)
		}
	}
	n := 0
	for _, call := range made {
		if call.Server == "" {
			continue
		}
		refused := call.Error != "" && strings.Contains(played.Tools[n].Text, "Input validation error") // by the schema: a mock says it in its own words
		if got, want := played.Tools[n].Text, valid(strings.TrimPrefix(call.Result, "Error: ")); got != want && !refused {
			t.Errorf("the result of %s is %.80q, want %.80q", call.Arguments, got, want)
		}
		n++
	}
}

// oddArguments are arguments that the language of scenarios reads in its own way.
func oddArguments() []string {
	return []string{
		`{}`, `{"text":"Hello {{turn}}"}`, `{"{{x}}":1}`, `{"text":{"$or":[{"a":1}]}}`, `{"$literal":1}`, `{"$literal":{"a":1}}`, `{"\u0024cel":"1+"}`, `{"text":"\u007b{ x"}`, `{"$regex":"["}`, `{"text":"$x"}`, `{"$":1,"$x":{"$that":"value"}}`,
		`{"<<":{"a":1}}`, `{"<<":1}`, `{"":1}`, `{"~":null,"null":"null","yes":"yes","1":"1","1e400":"1e400"}`, `{"a b: c":"- x","? x":"# y","\t":"\tx\n","\u2028":"\ufeff"}`, `{"text":"` + strings.Repeat("x", 300) + `","` + strings.Repeat("k", 300) + `":1}`,
		`{"a":1e400,"b":12345678901234567890,"c":-0.0,"d":1.10}`, `{"a":1,"a":2}`, `{"text":"\ud800"}`, `{"text":"“x”","“k”":1}`, ` { "text" : 1 } `, `{"text":[],"b":{},"c":[[{}]]}`, `{"text":null}`,
	}
}

func oddTexts() []string {
	return []string{
		"pong", "\tx := 1\n\ty := 2", "\tx\n", "\n\nx\n\n", " x", "x ", "\r\nx\r", "a\x00b\x1b[0m", "\ufeffx", "a\u2028b\u0085", "a\xffb", "~", "null", "1e3", "1e400", "- x", "? x", "# x\n\n- y", "<<", "{{turn}}", "{{{x}}}", "}}{{", "{{\"{{\"}}", "{", "$literal", "“Hello.”", "'", "\\", "!x",
		strings.Repeat("long ", 4000), strings.Repeat("x", 99_000),
	}
}

// TestSaved: whatever was said, called and answered, what is saved loads, plays,
// and is the same conversation.
func TestSaved(t *testing.T) {
	for _, args := range oddArguments() {
		t.Run("args "+args[:min(len(args), 40)], func(t *testing.T) {
			var c talked
			c.turn("Go.", "Done.", note(args, "done"))
			_, notes, played, rec := saved(t, &c, nil)
			c.same(t, played, rec)
			if len(notes) > 0 && !strings.HasPrefix(notes[0], "the schema of note is left out: it does not allow ") {
				t.Errorf("notes %q", notes)
			}
		})
	}
	t.Run("texts", func(t *testing.T) {
		var c talked
		for i, text := range oddTexts() {
			failing := note(fmt.Sprintf(`{"failing":%d}`, i), "")
			failing.Error = text
			c.turn(oneOf(strings.TrimSpace(text), "Go."), text, note(fmt.Sprintf(`{"n":%d}`, i), text), failing)
		}
		_, notes, played, rec := saved(t, &c, nil)
		c.same(t, played, rec)
		if len(notes) > 0 {
			t.Errorf("notes %q", notes)
		}
	})
}

// TestSavedTells: what a scenario cannot have is left out and told, and what is left
// of the conversation plays.
func TestSavedTells(t *testing.T) {
	lost := harness.ReportedCall{Tool: "note", Error: "the arguments of note are not a JSON object"}
	for _, tt := range []struct {
		name  string
		calls []harness.ReportedCall
		note  string
		made  int
	}{
		{"a tool that there is not", []harness.ReportedCall{{Tool: "nosuch", Arguments: `{"a":"{{x}}"}`}}, "", 1},
		{"it and another", []harness.ReportedCall{{Tool: "nosuch", Arguments: `{}`}, note(`{"text":"x"}`, "done")}, "", 2},
		{"names like that of a tool", []harness.ReportedCall{{Tool: "kit_note", Arguments: `{}`}, {Tool: "NOTE", Arguments: `{}`}, {Tool: "mcp__kit__note", Arguments: `{}`}}, "", 3},
		{"a name with a dot", []harness.ReportedCall{{Tool: "kit.other", Arguments: `{}`}}, "the call of kit.other with {} is left out: there is no such tool", 0},
		{"arguments that are no JSON", []harness.ReportedCall{{Tool: "note", Arguments: `{"a":`, Error: lost.Error}}, `the call of note with {"a": is left out: its arguments are not a JSON object`, 0},
		{"arguments that are a list", []harness.ReportedCall{{Tool: "note", Arguments: `[1]`, Error: lost.Error}}, "the call of note with [1] is left out: its arguments are not a JSON object", 0},
		{"arguments that nest too deep", []harness.ReportedCall{note(`{"a":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"}", "x")}, "nested more than 200 deep", -1},
		{"not approved", []harness.ReportedCall{{Tool: "note", Arguments: `{}`, Error: "denied"}}, "the call of note with {} is left out: it reached no server", 0},
		{"no arguments", []harness.ReportedCall{note(``, "done")}, "", 1},
		{"different results", []harness.ReportedCall{note(`{"a":1}`, "x"), note(`{"a":1}`, "y")}, `note returned different results for {"a":1}: the first one is kept`, 2},
		{"numbers spelled differently", []harness.ReportedCall{note(`{"a":1}`, "x"), note(`{"a":1.0}`, "y")}, "", 2},
		{"arguments that the schema refuses", []harness.ReportedCall{note(`{"text":1}`, "x")}, `the schema of note is left out: it does not allow {"text":1}, which the server answered`, 1},
		{"a large result", []harness.ReportedCall{note(`{}`, strings.Repeat("é", 50_020))}, "the result of note for {} has 100040 bytes: ", 1},
		{"a server with a dot", []harness.ReportedCall{{Server: "k.it", Tool: "note", Arguments: `{}`, Result: "x"}}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c talked
			c.turn("First.", "One.")
			c.turn("Go.", "Done.", tt.calls...)
			_, notes, played, rec := saved(t, &c, nil)
			if told := strings.Join(notes, "\n"); !strings.Contains(told, tt.note) || (tt.note == "") != (told == "") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			turns := 2
			if tt.made < 0 {
				turns, tt.made = 1, 0
			}
			if len(rec.Trajectory) != tt.made || len(played.Transcript.Turns) != turns {
				t.Errorf("%d calls are played in %d turns, want %d in %d", len(rec.Trajectory), len(played.Transcript.Turns), tt.made, turns)
			}
		})
	}
}

// TestSavedParallel: a reply with text and several calls, some of which cannot be
// saved, and ids that come again.
func TestSavedParallel(t *testing.T) {
	var c talked
	for n := range 2 {
		list := []harness.ReportedCall{
			{ID: "1", Server: "kit", Tool: "note", Arguments: fmt.Sprintf(`{"n":%d}`, n), Result: fmt.Sprint("r", n)},
			{ID: "2", Tool: "nosuch", Arguments: `{}`, Result: "Error: none", Error: "none"},
			{ID: "3", Tool: "note", Arguments: `{`, Result: "Error: bad", Error: "bad"},
		}
		m := harness.Message{Role: harness.RoleAssistant, Text: "I look."}
		for _, call := range list {
			m.Calls = append(m.Calls, harness.ToolCall{ID: call.ID, Name: call.Tool, Arguments: call.Arguments})
		}
		bad := m
		bad.Calls = m.Calls[2:]
		c.calls = append(append(c.calls, list...), list[2])
		c.messages = append(c.messages, harness.Message{Role: harness.RoleUser, Text: fmt.Sprint("Go ", n)}, m, bad, harness.Message{Role: harness.RoleAssistant, Text: "Done."})
	}
	_, notes, played, rec := saved(t, &c, nil)
	if len(rec.Trajectory) != 4 || len(played.Tools) != 2 || played.Tools[1].Text != "r1" {
		t.Errorf("played %+v", rec.Trajectory)
	}
	if len(notes) != 6 || notes[2] != `the text "I look." is left out: none of the calls beside it can be saved` {
		t.Errorf("notes %q", notes)
	}
}

// TestSavedLarge: results that are more than a file may have are saved in part. It is
// not played, which would take a minute.
func TestSavedLarge(t *testing.T) {
	var c talked
	for i := range 90 {
		c.turn("Go.", "Done.", note(fmt.Sprintf(`{"n":%d}`, i), strings.Repeat("x", 99_000)))
	}
	secrets, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	chat := &Chat{Path: "talk.yaml", Messages: c.messages, Calls: c.calls, Secrets: secrets}
	data, notes, err := chat.File()
	if err != nil {
		t.Fatal(err)
	}
	set, err := scenarios.Parse(chat.Path, data, &scenarios.Options{Offline: true})
	if err != nil || len(set.Scenarios) != 1 || len(set.Scenarios[0].Turns) != 90 || len(notes) != 90 {
		t.Errorf("%v, %d notes", err, len(notes))
	}
}

// TestSavedKeys: keys are in no file that is saved, wherever they were said.
func TestSavedKeys(t *testing.T) {
	const known, literal = "sk-" + "proj-Zq8LmV2xT5nR7wKcYb3pHd6sJf9gAe1u", "Tr0ub-4-dor!x"
	var c talked
	c.turn("My key is "+literal+".", "your key is "+known, note(`{"text":"`+literal+`"}`, `{"a":"`+known+`"}`), note(`{"password":"hunter2x"}`, "{\n\"password\": \"hunter2x\"}"))
	text, notes, played, rec := saved(t, &c, &redact.Rules{Literals: []string{literal}, Users: []string{}, Places: []redact.Place{}})
	for _, secret := range []string{known, literal, "hunter2x"} {
		if strings.Contains(text, secret) || strings.Contains(strings.Join(notes, "\n"), secret) {
			t.Errorf("%s is in\n%s\n%q", secret, text, notes)
		}
	}
	if len(played.Transcript.Turns) != 1 || len(rec.Trajectory) != 2 || !slices.Contains(notes, "3 keys are not written: the file has REDACTED-... in the place of each") {
		t.Errorf("played %+v, notes %q", rec.Trajectory, notes)
	}
	if mark := redact.Neutral(played.Transcript.Turns[0].Answer); mark != "your key is REDACTED-sk" {
		t.Errorf("the answer is %q", mark)
	}
}

// FuzzSaved: whatever a conversation holds, what is saved loads, plays, and is the
// same conversation.
func FuzzSaved(f *testing.F) {
	texts, args := oddTexts(), oddArguments()
	for i := range max(len(texts), len(args)) {
		f.Add(texts[i%len(texts)], texts[(i+1)%len(texts)], args[i%len(args)], texts[(i+2)%len(texts)], texts[(i+3)%len(texts)], i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, user, say, args, key, result string, failed bool) {
		if user = strings.TrimSpace(strings.ToValidUTF8(user, "?")); user == "" || strings.TrimSpace(say) == "" || len(args) > 10_000 || len(key) > 10_000 || len(result) > longestResult {
			return
		}
		own, err := json.Marshal(map[string]any{key: []any{result, map[string]string{"$" + key: "{{" + user}}})
		if err != nil {
			t.Fatal(err)
		}
		call := note(args, result)
		if failed {
			call.Error = result
		}
		var c talked
		c.turn("Again.", "Yes.", note(string(own), result))
		if v, err := value.Parse([]byte(args)); err != nil || v.Kind() != value.Object {
			call.Server, call.Error = "", "not a JSON object"
		} else if value.Same(json.RawMessage(args), own) || strings.Count(args, "[")+strings.Count(args, "{") > 100 {
			return
		}
		c.turn(user, say, call)
		_, _, played, rec := saved(t, &c, &redact.Rules{Users: []string{}, Places: []redact.Place{}})
		if text, err := json.Marshal(rec); err != nil || strings.Contains(string(text), "REDACTED-") {
			return // it looked like a key
		}
		c.same(t, played, rec)
	})
}
