// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/mcpwire"
	"github.com/rehearse-dev/rehearse/mockmcp/fault"
)

// This file is the part of the language that is about the wire of a mock MCP
// server.

// wireKeys are keys of a server file and of a mock server written inline.
func wireKeys() []key {
	return []key{
		{name: "protocol", typ: objectOf("protocol"), def: "every version, both eras", doc: "The protocol versions and rules of the server."},
		{name: "resources", typ: list(objectOf("resource")), def: "none", doc: "The resources, as they are listed."},
		{name: "templates", typ: list(objectOf("resource template")), def: "none", doc: "Patterns of URIs, each with the content of the resources that fit it."},
		{name: "prompts", typ: list(objectOf("prompt")), def: "none", doc: "The prompts, as they are listed."},
		{name: "completions", typ: list(objectOf("completion")), def: "none", doc: "Completions for arguments of prompts and variables of templates."},
		{name: "changes", typ: list(objectOf("change")), def: "none", doc: "Tools, prompts and resources that are added and removed over time."},
		{name: "faults", typ: list(objectOf("server fault")), def: "none", doc: "What goes wrong at the server. The first fault that matches a request strikes."},
	}
}

// wireObjects are the objects of those keys.
func wireObjects() []*object {
	return []*object{
		protocolObject(),
		{
			name: "auth", doc: "Makes an HTTP server require a bearer token, and say in its metadata where to get one.",
			keys: []key{
				{name: "bearer", typ: filled(), required: true, doc: "The token that is accepted."},
				{name: "servers", typ: list(filled()), def: "none", doc: "The authorization servers that the metadata of the resource names."},
				{name: "scopes", typ: list(filled()), def: "none", doc: "The scopes that the metadata and the challenge name."},
			},
		},
		stepObject(), progressObject(), logObject(), notifyObject(),
		{
			name: "close_stream", doc: "Ends the stream of an answer.",
			keys: []key{{name: "retry", typ: duration(), def: "none sent", doc: "How long the client must wait before it resumes."}},
		},
		askObject(), samplingObject(), elicitationObject(),
		resourceObject(), templateObject(), promptObject(),
		{
			name: "prompt argument", doc: "An argument that a prompt takes.",
			keys: []key{
				{name: "name", typ: filled(), required: true, doc: "The argument's name."},
				{name: "title", typ: text(), def: "none", doc: "A name for people."},
				{name: "description", typ: text(), def: "none", doc: "What it is for."},
				{name: "required", typ: boolean(), def: "false", doc: "Whether the prompt requires it."},
			},
		},
		{
			name: "prompt message", doc: "One message of a prompt.", one: []string{"text", "content"},
			keys: []key{
				{name: "role", typ: enum("user", "assistant"), def: "user", doc: "The role or logger."},
				{name: "text", typ: template(), doc: "A text; reads " + known(expr.Tool) + ", where `args` are the prompt's arguments."},
				{name: "content", typ: anyMap(), doc: "A content block as defined by MCP."},
			},
		},
		{
			name: "completion", doc: "Values for an argument of a prompt, or for a variable of a template.", one: []string{"prompt", "template"},
			keys: []key{
				{name: "prompt", typ: filled(), doc: "The prompt's name."},
				{name: "template", typ: filled(), doc: "The template's pattern, or a resource's URI."},
				{name: "argument", typ: filled(), required: true, doc: "The argument or the variable."},
				{name: "values", typ: either(list(template()), anyMap()), required: true, doc: "The values; those that begin with the typed text are offered. `{$cel: ...}` computes the list, with the arguments given so far as `args`."},
			},
		},
		changeObject(), cueObject(), partsObject(), removeObject(), serverFaultObject(), serverMatchObject(),
	}
}

