// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mockllm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/mockllm"
)

// chatAnswer is what a test looks at in a chat completion.
type chatAnswer struct {
	Choices []struct {
		Index   int
		Message struct {
			Content   *string
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Logprobs     json.RawMessage
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		TotalTokens         int `json:"total_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionTokensDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Error *struct{ Type, Message string }
}

// complete sends a chat completions request with a setting.
func complete(t *testing.T, m *mockllm.Mock, setting string) (int, chatAnswer) {
	t.Helper()
	status, raw := do(t, m, http.MethodPost, "/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"JSON, please."}],`+setting+`}`)
	var a chatAnswer
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return status, a
}

const (
	twoTools   = `"tools":[{"type":"function","function":{"name":"get_weather"}},{"type":"function","function":{"name":"get_time"}}]`
	citySchema = `"response_format":{"type":"json_schema","json_schema":{"name":"city","strict":true,"schema":{"type":"object","properties":{"name":{"type":"string"},"size":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]},"tags":{"type":"array","items":{"$ref":"#/$defs/tag"},"maxItems":2}},"required":["name","size","tags"],"additionalProperties":false,"$defs":{"tag":{"type":"string","enum":["big","old"]}}}}}`
)

// TestScriptAgainstRequest holds scripts that no model would follow.
func TestScriptAgainstRequest(t *testing.T) {
	twice := mockllm.Reply{Calls: []mockllm.Call{{Tool: "get_weather"}, {Tool: "get_time"}}}
	for _, tc := range []struct {
		name, setting string
		reply         mockllm.Reply
		want          string // part of the error; "" is none
	}{
		{"none and a call", twoTools + `,"tool_choice":"none"`, weather(), `the reply calls get_weather, and the request's tool_choice is "none"`},
		{"none and text", twoTools + `,"tool_choice":"none"`, say("Hi."), ""},
		{"required and text", twoTools + `,"tool_choice":"required"`, say("Hi."), `the reply calls no tool, and the request's tool_choice is "required"`},
		{"required and a call", twoTools + `,"tool_choice":"required"`, weather(), ""},
		{"required and a refusal", twoTools + `,"tool_choice":"required"`, mockllm.Reply{Refusal: "No."}, ""},
		{"named and another", twoTools + `,"tool_choice":{"type":"function","function":{"name":"get_time"}}`, weather(), "the reply calls get_weather, and the request's tool_choice names get_time"},
		{"named and text", twoTools + `,"tool_choice":{"type":"function","function":{"name":"get_time"}}`, say("Hi."), "tool_choice names get_time"},
		{"named", twoTools + `,"tool_choice":{"type":"function","function":{"name":"get_weather"}}`, weather(), ""},
		{"one at a time", twoTools + `,"parallel_tool_calls":false`, twice, "the reply makes 2 calls, and the request's parallel_tool_calls is false"},
		{"parallel", twoTools + `,"parallel_tool_calls":true`, twice, ""},
		{"no JSON", `"response_format":{"type":"json_object"}`, say("Sunny."), `the reply's text is not JSON, and the request's response_format is json_object: "Sunny."`},
		{"an array", `"response_format":{"type":"json_object"}`, say("[1]"), "JSON and not an object"},
		{"an object", `"response_format":{"type":"json_object"}`, say(`{"a":1}`), ""},
		{"cut JSON", `"response_format":{"type":"json_object"}`, mockllm.Reply{Say: `{"a`, Finish: "length"}, ""},
		{"schema", citySchema, say(`{"name":"Rome","size":3,"tags":["big"]}`), ""},
		{"schema and a call", citySchema + "," + twoTools, weather(), ""},
		{"member missing", citySchema, say(`{"name":"Rome","size":3}`), `required: missing properties: ["tags"]`},
		{"member too many", citySchema, say(`{"name":"Rome","size":3,"tags":[],"x":1}`), `unexpected additional properties ["x"]`},
		{"other type", citySchema, say(`{"name":1,"size":3,"tags":[]}`), `validating /properties/name: type: 1 has type "integer", want "string"`},
		{"none of anyOf", citySchema, say(`{"name":"Rome","size":0,"tags":[]}`), "validating /properties/size/anyOf/0: minimum: 0/1 is less than 1.000000"},
		{"not in the enum", citySchema, say(`{"name":"Rome","size":null,"tags":["new"]}`), "enum: new does not equal any of: [big old]"},
		{"too many items", citySchema, say(`{"name":"Rome","size":null,"tags":["big","old","big"]}`), "validating /properties/tags: maxItems: array length 3 is greater than 2"},
		{"circle", strings.ReplaceAll(citySchema, `{"type":"string"}`, `{"$ref":"#/properties/name"}`), say(`{"name":"Rome","size":null,"tags":[]}`), `the $ref to "#/properties/name" leads back to itself`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t, tc.reply)
			status, a := complete(t, m, tc.setting)
			if tc.want == "" {
				if status != 200 || m.Err() != nil {
					t.Errorf("got %d %v", status, m.Err())
				}
				return
			}
			if status != 500 || a.Error == nil || a.Error.Type != "rehearse_script" || !strings.Contains(a.Error.Message, tc.want) {
				t.Errorf("got %d %+v", status, a.Error)
			}
			wantJournal(t, m, "script 500 1.1/1")
		})
	}
}

