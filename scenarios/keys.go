// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"strings"

	"github.com/rehearse-dev/rehearse/harness/conduct"
	"github.com/rehearse-dev/rehearse/harness/expr"
	"github.com/rehearse-dev/rehearse/mockllm/profile"
)

// This file is the language: every key of every file, with type, default and
// one sentence. Checking, the reference page and the JSON Schema are written
// from it.

// reserved returns the keys that later versions will know.
func reserved() []string {
	return []string{
		"grants", "thresholds", "after", "interrupt", "kill", "approvals",
		"variants", "pass", "judge", "cost_usd",
	}
}

// kinds returns the keys that begin a file.
func kinds() []string { return []string{"scenario", "server", "llm", "suite"} }

// profiles returns the wire habits that the mock model knows.
func profiles() []string { return profile.Names() }

// objects returns the objects of the language, in the order of the page.
func objects() []*object {
	all := []*object{
		scenarioObject(),
		{
			name: "case", doc: "One row of a scenario that is repeated; each row is a scenario of its own in every report.",
			keys: []key{
				{name: "name", typ: filled(), required: true, doc: "Tells the row from the others."},
				{name: "vars", typ: anyMap(), def: "{}", doc: "What expressions read as `vars`."},
			},
		},
		{
			name: "live", doc: "Settings of live mode.",
			keys: []key{{name: "trials", typ: count(1), def: "1", doc: "How often the scenario is played; the command line overrides it."}},
		},
		{
			name: "limits", doc: "Limits that the runner enforces: passing one ends the trial as failed.",
			keys: []key{
				{name: "tool_calls", typ: count(1), def: "none", doc: "Tool calls that reach a server."},
				{name: "model_calls", typ: count(1), def: "none", doc: "Model requests, repeated ones too."},
				{name: "time", typ: duration(), def: "none", doc: "Time of the whole trial."},
				{name: "tokens", typ: count(1), def: "none", doc: "Tokens of all requests and replies."},
			},
		},
		modelObject(),
		{
			name: "requires", doc: "What the mock model wants of the subject, else it refuses the request as a provider does.",
			keys: []key{
				{name: "echo", typ: list(enum("reasoning_content")), def: "what the profile wants", doc: "Fields of the model's messages that must come back with them in later requests."},
			},
		},
		{
			name: "subject", open: true, doc: "Settings of the subject under test; what is not listed here is handed to it by name.",
			keys: []key{
				{name: "max_model_calls", typ: count(1), def: "the subject's", doc: "The subject's own limit of model calls in one turn."},
				{name: "token_limit", typ: count(1), def: "none", doc: "The subject's own limit of tokens in a conversation."},
				{name: "time_limit", typ: duration(), def: "none", doc: "The subject's own limit of time for a turn."},
			},
		},
		cassetteObject(), serverEntryObject(), turnObject(), replyObject(), fragmentsObject(),
		faultObject(), atObject(),
		{
			name: "rule", doc: "A reply outside the conversation: an aside is tried before it, a rule when a request fits no position.",
			keys: []key{
				{name: "when", typ: celText(), required: true, doc: "Holds for the requests that it answers; reads " + known(expr.Request) + "."},
				{name: "reply", typ: objectOf("reply"), required: true, doc: "The answer."},
			},
		},
		laneObject(),
		{
			name: "hold", doc: "A reply of the mock model or an answer of a tool that waits for a cue; a fault in its place does not.",
			keys: []key{{name: "until", typ: either(filled(), objectOf("until")), required: true, doc: "The cue's name: POST /rehearse/cue/NAME at the mock gives it, and `Mock.Cue` or `Server.Cue` in Go. Or, for a reply, the call of a tool, or the state of a server, that gives it."}},
		},
		untilObject(),
		expectationObject(), callsObject(), answerObject(),
		{
			name: "retries", doc: "Expects repeated model requests: those after a fault or a reply that was not delivered.",
			some: []string{"min", "max", "honoured"},
			keys: []key{
				{name: "min", typ: count(0), def: "0", doc: "At least so many."},
				{name: "max", typ: count(0), def: "no limit", doc: "At most so many."},
				{name: "honoured", typ: boolean(), def: "not looked at", doc: "Whether each waited as long as it was asked to."},
			},
		},
		startErrorObject(), serverObject(), toolObject(), resultObject(),
		{
			name: "rpc_error", doc: "A JSON-RPC error in place of a result.",
			keys: []key{
				{name: "code", typ: whole(), required: true, doc: "The code, such as -32602."},
				{name: "message", typ: template(), required: true, doc: "The message."},
				{name: "data", typ: anything(), def: "none", doc: "The data; may have `{{ }}` and `$cel`."},
			},
		},
	}
	return append(append(all, wireObjects()...), llmObject(), suiteObject())
}

