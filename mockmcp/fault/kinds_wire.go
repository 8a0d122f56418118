// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

func frameKinds() []Info {
	const group = "frame"
	return []Info{
		{
			Kind: JunkLine, Group: group, On: []string{Start, methodInitialize, methodDiscover, methodCall, methodList}, Transports: everywhere(),
			What: "a line that is not part of the protocol: a banner or a log",
			For:  "does the connection survive, or fail with a message that quotes the line",
			Seen: append(gh("microsoft/azure-devops-mcp", "issues/147"), append(gh("editor-code-assistant/eca", "issues/298"), gh("anomalyco/opencode", "issues/24414")...)...),
			Uses: []string{"body", "count"},
			Forms: []Form{
				{"banner", "before the first frame; with a method, before its reply. Over HTTP an event with that text, over WebSocket a message"},
				{"empty", "empty lines"},
				{"json", "JSON that is not a message: a log in JSON"},
				{"bracket", "a line that begins like JSON and is not"},
			},
		},
		{
			Kind: TruncateFrame, Group: group, Transports: everywhere(),
			What: "half of the reply, and then nothing",
			For:  "is there a deadline, and is the half never mistaken for the whole",
			Seen: append(gh("webstudio-is/webstudio", "issues/6066"), gh("ruvnet/ruflo", "issues/2426")...),
			Uses: []string{"bytes", "exit_code"},
			Forms: []Form{
				{"silent", "the connection stays"},
				{"exit", "the process ends; elsewhere the connection is cut"},
				{"newline", "a newline after the half, and the connection stays"},
			},
		},
		{
			Kind: SplitFrame, Group: group, Transports: []string{Pipe, Stdio, HTTP, SSE},
			What: "the reply in two writes with 20 ms between them, by default",
			For:  "are frames put together from what is read",
			Seen: gh("tontinton/maki", "pull/68"),
			Uses: []string{"bytes", "delay"},
		},
		{
			Kind: WrongID, Group: group, Transports: everywhere(),
			What: "the reply has an id that nobody asked with",
			For:  "is it not taken for the answer, and is there a deadline",
			Seen: gh("radareorg/radare2-mcp", "issues/68"),
			Forms: []Form{
				{"other", "a number that was never used"},
				{"zero", "0, whatever was asked"},
				{"float", "the number asked, with .0 behind it"},
			},
		},
		{
			Kind: StringID, Group: group, Transports: everywhere(),
			What: "a number as id comes back as a string, and a string as a number where it is one",
			For:  "is it distinguished or tolerated, without an endless wait",
			Seen: append(gh("modelcontextprotocol/python-sdk", "issues/961", "issues/192"), append(gh("cognizant-ai-lab/neuro-san", "pull/526"), gh("kdr/overcast", "pull/74")...)...),
		},
		{
			Kind: NullID, Group: group, Transports: everywhere(),
			What: "the reply has the id null",
			For:  "is the failure noticed before the deadline",
			Seen: gh("helidon-io/helidon-mcp", "issues/65"),
			Uses: []string{"code", "message"},
			Forms: []Form{
				{"error", "a JSON-RPC error, -32700 by default"},
				{"result", "the result"},
			},
		},
		{
			Kind: MissingID, Group: group, Transports: everywhere(),
			What: "the reply has no id",
			For:  "is the failure noticed before the deadline",
			Seen: gh("helidon-io/helidon-mcp", "issues/65"),
		},
		{
			Kind: DuplicateReply, Group: group, Transports: everywhere(),
			What: "the reply comes twice",
			For:  "is the second ignored, and is the id not used again before",
			Seen: gh("anthropics/claude-code", "issues/51073"),
		},
		{
			Kind: BatchReply, Group: group, Transports: everywhere(),
			What: "the reply in an array, as JSON-RPC allowed until 2025-06-18",
			For:  "is it tolerated, or refused in time",
			Seen: gh("modelcontextprotocol/modelcontextprotocol", "pull/416"),
		},
	}
}

