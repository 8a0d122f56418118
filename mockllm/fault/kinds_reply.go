// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func replyKinds() []Info {
	const group = "reply"
	return []Info{
		{
			Kind: EmptyReply, Group: group, What: "a valid reply with neither text nor calls",
			For:  "is it reported to the user, and not taken for an answer",
			Seen: []string{"https://github.com/nugget/thane-ai-agent/issues/167", "https://github.com/vellum-ai/vellum-assistant/pull/25880"},
			Forms: []Form{
				{Name: "empty", What: "content \"\""},
				{Name: "null", What: "content null", PlainOnly: true},
				{Name: "blank", What: "two newlines"},
				{Name: "thinking", What: "reasoning alone, finish_reason stop, https://github.com/agentscope-ai/agentscope-java/pull/2755"},
				{Name: "length", What: "message null, finish_reason length: thinking used it up, Oaklight/llm-rosetta#152"},
				{Name: "no_choices", What: "choices is []", PlainOnly: true},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: LongReply, Group: group, What: "the text has 1 MiB, or size",
			For:  "do limits and memory hold",
			Seen: []string{"https://github.com/huggingface/chat-ui/pull/2383"}, Stream: true, Plain: true, Uses: []string{"size"},
		},
		{
			Kind: Repetition, Group: group, What: "one sentence repeated until the limit: 8 KiB, or size, and finish_reason length",
			For:  "is a reply that was cut off taken for an answer",
			Seen: []string{"https://github.com/QwenLM/qwen-code/issues/1403", "https://github.com/anthropics/claude-code/issues/82803"}, Stream: true, Plain: true, Uses: []string{"size"},
		},
		{
			Kind: Usage, Group: group, What: "the usage is missing or absurd",
			For:  "does counting break, or count backwards",
			Seen: []string{"https://github.com/run-llama/llama_index/pull/22812", "Oaklight/llm-rosetta#383"},
			Forms: []Form{
				{Name: "absent", What: "no usage at all"},
				{Name: "null", What: "null"},
				{Name: "null_members", What: "an object of nulls"},
				{Name: "negative", What: "completion_tokens is -1"},
				{Name: "huge", What: "a number beyond 64 bits"},
				{Name: "zero", What: "all zero"},
				{Name: "number", What: "a number instead of the object"},
				{Name: "flat_details", What: "a number instead of the details, https://github.com/MoonshotAI/kimi-cli/pull/383"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: WrongModel, Group: group, What: "the reply names another model than requested, or body",
			For:  "is a silent fall-back noticed",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/67", "argo-proxy: an unknown chat model is answered by another"}, Stream: true, Plain: true, Uses: []string{"body"},
		},
		{
			Kind: OtherText, Group: group, What: "body, which is not from a model, as an ordinary answer; no client can tell",
			For:  "what happens to a notice or an error text as the answer",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/111", "argo-proxy before 3.0.0b8: AUTHENTICATION NOTICE FROM ARGO"}, Stream: true, Plain: true, Uses: []string{"body"},
		},
	}
}
