// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

// The kinds. [Describe] says what each does, what it is for and where it was
// seen.
const (
	// What a tool answers.

	IsError              Kind = "is_error"
	RPCError             Kind = "rpc_error"
	UnknownContent       Kind = "unknown_content"
	MissingContent       Kind = "missing_content"
	SchemaMismatchOutput Kind = "schema_mismatch_output"
	Huge                 Kind = "huge"

	// Slow and silent.

	Delay     Kind = "delay"
	Hang      Kind = "hang"
	LateReply Kind = "late_reply"
	SlowStart Kind = "slow_start"

	// The process.

	DieAtStart  Kind = "die_at_start"
	Exit        Kind = "exit"
	CloseStdout Kind = "close_stdout"
	IgnoreEOF   Kind = "ignore_eof"
	StderrFlood Kind = "stderr_flood"

	// Frames and ids.

	JunkLine       Kind = "junk_line"
	TruncateFrame  Kind = "truncate_frame"
	SplitFrame     Kind = "split_frame"
	WrongID        Kind = "wrong_id"
	StringID       Kind = "string_id"
	NullID         Kind = "null_id"
	MissingID      Kind = "missing_id"
	DuplicateReply Kind = "duplicate_reply"
	BatchReply     Kind = "batch_reply"
	BadUTF8        Kind = "bad_utf8"
	PrettyJSON     Kind = "pretty_json"
	CRLF           Kind = "crlf"
	NoFinalNewline Kind = "no_final_newline"
	ContentLength  Kind = "content_length"

	// HTTP and its streams.

	HTTPStatus         Kind = "http_status"
	AbortConnection    Kind = "abort_connection"
	SSEEndWithoutReply Kind = "sse_end_without_reply"
	SSERetry           Kind = "sse_retry"
	Session404         Kind = "session_404"
	WrongContentType   Kind = "wrong_content_type"

	// The list of tools.

	ListChanged Kind = "list_changed"
	ListStorm   Kind = "list_storm"
	ToolDrift   Kind = "tool_drift"
	BadSchema   Kind = "bad_schema"
	CursorLoop  Kind = "cursor_loop"

	// Notifications and requests of the server.

	NotificationBurst   Kind = "notification_burst"
	SettleZero          Kind = "settle_zero"
	LateProgress        Kind = "late_progress"
	UnknownProgress     Kind = "unknown_progress"
	UnknownNotification Kind = "unknown_notification"
	ServerRequest       Kind = "server_request"
	CancelRace          Kind = "cancel_race"

	// Finding the era of a server.

	DiscoverError Kind = "discover_error"
)

// everywhere is for kinds that strike all transports; framed for those that
// break a stream of lines, web for those of HTTP.
func everywhere() []string { return Transports() }
func framed() []string     { return []string{Pipe, Stdio} }
func web() []string        { return []string{HTTP, SSE} }

// gh names threads of a repository.
func gh(repo string, paths ...string) []string {
	for i, p := range paths {
		paths[i] = "https://github.com/" + repo + "/" + p
	}
	return paths
}

func answerKinds() []Info {
	const group = "answer"
	on := []string{methodCall}
	return []Info{
		{
			Kind: IsError, Group: group, On: on, Transports: everywhere(),
			What: "a result that says isError, with a text that a model can read",
			For:  "does the model see the failure as a failure, and does the answer not claim success",
			Seen: append(gh("zed-industries/zed", "pull/47095"), append(gh("bytedance/trae-agent", "pull/429"), gh("elizaOS/eliza", "issues/30037")...)...),
			Uses: []string{"message"},
			Forms: []Form{
				{"plain", "the text says that the tool failed"},
				{"plausible", "the text sounds like success; only isError says otherwise"},
			},
		},
		{
			Kind: RPCError, Group: group, Transports: everywhere(),
			What: "a JSON-RPC error instead of the result, -32603 by default",
			For:  "can code, message and data be read by the caller, and does the run survive",
			Seen: append(gh("mark3labs/mcp-go", "issues/381", "issues/593"), gh("korotovsky/slack-mcp-server", "pull/196")...),
			Uses: []string{"code", "message", "data"},
		},
		{
			Kind: UnknownContent, Group: group, On: on, Transports: everywhere(),
			What: "a content block of a type that does not exist, before the others",
			For:  "is the rest of the result still used",
			Seen: append(gh("openai/codex", "issues/33404"), gh("kirodotdev/Kiro", "issues/7983")...),
			Uses: []string{"body"},
		},
		{
			Kind: MissingContent, Group: group, On: on, Transports: everywhere(),
			What: "a result without content",
			For:  "is it an empty result or a broken one, and is that reported",
			Seen: append(gh("modelcontextprotocol/python-sdk", "issues/1796"), append(gh("kirodotdev/Kiro", "issues/10882"), gh("nicobailon/pi-mcp-adapter", "issues/113")...)...),
			Forms: []Form{
				{"absent", "no content; structured content where there is some"},
				{"null", "content is null"},
				{"structured", "content is an empty array beside structured content"},
				{"empty", "content is an empty array, and nothing else"},
				{"text", "content is a text instead of an array"},
			},
		},
		{
			Kind: SchemaMismatchOutput, Group: group, On: on, Transports: everywhere(),
			What: "structured content that breaks the output schema of the tool, beside a valid text",
			For:  "is the text still used, and are the other tools of the server",
			Seen: gh("NousResearch/hermes-agent", "issues/101330"),
			Forms: []Form{
				{"type", "an object whose values have other types"},
				{"array", "an array instead of the object"},
				{"absent", "no structured content at all"},
			},
		},
		{
			Kind: Huge, Group: group, On: on, Transports: everywhere(),
			What: "a text of many bytes, 1 MiB by default",
			For:  "is there a limit, is it reported, and does the connection survive",
			Seen: append(gh("modelcontextprotocol/typescript-sdk", "pull/2239"), append(gh("elastic/kibana", "issues/268715"), gh("IBM/mcp-context-forge", "pull/2616")...)...),
			Uses: []string{"size"},
		},
	}
}

