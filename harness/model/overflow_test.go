// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/dialect"
)

// TestOverflowTexts has what endpoints say of a request that is too long, and
// what they say in like words of other things.
func TestOverflowTexts(t *testing.T) {
	const over = KindContextOverflow
	for _, tc := range []struct {
		who    string
		status int
		w      dialect.ErrorObject
		want   ErrorKind
	}{
		{"OpenAI", 400, dialect.ErrorObject{Message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}, over},
		{"OpenAI, responses", 400, dialect.ErrorObject{Message: "Your input exceeds the context window of this model. Please adjust your input and try again."}, over},
		{"OpenAI, a request over the limit of a minute", 429, dialect.ErrorObject{Message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.", Code: "rate_limit_exceeded"}, over},
		{"OpenAI, the limit of a minute", 429, dialect.ErrorObject{Message: "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29500, Requested 900. Please try again in 800ms.", Code: "rate_limit_exceeded"}, KindRateLimit},
		{"OpenAI, the length of a reply", 400, dialect.ErrorObject{Message: "max_tokens is too large: 9000. This model supports at most 4096 completion tokens."}, KindBadRequest},
		{"Anthropic", 400, dialect.ErrorObject{Message: "prompt is too long: 215000 tokens > 200000 maximum"}, over},
		{"Anthropic, with max_tokens", 400, dialect.ErrorObject{Message: "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again"}, over},
		{"Anthropic, the limit of a minute", 429, dialect.ErrorObject{Message: "This request would exceed the rate limit for your organization of 40,000 input tokens per minute.", Type: "rate_limit_error"}, KindRateLimit},
		{"Google", 400, dialect.ErrorObject{Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}, over},
		{"xAI", 400, dialect.ErrorObject{Message: "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, over},
		{"LM Studio", 400, dialect.ErrorObject{Message: "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}, over},
		{"LM Studio, later", 400, dialect.ErrorObject{Message: "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input."}, over},
		{"LM Studio, in a stream", 0, dialect.ErrorObject{Message: "Reached context length of 4096 tokens with this model, but this model does not support mid-generation context overflow."}, over},
		{"Together", 422, dialect.ErrorObject{Message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8192 `inputs` tokens and 512 `max_new_tokens`"}, over},
		{"text-generation-inference", 422, dialect.ErrorObject{Message: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"}, over},
		{"vLLM", 400, dialect.ErrorObject{Message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192."}, over},
		{"llama.cpp", 400, dialect.ErrorObject{Message: "the request exceeds the available context size. try increasing the context size or enable context shift"}, over},
		{"Ollama", 500, dialect.ErrorObject{Message: "the input length exceeds the context length"}, over},
		{"Mistral", 400, dialect.ErrorObject{Message: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}, over},
		{"Cohere", 400, dialect.ErrorObject{Message: "too many tokens: total number of tokens in the prompt cannot exceed 128000, received 130500."}, over},
		{"Moonshot", 400, dialect.ErrorObject{Message: "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"}, over},
		{"Zhipu", 400, dialect.ErrorObject{Message: "Prompt exceeds max length"}, over},
		{"Qwen", 400, dialect.ErrorObject{Message: "Range of input length should be [1, 30720]"}, over},
		{"MiniMax", 400, dialect.ErrorObject{Message: "invalid params, context window exceeds limit (2013)"}, over},
		{"Copilot", 400, dialect.ErrorObject{Message: "prompt token count of 90000 exceeds the limit of 64000"}, over},
		{"Bedrock", 400, dialect.ErrorObject{Message: "Input is too long for requested model."}, over},
		{"Bedrock, Titan", 400, dialect.ErrorObject{Message: "Too many input tokens. Max input tokens: 8192, request input token count: 9000"}, over},
		{"Bedrock throttles", 429, dialect.ErrorObject{Message: "Too many tokens, please wait before trying again."}, KindRateLimit},
		{"Bedrock throttles for a day", 429, dialect.ErrorObject{Message: "Too many tokens per day, please wait before trying again."}, KindRateLimit},
		{"Bedrock throttles in a stream", 0, dialect.ErrorObject{Message: "Too many tokens, please wait before trying again."}, KindRateLimit},
		{"Bedrock throttles by type", 0, dialect.ErrorObject{Message: "slow down", Type: "ThrottlingException"}, KindRateLimit},
		{"Gemini", 400, dialect.ErrorObject{Message: "The input token count is 1200000 but model only supports up to 1048576."}, over},
		{"Vertex", 400, dialect.ErrorObject{Message: "Unable to submit request because the input token count is 32825 but model only supports up to 32768. Reduce the input token count and try again."}, over},
		{"vLLM, later", 400, dialect.ErrorObject{Message: "You passed 16385 input tokens and requested 0 output tokens. However, the model's context length is only 16384 tokens, resulting in a maximum input length of 16384 tokens. Please reduce the length of the input prompt."}, over},
		{"SGLang", 400, dialect.ErrorObject{Message: "The input (691793 tokens) is longer than the model's context length (540000 tokens)."}, over},
		{"Bedrock, Nova", 400, dialect.ErrorObject{Message: "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}, over},
		{"litellm", 400, dialect.ErrorObject{Message: "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError", Code: "400"}, over},
		{"OpenAI, without its code", 400, dialect.ErrorObject{Message: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages."}, over},
		{"OpenRouter", 400, dialect.ErrorObject{Message: "Your request exceeds the maximum allowed input length of 131072 tokens"}, over},
		{"NVIDIA", 400, dialect.ErrorObject{Message: "Input length 9000 exceeds maximum allowed token size 8192"}, over},
		{"TensorRT", 400, dialect.ErrorObject{Message: "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"}, over},
		{"watsonx", 400, dialect.ErrorObject{Message: "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}, over},
		{"StepFun", 400, dialect.ErrorObject{Message: "prompt tokens + max_tokens must be less than 8192"}, over},
		{"Volcengine", 400, dialect.ErrorObject{Message: "Total tokens of image and text exceed max message tokens"}, over},
		{"the new words in a stream", 0, dialect.ErrorObject{Message: "The input token count is 1200000 but model only supports up to 1048576."}, over},
		{"Vertex, a quota", 400, dialect.ErrorObject{Message: "Quota exceeded for aiplatform.googleapis.com/generate_content_input_tokens_per_minute_per_base_model with base model: gemini."}, KindBadRequest},
		{"input tokens of a minute", 429, dialect.ErrorObject{Message: "Number of input tokens has exceeded your per-minute rate limit; please reduce the prompt length, or try again later."}, KindRateLimit},
		{"the context window of a minute", 429, dialect.ErrorObject{Message: "Number of input tokens has exceeded your rate limit for the 1M context window; exceeds the context length limit per minute"}, KindRateLimit},
		{"too many tokens, for now", 503, dialect.ErrorObject{Message: "Too many tokens"}, KindServer},
		{"tokens in flight", 503, dialect.ErrorObject{Message: "The server is overloaded: prompt tokens in flight exceeded"}, KindServer},
		{"a quota", 400, dialect.ErrorObject{Message: "Input tokens exceed your quota for this model."}, KindBadRequest},
		{"Anthropic, the length of a reply", 400, dialect.ErrorObject{Message: "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4"}, KindBadRequest},
		{"Anthropic, the bound of a parameter", 400, dialect.ErrorObject{Message: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"}, KindBadRequest},
		{"a name that is too long", 400, dialect.ErrorObject{Message: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with length 80 instead."}, KindBadRequest},
		{"an image", 400, dialect.ErrorObject{Message: "The input image is too large: 12 MB exceeds 5 MB"}, KindBadRequest},
		{"a temperature", 400, dialect.ErrorObject{Message: "temperature must be less than or equal to 2, exceeds the maximum"}, KindBadRequest},
		{"something of the kind", 400, dialect.ErrorObject{Message: "Unknown parameter: 'context'."}, KindBadRequest},
	} {
		t.Run(tc.who, func(t *testing.T) {
			if got := kindOf(tc.status, tc.w); got != tc.want {
				t.Errorf("%q is taken for %s, want %s", tc.w.Message, got, tc.want)
			}
		})
	}
}

// TestOverflowBodies has bodies that are no error object: what they say counts
// all the same.
func TestOverflowBodies(t *testing.T) {
	for _, tc := range []struct {
		body string
		want ErrorKind
	}{
		{`"prompt is too long"`, KindContextOverflow},
		{"This model's maximum context length is 8192 tokens.", KindContextOverflow},
		{"<html>Bad Request</html>", KindBadRequest},
		{"", KindBadRequest},
	} {
		if got := kindOfBody(400, dialect.ErrorObject{}, []byte(tc.body)); got != tc.want {
			t.Errorf("%q is taken for %s, want %s", tc.body, got, tc.want)
		}
	}
}