func startErrorObject() *object {
	return &object{
		name: "start_error", doc: "The error with which the subject cannot be opened. Letter case counts.", some: []string{"contains", "not_contains", "regex"},
		keys: []key{
			{name: "contains", typ: either(text(), list(text())), def: "none", doc: "Texts that it contains."},
			{name: "not_contains", typ: either(text(), list(text())), def: "none", doc: "Texts that it does not contain."},
			{name: "regex", typ: either(text(), list(text())), def: "none", doc: "Regular expressions (RE2) that are found in it."},
		},
	}
}

func modelObject() *object {
	return &object{
		name: "model", doc: "Settings of the model side, for every mode; the command line chooses which models. `${NAME}` stands for an environment variable.",
		keys: []key{
			{name: "profile", typ: enum(profiles()...), def: "openai", doc: "Wire habits of the mock model."},
			{name: "system", typ: text(), def: "none", doc: "The system message that the subject is to send."},
			{name: "temperature", typ: number(), def: "the provider's", doc: "Sampling temperature; 0 is sent."},
			{name: "top_p", typ: number(), def: "the provider's", doc: "Nucleus sampling."},
			{name: "max_tokens", typ: count(1), def: "the provider's", doc: "Tokens of one reply."},
			{name: "stream", typ: boolean(), def: "false", doc: "Ask for replies as a stream."},
			contextKey(), requiresKey(), fragmentsKey("the mock model's replies are"), faultsKey(),
		},
	}
}

func version() key {
	return key{name: "version", typ: count(1), def: "1", doc: "Version of the language; may stand before the first key. A file from the future is refused."}
}

func description() key {
	return key{name: "description", typ: text(), def: "none", doc: "A sentence for reports."}
}

func expectKey(over string) key {
	return key{name: "expect", typ: list(objectOf("expectation")), def: "none", doc: "What is expected " + over + "."}
}

func contextKey() key {
	return key{name: "context_window", typ: count(1), def: "no limit", doc: "Tokens of a request that the mock model takes, those of `max_tokens` included where the provider counts them; a longer one is refused as the provider does, and takes no position."}
}

func requiresKey() key {
	return key{name: "requires", typ: objectOf("requires"), def: "what the profile wants", doc: "What the mock model wants of the subject."}
}

func asidesKey() key {
	return key{name: "asides", typ: list(objectOf("rule")), def: "none", doc: "Replies tried first, outside the conversation (title requests, probes); not counted as model calls."}
}

func rulesKey() key {
	return key{name: "rules", typ: list(objectOf("rule")), def: "none", doc: "Replies tried when a request fits no position; they keep no state, and `result` does not see what their calls return."}
}

func turnsKey(required bool) key {
	return key{name: "turns", typ: list(objectOf("turn")), required: required, doc: "The conversation, one user message after the other."}
}

