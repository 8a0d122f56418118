// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/conduct"
	"github.com/rehearse-dev/rehearse/internal/expr"
	"github.com/rehearse-dev/rehearse/internal/profile"
	"github.com/rehearse-dev/rehearse/mockllm"
)

// This file is the language: every key of every file, with type, default and
// one sentence. Checking, the reference page and the JSON Schema are written
// from it.

// reserved returns the keys that later versions will know.
func reserved() []string {
	return []string{
		"after", "cost_usd",
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
			name: "case", doc: "One test case of a scenario; each is a scenario of its own in every report.",
			keys: []key{
				{name: "name", typ: filled(), required: true, doc: "The name of the case."},
				{name: "vars", typ: anyMap(), def: "{}", doc: "The values that expressions read as `vars`."},
			},
		},
		tableObject(),
		{
			name: "live", doc: "Settings of live mode.",
			keys: []key{{name: "trials", typ: count(1), def: "1", doc: "The number of trials; the command line overrides it."}},
		},
		passObject(),
		{
			name: "limits", doc: "Limits that the runner enforces: exceeding one ends the trial as failed. In live and record mode, a limit of time that went by waiting for the endpoint is an error.",
			keys: []key{
				{name: "tool_calls", typ: count(1), def: "none", doc: "Tool calls that reach a server."},
				{name: "model_calls", typ: count(1), def: "none", doc: "Model requests, repeated ones too."},
				{name: "time", typ: limit(), def: "none", doc: "Time of the whole trial."},
				{name: "tokens", typ: count(1), def: "none", doc: "Tokens of all requests and replies."},
			},
		},
		modelObject(),
		{
			name: "requires", doc: "What the mock model requires of the subject; otherwise it refuses the request as a provider does.",
			keys: []key{
				{name: "echo", typ: list(enum(mockllm.EchoFields()...)), def: "what the profile requires", doc: "Fields of the model's messages that must come back with them in later requests of chat completions. `reasoning_details` and `extra_content` are then sent with every reply that has thoughts, and with every call."},
			},
		},
		cassetteObject(), serverEntryObject(), turnObject(), interruptionObject(), approvalObject(), scriptedTurnObject(), userTextObject(), replyObject(), fragmentsObject(), habitsObject(),
		faultObject(), atObject(),
		{
			name: "rule", doc: "A reply outside the conversation: an aside is tried before the conversation, a rule when a request fits no position.",
			keys: []key{
				{name: "when", typ: celText(), required: true, doc: "Holds for the requests that it answers; reads " + known(expr.Request) + "."},
				{name: "chance", typ: probability(), def: "1", doc: "The probability, from 0 to 1, with which it answers a request that `when` holds for; otherwise the next rule is tried. The number drawn follows from the seeds (of the llm file and of `serve llm`, or of the trial) and from the request's model, seed and messages, and not from the order of requests: a repeated request meets the same rule. `times` and `every` of the reply's faults then count for each request by itself."},
				{name: "reply", typ: objectOf("reply"), required: true, doc: "The answer."},
			},
		},
		laneObject(),
		{
			name: "hold", doc: "Holds a reply of the mock model or an answer of a tool until a cue. A fault in its place does not wait.",
			keys: []key{{name: "until", typ: either(filled(), objectOf("until")), required: true, doc: "The name of the cue, given by POST /rehearse/cue/NAME at the mock, or by `Mock.Cue` or `Server.Cue` in Go. Or, for a reply, the tool call or the state of a server that gives it."}},
		},
		untilObject(),
		expectationObject(), callsObject(), answerObject(),
		{
			name: "retries", doc: "Judges repeated model requests: those after a fault or an undelivered reply.",
			some: []string{"min", "max", "honoured"},
			keys: []key{
				{name: "min", typ: count(0), def: "0", doc: "The minimum."},
				{name: "max", typ: count(0), def: "no limit", doc: "The maximum."},
				{name: "honoured", typ: boolean(), def: "not judged", doc: "Whether each waited as long as it was asked to."},
			},
		},
		startErrorObject(), judgeObject(), judgeSettingsObject(), serverObject(), toolObject(), resultObject(),
		{
			name: "rpc_error", doc: "A JSON-RPC error instead of a result.",
			keys: []key{
				{name: "code", typ: whole(), required: true, doc: "The code, such as -32602."},
				{name: "message", typ: template(), required: true, doc: "The message."},
				{name: "data", typ: anything(), def: "none", doc: "The data; may have `{{ }}` and `$cel`."},
			},
		},
	}
	all = append(append(all, wireObjects()...), llmObject(), suiteObject(), thresholdsObject())
	return slices.Concat(all, variantObjects(), subjectObjects())
}

