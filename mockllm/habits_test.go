// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/mockllm"
	"github.com/rehearse-dev/rehearse/mockllm/fault"
)

// oddBodies are requests of each dialect for a reply, and after it.
type oddBody struct {
	path string
	// first and next are the requests; %s is the id of the call as it was sent.
	first, next string
}

func oddBodies(stream bool) map[string]oddBody {
	at := func(s string) string { return strings.ReplaceAll(s, "STREAM", fmt.Sprint(stream)) }
	gemini := "/v1beta/models/gemini-3-pro:generateContent"
	if stream {
		gemini = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
	}
	return map[string]oddBody{
		"chat": {
			"/v1/chat/completions", at(`{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}]}`),
			at(`{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":ID,"type":"function","function":{"name":"NAME","arguments":"{}"}}]},{"role":"tool","tool_call_id":ID,"content":"x"}]}`),
		},
		"responses": {
			"/v1/responses", at(`{"model":"m","stream":STREAM,"store":false,"input":[{"role":"user","content":"hi"}]}`),
			at(`{"model":"m","stream":STREAM,"store":false,"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":ID,"name":"NAME","arguments":"{}"},{"type":"function_call_output","call_id":ID,"output":"x"}]}`),
		},
		"messages": {
			"/v1/messages", at(`{"model":"m","max_tokens":99,"stream":STREAM,"messages":[{"role":"user","content":"hi"}]}`),
			at(`{"model":"m","max_tokens":99,"stream":STREAM,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":ID,"name":"NAME","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":ID,"content":"x"}]}]}`),
		},
		"gemini": {
			gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":ID,"name":"NAME","args":{}},"thoughtSignature":"SIGNATURE"}]},{"role":"user","parts":[{"functionResponse":{"id":ID,"name":"NAME","response":{"result":"x"}}}]}]}`,
		},
	}
}

func callsThenSays(h *mockllm.Habits) mockllm.Script {
	return mockllm.Script{Habits: h, Replies: []mockllm.Reply{{Reasoning: "hm", Calls: []mockllm.Call{{Tool: "note"}}}, {Say: "done"}}}
}

// TestNamesBesideAFault: the journal has the name of a call as it was scripted, also
// where a fault has changed the reply that spells it in another way. A client that was
// told of no id, and brings the call back tidied, goes on.
func TestNamesBesideAFault(t *testing.T) {
	script := callsThenSays(&mockllm.Habits{Names: mockllm.NamePadded})
	script.Replies[0].Faults = []mockllm.Fault{{Kind: fault.MissingID}}
	m := scripted(t, script, nil)
	defer m.Close()
	b := oddBodies(true)["chat"]
	if w := send(m, b.path, b.first); !strings.Contains(w.Body.String(), `" note "`) {
		t.Errorf("the name is not padded: %s", w.Body)
	}
	if calls := m.Journal()[0].Answer.Calls; len(calls) != 1 || calls[0].Name != "note" {
		t.Errorf("the journal has %+v", calls)
	}
	next := strings.NewReplacer("ID", `"own"`, "NAME", "note").Replace(b.next)
	if w := send(m, b.path, next); !strings.Contains(w.Body.String(), "done") {
		t.Errorf("%d %s\nto %s", w.Code, w.Body, next)
	}
}

