// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func streamKinds() []Info {
	const group = "stream"
	return []Info{
		{
			Kind: MissingDone, Group: group, What: "the stream ends after its last chunk, without data: [DONE]",
			For:  "is the end of the body enough for a reply with a finish_reason",
			Seen: []string{"https://github.com/ikawrakow/ik_llama.cpp/issues/467", "https://github.com/huggingface/text-generation-inference/issues/1896"}, Stream: true,
		},
		{
			Kind: MissingFinish, Group: group, What: "no chunk has a finish_reason; data: [DONE] comes",
			For:  "is the reply told from one that was cut off",
			Seen: []string{"https://github.com/openclaw/openclaw/issues/4298", "https://github.com/anomalyco/opencode/issues/43882"},
			Forms: []Form{
				{Name: "usage", What: "the chunk with the usage comes all the same"},
				{Name: "bare", What: "no usage either"},
			},
			Stream: true,
		},
		{
			Kind: OpenEnd, Group: group, What: "neither a finish_reason nor data: [DONE]: the stream just ends",
			For:  "is it told from a stream that was cut off, which looks the same",
			Seen: []string{"argo-proxy 2.8 on every real stream"}, Stream: true,
		},
		{
			Kind: UnendedEvent, Group: group, What: "the last event of a stream without [DONE] lacks its empty line and its newline",
			For:  "is the last event read, which holds the finish_reason",
			Seen: []string{"https://github.com/openai/openai-node/issues/2725", "https://github.com/google-gemini/gemini-cli/issues/29059"}, Stream: true,
		},
		{
			Kind: DuplicateChunk, Group: group, What: "one chunk comes twice; no client can tell it from a model that repeats itself",
			For:  "what becomes of text and arguments that repeat",
			Seen: []string{"https://github.com/kirodotdev/KiroCrew/pull/9551", "https://github.com/agentscope-ai/QwenPaw/issues/7417"}, Stream: true, Uses: []string{"at"},
		},
		{
			Kind: ReorderedChunks, Group: group, What: "two chunks come in the wrong order; no client can tell",
			For:  "what becomes of text and arguments out of order",
			Seen: []string{"https://github.com/runtypelabs/persona/pull/164"}, Stream: true, Uses: []string{"at"},
		},
		{
			Kind: Comments, Group: group, What: "400 comment lines, or size, before the chunks",
			For:  "are comments skipped, however many",
			Seen: []string{"https://github.com/mnfst/llm-gateway/issues/2053", "https://github.com/tmc/langchaingo/pull/1332"},
			Forms: []Form{
				{Name: "lines", What: ": OPENROUTER PROCESSING, one after the other"},
				{Name: "events", What: "each with an empty line after it, https://github.com/theopenco/llmgateway/pull/2334"},
				{Name: "data", What: "as data, `data: : keep-alive`, which is wrong"},
				{Name: "names", What: "event:, id: and retry: fields beside the data"},
			},
			Stream: true, Uses: []string{"size"},
		},
		{
			Kind: CRLF, Group: group, What: "lines end with CR LF",
			For:  "are events told apart",
			Seen: []string{"https://github.com/hey-api/hey-api/issues/3054", "https://github.com/miruamel/xuan/issues/194"}, Stream: true,
		},
		{
			Kind: CR, Group: group, What: "lines end with CR alone",
			For:  "are events told apart",
			Seen: []string{"https://github.com/a2aproject/a2a-js/issues/714", "https://github.com/EdamAme-x/pentect/issues/1438"}, Stream: true,
		},
		{
			Kind: MultiLineData, Group: group, What: "the JSON of each event is spread over several data: lines",
			For:  "are the lines of an event joined",
			Seen: []string{"https://github.com/SamSaffron/term-llm/pull/454", "https://github.com/Growth-Circle/cadis/issues/2053"}, Stream: true,
		},
		{
			Kind: NoSpace, Group: group, What: "data:{…} without the space",
			For:  "is the optional space optional",
			Seen: []string{"https://github.com/inngest/inngest-js/pull/1714"}, Stream: true,
		},
		{
			Kind: BOM, Group: group, What: "a byte order mark before the body",
			For:  "is the first event read",
			Seen: []string{"https://github.com/openai/openai-python/pull/3819", "https://github.com/elizaOS/eliza/issues/19260"}, Stream: true, Plain: true,
		},
		{
			Kind: InvalidUTF8, Group: group, What: "a text with bytes that are not UTF-8",
			For:  "is the reply kept, with U+FFFD for the bytes",
			Seen: []string{"https://github.com/ggml-org/llama.cpp/issues/9195", "argo-proxy before 2.8.3"},
			Forms: []Form{
				{Name: "bytes", What: "bytes that begin no character"},
				{Name: "surrogate", What: "half a surrogate pair as an escape, https://github.com/Kohaku-Lab/KohakuTerrarium/pull/48"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: SplitUTF8, Group: group, What: "characters of several bytes are split",
			For:  "are they put together again",
			Seen: []string{"https://github.com/api7/aisix/issues/111", "https://github.com/mrpulor-gh/nuphus/issues/41"},
			Forms: []Form{
				{Name: "writes", What: "over two network writes, each byte in one of its own"},
				{Name: "chunks", What: "over two chunks, as a server that decodes token by token does", StreamOnly: true},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: MalformedJSON, Group: group, What: "a chunk, or the whole document, is no JSON",
			For:  "is it an error that shows the place, and not a reply that lacks a piece",
			Seen: []string{"https://github.com/wrzonance/WrzDJ/pull/354", "https://github.com/decolua/9router/issues/3492"},
			Forms: []Form{
				{Name: "cut", What: "it ends in the middle"},
				{Name: "garbage", What: "it is a line of a log"},
				{Name: "trailing", What: "it goes on after its end: data: [DONE] after a document, a brace after a chunk"},
				{Name: "nan", What: "a number is NaN"},
				{Name: "python", What: "Python's spelling: single quotes, None, False"},
			},
			Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: OddTypes, Group: group, What: "a member has another type than it should",
			For:  "does a member that nobody needs cost the reply",
			Seen: []string{"https://github.com/sgl-project/sglang/issues/3912", "go-openai v1.43 refuses each of these"},
			Forms: []Form{
				{Name: "created_float", What: "created is 1767225600.5"},
				{Name: "index_string", What: "index is \"0\""},
				{Name: "content_parts", What: "content is a list of parts"},
				{Name: "finish_empty", What: "finish_reason is \"\" before the end, https://github.com/ollama/ollama/issues/4357", StreamOnly: true},
				{Name: "usage_text", What: "the numbers of usage are texts"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: UsageChunk, Group: group, What: "a chunk with usage and no choices comes before [DONE], asked for or not",
			For:  "does choices[0] break",
			Seen: []string{"argo-proxy 2.8.1 and later", "https://github.com/awslabs/llmeter/pull/34"}, Stream: true,
		},
		{
			Kind: PreflightChunk, Group: group, What: "the first chunk has an empty id and model, no choices and prompt_filter_results",
			For:  "does choices[0] break, and are id and model taken from later chunks",
			Seen: []string{"argo-proxy 3.0, Azure", "https://github.com/AbanteAI/archive-old-cli-mentat/issues/429"}, Stream: true,
		},
		{
			Kind: NewIDs, Group: group, What: "each chunk has an id of its own",
			For:  "are they one reply all the same",
			Seen: []string{"argo-proxy before 2.8.1"}, Stream: true,
		},
		{
			Kind: CreatedZero, Group: group, What: "created is 0: 1970",
			For:  "is a time that makes no sense of no consequence",
			Seen: []string{"argo-proxy 3.x, Claude, streams"}, Stream: true, Plain: true,
		},
	}
}

func errorKinds() []Info {
	return []Info{
		{
			Kind: InStreamError, Group: "error", What: "200, the beginning of the reply, and then an error in its place: an event of the stream, or the document",
			For:  "is an error inside a 200 an error, whatever its spelling",
			Seen: []string{"Oaklight/llm-rosetta#345", "https://github.com/farzaa/clicky/issues/132"},
			Forms: []Form{
				{Name: "object", What: "data: {\"error\":{\"message\":…}}, then [DONE]"},
				{Name: "spaced", What: "data: { \"error\": …, which a search for {\"error\" misses", StreamOnly: true},
				{Name: "not_first", What: "other members before error"},
				{Name: "event", What: "event: error with {\"detail\":…}", StreamOnly: true},
				{Name: "string", What: "error is a text"},
				{Name: "no_message", What: "an error object without a message"},
				{Name: "anthropic", What: "Anthropic's envelope, type error"},
				{Name: "bare", What: "a line of JSON that belongs to no field", StreamOnly: true},
				{Name: "unended", What: "an object, and the connection closes without the body's end mark", StreamOnly: true},
				{Name: "held", What: "an object, and the connection stays open", StreamOnly: true},
				{Name: "finish", What: "finish_reason error and no message"},
			},
			Stream: true, Plain: true, Uses: []string{"body", "at"},
		},
		{
			Kind: SwallowedError, Group: "error", What: "200 and nothing but data: [DONE]; of a document {}",
			For:  "is a reply without a choice an error and not an empty answer",
			Seen: []string{"argo-proxy 3.1 and 3.2; 3.3 for Claude's error events (Oaklight/llm-rosetta#345)", "https://github.com/griffinwork40/agent-afk/pull/635"}, Stream: true, Plain: true,
		},
	}
}

func callKinds() []Info {
	calls := func(i Info) Info {
		i.Group, i.Calls = "calls", true
		return i
	}
	return []Info{
		calls(Info{
			Kind: BadArguments, What: "the arguments of the first call are not the JSON object that was scripted",
			For:  "is the tool not run, or run with what was meant, and the model told",
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
				{Name: "invented", What: "a name of its own"},
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
			For:  "is one made up, and used in the result",
			Seen: []string{"https://github.com/sgl-project/sglang/issues/7048", "https://github.com/anomalyco/opencode/pull/25925"}, Stream: true, Plain: true,
			Forms: []Form{
				{Name: "empty", What: "an empty text"},
				{Name: "null", What: "null"},
				{Name: "absent", What: "no such key"},
			},
		}),
		calls(Info{
			Kind: MissingName, What: "the first call has an empty name",
			For:  "is it an error and not a call of nothing",
			Seen: []string{"https://github.com/odysseus-dev/odysseus/issues/5202"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: IndexZero, What: "every call of a stream has the index 0",
			For:  "are two calls run as two",
			Seen: []string{"https://github.com/ai-dynamo/dynamo/pull/4723", "Oaklight/llm-rosetta#88"}, Stream: true,
			Forms: []Form{
				{Name: "zero", What: "index 0 everywhere"},
				{Name: "absent", What: "no index anywhere, https://github.com/LibreChat-AI/agents/pull/260"},
			},
		}),
		calls(Info{
			Kind: NullDeltas, What: "chunks that continue a call have id, type and name null",
			For:  "does a null overwrite the name",
			Seen: []string{"argo-proxy 3.0, GPT", "https://github.com/sgl-project/sglang/pull/35542"}, Stream: true,
		}),
		calls(Info{
			Kind: FinishEachCall, What: "every chunk with a call is whole and says finish_reason tool_calls; text comes after them",
			For:  "does the first finish_reason end the reading",
			Seen: []string{"argo-proxy 2.8, streams with tools", "https://github.com/BerriAI/litellm/issues/376"}, Stream: true,
		}),
		calls(Info{
			Kind: FinishStop, What: "a reply with calls says finish_reason stop",
			For:  "are the calls run all the same",
			Seen: []string{"argo-proxy before 2.8.1", "https://github.com/dphnAI/sonar/pull/1257"}, Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: LeakedCall, What: "the calls stand in the text, finish_reason is stop",
			For:  "is a call in the text taken for the answer",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/70", "https://github.com/QwenLM/qwen-code/issues/10692"},
			Forms: []Form{
				{Name: "python", What: "Python's repr of Claude's block: {'id': 'toolu_vrtx_…', 'input': {…}, 'name': …, 'type': 'tool_use', 'cache_control': None}"},
				{Name: "type_first", What: "the same with the keys type, id, … "},
				{Name: "mixed", What: "false and null of JSON among Python's quotes"},
				{Name: "openai", What: "{'function': {…}} as OpenAI has it"},
				{Name: "several", What: "several of them in a row"},
				{Name: "text_after", What: "and text after it"},
				{Name: "xml", What: "<tool_call>{…}</tool_call>, as prompts teach it"},
				{Name: "invoke", What: "<invoke name=…>, https://github.com/NousResearch/hermes-agent/pull/35706"},
				{Name: "invalid", What: "<invalid>…</invalid>, argo-proxy 2.7 where it cannot parse"},
				{Name: "json", What: "the bare arguments object with name beside it, https://github.com/earendil-works/pi/pull/6635"},
			},
			Stream: true, Plain: true,
		}),
		calls(Info{
			Kind: TextAndCalls, What: "text stands beside the calls",
			For:  "is the text kept and are the calls run",
			Seen: []string{"https://github.com/openbraininstitute/neuroagent/issues/364", "argo-proxy, Claude"}, Stream: true, Plain: true, Uses: []string{"body"},
		}),
		calls(Info{
			Kind: ToolsIgnored, What: "plain text where a call was scripted, as if no tools had been offered",
			For:  "does a test notice that nothing was called",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/24"}, Stream: true, Plain: true, Uses: []string{"body"},
		}),
	}
}

func replyKinds() []Info {
	const group = "reply"
	return []Info{
		{
			Kind: EmptyReply, Group: group, What: "a reply in good order that says nothing and calls nothing",
			For:  "is it told to the user, and not taken for an answer",
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
			Kind: LongReply, Group: group, What: "the text goes on to 1 MiB, or size",
			For:  "does a limit hold, and does memory",
			Seen: []string{"https://github.com/huggingface/chat-ui/pull/2383"}, Stream: true, Plain: true, Uses: []string{"size"},
		},
		{
			Kind: Repetition, Group: group, What: "one sentence again and again until the limit: 8 KiB, or size, and finish_reason length",
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
				{Name: "number", What: "a number in place of the object"},
				{Name: "flat_details", What: "a number in place of the details, https://github.com/MoonshotAI/kimi-cli/pull/383"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: WrongModel, Group: group, What: "another model than the one that was asked for, or body, says that it answered",
			For:  "is a silent fall-back noticed",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/67", "argo-proxy: an unknown chat model is answered by another"}, Stream: true, Plain: true, Uses: []string{"body"},
		},
		{
			Kind: OtherText, Group: group, What: "body, which is not what a model said, as an ordinary answer; no client can tell by itself",
			For:  "what becomes of a notice or of an error text as answer",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/111", "argo-proxy before 3.0.0b8: AUTHENTICATION NOTICE FROM ARGO"}, Stream: true, Plain: true, Uses: []string{"body"},
		},
	}
}
