// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

// The kinds. [Describe] says what each does, what it is for and where it was
// seen.
const (
	// An HTTP answer in place of the reply.

	RateLimit       Kind = "rate_limit"
	Quota           Kind = "quota"
	Unauthorized    Kind = "unauthorized"
	Forbidden       Kind = "forbidden"
	ModelNotFound   Kind = "model_not_found"
	BadRequest      Kind = "bad_request"
	RequestTimeout  Kind = "request_timeout"
	TooLarge        Kind = "too_large"
	ServerError     Kind = "server_error"
	Overloaded      Kind = "overloaded"
	ContentFilter   Kind = "content_filter"
	ContextOverflow Kind = "context_overflow"
	HTTPStatus      Kind = "status"
	HTMLPage        Kind = "html_page"
	EmptyBody       Kind = "empty_body"
	StringError     Kind = "string_error"
	DetailError     Kind = "detail_error"
	ErrorCompletion Kind = "error_completion"

	// Slow and silent.

	SlowHeaders Kind = "slow_headers"
	SlowStream  Kind = "slow_stream"
	Stall       Kind = "stall"
	Hang        Kind = "hang"

	// The connection and the body.

	Reset           Kind = "reset"
	Cut             Kind = "cut"
	Truncated       Kind = "truncated"
	CutDone         Kind = "cut_done"
	RawStatus       Kind = "raw_status"
	ConnectionClose Kind = "connection_close"
	WrongLength     Kind = "wrong_length"
	Gzip            Kind = "gzip"
	WrongType       Kind = "wrong_content_type"
	JSONForStream   Kind = "json_for_stream"
	SSEForPlain     Kind = "sse_for_plain"

	// The framing of a stream, and its chunks.

	MissingDone     Kind = "missing_done"
	MissingFinish   Kind = "missing_finish"
	OpenEnd         Kind = "open_end"
	UnendedEvent    Kind = "unended_event"
	DuplicateChunk  Kind = "duplicate_chunk"
	ReorderedChunks Kind = "reordered_chunks"
	Comments        Kind = "comments"
	CRLF            Kind = "crlf"
	CR              Kind = "cr"
	MultiLineData   Kind = "multi_line_data"
	NoSpace         Kind = "no_space"
	BOM             Kind = "bom"
	InvalidUTF8     Kind = "invalid_utf8"
	SplitUTF8       Kind = "split_utf8"
	MalformedJSON   Kind = "malformed_json"
	OddTypes        Kind = "odd_types"
	UsageChunk      Kind = "usage_chunk"
	PreflightChunk  Kind = "preflight_chunk"
	NewIDs          Kind = "new_ids"
	CreatedZero     Kind = "created_zero"

	// An error inside a 200.

	InStreamError  Kind = "in_stream_error"
	SwallowedError Kind = "swallowed_error"

	// Tool calls.

	BadArguments   Kind = "bad_arguments"
	UnknownTool    Kind = "unknown_tool"
	DuplicateIDs   Kind = "duplicate_ids"
	ReusedIDs      Kind = "reused_ids"
	MissingID      Kind = "missing_id"
	MissingName    Kind = "missing_name"
	IndexZero      Kind = "index_zero"
	NullDeltas     Kind = "null_deltas"
	FinishEachCall Kind = "finish_each_call"
	FinishStop     Kind = "finish_stop"
	LeakedCall     Kind = "leaked_call"
	TextAndCalls   Kind = "text_and_calls"
	ToolsIgnored   Kind = "tools_ignored"

	// What the reply says.

	EmptyReply Kind = "empty_reply"
	LongReply  Kind = "long_reply"
	Repetition Kind = "repetition"
	Usage      Kind = "usage"
	WrongModel Kind = "wrong_model"
	OtherText  Kind = "other_text"
)