func scenarioObject() *object {
	conductDoc := "Switches conduct checks `off` or `on`, by name: " + codes(conduct.Names()) + "; also `results: capped`, `compaction: allowed` or `required`."
	return &object{
		name: "scenario file", doc: "A conversation with a subject: the servers, the turns, what the mock model says, what is expected.",
		keys: []key{
			{name: "scenario", typ: filled(), required: true, doc: "The scenario's name; the first key of the file."},
			version(), description(),
			{name: "tags", typ: list(filled()), def: "none", doc: "Words to select scenarios by."},
			{name: "critical", typ: boolean(), def: "false", doc: "A gate fails when this scenario flips."},
			{name: "live", typ: objectOf("live"), doc: "Settings of live mode."},
			{name: "limits", typ: objectOf("limits"), doc: "Limits that the runner enforces."},
			{name: "model", typ: objectOf("model"), doc: "Settings of the model side."},
			{name: "subject", typ: objectOf("subject"), doc: "Settings of the subject under test."},
			{name: "servers", typ: mapOf(objectOf("server entry")), def: "none", doc: "The MCP servers that the subject is given, by name."},
			{name: "mcp_config", typ: filled(), def: "none", doc: "Path of an mcp.json that is written for the subject and names the same servers."},
			{name: "names", typ: mapOf(filled()), def: "none", doc: "The name under which the subject offers a tool, by `server.tool`."},
			{name: "conduct", typ: mapOf(either(text(), boolean())), def: "all on", doc: conductDoc},
			{name: "conduct_only", typ: boolean(), def: "false", doc: "Lets a scenario without expectations count: conduct alone is judged."},
			{name: "cassette", typ: objectOf("cassette"), doc: "How the scenario is recorded and replayed."},
			{name: "cases", typ: list(objectOf("case")), def: "one, without vars", doc: "Repeats the scenario over rows of `vars`."},
			asidesKey(), rulesKey(), lanesKey(), turnsKey(true), expectKey("over the whole conversation"),
		},
	}
}

func serverEntryObject() *object {
	env := " `${NAME}` stands for an environment variable, `${rehearse.workdir}` for the trial's own folder."
	return &object{
		name: "server entry", doc: "One MCP server of a scenario: a mock from a file or written here, or a real one by command or URL." + env,
		one: []string{"mock", "tools", "command", "url"}, late: true,
		keys: append([]key{
			{name: "mock", typ: filled(), doc: "Path of a server file, from the folder of this file."},
			{name: "tools", typ: list(objectOf("tool")), doc: "The tools of a mock server written here."},
			{name: "state", typ: anyMap(), def: "{}", doc: "With `tools`: the state of the mock server."},
			{name: "instructions", typ: text(), def: "none", doc: "With `tools`: what the mock server tells clients about itself."},
			{name: "command", typ: list(text()), doc: "A program with its arguments that speaks MCP over stdio."},
			{name: "env", typ: mapOf(text()), def: "none", doc: "With `command`: added to its environment."},
			{name: "url", typ: filled(), doc: "The address of a server."},
			{name: "headers", typ: mapOf(text()), def: "none", doc: "With `url`: HTTP headers of every request."},
			{name: "transport", typ: enum("stdio", "process", "http", "sse", "ws"), def: "http for a url; for a mock a URL and a pipe, as the subject likes", doc: "How the subject reaches it: a mock by `stdio` (a pipe in this process), `process` (a child process that the subject starts), `http`, `sse` or `ws` (a WebSocket); a URL by `http`, `sse` or `ws`."},
			{name: "waits", typ: enum("skipped", "real"), def: "skipped", doc: "Of a mock: `real` has its waits (latency, steps, slow faults) take their time, for a client that is to run into a timeout or not."},
			{name: "failed_when", typ: celText(), def: "what MCP says", doc: "Says of a result that the tool failed; reads `result` and `args`, of a mock server `state` too."},
			{name: "required", typ: boolean(), def: "true", doc: "The server must list a tool before the first model call, else the trial is an error."},
		}, entryKeys()...),
	}
}