func passKey(doc string) key {
	return key{name: "pass", typ: either(enum("all"), objectOf("pass")), def: "all, unless a threshold covers the scenario", doc: doc}
}

func passObject() *object {
	return &object{
		name: "pass", doc: "How many attempts at a scenario must pass. Errors and skipped attempts do not count, but where more than half are errors, which could have failed, nothing is decided (exit code 3). With any such rule, or a threshold, in a run the rules decide its exit code.",
		one: []string{"at_least", "rate"},
		keys: []key{
			{name: "at_least", typ: count(1), doc: "The number of attempts; of fewer that are planned, all."},
			{name: "rate", typ: share(), doc: "The share of the attempts that count."},
		},
	}
}

func thresholdsObject() *object {
	return &object{
		name: "thresholds", doc: "Pass rates: passed attempts by those that passed or failed. One that nothing counts for cannot be judged (exit code 3), nor one that is reached while more than a tenth of the attempts are errors, which could have failed it. `rehearse run --threshold 0.9` replaces them.",
		some: []string{"overall", "by"},
		keys: []key{
			{name: "overall", typ: share(), def: "none", doc: "The rate of all scenarios of the folder."},
			{name: "by", typ: mapOf(share()), def: "none", doc: "The rate of the scenarios with a tag, by tag."},
		},
	}
}

func startErrorObject() *object {
	return &object{
		name: "start_error", doc: "The error with which opening the subject fails. Comparison is case-sensitive.", some: []string{"contains", "not_contains", "regex"},
		keys: []key{
			{name: "contains", typ: either(text(), list(text())), def: "none", doc: "Texts that it must contain."},
			{name: "not_contains", typ: either(text(), list(text())), def: "none", doc: "Texts that it must not contain."},
			{name: "regex", typ: either(text(), list(text())), def: "none", doc: "Regular expressions (RE2) that it must match."},
		},
	}
}