// spellingKinds are about the bytes of a reply.
func spellingKinds() []Info {
	const group = "frame"
	return []Info{
		{
			Kind: BadUTF8, Group: group, Transports: everywhere(),
			What: "bytes that are not UTF-8 inside the first text of the reply",
			For:  "does the connection survive",
			Seen: append(gh("DeusData/codebase-memory-mcp", "issues/511"), gh("modelcontextprotocol/python-sdk", "pull/2456")...),
		},
		{
			Kind: PrettyJSON, Group: group, Transports: everywhere(),
			What: "the reply over many lines, indented; in a stream each is a line of data",
			For:  "is it read, or refused in time: over stdio a frame is a line",
			Seen: gh("github/github-mcp-server", "pull/179"),
		},
		{
			Kind: CRLF, Group: group, Transports: []string{Pipe, Stdio, HTTP, SSE},
			What: "lines that end in CR LF; over HTTP those of the stream",
			For:  "is the CR ignored",
			Seen: gh("openai/codex", "pull/31805"),
		},
		{
			Kind: NoFinalNewline, Group: group, Transports: framed(),
			What: "the process ends after the reply, whose line has no newline",
			For:  "is the last line read",
			Seen: gh("openai/codex", "pull/31805"), InProcess: "the connection ends after it",
			Uses: []string{"exit_code"},
		},
		{
			Kind: ContentLength, Group: group, Transports: framed(),
			What: "the reply behind a Content-Length header, as a language server sends it",
			For:  "is the header skipped, or named in the error",
			Seen: append(gh("microsoft/agent-governance-toolkit", "pull/3833"), gh("open-agreements/open-agreements", "pull/116")...),
		},
	}
}

func httpKinds() []Info {
	const group = "http"
	return []Info{
		{
			Kind: HTTPStatus, Group: group, Transports: web(),
			What: "an HTTP answer instead of the reply, 503 by default; the tool does not run",
			For:  "is the status reported, and is a call not repeated unless that is safe",
			Seen: gh("anthropics/claude-code", "issues/94273"),
			Uses: []string{"status", "headers", "body"},
		},
		{
			Kind: AbortConnection, Group: group, Transports: []string{HTTP, SSE, WS},
			What: "the connection breaks instead of the reply",
			For:  "is there an error in time",
			Seen: append(gh("modelcontextprotocol/python-sdk", "issues/1577"), gh("anthropics/claude-code", "issues/69593")...),
			Uses: []string{"bytes"},
			Forms: []Form{
				{"headers", "before the headers of the answer; the tool has run"},
				{"body", "inside the body; the tool has run"},
				{"before", "before the headers; the tool does not run"},
			},
		},
		{
			Kind: SSEEndWithoutReply, Group: group, Transports: web(),
			What: "the stream ends in good order and without the reply; the tool has run",
			For:  "is there an error in time, and is the call not repeated",
			Seen: gh("modelcontextprotocol/python-sdk", "issues/1577"),
			Forms: []Form{
				{"empty", "no event at all"},
				{"lost", "an event with an id and `retry`: the client may come back for the rest, which is never sent"},
			},
			Uses: []string{"delay"},
		},
		{
			Kind: SSERetry, Group: group, Transports: []string{HTTP}, Era: Legacy,
			What: "the stream of the request begins with an event id and `retry`, is closed, and the reply is on the stream with which the client comes back",
			For:  "does the client wait as asked and come back with Last-Event-ID",
			Seen: gh("modelcontextprotocol/modelcontextprotocol", "issues/1699"),
			Uses: []string{"delay"},
		},
		{
			Kind: Session404, Group: group, Transports: web(), Era: Legacy,
			What: "the session is forgotten, as after a restart: 404 for this request and all that follow in it; the tool does not run",
			For:  "does the client initialize again without the session, and repeat the call",
			Seen: append(gh("modelcontextprotocol/python-sdk", "issues/3556"), append(gh("modelcontextprotocol/rust-sdk", "issues/733"), gh("anthropics/claude-code", "issues/62008")...)...),
			Forms: []Form{
				{"json", "404 with a JSON-RPC error"},
				{"text", "404 with a text"},
				{"400", "400 with a JSON-RPC error, as some servers send it"},
			},
		},
		{
			Kind: WrongContentType, Group: group, Transports: []string{HTTP},
			What: "the reply has the wrong Content-Type; the tool has run",
			For:  "is it refused with a message that names the type",
			Seen: append(gh("modelcontextprotocol/python-sdk", "issues/1072", "issues/1382"), append(gh("modelcontextprotocol/java-sdk", "issues/748"), gh("helidon-io/helidon-mcp", "issues/97")...)...),
			Forms: []Form{
				{"text", "JSON as text/plain"},
				{"html", "an HTML page with status 200, as from a proxy"},
				{"none", "JSON without a type"},
				{"json_for_sse", "a stream of events as application/json"},
				{"sse_for_json", "JSON as text/event-stream"},
			},
		},
	}
}