// entryKeys are the wire's keys of a server entry. Those about what a server
// offers go with a mock server written here.
func entryKeys() []key {
	var keys []key
	for _, k := range wireKeys() {
		switch k.name {
		case "protocol":
			k.doc += " Beside `mock` it goes over that of the file, key by key."
		case "changes", "faults":
			k.doc += " Beside `mock` they come before those of the file."
		default:
			k.doc = "With `tools`: " + strings.ToLower(k.doc[:1]) + k.doc[1:]
		}
		keys = append(keys, k)
	}
	return keys
}

func turnObject() *object {
	return &object{
		name: "turn", doc: "One user message, the model calls that answer it, and what is expected of the answer.",
		keys: []key{
			{name: "user", typ: template(), required: true, doc: "What the user says; reads " + known(expr.User) + "."},
			{name: "replies", typ: list(objectOf("reply")), def: "none", doc: "What the mock model says: one item for each model call."},
			expectKey("of this turn"),
		},
	}
}

// callItem is a call: a name alone, or a map of a name to arguments.
func callItem(args typ) typ {
	pair := typ{words: "a map of one tool to its arguments", kinds: args.kinds, onePair: true, elem: &args}
	pair.kinds = anyMap().kinds
	return either(filled(), pair)
}

func replyObject() *object {
	return &object{
		name: "reply", doc: "One answer of the mock model.",
		some: []string{"say", "calls", "refusal"},
		keys: []key{
			{name: "say", typ: template(), def: "none", doc: "The text. A reply of text alone ends its turn."},
			{name: "calls", typ: list(callItem(anyMap())), def: "none", doc: "Tool calls: `server.tool: {arguments}`, one to an item; a name alone has no arguments."},
			{name: "reasoning", typ: template(), def: "none", doc: "Text of `reasoning_content`."},
			{name: "refusal", typ: template(), def: "none", doc: "Text of the model's refusal."},
			{name: "finish", typ: enum("stop", "length", "tool_calls", "content_filter"), def: "tool_calls with calls, else stop", doc: "The finish reason."},
			{name: "fault", typ: either(objectOf("fault"), list(objectOf("fault"))), def: "none", doc: "What goes wrong with this reply, before it comes as written: one fault or a list, one after the other."},
			{name: "hold", typ: objectOf("hold"), def: "none", doc: "Keeps the reply back until a cue."},
			{name: "logprobs", typ: anyMap(), def: "null", doc: "What is sent as `logprobs` to a request that asks for them."},
			{name: "choices", typ: list(text()), def: "the reply again", doc: "Texts of the second and further choices, for a request that asks for several."},
			{name: "repeat", typ: count(1), def: "1", doc: "How many model calls in a row get this reply."},
			fragmentsKey("the reply is"),
		},
	}
}

func expectationObject() *object {
	return &object{
		name: "expectation", doc: "One thing that is expected; two kinds in one item are an error.",
		one: []string{"calls", "never", "answer", "state", "retries", "stops", "start_error", "that"},
		keys: []key{
			{name: "calls", typ: either(list(callItem(anyMap())), objectOf("calls")), doc: "The tool calls, in the model's order; `[]` means none at all. A name alone stands for any arguments."},
			{name: "never", typ: list(filled()), doc: "Tools that must not be called: `server.tool`, `*` stands for any text."},
			{name: "answer", typ: objectOf("answer"), doc: "The text that the subject answers with."},
			{name: "state", typ: anyMap(), doc: "The state of mock servers afterwards, by server; keys that are not named are not looked at."},
			{name: "retries", typ: objectOf("retries"), doc: "How often the subject repeated a model request."},
			{name: "stops", typ: enum(stopReasons()...), doc: "Why the subject ended the turn without an answer: a limit of its own, what the model said, or what the endpoint did. `error` is any of them, and any error; `too_large` is a reply that is longer than the subject reads, and a request that is longer than the endpoint reads is a `context_overflow`."},
			{name: "start_error", typ: objectOf("start_error"), doc: "The subject gives up when it is opened on its servers, before the first turn, and says why. Over the whole conversation only."},
			{name: "that", typ: celText(), doc: "A CEL condition; reads " + known(expr.That) + "."},
		},
	}
}

