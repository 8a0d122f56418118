// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func callKinds() []Info {
	calls := func(i Info) Info {
		i.Group, i.Calls = "calls", true
		return i
	}
	return []Info{
		calls(Info{
			Kind: BadArguments, What: "the arguments of the first call are not the JSON object that was scripted",
			For:  "is the tool not run, or run with the intended arguments, and is the model told",
			Seen: []string{"https://github.com/OpenHands/software-agent-sdk/issues/2488", "https://github.com/coder/coder/pull/28044"},
			Forms: []Form{
				{Name: "cut", What: "they end in the middle, https://github.com/agent0ai/agent-zero/issues/1836"},
				{Name: "python", What: "Python's spelling, https://github.com/NousResearch/atropos/issues/478"},
				{Name: "trailing_comma", What: "a comma before the last brace"},
				{Name: "double_encoded", What: "a JSON string that holds the object, https://github.com/quarkiverse/quarkus-langchain4j/pull/2642"},
				{Name: "empty", What: "no text at all, Oaklight/llm-rosetta#81"},
				{Name: "null", What: "null"},
				{Name: "array", What: "a list of the values"},
				{Name: "string", What: "a bare text"},
				{Name: "object", What: "an object in the chunk where a text belongs, https://github.com/ggml-org/llama.cpp/issues/20198"},
				{Name: "prose", What: "a sentence before the object"},
			},
			Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: UnknownTool, What: "the first call names a tool that was not offered",
			For:  "is the model told which tools there are",
			Seen: []string{"https://github.com/run-llama/llama_index/issues/7170", "https://github.com/mastra-ai/mastra/issues/12895"}, Stream: true, Plain: true,
			Forms: []Form{
				{Name: "invented", What: "an unknown name"},
				{Name: "prefixed", What: "the right name with default_api: before it"},
			},
		}),
		calls(Info{
			Kind: DuplicateIDs, What: "all calls of the reply have the same id",
			For:  "does each call get its own result",
			Seen: []string{"https://github.com/can1357/oh-my-pi/issues/2055", "https://github.com/HKUDS/nanobot/pull/3943", "https://github.com/charmbracelet/crush/issues/3107"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: ReusedIDs, What: "ids count from call_0 in every reply, so that a later turn has those of an earlier one",
			For:  "is a new call with an old id run, and answered with its own result",
			Seen: []string{"argo-proxy 2.8, Gemini", "https://github.com/QwenLM/qwen-code/issues/8382"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: MissingID, What: "calls have no id",
			For:  "is an id generated, and used in the result",
			Seen: []string{"https://github.com/sgl-project/sglang/issues/7048", "https://github.com/anomalyco/opencode/pull/25925"}, Stream: true, Plain: true,
			Forms: []Form{
				{Name: "empty", What: "an empty text"},
				{Name: "null", What: "null"},
				{Name: "absent", What: "no such key"},
			},
		}),
		calls(Info{
			Kind: MissingName, What: "the first call has an empty name",
			For:  "is it an error, and not a call without a tool",
			Seen: []string{"https://github.com/odysseus-dev/odysseus/issues/5202"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: IndexZero, What: "every call of a stream has the index 0",
			For:  "are two calls run separately",
			Seen: []string{"https://github.com/ai-dynamo/dynamo/pull/4723", "Oaklight/llm-rosetta#88"}, Stream: true,
			Forms: []Form{
				{Name: "zero", What: "index 0 everywhere"},
				{Name: "absent", What: "no index anywhere, https://github.com/LibreChat-AI/agents/pull/260"},
			},
		}),
		calls(Info{
			Kind: NullDeltas, What: "chunks that continue a call have id, type and name null",
			For:  "does null overwrite the name",
			Seen: []string{"argo-proxy 3.0, GPT", "https://github.com/sgl-project/sglang/pull/35542"}, Stream: true,
		}),
	}
}

// finishKinds are calls that end in an odd way, or are none.
func finishKinds() []Info {
	calls := func(i Info) Info {
		i.Group, i.Calls = "calls", true
		return i
	}
	return []Info{
		calls(Info{
			Kind: FinishEachCall, What: "every chunk with a call is whole and says finish_reason tool_calls; text comes after them",
			For:  "does the first finish_reason end the reading",
			Seen: []string{"argo-proxy 2.8, streams with tools", "https://github.com/BerriAI/litellm/issues/376"}, Stream: true,
		}),
		calls(Info{
			Kind: FinishStop, What: "a reply with calls says finish_reason stop",
			For:  "are the calls still run",
			Seen: []string{"argo-proxy before 2.8.1", "https://github.com/dphnAI/sonar/pull/1257"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: LeakedCall, What: "the calls are in the text, and finish_reason is stop",
			For:  "is a call in the text mistaken for the answer",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/70", "https://github.com/QwenLM/qwen-code/issues/10692"},
			Forms: []Form{
				{Name: "python", What: "Python's repr of Claude's block: {'id': 'toolu_vrtx_…', 'input': {…}, 'name': …, 'type': 'tool_use', 'cache_control': None}"},
				{Name: "type_first", What: "the same with the keys type, id, … "},
				{Name: "mixed", What: "false and null of JSON among Python's quotes"},
				{Name: "openai", What: "{'function': {…}} as OpenAI has it"},
				{Name: "several", What: "several of them in a row"},
				{Name: "text_after", What: "and text after it"},
				{Name: "xml", What: "<tool_call>{…}</tool_call>, as prompts teach"},
				{Name: "invoke", What: "<invoke name=…>, https://github.com/NousResearch/hermes-agent/pull/35706"},
				{Name: "invalid", What: "<invalid>…</invalid>, argo-proxy 2.7 where it cannot parse"},
				{Name: "json", What: "the bare arguments object with name beside it, https://github.com/earendil-works/pi/pull/6635"},
			},
			Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: TextAndCalls, What: "the reply has text besides the calls",
			For:  "is the text kept and are the calls run",
			Seen: []string{"https://github.com/openbraininstitute/neuroagent/issues/364", "argo-proxy, Claude"}, Stream: true, Plain: true, Uses: []string{"body"},
		}),
		calls(Info{
			Kind: ToolsIgnored, What: "plain text instead of the scripted call, as if no tools had been offered",
			For:  "does a test notice that nothing was called",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/24"}, Stream: true, Plain: true, Uses: []string{"body"},
		}),
	}
}
