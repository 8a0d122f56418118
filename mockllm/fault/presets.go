// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

// Preset is a fault with its own name, as one endpoint was seen to have
// it.
type Preset struct {
	Name  string `json:"name"`
	Fault Fault  `json:"-"`
	// Ref is where it was seen: an issue of Oaklight/argo-proxy, or, after
	// "rosetta", of Oaklight/llm-rosetta; or releases of argo-proxy.
	Ref string `json:"ref"`
	// What the user of such an endpoint sees.
	What string `json:"what"`
}

// Absent is a misbehaviour that was seen and is no fault here.
type Absent struct {
	Ref  string `json:"ref"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// Presets returns the named faults: what argo-proxy, a gateway that many
// scientific users have between them and their models, was seen to do wrong
// on the path of chat completions.
func Presets() []Preset {
	const (
		pythonError  = `{"error":{"message":"Error code: 400 - {'error': {'message': \"Missing required parameter: 'messages[0].content'.\", 'type': 'invalid_request_error'}}","type":"BadRequestError","code":"internal_error"}}`
		notice       = "AUTHENTICATION NOTICE FROM ARGO: the user 'jdoe' is not registered. Ask for access and try again."
		javaScript   = "Cannot read properties of undefined (reading 'input_tokens')"
		conversion   = `{"error":{"message":"Failed to parse upstream response: 1 validation error(s): choices[0].message: field required","type":"invalid_request_error","code":null}}`
		noneType     = `{"error":"An unexpected error occurred: object of type 'NoneType' has no len()"}`
		schemaError  = `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"anyOf\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.","status":"INVALID_ARGUMENT"}}`
		countError   = `{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}`
		orphanError  = `{"message":"Error code: 400 - {'error': {'message': \"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.\", 'type': 'invalid_request_error'}}","type":"BadRequestError","code":"internal_error"}`
		imageError   = `{"error":{"message":"Invalid value: 'input_image'. Supported values are: 'input_text'.","type":"invalid_request_error","param":"input[2].output[0]","code":"invalid_value"}}`
		imagesError  = `{"type":"error","error":{"type":"invalid_request_error","message":"Too many images in request: 51 > 50"}}`
		geminiError  = `{"error":{"message":"'NoneType' object is not iterable","type":"TypeError","code":"internal_error"}}`
		streamingErr = `{"error":{"message":"Streaming is required for operations that may take longer than 10 minutes","type":"server_error","code":null}}`
		unsupported  = `{"error":{"message":"Model 'gpt4olatest' is not supported on the /v1/chat/completions endpoint","type":"invalid_request_error","code":null}}`
		developerErr = "Upstream API error: 400 {\"error\":{\"message\":\"Unknown parameter: 'messages[0].tool_calls'.\",\"type\":\"invalid_request_error\"}}"
		nullContent  = `{"error":{"message":"Invalid value for 'content': expected a string, got null.","type":"invalid_request_error","param":"messages.[2].content","code":null}}`
		opusError    = `{"type":"error","error":{"type":"invalid_request_error","message":"Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': '` + "`max_tokens` must be greater than `thinking.budget_tokens`" + `'}, 'request_id': 'req_vrtx_0'}"}}`
		systemArray  = `{"error":{"message":"system: Input should be a valid string","type":"invalid_request_error","code":null}}`
	)
	return []Preset{
		{"argo_leaked_call", Fault{Kind: LeakedCall}, "#70", "the agent stops and prints a dict"},
		{"argo_tools_ignored", Fault{Kind: ToolsIgnored}, "#24", "tools are ignored, before 2.7.5"},
		{"argo_error_completion", Fault{Kind: ErrorCompletion}, "2.7.7 to 2.8.1", "HTTP 400 with no reason, and an empty reply"},
		{"argo_2_open_end", Fault{Kind: OpenEnd}, "all 2.x", "no finish_reason and no [DONE]: the client waits for the end"},
		{"argo_2_finish_each_call", Fault{Kind: FinishEachCall}, "2.8, streams with tools", "a call is finished twice, and text comes after the calls"},
		{"argo_2_new_ids", Fault{Kind: NewIDs}, "before 2.8.1", "chunks are not grouped"},
		{"argo_2_finish_stop", Fault{Kind: FinishStop}, "before 2.8.1", "finish_reason stop after calls"},
		{"argo_2_gemini_ids", Fault{Kind: ReusedIDs}, "2.x, Gemini", "ids of the history collide"},
		{"argo_2_gemini_null_content", Fault{Kind: HTTPStatus, Status: 500, Body: noneType}, "2.x, Gemini", "500: NoneType has no len()"},
		{"argo_2_invalid_call", Fault{Kind: LeakedCall, Form: "invalid"}, "2.x, prompted tools", "bad JSON is shown to the user"},
		{"argo_2_broken_characters", Fault{Kind: InvalidUTF8}, "before 2.8.3", "broken characters: UTF-8 was split across reads"},
		{"argo_usage_chunk", Fault{Kind: UsageChunk}, "2.8.1 and later", "index out of range on choices[0]"},
		{"argo_2_raw_status", Fault{Kind: RawStatus, Status: 503}, "2.8.9", "a malformed chunk"},
		{"argo_3_0_preflight", Fault{Kind: PreflightChunk}, "3.0", "index out of range on choices[0]"},
		{"argo_3_0_null_deltas", Fault{Kind: NullDeltas}, "3.0", "merging deltas overwrites the name"},
		{"argo_3_0_error_chunk", Fault{Kind: InStreamError, Form: "not_first"}, "3.0, GPT", "a chunk without choices, then [DONE]"},
		{"argo_3_raw_status", Fault{Kind: RawStatus}, "3.0 to 3.2", "a malformed chunk: raw status bytes in the body"},
		{"argo_3_created_zero", Fault{Kind: CreatedZero}, "3.x, Claude", "a reply of 1970"},
		{"argo_empty_arguments", Fault{Kind: BadArguments, Form: "empty"}, "rosetta#81", "a JSON error on the arguments of a tool without parameters"},
		{"argo_index_zero", Fault{Kind: IndexZero}, "rosetta#88", "two calls are merged into one"},
		{"argo_3_1_swallowed_error", Fault{Kind: SwallowedError}, "rosetta#345, 3.1 and 3.2", "an empty success"},
		{"argo_3_3_cut_done", Fault{Kind: CutDone}, "3.3", "an answer that was cut off is taken for a whole one"},
		{"argo_3_3_sse_for_plain", Fault{Kind: SSEForPlain}, "3.3, Claude", "a JSON parse error on a plain call"},
		{"argo_3_3_error_chunk", Fault{Kind: InStreamError, Form: "unended", Body: `{"message":"Upstream stream ended before completion: ","type":"server_error","code":null}`}, "3.3", "an error object among the chunks, [DONE], and no end"},
		{"argo_3_3_connection_close", Fault{Kind: ConnectionClose}, "3.3", "no connection is used twice"},
		{"argo_fallback_model", Fault{Kind: WrongModel, Body: "gpt54nano"}, "all", "a typo in the model is not noticed: another answers"},
		{"argo_gemini_schema", Fault{Kind: BadRequest, Body: schemaError}, "#76", "400 on tools for Gemini"},
		{"argo_orphan_call", Fault{Kind: InStreamError, Body: orphanError}, "#82, #90", "400 inside the stream for a call without a result in the history"},
		{"argo_image_result", Fault{Kind: BadRequest, Body: imageError}, "#99", "an image in a tool result is refused"},
		{"argo_string_error", Fault{Kind: StringError, Body: developerErr}, "#107", "an error that is a text"},
		{"argo_gemini_counts", Fault{Kind: BadRequest, Body: countError, Times: -1}, "#109, #110", "storms of 400: Gemini wants as many results as calls"},
		{"argo_script_error_text", Fault{Kind: OtherText, Body: javaScript}, "#111", "an error text as the answer"},
		{"argo_opus_thinking", Fault{Kind: BadRequest, Body: opusError}, "#112, #120, #123", "400 on Opus 4.7: max_tokens against thinking"},
		{"argo_opus_unparsed", Fault{Kind: ServerError, Status: 502, Body: conversion}, "#112", "502: Failed to parse upstream response"},
		{"argo_null_content", Fault{Kind: BadRequest, Body: nullContent}, "#113", "null content in the history is refused"},
		{"argo_null_message", Fault{Kind: EmptyReply, Form: "length"}, "rosetta#152", "an empty reply: thinking used up max_tokens"},
		{"argo_images", Fault{Kind: BadRequest, Body: imagesError}, "rosetta#299", "400 at the 51st image"},
		{"argo_usage_null", Fault{Kind: ServerError, Status: 502, Body: conversion}, "rosetta#383", "502 on a good reply whose usage has a null"},
		{"argo_gemini_conversion", Fault{Kind: ServerError, Body: geminiError}, "rosetta#151, #300, #303", "500 from the conversion for Gemini"},
		{"argo_streaming_required", Fault{Kind: ServerError, Body: streamingErr}, "3.x, Claude, plain", "500: streaming is required"},
		{"argo_auth_notice", Fault{Kind: OtherText, Body: notice}, "before 3.0.0b8; streams to 3.2", "a notice as the answer"},
		{"argo_auth_forbidden", Fault{Kind: Forbidden}, "3.0.0b8 and later", "403 for a user without registration"},
		{"argo_listed_refused", Fault{Kind: BadRequest, Body: unsupported}, "3.0.4", "a model that is listed is refused"},
		{"argo_system_array", Fault{Kind: BadRequest, Body: systemArray}, "before 2.7.7", "Claude fails on system content that is an array"},
		{"argo_python_error", Fault{Kind: BadRequest, Body: pythonError}, "the gateway, GPT", "a Python dict inside the message"},
		{"argo_html_502", Fault{Kind: HTMLPage}, "the gateway", "an HTML page of nginx"},
	}
}

// NotOffered returns what was seen at argo-proxy and is no fault, with the
// reason.
func NotOffered() []Absent {
	return []Absent{
		{"3.x, /v1/messages from GPT", "content_block index 0 is used again and the first block is not closed", "not on the path of chat completions"},
		{"3.3.x", "405 in JSON where a path is misspelled", "a habit of routing, not of a reply: the profile argo-proxy-3.3 has it"},
		{"#79, #83", "no message_stop, no response.completed", "not on the path of chat completions; missing_done and open_end are the equivalents there"},
		{"#67", "/v1/messages with an unknown name falls back to gpt4o", "not on the path of chat completions; wrong_model is the equivalent there"},
		{"rosetta#204", "an OpenAI body from /v1/messages", "not on the path of chat completions"},
		{"#81", "Claude Code crashes on Gemini's answers to MCP results", "the answers were not published"},
		{"before 2.7.10", "every embedding has index 0", "not on the path of chat completions"},
	}
}
