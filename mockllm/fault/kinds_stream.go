// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func streamKinds() []Info {
	const group = "stream"
	return []Info{
		{
			Kind: MissingDone, Group: group, What: "the stream ends after its last chunk, without data: [DONE]",
			For:  "is a reply with a finish_reason complete when the body ends",
			Seen: []string{"https://github.com/ikawrakow/ik_llama.cpp/issues/467", "https://github.com/huggingface/text-generation-inference/issues/1896"}, Stream: true,
		},
		{
			Kind: MissingFinish, Group: group, What: "no chunk has a finish_reason; data: [DONE] comes",
			For:  "is the reply distinguished from one that was cut off",
			Seen: []string{"https://github.com/openclaw/openclaw/issues/4298", "https://github.com/anomalyco/opencode/issues/43882"},
			Forms: []Form{
				{Name: "usage", What: "the chunk with the usage comes all the same"},
				{Name: "bare", What: "no usage either"},
			},
			Stream: true,
		},
		{
			Kind: OpenEnd, Group: group, What: "neither a finish_reason nor data: [DONE]: the stream just ends",
			For:  "is it distinguished from a stream that was cut off, which looks the same",
			Seen: []string{"argo-proxy 2.8 on every real stream"}, Stream: true,
		},
		{
			Kind: UnendedEvent, Group: group, What: "the last event of a stream without [DONE] lacks its empty line and its newline",
			For:  "is the last event read, which holds the finish_reason",
			Seen: []string{"https://github.com/openai/openai-node/issues/2725", "https://github.com/google-gemini/gemini-cli/issues/29059"}, Stream: true,
		},
		{
			Kind: DuplicateChunk, Group: group, What: "one chunk comes twice; no client can tell it from a model that repeats itself",
			For:  "what happens to repeated text and arguments",
			Seen: []string{"https://github.com/kirodotdev/KiroCrew/pull/9551", "https://github.com/agentscope-ai/QwenPaw/issues/7417"}, Stream: true, Uses: []string{"at"},
		},
		{
			Kind: ReorderedChunks, Group: group, What: "two chunks come in the wrong order; no client can tell",
			For:  "what happens to text and arguments out of order",
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
	}
}

// framingKinds are about how the events of a stream are spelled.
func framingKinds() []Info {
	const group = "stream"
	return []Info{
		{
			Kind: CRLF, Group: group, What: "lines end with CR LF",
			For:  "are events separated",
			Seen: []string{"https://github.com/hey-api/hey-api/issues/3054", "https://github.com/miruamel/xuan/issues/194"}, Stream: true,
		},
		{
			Kind: CR, Group: group, What: "lines end with CR alone",
			For:  "are events separated",
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
	}
}

// chunkKinds are chunks whose JSON is odd.
func chunkKinds() []Info {
	const group = "stream"
	return []Info{
		{
			Kind: MalformedJSON, Group: group, What: "a chunk, or the whole document, is not JSON",
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
			Kind: OddTypes, Group: group, What: "a member has the wrong type",
			For:  "does an unneeded member break the reply",
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
			For:  "are they still one reply",
			Seen: []string{"argo-proxy before 2.8.1"}, Stream: true,
		},
		{
			Kind: CreatedZero, Group: group, What: "created is 0: 1970",
			For:  "is a meaningless time harmless",
			Seen: []string{"argo-proxy 3.x, Claude, streams"}, Stream: true, Plain: true,
		},
	}
}

func errorKinds() []Info {
	return []Info{
		{
			Kind: InStreamError, Group: "error", What: "200, the beginning of the reply, and then an error in its place: an event of the stream, or the document",
			For:  "is an error inside a 200 recognised as an error, whatever its spelling",
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
			Kind: SwallowedError, Group: "error", What: "200 with only data: [DONE]; as a document {}",
			For:  "is a reply without a choice an error and not an empty answer",
			Seen: []string{"argo-proxy 3.1 and 3.2; 3.3 for Claude's error events (Oaklight/llm-rosetta#345)", "https://github.com/griffinwork40/agent-afk/pull/635"}, Stream: true, Plain: true,
		},
	}
}
