// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import "github.com/rehearse-dev/rehearse/internal/expr"

// entry is a row of a table of the reference page.
type entry struct{ name, example, doc string }

// operators lists what may stand where a value is expected, with an example
// that a test compiles.
func operators() []entry {
	return []entry{
		{"$any_of", `{$any_of: [GramNegative, Core]}`, "Any one of these values or operators."},
		{"$all", `{$all: [{$regex: "^cpd"}, {$length: 8}]}`, "All of these."},
		{"$not", `{$not: delete}`, "Anything that this does not match."},
		{"$optional", `{$optional: 10}`, "Absent, or this."},
		{"$absent", `{$absent: true}`, "Absent."},
		{"$regex", `{$regex: '^\d+\.\d+$'}`, "A text that the regular expression (RE2) matches."},
		{"$glob", `{$glob: "*.gf"}`, "A text of this form: `*` stands for any text, `?` for one character."},
		{"$number", `{$number: {value: 0.87, abs: 0.01}}`, "A number within `abs` (a difference) or `rel` (a fraction) of the value."},
		{"$integer", `{$integer: 5}`, "This number, or with `true` any, spelled without point and exponent."},
		{"$float", `{$float: 5.0}`, "This number, or with `true` any, spelled with point or exponent."},
		{"$normalize", `{$normalize: {value: New York, rule: case}}`, "A text that is equal except for `case` or `space`, or by the rules of `bfcl`."},
		{"$date", `{$date: 2025-03-14}`, "Any spelling of that date."},
		{"$length", `{$length: {min: 1, max: 3}}`, "A text, list or map of this length."},
		{"$schema", `{$schema: {type: array, items: {type: string}}}`, "A value that the JSON Schema accepts; nothing inside is an operator."},
		{"$type", `{$type: string}`, "A value of this JSON type."},
		{"$set", `{$set: [a, b]}`, "A list of these items in any order."},
		{"$that", `{$that: value > 5}`, "A value for which the CEL condition over `value` holds."},
		{"$cel", `{$cel: 'results("gemflux.build_model")[0].model_id'}`, "The value that the CEL expression computes, with its type."},
		{"$literal", `{$literal: {$regex: x}}`, "This value as it is written: no operators, no `{{ }}`."},
	}
}

// place is where expressions stand, in words, with the scope they have.
type place struct {
	where string
	scope expr.Scope
}

// places lists every place of an expression.
func places() []place {
	return []place{
		{"`user` of a turn", expr.User},
		{"`say`, `reasoning`, `refusal` and `calls` of a reply", expr.Reply},
		{"`when` of a rule, an aside or a fault; `match` of a fault", expr.Request},
		{"`args`, `when`, `json`, `text`, `content`, `error`, `rpc_error`, `meta`, `before` of a result; `text` and `when` of resources, templates and prompts", expr.Tool},
		{"`set` of a result; `failed_when`", expr.ToolResult},
		{"`calls`, `answer`, `state` under `expect`", expr.Expectation},
		{"`that`", expr.That},
	}
}

// known lists the names of a scope as code.
func known(scope expr.Scope) string { return codes(expr.Names(scope)) }

// names lists what expressions read; the example is an expression.
func names() []entry {
	return []entry{
		{"request", `request.tools.size() == 0 && request.system.contains("title")`, "`when` of rules and asides: `model`, `system`, `messages`, `tools` (`name`, `description`, `schema`), `tool_choice`, `temperature`, `stream`."},
		{"message", `message.role == "user" && message.text.contains("ping")`, "The last message of the request: `role`, `text`, `calls` (`id`, `name`, `args`), `call_id`."},
		{"result", `result.model_id`, "Replies, expectations, `set`, `failed_when`: the result of the last call. A missing key is an error; in `when` and `failed_when` the condition then does not hold."},
		{"results(tool)", `results("gemflux.build_model").last().model_id`, "All results of a tool so far, over all turns, in call order. The tool is named as in `calls`: `server.tool`, the name that was offered, or the tool's own name."},
		{"args", `args.model_id in state.models`, "Tool side: the arguments of this call."},
		{"state", `state.models.size()`, "Tool side: the state of the server."},
		{"asked", `asked.elicitation.action == "accept"`, "Tool side, where `before` asks: the client's answers, by name."},
		{"user", `user.contains("ATP")`, "The user's text of this turn."},
		{"turn", `turn == 1`, "The turn's number, from 1."},
		{"vars", `vars.id`, "The row of the case."},
		{"value", `value > 5`, "Under `$that`: the value at hand."},
		{"trajectory", `trajectory.size() == 2 && trajectory.all(c, !c.failed)`, "`that`: the calls in the model's order: `server`, `tool` (its own name on the server), `name` (`server.tool`, or as it was offered where no server is known), `offered`, `args`, `result`, `failed`, `lane`, `turn`, `reply`, `index`, `duration_ms`, `retried`, `executed`, and `unasked` for an execution that no reply asks for. Under a turn, of that turn; under `expect` of the file, of the whole conversation."},
		{"journal", `journal.model_calls <= 6`, "`that`: `model_calls`, `retries`, `tool_calls`, `tokens`, `answers`, `told` (the tool results in the last request, as the model read them), `stops` (for what reasons the endpoint's last answer may end a turn, such as `rate_limit`; empty after a valid one). Under a turn, of that turn; under `expect` of the file, of the whole conversation."},
		{"requests", `requests.all(r, r.headers["x-team"] == "a")`, "`that`: the requests to the model in order, repeated ones too: `path` (without the query), `dialect` (`chat`, `completions`, `responses`, `messages` or `gemini`), `headers` (names in lower case; a value that may be secret is `(secret)`), `model`, `system`, `messages`, `tools`, `tool_choice`, `temperature`. In every mode. Under a turn, of that turn; under `expect` of the file, of the whole conversation."},
		{"transcript", `transcript.stop == ""`, "`that`: what the subject reports: `model_calls`, `tool_calls`, `answers`, `stop`. Skipped when it reports nothing. Under a turn, of that turn; under `expect` of the file, of the whole conversation."},
	}
}