// TestCut compares what the settings leave of a reply.
func TestCut(t *testing.T) {
	long := mockllm.Reply{Reasoning: "Let me think.", Say: "One, two, three, four. 🌞 five", Calls: []mockllm.Call{{Tool: "get_weather", Args: json.RawMessage(`{"location":"Paris"}`)}}}
	for _, tc := range []struct {
		name, setting   string
		text, args      string
		calls           int
		finish          string
		tokens, thought int
	}{
		{"whole", `"max_tokens":500`, "One, two, three, four. 🌞 five", `{"location":"Paris"}`, 1, "tool_calls", 31, 4},
		{"in the text", `"max_tokens":8`, "One, two,", "", 0, "length", 8, 4},
		{"in a character", `"max_completion_tokens":13`, "One, two, three, four. ", "", 0, "length", 13, 4},
		{"in the reasoning", `"max_tokens":2`, "", "", 0, "length", 2, 2},
		{"in the arguments", `"max_tokens":30`, "One, two, three, four. 🌞 five", `{"location":"Paris`, 1, "length", 30, 4},
		{"stop", `"stop":["four","three"]`, "One, two, ", "", 0, "stop", 9, 4},
		{"stop not there", `"stop":"six"`, "One, two, three, four. 🌞 five", `{"location":"Paris"}`, 1, "tool_calls", 31, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMock(t, long)
			status, a := complete(t, m, twoTools+","+tc.setting)
			if status != 200 {
				t.Fatalf("%d %+v", status, a.Error)
			}
			c := a.Choices[0]
			var text, args string
			if c.Message.Content != nil {
				text = *c.Message.Content
			}
			for _, call := range c.Message.ToolCalls {
				args += call.Function.Arguments
			}
			if text != tc.text || args != tc.args || len(c.Message.ToolCalls) != tc.calls || c.FinishReason != tc.finish {
				t.Errorf("text %q, %d calls %q, finish %s", text, len(c.Message.ToolCalls), args, c.FinishReason)
			}
			if a.Usage.CompletionTokens != tc.tokens || a.Usage.CompletionTokensDetails.ReasoningTokens != tc.thought || a.Usage.TotalTokens != a.Usage.PromptTokens+tc.tokens {
				t.Errorf("usage %+v", a.Usage)
			}
			x := m.Journal()[0]
			if x.Answer.Text != tc.text || len(x.Answer.Calls) != tc.calls || x.FinishReason != tc.finish || x.Usage.CompletionTokens != tc.tokens {
				t.Errorf("the journal has %+v %s %+v", x.Answer, x.FinishReason, x.Usage)
			}
		})
	}
}

