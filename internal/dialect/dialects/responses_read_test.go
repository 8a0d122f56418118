// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/responses"
)

// heldResponse is what an endpoint holds of one response, with one item of each
// kind.
func heldResponse() *dialect.Store {
	call := []harness.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}}
	store := new(dialect.Store)
	store.Keep(&dialect.Response{
		ID:       "resp_1",
		Messages: []harness.Message{{Role: harness.RoleUser, Text: "Weather?"}, {Role: harness.RoleAssistant, Calls: call}},
		Items: []dialect.Item{
			{ID: "rs_1", Message: harness.Message{Reasoning: "Hm."}},
			{ID: "msg_1", Message: harness.Message{Text: "Sunny."}},
			{ID: "fc_1", Message: harness.Message{Calls: call}},
		},
	})
	return store
}

const (
	hiItem   = `{"role":"user","content":"hi"}`
	callItem = `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}`
	outItem  = `{"type":"function_call_output","call_id":"call_1","output":"21C"}`
)

// items is a request with input items.
func items(list ...string) string { return `{"model":"m","input":[` + strings.Join(list, ",") + `]}` }

// with is a request with a further setting.
func with(setting string) string { return `{"model":"m","input":"hi",` + setting + `}` }

const (
	api    = "https://platform.openai.com/docs/api-reference/responses/create"
	github = "https://github.com/"
)

