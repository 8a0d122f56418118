// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/gemini"
)

// Pages of the provider.
const (
	googleGenerate   = "ai.google.dev/api/generate-content"
	googleContent    = "ai.google.dev/api/caching#Content"
	googleSchema     = "ai.google.dev/api/caching#Schema"
	googleTools      = "ai.google.dev/gemini-api/docs/function-calling"
	googleSignatures = "ai.google.dev/gemini-api/docs/thought-signatures"
	googleErrors     = "ai.google.dev/gemini-api/docs/troubleshooting"
	googleProtoJSON  = "protobuf.dev/programming-guides/json"
)

// google is a request with settings and contents.
func google(settings string, contents ...string) string {
	if settings != "" {
		settings += ","
	}
	return `{` + settings + `"contents":[` + strings.Join(contents, ",") + `]}`
}

const (
	googleHi   = `{"role":"user","parts":[{"text":"hi"}]}`
	googleSays = `{"role":"model","parts":[{"text":"so"}]}`
	googleCall = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{"q":1}},"thoughtSignature":"AAAA"}]}`
	googleTwo  = `{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]}`
	googleDone = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"ok"}}}]}`
	googleTool = `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]`
)

func googleParts(role, parts string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, parts)
}

func googleConfig(config string) string { return google(`"generationConfig":{`+config+`}`, googleHi) }

func googleDeclare(declaration string) string {
	return google(`"tools":[{"functionDeclarations":[`+declaration+`]}]`, googleHi)
}