func protocolObject() *object {
	return &object{
		name: "protocol", doc: "What a mock server speaks. A version up to 2025-11-25 is legacy: it opens with initialize and has sessions. From 2026-07-28 each request is independent. Both kinds of client are served at the same address.",
		keys: []key{
			{name: "versions", typ: list(version0()), def: "all: " + strings.Join(mcpwire.Versions(), ", "), doc: "The versions that the server offers."},
			{name: "modern", typ: either(enum("on", "off", "reject", "silent"), boolean()), def: "on, or off when `versions` has only legacy ones", doc: "How a client of 2026-07-28 is answered: `on` serves it, `off` does not know server/discover, `reject` knows the version and refuses it, `silent` never answers server/discover."},
			{name: "sessions", typ: enum("required", "optional", "none"), def: "required", doc: "Over HTTP, for legacy clients: whether requests need the session that initialize opened. With `none` there are no sessions, and no GET and DELETE."},
			{name: "replies", typ: enum("auto", "sse"), def: "auto", doc: "Over HTTP: a reply is JSON, or a stream when something precedes it; `sse` always makes it a stream."},
			{name: "retry", typ: duration(), def: "none sent", doc: "Over HTTP, for legacy clients: streams begin with an event that has an id, no data, and this time to reconnect after."},
			{name: "page_size", typ: count(1), def: "one page", doc: "Entries on a page of a list."},
			{name: "list_changed", typ: boolean(), def: "true with changes", doc: "Whether the server announces that it reports changed lists."},
			{name: "settle", typ: duration(), def: "20ms", doc: "Time between the last notification about a request and its reply. `0s` sends both at once; some clients then lose the notification."},
			{name: "shuffle", typ: count(1), def: "as written", doc: "Seed for shuffling lists, differently for each list."},
			{name: "auth", typ: objectOf("auth"), def: "everybody", doc: "Authorization, over HTTP."},
		},
	}
}

// version0 is a version of the protocol.
func version0() typ {
	t := enum(mcpwire.Versions()...)
	t.words = "one of the versions " + strings.Join(mcpwire.Versions(), ", ")
	return t
}

func beforeKey(of string) key {
	return key{name: "before", typ: list(objectOf("step")), def: "nothing", doc: "What the server does before " + of + ", step by step: report progress, log, ask the client something, wait."}
}

func repeatKeys() []key {
	return []key{
		{name: "times", typ: count(1), def: "1", doc: "How often it is sent."},
		{name: "every", typ: duration(), def: "0s", doc: "The interval between them; a run skips it."},
	}
}

func stepObject() *object {
	return &object{
		name: "step", doc: "One thing that a mock server does before it answers.",
		one: []string{"progress", "log", "notify", "ask", "wait", "close_stream"},
		keys: []key{
			{name: "progress", typ: objectOf("progress"), doc: "Reports progress, if the client sent a progress token."},
			{name: "log", typ: objectOf("log message"), doc: "Sends a log message, if the client's level permits it."},
			{name: "notify", typ: objectOf("notification"), doc: "Sends any other notification, known or not."},
			{name: "ask", typ: either(objectOf("ask"), list(objectOf("ask"))), doc: "Asks the client, and waits for the answers. The items of a list are asked at the same time. The result reads the answers as `asked`."},
			{name: "wait", typ: duration(), doc: "Waits; a run skips the wait, but counts it for `limits.time`."},
			{name: "close_stream", typ: objectOf("close_stream"), doc: "Ends the stream of the answer over streamable HTTP, for legacy clients: the rest comes on the stream with which the client resumes."},
		},
	}
}

func progressObject() *object {
	return &object{
		name: "progress", doc: "A notification of progress. Sent several times it counts up: `value`, twice `value`, and so on.",
		keys: append([]key{
			{name: "value", typ: number(), required: true, doc: "The progress so far."},
			{name: "total", typ: number(), def: "unknown", doc: "The total."},
			{name: "message", typ: template(), def: "none", doc: "A message."},
		}, repeatKeys()...),
	}
}