// responsesRefusals are bad requests with what comes back. Each names where
// the rule is written or where the reply was seen.
func responsesRefusals() []refusalCase {
	long := strings.Repeat("x", 65)
	return []refusalCase{
		{"cut", `{"model":"m","inp`, 400, "", "", "not valid JSON", api},
		{"an array", `[]`, 400, "", "", "not an object", api},
		{"no model", `{"input":"hi"}`, 400, "missing_required_parameter", "model", "Missing required parameter: 'model'.", api},
		{"model of wrong type", `{"model":1,"input":"hi"}`, 400, "invalid_type", "model", "expected a string, but got an integer", api},
		{"no input", `{"model":"m"}`, 400, "missing_required_parameter", "input", "Missing required parameter: 'input'.", api},
		{"input of wrong type", `{"model":"m","input":5}`, 400, "invalid_type", "input", "expected one of a string or array of input items, but got an integer", api},
		{"messages", `{"model":"m","messages":[]}`, 400, "unsupported_parameter", "", "this parameter has moved to 'input'", github + "egoist/chatwise-releases/issues/1023"},
		{"response_format", with(`"response_format":{"type":"text"}`), 400, "unsupported_parameter", "", "moved to 'text.format'", github + "egoist/chatwise-releases/issues/1023"},
		{"max_tokens", with(`"max_tokens":9`), 400, "unsupported_parameter", "", "moved to 'max_output_tokens'", github + "egoist/chatwise-releases/issues/1023"},
		{"n", with(`"n":2`), 400, "unknown_parameter", "n", "Unknown parameter: 'n'.", api},
		{"include_usage", with(`"stream":true,"stream_options":{"include_usage":true}`), 400, "unknown_parameter", "stream_options.include_usage", "Unknown parameter", api},
		{"stream_options alone", with(`"stream_options":{}`), 400, "", "stream_options", "only allowed when 'stream'", api},
		{"max_output_tokens too small", with(`"max_output_tokens":10`), 400, "integer_below_min_value", "max_output_tokens", "Expected a value >= 16, but got 10 instead.", github + "vectorize-io/hindsight/issues/58"},
		{"temperature too high", with(`"temperature":2.5`), 400, "decimal_above_max_value", "temperature", "<= 2", api},
		{"top_p too high", with(`"top_p":1.5`), 400, "decimal_above_max_value", "top_p", "<= 1", api},
		{"top_logprobs too high", with(`"top_logprobs":21`), 400, "integer_above_max_value", "top_logprobs", "<= 20, but got 21", api},
		{"stream of wrong type", with(`"stream":"yes"`), 400, "invalid_type", "stream", "expected a boolean", api},
		{"store of wrong type", with(`"store":1`), 400, "invalid_type", "store", "expected a boolean", api},
		{"instructions of wrong type", with(`"instructions":["x"]`), 400, "invalid_type", "instructions", "expected a string, but got an array", api},
		{"unknown include", with(`"include":["everything"]`), 400, "invalid_value", "include[0]", "Invalid value: 'everything'.", api},
		{"unknown truncation", with(`"truncation":"some"`), 400, "invalid_value", "truncation", "'auto' and 'disabled'", api},
		{"unknown effort", with(`"reasoning":{"effort":"huge"}`), 400, "invalid_value", "reasoning.effort", "Invalid value: 'huge'.", api},
		{"metadata of numbers", with(`"metadata":{"a":1}`), 400, "invalid_type", "metadata.a", "expected a string", api},
		{"odd previous id", with(`"previous_response_id":"@results"`), 400, "invalid_value", "previous_response_id", "Expected an ID that contains letters, numbers, underscores, or dashes", github + "ProjectTech4DevAI/kaapi-backend/issues/317"},
		{"other previous id", with(`"previous_response_id":"chatcmpl-1"`), 400, "invalid_value", "previous_response_id", "Expected an ID that begins with 'resp'.", github + "jlcodes99/cockpit-tools/issues/2090"},
		{"previous unknown", with(`"previous_response_id":"resp_2"`), 400, "previous_response_not_found", "previous_response_id", "Previous response with id 'resp_2' not found.", github + "bigduu/Bamboo-agent/pull/513"},
		{"previous call open", with(`"previous_response_id":"resp_1"`), 400, "", "input", "No tool output found for function call call_1.", github + "symgraph/GhidrAssist/issues/78"},

		{"item is no object", items(`"hi"`), 400, "invalid_type", "input[0]", "expected an input item, but got a string", api},
		{"item without type", items(`{}`), 400, "missing_required_parameter", "input[0].type", "", api},
		{"unknown item", items(`{"type":"tool_result"}`), 400, "invalid_value", "input[0]", "Invalid value: 'tool_result'.", api},
		{"role tool", items(`{"role":"tool","content":"x"}`), 400, "invalid_value", "input[0].role", "Supported values are: 'assistant', 'system', 'developer', and 'user'.", api},
		{"message without content", items(`{"role":"user"}`), 400, "missing_required_parameter", "input[0].content", "", api},
		{"part of chat completions", items(`{"role":"user","content":[{"type":"text","text":"hi"}]}`), 400, "invalid_value", "input[0].content[0].type", "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'.", api},
		{"input_text of the assistant", items(hiItem, `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), 400, "invalid_value", "input[1].content[0]", "Supported values are: 'output_text' and 'refusal'.", api},
		{"output_text of the user", items(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), 400, "invalid_value", "input[0].content[0]", "", api},
		{"call without call_id", items(hiItem, `{"type":"function_call","name":"f","arguments":"{}"}`), 400, "missing_required_parameter", "input[1].call_id", "", api},
		{"call without arguments", items(hiItem, `{"type":"function_call","call_id":"c","name":"f"}`), 400, "missing_required_parameter", "input[1].arguments", "", api},
		{"arguments are an object", items(hiItem, `{"type":"function_call","call_id":"c","name":"f","arguments":{}}`), 400, "invalid_type", "input[1].arguments", "expected a string, but got an object", api},
		{"call of a bad name", items(hiItem, `{"type":"function_call","call_id":"c","name":"f.g","arguments":"{}"}`), 400, "invalid_value", "input[1].name", "does not match pattern", api},
		{"call_id too long", items(hiItem, `{"type":"function_call","call_id":"`+long+`","name":"f","arguments":"{}"}`), 400, "string_above_max_length", "input[1].call_id", "maximum length 64, but got a string with length 65", api},
		{"call with another id", items(hiItem, `{"type":"function_call","id":"call_1","call_id":"call_1","name":"f","arguments":"{}"}`), 400, "invalid_value", "input[1].id", "Expected an ID that begins with 'fc'.", github + "jlcodes99/cockpit-tools/issues/2090"},
		{"reasoning with another id", items(hiItem, `{"type":"reasoning","id":"item_1","summary":[]}`), 400, "invalid_value", "input[1].id", "Expected an ID that begins with 'rs'.", github + "jlcodes99/cockpit-tools/issues/2090"},
		{"empty id", items(hiItem, `{"type":"reasoning","id":"","summary":[]}`), 400, "invalid_value", "input[1].id", "this value contained additional characters", github + "langchain-ai/langchainjs/issues/11044"},
		{"output without output", items(hiItem, callItem, `{"type":"function_call_output","call_id":"call_1"}`), 400, "missing_required_parameter", "input[2].output", "", api},
		{"call unanswered", items(hiItem, callItem), 400, "", "input", "No tool output found for function call call_1.", github + "symgraph/GhidrAssist/issues/78"},
		{"output without call", items(hiItem, outItem), 400, "", "input", "No tool call found for function call output with call_id call_1.", github + "continuedev/continue/issues/10092"},
		{"lonely reasoning at the end", items(hiItem, `{"type":"reasoning","id":"rs_1","summary":[]}`), 400, "", "input", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", github + "continuedev/continue/issues/8933"},
		{"lonely reasoning inside", items(hiItem, `{"type":"reasoning","id":"rs_1","summary":[]}`, hiItem), 400, "", "input", "without its required following item", github + "continuedev/continue/issues/8933"},
		{"reasoning not stored", items(hiItem, `{"type":"reasoning","id":"rs_2","summary":[]}`, `{"role":"assistant","content":"x"}`), 404, "", "input", "Item with id 'rs_2' not found. Items are not persisted when `store` is set to false.", github + "can1357/oh-my-pi/issues/41"},
		{"reference to nothing", items(hiItem, `{"type":"item_reference","id":"msg_2"}`), 404, "", "input", "Item with id 'msg_2' not found.", github + "can1357/oh-my-pi/issues/41"},

		{"tool of chat completions", with(`"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "missing_required_parameter", "tools[0].name", "Missing required parameter: 'tools[0].name'.", github + "microsoft/autogen/issues/6935"},
		{"tool without type", with(`"tools":[{"name":"f"}]`), 400, "missing_required_parameter", "tools[0].type", "", api},
		{"unknown tool", with(`"tools":[{"type":"retrieval"}]`), 400, "invalid_value", "tools[0].type", "Invalid value: 'retrieval'.", api},
		{"tool with a dot", with(`"tools":[{"type":"function","name":"a.b"}]`), 400, "invalid_value", "tools[0].name", "does not match pattern", api},
		{"strict and open", with(`"tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{}}}]`), 400, "invalid_function_parameters", "tools[0].parameters", "'additionalProperties' is required to be supplied and to be false", "https://platform.openai.com/docs/guides/function-calling#strict-mode"},
		{"tool_choice unknown tool", with(`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}`), 400, "", "tool_choice", "Tool choice 'g' not found", api},
		{"tool_choice of chat completions", with(`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","function":{"name":"f"}}`), 400, "missing_required_parameter", "tool_choice.name", "", api},
		{"tool_choice unknown word", with(`"tool_choice":"any"`), 400, "invalid_value", "tool_choice", "'none', 'auto', and 'required'", api},

		{"unknown format", with(`"text":{"format":{"type":"object"}}`), 400, "invalid_value", "text.format.type", "Supported values are: 'json_object', 'json_schema', and 'text'.", github + "epuerta9/deep-research-py/issues/19"},
		{"format without name", with(`"text":{"format":{"type":"json_schema","schema":{}}}`), 400, "missing_required_parameter", "text.format.name", "", api},
		{"strict format and open", with(`"text":{"format":{"type":"json_schema","name":"x","strict":true,"schema":{"type":"object","properties":{}}}}`), 400, "invalid_json_schema", "text.format.schema", "Invalid schema for response_format 'x': In context=(), 'additionalProperties' is required to be supplied and to be false.", github + "mavam/pi-web-providers/issues/14"},
		{"json_object without the word", with(`"text":{"format":{"type":"json_object"}}`), 400, "", "input", "must contain the word 'json'", api},
	}
}

// refusalCase is a bad request and what comes back. All are of the type
// invalid_request_error.
type refusalCase struct {
	name, body  string
	status      int
	code, param string
	words       string // part of the message
	source      string // the documentation, or a reply that was recorded
}

func (tc refusalCase) check(t *testing.T, r *dialect.Refusal) {
	t.Helper()
	if r == nil {
		t.Fatal("accepted")
	}
	if r.Status != tc.status || r.Type != "invalid_request_error" || r.Param != tc.param || r.Code != tc.code || !strings.Contains(r.Message, tc.words) {
		t.Errorf("got %+v", r)
	}
	if !strings.HasPrefix(tc.source, "https://") {
		t.Errorf("no source: %q", tc.source)
	}
}

func TestResponsesRefusals(t *testing.T) {
	for _, tc := range responsesRefusals() {
		t.Run(tc.name, func(t *testing.T) {
			_, r := responses.Read([]byte(tc.body), heldResponse())
			tc.check(t, r)
		})
	}
}

// TestResponsesAccepted holds what real clients send.
func TestResponsesAccepted(t *testing.T) {
	user := harness.Message{Role: harness.RoleUser, Text: "hi"}
	called := harness.Message{Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}}}
	result := harness.Message{Role: harness.RoleTool, CallID: "call_1", Text: "21C"}
	for _, tc := range []struct {
		name, body string
		want       []harness.Message
	}{
		{"text", `{"model":"m","input":"hi"}`, []harness.Message{user}},
		{"null settings", with(`"tools":null,"instructions":null,"max_output_tokens":null,"temperature":null,"previous_response_id":null,"text":null,"reasoning":null`), []harness.Message{user}},
		{"instructions", with(`"instructions":"Be short."`), []harness.Message{{Role: harness.RoleSystem, Text: "Be short."}, user}},
		{
			"openai-agents", `{"model":"m","include":[],"instructions":"x","input":[{"content":"hi","role":"user"},{"arguments":"{}","call_id":"call_1","name":"f","type":"function_call","id":"fc_1","status":"completed"},{"call_id":"call_1","output":[{"type":"input_text","text":"21C"}],"type":"function_call_output"}],"tools":[{"name":"f","parameters":{"title":"fArguments","type":"object","properties":{"a":{"title":"A","type":"string"}}},"strict":false,"type":"function","description":"d"}]}`,
			[]harness.Message{{Role: harness.RoleSystem, Text: "x"}, user, called, result},
		},
		{
			"AI SDK", `{"model":"m","input":[{"role":"developer","content":"x"},{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"21C"}],"tools":[{"type":"function","name":"f","parameters":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}}],"tool_choice":"auto"}`,
			[]harness.Message{{Role: harness.RoleSystem, Text: "x"}, user, called, result},
		},
		{
			"codex", `{"model":"m","store":false,"stream":true,"include":["reasoning.encrypted_content"],"parallel_tool_calls":true,"prompt_cache_key":"k","client_metadata":{"a":"b"},"reasoning":{"summary":"auto"},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"x"},{"type":"function_call","name":"get_weather","namespace":"mcp__weather","arguments":"{}","call_id":"call_1"},{"type":"function_call_output","id":"fco_1","call_id":"call_1","output":"21C"}],"tools":[{"type":"namespace","name":"mcp__weather","description":"d","tools":[{"type":"function","name":"get_weather","strict":false,"parameters":{"type":"object","properties":{}}}]},{"type":"web_search"},{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}]}`,
			[]harness.Message{user, {Role: harness.RoleAssistant, Calls: []harness.ToolCall{{ID: "call_1", Name: "mcp__weather__get_weather", Arguments: "{}"}}}, result},
		},
		{
			"one reply of many items", items(hiItem, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}]}`, `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]}`, callItem, strings.ReplaceAll(callItem, "call_1", "call_2"), outItem, strings.ReplaceAll(outItem, "call_1", "call_2")),
			[]harness.Message{
				user,
				{Role: harness.RoleAssistant, Text: "Let me see.", Reasoning: "Hm.", Calls: []harness.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "call_2", Name: "f", Arguments: "{}"}}},
				result,
				{Role: harness.RoleTool, CallID: "call_2", Text: "21C"},
			},
		},
		{
			"references", items(hiItem, `{"type":"item_reference","id":"rs_1"}`, `{"type":"item_reference","id":"fc_1"}`, outItem),
			[]harness.Message{user, {Role: harness.RoleAssistant, Reasoning: "Hm.", Calls: called.Calls}, result},
		},
		{
			"previous response", `{"model":"m","previous_response_id":"resp_1","instructions":"New.","input":[` + outItem + `]}`,
			[]harness.Message{{Role: harness.RoleSystem, Text: "New."}, {Role: harness.RoleUser, Text: "Weather?"}, called, result},
		},
		{"refusal given back", items(hiItem, `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`), []harness.Message{user, {Role: harness.RoleAssistant, Refusal: "No."}}},
		{"hosted calls", items(hiItem, `{"type":"web_search_call","id":"ws_1","status":"completed"}`), []harness.Message{user}},
		{"json_object", `{"model":"m","input":"give me JSON","text":{"format":{"type":"json_object"},"verbosity":"low"}}`, []harness.Message{{Role: harness.RoleUser, Text: "give me JSON"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, refusal := responses.Read([]byte(tc.body), heldResponse())
			if refusal != nil {
				t.Fatal(refusal)
			}
			if d := cmp.Diff(tc.want, r.Chat.Request().Messages); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if string(r.Chat.Body()) != tc.body {
				t.Errorf("body: %s", r.Chat.Body())
			}
		})
	}
}

func TestResponsesSettings(t *testing.T) {
	r, refusal := responses.Read([]byte(with(`"stream":true,"store":false,"max_output_tokens":20,"parallel_tool_calls":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"tool_choice":{"type":"function","name":"f"},"tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"g"}]}],"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}`)), nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !r.Chat.Stream() || r.Store {
		t.Errorf("got %+v", r)
	}
	want := dialect.Options{ToolChoice: "f", Serial: true, Choices: 1, MaxTokens: 20, Format: "json_schema", Schema: json.RawMessage(`{"type":"object"}`)}
	if d := cmp.Diff(want, r.Chat.Options()); d != "" {
		t.Errorf("options (-want +got):\n%s", d)
	}
	got := []responses.ToolName{r.ToolName("f"), r.ToolName("c"), r.ToolName("ns__g")}
	if d := cmp.Diff([]responses.ToolName{{Name: "f"}, {Name: "c", Custom: true}, {Namespace: "ns", Name: "g"}}, got); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}

// TestResponsesRetry tells equal requests from others.
func TestResponsesRetry(t *testing.T) {
	chat := func(body string) *dialect.Chat {
		r, refusal := responses.Read([]byte(body), nil)
		if refusal != nil {
			t.Fatal(refusal)
		}
		return r.Chat
	}
	a := chat(`{"model":"m","input":"hi"}`)
	if !a.SameMessages(chat(items(hiItem))) {
		t.Error("another spelling is another request")
	}
	if a.SameMessages(chat(`{"model":"m","input":"ho"}`)) {
		t.Error("another text is the same request")
	}
}

func FuzzDecodeResponses(f *testing.F) {
	for _, tc := range responsesRefusals() {
		f.Add([]byte(tc.body))
	}
	f.Add([]byte(items(hiItem, callItem, outItem)))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, refusal := responses.Read(body, heldResponse())
		if r == nil {
			if refusal == nil {
				t.Fatal("neither a request nor a refusal")
			}
			return
		}
		if _, err := json.Marshal(r.Chat.Request()); err != nil && refusal == nil {
			t.Fatal(err)
		}
		if refusal != nil && refusal.Status/100 != 4 {
			t.Fatalf("status %d", refusal.Status)
		}
	})
}

// TestResponsesReadOn holds that a request is read to its end, also where the
// provider would refuse it: a journal has what was sent.
func TestResponsesReadOn(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","seed":1,TOOLS,"input":[INPUT]}`,
		`{"model":"m","truncation":"odd",TOOLS,"input":[INPUT]}`,
		`{"model":"m","previous_response_id":"resp_0",TOOLS,"input":[INPUT]}`,
		`{"model":"m","conversation":"conv_0",TOOLS,"input":[INPUT]}`,
		`{"model":"m",TOOLS,"input":[{"type":"odd"},{"type":"item_reference","id":"no"},INPUT]}`,
	} {
		body = strings.NewReplacer("TOOLS", `"tools":[{"type":"function","name":"f"}]`, "INPUT",
			`{"role":"user","content":"hi"},{"type":"function_call","id":"7","call_id":"a","name":"f g","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"},{}]}`).Replace(body)
		r, refusal := responses.Read([]byte(body), nil)
		if refusal == nil {
			t.Errorf("%s is not refused", body)
		}
		req := r.Chat.Request()
		if m := req.Messages; len(req.Tools) != 1 || len(m) != 3 || m[0].Text != "hi" || len(m[1].Calls) != 1 || m[1].Calls[0].Name != "f g" || m[2].CallID != "a" || m[2].Text != "1" {
			t.Errorf("%s amounts to %+v", body, req)
		}
	}
}
