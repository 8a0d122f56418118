// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package scenarios

import (
	"slices"
	"strings"
)

// confused returns the key of an object that somebody means who writes
// another word for it, as many tools do; empty for other words.
func confused(object, word string) string {
	for meant, words := range confusions()[object] {
		if slices.Contains(strings.Fields(words), word) {
			return meant
		}
	}
	return ""
}

// confusions lists by object and key the words that are taken for the key and
// are not spelled like it. No word is a key of its object.
func confusions() map[string]map[string]string {
	model := map[string]string{
		"system": "system_prompt instructions prompt", "max_tokens": "max_completion_tokens", "stream": "streaming",
	}
	turn := map[string]string{
		"user": "prompt message input query question text", "replies": "reply response responses assistant answers model",
		"expect": "assert asserts assertions checks then",
	}
	return map[string]map[string]string{
		"scenario file": {
			"scenario": "name title", "turns": "steps messages conversation dialog", "servers": "mcp mcp_servers mcpServers tools mocks",
			"expect": "assert asserts assertions checks then", "cases": "examples parameters matrix rows",
		},
		"turn": turn, "scripted turn": turn,
		"user text": {"contains": "includes has text", "regex": "matches match pattern regexp"},
		"reply": {
			"say": "text content message answer assistant", "calls": "tool_calls tool_call call tools tool", "fault": "error fail faults",
			"reasoning": "thinking reasoning_content", "finish": "finish_reason stop_reason stop", "repeat": "times count",
		},
		"rule":        {"when": "match if on", "reply": "say text response then replies"},
		"expectation": {"calls": "tool_calls tools called call tool", "never": "not_called forbidden not_calls", "answer": "text say contains response output", "that": "cel assert condition when"},
		"calls":       {"list": "calls tools items", "extra": "allow_extra", "missing": "allow_missing", "arguments": "args"},
		"answer":      {"contains": "includes has", "not_contains": "excludes", "regex": "matches match pattern", "equals": "exactly is text"},
		"server entry": {
			"mock": "file path server script", "command": "cmd exec run args", "url": "uri address endpoint", "env": "environment",
		},
		"server file": {"server": "name", "state": "data world"},
		"tool": {
			"input": "inputSchema input_schema parameters schema arguments args", "output": "outputSchema output_schema",
			"results": "result responses response returns answers replies", "description": "doc help",
		},
		"result": {
			"args": "match arguments input with", "when": "if condition", "json": "value output data result return returns", "text": "say message answer",
			"error": "fail", "is_error": "isError failed", "structured": "structuredContent structured_content", "set": "state update patch", "latency": "delay wait sleep", "before": "steps progress notify", "hold": "cue until", "size": "length bytes", "fault": "faults",
		},
		"auth":         {"bearer": "token key password secret"},
		"protocol":     {"page_size": "pagination limit pages", "versions": "version legacy", "modern": "stateless"},
		"step":         {"wait": "sleep delay pause latency", "log": "logging message", "ask": "sampling elicitation roots request", "notify": "notification send"},
		"ask":          {"sampling": "sample createMessage", "elicitation": "elicit form", "as": "name key id"},
		"progress":     {"value": "progress at", "message": "text", "times": "count repeat"},
		"change":       {"on": "when trigger", "tell": "notify", "add": "tools"},
		"server fault": {"kind": "type fault", "match": "when at on", "times": "repeat first", "exit_code": "exit", "delay": "latency wait after"},
		"fault":        {"kind": "type fault", "delay": "after wait latency pause", "retry_after": "retry", "at": "where", "body": "text message"},
		"fault match":  {"tool": "name", "args": "arguments input", "nth": "call index request"},
		"resource":     {"mime_type": "mimeType type", "text": "content"},
		"prompt":       {"text": "prompt content", "messages": "turns"},
		"limits":       {"time": "timeout duration", "tool_calls": "calls", "model_calls": "requests"},
		"pass":         {"at_least": "min minimum atleast count", "rate": "share ratio percent"},
		"thresholds":   {"overall": "all total rate", "by": "tags tag"},
		"case":         {"vars": "values parameters params with"},
		"model":        model,
		"llm file":     {"turns": "conversation messages", "llm": "name model"},
	}
}
