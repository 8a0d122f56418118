// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package fault

import "encoding/json"

// Presets returns the named faults: what servers were seen to do wrong in
// threads that many have met.
func Presets() []Preset {
	discover := Match{Method: methodDiscover}
	return []Preset{
		{"radare2_id_zero", Fault{Kind: WrongID, Form: "zero", Times: -1, Match: Match{Method: methodList}}, "radareorg/radare2-mcp#68", "no tools: every reply has the id 0"},
		{"claude_code_late_progress", Fault{Kind: LateProgress, Times: -1}, "anthropics/claude-code#47765", "the connection is dropped for a progress that came after its reply"},
		{"claude_code_late_reply", Fault{Kind: LateReply}, "anthropics/claude-code#51073", "the connection is dropped for a reply to a request that was cancelled"},
		{"twenty_progress_token", Fault{Kind: UnknownProgress, Times: -1}, "twentyhq/twenty#24559", "the server is red for a progress token of its own"},
		{"codebase_memory_cursor", Fault{Kind: CursorLoop, Form: "same", Times: -1}, "DeusData/codebase-memory-mcp#1247", "8 tools become 160"},
		{"codebase_memory_encoding", Fault{Kind: BadUTF8}, "DeusData/codebase-memory-mcp#511", "a call hangs for 40 minutes on text that is not UTF-8"},
		{"aspire_list_storm", Fault{Kind: ListStorm, Times: -1}, "microsoft/aspire#14494", "1,742 lists in three minutes"},
		{"azure_devops_banner", Fault{Kind: JunkLine, Body: "Azure DevOps MCP Server running on stdio"}, "microsoft/azure-devops-mcp#147", "the connection dies of a banner on stdout"},
		{"github_pretty_json", Fault{Kind: PrettyJSON, Times: -1}, "github/github-mcp-server#179", "nothing is read, for replies go over many lines"},
		{"lsp_framing", Fault{Kind: ContentLength, Times: -1}, "danielvm-git/bigpowers#131", "nothing is read, for replies have the header of a language server"},
		{"slack_handler_error", Fault{Kind: RPCError, Code: -32603, Message: "channel_not_found"}, "korotovsky/slack-mcp-server#196", "the failure of a tool is a failure of the protocol, and the model never sees it"},
		{"hermes_output_mismatch", Fault{Kind: SchemaMismatchOutput, Times: 3}, "NousResearch/hermes-agent#101330", "a valid text is thrown away, and then the whole server"},
		{"kiro_structured_only", Fault{Kind: MissingContent, Form: "structured", Times: -1}, "kirodotdev/Kiro#10882", "a result whose data is structured content alone is an error, or empty"},
		{"codex_unknown_content", Fault{Kind: UnknownContent, Body: `{"type":"resource_link","uri":"file:///report.pdf","name":"report"}`}, "openai/codex#33404", "one block that the client does not know, and the whole result is refused"},
		{"restarted_server", Fault{Kind: Session404}, "modelcontextprotocol/python-sdk#3556", "every call fails until the client itself is started again"},
		{"proxy_without_route", Fault{Kind: HTTPStatus, Status: 404, Body: "404 page not found\n", Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8"}, Times: 2}, "anthropics/claude-code#94273", "two 404s of a proxy, and the server is lost for the session"},
		{"postman_text_plain", Fault{Kind: WrongContentType, Form: "text", Times: -1}, "modelcontextprotocol/java-sdk#748", "the client refuses replies that are text/plain"},
		{"sdk_cancel_error", Fault{Kind: LateReply}, "modelcontextprotocol/python-sdk#2416", "a reply meets the cancellation of its request"},
		{"legacy_discover", Fault{Kind: DiscoverError, Form: "invalid_params", Times: -1, Match: discover}, "teradata-labs/loom#327", "a server that knows only initialize answers server/discover with -32602"},
		{"silent_discover", Fault{Kind: DiscoverError, Form: "silent", Times: -1, Match: discover}, "Gentleman-Programming/engram#753", "a server that knows only initialize does not answer server/discover"},
		{"mcp_go_error_data", Fault{Kind: RPCError, Code: -32050, Message: "the quota is used up", Data: json.RawMessage(`{"retry_after":30}`)}, "mark3labs/mcp-go#381", "code and data of an error cannot be read"},
	}
}
