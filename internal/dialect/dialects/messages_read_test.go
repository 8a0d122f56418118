// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/messages"
)

// Pages of the provider, and threads with replies of it.
const (
	claudeMessages = "docs.claude.com/en/api/messages"
	claudeErrors   = "docs.claude.com/en/api/errors"
	claudeThinking = "docs.claude.com/en/docs/build-with-claude/extended-thinking"
	claudeTools    = "docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use"
	claudeCaching  = "docs.claude.com/en/docs/build-with-claude/prompt-caching"
	claudeVision   = "docs.claude.com/en/docs/build-with-claude/vision"
	claudeCounting = "docs.claude.com/en/api/messages-count-tokens"
)

// claude is a request with settings and messages.
func claude(settings string, messages ...string) string {
	if settings != "" {
		settings += ","
	}
	return `{"model":"claude-sonnet-4-5","max_tokens":2048,` + settings + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	claudeHi   = `{"role":"user","content":"hi"}`
	claudeUse  = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"q":1}}]}`
	claudeTwo  = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}},{"type":"tool_use","id":"toolu_2","name":"f","input":{}}]}`
	claudeDone = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}`
	claudeTool = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
)

func claudeSchema(schema string) string {
	return claude(`"tools":[{"name":"f","input_schema":`+schema+`}]`, claudeHi)
}

func claudeBlocks(role, blocks string) string {
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, blocks)
}

func TestMessagesRefusals(t *testing.T) {
	thinking := `"thinking":{"type":"enabled","budget_tokens":1024}`
	mark := `,"cache_control":{"type":"ephemeral"}`
	text := `{"type":"text","text":"a"` + mark + `}`
	for _, tc := range []struct {
		name, body, words string
		source            string
	}{
		{"empty body", ``, "not valid JSON", claudeErrors},
		{"cut", `{`, "not valid JSON", claudeErrors},
		{"an array", `[]`, "not an object", claudeErrors},
		{"invalid UTF-8", "{\"model\":\"\xff\"}", "not valid UTF-8", claudeErrors},
		{"no model", `{"max_tokens":1,"messages":[` + claudeHi + `]}`, "model: Field required", claudeMessages},
		{"model of wrong type", `{"model":1,"max_tokens":1,"messages":[` + claudeHi + `]}`, "model: Input should be a valid string", claudeMessages},
		{"model empty", `{"model":"","max_tokens":1,"messages":[` + claudeHi + `]}`, "model: String should have at least 1 character", claudeMessages},
		{"no max_tokens", `{"model":"m","messages":[` + claudeHi + `]}`, "max_tokens: Field required", claudeMessages},
		{"max_tokens negative", `{"model":"m","max_tokens":-1,"messages":[` + claudeHi + `]}`, "max_tokens: Input should be greater than or equal to 0", claudeMessages},
		{"max_tokens of wrong type", `{"model":"m","max_tokens":"1","messages":[` + claudeHi + `]}`, "max_tokens: Input should be a valid integer", claudeMessages},
		{"max_tokens a fraction", `{"model":"m","max_tokens":1.5,"messages":[` + claudeHi + `]}`, "max_tokens: Input should be a valid integer", claudeMessages},
		{"temperature too high", claude(`"temperature":1.5`, claudeHi), "temperature: Input should be less than or equal to 1", claudeMessages},
		{"temperature of wrong type", claude(`"temperature":"hot"`, claudeHi), "temperature: Input should be a valid number", claudeMessages},
		{"top_p too low", claude(`"top_p":-1`, claudeHi), "top_p: Input should be greater than or equal to 0", claudeMessages},
		{"top_k too low", claude(`"top_k":-1`, claudeHi), "top_k: Input should be greater than or equal to 0", claudeMessages},
		{"stream of wrong type", claude(`"stream":"yes"`, claudeHi), "stream: Input should be a valid boolean", claudeMessages},
		{"stop sequence blank", claude(`"stop_sequences":[" "]`, claudeHi), "each stop sequence must contain non-whitespace", "BerriAI/litellm#3286"},
		{"stop sequences a text", claude(`"stop_sequences":"x"`, claudeHi), "stop_sequences: Input should be a valid list", claudeMessages},
		{"metadata of wrong type", claude(`"metadata":"u"`, claudeHi), "metadata: Input should be a valid dictionary", claudeMessages},
		{"setting of another provider", claude(`"frequency_penalty":0`, claudeHi), "frequency_penalty: Extra inputs are not permitted", claudeMessages},
		{"response_format", claude(`"response_format":{"type":"json_object"}`, claudeHi), "response_format: Extra inputs are not permitted", claudeMessages},

		{"no messages", `{"model":"m","max_tokens":1}`, "messages: Field required", claudeMessages},
		{"messages a text", `{"model":"m","max_tokens":1,"messages":"hi"}`, "messages: Input should be a valid list", claudeMessages},
		{"messages empty", claude(``), "messages: at least one message is required", claudeMessages},
		{"message a text", claude(``, `"hi"`), "messages.0: Input should be a valid dictionary", claudeMessages},
		{"no role", claude(``, `{"content":"hi"}`), "messages.0.role: Field required", claudeMessages},
		{"role system first", claude("", `{"role":"system","content":"x"}`, claudeHi), `messages.0: a "system" message cannot be the first one`, claudeMessages},
		{"role system after an assistant", claude("", claudeHi, `{"role":"assistant","content":"x"}`, `{"role":"system","content":"x"}`, claudeHi), `messages.2: a "system" message must come after a "user" message`, "simonw/llm-anthropic#73"},
		{"role system without content", claude("", claudeHi, `{"role":"system"}`), "messages.1.content: Field required", claudeMessages},
		{"role system blank", claude("", claudeHi, `{"role":"system","content":" "}`), "must contain non-whitespace text", claudeMessages},
		{"role system with an image", claude("", claudeHi, `{"role":"system","content":[{"type":"image"}]}`), "messages.1.content.0: Input tag 'image'", claudeMessages},
		{"role system clears never", claude("", claudeHi, `{"role":"system","content":"x","clear_at":"now"}`), "messages.1.clear_at: Input should be", claudeMessages},
		{"role system removes an unknown tool", claude(claudeTool, claudeHi, `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"g"}}]}`), "Tool 'g' not found in provided tools", claudeMessages},
		{"thread of another kind", claude(`"thread":{"type":"fork"}`, claudeHi), "thread: Input tag 'fork'", claudeMessages},
		{"thread without a kind", claude(`"thread":{}`, claudeHi), "thread: Unable to extract tag", claudeMessages},
		{"thread without an id", claude(`"thread":{"type":"continue"}`, claudeHi), "thread.continue.previous_message_id: Field required", claudeMessages},
		{"thread and thinking", claude(`"thread":{"type":"create"},`+thinking, claudeHi), "thread: cannot be combined with thinking", claudeMessages},
		{"role tool", claude(``, `{"role":"tool","content":"hi"}`), "messages.0.role: Input should be 'user' or 'assistant'", claudeMessages},
		{"assistant first", claude(``, `{"role":"assistant","content":"hi"}`, claudeHi), `first message must use the "user" role`, "lobehub/lobehub#1601"},
		{"two users in a row", claude(``, claudeHi, claudeHi), `found multiple "user" roles in a row`, "etkecc/baibot#13"},
		{"message of another provider", claude(``, `{"role":"user","content":"hi","name":"x"}`), "messages.0.name: Extra inputs are not permitted", claudeMessages},
		{"no content", claude(``, `{"role":"user"}`), "messages.0.content: Field required", claudeMessages},
		{"content null", claude(``, `{"role":"user","content":null}`), "messages.0.content: Input should be a valid list", claudeMessages},
		{"content empty", claude(``, `{"role":"user","content":""}`), "messages.0: all messages must have non-empty content", "anthropics/claude-code#6774"},
		{"content without blocks", claude(``, claudeBlocks("user", ``)), "messages.0: all messages must have non-empty content", "anthropics/claude-code#6774"},
		{"text block empty", claude(``, claudeBlocks("user", `{"type":"text","text":""}`)), "text content blocks must be non-empty", "anthropics/claude-code#59812"},
		{"text block blank", claude(``, claudeBlocks("user", `{"type":"text","text":" \n"}`)), "must contain non-whitespace text", "anthropics/claude-code#23440"},
		{"text block without text", claude(``, claudeBlocks("user", `{"type":"text"}`)), "messages.0.content.0.text.text: Field required", claudeMessages},
		{"block a text", claude(``, claudeBlocks("user", `"hi"`)), "messages.0.content.0: Input should be a valid dictionary", claudeMessages},
		{"block without type", claude(``, claudeBlocks("user", `{"text":"hi"}`)), "messages.0.content.0.type: Field required", claudeMessages},
		{"block of another provider", claude(``, claudeBlocks("user", `{"type":"image_url","image_url":{}}`)), "Input tag 'image_url'", claudeMessages},
		{"image without source", claude(``, claudeBlocks("user", `{"type":"image"}`)), "messages.0.content.0.image.source: Field required", claudeVision},
		{"image of a kind", claude(``, claudeBlocks("user", `{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}`)), "media_type: Input should be 'image/jpeg'", claudeVision},
		{"trailing white space", claude(``, claudeHi, `{"role":"assistant","content":"I "}`), "final assistant content cannot end with trailing whitespace", "tailcallhq/forgecode#1872"},
		{"system empty", claude(`"system":[{"type":"text","text":""}]`, claudeHi), "system: text content blocks must be non-empty", "dimagi/open-chat-studio#1969"},
		{"system with an image", claude(`"system":[{"type":"image"}]`, claudeHi), "system.0.type: Input should be 'text'", claudeMessages},
		{"cache marks", claude(``, claudeBlocks("user", strings.Join([]string{text, text, text, text, text}, ","))), "A maximum of 4 blocks with cache_control may be provided. Found 5.", claudeCaching},
		{"cache mark of a kind", claude(``, claudeBlocks("user", `{"type":"text","text":"a","cache_control":{"type":"forever"}}`)), "cache_control.type: Input should be 'ephemeral'", claudeCaching},

		{"call without result", claude(claudeTool, claudeHi, claudeUse, claudeHi), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1", "anthropics/claude-code#3512"},
		{"call last", claude(claudeTool, claudeHi, claudeUse), "messages.1: `tool_use` ids were found without", "anthropics/claude-code#8210"},
		{"one of two results", claude(claudeTool, claudeHi, claudeTwo, claudeDone), "immediately after: toolu_2", "anthropics/claude-code#5989"},
		{"results in two messages", claude(claudeTool, claudeHi, claudeTwo, claudeDone, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2"}]}`), "immediately after: toolu_2", claudeTools},
		{"text before the result", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"toolu_1"}`)), "immediately after: toolu_1", claudeTools},
		{"result without call", claude(claudeTool, claudeDone), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1", "anthropics/claude-code#18947"},
		{"result too late", claude(claudeTool, claudeHi, claudeUse, claudeDone, `{"role":"assistant","content":"ok"}`, claudeDone), "messages.4.content.0: unexpected `tool_use_id`", "anthropics/claude-code#13460"},
		{"two results", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","tool_use_id":"toolu_1"},{"type":"tool_result","tool_use_id":"toolu_1"}`)), "messages.2.content.1: each tool_use must have a single result", claudeTools},
		{"ids twice in a message", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeTwo, "toolu_2", "toolu_1"), claudeDone), "messages.1.content.1: `tool_use` ids must be unique", "anthropics/claude-code#20901"},
		{"ids twice", claude(claudeTool, claudeHi, claudeUse, claudeDone, claudeUse, claudeDone), "messages.3.content.0: `tool_use` ids must be unique", "BerriAI/litellm#23510"},
		{"id of other letters", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, "toolu_1", "a.b"), claudeDone), "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "maximhq/bifrost#5097"},
		{"call without input", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, `,"input":{"q":1}`, ""), claudeDone), "tool_use.input: Field required", claudeTools},
		{"input a text", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, `{"q":1}`, `"{}"`), claudeDone), "tool_use.input: Input should be a valid dictionary", "anthropics/anthropic-sdk-typescript#648"},
		{"call without name", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, `"name":"f",`, ""), claudeDone), "tool_use.name: Field required", claudeTools},
		{"name of a call too long", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, `"f"`, `"`+strings.Repeat("f", 201)+`"`), claudeDone), "tool_use.name: String should have at most 200 characters", "anthropics/claude-code#2673"},
		{"call by the user", claude(claudeTool, strings.ReplaceAll(claudeUse, "assistant", "user"), claudeHi), "`tool_use` blocks can only be in `assistant` messages", claudeTools},
		{"result by the assistant", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeDone, "user", "assistant")), "`tool_result` blocks can only be in `user` messages", claudeTools},
		{"result without id", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","content":"ok"}`)), "tool_result.tool_use_id: Field required", claudeTools},
		{"result with a block of another provider", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"input_text","text":"x"}]}`)), "Input tag 'input_text'", claudeTools},
		{"is_error of wrong type", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","tool_use_id":"toolu_1","is_error":"no"}`)), "is_error: Input should be a valid boolean", claudeTools},

		{"tools an object", claude(`"tools":{}`, claudeHi), "tools: Input should be a valid list", claudeTools},
		{"tool a text", claude(`"tools":["f"]`, claudeHi), "tools.0: Input should be a valid dictionary", claudeTools},
		{"tool of another provider", claude(`"tools":[{"type":"function","function":{"name":"f"}}]`, claudeHi), "tools.0: Input tag 'function'", claudeTools},
		{"tool without name", claude(`"tools":[{"input_schema":{"type":"object"}}]`, claudeHi), "tools.0.custom.name: Field required", claudeTools},
		{"tool name with a dot", claude(`"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`, claudeHi), "tools.0.custom.name: String should match pattern", "home-assistant/core#147760"},
		{"tool name too long", claude(`"tools":[{"name":"`+strings.Repeat("f", 129)+`","input_schema":{"type":"object"}}]`, claudeHi), "tools.0.custom.name: String should match pattern", "home-assistant/core#147760"},
		{"tool twice", claude(`"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, claudeHi), "tools: Tool names must be unique.", "anthropics/claude-code#10687"},
		{"tool without schema", claude(`"tools":[{"name":"f"}]`, claudeHi), "tools.0.custom.input_schema: Field required", claudeTools},
		{"tool with parameters", claude(`"tools":[{"name":"f","parameters":{"type":"object"}}]`, claudeHi), "tools.0.custom.parameters: Extra inputs are not permitted", claudeTools},
		{"schema without type", claudeSchema(`{}`), "input_schema.type: Field required", claudeTools},
		{"schema of an array", claudeSchema(`{"type":"array"}`), "input_schema.type: Input should be 'object'", claudeTools},
		{"schema with anyOf at the top", claudeSchema(`{"type":"object","anyOf":[{"required":["a"]}]}`), "does not support oneOf, allOf, or anyOf at the top level", "anthropics/claude-code#5319"},
		{"property of other letters", claudeSchema(`{"type":"object","properties":{"a b":{"type":"string"}}}`), "Property keys should match pattern", "beautyfree/appstore-connect-mcp#2"},
		{"schema of no type", claudeSchema(`{"type":"object","properties":{"a":{"type":"text"}}}`), "JSON schema is invalid. It must match JSON Schema draft 2020-12", "anthropics/claude-code#7365"},
		{"required a boolean", claudeSchema(`{"type":"object","properties":{"a":{"type":"object","required":true}}}`), "JSON schema is invalid", "anthropics/claude-code#7365"},
		{"choice a text", claude(claudeTool+`,"tool_choice":"auto"`, claudeHi), "tool_choice: Input should be a valid dictionary", claudeTools},
		{"choice of a kind", claude(claudeTool+`,"tool_choice":{"type":"required"}`, claudeHi), "tool_choice: Input tag 'required'", claudeTools},
		{"choice without name", claude(claudeTool+`,"tool_choice":{"type":"tool"}`, claudeHi), "tool_choice.tool.name: Field required", claudeTools},
		{"choice of no tool", claude(claudeTool+`,"tool_choice":{"type":"tool","name":"g"}`, claudeHi), "Tool 'g' not found in provided tools", claudeTools},
		{"choice without tools", claude(`"tool_choice":{"type":"auto"}`, claudeHi), "tool_choice may only be specified while providing tools", claudeTools},

		{"thinking of a kind", claude(`"thinking":{"type":"on"}`, claudeHi), "thinking: Input tag 'on'", claudeThinking},
		{"thinking without budget", claude(`"thinking":{"type":"enabled"}`, claudeHi), "thinking.enabled.budget_tokens: Field required", claudeThinking},
		{"budget too low", claude(`"thinking":{"type":"enabled","budget_tokens":512}`, claudeHi), "budget_tokens: Input should be greater than or equal to 1024", "themaximalist/llm.js#30"},
		{"budget of all tokens", claude(`"thinking":{"type":"enabled","budget_tokens":2048}`, claudeHi), "`max_tokens` must be greater than `thinking.budget_tokens`", "QwenLM/qwen-code#2508"},
		{"thinking and temperature", claude(thinking+`,"temperature":0.5`, claudeHi), "`temperature` may only be set to 1 when thinking is enabled", "MartialBE/one-hub#529"},
		{"thinking and top_k", claude(thinking+`,"top_k":5`, claudeHi), "`top_k` must be unset when thinking is enabled", claudeThinking},
		{"thinking and top_p", claude(thinking+`,"top_p":0.5`, claudeHi), "`top_p` must be greater than or equal to 0.95", claudeThinking},
		{"thinking and a forced call", claude(thinking+`,`+claudeTool+`,"tool_choice":{"type":"any"}`, claudeHi), "Thinking may not be enabled when tool_choice forces tool use", "mastra-ai/mastra#7507"},
		{"turn without its thought", claude(thinking+`,`+claudeTool, claudeHi, claudeUse, claudeDone), "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`", claudeThinking},
		{"thought by the user", claude(``, claudeBlocks("user", `{"type":"thinking","thinking":"a","signature":"AAAA"}`)), "`thinking` blocks can only be in `assistant` messages", claudeThinking},
		{"thought without signature", claude(``, claudeHi, claudeBlocks("assistant", `{"type":"thinking","thinking":"a"}`)), "thinking.signature: Field required", claudeThinking},
		{"thought of another signature", claude(``, claudeHi, claudeBlocks("assistant", `{"type":"thinking","thinking":"a","signature":"`+dialect.Signature("b")+`"}`)), "Invalid `signature` in `thinking` block", claudeThinking},
		{"redacted thought without data", claude(``, claudeHi, claudeBlocks("assistant", `{"type":"redacted_thinking"}`)), "redacted_thinking.data: Field required", claudeThinking},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.source == "" {
				t.Error("the row says not where it is from")
			}
			_, r := messages.Read([]byte(tc.body), false, nil)
			if r == nil {
				t.Fatal("not refused")
			}
			if r.Status != http.StatusBadRequest || r.Type != "invalid_request_error" || !strings.Contains(r.Message, tc.words) {
				t.Errorf("refused with %v; want 400 invalid_request_error with %q", r, tc.words)
			}
			var got struct {
				Type, RequestID string
				Error           struct{ Type, Message string }
			}
			if err := json.Unmarshal(messages.Error(r, "req_1"), &got); err != nil {
				t.Fatal(err)
			}
			if got.Type != "error" || got.Error.Type != r.Type || got.Error.Message != r.Message {
				t.Errorf("the body is %+v", got)
			}
		})
	}
}