func statusKinds() []Info {
	const group = "status"
	both := func(i Info) Info {
		i.Group, i.Stream, i.Plain = group, true, true
		return i
	}
	return []Info{
		both(Info{
			Kind: RateLimit, What: "429 with the provider's error, and the wait in headers when retry_after is given",
			For:  "is the request made again, after the wait that was asked for; `times: 5` is a burst",
			Seen: []string{"https://github.com/Azure/azure-sdk-for-js/issues/30984", "https://github.com/llm-d/llm-d-inference-sim/issues/506"},
			Forms: []Form{
				{Name: "both", What: "Retry-After in whole seconds, rounded up, and Retry-After-Ms"},
				{Name: "seconds", What: "Retry-After in seconds"},
				{Name: "date", What: "Retry-After as an HTTP date, https://github.com/microsoft/kiota/issues/596"},
				{Name: "ms", What: "Retry-After-Ms alone, https://github.com/Azure/azure-sdk-for-python/issues/9092"},
			},
			Uses: []string{"retry_after", "body"},
		}),
		both(Info{
			Kind: Quota, What: "429 with code insufficient_quota: the account is empty",
			For:  "is it told from a rate limit, and not tried again",
			Seen: []string{"https://github.com/langchain-ai/langchainjs/issues/1929", "https://github.com/2389-research/tracker/issues/547"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: Unauthorized, What: "401 with code invalid_api_key",
			For:  "does the client stop at once and name the key",
			Seen: []string{"https://github.com/OpenHands/OpenHands/issues/483", "https://github.com/mindsdb/anton/issues/178"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: Forbidden, What: "403 with the provider's error",
			For:  "does the client stop at once",
			Seen: []string{"https://github.com/enricoros/big-AGI/issues/176", "argo-proxy 3.0.0b8 and later, for a user without registration"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: ModelNotFound, What: "404 with code model_not_found",
			For:  "is the model named in the message",
			Seen: []string{"argo-proxy 3.3, POST /v1/messages with an unknown name", "argo-proxy 3.0.4: gpt4olatest is listed and then refused"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: BadRequest, What: "400 with type invalid_request_error",
			For:  "is the endpoint's reason shown, and the request not made again",
			Seen: []string{"https://github.com/Oaklight/argo-proxy/issues/109"},
			Uses: []string{"status", "body"},
		}),
		both(Info{
			Kind: RequestTimeout, What: "408 with code user_request_timeout",
			For:  "is it tried again, unlike other 4xx",
			Seen: []string{"https://github.com/microsoft/vscode/issues/246192", "https://github.com/NousResearch/hermes-agent/pull/59489"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: TooLarge, What: "413 in JSON",
			For:  "does a long history end in a plain message and not in a loop",
			Seen: []string{"https://github.com/microsoft/vscode/issues/263331", "https://github.com/NousResearch/hermes-agent/pull/153"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: ServerError, What: "500, or another status from 500 to 529, with the provider's error",
			For:  "is it tried again, with growing waits, and not for ever",
			Seen: []string{"https://github.com/nearai/ironclaw/issues/1994", "https://github.com/Oaklight/argo-proxy/issues/112"},
			Uses: []string{"status", "body", "retry_after"},
		}),
		both(Info{
			Kind: Overloaded, What: "529 with Anthropic's overloaded_error, as gateways hand it on",
			For:  "is a status outside of the registry, in an envelope of another provider, understood",
			Seen: []string{"https://github.com/anthropics/claude-code/issues/75184", "https://github.com/anthropics/claude-code/issues/5184"},
			Uses: []string{"body", "retry_after"},
		}),
		both(Info{
			Kind: ContentFilter, What: "400 with code content_filter, as Azure refuses a prompt",
			For:  "is it told from a mistake in the request",
			Seen: []string{"Azure OpenAI, documentation of content filtering"},
			Uses: []string{"body"},
		}),
		both(Info{
			Kind: ContextOverflow, What: "the history is too long for the model",
			For:  "is it known for what it is in each of its disguises, and not tried again unchanged",
			Seen: []string{"https://github.com/crmne/ruby_llm/pull/642", "https://github.com/ardanlabs/kronk/issues/862"},
			Forms: []Form{
				{Name: "openai_400", What: "400 with code context_length_exceeded"},
				{Name: "rate_429", What: "429 that says the request is too large, https://github.com/archi-physics/archi/issues/497"},
				{Name: "in_stream", What: "200 with an error event, https://github.com/sgl-project/sglang/issues/12081"},
				{Name: "empty_200", What: "200 with an empty reply and no word of it"},
			},
		}),
		both(Info{
			Kind: HTTPStatus, What: "any status, 500 unless given, with any body, sent as text/plain unless it is JSON",
			For:  "does the client bear an answer that no other kind has",
			Seen: []string{"https://github.com/deeplethe/utopia/pull/538", "argo-proxy 3.0: text/plain `500 Internal Server Error`"},
			Uses: []string{"status", "body", "retry_after"},
		}),
		both(Info{
			Kind: HTMLPage, What: "502, or another status, 200 too, with an HTML page of a reverse proxy",
			For:  "does the message name the status and the page, and not a JSON decoder",
			Seen: []string{"https://github.com/opensoar-hq/opensoar-core/issues/105", "https://github.com/lynote-ai/humanize-text/issues/55"},
			Uses: []string{"status", "body"},
		}),
		both(Info{
			Kind: EmptyBody, What: "200, or another status, with nothing",
			For:  "is it an error and not an empty answer",
			Seen: []string{"https://github.com/sourcegraph/cody/pull/3479", "Oaklight/llm-rosetta#345: an empty body for /v1/responses"},
			Uses: []string{"status"},
		}),
		both(Info{
			Kind: StringError, What: "400, or another status, with {\"error\":\"text\"}: a text where an object belongs",
			For:  "is the text shown",
			Seen: []string{"argo-proxy 2.8.9 to 3.2, any upstream error on a stream", "https://github.com/Oaklight/argo-proxy/issues/107"},
			Uses: []string{"status", "body"},
		}),
		both(Info{
			Kind: DetailError, What: "422, or another status, with {\"detail\":[…]} as FastAPI makes it",
			For:  "is the detail shown",
			Seen: []string{"servers on FastAPI; go-openai v1.43 prints it as %!s(<nil>)"},
			Uses: []string{"status", "body"},
		}),
		both(Info{
			Kind: ErrorCompletion, What: "400, or another status, whose body is an ordinary completion with an empty message",
			For:  "does the status count, although the body looks well",
			Seen: []string{"argo-proxy 2.7.7 to 2.8.1, fixed in 2.8.2"},
			Uses: []string{"status"},
		}),
	}
}

func timeKinds() []Info {
	return []Info{
		{
			Kind: SlowHeaders, Group: "time", What: "the reply comes whole, after a silence of 30s, or delay, before its status",
			For:  "does a slow model look like a dead one",
			Seen: []string{"argo-proxy 3.0 to 3.2 hold headers back until the first bytes of the gateway"}, Stream: true, Plain: true, Uses: []string{"delay"},
		},
		{
			Kind: SlowStream, Group: "time", What: "5s, or delay, pass before each chunk",
			For:  "does a limit for the whole reply end one that is only slow",
			Seen: []string{"https://github.com/shiaho777/web-to-app/pull/438"}, Stream: true, Uses: []string{"delay"},
		},
		{
			Kind: Stall, Group: "time", What: "the reply falls silent in the middle for 2m, or delay, and goes on then",
			For:  "is a pause told from the end, and is the rest read",
			Seen: []string{"https://github.com/HKUDS/nanobot/issues/4013", "https://github.com/G-Research/bobbit/pull/536"}, Stream: true, Plain: true, Uses: []string{"delay", "at"},
		},
		{
			Kind: Hang, Group: "time", What: "nothing more comes, and the connection stays open until the client gives up",
			For:  "does the client give up by itself",
			Seen: []string{"https://github.com/earendil-works/pi/issues/8331", "https://github.com/agent0ai/agent-zero/issues/1882"},
			Forms: []Form{
				{Name: "headers", What: "not even a status"},
				{Name: "body", What: "in the middle of the reply"},
				{Name: "end", What: "after the last event, https://github.com/cohere-ai/cohere-python/issues/756", StreamOnly: true},
			},
			Stream: true, Plain: true, Uses: []string{"at"},
		},
	}
}

func connectionKinds() []Info {
	const group = "connection"
	return []Info{
		{
			Kind: Reset, Group: group, What: "the connection is reset (RST)",
			For:  "is a reply that broke off made again, and its beginning taken back",
			Seen: []string{"https://github.com/RayBytes/ChatMock/pull/57", "argo-proxy 3.3 when the gateway resets"},
			Forms: []Form{
				{Name: "before", What: "before the status"},
				{Name: "during", What: "in the middle of the reply"},
				{Name: "after", What: "after the last byte of the reply, before the body's end mark", StreamOnly: true},
			},
			Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: Cut, Group: group, What: "the connection is closed in the middle of the reply, without the body's end mark",
			For:  "is the reply known to be broken (incomplete chunked read)",
			Seen: []string{"https://github.com/bytedance/deer-flow/issues/1923", "https://github.com/openai/openai-python/issues/873"}, Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: Truncated, Group: group, What: "the body ends in order, but before its end, at any byte",
			For:  "is a reply that ends well for HTTP and not for the protocol taken for a whole one",
			Seen: []string{"https://github.com/2389-research/tracker/issues/544", "https://github.com/GCWing/OpenBitFun/pull/2038"}, Stream: true, Plain: true, Uses: []string{"at"},
		},
		{
			Kind: CutDone, Group: group, What: "the reply breaks off, and then data: [DONE] and a body that ends in order: no finish_reason, no usage, no error",
			For:  "does the end mark make half an answer a whole one",
			Seen: []string{"argo-proxy 3.3 when the gateway closes early", "https://github.com/RayBytes/ChatMock/pull/57"}, Stream: true, Uses: []string{"at"},
		},
		{
			Kind: RawStatus, Group: group, What: "a status line and headers of a second response stand in the middle of the chunked body, without a chunk size, then its JSON error",
			For:  "is a body that is no longer HTTP known to be broken",
			Seen: []string{"argo-proxy 2.8.9 (503) and 3.0 to 3.2 (502, 500) when the gateway drops a stream"}, Stream: true, Uses: []string{"status", "at"},
		},
		{
			Kind: ConnectionClose, Group: group, What: "the answer says Connection: close and the connection is closed after it",
			For:  "does the next request open another",
			Seen: []string{"argo-proxy 3.3 on every answer"}, Stream: true, Plain: true,
		},
		{
			Kind: WrongLength, Group: group, What: "Content-Length is not the length of the body",
			For:  "is a body of another length known to be broken",
			Seen: []string{"https://github.com/mhdzumair/mediaflow-proxy/issues/69"},
			Forms: []Form{
				{Name: "short", What: "the body ends before the length that was said"},
				{Name: "long", What: "the length that was said cuts the body off"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: Gzip, Group: group, What: "the body is compressed, asked for or not",
			For:  "is it inflated before it is parsed",
			Seen: []string{"https://github.com/epam/ai-dial-core/pull/1646", "https://github.com/gadievron/raptor/pull/547"},
			Forms: []Form{
				{Name: "said", What: "Content-Encoding: gzip"},
				{Name: "unsaid", What: "no such header, https://github.com/ai-ecoverse/slicc/pull/3041"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: WrongType, Group: group, What: "the Content-Type is not that of the body",
			For:  "is the header believed, or the body",
			Seen: []string{"https://github.com/decolua/9router/issues/3492", "argo-proxy 3.x labels HTML errors application/json"},
			Forms: []Form{
				{Name: "html", What: "text/html"},
				{Name: "text", What: "text/plain, https://github.com/ollama/ollama/issues/294"},
				{Name: "other", What: "application/json for a stream, text/event-stream for JSON"},
				{Name: "none", What: "application/octet-stream"},
			},
			Stream: true, Plain: true,
		},
		{
			Kind: JSONForStream, Group: group, What: "a request for a stream is answered with one JSON document",
			For:  "is it read, or taken for an empty stream",
			Seen: []string{"https://github.com/ChatGPTNextWeb/NextChat/pull/1585", "argo-proxy 3.0 forwards a body that is no stream"}, Stream: true,
		},
		{
			Kind: SSEForPlain, Group: group, What: "a request for one document is answered with a stream",
			For:  "is it read, or a JSON error",
			Seen: []string{"argo-proxy 3.3 for Claude, modes force and retry", "https://github.com/stacklok/codegate/pull/149"}, Plain: true,
		},
	}
}