// TestHabits: each spelling is on the wire of each dialect that has the member,
// and a client that brings the call back as it was sent, or tidied, goes on.
func TestHabits(t *testing.T) {
	number := regexp.MustCompile(`"(?:id|call_id)": ?([1-9]{9})\b`)
	for _, tc := range []struct {
		name   string
		habits mockllm.Habits
		// want is on the wire, by dialect; empty has none of it.
		want  map[string]string
		name2 string // of the call as it comes back
	}{
		{"number", mockllm.Habits{IDs: mockllm.IDNumber}, map[string]string{"chat": "", "responses": "", "messages": "", "gemini": ""}, "note"},
		{"padded", mockllm.Habits{Names: mockllm.NamePadded}, map[string]string{"chat": `"name":" note "`, "responses": `"name":" note "`, "messages": `"name":" note "`, "gemini": `" note "`}, " note "},
		{"padded, tidied", mockllm.Habits{Names: mockllm.NamePadded}, map[string]string{"chat": `"name":" note "`}, "note"},
		{"newline", mockllm.Habits{Names: mockllm.NameNewline}, map[string]string{"chat": `"name":"note\n"`, "responses": `"name":"note\n"`, "messages": `"name":"note\n"`, "gemini": `"note\n"`}, "note"},
		{"function_call empty", mockllm.Habits{FunctionCall: mockllm.FunctionEmpty}, map[string]string{"chat": `"function_call":{"name":"","arguments":""}`}, "note"},
		{"function_call object", mockllm.Habits{FunctionCall: mockllm.FunctionObject}, map[string]string{"chat": `"function_call":{}`}, "note"},
		{"function_call null", mockllm.Habits{FunctionCall: mockllm.FunctionNull}, map[string]string{"chat": `"function_call":null`}, "note"},
		{"extra_content", mockllm.Habits{ExtraContent: true}, map[string]string{"chat": `"extra_content":{"google":{"thought_signature":"`}, "note"},
		{"reasoning_details", mockllm.Habits{ReasoningDetails: true}, map[string]string{"chat": `"reasoning_details":[{"type":"reasoning.text","text":"hm"`}, "note"},
	} {
		for _, stream := range []bool{false, true} {
			for dialect, want := range tc.want {
				t.Run(fmt.Sprintf("%s/%s/%v", tc.name, dialect, stream), func(t *testing.T) {
					m := scripted(t, callsThenSays(&tc.habits), nil)
					defer m.Close()
					b := oddBodies(stream)[dialect]
					w := send(m, b.path, b.first)
					if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
						t.Fatalf("%d %s\nwant %s", w.Code, w.Body, want)
					}
					id := `"own"`
					answer := m.Journal()[0].Answer
					if len(answer.Calls) != 1 || answer.Calls[0].Name != "note" {
						t.Fatalf("the journal has %+v", answer)
					}
					if id = `"` + answer.Calls[0].ID + `"`; tc.habits.IDs == mockllm.IDNumber {
						found := number.FindStringSubmatch(w.Body.String())
						if found == nil {
							t.Fatalf("no number: %s", w.Body)
						}
						id = found[1]
					}
					signature := ""
					if _, rest, ok := strings.Cut(strings.ReplaceAll(w.Body.String(), " ", ""), `"thoughtSignature":"`); ok {
						signature, _, _ = strings.Cut(rest, `"`)
					}
					name, _ := json.Marshal(tc.name2)
					next := strings.NewReplacer("ID", id, `"NAME"`, string(name), "SIGNATURE", signature).Replace(b.next)
					if w := send(m, b.path, next); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "done") {
						t.Errorf("%d %s\nto %s", w.Code, w.Body, next)
					}
					if err := m.Err(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestHabitArgs: what stands beside arguments is judged as it was sent.
func TestHabitArgs(t *testing.T) {
	for form, want := range map[dialect.ArgsForm]string{mockllm.ArgsQuotes: `{}""`, mockllm.ArgsDouble: `{}{}`} {
		for _, stream := range []bool{false, true} {
			m := scripted(t, callsThenSays(&mockllm.Habits{Args: form, Names: mockllm.NamePadded}), nil)
			b := oddBodies(stream)["chat"]
			w := send(m, b.path, b.first)
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if calls := m.Journal()[0].Answer.Calls; calls[0].Arguments != want || calls[0].Name != "note" {
				t.Errorf("%s, stream %v: the journal has %+v", form, stream, calls)
			}
			m.Close()
		}
	}
}

// TestPairs: two entries of a chunk have one index.
func TestPairs(t *testing.T) {
	script := callsThenSays(nil)
	script.Fragments = &mockllm.Fragments{Pairs: true}
	script.Replies[0].Calls[0].Args = map[string]any{"text": "x"}
	m := scripted(t, script, nil)
	defer m.Close()
	b := oddBodies(true)["chat"]
	w := send(m, b.path, b.first)
	if !regexp.MustCompile(`"tool_calls":\[\{"index":0,"id":"[^]]*\},\{"index":0,"function":`).MatchString(w.Body.String()) {
		t.Errorf("%s", w.Body)
	}
}

// TestIDsThatNeverCome: a result under an id of the client's making is taken.
func TestIDsThatNeverCome(t *testing.T) {
	script := callsThenSays(nil)
	script.Fragments = &mockllm.Fragments{ID: mockllm.PlaceNever}
	m := scripted(t, script, nil)
	defer m.Close()
	b := oddBodies(true)["chat"]
	if w := send(m, b.path, b.first); strings.Contains(w.Body.String(), `"id":"call_`) {
		t.Fatalf("an id: %s", w.Body)
	}
	w := send(m, b.path, strings.NewReplacer("ID", `"mine"`, "NAME", "note").Replace(b.next))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "done") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if id := m.Journal()[0].Answer.Calls[0].ID; id != "" {
		t.Errorf("the journal has the id %q, which was not sent", id)
	}
}

// TestEchoOfDetails: what signs thoughts is wanted back as it was sent.
func TestEchoOfDetails(t *testing.T) {
	for _, tc := range []struct {
		field, message string
		call           func(call map[string]any, message map[string]any)
		want           string
	}{
		{"reasoning_details", "as sent", func(map[string]any, map[string]any) {}, ""},
		{"reasoning_details", "none", func(_, m map[string]any) { delete(m, "reasoning_details") }, "is missing its reasoning_details"},
		{"reasoning_details", "altered", func(_, m map[string]any) {
			m["reasoning_details"] = []any{map[string]any{"type": "reasoning.text", "text": "hm"}}
		}, "were modified"},
		{"extra_content", "as sent", func(map[string]any, map[string]any) {}, ""},
		{"extra_content", "none", func(c, _ map[string]any) { delete(c, "extra_content") }, "missing a thought_signature"},
	} {
		t.Run(tc.field+"/"+tc.message, func(t *testing.T) {
			script := callsThenSays(nil)
			script.Echo = []string{tc.field}
			m := scripted(t, script, nil)
			defer m.Close()
			b := oddBodies(false)["chat"]
			w := send(m, b.path, b.first)
			var reply struct {
				Choices []struct{ Message map[string]any }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
				t.Fatal(err)
			}
			message := reply.Choices[0].Message
			call := message["tool_calls"].([]any)[0].(map[string]any)
			id := call["id"].(string)
			tc.call(call, message)
			back, err := json.Marshal([]any{map[string]any{"role": string(harness.RoleUser), "content": "hi"}, message, map[string]any{"role": "tool", "tool_call_id": id, "content": "x"}})
			if err != nil {
				t.Fatal(err)
			}
			w = send(m, b.path, `{"model":"m","messages":`+string(back)+`}`)
			if tc.want == "" && w.Code != http.StatusOK || tc.want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.want)) {
				t.Errorf("%d %s\nwant %q", w.Code, w.Body, tc.want)
			}
		})
	}
}

// TestRetryAfterFraction: seconds may have a fraction.
func TestRetryAfterFraction(t *testing.T) {
	script := callsThenSays(nil)
	script.Replies[0].Faults = []mockllm.Fault{{Kind: mockllm.RateLimit, Form: "decimal", RetryAfter: 1500 * time.Millisecond}}
	m := scripted(t, script, nil)
	defer m.Close()
	b := oddBodies(false)["chat"]
	w := send(m, b.path, b.first)
	if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "1.5" || w.Header().Get("Retry-After-Ms") != "" {
		t.Errorf("%d, Retry-After %q", w.Code, got)
	}
}
