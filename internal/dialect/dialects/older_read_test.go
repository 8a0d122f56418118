// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package dialects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/dialect"
	"github.com/rehearse-dev/rehearse/internal/dialect/chat"
)

const (
	completionsAPI = "https://platform.openai.com/docs/api-reference/completions/create"
	embeddingsAPI  = "https://platform.openai.com/docs/api-reference/embeddings/create"
	chatAPI        = "https://platform.openai.com/docs/api-reference/chat/create"
)

func completionsRefusals() []refusalCase {
	return []refusalCase{
		{"cut", `{"model":`, 400, "", "", "not valid JSON", completionsAPI},
		{"no model", `{"prompt":"a"}`, 400, "", "", "you must provide a model parameter", completionsAPI},
		{"messages", `{"model":"m","messages":[]}`, 400, "", "", "Unrecognized request argument supplied: messages", completionsAPI},
		{"prompt of objects", `{"model":"m","prompt":[{}]}`, 400, "", "", "'$.prompt' is invalid", completionsAPI},
		{"prompt mixed", `{"model":"m","prompt":["a",1]}`, 400, "", "", "'$.prompt' is invalid", completionsAPI},
		{"logprobs too high", `{"model":"m","prompt":"a","logprobs":6}`, 400, "integer_above_max_value", "logprobs", "<= 5, but got 6", completionsAPI},
		{"n zero", `{"model":"m","prompt":"a","n":0}`, 400, "integer_below_min_value", "n", ">= 1", completionsAPI},
		{"max_tokens negative", `{"model":"m","prompt":"a","max_tokens":-1}`, 400, "integer_below_min_value", "max_tokens", ">= 0", completionsAPI},
		{"stops", `{"model":"m","prompt":"a","stop":["1","2","3","4","5"]}`, 400, "array_above_max_length", "stop", "maximum length 4, but got an array with length 5", completionsAPI},
	}
}

func embeddingsRefusals() []refusalCase {
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 2049), ",")
	const seen = github + "infiniflow/ragflow/issues/11088"
	return []refusalCase{
		{"no model", `{"input":"a"}`, 400, "", "", "you must provide a model parameter", embeddingsAPI},
		{"no input", `{"model":"m"}`, 400, "", "", "'$.input' is invalid", seen},
		{"empty input", `{"model":"m","input":""}`, 400, "", "", "'$.input' is invalid", github + "MaartenGr/BERTopic/issues/1594"},
		{"no inputs", `{"model":"m","input":[]}`, 400, "", "", "'$.input' is invalid", seen},
		{"one empty", `{"model":"m","input":["a",""]}`, 400, "", "", "'$.input' is invalid", github + "MaartenGr/BERTopic/issues/1594"},
		{"too many", `{"model":"m","input":[` + many + `]}`, 400, "", "", "'$.input' is invalid", github + "embeddings-benchmark/mteb/issues/1200"},
		{"an object", `{"model":"m","input":{}}`, 400, "", "", "'$.input' is invalid", seen},
		{"unknown format", `{"model":"m","input":"a","encoding_format":"hex"}`, 400, "", "", "'hex' is not one of", embeddingsAPI},
		{"dimensions of the older model", `{"model":"text-embedding-ada-002","input":"a","dimensions":512}`, 400, "", "", "This model does not support specifying dimensions.", github + "SciPhi-AI/R2R/issues/354"},
		{"too many dimensions", `{"model":"text-embedding-3-small","input":"a","dimensions":3072}`, 400, "", "", "Must be less than or equal to 1536.", embeddingsAPI},
		{"no dimensions", `{"model":"m","input":"a","dimensions":0}`, 400, "", "", "0 is less than the minimum of 1", embeddingsAPI},
		{"dimensions of wrong type", `{"model":"m","input":"a","dimensions":"x"}`, 400, "invalid_type", "dimensions", "expected an integer, but got a string", embeddingsAPI},
	}
}

// optionsRefusals are chat completions whose settings are wrong.
func optionsRefusals() []refusalCase {
	chat := func(setting string) string { return `{"model":"m","messages":[` + userHi + `],` + setting + `}` }
	return []refusalCase{
		{"stops", chat(`"stop":["1","2","3","4","5"]`), 400, "array_above_max_length", "stop", "maximum length 4", chatAPI},
		{"stop of wrong type", chat(`"stop":5`), 400, "invalid_type", "stop", "got an integer", chatAPI},
		{"n too high", chat(`"n":129`), 400, "integer_above_max_value", "n", "<= 128, but got 129", chatAPI},
		{"n of wrong type", chat(`"n":"2"`), 400, "invalid_type", "n", "expected an integer, but got a string", github + "nhaouari/obsidian-textgenerator-plugin/issues/331"},
		{"presence_penalty too low", chat(`"presence_penalty":-3`), 400, "decimal_below_min_value", "presence_penalty", ">= -2", chatAPI},
		{"seed of wrong type", chat(`"seed":"x"`), 400, "invalid_type", "seed", "expected an integer", chatAPI},
		{"top_logprobs alone", chat(`"top_logprobs":2`), 400, "", "top_logprobs", "only allowed when 'logprobs' is enabled", chatAPI},
		{"top_logprobs too high", chat(`"logprobs":true,"top_logprobs":21`), 400, "integer_above_max_value", "top_logprobs", "<= 20", chatAPI},
		{"response_format of wrong type", chat(`"response_format":"json"`), 400, "invalid_type", "response_format", "expected an object, but got a string", chatAPI},
		{"unknown response_format", chat(`"response_format":{"type":"object"}`), 400, "invalid_value", "response_format.type", "Invalid value: 'object'. Supported values are: 'json_object', 'json_schema', and 'text'.", github + "epuerta9/deep-research-py/issues/19"},
		{"json_schema missing", chat(`"response_format":{"type":"json_schema"}`), 400, "missing_required_parameter", "response_format.json_schema", "", chatAPI},
		{"json_schema without name", chat(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), 400, "missing_required_parameter", "response_format.json_schema.name", "", chatAPI},
		{"json_schema of a bad name", chat(`"response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{}}}`), 400, "invalid_value", "response_format.json_schema.name", "does not match pattern", chatAPI},
		{"strict and open", chat(`"response_format":{"type":"json_schema","json_schema":{"name":"default","strict":true,"schema":{"type":"object","properties":{}}}}`), 400, "", "response_format", "Invalid schema for response_format 'default': In context=(), 'additionalProperties' is required to be supplied and to be false.", github + "dottxt-ai/outlines/issues/1666"},
		{"json_object without the word", chat(`"response_format":{"type":"json_object"}`), 400, "", "messages", "'messages' must contain the word 'json' in some form", "https://platform.openai.com/docs/guides/structured-outputs#json-mode"},
		{"max_tokens twice", chat(`"max_tokens":1,"max_completion_tokens":1`), 400, "invalid_parameter_combination", "max_tokens", "at the same time", chatAPI},
	}
}