func listKinds() []Info {
	const group = "list"
	on := []string{methodList}
	return []Info{
		{
			Kind: ListChanged, Group: group, Transports: everywhere(),
			What: "notifications/tools/list_changed at a bad moment",
			For:  "is the list requested again, and does nothing freeze",
			Seen: append(gh("aaif-goose/goose", "issues/10433"), append(gh("openai/codex", "issues/33266"), gh("anthropics/claude-code", "issues/79826")...)...),
			Forms: []Form{
				{"before", "right before the reply to the request"},
				{"after", "right after it"},
				{"during", "while the request is under way, with a moment until the reply"},
			},
			Uses: []string{"delay"},
		},
		{
			Kind: ListStorm, Group: group, On: on, Transports: everywhere(), Lasts: true,
			What: "each tools/list is followed by a list_changed",
			For:  "is the number of lists bounded",
			Seen: append(gh("microsoft/aspire", "pull/14494"), gh("Kuadrant/mcp-gateway", "issues/555")...),
		},
		{
			Kind: ToolDrift, Group: group, On: []string{methodList, methodCall}, Transports: everywhere(),
			What: "a tool changes at a list or at a call; the call meets the new tool and sends list_changed; the change stays",
			For:  "is the model offered the tool as it was last listed",
			Seen: append(gh("maximhq/bifrost", "issues/6885"), gh("aaif-goose/goose", "issues/10433")...),
			Forms: []Form{
				{"rename", "under another name, with _v2 behind it"},
				{"required", "with one more argument that is required"},
				{"removed", "there is none"},
				{"description", "with another description"},
			},
		},
		{
			Kind: BadSchema, Group: group, On: on, Transports: everywhere(), Lasts: true,
			What: "the list has one tool whose schema is odd",
			For:  "are the other tools still offered, and is there a warning that names this one",
			Seen: append(gh("anthropics/claude-code", "issues/88049"), append(gh("mastra-ai/mastra", "issues/21859", "issues/23731"), append(gh("opentokenz/mcpx", "issues/28"), gh("sandialabs/atlas-ui-3", "issues/727")...)...)...),
			Forms: []Form{
				{"any_of", "anyOf at the root of the input schema"},
				{"true", "the input schema is true"},
				{"type_array", "the type at the root is an array"},
				{"missing", "no input schema"},
				{"null", "the input schema is null"},
				{"string", "the input schema is a string with JSON in it"},
				{"output_without_type", "an output schema without a type"},
				{"no_properties", "an object without properties"},
				{"bad_ref", "a reference that leads nowhere"},
			},
		},
		{
			Kind: CursorLoop, Group: group, On: on, Transports: everywhere(), Lasts: true,
			What: "the list never ends",
			For:  "is the number of pages bounded, and is each tool offered once",
			Seen: append(gh("DeusData/codebase-memory-mcp", "issues/1247"), append(gh("modelcontextprotocol/csharp-sdk", "issues/1072"), gh("sparfenyuk/mcp-proxy", "issues/233")...)...),
			Forms: []Form{
				{"same", "the same cursor on each page, with the same tools"},
				{"new", "a new cursor on each page, with the same tools"},
				{"empty", "an empty cursor on each page, with the same tools"},
				{"no_tools", "a new cursor on each page, without tools after the first"},
			},
		},
	}
}

