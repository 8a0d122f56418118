// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

// The kinds. [Describe] says what each does, what it is for and where it was
// seen.
const (
	// An HTTP answer instead of the reply.

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