func googleParams(schema string) string {
	return googleDeclare(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":` + schema + `}}}`)
}

func googleCalling(config string) string {
	return google(googleTool+`,"toolConfig":{"functionCallingConfig":{`+config+`}}`, googleHi)
}

func TestGenerateRefusals(t *testing.T) {
	const (
		call     = "function call turn comes immediately after a user turn or after a function response turn"
		response = "function response turn comes immediately after a function call turn"
		count    = "number of function response parts is equal to the number of function call parts"
	)
	for _, tc := range []struct {
		name, body, words string
		source            string
	}{
		{"empty body", ``, "Invalid JSON payload received.", googleErrors},
		{"cut", `{"contents":[`, "Invalid JSON payload received.", googleErrors},
		{"an array", `[]`, "Invalid JSON payload received.", googleErrors},
		{"invalid UTF-8", "{\"model\":\"\xff\"}", "not valid UTF-8", googleErrors},
		{"unknown field", google(`"messages":[]`, googleHi), `Unknown name "messages": Cannot find field.`, googleProtoJSON},
		{"setting of another provider", google(`"max_tokens":5`, googleHi), `Unknown name "max_tokens": Cannot find field.`, googleProtoJSON},
		{"no contents", `{}`, "contents is not specified", "langchain-ai/langchain-google#1393"},
		{"contents empty", google(``), "contents is not specified", "langchain-ai/langchain-google#1393"},
		{"content a text", google(``, `"hi"`), "Invalid value at 'contents[0]', expected an object.", googleContent},
		{"content of another provider", google(``, `{"role":"user","content":"hi"}`), `Unknown name "content" at 'contents[0]'`, googleProtoJSON},
		{"role assistant", google(``, strings.ReplaceAll(googleHi, "user", "assistant")), "Please use a valid role: user, model.", googleContent},
		{"role system", google(``, strings.ReplaceAll(googleHi, "user", "system"), googleHi), "Please use a valid role: user, model.", googleContent},
		{"role of wrong type", google(``, `{"role":1,"parts":[{"text":"hi"}]}`), "Invalid value at 'contents[0].role' (TYPE_STRING), 1", googleContent},
		{"no parts", google(``, `{"role":"user"}`), "contents[0].parts: contents.parts must not be empty", "vercel/ai#3775"},
		{"parts empty", google(``, googleHi, googleSays, `{"role":"user","parts":[]}`), "contents[2].parts: contents.parts must not be empty", "vercel/ai#3775"},
		{"part empty", google(``, `{"role":"user","parts":[{}]}`), "contents[0].parts[0].data: required oneof field 'data' must have one initialized field", "router-for-me/CLIProxyAPI#1292"},
		{"part of a thought alone", google(``, `{"role":"user","parts":[{"thought":true}]}`), "required oneof field 'data'", "boldsoftware/sketch#68"},
		{"part of two", google(``, googleParts("user", `{"text":"a","inlineData":{"mimeType":"image/png","data":""}}`)), "oneof field 'data' is already set. Cannot set 'inlineData'", googleProtoJSON},
		{"part of another provider", google(``, googleParts("user", `{"type":"text","text":"a"}`)), `Unknown name "type" at 'contents[0].parts[0]'`, googleProtoJSON},
		{"text of wrong type", google(``, googleParts("user", `{"text":1}`)), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1", googleProtoJSON},
		{"thought of wrong type", google(``, googleParts("user", `{"text":"a","thought":"yes"}`)), "(TYPE_BOOL)", googleProtoJSON},
		{"signature no base64", google(``, googleHi, googleParts("model", `{"text":"a","thoughtSignature":"***"}`), googleHi), "(TYPE_BYTES), Base64 decoding failed", googleSignatures},
		{"system without parts", google(`"systemInstruction":{}`, googleHi), "system_instruction.parts", googleGenerate},
		{"system with an empty part", google(`"systemInstruction":{"parts":[{}]}`, googleHi), "system_instruction.parts[0].data: required oneof field 'data'", "QuantumNous/new-api#1017"},
		{"ends with the model", google(``, googleHi, googleSays), "end with a user role or a function response", "songquanpeng/one-api#836"},

		{"call first", google(``, googleCall, googleDone), call, "google-gemini/gemini-cli#11814"},
		{"call after a text at the start", google(``, googleSays, googleCall, googleDone), call, "google-gemini/gemini-cli#11814"},
		{"call by the user", google(``, googleHi, strings.ReplaceAll(googleCall, "model", "user"), googleDone), call, "google-gemini/gemini-cli#26486"},
		{"call without response", google(``, googleHi, googleCall, googleHi), count, "google-gemini/gemini-cli#17208"},
		{"call last", google(``, googleHi, googleCall), count, "google-gemini/gemini-cli#7410"},
		{"one of two responses", google(``, googleHi, googleTwo, googleDone), count, "google-gemini/gemini-cli#5443"},
		{"two responses for one call", google(``, googleHi, googleCall, googleParts("user", `{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"f","response":{}}}`)), count, "google-gemini/gemini-cli#3814"},
		{"responses in two contents", google(``, googleHi, googleTwo, googleDone, strings.ReplaceAll(googleDone, `"f"`, `"g"`)), count, "google-gemini/gemini-cli#26956"},
		{"response first", google(``, googleDone), response, "GoogleCloudPlatform/generative-ai#368"},
		{"response after a text", google(``, googleHi, googleSays, googleDone), response, "GoogleCloudPlatform/generative-ai#368"},
		{"response by the model", google(``, googleHi, googleCall, strings.ReplaceAll(googleDone, "user", "model"), googleDone), response, googleTools},
		{"call without name", google(``, googleHi, strings.ReplaceAll(googleCall, `"name":"f",`, ""), googleDone), "function_call.name: Name cannot be empty", googleTools},
		{"arguments a text", google(``, googleHi, strings.ReplaceAll(googleCall, `{"q":1}`, `"{}"`), googleDone), "function_call.args' (type.googleapis.com/google.protobuf.Struct)", googleProtoJSON},
		{"call of another provider", google(``, googleHi, strings.ReplaceAll(googleCall, `"args"`, `"arguments"`), googleDone), `Unknown name "arguments" at 'contents[1].parts[0].function_call'`, googleProtoJSON},
		{"response without name", google(``, googleHi, googleCall, strings.ReplaceAll(googleDone, `"name":"f",`, "")), "function_response.name: Name cannot be empty", googleTools},
		{"response a text", google(``, googleHi, googleCall, strings.ReplaceAll(googleDone, `{"result":"ok"}`, `"ok"`)), "function_response.response' (type.googleapis.com/google.protobuf.Struct)", "AstrBotDevs/AstrBot#7216"},
		{"response a list", google(``, googleHi, googleCall, strings.ReplaceAll(googleDone, `{"result":"ok"}`, `["ok"]`)), `Unknown name "response" at 'contents[2].parts[0].function_response': Proto field is not repeating`, "vercel/ai#3589"},
		{"call without its signature", google(``, googleHi, strings.ReplaceAll(googleCall, `,"thoughtSignature":"AAAA"`, ""), googleDone), "Function call is missing a thought_signature", "nanbingxyz/5ire#405"},

		{"temperature too high", googleConfig(`"temperature":3`), "temperature must be in the range [0, 2]", googleGenerate},
		{"temperature of wrong type", googleConfig(`"temperature":"hot"`), "(TYPE_FLOAT)", googleGenerate},
		{"top_p too high", googleConfig(`"topP":1.5`), "top_p must be in the range [0, 1]", googleGenerate},
		{"max tokens zero", googleConfig(`"maxOutputTokens":0`), "max_output_tokens must be positive", googleGenerate},
		{"max tokens a fraction", googleConfig(`"maxOutputTokens":1.5`), "(TYPE_INT32)", googleGenerate},
		{"no candidates", googleConfig(`"candidateCount":0`), "candidate_count must be in the range [1, 8]", googleGenerate},
		{"too many stops", googleConfig(`"stopSequences":["a","b","c","d","e","f"]`), "at most 5 stop sequences", googleGenerate},
		{"mime type", googleConfig(`"responseMimeType":"text/html"`), "allowed mimetypes are", googleGenerate},
		{"schema without mime type", googleConfig(`"responseSchema":{"type":"STRING"}`), "only allowed when response_mime_type is application/json", googleGenerate},
		{"schema of none", googleConfig(`"responseMimeType":"application/json","responseSchema":{"type":"text"}`), "'generation_config.response_schema.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type)", googleSchema},
		{"schema with additionalProperties in the config", googleConfig(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"additionalProperties":false}`), `Unknown name "additionalProperties" at 'generation_config.response_schema'`, "glowingjade/obsidian-smart-composer#455"},
		{"schema of an empty object", googleConfig(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"}`), "GenerateContentRequest.generation_config.response_schema.properties: should be non-empty for OBJECT type", googleSchema},
		{"config a list", google(`"generationConfig":[]`, googleHi), "Invalid value at 'generation_config', expected an object.", googleProtoJSON},

		{"tool of another provider", google(`"tools":[{"type":"function","function":{"name":"f"}}]`, googleHi), `Unknown name "function" at 'tools[0]'`, googleProtoJSON},
		{"declaration without name", googleDeclare(`{"description":"d"}`), "function_declarations[0].name: Invalid function name", googleTools},
		{"name with a space", googleDeclare(`{"name":"a b"}`), "Invalid function name", "kaitranntt/ccs#219"},
		{"name from a digit", googleDeclare(`{"name":"21st_magic"}`), "Invalid function name", "SuperClaude-Org/SuperGemini_Framework#12"},
		{"name too long", googleDeclare(`{"name":"` + strings.Repeat("f", 65) + `"}`), "with a maximum length of 64", "google-gemini/gemini-cli#9535"},
		{"declared twice", googleDeclare(`{"name":"f"},{"name":"f"}`), "Duplicate function declaration found: f", googleTools},
		{"declaration with strict", googleDeclare(`{"name":"f","strict":true}`), `Unknown name "strict"`, googleProtoJSON},
		{"two schemas", googleDeclare(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}},"parametersJsonSchema":{}}`), "only one of parameters and parameters_json_schema", googleTools},
		{"schema with additionalProperties", googleParams(`{"type":"STRING","additionalProperties":false}`), `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.`, "glowingjade/obsidian-smart-composer#455"},
		{"schema with const", googleParams(`{"type":"STRING","const":"a"}`), `Unknown name "const"`, "zed-extensions/mcp-server-brave-search#12"},
		{"schema with $schema", googleDeclare(`{"name":"f","parameters":{"$schema":"x","type":"OBJECT","properties":{"a":{"type":"STRING"}}}}`), `Unknown name "$schema" at 'tools[0].function_declarations[0].parameters'`, "openswarm-ai/openswarm#24"},
		{"type a list", googleParams(`{"type":["string","null"]}`), "Proto field is not repeating, cannot start list", "zed-industries/zed#53919"},
		{"type of none", googleParams(`{"type":"enum"}`), "(type.googleapis.com/google.ai.generativelanguage.v1beta.Type)", "google-gemini/deprecated-generative-ai-js#320"},
		{"type empty", googleParams(`{"type":""}`), "(type.googleapis.com/google.ai.generativelanguage.v1beta.Type)", "zereight/gitlab-mcp#166"},
		{"object without properties", googleDeclare(`{"name":"f","parameters":{"type":"object","properties":{}}}`), "parameters.properties: should be non-empty for OBJECT type", "CherryHQ/cherry-studio#3270"},
		{"array without items", googleParams(`{"type":"ARRAY"}`), "items: missing field", "cline/cline#7339"},
		{"enum of integers", googleParams(`{"type":"INTEGER","enum":[1]}`), "enum: only allowed for STRING type", "decolua/9router#380"},
		{"enum with a number", googleParams(`{"type":"STRING","enum":[1]}`), "enum[0]' (TYPE_STRING), 1", "google-gemini/gemini-cli#4120"},
		{"properties of a text", googleParams(`{"type":"STRING","properties":{"b":{"type":"STRING"}}}`), "properties: only allowed for OBJECT type", "anomalyco/opencode#11889"},
		{"required but not defined", googleDeclare(`{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"required":["b"]}}`), "required[0]: property is not defined", googleSchema},
		{"mode of none", googleCalling(`"mode":"required"`), "FunctionCallingConfig.Mode", googleTools},
		{"names beside AUTO", googleCalling(`"mode":"AUTO","allowedFunctionNames":["f"]`), "should be set only when the function calling mode is ANY", googleTools},
		{"name not declared", googleCalling(`"mode":"ANY","allowedFunctionNames":["h"]`), `function "h" is not declared`, googleTools},
		{"mode without tools", google(`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`, googleHi), "Function calling config is set without function_declarations", "AstrBotDevs/AstrBot#7407"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.source == "" {
				t.Error("the row says not where it is from")
			}
			_, r := gemini.Read([]byte(tc.body), &dialect.Query{Model: "gemini-3-pro-preview"})
			if r == nil {
				t.Fatal("not refused")
			}
			if r.Status != http.StatusBadRequest || r.Type != "INVALID_ARGUMENT" || !strings.Contains(r.Message, tc.words) {
				t.Errorf("refused with %v; want 400 INVALID_ARGUMENT with %q", r, tc.words)
			}
			var got struct {
				Error struct {
					Code            int
					Message, Status string
				}
			}
			if err := json.Unmarshal(gemini.Error(r, false), &got); err != nil {
				t.Fatal(err)
			}
			if got.Error.Code != r.Status || got.Error.Status != r.Type || got.Error.Message != r.Message {
				t.Errorf("the body is %+v", got)
			}
		})
	}
}

// TestGenerateAccepts has what real clients send.
func TestGenerateAccepts(t *testing.T) {
	for _, tc := range []struct{ name, model, body string }{
		{"plain", "", google(``, googleHi)},
		{"no role", "", google(``, `{"parts":[{"text":"hi"}]}`)},
		{"items in place of lists", "", `{"system_instruction":{"parts":{"text":"be brief"}},"contents":{"parts":{"text":"hi"}}}`},
		{"text empty", "", google(``, `{"role":"user","parts":[{"text":""}]}`)},
		{"snake case", "", google(`"generation_config":{"max_output_tokens":5,"thinking_config":{"include_thoughts":true}},"tools":[{"function_declarations":[{"name":"f","parameters_json_schema":{"type":"object","properties":{},"additionalProperties":false}}]}],"tool_config":{"function_calling_config":{"mode":"any","allowed_function_names":["f"]}}`, googleHi)},
		{"two users in a row", "", google(``, googleHi, googleHi)},
		{"a stream sent back in pieces", "", google(googleTool, googleHi, googleSays, googleSays, googleCall, googleDone)},
		{"its last chunk empty", "", google(googleTool, googleHi, googleSays, googleCall, googleParts("model", `{"text":""}`), googleDone)},
		{"response and text", "", google(googleTool, googleHi, googleCall, googleParts("user", `{"functionResponse":{"name":"f","response":{"result":"ok"}}},{"text":"go on"}`))},
		{"response by the role function", "", google(googleTool, googleHi, googleCall, strings.ReplaceAll(googleDone, "user", "function"))},
		{"response of another name", "", google(googleTool, googleHi, googleCall, strings.ReplaceAll(googleDone, `"f"`, `"call_1338bc52"`))},
		{"signature of a client", "gemini-3-pro-preview", google(googleTool, googleHi, strings.ReplaceAll(googleCall, "AAAA", "skip_thought_signature_validator"), googleDone)},
		{"no signature before Gemini 3", "gemini-2.5-flash", google(googleTool, googleHi, googleTwo, googleParts("user", `{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}`))},
		{"no signature in an earlier turn", "gemini-3-pro-preview", google(googleTool, googleHi, strings.ReplaceAll(googleCall, `,"thoughtSignature":"AAAA"`, ""), googleDone, googleSays, googleHi)},
		{"types in small letters", "", googleParams(`{"type":"array","items":{"type":"string","enum":["a"]},"nullable":true,"format":"x"}`)},
		{"own tools", "", google(`"tools":[{"googleSearch":{}},{"codeExecution":{}}]`, googleHi)},
		{"an image", "", google(``, googleParts("user", `{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"text":"what is it?"}`))},
		{"config empty", "", google(`"generationConfig":{},"safetySettings":[],"tools":[],"labels":{}`, googleHi)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, r := gemini.Read([]byte(tc.body), &dialect.Query{Model: tc.model}); r != nil {
				t.Errorf("refused: %v", r)
			}
		})
	}
}

func TestDecodeGenerate(t *testing.T) {
	body := `{"systemInstruction":{"role":"user","parts":[{"text":"be brief"}]},
		"generationConfig":{"temperature":0.5,"maxOutputTokens":9,"stopSequences":["END"],"candidateCount":2,"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}},
		"tools":[{"functionDeclarations":[{"name":"f","description":"does","parametersJsonSchema":{"type":"object"}},{"name":"g"}]}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
		"contents":[{"parts":[{"text":"a"},{"text":"b"}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"text":"s"}]},
			{"role":"model","parts":[{"text":"o"},{"functionCall":{"name":"f","args":{"q":1}},"thoughtSignature":"AAAA"},{"functionCall":{"id":"x","name":"g"}},{"functionCall":{"name":"f"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"g","id":"x","response":{"a":1}}},{"functionResponse":{"name":"f","response":{"output":"first"}}},{"functionResponse":{"name":"other","response":{"result":[2]}}},{"text":"go on"}]}]}`
	var asked []harness.ToolCall
	req, refusal := gemini.Read([]byte(body), &dialect.Query{Model: "gemini-3-pro", Stream: true, IDs: func(calls []harness.ToolCall) []string {
		asked = append(asked, calls...)
		return []string{"1", "2", "3"}
	}})
	if refusal != nil {
		t.Fatal(refusal)
	}
	warm := 0.5
	want := harness.Request{
		Model: "gemini-3-pro", ToolChoice: "required", Temperature: &warm, MaxTokens: 9, Stream: true,
		Tools: []harness.Tool{{Name: "f", Description: "does", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "g"}},
		Messages: []harness.Message{
			{Role: harness.RoleSystem, Text: "be brief"},
			{Role: harness.RoleUser, Text: "a\nb", Parts: []string{"a", "b"}},
			{Role: harness.RoleAssistant, Text: "so", Reasoning: "hm", Calls: []harness.ToolCall{
				{ID: "1", Name: "f", Arguments: `{"q":1}`}, {ID: "2", Name: "g", Arguments: "{}"}, {ID: "3", Name: "f", Arguments: "{}"},
			}},
			{Role: harness.RoleTool, CallID: "2", Tool: "g", Text: `{"a":1}`},
			{Role: harness.RoleTool, CallID: "1", Tool: "f", Text: "first"},
			{Role: harness.RoleTool, CallID: "3", Tool: "other", Text: "[2]"},
			{Role: harness.RoleUser, Text: "go on"},
		},
	}
	if diff := cmp.Diff(want, req.Chat.Request(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if len(asked) != 3 || asked[1].ID != "x" {
		t.Errorf("asked for the ids of %v", asked)
	}
	o := req.Chat.Options()
	if o.Choices != 2 || o.Format != "json_schema" || string(o.Schema) != `{"type":"object"}` || len(o.Stop) != 1 || !req.Continues {
		t.Errorf("options %+v, continues %v", o, req.Continues)
	}
}

// TestGenerateWithoutIDs has a history of a client that knows of no ids.
func TestGenerateWithoutIDs(t *testing.T) {
	body := google(googleTool, googleHi, googleTwo, googleParts("user", `{"functionResponse":{"name":"g","response":{"result":"G"}}},{"functionResponse":{"name":"f","response":{"result":"F"}}}`))
	req, refusal := gemini.Read([]byte(body), &dialect.Query{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	m := req.Chat.Request().Messages
	f, g := m[1].Calls[0].ID, m[1].Calls[1].ID
	if f == g || m[2].CallID != g || m[3].CallID != f || m[2].Text != "G" {
		t.Errorf("messages %+v", m)
	}
}

// TestGenerateAnswers has the calls that the responses of a client are for.
func TestGenerateAnswers(t *testing.T) {
	const (
		named = `{"functionCall":{"id":"x","name":"f"}},{"functionCall":{"id":"y","name":"g"}}`
		bare  = `{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}`
		twins = `{"functionCall":{"id":"x","name":"f"}},{"functionCall":{"id":"x","name":"f"}}`
	)
	given := func(calls []harness.ToolCall) []string { return []string{"1", "2"} }
	for _, tc := range []struct {
		name, calls string
		answers     [2]string // "id name"; an id of - is none
		ids         func([]harness.ToolCall) []string
		want        string
	}{
		{"by id", named, [2]string{"x f", "y g"}, nil, "x f, y g"},
		{"by id, in another order", named, [2]string{"y g", "x f"}, nil, "y g, x f"},
		{"by id, under other names", named, [2]string{"x g", "y f"}, nil, "x g, y f"},
		{"by id, names that no call has", named, [2]string{"x zzz", "y zzz"}, nil, "x zzz, y zzz"},
		{"by the endpoint's id", named, [2]string{"1 f", "2 g"}, given, "1 f, 2 g"},
		{"by the client's id of a call that the endpoint knows", named, [2]string{"x f", "y g"}, given, "1 f, 2 g"},
		{"ids that no call has", named, [2]string{"zzz f", "zzz g"}, nil, "zzz f, zzz g"},
		{"one id that no call has", named, [2]string{"x f", "zzz g"}, given, "1 f, zzz g"},
		{"an empty response to one id twice", named, [2]string{"x f", "x g"}, nil, "x f, x g"},
		{"one id for two calls", twins, [2]string{"x f", "x f"}, given, "1 f, 2 f"},
		{"no ids", named, [2]string{"- g", "- f"}, nil, "y g, x f"},
		{"no ids, and a name that no call has", named, [2]string{"- zzz", "- g"}, nil, "x zzz, y g"},
		{"one id of two", named, [2]string{"- f", "y g"}, nil, "x f, y g"},
		{"ids of the client's own for calls without", bare, [2]string{"f-1 f", "g-2 g"}, given, "1 f, 2 g"},
		{"ids of the client's own, in another order", bare, [2]string{"g-2 g", "f-1 f"}, given, "2 g, 1 f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var parts []string
			for _, a := range tc.answers {
				id, name, _ := strings.Cut(a, " ")
				if id = fmt.Sprintf(`"id":%q,`, id); id == `"id":"-",` {
					id = ""
				}
				parts = append(parts, fmt.Sprintf(`{"functionResponse":{%s"name":%q,"response":{"result":"ok"}}}`, id, name))
			}
			body := google(googleTool, googleHi, googleParts("model", tc.calls), googleParts("user", strings.Join(parts, ",")))
			req, refusal := gemini.Read([]byte(body), &dialect.Query{IDs: tc.ids})
			if refusal != nil {
				t.Fatal(refusal)
			}
			var got []string
			for _, m := range req.Chat.Request().Messages[2:] {
				got = append(got, m.CallID+" "+m.Tool)
			}
			if got := strings.Join(got, ", "); got != tc.want {
				t.Errorf("the responses are for %s, want %s", got, tc.want)
			}
		})
	}
}

func TestGenerateError(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    dialect.Refusal
		want string
	}{
		{"miss", dialect.Refusal{Status: 422, Type: "rehearse_miss"}, "REHEARSE_MISS"},
		{"unknown model", dialect.Refusal{Status: 404, Type: "invalid_request_error"}, "NOT_FOUND"},
		{"rate limit", dialect.Refusal{Status: 429, Type: "requests"}, "RESOURCE_EXHAUSTED"},
		{"key", dialect.Refusal{Status: 401}, "UNAUTHENTICATED"},
		{"forbidden", dialect.Refusal{Status: 403}, "PERMISSION_DENIED"},
		{"overloaded", dialect.Refusal{Status: 503}, "UNAVAILABLE"},
		{"server", dialect.Refusal{Status: 500, Type: "server_error"}, "INTERNAL"},
		{"timeout", dialect.Refusal{Status: 504}, "DEADLINE_EXCEEDED"},
		{"other", dialect.Refusal{Status: 413, Type: "invalid_request_error"}, "INVALID_ARGUMENT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []struct{ Error struct{ Status string } }
			if err := json.Unmarshal(gemini.Error(&tc.r, true), &got); err != nil || got[0].Error.Status != tc.want {
				t.Errorf("%v (%v), want %q", got, err, tc.want)
			}
		})
	}
	_, r := gemini.Read([]byte(google(`"x":1`, googleHi)), &dialect.Query{})
	want := `{
  "error": {
    "code": 400,
    "message": "Invalid JSON payload received. Unknown name \"x\": Cannot find field.",
    "status": "INVALID_ARGUMENT",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [
          {
            "description": "Invalid JSON payload received. Unknown name \"x\": Cannot find field."
          }
        ]
      }
    ]
  }
}
`
	if diff := cmp.Diff(want, string(gemini.Error(r, false))); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func FuzzDecodeGenerate(f *testing.F) {
	for _, seed := range []string{
		google(googleTool, googleHi, googleTwo, googleDone), google(`"systemInstruction":"hi"`, googleHi, googleCall, googleDone),
		googleParams(`{"type":"ARRAY","items":{"anyOf":[{"type":"STRING"},null]}}`), googleCalling(`"mode":"ANY"`),
		`{"contents":[null,{"parts":[null,{"functionCall":null}]},{"role":"model","parts":{"functionCall":{"name":"f","args":null}}}],"tools":[null,{"functionDeclarations":[null]}]}`,
	} {
		f.Add(seed, "gemini-3-pro")
	}
	f.Fuzz(func(t *testing.T, body, model string) {
		opts := &dialect.Query{Model: model}
		req, refusal := gemini.Read([]byte(body), opts)
		again, same := gemini.Read([]byte(body), opts)
		if diff := cmp.Diff(refusal, same); diff != "" {
			t.Fatalf("decoded twice (-first +second):\n%s", diff)
		}
		if refusal != nil && !json.Valid(gemini.Error(refusal, true)) {
			t.Error("the error is no JSON")
		}
		if req == nil {
			if refusal == nil {
				t.Fatal("neither request nor refusal")
			}
			return
		}
		if !req.Chat.SameMessages(again.Chat) {
			t.Error("a request differs from itself")
		}
		if _, err := json.Marshal(req.Chat.Request()); err != nil {
			t.Error(err)
		}
	})
}

func FuzzDecodeEmbedContent(f *testing.F) {
	for _, s := range []string{
		`{"content":{"parts":[{"text":"a"}]},"outputDimensionality":3}`, `{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"},{}]}}]}`,
		`{"requests":{"content":1}}`, `{"content":[]}`, `[]`, ``, `{"embedContentConfig":{"outputDimensionality":"2"}}`,
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, body string, batch bool) {
		e, sizes, refusal := gemini.ReadEmbedContent([]byte(body), "m", batch)
		if e == nil && refusal == nil || e != nil && (e.Chat == nil || len(e.Inputs) != len(sizes)) {
			t.Errorf("%+v %v %v", e, sizes, refusal)
		}
		for _, n := range sizes {
			if n < 1 {
				t.Errorf("%d numbers", n)
			}
		}
	})
}