// TestCutResponse cuts a response, which says so in its own words.
func TestCutResponse(t *testing.T) {
	m := newMock(t, say(strings.Repeat("word ", 40)))
	_, raw := do(t, m, http.MethodPost, "/responses", `{"model":"m","input":"a","max_output_tokens":16}`)
	var r struct {
		Status            string
		IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
		Output            []struct{ Status string }
		Usage             struct {
			OutputTokens int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	if r.Status != "incomplete" || r.IncompleteDetails.Reason != "max_output_tokens" || r.Output[0].Status != "incomplete" || r.Usage.OutputTokens != 16 {
		t.Errorf("got %+v", r)
	}
}

func TestChoices(t *testing.T) {
	m := newMock(t, say("Sunny."))
	_, one := complete(t, newMock(t, say("Sunny.")), `"n":1`)
	status, a := complete(t, m, `"n":3`)
	if status != 200 || len(a.Choices) != 3 {
		t.Fatalf("%d %+v", status, a)
	}
	for i, c := range a.Choices {
		if c.Index != i || *c.Message.Content != "Sunny." || c.FinishReason != "stop" {
			t.Errorf("choice %d: %+v", i, c)
		}
	}
	if a.Usage.CompletionTokens != 3*one.Usage.CompletionTokens || a.Usage.PromptTokens != one.Usage.PromptTokens {
		t.Errorf("usage %+v, of one %+v", a.Usage, one.Usage)
	}
}

// TestScriptedChoices gives each choice a text of its own.
func TestScriptedChoices(t *testing.T) {
	reply := say("One.")
	reply.Choices = []string{"Two, and more of it.", "Three."}
	m := newMock(t, reply)
	_, a := complete(t, m, `"n":4,"max_tokens":4`)
	var got []string
	for _, c := range a.Choices {
		got = append(got, *c.Message.Content+" "+c.FinishReason)
	}
	if d := cmp.Diff([]string{"One. stop", "Two, and more length", "Three. stop", "One. stop"}, got); d != "" {
		t.Errorf("choices (-want +got):\n%s", d)
	}
	if a.Usage.CompletionTokens != 2+4+2+2 {
		t.Errorf("usage %+v", a.Usage)
	}
}

func TestLogprobs(t *testing.T) {
	scripted := say("Hi.")
	scripted.Logprobs = json.RawMessage(`{"content":[{"token":"Hi.","logprob":-0.5,"bytes":null,"top_logprobs":[]}],"refusal":null}`)
	for _, tc := range []struct {
		name, setting string
		reply         mockllm.Reply
		want          string
	}{
		{"asked and scripted", `"logprobs":true`, scripted, string(scripted.Logprobs)},
		{"scripted", `"logprobs":false`, scripted, "null"},
		{"asked", `"logprobs":true`, say("Hi."), "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, a := complete(t, newMock(t, tc.reply), tc.setting)
			if d := cmp.Diff(tc.want, string(a.Choices[0].Logprobs)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestCachedTokens counts what two requests begin with alike.
func TestCachedTokens(t *testing.T) {
	m := newMock(t, say("One."), say("Two."), say("Three."))
	c := newClient(t, m)
	cached := func() int {
		c.ask()
		j := m.Journal()
		return j[len(j)-1].Usage.CachedTokens
	}
	c.say("system", strings.Repeat("Be short and kind. ", 400))
	c.say("user", "a")
	if n := cached(); n != 0 {
		t.Errorf("the first request has %d cached tokens", n)
	}
	c.say("user", "b")
	n := cached()
	if n < 1024 || n%128 != 0 || n > m.Journal()[1].Usage.PromptTokens {
		t.Errorf("the second request has %d cached tokens", n)
	}
	c.messages[0]["content"] = "Be long."
	c.say("user", "c")
	if n := cached(); n != 0 {
		t.Errorf("another prompt has %d cached tokens", n)
	}
}
