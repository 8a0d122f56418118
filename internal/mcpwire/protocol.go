// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package mcpwire

// FirstModern is the first version without a handshake. A version is legacy
// when it opens with initialize and has sessions, and modern when each request
// stands for itself (2026-07-28 and later).
const FirstModern = "2026-07-28"

// LastLegacy is the last version with a handshake.
const LastLegacy = "2025-11-25"

// Versions returns the versions of the protocol, newest first.
func Versions() []string {
	return []string{FirstModern, LastLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// IsModern reports whether version, a date, has no handshake.
func IsModern(version string) bool { return version >= FirstModern }

// The methods that both sides have to know of.
const (
	MethodInitialize = "initialize"
	MethodDiscover   = "server/discover"
	MethodListen     = "subscriptions/listen"
	MethodPing       = "ping"
	MethodTools      = "tools/list"
	MethodCall       = "tools/call"
	MethodSetLevel   = "logging/setLevel"

	NoticeInitialized  = "notifications/initialized"
	NoticeCancelled    = "notifications/cancelled"
	NoticeProgress     = "notifications/progress"
	NoticeAcknowledged = "notifications/subscriptions/acknowledged"
	NoticeTools        = "notifications/tools/list_changed"
)

// Codes of errors: those of JSON-RPC, and those of 2026-07-28.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603

	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Headers of MCP over HTTP, as net/http spells them.
const (
	HeaderSession     = "Mcp-Session-Id"
	HeaderVersion     = "Mcp-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderLastEventID = "Last-Event-Id"
)

// Keys of the _meta of a modern message.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)