func timeKinds() []Info {
	const group = "time"
	return []Info{
		{
			Kind: Delay, Group: group, Transports: everywhere(),
			What: "the reply comes late, after 2 s by default",
			For:  "is the wait tolerated, or ended with a cancellation",
			Seen: gh("anomalyco/opencode", "issues/28186", "issues/24965"),
			Uses: []string{"delay"},
			Forms: []Form{
				{"silent", "nothing before the reply"},
				{"progress", "progress four times in the meantime, when the client gave a token for it"},
			},
		},
		{
			Kind: Hang, Group: group, Transports: everywhere(),
			What: "there is no reply; the connection stays",
			For:  "is there a deadline, does the error say whose, and is notifications/cancelled sent",
			Seen: append(gh("anthropics/claude-code", "issues/69593"), gh("modelcontextprotocol/modelcontextprotocol", "issues/418")...),
			Forms: []Form{
				{"after", "the tool has run"},
				{"before", "the tool does not run"},
				{"headers", "over HTTP: headers of a stream, and then nothing; the tool has run"},
			},
		},
		{
			Kind: LateReply, Group: group, Transports: everywhere(),
			What: "no reply until the client cancels or drops the request; then the reply still comes",
			For:  "is a late reply ignored, and does the connection survive",
			Seen: append(gh("anthropics/claude-code", "issues/51073"), gh("strands-agents/harness-sdk", "issues/1221")...),
		},
		{
			Kind: SlowStart, Group: group, On: []string{Start}, Transports: everywhere(),
			What: "nothing is read for a while after the start, 5 s by default; over HTTP the first request is answered that late",
			For:  "does the start have its own deadline, and does the error say so",
			Seen: gh("anthropics/claude-code", "issues/35287"),
			Uses: []string{"delay"},
		},
	}
}

func processKinds() []Info {
	const group = "process"
	return []Info{
		{
			Kind: DieAtStart, Group: group, On: []string{Start}, Transports: everywhere(),
			What: "the process writes a line to stderr and exits before it has read anything, with 1 by default",
			For:  "is there an error at once, with the exit code and the text from stderr",
			Seen: append(gh("mark3labs/mcp-go", "issues/498"), gh("anthropics/claude-code", "issues/35287")...),
			Uses: []string{"exit_code", "stderr"}, InProcess: "the connection ends; over HTTP the first request is cut off",
		},
		{
			Kind: Exit, Group: group, Transports: everywhere(),
			What: "the process ends while the request is under way, with 1 by default",
			For:  "is the failure fast, is the server started again, and does each side effect happen once",
			Seen: gh("MoonshotAI/kimi-code", "issues/2109"),
			Uses: []string{"exit_code", "stderr"}, InProcess: "the connection is cut; over HTTP the sessions are forgotten as well, as if it had been started again",
			Forms: []Form{
				{"after", "the tool has run"},
				{"before", "the tool has not run"},
			},
		},
		{
			Kind: CloseStdout, Group: group, Transports: framed(),
			What: "stdout is closed instead of the reply, and the process goes on",
			For:  "is the end of the output noticed though the process lives",
			Seen: gh("MoonshotAI/kimi-code", "issues/2109"), InProcess: "the connection is cut",
		},
		{
			Kind: IgnoreEOF, Group: group, On: []string{End}, Transports: []string{Stdio},
			What:      "the process goes on after its input has ended, and after the signal to terminate",
			For:       "does closing take a bounded time, and does no process remain",
			Seen:      append(gh("mark3labs/mcp-go", "issues/783"), gh("mcpjungle/MCPJungle", "issues/207")...),
			InProcess: "there is none",
		},
		{
			Kind: StderrFlood, Group: group, Transports: []string{Stdio},
			What: "many bytes go to stderr before the reply, 400 kB by default",
			For:  "is stderr read, and bounded",
			Seen: gh("mark3labs/mcp-go", "issues/956"),
			Uses: []string{"size"}, InProcess: "there is no stderr",
			Forms: []Form{
				{"lines", "many lines"},
				{"line", "one endless line"},
			},
		},
	}
}

func probeKinds() []Info {
	return []Info{{
		Kind: DiscoverError, Group: "probe", On: []string{methodDiscover}, Transports: everywhere(),
		What: "server/discover is answered as servers that know only initialize were seen to",
		For:  "does the client fall back to initialize, and in time",
		Seen: append(gh("teradata-labs/loom", "pull/327"), gh("Gentleman-Programming/engram", "issues/753")...),
		Uses: []string{"code", "message", "data", "exit_code", "status"},
		Forms: []Form{
			{"method_not_found", "-32601"},
			{"invalid_params", "-32602"},
			{"invalid_request", "-32600"},
			{"internal", "-32603"},
			{"not_initialized", "-32002, a request before initialize"},
			{"null_id", "-32600 with the id null"},
			{"silent", "nothing"},
			{"exit", "the process ends"},
			{"status", "over HTTP 404 with a text, by default; elsewhere -32601"},
			{"unsupported", "-32022 with a list of versions that holds the one asked for"},
		},
	}}
}