func modelObject() *object {
	return &object{
		name: "model", doc: "Settings of the model side, for every mode; the command line chooses which models. `${NAME}` stands for an environment variable.",
		keys: []key{
			{name: "profile", typ: enum(profiles()...), def: "openai", doc: "Wire habits of the mock model."},
			{name: "provider", typ: enum(Providers()...), def: "the subject's", doc: "The API that the subject is to speak with the model, in any mode, where neither the model entry nor `--provider` of `rehearse run` says one. The profile must have it."},
			{name: "system", typ: text(), def: "none", doc: "The system message that the subject is to send. This and the following four are handed to the subject; whether it sends them is judged by nothing but a `that`, as `requests.all(r, r.system.contains(\"Be brief\"))`."},
			{name: "temperature", typ: notNegative(), def: "the provider's", doc: "Sampling temperature; 0 is sent."},
			{name: "top_p", typ: number(), def: "the provider's", doc: "Nucleus sampling."},
			{name: "max_tokens", typ: count(1), def: "the provider's", doc: "Tokens of one reply."},
			{name: "stream", typ: boolean(), def: "false", doc: "Ask for replies as a stream."},
			contextKey(), requiresKey(), fragmentsKey("the mock model's replies are"), habitsKey("the mock model's replies"), faultsKey(),
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
	return key{name: "context_window", typ: count(1), def: "no limit", doc: "The maximum tokens of a request, including `max_tokens` where the provider counts them. A longer request is refused as the provider does, and takes no position."}
}

func requiresKey() key {
	return key{name: "requires", typ: objectOf("requires"), def: "what the profile requires", doc: "What the mock model requires of the subject."}
}

func asidesKey() key {
	return key{name: "asides", typ: list(objectOf("rule")), def: "none", doc: "Replies outside the conversation (title requests, probes), tried first; they do not count as model calls."}
}

func rulesKey() key {
	return key{name: "rules", typ: list(objectOf("rule")), def: "none", doc: "Replies tried when a request fits no position; they keep no state, and `result` does not see what their calls return."}
}

func turnsKey(of string, required bool) key {
	return key{name: "turns", typ: list(objectOf(of)), required: required, doc: "The conversation, one user message after the other."}
}

func scenarioObject() *object {
	conductDoc := "Switches conduct checks `off` or `on` by name: " + codes(conduct.Names()) + "; also `results: capped` (a result may be shortened to its first bytes, at least 64, or half of a result below 128), `compaction: allowed` or `required`."
	return &object{
		name: "scenario file", doc: "A conversation with a subject: servers, turns, the replies of the mock model, and expectations.",
		keys: []key{
			{name: "scenario", typ: filled(), required: true, doc: "The scenario's name; the first key of the file."},
			version(), description(),
			{name: "tags", typ: list(filled()), def: "none", doc: "Words to select scenarios by: `rehearse run --tags smoke,!slow`."},
			{name: "critical", typ: boolean(), def: "false", doc: "Marks the scenario in reports. It changes no verdict and no exit code of a run; `rehearse gate` calls it a regression when it passed always and passes no more."},
			passKey("When the scenario has passed, with each model by itself: with `all` attempts that count, or see pass."),
			{name: "live", typ: objectOf("live"), doc: "Settings of live mode."},
			{name: "limits", typ: objectOf("limits"), doc: "Limits that the runner enforces."},
			{name: "model", typ: objectOf("model"), doc: "Settings of the model side."},
			{name: "subject", typ: either(filled(), objectOf("subject")), doc: "The subject under test: its name in `rehearse.yaml`, or what it is and settings of it."},
			{name: "servers", typ: mapOf(objectOf("server entry")), def: "none", doc: "The MCP servers that the subject is given, by name."},
			{name: "files", typ: mapOf(text()), def: "none", doc: "Files that are put into the trial's working folder before it begins: texts by their paths, which are written as they stand here. Servers have that folder as `${rehearse.workdir}`, and subjects as `{workdir}`."},
			grantsKey("Which servers each agent may use, by the agent's name, such as `alice: [files]`. The subject setting `as`, or `rehearse run --as NAME`, says which of them the subject is; an agent that is not listed may use none. The conduct check `grants` judges it."),
			approvalsKey("What is decided when the subject asks whether a tool call may run; with this key, or that of a turn, it is to ask before each call."),
			{name: "mcp_config", typ: filled(), def: "none", doc: "Path of an mcp.json that is written for the subject and names the same servers, with `grants` as agent_permissions."},
			{name: "names", typ: mapOf(filled()), def: "none", doc: "The name under which the subject offers a tool, by `server.tool`."},
			{name: "conduct", typ: mapOf(either(text(), boolean())), def: "all on", doc: conductDoc},
			judgeKey("Settings of the LLM judges in this scenario."),
			{name: "conduct_only", typ: boolean(), def: "false", doc: "Accepts a scenario without expectations; only conduct is judged."},
			{name: "cassette", typ: objectOf("cassette"), doc: "How the scenario is recorded and replayed."},
			{name: "cases", typ: either(list(objectOf("case")), objectOf("table of cases")), def: "one, without vars", doc: "Repeats the scenario with different `vars`, written here or in a CSV or JSONL file."},
			asidesKey(), rulesKey(), lanesKey(), turnsKey("turn", true), expectKey("over the whole conversation"),
		},
	}
}

func grantsKey(doc string) key {
	return key{name: "grants", typ: mapOf(list(text())), def: "everyone may use all; for servers from a config, its agent_permissions", doc: doc}
}

func serverEntryObject() *object {
	env := " `${NAME}` stands for an environment variable, `${rehearse.workdir}` for the trial's own folder."
	return &object{
		name: "server entry", doc: "One MCP server of a scenario: a mock from a file or written here, or a real one by command, by URL or from a configuration." + env,
		one: []string{"mock", "tools", "command", "url", "config"}, late: true,
		keys: append([]key{
			{name: "mock", typ: filled(), doc: "Path of a server file, relative to this file."},
			{name: "tools", typ: list(objectOf("tool")), doc: "The tools of a mock server written here."},
			{name: "state", typ: anyMap(), def: "{}", doc: "With `tools`: the state of the mock server."},
			{name: "instructions", typ: text(), def: "none", doc: "With `tools`: the instructions that the mock server sends to clients."},
			{name: "command", typ: list(text()), doc: "A program with its arguments that speaks MCP over stdio."},
			{name: "env", typ: mapOf(text()), def: "none", doc: "With `command`: variables added to its environment."},
			{name: "url", typ: filled(), doc: "The address of a server."},
			{name: "headers", typ: mapOf(text()), def: "none", doc: "With `url`: HTTP headers of every request."},
			{name: "config", typ: filled(), doc: "Path, relative to this file, of an mcp.json (`mcpServers`) or of a YAML file with `mcp.client` that has a server of this name."},
			{name: "transport", typ: enum("stdio", "process", "http", "sse", "ws"), def: "http for a url; for a mock both a URL and a pipe", doc: "How the subject reaches it: a mock by `stdio` (a pipe in this process; for a subject in another one, as `process`), `process` (a child process that the subject starts), `http`, `sse` or `ws` (a WebSocket); a URL by `http`, `sse` or `ws`."},
			{name: "waits", typ: enum("skipped", "real"), def: "skipped", doc: "For a mock: with `real` its waits (latency, steps, slow faults) take real time, to test a client's timeouts."},
			{name: "failed_when", typ: celText(), def: "what MCP says", doc: "Decides whether a result means that the tool failed; reads `result` and `args`, for a mock server also `state`."},
			{name: "required", typ: boolean(), def: "true", doc: "The server must list a tool before the first model call, else the trial is an error. With false the subject may begin without it."},
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
			k.doc += " Beside `mock` it overrides that of the file, key by key."
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
			{name: "user", typ: template(), required: true, doc: "What the user says; reads " + known(expr.User) + ". It identifies the turn for the mock model: it equals the text of the message, or of one of its parts."},
			{name: "replies", typ: list(objectOf("reply")), def: "none", doc: "The replies of the mock model, one item for each model call."},
			{name: "single_call", typ: boolean(), def: "false", doc: "Ends the turn with its first reply, of the last turn alone: one model call, whose tools are not run. `calls` judges what the model asks for. A subject that cannot do that is skipped; the agent of rehearse can."},
			{name: "interrupt", typ: objectOf("interruption"), def: "none", doc: "Ends the turn as Ctrl-C does: the context of the subject's Send ends. The subject returns, and the next turn goes on from a history in which each call has one answer; the mock MCP server is told by notifications/cancelled. The turn has the stop `interrupted`."},
			{name: "kill", typ: objectOf("interruption"), def: "none", doc: "Ends the turn as the end of the subject's process does: its connections to mock servers are cut, and the next turn is played by a new session, which resumes the conversation from what the first one had written down. A subject that cannot do that is skipped; the agent of rehearse can."},
			{name: "pause", typ: duration(), def: "0s", doc: "How long the user waits before the message. In the modes mock and replay a run skips the wait, but counts it for `limits.time`; in live and record it takes that long."},
			approvalsKey("What is decided about tool calls of this turn, before what the scenario says."),
			expectKey("of this turn"),
		},
	}
}

// scriptedTurnObject is a turn that a client begins which is not driven by us.
func scriptedTurnObject() *object {
	o := turnObject()
	o.name, o.doc = "scripted turn", "One user message of a client, and the model calls that answer it."
	o.keys = slices.DeleteFunc(o.keys, func(k key) bool {
		return slices.Contains([]string{"single_call", "interrupt", "kill", "pause", "approvals"}, k.name)
	})
	o.keys[0].typ = either(template(), objectOf("user text"))
	o.keys[0].doc = "What the user says; reads " + known(expr.User) + ". It identifies the turn: it equals the text of the message, or of one of its parts, or describes the message."
	return o
}

func userTextObject() *object {
	return &object{
		name: "user text", doc: "Describes the user message that begins a turn of an llm file or of a lane, for clients that write more around what the user says. Comparison is case-sensitive.",
		some: []string{"contains", "regex"},
		keys: []key{
			{name: "contains", typ: either(filled(), list(filled())), def: "none", doc: "Texts that it must contain."},
			{name: "regex", typ: filled(), def: "none", doc: "A regular expression (RE2) that it must match."},
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
			{name: "say", typ: template(), def: "none", doc: "The text. A reply with only text ends its turn."},
			{name: "calls", typ: list(callItem(anyMap())), def: "none", doc: "Tool calls: `server.tool: {arguments}`, one per item; a name alone has no arguments."},
			{name: "reasoning", typ: template(), def: "none", doc: "Text of `reasoning_content`."},
			{name: "refusal", typ: template(), def: "none", doc: "Text of the model's refusal."},
			{name: "finish", typ: enum("stop", "length", "tool_calls", "content_filter"), def: "tool_calls with calls, else stop", doc: "The finish reason."},
			{name: "fault", typ: either(objectOf("fault"), list(objectOf("fault"))), def: "none", doc: "What goes wrong before this reply comes as written: one fault, or a list of faults that strike in order."},
			{name: "hold", typ: objectOf("hold"), def: "none", doc: "Holds the reply until a cue."},
			{name: "logprobs", typ: anyMap(), def: "null", doc: "What is sent as `logprobs` to a request that asks for them."},
			{name: "choices", typ: list(text()), def: "the reply again", doc: "Texts of the second and further choices, for a request that asks for several."},
			{name: "repeat", typ: count(1), def: "1", doc: "How many model calls in a row get this reply at the most. It is reached when one of them was made."},
			{name: "unoffered", typ: boolean(), def: "false", doc: "The names under `calls` are sent as they are written, offered or not: the model asks for a tool that it was not given."},
			fragmentsKey("the reply is"), habitsKey("the reply"),
		},
	}
}

func expectationObject() *object {
	return &object{
		name: "expectation", doc: "One thing that is expected; two kinds in one item are an error.",
		one: []string{"calls", "never", "answer", "state", "files", "retries", "stops", "start_error", "that", "judge"},
		keys: []key{
			{name: "calls", typ: either(list(callItem(anyMap())), objectOf("calls")), doc: "The tool calls in the model's order, including executions that no reply asks for; `[]` means none at all. A name alone accepts any arguments."},
			{name: "never", typ: list(filled()), doc: "Tools that must be neither called nor executed: `server.tool`; `*` stands for any text."},
			{name: "answer", typ: objectOf("answer"), doc: "The text that the subject answers with."},
			{name: "state", typ: anyMap(), doc: "The state of mock servers afterwards, by server; keys that are not named are ignored."},
			{name: "files", typ: mapOf(either(enum("present", "absent"), objectOf("answer"))), doc: "Files of the trial's working folder afterwards, by path: whether they exist, or what their text is to be."},
			{name: "retries", typ: objectOf("retries"), doc: "How often the subject repeated a model request."},
			{name: "stops", typ: enum(stopReasons()...), doc: "Why the subject ended the turn without an answer: its own limit, something the model said, or something the endpoint did. `error` accepts any reason and any error. `too_large` is a reply that exceeds what the subject reads; `context_overflow` is a request that exceeds what the endpoint reads."},
			{name: "start_error", typ: objectOf("start_error"), doc: "The subject gives up when it is opened on its servers, before it asks the model for anything, and says why: a command by the end of its standard error. Over the whole conversation only."},
			{name: "that", typ: celText(), doc: "A CEL condition; reads " + known(expr.That) + "."},
			{name: "judge", typ: objectOf("judge"), doc: "What a language model says of the answer, or of the conversation. It is advisory unless `decides` is true."},
		},
	}
}

func callsObject() *object {
	return &object{
		name: "calls", doc: "Expected tool calls with settings.",
		keys: []key{
			{name: "list", typ: list(callItem(anyMap())), required: true, doc: "The calls."},
			{name: "order", typ: enum("in_order", "any_order"), def: "in_order", doc: "Whether their order matters."},
			{name: "extra", typ: enum("fail", "allow"), def: "fail", doc: "How a call that is not in the list is judged."},
			{name: "missing", typ: enum("fail", "allow"), def: "fail", doc: "How a listed call that was not made is judged."},
			{name: "arguments", typ: enum("named", "exact", "ignore", "schema"), def: "named", doc: "How arguments are compared: the named ones, all, none, or against the tool's schema."},
		},
	}
}

func answerObject() *object {
	texts := either(list(template()), template())
	return &object{
		name: "answer", doc: "Judges the text of the answer; everything given must hold.",
		some: []string{"contains", "not_contains", "regex", "equals", "json"},
		keys: []key{
			{name: "contains", typ: texts, doc: "Texts that it must contain."},
			{name: "not_contains", typ: texts, doc: "Texts that it must not contain."},
			{name: "regex", typ: either(list(text()), text()), doc: "Regular expressions (RE2) that it must match."},
			{name: "equals", typ: template(), doc: "The whole text, including white space at its ends."},
			{name: "json", typ: anything(), doc: "A value with operators that the text, parsed as JSON, matches. Where the text has one ``` block, what is in it counts, whatever stands around it."},
		},
	}
}

func failedWhenKey(of string) key {
	return key{name: "failed_when", typ: celText(), def: "what MCP says", doc: "Decides whether a result " + of + " means that the tool failed; reads " + known(expr.ToolResult) + "."}
}

func serverObject() *object {
	return &object{
		name: "server file", doc: "A mock MCP server.",
		keys: append([]key{
			{name: "server", typ: filled(), required: true, doc: "The server's name; the first key of the file."},
			version(), description(),
			{name: "instructions", typ: text(), def: "none", doc: "The instructions that the server sends to clients."},
			{name: "state", typ: anyMap(), def: "{}", doc: "The state that results read and change."},
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
			{name: "description", typ: text(), def: "none", doc: "The description for the model."},
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
			{name: "content", typ: list(anyMap()), doc: "Content blocks as defined by MCP."},
			{name: "error", typ: template(), doc: "The text of a result with isError."},
			{name: "structured", typ: anything(), def: "none", doc: "Structured content in addition to `text`, `error` or `content`, which do not repeat it: a summary, or an error message. May have `{{ }}` and `$cel`."},
			{name: "is_error", typ: boolean(), def: "with `error`", doc: "Sets isError of a result with `json`, `text` or `content`."},
			{name: "rpc_error", typ: objectOf("rpc_error"), doc: "An error of the protocol."},
			{name: "file", typ: filled(), doc: "A file with the content, relative to this file: text, an image, audio, or any other bytes as an embedded resource."},
			{name: "size", typ: size(), def: "as it is", doc: "The minimum length of the text: a number of bytes, or as in `1MB`. Without another answer it generates the text."},
			{name: "meta", typ: anyMap(), def: "none", doc: "The `_meta` of the result; may have `{{ }}` and `$cel`."},
			beforeKey("the answer is sent"),
			{name: "hold", typ: objectOf("hold"), def: "none", doc: "Holds the answer until a cue."},
			{name: "fault", typ: either(objectOf("server fault"), list(objectOf("server fault"))), def: "none", doc: "What goes wrong with the calls that this result answers: one fault or a list. A result that only contains a fault needs no answer; the fault then strikes every such call."},
			{name: "set", typ: anyMap(), def: "nothing", doc: "A JSON merge patch for the state, after the answer was computed; null deletes. Reads `result` too."},
			{name: "latency", typ: duration(), def: "0s", doc: "The delay before the answer. A run skips the wait, but counts it for `limits.time`."},
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
			{name: "seed", typ: count(0), def: "0", doc: "The seed of every `chance` in the file, combined with `serve llm --seed`."},
			{name: "order", typ: enum("position", "arrival"), def: "position", doc: "`position` finds the due reply from the conversation in the request. `arrival` makes the replies a queue: every request gets the next one, even a repeated request."},
			{name: "names", typ: mapOf(filled()), def: "none", doc: "The name under which a client offers a tool, by the name in the file."},
			contextKey(), requiresKey(),
			fragmentsKey("replies are"), habitsKey("replies"),
			faultsKey(), asidesKey(), turnsKey("scripted turn", false),
			{name: "replies", typ: list(objectOf("reply")), def: "none", doc: bareReplies},
			rulesKey(), lanesKey(),
		},
		some: []string{"turns", "replies", "rules", "asides", "lanes"},
	}
}

func suiteObject() *object {
	doc := "Defaults for the scenarios of this folder; "
	return &object{
		name: "suite file", doc: "The file suite.yaml: defaults for the scenarios beside it, but not in subfolders. Maps merge, and the scenario wins; `expect` lists are concatenated.",
		keys: []key{
			{name: "suite", typ: filled(), required: true, doc: "The suite's name; the first key of the file."},
			version(), description(),
			{name: "model", typ: objectOf("model"), doc: doc + "see model."},
			{name: "servers", typ: mapOf(objectOf("server entry")), doc: doc + "see server entry."},
			{name: "limits", typ: objectOf("limits"), doc: doc + "see limits."},
			{name: "subject", typ: either(filled(), objectOf("subject")), doc: doc + "see subject."},
			grantsKey(doc + "see scenario file."),
			{name: "live", typ: objectOf("live"), doc: doc + "see live."},
			passKey(doc + "see scenario file."),
			{name: "thresholds", typ: objectOf("thresholds"), def: "none", doc: "Pass rates that the scenarios of this folder must reach together, with each model by itself. They replace no `pass` of a scenario."},
			{name: "variants", typ: mapOf(objectOf("variant")), def: "none", doc: "Ways to play the scenarios of this folder, by name: each is a column of its own in reports. `rehearse run --variant NAME` plays one of them; without it all are played."},
			{name: "cassette", typ: objectOf("cassette"), doc: doc + "see cassette."},
			judgeKey(doc + "see judge settings."),
			expectKey("in every scenario, over the whole conversation"),
		},
	}
}