func callsObject() *object {
	return &object{
		name: "calls", doc: "Expected tool calls with settings.",
		keys: []key{
			{name: "list", typ: list(callItem(anyMap())), required: true, doc: "The calls."},
			{name: "order", typ: enum("in_order", "any_order"), def: "in_order", doc: "Whether their order counts."},
			{name: "extra", typ: enum("fail", "allow"), def: "fail", doc: "What a call beyond the list does."},
			{name: "missing", typ: enum("fail", "allow"), def: "fail", doc: "What a call of the list that was not made does."},
			{name: "arguments", typ: enum("named", "exact", "ignore", "schema"), def: "named", doc: "How arguments are compared: those that are named, all, not at all, or against the tool's schema."},
		},
	}
}

func answerObject() *object {
	texts := either(list(template()), template())
	return &object{
		name: "answer", doc: "Expects something of the answer's text; all that is given must hold.",
		some: []string{"contains", "not_contains", "regex", "equals", "json"},
		keys: []key{
			{name: "contains", typ: texts, doc: "Texts that it contains."},
			{name: "not_contains", typ: texts, doc: "Texts that it does not contain."},
			{name: "regex", typ: either(list(text()), text()), doc: "Regular expressions (RE2) that are found in it."},
			{name: "equals", typ: template(), doc: "The whole text."},
			{name: "json", typ: anything(), doc: "A value with operators that the text, parsed as JSON, matches."},
		},
	}
}

func failedWhenKey(of string) key {
	return key{name: "failed_when", typ: celText(), def: "what MCP says", doc: "Says of a result " + of + " that the tool failed; reads " + known(expr.ToolResult) + "."}
}

func serverObject() *object {
	return &object{
		name: "server file", doc: "A mock MCP server.",
		keys: append([]key{
			{name: "server", typ: filled(), required: true, doc: "The server's name; the first key of the file."},
			version(), description(),
			{name: "instructions", typ: text(), def: "none", doc: "What the server tells clients about itself."},
			{name: "state", typ: anyMap(), def: "{}", doc: "The world that results read and change."},
			failedWhenKey("of any tool"),
			{name: "tools", typ: list(objectOf("tool")), required: true, doc: "The tools, as they are listed."},
		}, wireKeys()...),
	}
}

func toolObject() *object {
	return &object{
		name: "tool", doc: "One tool of a mock server.",
		keys: []key{
			{name: "name", typ: filled(), required: true, doc: "The tool's name."},
			{name: "title", typ: text(), def: "none", doc: "A name for people."},
			{name: "description", typ: text(), def: "none", doc: "What the model is told of it."},
			{name: "input", typ: anyMap(), def: "an object with any properties", doc: "JSON Schema of the arguments; there are no operators in it."},
			{name: "output", typ: anyMap(), def: "none", doc: "JSON Schema of the structured content."},
			{name: "annotations", typ: anyMap(), def: "none", doc: "MCP annotations, such as `readOnlyHint`."},
			{name: "extra", typ: anyMap(), def: "none", doc: "Further members of the listed tool, such as `icons`, `execution` and `_meta`, as they are written."},
			failedWhenKey("of this tool"),
			{name: "results", typ: list(objectOf("result")), required: true, doc: "The answers; the first that matches a call answers it."},
		},
	}
}