func logObject() *object {
	levels := enum("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
	return &object{
		name: "log message", doc: "A log message to the client.",
		keys: append([]key{
			{name: "level", typ: levels, def: "info", doc: "Its level."},
			{name: "logger", typ: text(), def: "none", doc: "The role or logger."},
			{name: "data", typ: anything(), required: true, doc: "The data: a text or any other value; may have `{{ }}` and `$cel`."},
		}, repeatKeys()...),
	}
}

func notifyObject() *object {
	return &object{
		name: "notification", doc: "A notification, sent as written. Changes of a list and updates of a resource go to all clients that listen for them, anything else to the client of the request.",
		keys: append([]key{
			{name: "method", typ: filled(), required: true, doc: "Its method, such as `notifications/tools/list_changed`."},
			{name: "params", typ: anyMap(), def: "none", doc: "Its params; may have `{{ }}` and `$cel`."},
		}, repeatKeys()...),
	}
}

func askObject() *object {
	return &object{
		name: "ask", doc: "Something that a mock server asks its client. Legacy clients get a request; a client of 2026-07-28 is told that input is required, and calls again with its answer.",
		one: []string{"sampling", "elicitation", "roots"},
		keys: []key{
			{name: "sampling", typ: objectOf("sampling"), doc: "Asks the client's model for a message."},
			{name: "elicitation", typ: objectOf("elicitation"), doc: "Asks the client's user."},
			{name: "roots", typ: anyMap(), doc: "Asks for the client's roots; the map has further params, usually none."},
			{name: "as", typ: filled(), def: "sampling, elicitation or roots", doc: "The name of the answer: `asked.NAME`. A client that refused has `asked.NAME.error`."},
			{name: "optional", typ: boolean(), def: "false", doc: "Skips the question when the client cannot answer it. Otherwise that is an error."},
		},
	}
}

func samplingObject() *object {
	return &object{
		name: "sampling", doc: "A request for a message of the client's model.", one: []string{"text", "messages"},
		keys: []key{
			{name: "text", typ: template(), doc: "The text of one user message."},
			{name: "messages", typ: list(anyMap()), doc: "The messages as defined by MCP."},
			{name: "system", typ: template(), def: "none", doc: "The system prompt."},
			{name: "max_tokens", typ: count(1), def: "100", doc: "Tokens of the answer."},
			{name: "params", typ: anyMap(), def: "none", doc: "Further params, as they are written."},
		},
	}
}

func elicitationObject() *object {
	return &object{
		name: "elicitation", doc: "A question to the client's user: a form, or a page to visit.", one: []string{"schema", "url"},
		keys: []key{
			{name: "message", typ: template(), required: true, doc: "The message to the user."},
			{name: "schema", typ: anyMap(), doc: "JSON Schema of the form; there are no operators in it."},
			{name: "url", typ: template(), doc: "The page."},
			{name: "id", typ: text(), def: "rehearse", doc: "With `url`: the id of the question."},
		},
	}
}

func offerKeys(what string) []key {
	return []key{
		{name: "title", typ: text(), def: "none", doc: "A name for people."},
		{name: "description", typ: text(), def: "none", doc: "The description for clients."},
		{name: "extra", typ: anyMap(), def: "none", doc: "Further members of the listed " + what + ", such as `icons` and `_meta`, sent as written."},
	}
}

func resourceObject() *object {
	return &object{
		name: "resource", doc: "One resource of a mock server.", one: []string{"text", "blob", "file"},
		keys: append([]key{
			{name: "uri", typ: filled(), required: true, doc: "Its URI."},
			{name: "name", typ: filled(), def: "the URI", doc: "Its name."},
			{name: "mime_type", typ: filled(), def: "none", doc: "The type of its content."},
			{name: "text", typ: template(), doc: "Its content; reads " + known(expr.Tool) + "."},
			{name: "blob", typ: base64Text(), doc: "Its content in base64."},
			{name: "file", typ: filled(), doc: "A file with its content, relative to this file."},
			beforeKey("a read is answered"),
		}, offerKeys("resource")...),
	}
}

func templateObject() *object {
	return &object{
		name: "resource template", doc: "A pattern of URIs with the content of the resources that fit it.",
		keys: append([]key{
			{name: "uri_template", typ: filled(), required: true, doc: "The pattern (RFC 6570), such as `lab://samples/{id}`."},
			{name: "name", typ: filled(), def: "the pattern", doc: "Its name."},
			{name: "mime_type", typ: filled(), def: "none", doc: "The type of the content."},
			{name: "text", typ: template(), required: true, doc: "The content; reads " + known(expr.Tool) + ", where `args` are the variables of the pattern."},
			{name: "when", typ: celText(), def: "always", doc: "Decides which resources exist; reads the same names as `text`."},
			beforeKey("a read is answered"),
		}, offerKeys("template")...),
	}
}

func promptObject() *object {
	return &object{
		name: "prompt", doc: "One prompt of a mock server.", one: []string{"text", "messages"},
		keys: append([]key{
			{name: "name", typ: filled(), required: true, doc: "Its name."},
			{name: "arguments", typ: list(objectOf("prompt argument")), def: "none", doc: "The arguments that it takes."},
			{name: "text", typ: template(), doc: "The text of one user message; reads " + known(expr.Tool) + ", where `args` are the prompt's arguments."},
			{name: "messages", typ: list(objectOf("prompt message")), doc: "Its messages."},
			beforeKey("the prompt is given"),
		}, offerKeys("prompt")...),
	}
}

func changeObject() *object {
	return &object{
		name: "change", doc: "A change of what a mock server offers. Without `add` and `remove` clients are notified, but nothing changes.",
		keys: []key{
			{name: "on", typ: objectOf("cue"), required: true, doc: "What makes the change."},
			{name: "add", typ: either(list(objectOf("tool")), objectOf("parts")), def: "nothing", doc: "Tools to add, replacing those of the same name; a map also adds prompts and resources."},
			{name: "remove", typ: either(list(filled()), objectOf("removed")), def: "nothing", doc: "Names of tools to remove; a map also removes prompts and resources."},
			{name: "tell", typ: either(boolean(), list(enum("tools", "prompts", "resources"))), def: "what changed", doc: "The lists that clients are told have changed; `false` tells them nothing."},
			{name: "updated", typ: list(filled()), def: "none", doc: "URIs of resources whose subscribers are told that they were updated."},
			{name: "delay", typ: duration(), def: "0s", doc: "The delay of the notification after the answer to the call or the list that made the change."},
			{name: "early", typ: boolean(), def: "false", doc: "Sends the notification before that answer, so that it overtakes a slow one. Over HTTP the answer then waits for `settle`, since the notification goes over another stream."},
		},
	}
}

func cueObject() *object {
	return &object{
		name: "cue", doc: "What makes a change.", some: []string{"call", "tool", "list", "after", "cue"},
		keys: []key{
			{name: "call", typ: count(1), def: "with tool: every call", doc: "The n-th call (of `tool`, if given). It is still answered by the tools as they were."},
			{name: "tool", typ: filled(), def: "any", doc: "The tool whose calls count."},
			{name: "list", typ: either(count(1), enum("always")), def: "none", doc: "The n-th tools/list, or every one; it is answered with the tools as they were."},
			{name: "after", typ: duration(), def: "none", doc: "The time after the first session opened."},
			{name: "cue", typ: filled(), def: "none", doc: "The name of the cue, given by POST /rehearse/cue/NAME at the mock server, or by `Server.Cue` in Go."},
		},
	}
}

func partsObject() *object {
	return &object{
		name: "parts", doc: "What a change adds.", some: []string{"tools", "prompts", "resources"},
		keys: []key{
			{name: "tools", typ: list(objectOf("tool")), def: "none", doc: "Tools."},
			{name: "prompts", typ: list(objectOf("prompt")), def: "none", doc: "Prompts."},
			{name: "resources", typ: list(objectOf("resource")), def: "none", doc: "Resources."},
		},
	}
}

func removeObject() *object {
	return &object{
		name: "removed", doc: "What a change removes.", some: []string{"tools", "prompts", "resources"},
		keys: []key{
			{name: "tools", typ: list(filled()), def: "none", doc: "Names of tools."},
			{name: "prompts", typ: list(filled()), def: "none", doc: "Names of prompts."},
			{name: "resources", typ: list(filled()), def: "none", doc: "URIs of resources."},
		},
	}
}

func serverFaultObject() *object {
	kind := enum(fault.Names()...)
	kind.words = "a kind or a preset that `rehearse faults` lists"
	return &object{
		name: "server fault", doc: "A typed fault of a mock MCP server. [mcp-faults.md](mcp-faults.md) lists the kinds: what each does, which requests and transports it strikes, and which settings it uses.",
		keys: []key{
			{name: "kind", typ: kind, required: true, doc: "What goes wrong, as in `rpc_error`."},
			{name: "form", typ: filled(), def: "the kind's first", doc: "One of the kind's forms."},
			{name: "match", typ: objectOf("fault match"), def: "any request of the kind", doc: "Which requests it strikes. A fault on a result has none: it strikes the calls that the result answers."},
			{name: "times", typ: either(count(1), enum("always")), def: "1, or always with every or probability", doc: "How often it strikes."},
			{name: "every", typ: count(1), def: "1", doc: "Strikes every Nth request that matches."},
			{name: "probability", typ: number(), def: "1", doc: "The probability with which it strikes, from 0 to 1; the seed decides."},
			{name: "seed", typ: count(0), def: "0", doc: "The seed of the probability."},
			{name: "code", typ: whole(), def: "the kind's", doc: "The code of a JSON-RPC error."},
			{name: "message", typ: text(), def: "the kind's", doc: "The message of an error."},
			{name: "data", typ: anything(), def: "none", doc: "The data of a JSON-RPC error, as it is written."},
			{name: "status", typ: count(200), def: "the kind's", doc: "The HTTP status."},
			{name: "headers", typ: mapOf(text()), def: "none", doc: "HTTP headers of the answer."},
			{name: "body", typ: text(), def: "the kind's", doc: "The body of the HTTP answer, or the text of a line that is not part of the protocol."},
			{name: "delay", typ: duration(), def: "the kind's", doc: "The wait of a slow fault."},
			{name: "size", typ: size(), def: "the kind's", doc: "How many bytes are sent."},
			{name: "count", typ: count(1), def: "the kind's", doc: "How many notifications, lines or pages are sent."},
			{name: "bytes", typ: whole(), def: "half of it", doc: "How many bytes of a frame are sent before it breaks off or is split; a negative number counts from its end."},
			{name: "exit_code", typ: count(0), def: "the kind's", doc: "The code with which the process ends."},
			{name: "stderr", typ: text(), def: "the kind's", doc: "What the process writes to standard error before it ends."},
		},
	}
}

func serverMatchObject() *object {
	return &object{
		name: "fault match", doc: "The requests that a fault strikes. Everything given must match.", some: []string{"method", "tool", "args", "nth"},
		keys: []key{
			{name: "method", typ: filled(), def: "the kind's, usually tools/call", doc: "The method, such as `tools/list`; over HTTP also `GET` and `DELETE`."},
			{name: "tool", typ: filled(), def: "any", doc: "The tool that is called; for a kind about the list of tools, the one that goes wrong in it."},
			{name: "args", typ: anyMap(), def: "any", doc: "The arguments of the call; operators allowed, keys that are not named are ignored."},
			{name: "nth", typ: count(1), def: "any", doc: "The n-th of the requests that match the rest."},
		},
	}
}