func TestOlderRefusals(t *testing.T) {
	for _, group := range []struct {
		name   string
		cases  []refusalCase
		decode func(body []byte) *dialect.Refusal
	}{
		{"completions", completionsRefusals(), func(b []byte) *dialect.Refusal { _, r := chat.ReadCompletions(b); return r }},
		{"embeddings", embeddingsRefusals(), func(b []byte) *dialect.Refusal { _, r := chat.ReadEmbeddings(b); return r }},
		{"chat", optionsRefusals(), func(b []byte) *dialect.Refusal { _, r := chat.Read(b, nil); return r }},
	} {
		for _, tc := range group.cases {
			t.Run(group.name+"/"+tc.name, func(t *testing.T) { tc.check(t, group.decode([]byte(tc.body))) })
		}
	}
}

func TestCompletionsAccepted(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		prompts    []string
		want       dialect.Options
	}{
		{"text", `{"model":"m","prompt":"a"}`, []string{"a"}, dialect.Options{MaxTokens: 16, Choices: 1}},
		{"nothing", `{"model":"m","prompt":null,"max_tokens":5}`, []string{"<|endoftext|>"}, dialect.Options{MaxTokens: 5, Choices: 1}},
		{"texts", `{"model":"m","prompt":["a","b"],"n":2,"stop":"x","logprobs":2}`, []string{"a", "b"}, dialect.Options{MaxTokens: 16, Choices: 2, Stop: []string{"x"}, Logprobs: true}},
		{"tokens", `{"model":"m","prompt":[1,2]}`, []string{"[1,2]"}, dialect.Options{MaxTokens: 16, Choices: 1}},
		{"lists of tokens", `{"model":"m","prompt":[[1],[2]],"echo":false,"best_of":1,"suffix":"x"}`, []string{"[1]", "[2]"}, dialect.Options{MaxTokens: 16, Choices: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, r := chat.ReadCompletions([]byte(tc.body))
			if r != nil {
				t.Fatal(r)
			}
			tc.want.ToolChoice, tc.want.Format = "auto", "text"
			if d := cmp.Diff(tc.want, c.Chat.Options()); d != "" {
				t.Errorf("options (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.prompts, c.Prompts); d != "" {
				t.Errorf("prompts (-want +got):\n%s", d)
			}
		})
	}
}

func TestEmbeddingsAccepted(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       dialect.Embeddings
	}{
		{"text", `{"model":"text-embedding-3-small","input":"a"}`, dialect.Embeddings{Inputs: []string{"a"}, Dimensions: 1536}},
		{"large", `{"model":"text-embedding-3-large","input":["a","b"],"encoding_format":"float","user":"u"}`, dialect.Embeddings{Inputs: []string{"a", "b"}, Dimensions: 3072}},
		{"short", `{"model":"m","input":[[1,2],[3]],"encoding_format":"base64","dimensions":8}`, dialect.Embeddings{Inputs: []string{"[1,2]", "[3]"}, Dimensions: 8, Base64: true}},
		{"tokens", `{"model":"m","input":[1,2]}`, dialect.Embeddings{Inputs: []string{"[1,2]"}, Dimensions: 1536}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, r := chat.ReadEmbeddings([]byte(tc.body))
			if r != nil {
				t.Fatal(r)
			}
			got := *e
			got.Chat = nil
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if e.Chat.Len() != len(e.Inputs) {
				t.Errorf("%d messages", e.Chat.Len())
			}
		})
	}
}

func FuzzDecodeOlder(f *testing.F) {
	for _, tc := range append(completionsRefusals(), embeddingsRefusals()...) {
		f.Add([]byte(tc.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, r := chat.ReadCompletions(body)
		if c == nil && r == nil || c != nil && c.Chat == nil {
			t.Fatal("neither completions nor a refusal")
		}
		e, r := chat.ReadEmbeddings(body)
		if e == nil && r == nil || e != nil && e.Chat == nil {
			t.Fatal("neither embeddings nor a refusal")
		}
		if r == nil && (e.Dimensions < 1 || len(e.Inputs) == 0) {
			t.Fatalf("accepted %+v", e)
		}
	})
}