// TestMessagesAccepts has what real clients send.
func TestMessagesAccepts(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"plain", claude(``, claudeHi)},
		{"prefill", claude(``, claudeHi, `{"role":"assistant","content":"The answer is"}`)},
		{"prefill empty", claude(``, claudeHi, `{"role":"assistant","content":""}`)},
		{"result of parts", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a"}],"is_error":true},{"type":"text","text":"more"}`))},
		{"result without content", claude(claudeTool, claudeHi, claudeUse, claudeBlocks("user", `{"type":"tool_result","tool_use_id":"toolu_1"}`))},
		{"caller and cache marks", claude(claudeTool, claudeHi, claudeBlocks("assistant", `{"type":"tool_use","id":"toolu_1","name":"f","input":{},"caller":{"type":"direct"},"cache_control":null}`), claudeDone)},
		{"name of a call as long as it may be", claude(claudeTool, claudeHi, strings.ReplaceAll(claudeUse, `"f"`, `"`+strings.Repeat("f", 200)+`"`), claudeDone)},
		{"schema with $schema and title", claudeSchema(`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"f","type":"object","properties":{"a":{"type":["null","array"],"items":true}},"additionalProperties":false}`)},
		{"tool of the provider", claude(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`, claudeHi)},
		{"adaptive thinking", claude(`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"context_management":{"edits":[]}`, claudeHi)},
		{"history with signature from elsewhere", claude(`"thinking":{"type":"enabled","budget_tokens":1024},`+claudeTool, claudeHi, claudeBlocks("assistant", `{"type":"thinking","thinking":"a","signature":"EuYBCkQYAiJA+w=="},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), claudeDone)},
		{"second call of a turn without thought", claude(`"thinking":{"type":"enabled","budget_tokens":1024},`+claudeTool, claudeHi, claudeBlocks("assistant", `{"type":"thinking","thinking":"a","signature":"`+dialect.Signature("a")+`"},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), claudeDone, strings.ReplaceAll(claudeUse, "toolu_1", "toolu_2"), strings.ReplaceAll(claudeDone, "toolu_1", "toolu_2"))},
		{"settings null", claude(`"temperature":null,"tools":null,"tool_choice":null,"system":null,"metadata":null,"stop_sequences":null,"stream":null,"thinking":null`, claudeHi)},
		{"an image", claude(``, claudeBlocks("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, r := messages.Read([]byte(tc.body), false, nil); r != nil {
				t.Errorf("refused: %v", r)
			}
		})
	}
	if _, r := messages.Read([]byte(`{"model":"m","messages":[`+claudeHi+`]}`), true, nil); r != nil {
		t.Errorf("count_tokens refused (%s): %v", claudeCounting, r)
	}
}

func TestDecodeMessages(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":2048,"stream":true,"temperature":0.5,"stop_sequences":["END"],
		"system":[{"type":"text","text":"be"},{"type":"text","text":"brief"}],
		"tools":[{"name":"f","description":"does","input_schema":{"type":"object"}}],
		"tool_choice":{"type":"any","disable_parallel_tool_use":true},
		"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"AAAA"},{"type":"text","text":"so"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"q":1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"type":"text","text":"go on"}]}]}`
	req, refusal := messages.Read([]byte(body), false, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	warm := 0.5
	want := harness.Request{
		Model: "claude-sonnet-4-5", ToolChoice: "required", Temperature: &warm, MaxTokens: 2048, Stream: true,
		Tools: []harness.Tool{{Name: "f", Description: "does", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []harness.Message{
			{Role: harness.RoleSystem, Text: "be\nbrief"},
			{Role: harness.RoleUser, Text: "a\nb", Parts: []string{"a", "b"}},
			{Role: harness.RoleAssistant, Text: "so", Reasoning: "hm", Calls: []harness.ToolCall{{ID: "toolu_1", Name: "f", Arguments: `{"q":1}`}}},
			{Role: harness.RoleTool, CallID: "toolu_1", Text: "x\ny"},
			{Role: harness.RoleUser, Text: "go on"},
		},
	}
	if diff := cmp.Diff(want, req.Chat.Request(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if !req.Continues {
		t.Error("a request with results does not continue")
	}
	opts := req.Chat.Options()
	if diff := cmp.Diff([]string{"END"}, opts.Stop); diff != "" || !opts.Serial {
		t.Errorf("options %+v (-want +got):\n%s", opts, diff)
	}
	if string(req.Chat.Body()) != body {
		t.Error("the body is another")
	}
}

func TestMessagesError(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    dialect.Refusal
		want string
	}{
		{"miss", dialect.Refusal{Status: 422, Type: "rehearse_miss", Message: "no"}, "rehearse_miss"},
		{"too large", dialect.Refusal{Status: 413, Type: "x"}, "request_too_large"},
		{"rate limit", dialect.Refusal{Status: 429, Type: "requests"}, "rate_limit_error"},
		{"overloaded", dialect.Refusal{Status: 529, Type: "x"}, "overloaded_error"},
		{"server", dialect.Refusal{Status: 500, Type: "server_error"}, "api_error"},
		{"key", dialect.Refusal{Status: 401, Type: "x"}, "authentication_error"},
		{"forbidden", dialect.Refusal{Status: 403, Type: "x"}, "permission_error"},
		{"unknown model", dialect.Refusal{Status: 404, Type: "invalid_request_error"}, "not_found_error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got struct{ Error struct{ Type string } }
			if err := json.Unmarshal(messages.Error(&tc.r, ""), &got); err != nil || got.Error.Type != tc.want {
				t.Errorf("type %q (%v), want %q", got.Error.Type, err, tc.want)
			}
		})
	}
}

// recorded are the bodies of the requests in the recordings whose names match,
// which begin a fuzz test.
func recorded(f *testing.F, pattern, path string) {
	dir := os.Getenv("REHEARSE_DATA")
	if dir == "" {
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is right
	object := regexp.MustCompile(`(?m)^\{.*\}$`)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(data), "### ") {
			if strings.Contains(part, path) {
				f.Add(object.FindString(part))
			}
		}
	}
}

func FuzzDecodeMessages(f *testing.F) {
	recorded(f, "argo-proxy/*/messages-*.txt", "POST /")
	for _, seed := range []string{
		claude(claudeTool, claudeHi, claudeTwo, claudeDone), claude(`"system":[{"type":"text","text":"a"}]`, claudeHi),
		claude(`"thinking":{"type":"enabled","budget_tokens":1024}`, claudeHi, claudeBlocks("assistant", `{"type":"thinking","thinking":"a","signature":"AAAA"}`)),
		`{"messages":[null,[null],{"role":null,"content":[null,{"type":"tool_result","content":[null]}]}],"tools":[null,{}],"system":[null],"tool_choice":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		req, refusal := messages.Read([]byte(body), false, nil)
		again, same := messages.Read([]byte(body), false, nil)
		if diff := cmp.Diff(refusal, same); diff != "" {
			t.Fatalf("decoded twice (-first +second):\n%s", diff)
		}
		if refusal != nil && !json.Valid(messages.Error(refusal, "")) {
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