func resultObject() *object {
	return &object{
		name: "result", doc: "One answer of a tool. Without `args` and `when` it answers every call.",
		one: []string{"json", "text", "content", "error", "rpc_error", "file"}, unless: []string{"size", "fault"},
		keys: []key{
			{name: "args", typ: anyMap(), def: "any", doc: "The arguments that it answers; operators allowed, keys that are not named are not looked at."},
			{name: "when", typ: celText(), def: "always", doc: "A CEL condition; reads " + known(expr.Tool) + "; a missing key means that it does not hold."},
			{name: "json", typ: anything(), doc: "Structured content; its text is sent as well."},
			{name: "text", typ: template(), doc: "A text."},
			{name: "content", typ: list(anyMap()), doc: "Content blocks as MCP has them."},
			{name: "error", typ: template(), doc: "The text of a result that says isError."},
			{name: "rpc_error", typ: objectOf("rpc_error"), doc: "An error of the protocol."},
			{name: "file", typ: filled(), doc: "A file with the content, from the folder of this file: text, a picture, sound, or any other bytes as an embedded resource."},
			{name: "size", typ: size(), def: "as it is", doc: "Makes the text that long, at least: a number of bytes, or as in `1MB`. Without an answer it is one of its own."},
			{name: "meta", typ: anyMap(), def: "none", doc: "The `_meta` of the result; may have `{{ }}` and `$cel`."},
			beforeKey("the answer is sent"),
			{name: "hold", typ: objectOf("hold"), def: "none", doc: "Keeps the answer back until a cue."},
			{name: "fault", typ: either(objectOf("server fault"), list(objectOf("server fault"))), def: "none", doc: "What goes wrong with the calls that this result answers: one fault or a list. An answer that it takes the place of need not be given; the fault then strikes every such call."},
			{name: "set", typ: anyMap(), def: "nothing", doc: "A JSON merge patch for the state, after the answer was computed; null deletes. Reads `result` too."},
			{name: "latency", typ: duration(), def: "0s", doc: "Time that passes before the answer is sent. A run skips the wait, and counts it for `limits.time`."},
		},
	}
}

func llmObject() *object {
	return &object{
		name: "llm file", doc: "A mock model that stands alone, for `rehearse serve llm` or beside a test.",
		keys: []key{
			{name: "llm", typ: filled(), required: true, doc: "The mock's name; the first key of the file."},
			version(), description(),
			{name: "profile", typ: enum(profiles()...), def: "openai", doc: "Wire habits of the mock model."},
			{name: "models", typ: list(filled()), def: "any", doc: "The models that it lists and answers for."},
			{name: "order", typ: enum("position", "arrival"), def: "position", doc: "`position` gives the reply that is due where the conversation stands in the request; `arrival` makes the replies a plain queue: any request gets the next one, the same again too."},
			{name: "names", typ: mapOf(filled()), def: "none", doc: "The name under which a client offers a tool, by the name in the file."},
			contextKey(), requiresKey(),
			fragmentsKey("replies are"),
			faultsKey(), asidesKey(), turnsKey(false),
			{name: "replies", typ: list(objectOf("reply")), def: "none", doc: bareReplies},
			rulesKey(), lanesKey(),
		},
		some: []string{"turns", "replies", "rules", "asides", "lanes"},
	}
}

func suiteObject() *object {
	doc := "Defaults for the scenarios of this folder; "
	return &object{
		name: "suite file", doc: "The file suite.yaml: defaults for the scenarios beside it. Maps merge and the scenario wins; `expect` lists add up. It does not reach into subfolders.",
		keys: []key{
			{name: "suite", typ: filled(), required: true, doc: "The suite's name; the first key of the file."},
			version(), description(),
			{name: "model", typ: objectOf("model"), doc: doc + "see model."},
			{name: "servers", typ: mapOf(objectOf("server entry")), doc: doc + "see server entry."},
			{name: "limits", typ: objectOf("limits"), doc: doc + "see limits."},
			{name: "subject", typ: objectOf("subject"), doc: doc + "see subject."},
			{name: "live", typ: objectOf("live"), doc: doc + "see live."},
			{name: "cassette", typ: objectOf("cassette"), doc: doc + "see cassette."},
			expectKey("in every scenario, over the whole conversation"),
		},
	}
}