func notifyKinds() []Info {
	const group = "notify"
	return []Info{
		{
			Kind: NotificationBurst, Group: group, Transports: everywhere(),
			What: "many log messages right before the reply, 100 by default",
			For:  "does nothing freeze, and are they reported before the reply",
			Seen: append(gh("mark3labs/mcp-go", "pull/969", "issues/334"), append(gh("Effect-TS/effect", "issues/8060"), gh("modelcontextprotocol/go-sdk", "issues/227")...)...),
			Uses: []string{"count"},
			Forms: []Form{
				{"log", "log messages"},
				{"progress", "progress, when the client gave a token for it"},
				{"list_changed", "list_changed"},
			},
		},
		{
			Kind: SettleZero, Group: group, Transports: everywhere(),
			What: "no time between the last notification of the script and the reply",
			For:  "is every notification reported, and before the reply",
			Seen: append(gh("mark3labs/mcp-go", "pull/969"), gh("Effect-TS/effect", "issues/8060")...),
		},
		{
			Kind: LateProgress, Group: group, Transports: everywhere(),
			What: "progress for the request after its reply",
			For:  "is it ignored, and does the connection survive",
			Seen: append(gh("anthropics/claude-code", "issues/47765"), gh("lennix1337/Genexus18MCP", "issues/44")...),
			Uses: []string{"count"},
		},
		{
			Kind: UnknownProgress, Group: group, Transports: everywhere(),
			What: "progress under a token that the client never gave",
			For:  "is it ignored, and does the connection survive",
			Seen: append(gh("twentyhq/twenty", "issues/24559"), append(gh("kaeawc/auto-mobile", "issues/6118"), gh("anthropics/claude-code", "issues/47765")...)...),
			Uses: []string{"count"},
			Forms: []Form{
				{"other", "a token of the server's own"},
				{"missing", "no token at all"},
			},
		},
		{
			Kind: UnknownNotification, Group: group, Transports: everywhere(),
			What: "a notification of a method that does not exist, before the reply",
			For:  "is it ignored",
			Seen: gh("vercel/ai", "issues/6282"),
			Uses: []string{"body", "count"},
		},
		{
			Kind: ServerRequest, Group: group, Transports: everywhere(), Era: Legacy,
			What: "the server asks something during the request, and replies only when it has an answer, which may be an error",
			For:  "is a ping answered, is an unknown request refused, and does the call continue",
			Seen: append(gh("vercel/ai", "issues/6282", "pull/15701"), gh("modelcontextprotocol/csharp-sdk", "issues/1390")...),
			Forms: []Form{
				{"ping", "ping"},
				{"roots", "roots/list"},
				{"sampling", "sampling/createMessage"},
				{"elicitation", "elicitation/create"},
				{"unknown", "a method that does not exist"},
			},
			Uses: []string{"body"},
		},
		{
			Kind: CancelRace, Group: group, Transports: everywhere(),
			What: "the reply and, in one write with it, notifications/cancelled for a request of the server's that the client has never had",
			For:  "does the peer tolerate a late cancellation, and answer the next request",
			Seen: append(gh("cbcoutinho/nextcloud-mcp-server", "issues/717"), gh("modelcontextprotocol/python-sdk", "issues/2416")...),
			Forms: []Form{
				{"after", "the cancellation after the reply"},
				{"before", "a cancellation of the client's own request, and then the reply anyway"},
			},
		},
	}
}
